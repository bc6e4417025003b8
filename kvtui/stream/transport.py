"""The SDK's HTTP transport over aiohttp: connection set-up apart, every read stamped.

It is given to the openai client in place of httpx2's own, so that the request is the SDK's and the
bytes are ours. Nothing is retried, redirected or decoded behind the meter's back.
"""

from __future__ import annotations

import asyncio
import ssl
from collections import deque
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from time import perf_counter
from typing import Any

import aiohttp
import httpx2
from aiohttp import http_exceptions
from aiohttp.client_proto import ResponseHandler
from aiohttp.connector import Connection

from kvtui.proxy import login_header, proxy_arguments
from kvtui.stream.encoding import Inflater, UndecodableError
from kvtui.stream.sending import Flight, SentBody, connections_told, current_flight
from kvtui.stream.turns import Turns

_READ_BUFFER = 256 << 10
_PIECES = 48
_PIECEWISE = 4 << 10
"""Reads and bytes of a response that are taken one HTTP chunk at a time at least; this shows how
the server framed it."""
_MAX_ERROR_BODY = 1 << 20
ERROR_BODY_S = 5.0
ERROR_SILENCE_S = 2.0
"""How long an error's body may take, and how long nothing of it may come: its status says more."""
_DROPPED_HEADERS = frozenset({"host", "accept-encoding", "connection", "content-length"})


class _Handler(ResponseHandler):
    """aiohttp's client protocol, which also notes when each read came off the socket.

    A task that is woken late (64 streams, a busy core) still learns when its bytes were there.
    """

    marks: deque[tuple[int, float]]
    """(bytes of body so far, ``perf_counter`` seconds), one for each read of this response."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        super().__init__(loop)
        self.marks = deque()

    def data_received(self, data: bytes) -> None:
        now = perf_counter()
        if not self.marks and (end := data.find(b"\r\n\r\n")) > 0:
            # The headers alone first: they count also where what follows them is no HTTP.
            super().data_received(data[: end + 4])
            data = data[end + 4 :]
        if data:
            super().data_received(data)
        # Private: without it nothing is marked, and pieces are stamped when the task reads them.
        payload = getattr(self, "_payload", None)
        self.marks.append((getattr(payload, "total_bytes", 0), now))
        error = self.exception()
        if error and payload and not payload.is_eof() and payload.exception() is None:
            # What came is no HTTP any more: whoever reads the body shall not wait for the rest.
            payload.set_exception(error)


class _Response(aiohttp.ClientResponse):
    """A response that keeps the marks of its reads."""

    marks: deque[tuple[int, float]] | None = None

    async def start(self, connection: Connection) -> aiohttp.ClientResponse:
        protocol = connection.protocol
        if isinstance(protocol, _Handler):
            self.marks = protocol.marks = deque()
        return await super().start(connection)


class BodyStream(httpx2.AsyncByteStream):
    """A response body: ``read`` gives stamped pieces, iterating serves the SDK's error bodies."""

    def __init__(self, response: aiohttp.ClientResponse) -> None:
        self._response = response
        self._content = response.content
        self._marks = (response.marks if isinstance(response, _Response) else None) or deque()
        self._read = 0
        self._given = 0
        self._pieces = 0
        self._rest = b""
        self._broke: Exception | None = None
        self._inflater = Inflater(response.headers.get("content-encoding"))
        self.stamp = self._marks[0][1] if self._marks else perf_counter()
        """``perf_counter`` of the read that the last piece came from; at first the headers'."""

    async def read(self) -> bytes:
        """The next piece, as it arrived; empty at the end.

        A piece never spans two reads of the socket, and the first ones do not span two HTTP chunks.

        Raises:
            httpx2.HTTPError: The body broke off, or its compression cannot be undone.
        """
        inflater = self._inflater
        while data := await self._piece():
            if inflater.plain:
                return data
            try:
                if given := inflater.feed(data):
                    return given
            except UndecodableError as error:
                raise httpx2.DecodingError(str(error)) from error
        return data

    async def _piece(self) -> bytes:
        data = self._rest
        self._rest = b""
        if not data:
            data = await self._next()
            self._read += len(data)
        marks = self._marks
        while marks and marks[0][0] <= self._given:
            marks.popleft()
        if not data:
            return data
        if not marks:
            self.stamp = perf_counter()
            self._given += len(data)
            return data
        end, self.stamp = marks[0]
        size = end - self._given
        if size < len(data):
            self._rest = data[size:]
            data = data[:size]
        self._given += len(data)
        return data

    async def _next(self) -> bytes:
        if self._broke is not None:
            raise self._broke
        content = self._content
        try:
            if self._pieces >= _PIECES and self._read >= _PIECEWISE:
                return await content.readany()
            self._pieces += 1
            while True:
                data, end_of_chunk = await content.readchunk()
                if data or not end_of_chunk or content.at_eof():
                    return data
        except _FROM_AIOHTTP as error:
            mapped = _as_httpx(error)
            if not (unread := self._unread()):
                raise mapped from error
            mapped.__cause__ = error
            self._broke = mapped
            return unread

    def _unread(self) -> bytes:
        """What had come before the body broke off; aiohttp gives it to nobody then."""
        buffer = getattr(self._content, "_buffer", None)
        if not buffer:
            return b""
        data = b"".join(buffer)[getattr(self._content, "_buffer_offset", 0) :]
        buffer.clear()
        return data

    async def __aiter__(self) -> AsyncIterator[bytes]:
        size = 0
        while (data := await self.read()) and size < _MAX_ERROR_BODY:
            size += len(data)
            yield data

    async def error_body(self) -> bytes:
        """What comes of the body of an error in good time; one that breaks off or hangs is cut."""
        loop = asyncio.get_running_loop()
        end = loop.time() + ERROR_BODY_S
        pieces: list[bytes] = []
        size = 0
        with suppress(TimeoutError, httpx2.HTTPError, ValueError):
            while size < _MAX_ERROR_BODY:
                async with asyncio.timeout(min(ERROR_SILENCE_S, end - loop.time())):
                    data = await self.read()
                if not data:
                    break
                pieces.append(data)
                size += len(data)
        return b"".join(pieces)

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

    def __init__(self, turns: Turns) -> None:
        self._turns = turns
        self._session = aiohttp.ClientSession(
            connector=_connector(),
            response_class=_Response,
            cookie_jar=aiohttp.DummyCookieJar(),
            trace_configs=[connections_told()],
            trust_env=False,
            timeout=aiohttp.ClientTimeout(total=None, sock_connect=None),
            auto_decompress=False,
            read_bufsize=_READ_BUFFER,
            skip_auto_headers=("User-Agent",),
        )
        self._ssl: ssl.SSLContext | None = None

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        """Send one request; the response's body is a ``BodyStream`` in ``extensions["body"]``."""
        flight = current_flight.get() or Flight()
        arguments: dict[str, Any] = proxy_arguments(flight.proxy)
        secure = request.url.scheme == "https"
        flight.plain_hops = (1 if flight.proxy else 0) if secure else -1
        if secure:
            arguments["ssl"] = await self._ssl_context()
        body = await request.aread()
        if body:
            arguments["data"] = SentBody(body, flight)
        headers = [
            (name, value)
            for name, value in request.headers.multi_items()
            if name.lower() not in _DROPPED_HEADERS
        ]
        headers.append(("Accept-Encoding", "identity"))
        headers += login_header(flight.proxy, str(request.url)).items()
        with _mapped():
            response = await self._session.request(
                request.method,
                str(request.url),
                headers=headers,
                allow_redirects=False,
                trace_request_ctx=flight,
                **arguments,
            )
        stream = BodyStream(response)
        await self._turns.take()
        headers_in = httpx2.Headers(
            [
                (name, value)
                for name, value in response.raw_headers
                if name.lower() != b"content-encoding"  # the body stream undoes it
            ]
        )
        content: httpx2.AsyncByteStream = stream
        if response.status >= 400:
            flight.failing(response.status, headers_in)
            content = httpx2.ByteStream(await stream.error_body())
            await stream.aclose()
        return httpx2.Response(
            response.status,
            headers=headers_in,
            stream=content,
            request=request,
            extensions={"body": stream, "reason_phrase": (response.reason or "").encode()},
        )

    async def prepare(self, url: str) -> None:
        """Load what a request to ``url`` needs of this machine, which is no time of the host's."""
        if url.lower().startswith("https:"):
            await self._ssl_context()

    async def aclose(self) -> None:
        """Close every connection."""
        await self._session.close()

    async def _ssl_context(self) -> ssl.SSLContext:
        """The operating system's trust store, as the SDK's own client uses it; loaded once."""
        if self._ssl is None:
            self._ssl = await asyncio.to_thread(httpx2.create_ssl_context)
        return self._ssl


def _handler(loop: asyncio.AbstractEventLoop) -> _Handler:
    if (flight := current_flight.get()) is not None:
        flight.lower_layer_stands()
    return _Handler(loop)


def _connector() -> aiohttp.TCPConnector:
    """No limit on connections, and protocols that note their reads.

    aiohttp has no public way to give it a protocol. Where a later version has renamed the factory,
    pieces are stamped when the task reads them, a little later.
    """
    connector = aiohttp.TCPConnector(limit=0, ttl_dns_cache=60)
    if hasattr(connector, "_factory"):
        loop = asyncio.get_running_loop()
        factory: Any = partial(_handler, loop)
        connector._factory = factory
    return connector


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


_FROM_AIOHTTP = (aiohttp.ClientError, http_exceptions.HttpProcessingError, OSError)


def _as_httpx(error: Exception) -> Exception:
    """httpx2's exception for one of aiohttp's."""
    for source, target, text in _MAP:
        if isinstance(error, source):
            return target(text or str(error) or type(error).__name__)
    return error


@contextmanager
def _mapped() -> Iterator[None]:
    """Raise httpx2's exceptions for aiohttp's, so that the SDK raises its own for those."""
    try:
        yield
    except httpx2.HTTPError:
        raise
    except _FROM_AIOHTTP as error:
        raise _as_httpx(error) from error
