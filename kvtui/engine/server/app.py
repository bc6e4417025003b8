"""The web application: routes and middlewares."""

from __future__ import annotations

from aiohttp import web

from kvtui.engine.server import completions, info, prompts
from kvtui.engine.server.auth import require_key
from kvtui.engine.server.errors import shape_errors
from kvtui.engine.server.schema import MAX_BODY
from kvtui.engine.server.state import STATE, State


def build_app(state: State) -> web.Application:
    """The application for one engine."""
    app = web.Application(client_max_size=MAX_BODY, middlewares=[shape_errors, require_key])
    app[STATE] = state
    app.on_response_prepare.append(_name_server)
    app.router.add_get("/", info.index)
    app.router.add_get("/health", info.health)
    app.router.add_get("/metrics", info.metrics)
    app.router.add_get("/v1/models", info.models)
    app.router.add_get("/v1/models/{model:.+}", info.model)
    app.router.add_post("/v1/chat/completions", completions.chat_completions)
    app.router.add_post("/v1/completions", completions.completions)
    app.router.add_post("/tokenize", prompts.tokenize)
    app.router.add_post("/detokenize", prompts.detokenize)
    return app


async def _name_server(_request: web.Request, response: web.StreamResponse) -> None:
    """Say who answers, so that clients know which extensions they may ask for."""
    response.headers["Server"] = "kvtui"
