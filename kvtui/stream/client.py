"""The openai client, one for each endpoint in use, and what of its habits must not leak.

This module imports openai: only the session's own thread may import it.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

import httpx2
from openai import AsyncOpenAI, Omit

from kvtui.config import Endpoint
from kvtui.stream.body import fields_of
from kvtui.stream.quirks import Quirks
from kvtui.stream.request import Request
from kvtui.stream.transport import AiohttpTransport
from kvtui.stream.turns import Turns

_AMBIENT = ("OpenAI-Organization", "OpenAI-Project")


class Clients:
    """Builds and keeps the SDK's clients over one transport."""

    def __init__(self) -> None:
        self.turns = Turns()
        self.transport = AiohttpTransport(self.turns)
        self._http = httpx2.AsyncClient(
            transport=self.transport, follow_redirects=False, trust_env=False, timeout=None
        )
        self._made: dict[tuple[Any, ...], AsyncOpenAI] = {}

    def of(self, endpoint: Endpoint, base_url: str) -> AsyncOpenAI:
        """The client for ``endpoint`` at ``base_url`` (its own, or the one found to answer)."""
        key = (base_url, endpoint.api_key, tuple(sorted(endpoint.headers.items())))
        if key not in self._made:
            self._made[key] = AsyncOpenAI(
                api_key=endpoint.api_key or "",
                admin_api_key="",
                organization=None,
                project=None,
                base_url=base_url,
                max_retries=0,
                timeout=None,
                default_headers=_headers(endpoint, base_url),
                http_client=self._http,
            )
        return self._made[key]

    async def aclose(self) -> None:
        """Close every connection."""
        await self._http.aclose()


def _headers(endpoint: Endpoint, base_url: str) -> dict[str, Any]:
    """Headers of the endpoint's own; what the environment would add for OpenAI only, omitted."""
    headers: dict[str, Any] = {}
    host = (urlsplit(base_url).hostname or "").lower()
    if not (host == "api.openai.com" or host.endswith(".api.openai.com")):
        headers.update((name, Omit()) for name in _AMBIENT)
        for line in os.environ.get("OPENAI_CUSTOM_HEADERS", "").split("\n"):
            name = line.partition(":")[0].strip()
            if name and name.lower() != "authorization":
                headers[name] = Omit()
    own = {name.lower() for name in endpoint.headers}
    headers = {name: value for name, value in headers.items() if name.lower() not in own}
    if endpoint.api_key and "authorization" not in own:
        headers["Authorization"] = f"Bearer {endpoint.api_key}"
    return headers | dict(endpoint.headers)


def request_headers(endpoint: Endpoint, extra: Mapping[str, str]) -> dict[str, Any]:
    """Headers of one request; without a key the SDK is told that none is to be sent."""
    given = {name.lower() for name in (*endpoint.headers, *extra)}
    if endpoint.api_key or "authorization" in given:
        return dict(extra)
    return {"Authorization": Omit(), **extra}


def parameters_of(request: Request, quirks: Quirks) -> dict[str, Any]:
    """The arguments of ``chat.completions.create`` for a request to an endpoint with ``quirks``.

    The messages go beside the fields the SDK knows, in whose place it puts them unread: walking
    them through its types costs more CPU than all else of building a request.
    """
    arguments, extra = fields_of(request, quirks)
    arguments["extra_body"] = {"messages": arguments["messages"], **extra}
    arguments["messages"] = ()
    arguments["extra_headers"] = request_headers(request.endpoint, request.extra_headers)
    return arguments
