"""Failures on demand: models that answer as a real provider would in that case.

They are for demonstrations and tests; `GET /v1/models?demo=1` lists them.
"""

from __future__ import annotations

import asyncio
import time
import uuid
from collections.abc import Awaitable, Callable
from typing import Any

from aiohttp import web

from kvtui.engine.server.errors import ApiError
from kvtui.engine.server.stream import EventStream

_PAUSE_S = 0.03
"""Between two words of a demo stream."""

_WORDS = ("The", "KV", "cache", "keeps", "what", "attention", "has", "computed", "so", "that")


async def _auth(_request: web.Request) -> web.StreamResponse:
    raise ApiError(
        401,
        "Incorrect API key provided: sk-demo*****demo. You can find your API key at "
        "https://platform.openai.com/account/api-keys.",
        code="invalid_api_key",
    )


async def _parameter(_request: web.Request) -> web.StreamResponse:
    raise ApiError(
        400,
        "This model's maximum context length is 2048 tokens. However, you requested 4608 tokens "
        "(4096 in the messages, 512 in the completion). Please reduce the length of the messages "
        "or completion.",
        param="messages",
        code="context_length_exceeded",
    )


async def _ratelimit(_request: web.Request) -> web.StreamResponse:
    raise ApiError(
        429,
        "Rate limit reached for demo-ratelimit in organization org-demo on requests per min "
        "(RPM): Limit 3, Used 3, Requested 1. Please try again in 20s.",
        type_="requests",
        code="rate_limit_exceeded",
        headers={
            "Retry-After": "20",
            "x-ratelimit-limit-requests": "3",
            "x-ratelimit-remaining-requests": "0",
            "x-ratelimit-reset-requests": "20s",
        },
    )


async def _server(_request: web.Request) -> web.StreamResponse:
    raise ApiError(
        503,
        "The engine is currently overloaded, please try again later.",
        type_="server_error",
        code="service_unavailable",
        headers={"Retry-After": "5"},
    )


async def _network(request: web.Request) -> web.StreamResponse:
    stream = await _begin(request, "demo-network")
    return stream.cut()


async def _filter(request: web.Request) -> web.StreamResponse:
    stream = await _begin(request, "demo-filter")
    await stream.send(_chunk("demo-filter", {}, "content_filter"))
    return await stream.done()


async def _truncated(request: web.Request) -> web.StreamResponse:
    stream = await _begin(request, "demo-truncated")
    return await stream.end()


async def _begin(request: web.Request, model: str) -> EventStream:
    """Stream a few words, as if an answer were coming."""
    stream = EventStream(request, f"req-{uuid.uuid4().hex}")
    await stream.open()
    await stream.send(_chunk(model, {"role": "assistant", "content": ""}))
    for index, word in enumerate(_WORDS):
        await asyncio.sleep(_PAUSE_S)
        await stream.send(_chunk(model, {"content": word if index == 0 else f" {word}"}))
    await asyncio.sleep(_PAUSE_S)
    return stream


def _chunk(model: str, delta: dict[str, Any], finish: str | None = None) -> dict[str, Any]:
    return {
        "id": "chatcmpl-demo",
        "object": "chat.completion.chunk",
        "created": int(time.time()),
        "model": model,
        "choices": [{"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish}],
    }


DEMO_MODELS: dict[str, Callable[[web.Request], Awaitable[web.StreamResponse]]] = {
    "demo-auth": _auth,
    "demo-network": _network,
    "demo-parameter": _parameter,
    "demo-filter": _filter,
    "demo-ratelimit": _ratelimit,
    "demo-server": _server,
    "demo-truncated": _truncated,
}
"""Handlers by the model a request names; they answer with a stream whether asked to or not."""
