"""A failure as a text to send to a provider: all evidence, versions and times, nothing secret."""

from __future__ import annotations

import json
import platform
import re
from collections.abc import Iterable, Mapping
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from kvtui import __version__
from kvtui.bench.requests.curl import Sent
from kvtui.bench.requests.document import evidence_object
from kvtui.failure import Evidence, Verdict
from kvtui.measure.figures import RunFigures
from kvtui.stream.body import fields_of
from kvtui.text import milliseconds, redact, sanitise

_PACKAGES = ("openai", "aiohttp", "httpx2", "textual")
_REQUEST_ID = re.compile(
    r"(^|-)(request|trace|correlation|ray|transaction)(-?id)?$|^cf-ray$|^traceparent$"
)
_TIMES = (
    ("connect_ms", "connection"),
    ("ttft_ms", "first token"),
    ("e2e_ms", "whole answer"),
    ("server_ms", "server's own time"),
    ("tpot_ms", "per token"),
)
_COUNTS = ("chunks", "prompt_tokens", "cached_prompt_tokens", "completion_tokens", "token_source")
_ALONE = ("headers", "body", "sse_error", "exceptions", "exception", "method", "url", "key_from")


def report(
    verdict: Verdict,
    evidence: Evidence | None,
    *,
    at: str = "",
    figures: RunFigures | None = None,
    sent: Sent | None = None,
) -> str:
    """The report; texts of the messages are left out, their lengths stand in their place.

    Args:
        verdict: What it came to.
        evidence: What is known of it; redacted already.
        at: The local time of day, where no figures tell the moment.
        figures: The run's times and counts.
        sent: What was asked.
    """
    lines = [f"{verdict.cls}.{verdict.subcode}: {verdict.message}", ""]
    lines += _pairs(
        [
            ("when", figures.started_at if figures is not None else at),
            ("client", f"kvtui {__version__}, {_versions()}"),
            ("system", f"Python {platform.python_version()}, {platform.system()}"),
        ]
    )
    if evidence is not None:
        lines += _evidence(verdict, evidence)
    if figures is not None:
        lines += _figures(figures)
    if sent is not None and sent.request is not None:
        lines += ["", "Request (texts left out)", _asked(sent)]
    secret = sent.endpoint.api_key if sent is not None else None
    return sanitise(redact("\n".join(lines), secret)) + "\n"


def _evidence(verdict: Verdict, evidence: Evidence) -> list[str]:
    table = evidence_object(verdict, evidence)
    ids = [(name, value) for name, value in evidence.headers.items() if _REQUEST_ID.search(name)]
    lines = _pairs([("asked", f"{evidence.method} {evidence.url}"), ("model", evidence.model)])
    key = evidence.key
    if key.origin:
        lines += _pairs([("key", f"from {key.origin}, {key.length} characters, not in here")])
    lines += _pairs(ids)
    lines += ["", "Evidence"]
    lines += _pairs(
        (name, value)
        for name, value in table.items()
        if name not in _ALONE and value not in (None, "", [], {}, False)
    )
    lines += _pairs(("raised", f"{fact.type}: {fact.text}") for fact in evidence.exceptions)
    if evidence.headers:
        lines += ["", "Response headers"]
        lines += [f"  {name}: {value}" for name, value in evidence.headers.items()]
    if evidence.sse_error is not None:
        lines += ["", "Error inside the stream", _json(evidence.sse_error)]
    if evidence.body:
        lines += ["", "Body", evidence.body]
    return lines


def _figures(figures: RunFigures) -> list[str]:
    times = [
        (label, milliseconds(value))
        for name, label in _TIMES
        if (value := getattr(figures, name)) is not None
    ]
    counts = [
        (name.replace("_", " "), value)
        for name in _COUNTS
        if (value := getattr(figures, name)) is not None
    ]
    return ["", "Times and counts", *_pairs([*times, *counts])]


def _asked(sent: Sent) -> str:
    assert sent.request is not None
    named, more = fields_of(sent.request, sent.quirks)
    fields = {**named, **more}
    fields["messages"] = [_without_text(message) for message in fields["messages"]]
    return _json(fields)


def _without_text(message: Any) -> Any:
    """A message with the length of each text in the text's place."""
    if isinstance(message, str):
        return f"({len(message):,} characters)"
    if isinstance(message, list):
        return [_without_text(part) for part in message]
    if isinstance(message, Mapping):
        return {
            key: value if key in ("role", "type") else _without_text(value)
            for key, value in message.items()
        }
    return message


def _versions() -> str:
    found = []
    for name in _PACKAGES:
        try:
            found.append(f"{name} {version(name)}")
        except PackageNotFoundError:
            continue
    return ", ".join(found)


def _pairs(pairs: Iterable[tuple[str, Any]]) -> list[str]:
    return [
        f"{name:<20} {value if isinstance(value, str) else _json(value)}"
        for name, value in pairs
        if value not in (None, "")
    ]


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, default=str)
