"""The JSON of a chat request, without the SDK: what is sent, and what a curl command repeats."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from kvtui.stream.quirks import Quirks
from kvtui.stream.request import Request

_SURROGATE = re.compile("[\ud800-\udfff]")
_DEEPEST = 100
_MOST_BITS = 14_000


class UnsendableError(ValueError):
    """A request that cannot be put on the wire as it is; says which part of it."""


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


def unsendable(request: Request, quirks: Quirks) -> str | None:
    """A sentence that names the part of a request which cannot be sent; None where all can."""
    named, extra = fields_of(request, quirks)
    for place, fault in _faults("", named | extra, 0):
        return f"{_called(request, place)} {fault}."
    return None


def unsendable_header(headers: Mapping[str, str]) -> str | None:
    """A sentence that names the header which HTTP cannot carry; None where it can carry all."""
    for name, value in headers.items():
        for what, text in (("name", name), ("value", value)):
            for place, char in enumerate(text, 1):
                if not char.isascii() or (not char.isprintable() and char != "\t"):
                    kind = "one that is not ASCII" if not char.isascii() else "a control character"
                    shown = name.encode("ascii", "backslashreplace").decode("ascii")
                    return (
                        f"the {what} of the header {shown} holds a character that no header can"
                        f" carry (character {place} is {kind})."
                    )
    return None


def _faults(place: str, value: Any, depth: int) -> Iterator[tuple[str, str]]:
    """Where in a JSON value something stands that JSON or UTF-8 cannot say, and what it is."""
    if isinstance(value, str):
        if (match := _SURROGATE.search(value)) is not None:
            yield (
                place,
                f"has half a surrogate pair (U+{ord(match[0]):04X}) at character"
                f" {match.start() + 1}: it is no text that UTF-8 can carry",
            )
    elif isinstance(value, int) and value.bit_length() > _MOST_BITS:
        yield place, "is a number of more than 4,300 digits"
    elif isinstance(value, float):
        if value != value:
            yield place, "is NaN, which JSON does not know"
        elif abs(value) == float("inf"):
            yield place, "is infinite, or a number too large, which JSON does not know"
    elif depth > _DEEPEST:
        yield place, f"is nested more than {_DEEPEST} levels deep"
    elif isinstance(value, Mapping):
        for key, item in value.items():
            yield from _faults(f"{place}.{key}".lstrip("."), item, depth + 1)
            if isinstance(key, str) and _SURROGATE.search(key):
                yield place or "the body", "has a name that UTF-8 cannot carry"
    elif isinstance(value, list | tuple):
        for number, item in enumerate(value):
            yield from _faults(f"{place}[{number}]", item, depth + 1)


def _called(request: Request, place: str) -> str:
    """``messages[0].content`` as whoever typed it calls it."""
    if request.messages is not None or not place.startswith("messages["):
        return place
    system = request.system and place.startswith("messages[0]")
    return "the system text" if system else "the prompt"
