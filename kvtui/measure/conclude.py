"""A finished request's sums → its figures, each by DESIGN's definition, with its formula."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from kvtui.failure import Evidence, Hint, KeyFacts, Verdict
from kvtui.language import counted, later, tr
from kvtui.measure.buffering import LATE_S, framed_so, held_back
from kvtui.measure.figures import FirstToken, RunFigures, TokenSource
from kvtui.measure.lateness import matters
from kvtui.measure.mask import Mask
from kvtui.measure.tally import Tally
from kvtui.text import count, one_line

FEW_SAMPLES = 256
_WHOLE = frozenset({"buffered_transport", "single_chunk", "not_streamed"})
_MORE_THAN_ONE = 1.5
"""Tokens a chunk from which chunks carry more than one; below it the odd token is an end token."""
_LENGTH_REASONS = frozenset({"length", "max_tokens", "max_output_tokens"})


class _Late(NamedTuple):
    """How late this machine was in reading."""

    gathered_s: float
    """At most, in seconds, where that is what gathered the events into bursts."""
    stamped_ms: float
    """When the first or the last token was stamped, in ms."""


@dataclass
class _Timing:
    """Times in ms after t_send, and the counts the decode rate needs."""

    ttft: float | None = None
    ttfa: float | None = None
    tpot: float | None = None
    tps: float | None = None
    decode: float | None = None
    e2e: float | None = None
    e2e_tps: float | None = None
    formulas: dict[str, str] = field(default_factory=dict)


def count_tokens(tally: Tally, per_chunk: float | None) -> tuple[int | None, TokenSource]:
    """The completion tokens and who counted them; an estimate is marked by its source."""
    has_text = tally.chunks > 0
    if tally.usage_final:
        return max(tally.usage_final, tally.usage_continuous), "usage"
    if tally.usage_continuous:
        return tally.usage_continuous, "continuous"
    if tally.ids and not tally.ids_missing:
        return tally.ids, "token_ids"
    if tally.timings is not None and tally.timings.predicted_n:
        return tally.timings.predicted_n, "timings"
    if has_text:
        return estimate_tokens(tally, per_chunk), "estimate"
    return (0, "usage") if tally.usage_seen and tally.finish_reason else (None, "none")


def estimate_tokens(tally: Tally, per_chunk: float | None) -> int:
    """Tokens where nobody counted: by what a chunk of this endpoint carries, else by the text.

    Servers stream a token a chunk as a rule; text pieces that are too long for that are weighed
    at four ASCII characters, or one and a half of others, a token.
    """
    if per_chunk is not None:
        return max(1, round(tally.chunks * per_chunk))
    text = str(tally.content) + str(tally.reasoning)
    ascii_chars = len(text.encode("ascii", "ignore"))
    by_text = ascii_chars / 4 + (len(text) - ascii_chars) / 1.5
    if tally.ended is not None and not tally.ended.streamed:
        return max(1, round(by_text))
    return max(1, tally.chunks if by_text <= 2.5 * tally.chunks else round(by_text))


def conclude(
    tally: Tally,
    *,
    started_at: str,
    per_chunk: float | None,
    lag: Callable[[float, float], float],
    classify: Callable[[Evidence], Verdict],
    mask: Mask,
) -> RunFigures:
    """The figures of a request that has ended.

    Args:
        tally: Its sums; ``tally.ended`` is set.
        started_at: UTC, ISO 8601.
        per_chunk: Tokens a chunk of this endpoint carried before, where that is known.
        lag: Largest lag of the reading loop between two times, in seconds.
        classify: ``kvtui.failure.classify``.
        mask: Takes the keys in use out of the texts.
    """
    ended = tally.ended
    assert ended is not None
    content, reasoning = _texts(tally)
    late = stamped_late = 0.0
    if tally.t_first and tally.t_last:
        late = lag(tally.t_first, tally.t_last)
        # A lag between the two moves neither: what was read late then was stamped late alone.
        stamped_late = late and max(lag(t, t) for t in (tally.t_first, tally.t_last))
    bursts = ended.streamed and held_back(tally)
    chunked = "chunked" in ended.evidence.headers.get("transfer-encoding", "").lower()
    ours = bursts and late >= LATE_S and not framed_so(tally, chunked)  # this machine held it back
    evidence = replace(
        ended.evidence,
        buffered=bursts and not ours,
        content_chars=len(content) if tally.t_answer else ended.evidence.content_chars,
        reasoning_chars=max(len(reasoning), ended.evidence.reasoning_chars * (not reasoning)),
    )
    verdict = classify(evidence)
    tokens, source = count_tokens(tally, per_chunk)
    counted = source not in ("estimate", "none")
    partial = verdict.is_failure or ended.stopped
    whole = verdict.subcode in _WHOLE or not ended.streamed or evidence.buffered
    whole = whole or (tally.chunks == 1 and (tokens or 0) > 4)
    hidden = bool(tally.reasoning_tokens) and not tally.had_reasoning and not reasoning
    timing = _timing(tally, tokens, whole=whole, hidden=hidden, partial=partial)
    if ours:
        timing.tpot = timing.tps = None
    hints = _hints(
        tally,
        verdict,
        timing,
        source,
        tokens,
        hidden=hidden,
        late=_Late(late if ours else 0.0, stamped_late * 1000),
        key=evidence.key,
    )
    first: FirstToken = "none"
    if tally.first_kind and verdict.subcode not in _WHOLE and ended.streamed:
        first = tally.first_kind  # type: ignore[assignment]
    p50, p99 = tally.gaps.percentile(0.5), tally.gaps.percentile(0.99)
    return RunFigures(
        started_at=started_at,
        verdict=verdict,
        evidence=evidence,
        partial=partial,
        connect_ms=_ms(tally.connect_s),
        ttft_ms=timing.ttft,
        ttfa_ms=timing.ttfa,
        tpot_ms=timing.tpot,
        decode_tps=timing.tps,
        e2e_tps=timing.e2e_tps,
        e2e_ms=timing.e2e,
        server_ms=tally.server_ms,
        first_token=first,
        prompt_tokens=_prompt_tokens(tally),
        cached_prompt_tokens=tally.cached_prompt_tokens,
        completion_tokens=tokens if counted else None,
        reasoning_tokens=tally.reasoning_tokens,
        estimated_tokens=tokens if source == "estimate" else None,
        token_source=source,
        chunks=tally.chunks,
        finish_reason=tally.finish_reason and mask.whole(tally.finish_reason),
        model_answered=tally.model and mask.whole(tally.model),
        content=mask.whole(content),
        reasoning=mask.whole(reasoning),
        hints=hints,
        itl_p50_ms=None if whole else _ms(p50),
        itl_p99_ms=None if whole else _ms(p99),
        tokens_per_chunk=tokens / tally.chunks if tokens and tally.chunks and counted else None,
        formulas=timing.formulas,
        loop_lag_ms=late * 1000,
        stamp_lag_ms=stamped_late * 1000,
        stopped=ended.stopped,
    )


def _texts(tally: Tally) -> tuple[str, str]:
    """Answer and reasoning. A think block whose opening tag the prompt held is cut out here."""
    content, reasoning = str(tally.content), str(tally.reasoning)
    if not reasoning and "</think>" in content and "<think>" not in content:
        reasoning, _, content = content.partition("</think>")
    return content, reasoning


def first_tokens(tally: Tally, tokens: int | None) -> float:
    """n_first: the tokens that carry the stamp t_first."""
    if tally.first_usage:
        return float(tally.first_usage)
    if tally.first_ids and not tally.ids_missing:
        return float(tally.first_ids)
    each = tokens / tally.chunks if tokens and tally.chunks else 1.0
    return max(1, tally.first_chunks) * (each if each >= _MORE_THAN_ONE else 1.0)


def last_token(tally: Tally, tokens: int | None) -> float | None:
    """t_last: the last token, the finish chunk included where the server counts its end token."""
    last, finish = tally.t_last, tally.t_finish
    if last is None or finish is None or not tally.finish_alone or finish <= last or not tokens:
        return last
    if (tally.finish_reason or "").lower() in _LENGTH_REASONS:
        return last
    if tally.usage_continuous:
        counted = tally.usage_final > tally.usage_continuous
    else:
        counted = tally.chunks < tokens < _MORE_THAN_ONE * tally.chunks
    return finish if counted else last


def _timing(
    tally: Tally, tokens: int | None, *, whole: bool, hidden: bool, partial: bool
) -> _Timing:
    timing = _Timing()
    send, first = tally.t_send, tally.t_first
    if send is None or first is None:
        return timing
    last = last_token(tally, tokens)
    assert last is not None
    first_ms, last_ms = (first - send) * 1000, (last - send) * 1000
    say = timing.formulas
    if not whole and not hidden:
        timing.ttft = first_ms
        say["ttft_ms"] = f"TTFT = t_first − t_send = {first_ms:.2f} ms − 0 ms = {first_ms:.2f} ms"
    if not whole and tally.t_answer is not None:
        timing.ttfa = (tally.t_answer - send) * 1000
        say["ttfa_ms"] = f"TTFA = t_first_answer − t_send = {timing.ttfa:.2f} ms"
    n_first = first_tokens(tally, tokens)
    if not whole and not hidden and tokens is not None and tokens > n_first and last > first:
        timing.decode = last_ms - first_ms
        timing.tpot = (last_ms - first_ms) / (tokens - n_first)
        timing.tps = 1000 / timing.tpot
        say["tpot_ms"] = (
            f"TPOT = (t_last − t_first) / (N − n_first) = ({last_ms:.2f} − {first_ms:.2f}) ms"
            f" / ({tokens} − {n_first:g}) = {timing.tpot:.3f} ms"
        )
        say["decode_tps"] = f"TPS = 1 / TPOT = 1000 / {timing.tpot:.3f} = {timing.tps:.2f} tok/s"
    if not partial:
        timing.e2e = last_ms
        say["e2e_ms"] = f"t_last − t_send = {last_ms:.2f} ms"
        if tokens and last_ms > 0:
            timing.e2e_tps = tokens / last_ms * 1000
            say["e2e_tps"] = (
                f"end-to-end TPS = N / (t_last − t_send) = {tokens} / {last_ms / 1000:.4f} s"
                f" = {timing.e2e_tps:.2f} tok/s"
            )
    return timing


def _prompt_tokens(tally: Tally) -> int | None:
    if tally.prompt_tokens is not None:
        return tally.prompt_tokens
    timings = tally.timings
    if timings is None or timings.prompt_n is None:
        return None
    return timings.prompt_n + (timings.cache_n or 0)


def _hints(
    tally: Tally,
    verdict: Verdict,
    timing: _Timing,
    source: TokenSource,
    tokens: int | None,
    *,
    hidden: bool,
    late: _Late,
    key: KeyFacts,
) -> tuple[Hint, ...]:
    hints = list(verdict.hints)
    if verdict.cls == "ok" and verdict.subcode != "complete":
        hints.insert(0, Hint(verdict.subcode, verdict.message))
    if bound := _client_bound(late, timing):
        hints.append(Hint("client_bound", bound))
    if hidden:
        hints.append(
            Hint(
                "hidden_reasoning",
                tr(
                    "{tokens} reasoning tokens were counted but not sent: the first"
                    " token and the decode rate cannot be seen.",
                    tokens=tally.reasoning_tokens,
                ),
            )
        )
    if source == "estimate":
        hints.append(
            Hint(
                "estimated_count",
                tr(
                    "The server counted no tokens; ~{tokens} is an estimate from {chunks}.",
                    tokens=count(tokens),
                    chunks=counted(tally.chunks, later("{n} chunk"), later("{n} chunks")),
                ),
            )
        )
    if timing.tps is not None and tokens is not None and tokens < FEW_SAMPLES:
        hints.append(
            Hint(
                "few_samples",
                tr(
                    "{tokens} are few: below {enough} a decode rate is noisy.",
                    tokens=counted(tokens, later("{n} token"), later("{n} tokens")),
                    enough=FEW_SAMPLES,
                ),
            )
        )
    if tally.cached_prompt_tokens:
        hints.append(
            Hint(
                "warm_prefix",
                tr(
                    "{tokens} came from the server's prefix cache: this TTFT is warm.",
                    tokens=counted(
                        tally.cached_prompt_tokens,
                        later("{n} prompt token"),
                        later("{n} prompt tokens"),
                    ),
                ),
            )
        )
    if key.origin is None and key.wanted_variable and not verdict.is_failure:
        hints.append(
            Hint(
                "key_not_found",
                tr(
                    "No key was sent: {variable} holds or gives none.",
                    variable=one_line(key.wanted_variable, 80),
                ),
            )
        )
    unique: dict[str, Hint] = {}
    for hint in hints:
        unique.setdefault(hint.subcode, hint)
    return tuple(unique.values())


def _client_bound(late: _Late, timing: _Timing) -> str:
    """What this machine's own lateness did to the figures; empty where it changed none."""
    if late.gathered_s >= LATE_S:
        return tr(
            "This machine was {late} ms late in reading, so the decode rate is not"
            " the server's: close what keeps it busy, or ask for fewer streams.",
            late=f"{late.gathered_s * 1000:.0f}",
        )
    if timing.ttft is not None and matters(late.stamped_ms, timing.ttft, timing.decode):
        return tr(
            "This machine was up to {late} ms late in reading the first or the last token, so TTFT"
            " or the decode rate may be off by as much: close what keeps it busy, and send again.",
            late=f"{late.stamped_ms:.0f}",
        )
    return ""


def _ms(seconds: float | None) -> float | None:
    return None if seconds is None else seconds * 1000
