"""Levels that take turns: how long was measured, and ratios that are not those of the medians."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median

import pytest

from kvtui.bench.evaluation.ratios import compare_endpoints, precision
from kvtui.bench.evaluation.reading import article
from kvtui.bench.figures.finding import Finding
from kvtui.bench.figures.sample import Sample
from kvtui.bench.figures.summary import levels_of, seconds_of
from kvtui.bench.requests.targets import Target
from kvtui.bench.running.runner import _turn
from kvtui.bench.work.workload import Stage, Workload

TARGETS = (Target(name="weights f32, KV f32"), Target(name="weights int8, KV f32", weights="int8"))
FEW = [(4.0, 8.0), (6.0, 6.6), (20.0, 22.0)]
"""TPOTs in ms: the pairs' ratios are 2, 1.1, 1.1, the medians 6 and 8."""
MANY = [*FEW, *[(6.0, 6.6)] * 5]


def beside(preset: str, interleave: bool = True, streams: int = 1) -> Workload:
    stages = tuple(
        Stage(
            label=target.name, texts=("Hi",), max_tokens=8, requests=8, series=preset,
            target=number, concurrency=streams,
        )
        for number, target in enumerate(TARGETS)
    )  # fmt: skip
    return Workload(preset=preset, stages=stages, targets=TARGETS, interleave=interleave)


def pairs(tpots: Sequence[tuple[float, float]]) -> list[Sample]:
    return [
        Sample(stage=stage, index=index, tpot_ms=tpot, end_s=1.0, completion_tokens=8)
        for index, both in enumerate(tpots)
        for stage, tpot in enumerate(both)
    ]


def said_of(preset: str, tpots: Sequence[tuple[float, float]]) -> Finding:
    workload, samples = beside(preset), pairs(tpots)
    levels = levels_of(workload, samples, {})
    if preset == "precision":
        return precision(workload, levels, samples, TARGETS)[1]
    (found,) = (f for f in compare_endpoints(workload, levels, samples) if f.code == "ratio")
    return found


def test_a_precision_s_ratio_is_said_to_be_of_the_pairs() -> None:
    assert median(b for _, b in FEW) / median(a for a, _ in FEW) == pytest.approx(4 / 3)
    few, many = said_of("precision", FEW).message, said_of("precision", MANY).message
    assert "1.10 times float32's, the median of the ratios of 3 pairs, too few" in few
    assert "1.10 [1.10, 2.00] times float32's, the median of the ratios of 8 pairs" in many


def test_an_endpoint_s_ratio_is_said_to_be_of_the_pairs() -> None:
    few, many = (said_of("compare-endpoints", tpots).message for tpots in (FEW, MANY))
    assert "1.100, the median of the ratios of 3 pairs, too few for a claim" in few
    assert "1.100 [1.100, 2.000], the median of the ratios of 8 pairs" in many


def test_the_article_s_ratio_is_said_to_be_of_the_medians_over_all_lengths() -> None:
    stages = tuple(
        Stage(label=f"{series} {n}", texts=("Hi",), max_tokens=n, requests=3, series=series)
        for series in ("question", "summarise")
        for n in (16, 64)
    )
    ttfts = ((10.0, 11.0, 12.0), (20.0, 21.0, 22.0), (40.0, 41.0, 42.0), (50.0, 51.0, 52.0))
    samples = [
        Sample(stage=stage, index=index, ttft_ms=ttft, end_s=1.0)
        for stage, row in enumerate(ttfts)
        for index, ttft in enumerate(row)
    ]
    found, *_ = article(Workload(preset="article", stages=stages), (), samples)
    assert found.figures["ratio"] == pytest.approx(46 / 16)
    for words in ("2.88 times", "16.0 ms and 46.0 ms", "medians of 6 and 6 requests"):
        assert words in found.message


def test_time_that_levels_share_counts_once() -> None:
    """Two levels in turn for 8 s, a pause, and 2 s more; a second on, levels one after another."""

    def turn(stage: int, index: int, begin: float, segment: int = 0) -> Sample:
        return Sample(
            stage=stage, index=index, segment=segment, start_s=begin, send_s=begin,
            last_s=begin + 1, end_s=begin + 1,
        )  # fmt: skip

    samples = [turn(n % 2, n // 2, float(n)) for n in range(8)]
    samples += [turn(n % 2, 4 + n // 2, float(n), 1) for n in range(2)]
    samples.append(Sample(stage=0, index=0, warmup=True, start_s=0.0, end_s=99.0))
    workload = beside("precision")
    assert seconds_of(workload, samples) == 10.0
    rows = levels_of(workload, [s for s in samples if not s.warmup], {})
    assert sum(row.duration_s for row in rows) == 10.0
    alike = [turn(stage, index, float(index)) for stage in (0, 1) for index in range(3)]
    assert seconds_of(beside("own", interleave=False), alike) == 6.0
    assert seconds_of(beside("own", interleave=True), alike) == 3.0


def test_a_run_that_goes_on_takes_the_rest_of_a_turn_first() -> None:
    """Else requests of two turns were sent together, and each turn's time counted both."""
    assert _turn([1, 2, 3, 4], 2) == [1]
    assert _turn([2, 3, 4], 2) == [2, 3]
    assert _turn([3, 5], 2) == [3]
    assert _turn([], 2) == []
