"""The key check, for servers that were started with a key."""

from __future__ import annotations

import hmac

from aiohttp import web
from aiohttp.typedefs import Handler

from kvtui.engine.server.errors import ApiError
from kvtui.engine.server.state import STATE

_OPEN = frozenset({"/", "/health", "/metrics"})


@web.middleware
async def require_key(request: web.Request, handler: Handler) -> web.StreamResponse:
    """Ask for the key everywhere but on the paths that say how the server is."""
    key = request.app[STATE].api_key
    if key is not None and request.path not in _OPEN:
        _check(request.headers.get("Authorization", ""), key)
    return await handler(request)


def _check(header: str, key: str) -> None:
    scheme, _, given = header.partition(" ")
    if scheme.lower() != "bearer" or not given.strip():
        raise ApiError(
            401,
            "You didn't provide an API key. You need to provide your API key in an Authorization "
            "header using Bearer auth (i.e. Authorization: Bearer YOUR_KEY).",
            headers={"WWW-Authenticate": "Bearer"},
        )
    if not hmac.compare_digest(given.strip().encode("utf-8", "replace"), key.encode()):
        raise incorrect_key()


def incorrect_key() -> ApiError:
    """401 as OpenAI words it; the key itself is never repeated."""
    return ApiError(
        401,
        "Incorrect API key provided. Check the key this server was started with.",
        code="invalid_api_key",
        headers={"WWW-Authenticate": "Bearer"},
    )
