"""Writing a stream of server-sent events."""

from __future__ import annotations

import asyncio
from typing import Any

import msgspec
from aiohttp import web

_WRITE_TIMEOUT_S = 60.0
"""How long a client may leave its side of a stream unread."""

_ENCODER = msgspec.json.Encoder()


class EventStream:
    """One response of server-sent events; each event is handed to the socket at once."""

    def __init__(self, request: web.Request, request_id: str) -> None:
        self._request = request
        self._response = web.StreamResponse(
            headers={
                "Content-Type": "text/event-stream; charset=utf-8",
                "Cache-Control": "no-cache",
                "X-Accel-Buffering": "no",
                "x-request-id": request_id,
            }
        )

    async def open(self) -> None:
        """Send the headers."""
        await self._response.prepare(self._request)

    async def send(self, event: dict[str, Any]) -> None:
        """Send one event.

        Raises:
            ConnectionError: the client has gone, or reads nothing for too long.
        """
        await self._write(b"data: " + _ENCODER.encode(event) + b"\n\n")

    async def done(self) -> web.StreamResponse:
        """Send OpenAI's terminator and end the response."""
        await self._write(b"data: [DONE]\n\n")
        return await self.end()

    async def end(self) -> web.StreamResponse:
        """End the response as it is."""
        await self._response.write_eof()
        return self._response

    def cut(self) -> web.StreamResponse:
        """Close the connection in the middle of the response."""
        if self._request.transport is not None:
            self._request.transport.close()
        return self._response

    async def _write(self, data: bytes) -> None:
        try:
            async with asyncio.timeout(_WRITE_TIMEOUT_S):
                await self._response.write(data)
        except TimeoutError:
            if self._request.transport is not None:
                self._request.transport.abort()
            raise ConnectionResetError("the client does not read its stream") from None
