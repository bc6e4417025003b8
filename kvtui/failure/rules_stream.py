"""Rules for a stream that came: how it ended, and what is odd about a good answer."""

from __future__ import annotations

from kvtui.failure.case import Case
from kvtui.failure.finish import by_finish_reason


def nothing_came(case: Case) -> str | None:
    """A good status and not one data event; where a list was asked for, not from the API."""
    if case.answered:
        return None
    return "parameter.base_url_path" if case.evidence.method == "GET" else "network.empty_stream"


def refusal(case: Case) -> str | None:
    """The model declined in the field made for it."""
    return "filter.model_refusal" if case.evidence.refusal.strip() else None


def bad_chunk(case: Case) -> str | None:
    """Events that could not be decoded: the text may have a hole."""
    return "truncated.bad_chunk" if case.evidence.bad_events > 0 else None


def no_terminator(case: Case) -> str | None:
    """Neither a finish_reason nor [DONE]: the stream was cut without saying so."""
    evidence = case.evidence
    ended = (evidence.finish_reason or "").strip() or evidence.done_seen or not evidence.streamed
    return None if ended else "truncated.no_terminator"


def finish(case: Case) -> str | None:
    """The finish_reason, and what the counts say of it."""
    evidence = case.evidence
    name = by_finish_reason(evidence.finish_reason) or "ok.unknown_finish_reason"
    if name in ("truncated.max_tokens", "truncated.context_full"):
        if _only_reasoned(case):
            return "truncated.reasoning_exhausted"
        return "truncated.context_full" if _context_full(case) else name
    return None if name == "ok.complete" else name


def _only_reasoned(case: Case) -> bool:
    evidence = case.evidence
    reasoned = evidence.reasoning_chars > 0 or (evidence.reasoning_tokens or 0) > 0
    return reasoned and evidence.content_chars == 0 and evidence.tool_calls == 0


def _context_full(case: Case) -> bool:
    """``length`` before max_tokens was reached, with prompt and answer filling a context."""
    evidence = case.evidence
    prompt, answer, asked = evidence.prompt_tokens, evidence.completion_tokens, evidence.max_tokens
    if prompt is None or answer is None:
        return False
    total = prompt + answer
    if evidence.context_length is not None:
        return total >= evidence.context_length - 1 and (asked is None or answer < asked)
    # The size is not known: contexts are multiples of 512, and servers stop at one or just below.
    return asked is not None and answer < asked and total >= 512 and total % 512 in (0, 511)


# --- good answers, by what is odd about them ------------------------------------------------------


def good_answer(case: Case) -> str | None:
    """The ``ok`` subcodes; the oddest thing first."""
    return f"ok.{next(iter(oddities(case)), 'complete')}"


def oddities(case: Case) -> tuple[str, ...]:
    """Everything odd about a good answer, the oddest first."""
    evidence = case.evidence
    checks = (
        ("tool_calls", evidence.tool_calls > 0),
        ("reasoning_only", evidence.content_chars == 0 and evidence.reasoning_chars > 0),
        ("empty_answer", evidence.content_chars == 0 and evidence.reasoning_chars == 0),
        ("not_streamed", not evidence.streamed and evidence.stream_asked),
        ("cumulative_deltas", evidence.cumulative),
        ("buffered_transport", evidence.buffered),
        ("suspect_cap", _suspect_cap(case)),
        ("single_chunk", _single_chunk(case)),
    )
    tools = evidence.tool_calls > 0
    return tuple(
        name
        for name, holds in checks
        if holds and not (tools and name in ("reasoning_only", "empty_answer"))
    )


_FEW_TOKENS = 16
_FEW_CHARS = 40


def _single_chunk(case: Case) -> bool:
    """More than a few tokens in one piece: the gateway only pretends to stream."""
    evidence = case.evidence
    if not evidence.streamed or evidence.text_chunks != 1:
        return False
    if evidence.completion_tokens is not None:
        return evidence.completion_tokens - (evidence.reasoning_tokens or 0) >= _FEW_TOKENS
    return evidence.content_chars >= _FEW_CHARS and " " in evidence.content_tail.strip()


_LEAST_CAP = 256


def _suspect_cap(case: Case) -> bool:
    """``stop``, at a round number of tokens, in the middle of a sentence."""
    evidence = case.evidence
    tokens, tail = evidence.completion_tokens, evidence.content_tail.rstrip()
    if tokens is None or not tail or not (tail[-1].isalnum() or tail[-1] in ",;:-(，、；："):
        return False
    if tokens == evidence.max_tokens:
        return True
    return tokens >= _LEAST_CAP and (tokens % 500 == 0 or tokens % 256 == 0)
