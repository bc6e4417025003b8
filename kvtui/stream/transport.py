"""The SDK's HTTP transport over aiohttp: connection set-up apart, every read stamped.

It is given to the openai client in place of httpx2's own, so that the request is the SDK's and the
bytes are ours. Nothing is retried, redirected or decoded behind the meter's back.
"""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from time import perf_counter
from types import SimpleNamespace
from typing import Any

import aiohttp
import httpx2
from aiohttp import http_exceptions, payload
from aiohttp.abc import AbstractStreamWriter

from kvtui.stream.proxy import Proxy, proxy_arguments

_READ_BUFFER = 256 << 10
_PIECES = 48
"""Reads of a response that are taken one HTTP chunk at a time, to see how the server framed it."""
_MAX_ERROR_BODY = 1 << 20
_DROPPED_HEADERS = frozenset({"host", "accept-encoding", "connection", "content-length"})


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
        self.t_start = 0.0
        self.headers_at: float | None = None


current_flight: ContextVar[Flight | None] = ContextVar("current_flight", default=None)
"""Set around the SDK's call: the transport has no other way to know whose request it carries."""


class BodyStream(httpx2.AsyncByteStream):
    """A response body: ``read`` gives stamped pieces, iterating serves the SDK's error bodies."""

    def __init__(self, response: aiohttp.ClientResponse, stamp: float) -> None:
        self._response = response
        self._content = response.content
        self._loop = asyncio.get_running_loop()
        self._primed = response.content.total_bytes
        self._offset = 0
        self._pieces = 0
        self._idle = True
        self.stamp = stamp
        """``perf_counter`` seconds of the read that the last piece came from."""

    async def read(self) -> bytes:
        """The next piece, as it arrives; empty at the end.

        Pieces of one read carry one stamp. What had arrived with the headers carries theirs.
        """
        with _mapped():
            if self._pieces >= _PIECES:
                data = await self._content.readany()
                self.stamp = perf_counter()
                return data
            while True:
                data, end_of_chunk = await self._content.readchunk()
                if data or not end_of_chunk:
                    break
        self._pieces += 1
        if self._offset >= self._primed and self._idle:
            self.stamp = perf_counter()
        self._offset += len(data)
        # Until the loop has gone round once, what is read was there already: the same read.
        self._idle = False
        self._loop.call_soon(self._mark_idle)
        return data

    def _mark_idle(self) -> None:
        self._idle = True

    async def __aiter__(self) -> AsyncIterator[bytes]:
        size = 0
        while (data := await self.read()) and size < _MAX_ERROR_BODY:
            size += len(data)
            yield data

    async def drain(self, seconds: float) -> None:
        """Wait briefly for the end after ``[DONE]``, so that the connection can be reused."""
        try:
            async with asyncio.timeout(seconds):
                while not self._content.at_eof():
                    await self._content.readany()
        except (TimeoutError, aiohttp.ClientError, http_exceptions.HttpProcessingError):
            self._response.close()

    async def aclose(self) -> None:
        """Return the connection where the body was read to its end, else close it."""
        if self._content.at_eof():
            self._response.release()
        else:
            self._response.close()


class AiohttpTransport(httpx2.AsyncBaseTransport):
    """Create and use it inside one running loop."""

    def __init__(self) -> None:
        trace = aiohttp.TraceConfig()
        trace.on_connection_create_start.append(_create_start)
        trace.on_connection_create_end.append(_create_end)
        trace.on_connection_reuseconn.append(_reused)
        self._session = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(limit=0, ttl_dns_cache=60),
            cookie_jar=aiohttp.DummyCookieJar(),
            trace_configs=[trace],
            trust_env=False,
            timeout=aiohttp.ClientTimeout(total=None, sock_connect=None),
            auto_decompress=True,
            read_bufsize=_READ_BUFFER,
            skip_auto_headers=("User-Agent",),
        )
        self._ssl: ssl.SSLContext | None = None

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        """Send one request; the response's body is a ``BodyStream`` in ``extensions["body"]``."""
        flight = current_flight.get() or Flight()
        arguments: dict[str, Any] = proxy_arguments(flight.proxy)
        if request.url.scheme == "https":
            arguments["ssl"] = await self._ssl_context()
        body = await request.aread()
        if body:
            arguments["data"] = _Body(body, flight)
        headers = [
            (name, value)
            for name, value in request.headers.multi_items()
            if name.lower() not in _DROPPED_HEADERS
        ]
        headers.append(("Accept-Encoding", "identity"))
        with _mapped():
            response = await self._session.request(
                request.method,
                str(request.url),
                headers=headers,
                allow_redirects=False,
                trace_request_ctx=flight,
                **arguments,
            )
        flight.headers_at = perf_counter()
        stream = BodyStream(response, flight.headers_at)
        return httpx2.Response(
            response.status,
            headers=[
                (name, value)
                for name, value in response.raw_headers
                if name.lower() != b"content-encoding"  # aiohttp has decoded it
            ],
            stream=stream,
            request=request,
            extensions={"body": stream, "reason_phrase": (response.reason or "").encode()},
        )

    async def aclose(self) -> None:
        """Close every connection."""
        await self._session.close()

    async def _ssl_context(self) -> ssl.SSLContext:
        """The operating system's trust store, as the SDK's own client uses it; loaded once."""
        if self._ssl is None:
            self._ssl = await asyncio.to_thread(httpx2.create_ssl_context)
        return self._ssl


class _Body(payload.BytesPayload):
    """A request body that says when its last byte was handed to the socket."""

    def __init__(self, data: bytes, flight: Flight) -> None:
        super().__init__(data)
        self._flight = flight

    async def write_with_length(
        self, writer: AbstractStreamWriter, content_length: int | None
    ) -> None:
        await super().write_with_length(writer, content_length)
        transport = getattr(writer, "transport", None)
        while isinstance(transport, asyncio.WriteTransport) and not transport.is_closing():
            if not transport.get_write_buffer_size():
                break
            await asyncio.sleep(0.001)
        self._flight.sent(perf_counter())


async def _create_start(_: Any, context: SimpleNamespace, __: Any) -> None:
    flight: Flight = context.trace_request_ctx
    flight.t_start = perf_counter()
    flight.connecting(flight.t_start)


async def _create_end(_: Any, context: SimpleNamespace, __: Any) -> None:
    flight: Flight = context.trace_request_ctx
    now = perf_counter()
    flight.connected(now, now - flight.t_start, False)


async def _reused(_: Any, context: SimpleNamespace, __: Any) -> None:
    flight: Flight = context.trace_request_ctx
    flight.connected(perf_counter(), 0.0, True)


_MAP: tuple[tuple[type[Exception], type[Exception], str], ...] = (
    # The first that fits; an empty text keeps the exception's own.
    (aiohttp.ClientProxyConnectionError, httpx2.ProxyError, ""),
    (aiohttp.ClientHttpProxyError, httpx2.ProxyError, ""),
    (aiohttp.ConnectionTimeoutError, httpx2.ConnectTimeout, ""),
    (aiohttp.SocketTimeoutError, httpx2.ReadTimeout, ""),
    (aiohttp.ClientConnectorError, httpx2.ConnectError, ""),
    (
        aiohttp.ServerDisconnectedError,
        httpx2.RemoteProtocolError,
        "Server disconnected without sending a response.",
    ),
    (aiohttp.ClientPayloadError, httpx2.RemoteProtocolError, ""),
    (aiohttp.ClientOSError, httpx2.ReadError, ""),
    (aiohttp.NonHttpUrlClientError, httpx2.UnsupportedProtocol, ""),
    (aiohttp.InvalidURL, httpx2.UnsupportedProtocol, ""),
    (aiohttp.ClientResponseError, httpx2.RemoteProtocolError, ""),
    (aiohttp.ClientConnectionError, httpx2.ReadError, ""),
    (http_exceptions.HttpProcessingError, httpx2.RemoteProtocolError, ""),
    (ssl.SSLError, httpx2.ConnectError, ""),
    (OSError, httpx2.ReadError, ""),
    (aiohttp.ClientError, httpx2.TransportError, ""),
)


@contextmanager
def _mapped() -> Iterator[None]:
    """Raise httpx2's exceptions for aiohttp's, so that the SDK raises its own for those."""
    try:
        yield
    except httpx2.HTTPError:
        raise
    except (aiohttp.ClientError, http_exceptions.HttpProcessingError, OSError) as error:
        for source, target, text in _MAP:
            if isinstance(error, source):
                raise target(text or str(error) or type(error).__name__) from error
        raise
