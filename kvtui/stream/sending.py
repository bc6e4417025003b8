"""One request on its way out: its connection, and when its last byte was handed over."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextvars import ContextVar
from time import perf_counter
from types import SimpleNamespace
from typing import Any

import aiohttp
import httpx2
from aiohttp import payload
from aiohttp.abc import AbstractStreamWriter

from kvtui.failure.evidence import WaitingFor
from kvtui.proxy import Proxy


def _ignore(*_: object) -> None:
    """Nobody wants to hear it."""


class Flight:
    """One request on its way: what its exchange wants to hear, and the proxy it takes."""

    def __init__(
        self,
        proxy: Proxy | None = None,
        connecting: Callable[[float], None] = _ignore,
        connected: Callable[[float, float, bool], None] = _ignore,
        sent: Callable[[float], None] = _ignore,
    ) -> None:
        self.proxy = proxy
        self.connecting = connecting
        self.connected = connected
        """Called with the time, the seconds it took, and whether the connection was reused."""
        self.sent = sent
        self.failing: Callable[[int, httpx2.Headers], None] = _ignore
        """Called with status and headers of an error, before its body is read."""
        self.shaking_hands: Callable[[], None] = _ignore
        """Called when the TCP connection stands (or a proxy's tunnel) and TLS begins."""
        self.awaiting: WaitingFor = "connect"
        """What its connection waits for: itself, TLS, or (once it stands) the headers."""
        self.t_start = 0.0
        self.plain_hops = 0
        """Connections below the one that speaks TLS to the host; none speaks it where negative."""

    def lower_layer_stands(self) -> None:
        """A connection asks for its protocol, which it does as soon as its TCP stands."""
        if self.plain_hops == 0 and self.awaiting == "connect":
            self.awaiting = "tls"
            self.shaking_hands()
        self.plain_hops -= 1


current_flight: ContextVar[Flight | None] = ContextVar("current_flight", default=None)
"""Set around the SDK's call: the transport has no other way to know whose request it carries."""


class SentBody(payload.BytesPayload):
    """A request body that says when its last byte was handed to the socket.

    The stamp is the last moment at which some of it was still to be handed over: the one before
    the call that takes it all, as a rule. After that call the server may have been at work for a
    while already, since the system likes to let it run first.
    """

    def __init__(self, data: bytes, flight: Flight) -> None:
        super().__init__(data)
        self._data = data
        self._flight = flight

    async def write_with_length(
        self, writer: AbstractStreamWriter, content_length: int | None
    ) -> None:
        """Write it; how much of it aiohttp and the socket have taken is seen here."""
        write: Any = writer.write
        stamp = perf_counter()
        try:
            # What is left is waited for here, so that it is seen.
            await write(self._data[:content_length], drain=False)
        except TypeError:  # not promised: a later writer may know no such word
            await write(self._data[:content_length])
        transport = getattr(writer, "transport", None)
        while _unsent(transport):
            stamp = perf_counter()
            await asyncio.sleep(0.001)
        self._flight.sent(stamp)


def _unsent(transport: object) -> int:
    """Bytes that the socket has not taken yet; of TLS also those that are encrypted already."""
    if not isinstance(transport, asyncio.WriteTransport) or transport.is_closing():
        return 0
    inner = getattr(getattr(transport, "_ssl_protocol", None), "_transport", None)
    return transport.get_write_buffer_size() + _unsent(inner)


def connections_told() -> aiohttp.TraceConfig:
    """What tells each request's flight of its connection."""
    trace = aiohttp.TraceConfig()
    trace.on_connection_create_start.append(_create_start)
    trace.on_connection_create_end.append(_create_end)
    trace.on_connection_reuseconn.append(_reused)
    return trace


async def _create_start(_: Any, context: SimpleNamespace, __: Any) -> None:
    flight: Flight = context.trace_request_ctx
    flight.t_start = perf_counter()
    flight.awaiting = "connect"
    flight.connecting(flight.t_start)


async def _create_end(_: Any, context: SimpleNamespace, __: Any) -> None:
    flight: Flight = context.trace_request_ctx
    now = perf_counter()
    flight.awaiting = "headers"
    flight.connected(now, now - flight.t_start, False)


async def _reused(_: Any, context: SimpleNamespace, __: Any) -> None:
    flight: Flight = context.trace_request_ctx
    flight.awaiting = "headers"
    flight.connected(perf_counter(), 0.0, True)
