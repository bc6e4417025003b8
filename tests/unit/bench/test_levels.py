"""Quantiles and their intervals; a level's figures from requests made up for it."""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction
from math import comb
from random import Random
from typing import Any

import numpy
import pytest

from kvtui.bench.figures.levels import Level, LevelSums
from kvtui.bench.figures.quantiles import figure, interval, quantile
from kvtui.bench.figures.sample import Sample
from kvtui.bench.figures.summary import levels_of, template_of
from kvtui.bench.running.certainty import certain
from kvtui.bench.work.slo import parse_slo
from kvtui.bench.work.workload import Stage, Workload


def test_quantiles_are_numpys() -> None:
    values = sorted(Random(1).gauss(10, 2) for _ in range(37))
    for q in (0.5, 0.9, 0.95, 0.99):
        assert quantile(values, q) == pytest.approx(numpy.quantile(values, q))


@pytest.mark.parametrize(("n", "q"), [(10, 0.5), (25, 0.5), (40, 0.9), (200, 0.95), (1500, 0.5)])
def test_intervals_cover(n: int, q: float) -> None:
    """95 % of them hold the true quantile, or a little more: ranks come in whole numbers."""
    random = Random(n)
    tries = 400 if n < 1000 else 120
    held = 0
    for _ in range(tries):
        between = interval(sorted(random.random() for _ in range(n)), q)
        assert between is not None
        held += between[0] <= q <= between[1]
    assert held / tries >= 0.92


@pytest.mark.parametrize("q", [0.5, 0.9, 0.95, 0.99])
def test_the_ranks_are_the_exact_binomials(q: float) -> None:
    """The narrowest pair that misses the quantile on neither side with more than 2.5 %."""
    exact = Fraction(str(q))
    for n in (6, 7, 29, 36, 100, 299, 400):
        below = [Fraction(0)]
        for k in range(n + 1):
            below.append(below[-1] + comb(n, k) * exact**k * (1 - exact) ** (n - k))
        tail = Fraction(25, 1000)
        low = max(k for k in range(n + 1) if below[k] <= tail)
        high = min(k for k in range(1, n + 2) if below[k] >= 1 - tail)
        wanted = (low, high) if low >= 1 and high <= n else None
        assert interval([float(k) for k in range(1, n + 1)], q) == wanted


def test_too_few_bound_nothing() -> None:
    assert interval([1.0] * 5, 0.5) is None
    assert interval([1.0] * 6, 0.5) == (1.0, 1.0)
    assert interval([float(i) for i in range(50)], 0.99) is None
    assert figure([None, None]) is None
    assert figure([3.0, None]).n == 1  # type: ignore[union-attr]


def level(stage: Stage, rows: Iterable[Sample], **how: Any) -> Level:
    sums = LevelSums(stage, **how)
    for row in rows:
        sums.add(row)
    return sums.level()


def stage(**more: object) -> Stage:
    usual = {"label": "x", "texts": ("x",), "max_tokens": 11}
    return Stage(**{**usual, **more})  # type: ignore[arg-type]


def sample(index: int, at: float, **more: object) -> Sample:
    """Sent at ``at``, first token after 1 s, eleven tokens 0.1 s apart."""
    usual: dict[str, object] = {
        "stage": 0,
        "start_s": at,
        "send_s": at,
        "first_s": at + 1,
        "last_s": at + 2,
        "end_s": at + 2.01,
        "ttft_ms": 1000.0,
        "tpot_ms": 100.0,
        "e2e_ms": 2000.0,
        "completion_tokens": 11,
        "token_source": "usage",
    }
    return Sample(index=index, **{**usual, **more})  # type: ignore[arg-type]


def test_throughput_over_all_and_over_the_steady_window() -> None:
    pair = [sample(i, 2.0 * (i // 2)) for i in range(6)]
    row = level(stage(concurrency=2), pair)
    assert row.duration_s == pytest.approx(6.0)
    assert row.output_tps == pytest.approx(66 / 6)
    # Two streams from 0 s; the last is sent at 4 s: two pairs' tokens came in those 4 s.
    assert (row.steady_s, row.steady_output_tps) == (pytest.approx(4.0), pytest.approx(11.0))
    assert row.peak_in_flight == 2
    assert row.request_rate == pytest.approx(1.0)
    assert level(stage(concurrency=8), pair).steady_output_tps is None
    one = level(stage(), [sample(i, 2.0 * i) for i in range(3)])
    assert one.output_tps == one.steady_output_tps == pytest.approx(5.5)


def test_a_break_is_no_time() -> None:
    parts = [sample(0, 0.0), sample(1, 0.0, segment=1)]
    row = level(stage(), parts)
    assert row.duration_s == pytest.approx(4.0)
    assert row.peak_in_flight == 1


def test_failures_are_counted_and_never_averaged() -> None:
    bad = {"failed": True, "cls": "server", "subcode": "oom", "ttft_ms": 5.0, "partial": True}
    rows = [
        sample(0, 0.0, warmup=True, ttft_ms=9e9),
        sample(1, 2.0, cls="truncated", subcode="max_tokens"),
        sample(2, 4.0, **bad),
        sample(3, 6.0, **bad),
        sample(4, 8.0, stopped=True, partial=True),
    ]
    row = level(stage(), rows)
    assert (row.requests, row.completed) == (3, 1)
    assert row.failed == {"server": 2}
    assert row.failed_subcodes == {"server.oom": 2}
    assert row.outcomes == {"truncated.max_tokens": 1, "server.oom": 2}
    assert row.ttft_ms is not None
    assert (row.ttft_ms.n, row.ttft_ms.p50) == (1, 1000.0)


def test_cut_streams_are_no_throughput() -> None:
    rows = [sample(i, 2.0 * i, failed=True, partial=True) for i in range(3)]
    row = level(stage(), rows)
    assert row.output_tps is row.steady_output_tps is row.request_rate is None


def test_warm_is_never_pooled_with_cold() -> None:
    rows = [sample(0, 0.0), sample(1, 2.0, ttft_ms=100.0, cached_prompt_tokens=512)]
    row = level(stage(), rows)
    assert row.ttft_ms is not None
    assert row.ttft_warm_ms is not None
    assert (row.ttft_ms.p50, row.ttft_warm_ms.p50) == (1000.0, 100.0)
    assert row.e2e_ms is not None
    assert row.e2e_ms.n == 2


def test_the_chat_template_is_no_warmth() -> None:
    """A server that holds the template has some tokens of every prompt in its cache."""
    cold = stage(series="a")
    again = stage(series="a", label="again")
    rows = [
        sample(0, 0.0, prompt_tokens=64, cached_prompt_tokens=24),
        sample(1, 2.0, prompt_tokens=64, cached_prompt_tokens=25),
        sample(0, 4.0, stage=1, prompt_tokens=64, cached_prompt_tokens=63, ttft_ms=9.0),
    ]
    first, second = levels_of(Workload(preset="p", stages=(cold, again)), rows, {})
    assert first.ttft_ms is not None
    assert (first.ttft_ms.n, first.ttft_warm_ms) == (2, None)
    assert second.ttft_warm_ms is not None
    assert (second.ttft_ms, second.ttft_warm_ms.p50) == (None, 9.0)
    same = stage(same_prompt=True)
    assert template_of(Workload(preset="p", stages=(same,)), rows) == 0


def test_goodput_and_short_outputs() -> None:
    rows = [sample(0, 0.0), sample(1, 2.0, ttft_ms=2000.0), sample(2, 4.0, completion_tokens=3)]
    row = level(stage(), rows, limits=parse_slo("ttft_ms<1500"))
    assert row.goodput_share == pytest.approx(2 / 3)
    assert row.short_outputs == 1


def test_certain_needs_enough() -> None:
    steady, noisy = [[1000.0 + apart * (i % 2) for i in range(20)] for apart in (1, 400)]
    assert certain(20, [steady, steady], 0.05)
    assert not certain(20, [steady, noisy], 0.05)
    assert not certain(5, [steady[:5]], 0.05)
    assert not certain(20, [steady, []], 0.05)  # one of the figures nobody told


def test_prompts_that_begin_alike_by_chance_are_cold() -> None:
    """llama.cpp caches to the token: a shared first word is no prefix that was sent before."""
    assert not sample(0, 0.0, cached_prompt_tokens=26).warm(24)
    assert sample(0, 0.0, cached_prompt_tokens=40).warm(24)
    assert not sample(0, 0.0, cached_prompt_tokens=1).warm()
    assert sample(0, 0.0, cached_prompt_tokens=16).warm()  # a block of vLLM's
