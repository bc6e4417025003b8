"""The way to a host below HTTP, one layer at a time: name, connection, TLS."""

from __future__ import annotations

import asyncio
import ipaddress
import socket
import ssl
from dataclasses import dataclass
from urllib.parse import SplitResult


@dataclass(frozen=True, slots=True)
class Target:
    """Where the first connection goes: the endpoint's host, or its proxy's."""

    host: str
    port: int
    tls: bool
    """Whether TLS is spoken to it from the first byte."""


def target_of(parts: SplitResult) -> Target:
    """The target of an http or https URL."""
    tls = parts.scheme.lower() == "https"
    return Target(parts.hostname or "", parts.port or (443 if tls else 80), tls)


def is_address(host: str) -> bool:
    """Whether a host is given as an address, which needs no resolution."""
    try:
        ipaddress.ip_address(host.partition("%")[0])
    except ValueError:
        return False
    return True


async def resolve(target: Target, seconds: float) -> tuple[str, ...]:
    """The addresses of a host name, without doubles.

    Raises:
        OSError: The name does not resolve.
        TimeoutError: No answer in time.
    """
    loop = asyncio.get_running_loop()
    async with asyncio.timeout(seconds):
        found = await loop.getaddrinfo(target.host, target.port, type=socket.SOCK_STREAM)
    return tuple(dict.fromkeys(str(entry[4][0]) for entry in found))


async def connect(target: Target, seconds: float) -> str:
    """Connect and hang up; the address that took the connection.

    Raises:
        OSError: Refused, unreachable.
        TimeoutError: No answer in time.
    """
    async with asyncio.timeout(seconds):
        _, writer = await asyncio.open_connection(target.host, target.port)
    peer = writer.get_extra_info("peername")
    writer.transport.abort()
    return str(peer[0]) if peer else target.host


async def handshake(target: Target, context: ssl.SSLContext, seconds: float) -> str:
    """Shake hands and hang up; the version of TLS that was agreed on.

    Raises:
        ssl.SSLError: Certificate or protocol are not accepted.
        OSError, TimeoutError: The connection failed.
    """
    async with asyncio.timeout(seconds):
        _, writer = await asyncio.open_connection(
            target.host, target.port, ssl=context, server_hostname=target.host
        )
    secured = writer.get_extra_info("ssl_object")
    writer.transport.abort()
    return str(secured.version()) if secured is not None else "TLS"
