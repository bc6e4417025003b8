"""Finished runs as the JSON object of ``kvtui run --json`` (schema ``kvtui.run/1``)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from kvtui.bench.requests.models import of_the_offered
from kvtui.config import Endpoint
from kvtui.failure import Evidence, Verdict, classify
from kvtui.language import english, in_english, translated
from kvtui.measure.figures import RunFigures
from kvtui.measure.statistics import medians
from kvtui.text import redact

SCHEMA = "kvtui.run/1"

_PLAIN = (
    "partial",
    "connect_ms",
    "ttft_ms",
    "ttfa_ms",
    "tpot_ms",
    "decode_tps",
    "e2e_tps",
    "e2e_ms",
    "server_ms",
    "first_token",
    "prompt_tokens",
    "cached_prompt_tokens",
    "completion_tokens",
    "reasoning_tokens",
    "estimated_tokens",
    "token_source",
    "chunks",
    "finish_reason",
    "model_answered",
    "content",
    "reasoning",
    "itl_p50_ms",
    "itl_p99_ms",
    "tokens_per_chunk",
    "loop_lag_ms",
    "stopped",
)


def document(
    endpoint: Endpoint | None, base_url: str, model: str | None, runs: Sequence[RunFigures]
) -> dict[str, Any]:
    """The whole object. ``base_url`` is the one in use, which may be a corrected one.

    Without an endpoint nothing was known yet when the command was ended.
    """
    return {
        "schema": SCHEMA,
        "endpoint": {
            "base_url": redact(base_url, endpoint.api_key if endpoint else None) or None,
            "model": model,
            "key_from": endpoint.key_from if endpoint else None,
        },
        "runs": [run_object(run) for run in runs],
        "median": medians(runs),
    }


def run_object(run: RunFigures) -> dict[str, Any]:
    """One run; what is unknown is None."""
    verdict = run.verdict
    table: dict[str, Any] = {
        "started_at": run.started_at,
        "outcome": {"class": verdict.cls, "subcode": verdict.subcode},
    }
    table.update((name, getattr(run, name)) for name in _PLAIN)
    table["hints"] = [{"subcode": h.subcode, "message": h.message} for h in run.hints]
    table["formula"] = dict(run.formulas)
    table["failure"] = None if verdict.cls == "ok" else failure_object(verdict, run.evidence)
    return table


def failure_object(verdict: Verdict, evidence: Evidence) -> dict[str, Any]:
    """What went wrong, why that is thought, and what to do: in English."""
    if translated():
        with in_english():
            again = of_the_offered(evidence) or classify(evidence)
        if (again.cls, again.subcode) == (verdict.cls, verdict.subcode):
            verdict = again
        else:  # what no rule says of the evidence: its fixes hold no values
            verdict = replace(verdict, fixes=tuple(map(english, verdict.fixes)))
    return {
        "class": verdict.cls,
        "subcode": verdict.subcode,
        "message": verdict.message,
        "fixes": list(verdict.fixes),
        "retryable": verdict.retryable,
        "retry_after_s": verdict.retry_after_s,
        "evidence": evidence_object(verdict, evidence),
    }


def evidence_object(verdict: Verdict, evidence: Evidence) -> dict[str, Any]:
    """The facts behind a verdict, redacted already."""
    chain = [{"type": link.type, "text": link.text} for link in evidence.exceptions]
    outer = evidence.exceptions[0] if evidence.exceptions else None
    return {
        "status": evidence.status,
        "code": verdict.code,
        "type": verdict.type,
        "exception": f"{outer.type}: {outer.text}".rstrip(": ") if outer else None,
        "exceptions": chain,
        "method": evidence.method,
        "url": evidence.url or None,
        "proxy": evidence.proxy,
        "proxy_from": evidence.proxy_from,
        "body": evidence.body,
        "sse_error": evidence.sse_error,
        "phase": evidence.phase,
        "waiting_for": evidence.waiting_for,
        "waited_s": evidence.waited_s,
        "capped": evidence.capped,
        "finish_reason": evidence.finish_reason,
        "done_seen": evidence.done_seen,
        "data_events": evidence.data_events,
        "bad_events": evidence.bad_events,
        "bad_event": evidence.bad_event,
        "headers": dict(evidence.headers),
        "key_from": evidence.key.origin,
        "base_url": evidence.base_url or None,
        "base_url_answers": evidence.base_url_answers,
        "models_offered": list(evidence.models_offered),
    }


def unsent(verdict: Verdict, evidence: Evidence) -> RunFigures:
    """A run that failed before its request was sent: no figure, only the failure."""
    return RunFigures(
        started_at=datetime.now(UTC).isoformat(timespec="milliseconds"),
        verdict=verdict,
        evidence=evidence,
        partial=True,
        connect_ms=None,
        ttft_ms=None,
        ttfa_ms=None,
        tpot_ms=None,
        decode_tps=None,
        e2e_tps=None,
        e2e_ms=None,
        server_ms=None,
        first_token="none",
        prompt_tokens=None,
        cached_prompt_tokens=None,
        completion_tokens=None,
        reasoning_tokens=None,
        estimated_tokens=None,
        token_source="none",
        chunks=0,
        finish_reason=None,
        model_answered=None,
        content="",
        reasoning="",
        hints=verdict.hints,
    )
