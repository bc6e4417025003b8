"""Which proxy a request goes through, and which variable says so."""

from __future__ import annotations

import base64
import ipaddress
import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import unquote, urlsplit
from urllib.request import getproxies


class ProxySettingError(ValueError):
    """A proxy variable that cannot be used; the text names what is wrong, without credentials."""


@dataclass(frozen=True, slots=True)
class Proxy:
    """The proxy in effect. ``login`` is (user, password) where the setting holds one."""

    url: str
    """Without credentials."""
    variable: str
    login: tuple[str, str] | None = None


def is_local(host: str) -> bool:
    """Whether ``host`` is this machine or a private network: no proxy is asked for those."""
    name = host.strip("[]").rstrip(".").lower()
    if name == "localhost" or name.endswith((".localhost", ".local", ".internal", ".lan")):
        return True
    try:
        address = ipaddress.ip_address(name.partition("%")[0])
    except ValueError:
        return bool(name) and "." not in name
    return address.is_private or address.is_loopback or address.is_link_local


def proxy_for(url: str, environ: Mapping[str, str] | None = None) -> Proxy | None:
    """The proxy that the environment names for ``url``; None for a direct connection.

    Raises:
        ProxySettingError: It names one that cannot be used.
    """
    parts = urlsplit(url)
    host = (parts.hostname or "").lower()
    if not host or is_local(host):
        return None
    settings, names = _settings(environ)
    if _excluded(host, parts.port, settings.get("no", "")):
        return None
    for scheme in (parts.scheme.lower(), "all"):
        if value := settings.get(scheme):
            return _parse(value, names.get(scheme, f"{scheme.upper()}_PROXY"))
    return None


def _settings(environ: Mapping[str, str] | None) -> tuple[dict[str, str], dict[str, str]]:
    """The settings by scheme, and the variable each came from (lower case wins, as in curl)."""
    source = os.environ if environ is None else environ
    settings: dict[str, str] = dict(getproxies()) if environ is None else {}
    names: dict[str, str] = {}
    for scheme in ("http", "https", "all", "no"):
        settings.setdefault(scheme, "")
        for name in (f"{scheme}_proxy", f"{scheme.upper()}_PROXY"):
            if name == "HTTP_PROXY" and "REQUEST_METHOD" in source:
                continue  # in a CGI script that variable is the client's "Proxy:" header
            if value := source.get(name, "").strip():
                settings[scheme] = value
                names[scheme] = name
                break
    return settings, names


def _excluded(host: str, port: int | None, rules: str) -> bool:
    for rule in rules.split(","):
        entry = rule.strip().lower()
        entry = entry.partition("://")[2] or entry
        if not entry:
            continue
        if entry == "*":
            return True
        if "/" in entry and _in_network(host, entry):
            return True
        name, colon, digits = entry.rpartition(":")
        if colon and digits.isdigit() and ":" not in name:
            if port is not None and int(digits) != port:
                continue
            entry = name
        entry = entry.strip("[]").removeprefix("*")
        if host == entry.lstrip(".") or host.endswith("." + entry.lstrip(".")):
            return True
    return False


def _in_network(host: str, network: str) -> bool:
    try:
        return ipaddress.ip_address(host) in ipaddress.ip_network(network, strict=False)
    except ValueError:
        return False


def _parse(value: str, variable: str) -> Proxy:
    text = value if "://" in value else f"http://{value}"
    try:
        parts = urlsplit(text)
        port = parts.port
    except ValueError as error:
        raise ProxySettingError(f"Invalid proxy URL in {variable}: {error}") from None
    shown = f"{parts.scheme}://{parts.hostname or ''}" + (f":{port}" if port else "")
    if parts.scheme in ("socks5", "socks5h"):
        raise ProxySettingError(
            f"{variable} names a SOCKS proxy ({shown}): using one needs a package such as socksio"
            " that is not installed; an HTTP proxy works"
        )
    if parts.scheme not in ("http", "https"):
        raise ProxySettingError(f"Unknown scheme for proxy URL {shown!r} in {variable}")
    if not parts.hostname:
        raise ProxySettingError(f"Invalid proxy URL in {variable}: it names no host")
    login = None
    if parts.username is not None:
        login = (unquote(parts.username), unquote(parts.password or ""))
    return Proxy(shown, variable, login)


def proxy_arguments(proxy: Proxy | None) -> dict[str, Any]:
    """What aiohttp's ``request`` takes for it."""
    if proxy is None:
        return {}
    arguments: dict[str, Any] = {"proxy": proxy.url}
    if proxy.login is not None:
        token = base64.b64encode(":".join(proxy.login).encode()).decode("ascii")
        arguments["proxy_headers"] = {"Proxy-Authorization": f"Basic {token}"}
    return arguments
