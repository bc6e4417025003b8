"""What is known of a failure: its badge, its facts as label and text, all of it as plain text."""

from __future__ import annotations

from rich.cells import cell_len

from kvtui.failure import Evidence, Verdict
from kvtui.language import tr
from kvtui.text import one_line, padded, sanitise
from kvtui.ui.state import Failure

# class -> glyph, word, badge role, text role
BADGES: dict[str, tuple[str, str, str, str]] = {
    "ok": ("✓", "OK", "good", "good"),
    "stopped": ("■", "STOPPED", "badge-warn", "warn"),
    "auth": ("▲", "AUTH", "badge-bad", "bad"),
    "network": ("↯", "NETWORK", "badge-bad", "bad"),
    "parameter": ("◆", "PARAMETER", "badge-bad", "bad"),
    "filter": ("◼", "FILTER", "badge-bad", "bad"),
    "rate_or_quota": ("◷", "RATE/QUOTA", "badge-warn", "warn"),
    "server": ("✖", "SERVER", "badge-bad", "bad"),
    "truncated": ("✂", "TRUNCATED", "badge-warn", "warn"),
}


def badge_role(verdict: Verdict) -> str:
    """How loud the badge is: an outcome, such as an answer cut as asked, is calm."""
    return BADGES[verdict.cls][2] if verdict.is_failure else "badge-quiet"


def facts(evidence: Evidence, code: str | None = None) -> list[tuple[str, str]]:
    """The evidence as label and text, what is unknown left out. Texts are sanitised.

    Args:
        evidence: What is known.
        code: The server's own code or type of the error.
    """
    pairs: list[tuple[str, str | None]] = [
        ("asked", f"{evidence.method} {evidence.url}" if evidence.url else None),
        ("model", evidence.model or None),
        ("key", evidence.key.origin and tr(evidence.key.origin)),
        ("proxy", _proxy(evidence)),
        ("status", None if evidence.status is None else str(evidence.status)),
        ("code", code),
        ("finish", evidence.finish_reason),
        ("waiting", _waiting(evidence)),
        *[("raised", f"{fact.type}: {fact.text}") for fact in evidence.exceptions[:3]],
        ("body", evidence.body),
    ]
    return [(name, one_line(text, 600)) for name, text in pairs if text]


def _proxy(evidence: Evidence) -> str | None:
    if evidence.proxy is None:
        return None
    return f"{evidence.proxy} ({evidence.proxy_from})" if evidence.proxy_from else evidence.proxy


def _waiting(evidence: Evidence) -> str | None:
    if evidence.waiting_for is None:
        return None
    what = tr(evidence.waiting_for.replace("_", " "))
    if evidence.waited_s is None:
        return what
    return tr("{what} for {seconds:.1f} s", what=what, seconds=evidence.waited_s)


def _received(evidence: Evidence) -> str:
    """How much of the stream came."""
    parts = [tr("{n:,} data events", n=evidence.data_events)]
    if evidence.bad_events:
        parts.append(tr("{bad_events:,} of them unreadable", bad_events=evidence.bad_events))
    if evidence.reasoning_chars:
        parts.append(
            tr(
                "{reasoning_chars:,} characters of reasoning",
                reasoning_chars=evidence.reasoning_chars,
            )
        )
    parts.append(tr("{content_chars:,} characters of text", content_chars=evidence.content_chars))
    parts.append(tr("its end was marked") if evidence.done_seen else tr("its end was not marked"))
    return tr(", ").join(parts)


def failure_text(failure: Failure) -> str:
    """Everything known of a failure as plain text: the body screen, and what is copied."""
    verdict = failure.verdict
    glyph, word, _, _ = BADGES[verdict.cls]
    lines = [f"{glyph} {word} {verdict.subcode}  {failure.at}", sanitise(verdict.message), ""]
    lines += [f"{number} {sanitise(fix)}" for number, fix in enumerate(verdict.fixes, 1)]
    evidence = failure.evidence
    if evidence is not None:
        lines.append("")
        known = facts(evidence, verdict.code or verdict.type)
        cells = max([8, *(cell_len(tr(name)) for name, _ in known), cell_len(tr("received"))])
        lines += [f"{padded(tr(name), cells)} {text}" for name, text in known if name != "body"]
        if evidence.data_events:
            lines.append(f"{padded(tr('received'), cells)} {_received(evidence)}")
        if evidence.headers:
            lines += ["", tr("response headers")]
            lines += [f"  {one_line(n)}: {one_line(v)}" for n, v in evidence.headers.items()]
        if evidence.sse_error is not None:
            lines += ["", tr("error inside the stream"), sanitise(str(evidence.sse_error))]
        if evidence.body:
            lines += ["", tr("body"), sanitise(evidence.body)]
    return "\n".join(lines)
