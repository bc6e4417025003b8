"""Whose host it is: this machine's, a private network's, or anybody's."""

from __future__ import annotations

import ipaddress
from typing import TypeAlias

Address: TypeAlias = ipaddress.IPv4Address | ipaddress.IPv6Address


def address_of(host: str) -> Address | None:
    """``host`` as an address, one that wraps an IPv4 address as that; None for a name."""
    try:
        address = ipaddress.ip_address(host.strip("[]").partition("%")[0])
    except ValueError:
        return None
    return getattr(address, "ipv4_mapped", None) or address


def is_local(host: str) -> bool:
    """Whether ``host`` is this machine or of a private network: no proxy is asked for those."""
    name = host.strip("[]").rstrip(".").lower()
    if name == "localhost" or name.endswith((".localhost", ".local", ".internal", ".lan")):
        return True
    address = address_of(name)
    if address is None:
        return bool(name) and "." not in name
    return not address.is_global or address.is_private


def is_loopback(host: str) -> bool:
    """Whether ``host`` is this machine itself: the only one that may be asked unbidden."""
    name = host.strip("[]").rstrip(".").lower()
    address = address_of(name)
    if address is None:
        return name == "localhost" or name.endswith(".localhost")
    return address.is_loopback
