"""Who answers: the provider's or server's name and addresses, from what the evidence shows."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Provider:
    """One row of ``providers.toml``, which says what the fields mean."""

    name: str
    label: str
    hosts: tuple[str, ...] = ()
    headers: tuple[str, ...] = ()
    words: tuple[str, ...] = ()
    port: int | None = None
    base_url: str | None = None
    keys_url: str | None = None
    billing_url: str | None = None
    needs_key: bool = False


@cache
def providers() -> tuple[Provider, ...]:
    """All known providers, in the file's order."""
    path = Path(__file__).with_name("providers.toml")
    table = tomllib.loads(path.read_text(encoding="utf-8"))
    return tuple(_provider(name, row) for name, row in table.items())


def _provider(name: str, row: Mapping[str, object]) -> Provider:
    fields = {key: tuple(value) if isinstance(value, list) else value for key, value in row.items()}
    return Provider(name=name, **fields)  # type: ignore[arg-type]  # an unknown key is a TypeError


def provider_of_host(host: str) -> Provider | None:
    """The provider to whom a host name belongs."""
    host = host.lower().rstrip(".")
    for provider in providers():
        if any(host == suffix or host.endswith(f".{suffix}") for suffix in provider.hosts):
            return provider
    return None


def identify(
    host: str, port: int | None, local: bool, headers: Mapping[str, str], words: str
) -> Provider | None:
    """The provider or server that answered; None where nothing gives it away.

    Args:
        host: Host name of the request.
        port: Its port, where the URL names one.
        local: True for a loopback or private host: only there a port says anything.
        headers: Response headers, lower-case names.
        words: The error object's words, lower case.
    """
    found = provider_of_host(host)
    if found is not None:
        return found
    for provider in providers():
        if any(_has_header(headers, mark) for mark in provider.headers):
            return provider
    for provider in providers():
        if any(word in words for word in provider.words):
            return provider
    if local:
        known = (provider for provider in providers() if provider.port is not None)
        return next((provider for provider in known if provider.port == port), None)
    return None


def _has_header(headers: Mapping[str, str], mark: str) -> bool:
    name, _, part = mark.partition("=")
    return name in headers and part in headers[name].lower()
