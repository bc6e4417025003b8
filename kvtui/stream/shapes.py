"""The shapes in which servers send text, reasoning, usage and errors: one reading for each."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import msgspec

_REASONING_FIELDS = (
    "reasoning_content",
    "reasoning",
    "reasoning_text",
    "thinking",
    "thinking_content",
    "thought",
)
_THINKING_PARTS = frozenset({"thinking", "reasoning", "thought", "reasoning_text", "summary_text"})
_ERROR_FIELDS = ("error", "errors", "detail", "message", "msg", "base_resp", "error_msg")


class Counts(NamedTuple):
    """Token counts of one usage object; None where it gives none."""

    prompt: int | None
    completion: int | None
    reasoning: int | None
    cached: int | None


def flat_text(value: Any) -> str:
    """The text in a string, a part, or a list of them; empty where there is none."""
    if isinstance(value, str):
        return value
    if isinstance(value, list):
        return "".join(map(flat_text, value))
    if isinstance(value, dict):
        for field in ("text", "thinking", "reasoning", "content", "summary"):
            if text := flat_text(value.get(field)):
                return text
    return ""


def content_parts(value: Any) -> tuple[str, str]:
    """``content`` as (answer, reasoning): a string, null, a part, or a list of typed parts."""
    if isinstance(value, str):
        return value, ""
    if isinstance(value, dict):
        value = [value]
    if not isinstance(value, list):
        return "", ""
    answer: list[str] = []
    reasoning: list[str] = []
    for part in value:
        thinks = isinstance(part, dict) and (
            part.get("type") in _THINKING_PARTS or part.get("thought") is True
        )
        (reasoning if thinks else answer).append(flat_text(part))
    return "".join(answer), "".join(reasoning)


def reasoning_text(delta: Mapping[str, Any]) -> str:
    """The reasoning in a delta or message, in whichever field; the same text twice counts once."""
    for field in _REASONING_FIELDS:
        if text := flat_text(delta.get(field)):
            return text
    return flat_text(delta.get("reasoning_details"))


def speaks(delta: Mapping[str, Any]) -> bool:
    """Whether a delta or message has anything of an answer in it."""
    return bool(
        any(content_parts(delta.get("content")))
        or reasoning_text(delta)
        or delta.get("refusal")
        or tool_call_texts(delta)
    )


def tool_call_texts(delta: Mapping[str, Any]) -> tuple[int, str] | None:
    """(calls that begin here, name and argument text), or None where there is no tool call."""
    calls = delta.get("tool_calls")
    legacy = delta.get("function_call")
    if not isinstance(calls, list):
        calls = []
    functions = [call.get("function") for call in calls if isinstance(call, dict)]
    if isinstance(legacy, dict):
        functions.append(legacy)
    if not functions:
        return None
    begun = 0
    text: list[str] = []
    for function in functions:
        if not isinstance(function, dict):
            continue
        name, arguments = function.get("name"), function.get("arguments")
        if isinstance(name, str) and name:
            begun += 1
            text.append(name)
        if isinstance(arguments, str):
            text.append(arguments)
    return begun, "".join(text)


def usage_counts(usage: Mapping[str, Any]) -> Counts:
    """The counts of a usage object under any of the names in use.

    Where prompt + completion + reasoning make the total, completion leaves reasoning out (xAI),
    and it is added.
    """
    prompt = _first_count(usage, "prompt_tokens", "input_tokens")
    completion = _first_count(usage, "completion_tokens", "output_tokens", "generated_tokens")
    total = count(usage.get("total_tokens"))
    details = _first_dict(usage, "completion_tokens_details", "output_tokens_details")
    reasoning = _first_count(details, "reasoning_tokens")
    if reasoning is None:
        reasoning = _first_count(usage, "reasoning_tokens")
    cached = _first_count(
        _first_dict(usage, "prompt_tokens_details", "input_tokens_details"), "cached_tokens"
    )
    if cached is None:
        cached = _first_count(usage, "prompt_cache_hit_tokens", "cached_tokens")
    inside = cached is not None
    if cached is None:  # counted beside the prompt, not as a part of it
        cached = _first_count(usage, "cache_read_input_tokens")
    if prompt is not None and completion is not None and reasoning and total is not None:
        additive = prompt + completion + reasoning == total
        if additive and prompt + completion != total:
            completion += reasoning
    # More cached than there was, more thought than was written: whoever counted so, miscounted.
    if cached is not None and inside and prompt is not None and cached > prompt:
        cached = None
    if reasoning is not None and completion is not None and reasoning > completion:
        reasoning = None
    return Counts(prompt, completion, reasoning, cached)


def error_in(payload: Mapping[str, Any]) -> bool:
    """Whether an object that came where a chunk was due is, or carries, an error."""
    if payload.get("error"):
        return True
    base = payload.get("base_resp")
    if isinstance(base, dict) and base.get("status_code"):
        return True
    if payload.get("object") == "error" or payload.get("type") == "error":
        return True
    if "choices" in payload and payload["choices"] is not None:
        return False
    if "usage" in payload or "timings" in payload or payload.get("type") == "ping":
        return False
    if payload.get("code") in (0, "0", 200, "200") and not payload.get("errors"):
        return False  # "Success" is a message too
    return any(payload.get(field) for field in _ERROR_FIELDS if field != "base_resp")


def filtered_categories(results: Any) -> list[str]:
    """The categories that a ``content_filter_results`` marks as filtered."""
    if not isinstance(results, dict):
        return []
    return [
        name
        for name, result in results.items()
        if isinstance(result, dict) and (result.get("filtered") or result.get("detected"))
    ]


def count(value: Any) -> int | None:
    """A count of zero or more, else None."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    if value < 0 or value != value or value > 1e15 or value % 1:
        return None
    return int(value)


def _first_count(table: Mapping[str, Any], *names: str) -> int | None:
    for name in names:
        if (found := count(table.get(name))) is not None:
            return found
    return None


def _first_dict(table: Mapping[str, Any], *names: str) -> Mapping[str, Any]:
    for name in names:
        if isinstance(value := table.get(name), dict):
            return value
    return {}


def number(value: Any) -> float | None:
    """A finite JSON number, else None."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return float(value) if abs(value) < 1e15 else None


def wire_tokens(choice: dict[str, Any]) -> int | None:
    """Tokens of this chunk where the wire lists them: token ids, else log probabilities."""
    ids = choice.get("token_ids")
    if isinstance(ids, list) and ids:
        return len(ids)
    logprobs = choice.get("logprobs")
    if isinstance(logprobs, dict) and isinstance(entries := logprobs.get("content"), list):
        return len(entries) or None
    return None


def objects(payload: bytes) -> list[dict[str, Any]] | None:
    """The JSON object in ``payload`` (or those in its list); None where there is none."""
    try:
        value = msgspec.json.decode(payload)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        try:
            # Not strict: control characters that a server left unescaped are its text all the same.
            value = json.loads(payload.decode("utf-8", "replace"), strict=False)
        except (ValueError, RecursionError):
            return None
    return list(_tables(value)) or None


def is_chunk(payload: bytes) -> bool:
    """Whether the payload is one chunk of a stream, not a whole answer and not an error."""
    for table in objects(payload) or ():
        choices = table.get("choices")
        first = choices[0] if isinstance(choices, list) and choices else None
        if isinstance(first, dict) and "delta" in first and "message" not in first:
            return True
    return False


def _tables(value: Any) -> Iterator[dict[str, Any]]:
    if isinstance(value, dict):
        yield value
    elif isinstance(value, list):
        yield from (item for item in value if isinstance(item, dict))
