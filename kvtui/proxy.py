"""Which proxy a request goes through, and which variable says so."""

from __future__ import annotations

import base64
import ipaddress
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import unquote, urlsplit
from urllib.request import getproxies

from kvtui.hosts import Address, address_of, is_local


@dataclass(frozen=True, slots=True)
class Proxy:
    """The proxy in effect. ``login`` is (user, password) where the setting holds one."""

    url: str
    """Without credentials."""
    variable: str
    login: tuple[str, str] | None = None


class ProxySettingError(ValueError):
    """A proxy variable that cannot be used; the text names what is wrong, without credentials."""

    def __init__(self, sentence: str, proxy: Proxy) -> None:
        super().__init__(sentence)
        self.proxy = proxy
        """What the variable names, as far as it can be shown."""


SYSTEM = "the system's settings"
"""Where a proxy comes from that no variable names (Windows, macOS)."""


def proxy_unused(url: str, environ: Mapping[str, str] | None = None) -> str | None:
    """The variable that names a proxy which is not asked because the URL's host is local."""
    parts = urlsplit(url)
    if not is_local(parts.hostname or ""):
        return None
    settings, names = _settings(environ)
    schemes = (scheme for scheme in (parts.scheme.lower(), "all") if settings.get(scheme))
    return next((names.get(scheme, SYSTEM) for scheme in schemes), None)


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
    scheme = parts.scheme.lower()
    port = parts.port or (443 if scheme == "https" else 80)
    if _excluded(host, port, settings.get("no", "")):
        return None
    for name in (scheme, "all"):
        if value := settings.get(name):
            return _parse(value, names.get(name, SYSTEM))
    return None


def _settings(environ: Mapping[str, str] | None) -> tuple[dict[str, str], dict[str, str]]:
    """The settings by scheme, and the variable each came from.

    As in curl and in Python, a variable in lower case wins, and an empty one switches off the one
    in capitals.
    """
    source = os.environ if environ is None else environ
    settings: dict[str, str] = dict(getproxies()) if environ is None else {}
    names: dict[str, str] = {}
    for scheme in ("http", "https", "all", "no"):
        settings.setdefault(scheme, "")
        for name in (f"{scheme}_proxy", f"{scheme.upper()}_PROXY"):
            if name not in source or (name == "HTTP_PROXY" and "REQUEST_METHOD" in source):
                continue  # in a CGI script that variable is the client's "Proxy:" header
            settings[scheme] = source[name].strip()
            names[scheme] = name
            break
    return settings, names


_RULE = re.compile(r"(?:[a-z]+://)?(?P<host>\[[^\]]*\]|[^\[\]]*?)(?::(?P<port>\d{1,5}))?")


def _excluded(host: str, port: int, rules: str) -> bool:
    """Whether ``NO_PROXY`` names the host: as curl, httpx and Go read it together.

    Entries are parted by commas or white space. A name stands for itself and what is below it, with
    a dot or ``*.`` in front or without; an address for itself in any spelling; a network for all in
    it; a port narrows an entry.
    """
    own = address_of(host)
    for entry in re.split(r"[,\s]+", rules.lower()):
        if entry == "*":
            return True
        if "/" in entry and "://" not in entry:
            if _in_network(own, entry):
                return True
            continue
        if own is not None and own == address_of(entry):
            return True
        match = _RULE.fullmatch(entry.rstrip("/"))
        if match is None or not match["host"] or match["port"] not in (None, str(port)):
            continue
        name = match["host"].removeprefix("*").strip(".")
        if own is not None:
            if own == address_of(name):
                return True
        elif name and (host.rstrip(".") == name or host.rstrip(".").endswith(f".{name}")):
            return True
    return False


def _in_network(address: Address | None, network: str) -> bool:
    try:
        net = ipaddress.ip_network(network.replace("[", "").replace("]", ""), strict=False)
    except ValueError:
        return False
    return address is not None and address.version == net.version and address in net


def _parse(value: str, variable: str) -> Proxy:
    text = value if "://" in value else f"http://{value}"
    scheme, _, rest = text.partition("://")
    unusable = Proxy(f"{scheme[:20]}://{rest.rpartition('@')[2].partition('/')[0][:80]}", variable)
    try:
        parts = urlsplit(text)
        port = parts.port
    except ValueError as error:
        raise ProxySettingError(f"Invalid proxy URL in {variable}: {error}", unusable) from None
    host = parts.hostname or ""
    shown = f"{parts.scheme}://{f'[{host}]' if ':' in host else host}" + (
        f":{port}" if port else ""
    )
    if parts.scheme.startswith("socks"):
        raise ProxySettingError(f"{variable} names a SOCKS proxy ({shown})", Proxy(shown, variable))
    if parts.scheme not in ("http", "https"):
        raise ProxySettingError(f"Unknown scheme for proxy URL {shown!r} in {variable}", unusable)
    if not host:
        raise ProxySettingError(f"Invalid proxy URL in {variable}: it names no host", unusable)
    login = None
    if parts.username is not None:
        login = (unquote(parts.username), unquote(parts.password or ""))
    return Proxy(shown, variable, login)


def proxy_arguments(proxy: Proxy | None) -> dict[str, Any]:
    """What aiohttp's ``request`` takes for it; see ``login_header`` for plain HTTP."""
    if proxy is None:
        return {}
    arguments: dict[str, Any] = {"proxy": proxy.url}
    if login := _login(proxy):
        arguments["proxy_headers"] = login  # sent with CONNECT only
    return arguments


def login_header(proxy: Proxy | None, url: str) -> dict[str, str]:
    """The proxy's login as a header of the request itself: of one that the proxy reads (http)."""
    return _login(proxy) if proxy is not None and url.lower().startswith("http:") else {}


def _login(proxy: Proxy) -> dict[str, str]:
    if proxy.login is None:
        return {}
    token = base64.b64encode(":".join(proxy.login).encode()).decode("ascii")
    return {"Proxy-Authorization": f"Basic {token}"}
