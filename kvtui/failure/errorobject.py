"""The error object E of an answer, out of every shape in which servers send one.

Shapes, in the order they are tried: a list with the object in it, an ``error`` object, an ``error``
string (with ``error_type`` or ``code`` beside it), a flat object (``object: "error"``, ``message``,
``detail``), MiniMax's ``base_resp``, and plain text that is not a web page.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from html import unescape
from types import MappingProxyType
from typing import Any, Literal, TypeAlias

Source: TypeAlias = Literal["json", "text", "html", "none"]

_MAX_WORDS = 2_000
"""Longest text that is searched for wordings: the classifier stays fast whatever is sent."""
_MAX_DEPTH = 5

_OWN_WORDS = """
    message msg detail error type code status reason reasons raw title description error_msg
    error_message error_code error_type errortype error_description status_msg status_code
    innererror inner_error metadata param loc errors details hint cause response blockreason
    promptfeedback base_resp flagged_input provider_name __type errmsg errcode
"""
_WORD_KEYS = frozenset(_OWN_WORDS.split())
"""Keys whose values are the server's own words. Others (``input``, ``ctx``) echo the request."""

_HTML = re.compile(r"<!doctype html|<html|<head[ >]|<body[ >]|<title[ >]", re.IGNORECASE)
_TITLE = re.compile(r"<title[^>]*>(.{0,200}?)</title>", re.IGNORECASE | re.DOTALL)
_TAGS = re.compile(r"<(script|style)\b.*?</\1>|<[^>]*>", re.IGNORECASE | re.DOTALL)


@dataclass(frozen=True, slots=True)
class ErrorObject:
    """What a server says of its failure, normalised. Texts are still as it sent them."""

    source: Source = "none"
    message: str = ""
    code: str | None = None
    """Lower case; None where it is missing, empty or null."""
    type: str | None = None
    param: str | None = None
    status: int | None = None
    """A status of 400 to 599 that the object itself names."""
    words: str = ""
    """Everything of it that may be searched, lower case."""
    data: Mapping[str, Any] = field(default_factory=lambda: MappingProxyType({}))
    """The object itself, with the fields beside it."""

    @property
    def is_error(self) -> bool:
        """True where the server sent an error object (not a web page, not stray text)."""
        return self.source == "json"


NO_ERROR = ErrorObject()


def find_error(body: str | None, sse_error: Any, status: int | None) -> ErrorObject:
    """The error object of an answer; ``NO_ERROR`` where there is none.

    Args:
        body: The body's text, where the answer was no stream.
        sse_error: The error that arrived inside a stream, parsed.
        status: The HTTP status; a body that came with 200 must look like an error to be one.
    """
    if sse_error is not None and sse_error != "":
        return _from_json(sse_error, failed=True) or ErrorObject("json", words="error")
    if not body or not body.strip():
        return NO_ERROR
    failed = status is not None and not 200 <= status < 300
    parsed = _parse(body)
    if parsed is not None:
        return _from_json(parsed, failed=failed) or NO_ERROR
    head = body[:_MAX_WORDS]
    if _HTML.search(head):
        return _from_html(head)
    return _from_text(head) if failed else NO_ERROR


def page_title(body: str) -> str:
    """The title of a web page, or an empty string."""
    match = _TITLE.search(body[:_MAX_WORDS])
    return " ".join(match[1].split()) if match else ""


def is_page(text: str) -> bool:
    """True where the text is a web page."""
    return _HTML.search(text[:_MAX_WORDS]) is not None


def _parse(body: str) -> Any:
    """The JSON in a body (also behind ``data:``), or None."""
    text = body.lstrip("\ufeff \t\r\n")
    if text.startswith(("data:", "event:")):
        lines = (line[5:] for line in text.splitlines() if line.startswith("data:"))
        text = next((line.strip() for line in lines if line.strip().startswith(("{", "["))), "")
    if not text.startswith(("{", "[", '"')):
        return None
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def _from_json(value: Any, *, failed: bool) -> ErrorObject | None:
    if isinstance(value, list):
        value = next((item for item in value if isinstance(item, dict)), " ".join(_texts(value)))
    if isinstance(value, str):
        return _from_text(value, "json") if failed and value.strip() else None
    if not isinstance(value, dict):
        return None
    outer = _lowered(value)
    inner = _inner(outer, failed)
    if inner is None:
        return None
    merged = {**outer, **inner}
    code = _first(inner, outer, keys=("code", "error_code", "errcode", "status_code"))
    kind = _first(inner, keys=("type", "error_type", "errortype", "__type")) or _first(
        outer, keys=("error_type", "errortype", "__type")
    )
    if kind is None and outer.get("type") != "error":
        kind = _first(outer, keys=("type",))
    words = (
        " ".join(_texts(outer)) if outer is inner else " ".join((*_texts(inner), *_texts(outer)))
    )
    return ErrorObject(
        source="json",
        message=_message(inner) or _message(outer) or "",
        code=(code or _word_status(inner) or "").lower() or None,
        type=kind,
        param=_first(inner, keys=("param",)),
        status=_status(inner) or _status(outer),
        words=words[:_MAX_WORDS].lower(),
        data=MappingProxyType(merged),
    )


def _inner(outer: dict[str, Any], failed: bool) -> dict[str, Any] | None:
    """The mapping that holds code, type and message; None where the object is no error."""
    if "response" in outer and isinstance(outer["response"], dict) and "choices" not in outer:
        wrapped = _lowered(outer["response"])
        if "error" in wrapped:
            outer = wrapped
    error = outer.get("error")
    if isinstance(error, list):
        error = next((item for item in error if isinstance(item, dict | str)), None)
    if isinstance(error, dict) and error:
        return _lowered(error)
    if isinstance(error, str) and error.strip():
        return {**outer, "message": _text(outer.get("message")) or error, "error": error}
    errors = outer.get("errors")
    if isinstance(errors, list) and errors and isinstance(errors[0], dict):
        return _lowered(errors[0])
    base = outer.get("base_resp")
    if isinstance(base, dict) and base.get("status_code") not in (0, "0", None):
        return _lowered(base)
    feedback = outer.get("promptfeedback")
    reason = _lowered(feedback).get("blockreason") if isinstance(feedback, dict) else None
    if reason:  # Gemini: no error object, no candidates, only this
        return {"code": "prompt_blocked", "message": f"blockReason {_text(reason) or 'unknown'}"}
    detail = outer.get("detail")
    if isinstance(detail, dict) and detail:
        return _inner(_lowered(detail), failed=True)
    return outer if failed or _looks_flat(outer) else None


def _looks_flat(outer: dict[str, Any]) -> bool:
    """A flat error that came with status 200: nothing of a completion, something of an error."""
    if outer.get("choices"):
        return False
    if outer.get("object") == "error" or outer.get("success") is False or outer.get("detail"):
        return True
    named = any(outer.get(key) for key in ("error_code", "error_msg", "errcode", "errmsg"))
    says = any(isinstance(outer.get(key), str) and outer[key] for key in ("message", "msg"))
    code = outer.get("code")
    return named or (says and code not in (None, "", 0, "0", 200, "200", True))


def _message(table: Mapping[str, Any], depth: int = 0) -> str | None:
    for key in ("message", "msg", "error_msg", "error_message", "errmsg", "status_msg"):
        value = table.get(key)
        text = _wrapped(value, depth) or _text(value)
        if text:
            return text
    detail = table.get("detail")
    if isinstance(detail, list):
        return "; ".join(filter(None, map(_detail_item, detail[:5]))) or None
    for key in ("detail", "error", "error_description", "blockreason", "title", "description"):
        text = _text(table.get(key))
        if text:
            return text
    return None


def _wrapped(value: Any, depth: int) -> str | None:
    """The message inside a message that is an object, or the JSON of one (gateways pass it on)."""
    if isinstance(value, str) and value.lstrip().startswith("{"):
        value = _parse(value)
    if not isinstance(value, dict) or depth >= _MAX_DEPTH:
        return None
    table = _lowered(value)
    inner = table.get("error")
    return _message(_lowered(inner) if isinstance(inner, dict) else table, depth + 1)


def _detail_item(item: Any) -> str:
    """One FastAPI validation entry as ``body.user: Extra inputs are not permitted``."""
    if not isinstance(item, dict):
        return _text(item) or ""
    loc = item.get("loc")
    where = ".".join(str(part)[:80] for part in loc[:6]) if isinstance(loc, list) else ""
    says = _text(item.get("msg")) or _text(item.get("type")) or ""
    return f"{where}: {says}" if where and says else where or says


def _status(table: Mapping[str, Any]) -> int | None:
    for key in ("code", "status", "http_status_code", "status_code", "statuscode", "http_code"):
        number = whole(table.get(key))
        if number is not None and 400 <= number < 600:
            return number
    return None


def _word_status(table: Mapping[str, Any]) -> str | None:
    """Google's ``status: "RESOURCE_EXHAUSTED"``, a code in all but name."""
    status = table.get("status")
    return status if isinstance(status, str) and whole(status) is None else None


def _first(*tables: Mapping[str, Any], keys: tuple[str, ...]) -> str | None:
    for table in tables:
        for key in keys:
            text = _text(table.get(key))
            if text:
                return text[:120]
    return None


def _text(value: Any) -> str | None:
    """A string or number as text; anything else is no text."""
    if isinstance(value, bool) or value is None:
        return None
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    if isinstance(value, int) and abs(value) > 10**15:
        return None
    return str(value).strip() if isinstance(value, str | int | float) else None


def whole(value: Any) -> int | None:
    """A whole number out of an int, a float without a fraction or a string of digits."""
    if isinstance(value, bool):
        return None
    if isinstance(value, int):
        return value if abs(value) <= 10**15 else None
    if isinstance(value, float) and value.is_integer() and abs(value) <= 10**15:
        return int(value)
    if isinstance(value, str) and re.fullmatch(r"\s*[0-9]{1,15}\s*", value):
        return int(value)
    return None


def _lowered(table: Mapping[Any, Any]) -> dict[str, Any]:
    return {str(key).lower(): value for key, value in table.items()}


def _texts(value: Any, depth: int = 0) -> Iterator[str]:
    """The server's own words in an object, in order, without what echoes the request."""
    if depth > _MAX_DEPTH:
        return
    if isinstance(value, Mapping):
        for key, item in list(value.items())[:60]:
            name = str(key).lower()
            if name == "flagged_input":
                yield name  # its value is the user's text
            elif name in _WORD_KEYS or (depth == 0 and name == "contentfilter"):
                yield from _texts(item, depth + 1)
    elif isinstance(value, list):
        for item in value[:20]:
            yield from _texts(item, depth + 1)
    else:
        text = _text(value)
        if text:
            yield text[:_MAX_WORDS]


def _from_html(head: str) -> ErrorObject:
    head = unescape(head)
    text = " ".join(_TAGS.sub(" ", head).split())
    words = " ".join(head.lower().split())
    return ErrorObject("html", message=page_title(head) or text[:200], words=words)


def _from_text(text: str, source: Source = "text") -> ErrorObject:
    flat = " ".join(text[:_MAX_WORDS].split())
    return ErrorObject(source, message=flat, words=flat.lower())
