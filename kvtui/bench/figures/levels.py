"""Requests → one row a level: figures, throughput over two named windows, failures, health."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

import msgspec

from kvtui.bench.figures.health import Health
from kvtui.bench.figures.quantiles import Figure, figure
from kvtui.bench.figures.sample import Sample
from kvtui.bench.work.slo import Limit, keeps
from kvtui.bench.work.workload import Stage

FIGURES = (
    "ttfa_ms", "tpot_ms", "decode_tps", "e2e_ms", "e2e_tps", "itl_p50_ms", "itl_p99_ms",
    "gap_max_ms", "headers_ms", "first_event_ms",
)  # fmt: skip
_SHORT = 0.98
"""An output below this part of the length asked for is said to be short."""


class Level(msgspec.Struct, frozen=True, kw_only=True):
    """One level's results. Figures are over completed requests, warm-up left out."""

    label: str
    target: str
    """The endpoint of it, where the run has several; else empty."""
    concurrency: int
    rate: float | None
    arrival: str
    prompt_tokens: float | None
    """Median as the server counted."""
    prompt_tokens_wanted: int | None
    max_tokens: int
    kv_cache: bool | None
    same_prompt: bool
    requests: int
    """Sent and measured; those that a person stopped are left out."""
    completed: int
    failed: Mapping[str, int]
    """Class → how many."""
    failed_subcodes: Mapping[str, int]
    outcomes: Mapping[str, int]
    """class.subcode → how many, of all."""
    duration_s: float
    """From the first request sent to the last one ended."""
    output_tokens: int
    output_tps: float | None
    """Tokens of all completed requests over ``duration_s``: ramp and tail included."""
    steady_output_tps: float | None
    """Tokens of completed requests that came while all streams were in use, over that time."""
    steady_s: float
    request_rate: float | None
    goodput_rate: float | None
    """Completed requests within the limits, a second; None without limits."""
    goodput_share: float | None
    peak_in_flight: int
    ttft_ms: Figure | None
    """Of cold requests: no prompt token came from a prefix cache, as far as the server says, but
    those that all prompts share (the chat template)."""
    ttft_warm_ms: Figure | None
    tpot_ms: Figure | None
    ttfa_ms: Figure | None
    decode_tps: Figure | None
    e2e_ms: Figure | None
    e2e_tps: Figure | None
    itl_p50_ms: Figure | None
    itl_p99_ms: Figure | None
    gap_max_ms: Figure | None
    """The longest time between two reads with tokens, of each request."""
    headers_ms: Figure | None
    """From t_send to the response's head: the first byte."""
    first_event_ms: Figure | None
    """From t_send to the first event of the body, whatever it carries."""
    keep_alives: int
    completion_tokens: Figure | None
    cached_prompt_tokens: Figure | None
    tokens_per_chunk: float | None
    token_source: Mapping[str, int]
    short_outputs: int
    """Completed requests that did not get the output length asked for."""
    client: Health | None
    ended_early: str


def level(
    stage: Stage,
    samples: Sequence[Sample],
    *,
    health: Sequence[Health] = (),
    limits: Sequence[Limit] = (),
    ended_early: str = "",
    template: int = 0,
    interleaved: bool = False,
    target: str = "",
) -> Level:
    """The results of one level.

    Args:
        stage: What was asked.
        samples: Its requests; warm-up ones are left out here.
        health: How the client did, of each segment.
        limits: What a request should keep, for the goodput.
        ended_early: What ended it before its requests were through.
        template: Prompt tokens that all of the run's prompts share (see ``template_of``).
        target: The endpoint's name, where there are several.
        interleaved: It took turns with other levels: the time between its turns is not its own.
    """
    measured = [s for s in samples if not s.warmup and not s.stopped]
    done = [s for s in measured if s.completed]
    failures = [s for s in measured if s.failed]
    parts = _segments(measured, stage.concurrency if interleaved else 0)
    spans = [_span(part) for part in parts]
    duration = sum(spans)
    steady_s, steady_tokens = _steady(stage, parts)
    tokens = sum(s.tokens or 0 for s in done)
    good = [s for s in done if keeps(limits, lambda name, s=s: getattr(s, name))]  # type: ignore[misc]
    figures = {name: figure(getattr(s, name) for s in done) for name in FIGURES}
    per_chunk = figure(s.tokens_per_chunk for s in done)
    prompts = figure(s.prompt_tokens for s in done)
    return Level(
        label=stage.label,
        target=target,
        concurrency=stage.concurrency,
        rate=stage.rate,
        arrival=stage.arrival,
        prompt_tokens=prompts.p50 if prompts else None,
        prompt_tokens_wanted=stage.prompt_tokens,
        max_tokens=stage.max_tokens,
        kv_cache=stage.kv_cache,
        same_prompt=stage.same_prompt,
        requests=len(measured),
        completed=len(done),
        failed=dict(Counter(s.cls for s in failures)),
        failed_subcodes=dict(Counter(f"{s.cls}.{s.subcode}" for s in failures)),
        outcomes=dict(Counter(f"{s.cls}.{s.subcode}" for s in measured)),
        duration_s=round(duration, 6),
        output_tokens=tokens,
        output_tps=tokens / duration if tokens and duration else None,
        steady_output_tps=steady_tokens / steady_s if done and steady_s > 0 else None,
        steady_s=round(steady_s, 6),
        request_rate=len(done) / duration if done and duration else None,
        goodput_rate=len(good) / duration if limits and duration else None,
        goodput_share=len(good) / len(measured) if limits and measured else None,
        peak_in_flight=max((_peak(part) for part in parts), default=0),
        ttft_ms=figure(s.ttft_ms for s in done if not s.warm(template)),
        ttft_warm_ms=figure(s.ttft_ms for s in done if s.warm(template)),
        completion_tokens=figure(s.completion_tokens for s in done),
        cached_prompt_tokens=figure(s.cached_prompt_tokens for s in done),
        tokens_per_chunk=per_chunk.p50 if per_chunk else None,
        token_source=dict(Counter(s.token_source for s in done)),
        keep_alives=sum(s.keep_alives for s in done),
        short_outputs=sum((s.tokens or 0) < _SHORT * stage.max_tokens for s in done),
        client=merged(health),
        ended_early=ended_early,
        **figures,
    )


def _segments(samples: Sequence[Sample], turn: int) -> list[list[Sample]]:
    """The stretches without a break, each with a clock of its own.

    Args:
        samples: What is to be parted.
        turn: Requests of a turn, where levels took turns; else 0.
    """
    parts: dict[tuple[int, int, int], list[Sample]] = {}
    for sample in samples:
        key = sample.stage, sample.segment, sample.index // turn if turn else 0
        parts.setdefault(key, []).append(sample)
    return list(parts.values())


def _begin(sample: Sample) -> float:
    return sample.start_s if sample.send_s is None else sample.send_s


def _finish(sample: Sample) -> float:
    """The last token where there is one: what the server does after it is no part of the work."""
    return sample.end_s if sample.last_s is None else sample.last_s


def _span(samples: Sequence[Sample]) -> float:
    return max(map(_finish, samples)) - min(map(_begin, samples))


def _steps(samples: Sequence[Sample]) -> list[tuple[float, int]]:
    steps = [(_begin(s), 1) for s in samples] + [(_finish(s), -1) for s in samples]
    return sorted(steps)


def _peak(samples: Sequence[Sample]) -> int:
    flying = most = 0
    for _, step in _steps(samples):
        flying += step
        most = max(most, flying)
    return most


def _steady(stage: Stage, parts: Sequence[Sequence[Sample]]) -> tuple[float, float]:
    """Seconds of the steady window, and the tokens that came in it.

    It begins when as many requests as the level has streams have been sent, and ends when the last
    one is sent: from then on streams fall idle. One stream is always in use. At a rate it is the
    time from the first request's end to the last one's start.
    """
    seconds = tokens = 0.0
    for part in parts:
        starts = sorted(map(_begin, part))
        if stage.rate is not None:
            low, high = min(map(_finish, part)), starts[-1]
        elif stage.concurrency == 1:
            low, high = starts[0], max(map(_finish, part))
        elif len(part) > stage.concurrency:
            low, high = starts[stage.concurrency - 1], starts[-1]
        else:
            continue
        if high > low:
            seconds += high - low
            tokens += sum(_tokens_within(s, low, high) for s in part if s.completed)
    return seconds, tokens


def _tokens_within(sample: Sample, low: float, high: float) -> float:
    """Tokens of a request that came between two times: the first at its stamp, the rest evenly."""
    count = sample.tokens
    first, last = sample.first_s, sample.last_s
    if not count or first is None or last is None:
        return 0.0
    within = 1.0 if low <= first <= high else 0.0
    if count == 1 or last <= first:
        return count * within
    overlap = max(0.0, min(last, high) - max(first, low))
    return within + (count - 1) * overlap / (last - first)


def merged(parts: Sequence[Health]) -> Health | None:
    """The health over several segments: the worst of each."""
    if len(parts) < 2:
        return parts[0] if parts else None

    def most(name: str) -> float | None:
        return max((v for p in parts if (v := getattr(p, name)) is not None), default=None)

    return Health(
        loop_lag_ms_p50=most("loop_lag_ms_p50"),
        loop_lag_ms_max=most("loop_lag_ms_max"),
        late_share=most("late_share") or 0.0,
        cpu_share=most("cpu_share") or 0.0,
        start_late_ms_p99=most("start_late_ms_p99"),
        client_bound=any(p.client_bound for p in parts),
    )
