"""A small server with the habits of real ones, chosen by its first path segment."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest
from aiohttp import web

from kvtui.config import Endpoint

KEY = "sk-doctor-test-0123456789"

MODELS = {"object": "list", "data": [{"id": "qwen3", "owned_by": "vllm"}, {"id": "llama3"}]}


def _chunk(**fields: Any) -> bytes:
    return b"data: " + json.dumps({"id": "c", "model": "qwen3", **fields}).encode() + b"\n\n"


async def _stream(request: web.Request, *, usage: bool) -> web.StreamResponse:
    response = web.StreamResponse(headers={"content-type": "text/event-stream"})
    await response.prepare(request)
    for word in ("one ", "two ", "three"):
        delta = {"index": 0, "delta": {"content": word}, "finish_reason": None}
        await response.write(_chunk(choices=[delta]))
        await asyncio.sleep(0.03)
    await response.write(_chunk(choices=[{"index": 0, "delta": {}, "finish_reason": "stop"}]))
    if usage:
        counts = {"prompt_tokens": 5, "completion_tokens": 3, "total_tokens": 8}
        await response.write(_chunk(choices=[], usage=counts))
    await response.write(b"data: [DONE]\n\n")
    return response


def _denied(request: web.Request) -> web.Response | None:
    if request.headers.get("authorization") == f"Bearer {KEY}":
        return None
    error = {"message": "Incorrect API key provided", "code": "invalid_api_key"}
    return web.json_response({"error": error}, status=401)


async def _models(request: web.Request) -> web.StreamResponse:
    kind = request.match_info["kind"]
    if kind == "nolist":
        return web.Response(status=404, text="404 page not found")
    if kind == "loading":
        error = {"message": "Loading model", "type": "unavailable_error", "code": 503}
        return web.json_response({"error": error}, status=503)
    if kind == "public":
        return web.json_response(MODELS)
    return _denied(request) or web.json_response(MODELS)


async def _chat(request: web.Request) -> web.StreamResponse:
    kind = request.match_info["kind"]
    body = await request.json()
    if denied := _denied(request):
        return denied
    if "model" not in body:
        error = {"message": "you must provide a model parameter"}
        return web.json_response({"error": error}, status=400)
    if body["model"] not in ("qwen3", "llama3"):
        message = f"The model `{body['model']}` does not exist."
        error = {"message": message, "code": "model_not_found", "param": "model"}
        return web.json_response({"error": error}, status=404)
    return await _stream(request, usage=kind != "nousage")


async def _page(_: web.Request) -> web.Response:
    return web.Response(
        status=404, content_type="text/html", text="<html><title>404</title></html>"
    )


@pytest.fixture
async def server() -> AsyncIterator[str]:
    """The address of the server, without a path."""
    app = web.Application()
    kinds = "{kind:good|nolist|loading|public|nousage}"
    app.router.add_get(f"/{kinds}/v1/models", _models)
    app.router.add_post(f"/{kinds}/v1/chat/completions", _chat)
    app.router.add_route("*", "/{tail:.*}", _page)
    runner = web.AppRunner(app)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    assert site._server is not None
    port = site._server.sockets[0].getsockname()[1]
    yield f"http://127.0.0.1:{port}"
    await runner.cleanup()


@pytest.fixture
def endpoint(server: str) -> Callable[..., Endpoint]:
    def make(path: str = "good/v1", **fields: Any) -> Endpoint:
        values: dict[str, Any] = {
            "base_url": f"{server}/{path}",
            "chosen_by": "--base-url",
            "api_key": KEY,
            "key_from": "DOCTOR_API_KEY",
            "model": "qwen3",
        }
        return Endpoint(**{**values, **fields})

    return make
