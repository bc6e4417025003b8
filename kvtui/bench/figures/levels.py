"""Requests → one row a level: figures, throughput over two named windows, failures, health."""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Mapping, Sequence

import msgspec

from kvtui.bench.figures.health import Health
from kvtui.bench.figures.quantiles import Figure, figure
from kvtui.bench.figures.sample import Sample
from kvtui.bench.figures.stretches import Stretch
from kvtui.bench.work.slo import Limit, keeps
from kvtui.bench.work.workload import Stage

FIGURES = (
    "ttfa_ms", "tpot_ms", "decode_tps", "e2e_ms", "e2e_tps", "itl_p50_ms", "itl_p99_ms",
    "gap_max_ms", "headers_ms", "first_event_ms",
)  # fmt: skip
_EACH = (
    *FIGURES, "completion_tokens", "cached_prompt_tokens", "tokens_per_chunk", "prompt_tokens",
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


class LevelSums:
    """What a level's figures are made from, request by request: each is looked at once."""

    def __init__(
        self,
        stage: Stage,
        *,
        limits: Sequence[Limit] = (),
        template: int = 0,
        interleaved: bool = False,
    ) -> None:
        """Nothing yet.

        Args:
            stage: What was asked.
            limits: What a request should keep, for the goodput.
            template: Prompt tokens that all of the run's prompts share (see ``template_of``).
            interleaved: It took turns with other levels: the time between them is not its own.
        """
        self._stage = stage
        self._wanted = _SHORT * stage.max_tokens
        self._limits = limits
        self._template = template
        self._turn = stage.concurrency if interleaved else 0
        self._stretches: dict[tuple[int, int, int], Stretch] = {}
        """The stretches without a break, each with a clock of its own."""
        self._values = {name: array("d") for name in (*_EACH, "ttft_ms", "ttft_warm_ms")}
        self._requests = self._completed = self._good = self._short = 0
        self._tokens = self._keep_alives = 0
        self._failed: Counter[str] = Counter()
        self._failed_subcodes: Counter[str] = Counter()
        self._outcomes: Counter[str] = Counter()
        self._token_source: Counter[str] = Counter()

    def add(self, sample: Sample) -> None:
        """A request; warm-up ones, and those that a person stopped, are left out."""
        if sample.warmup or sample.stopped:
            return
        self._requests += 1
        turn = sample.index // self._turn if self._turn else 0
        key = sample.stage, sample.segment, turn
        self._stretches.setdefault(key, Stretch()).add(sample)
        outcome = f"{sample.cls}.{sample.subcode}"
        self._outcomes[outcome] += 1
        if sample.failed:
            self._failed[sample.cls] += 1
            self._failed_subcodes[outcome] += 1
            return
        tokens = sample.tokens or 0
        self._completed += 1
        self._tokens += tokens
        self._short += tokens < self._wanted
        self._keep_alives += sample.keep_alives
        self._token_source[sample.token_source] += 1
        self._good += keeps(self._limits, lambda name: getattr(sample, name))
        for name in _EACH:
            if (value := getattr(sample, name)) is not None:
                self._values[name].append(value)
        if sample.ttft_ms is not None:
            warm = sample.warm(self._template)
            self._values["ttft_warm_ms" if warm else "ttft_ms"].append(sample.ttft_ms)

    def level(
        self, *, health: Sequence[Health] = (), ended_early: str = "", target: str = ""
    ) -> Level:
        """The results.

        Args:
            health: How the client did, of each segment.
            ended_early: What ended it before its requests were through.
            target: The endpoint's name, where there are several.
        """
        stage, stretches = self._stage, self._stretches.values()
        duration = sum(stretch.seconds for stretch in stretches)
        windows = [stretch.steady(stage) for stretch in stretches]
        steady_s, steady_tokens = sum(s for s, _ in windows), sum(t for _, t in windows)
        done, tokens = self._completed, self._tokens
        figures = {name: figure(values) for name, values in self._values.items()}
        per_chunk, prompts = figures.pop("tokens_per_chunk"), figures.pop("prompt_tokens")
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
            requests=self._requests,
            completed=done,
            failed=dict(self._failed),
            failed_subcodes=dict(self._failed_subcodes),
            outcomes=dict(self._outcomes),
            duration_s=round(duration, 6),
            output_tokens=tokens,
            output_tps=tokens / duration if tokens and duration else None,
            steady_output_tps=steady_tokens / steady_s if done and steady_s > 0 else None,
            steady_s=round(steady_s, 6),
            request_rate=done / duration if done and duration else None,
            goodput_rate=self._good / duration if self._limits and duration else None,
            goodput_share=self._good / self._requests if self._limits and self._requests else None,
            peak_in_flight=max((stretch.peak for stretch in stretches), default=0),
            tokens_per_chunk=per_chunk.p50 if per_chunk else None,
            token_source=dict(self._token_source),
            keep_alives=self._keep_alives,
            short_outputs=self._short,
            client=merged(health),
            ended_early=ended_early,
            **figures,
        )


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
