"""What one request asks for: endpoint and parameters, validated, with no network in it."""

from __future__ import annotations

import re
import secrets
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any

from kvtui.config import Endpoint


@dataclass(frozen=True, slots=True)
class Timeouts:
    """Seconds. ``total`` caps everything; None means no cap. DESIGN's defaults."""

    connect: float = 10.0
    headers: float = 300.0
    first_token: float = 300.0
    idle: float = 60.0
    """Between two *data* events: keep-alive comments do not count as life."""
    total: float | None = None


@dataclass(frozen=True, slots=True)
class Request:
    """One chat request. ``messages`` wins over ``system`` and ``prompt`` where it is given."""

    endpoint: Endpoint
    model: str
    prompt: str
    system: str | None = None
    messages: tuple[Mapping[str, Any], ...] | None = None
    max_tokens: int | None = 512
    temperature: float | None = None
    top_p: float | None = None
    seed: int | None = None
    stop: tuple[str, ...] = ()
    kv_cache: bool | None = None
    """Embedded engine only: False recomputes the prefix at every step. None: not sent."""
    extra_body: Mapping[str, Any] = field(default_factory=lambda: MappingProxyType({}))
    extra_headers: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    timeouts: Timeouts = Timeouts()
    cold: bool = False
    """No prefix cache shall answer for it: a server that is known to take the word is told so."""


def with_prefix(request: Request, prefix: str) -> Request:
    """``request`` with ``prefix`` before its first text, so that no prefix cache answers for it.

    That is the system text where there is one, else the prompt; of ``messages`` the first.
    """
    if request.messages:
        first, *rest = request.messages
        content = first.get("content")
        if isinstance(content, str):
            content = prefix + content
        elif isinstance(content, list):
            content = [{"type": "text", "text": prefix}, *content]
        return replace(request, cold=True, messages=({**first, "content": content}, *rest))
    if request.system:
        return replace(request, cold=True, system=prefix + request.system)
    return replace(request, cold=True, prompt=prefix + request.prompt)


_PREFIX = re.compile(r"\[\d+-[0-9a-f]{6}\] ")


def repeat_prefix(index: int) -> str:
    """What stands before the prompt of a repeat (from 0), different each time."""
    return f"[{index + 1}-{secrets.token_hex(3)}] "


def without_prefix(text: str) -> str:
    """``text`` as it was before ``repeat_prefix`` was put before it."""
    return _PREFIX.sub("", text, count=1) if _PREFIX.match(text) else text
