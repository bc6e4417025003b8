"""A step that failed, and the evidence its verdict rests on."""

from __future__ import annotations

from typing import Any

from kvtui.config import Endpoint
from kvtui.doctor.steps import Step
from kvtui.failure import Evidence, Verdict, classify
from kvtui.proxy import Proxy
from kvtui.stream.gather import Redactor, key_facts, urlsplit_or_none
from kvtui.text import one_line


def failed_step(
    name: str,
    evidence: Evidence,
    ms: float | None,
    detail: str = "",
    verdict: Verdict | None = None,
    notes: tuple[str, ...] = (),
) -> Step:
    """A step that failed, with the verdict on its evidence."""
    verdict = verdict or classify(evidence)
    said = detail or f"{verdict.cls}.{verdict.subcode}"
    return Step(name, "failed", one_line(said, 300), ms, notes, verdict, evidence)


def evidence_of(
    endpoint: Endpoint,
    redactor: Redactor,
    base_url: str,
    proxy: Proxy | None,
    **fields: Any,
) -> Evidence:
    """Evidence of a question other than a chat request, with what is known of the endpoint."""
    parts = urlsplit_or_none(base_url)
    defaults: dict[str, Any] = {
        "method": "GET",
        "url": redactor.text(f"{base_url}/models"),
        "host": (parts.hostname or "") if parts is not None else "",
        "model": endpoint.model or "",
        "embedded": endpoint.embedded,
        "key": key_facts(endpoint),
        "proxy": proxy.url if proxy else None,
        "proxy_from": proxy.variable if proxy else None,
        "base_url": redactor.text(endpoint.base_url),
    }
    return Evidence(**{**defaults, **fields})
