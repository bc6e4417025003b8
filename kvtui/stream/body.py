"""The JSON of a chat request, without the SDK: what is sent, and what a curl command repeats."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kvtui.stream.quirks import Quirks
from kvtui.stream.request import Request


def messages_of(request: Request) -> list[Mapping[str, Any]]:
    """The chat messages of a request."""
    if request.messages is not None:
        return list(request.messages)
    system = [{"role": "system", "content": request.system}] if request.system else []
    return [*system, {"role": "user", "content": request.prompt}]


def streams(request: Request) -> bool:
    """False where the request's own extra body says ``stream: false``."""
    return request.extra_body.get("stream") is not False


def fields_of(request: Request, quirks: Quirks) -> tuple[dict[str, Any], dict[str, Any]]:
    """The fields that the SDK names, and those beside them; where both have one, the latter count.

    Args:
        request: What to ask.
        quirks: What the endpoint is known to take and to refuse.
    """
    named: dict[str, Any] = {
        "model": request.model,
        "messages": messages_of(request),
        "stream": True,
    }
    extra: dict[str, Any] = {}
    if quirks.stream_options and streams(request):
        options: dict[str, Any] = {"include_usage": True}
        if quirks.continuous_usage:
            options["continuous_usage_stats"] = True
        named["stream_options"] = options
    if quirks.llamacpp:
        extra.update(return_progress=True, timings_per_token=True)
        if request.cold:
            extra["cache_prompt"] = False  # the chat template would still be found in it
    if request.max_tokens is not None:
        name = "max_completion_tokens" if quirks.max_completion_tokens else "max_tokens"
        named[name] = request.max_tokens
    for name in ("temperature", "top_p", "seed"):
        if (value := getattr(request, name)) is not None:
            named[name] = value
    if request.stop:
        named["stop"] = list(request.stop)
    if request.kv_cache is not None:
        extra["kv_cache"] = request.kv_cache
    extra.update(request.extra_body)
    return named, extra
