"""One request of a benchmark: what is kept of it in memory and written to the record."""

from __future__ import annotations

from typing import Annotated, Any

import msgspec

from kvtui.bench.requests.document import failure_object
from kvtui.measure.figures import RunFigures
from kvtui.measure.meter import Stamps

_CHANCE = 4
"""Tokens at the beginning of two unlike prompts that may be alike by chance."""
Measured = Annotated[float, msgspec.Meta(ge=-1e12, le=1e12)]
"""A time in ms or s, or a rate; what is read from a file and lies beyond is damage."""
Counted = Annotated[int, msgspec.Meta(ge=0, le=1 << 53)]
"""Tokens, chunks or the like; beyond any server's, and exact as a float."""


class Sample(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, gc=False):
    """Figures of one request. Times in s count from the start of its segment; figures as DESIGN's.

    A segment is a stretch without a break: a run that was paused or resumed has several.
    """

    stage: Counted
    index: Counted
    """Its number in the stage, from 0; warm-up requests count by themselves."""
    warmup: bool = False
    segment: Counted = 0
    started_at: str = ""
    start_s: float = 0.0
    send_s: Measured | None = None
    first_s: Measured | None = None
    last_s: Measured | None = None
    end_s: float = 0.0
    late_ms: Measured | None = None
    """At a set rate: how long after its time it was started."""
    cls: str = "ok"
    subcode: str = "complete"
    failed: bool = False
    stopped: bool = False
    partial: bool = False
    ttft_ms: Measured | None = None
    ttfa_ms: Measured | None = None
    tpot_ms: Measured | None = None
    decode_tps: Measured | None = None
    e2e_ms: Measured | None = None
    e2e_tps: Measured | None = None
    connect_ms: Measured | None = None
    headers_ms: Measured | None = None
    """From t_send to the response's head."""
    first_event_ms: Measured | None = None
    """From t_send to the first event of the body: a role chunk, a keep-alive, a token."""
    keep_alives: Counted = 0
    """Comments and pings among the events."""
    server_ms: Measured | None = None
    itl_p50_ms: Measured | None = None
    itl_p99_ms: Measured | None = None
    gap_max_ms: Measured | None = None
    """The longest time between two reads with tokens."""
    prompt_tokens: Counted | None = None
    cached_prompt_tokens: Counted | None = None
    completion_tokens: Counted | None = None
    estimated_tokens: Counted | None = None
    reasoning_tokens: Counted | None = None
    token_source: str = "none"
    chunks: Counted = 0
    tokens_per_chunk: Measured | None = None
    finish_reason: str | None = None
    model_answered: str | None = None
    loop_lag_ms: Measured | None = None
    stamp_lag_ms: Measured | None = None
    """Of it, what touched the stamp of the first or the last token."""
    hints: tuple[str, ...] = ()
    reads: tuple[tuple[float, int], ...] = ()
    """(ms after t_send, chunks so far) of each read with tokens, where the stage keeps them."""
    read_tokens: tuple[int, ...] = ()
    """Beside ``reads`` the tokens so far, where the server counts them as it goes."""
    failure: dict[str, Any] | None = None

    @property
    def completed(self) -> bool:
        """It ran to its end, truncated outcomes included."""
        return not self.failed and not self.stopped

    @property
    def tokens(self) -> int | None:
        """Completion tokens, counted or else estimated."""
        counted = self.completion_tokens
        return self.estimated_tokens if counted is None else counted

    def warm(self, template: int = 0) -> bool:
        """As ``is_warm`` has it."""
        return is_warm(self.cached_prompt_tokens, template)


def is_warm(cached: int | None, template: int = 0) -> bool:
    """More prompt tokens came from the server's prefix cache than the template's.

    A few more do not count: two prompts may begin with the same word by chance.
    """
    return (cached or 0) > template + _CHANCE


_FIGURES = (
    "started_at", "stopped", "partial", "ttft_ms", "ttfa_ms", "tpot_ms", "decode_tps", "e2e_ms",
    "e2e_tps", "connect_ms", "server_ms", "itl_p50_ms", "itl_p99_ms", "prompt_tokens",
    "cached_prompt_tokens", "completion_tokens", "estimated_tokens", "reasoning_tokens",
    "token_source", "chunks", "tokens_per_chunk", "finish_reason", "model_answered", "loop_lag_ms",
    "stamp_lag_ms",
)  # fmt: skip


def sample_of(
    figures: RunFigures,
    stamps: Stamps,
    origin: float,
    *,
    stage: int,
    index: int,
    warmup: bool,
    segment: int,
    late_ms: float | None,
) -> Sample:
    """What is kept of a finished request.

    Args:
        figures: Its figures.
        stamps: When its parts happened.
        origin: ``perf_counter`` at the start of the segment.
        stage: Index of its stage.
        index: Its number in the stage.
        warmup: Whether it is left out of the figures.
        segment: Number of the segment.
        late_ms: How late it was started, where it had a time to start at.
    """

    def after(t: float | None) -> float | None:
        return None if t is None else round(t - origin, 6)

    def since(t: float | None) -> float | None:
        return None if t is None or send is None else round((t - send) * 1000, 3)

    send = stamps.send
    gap = stamps.longest_gap_s
    verdict = figures.verdict
    reads: tuple[tuple[float, int], ...] = ()
    if send is not None:
        reads = tuple((round((t - send) * 1000, 3), chunks) for t, chunks in stamps.reads)
    failed = verdict.is_failure
    return Sample(
        stage=stage,
        index=index,
        warmup=warmup,
        segment=segment,
        start_s=after(stamps.start) or 0.0,
        send_s=after(send),
        first_s=after(stamps.first),
        last_s=after(stamps.last),
        end_s=after(stamps.end) or 0.0,
        late_ms=late_ms,
        cls=verdict.cls,
        subcode=verdict.subcode,
        failed=failed,
        hints=tuple(hint.subcode for hint in figures.hints),
        reads=reads,
        read_tokens=stamps.read_tokens,
        headers_ms=since(stamps.headers),
        first_event_ms=since(stamps.body),
        keep_alives=stamps.keep_alives,
        gap_max_ms=None if gap is None else round(gap * 1000, 3),
        failure=failure_object(verdict, figures.evidence) if failed else None,
        **{name: getattr(figures, name) for name in _FIGURES},
    )
