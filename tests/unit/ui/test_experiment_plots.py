"""Which plots a run gives, where their points lie, and that they are drawn from zero."""

from __future__ import annotations

from typing import Any

import pytest

from kvtui.bench.figures.sample import Sample
from kvtui.bench.figures.summary import levels_of
from kvtui.bench.requests.targets import Target
from kvtui.bench.running.presets import PRESETS
from kvtui.measure.gaps import Gaps
from kvtui.ui.draw.plot import plot_rows
from kvtui.ui.experiments.plots import plots_of
from kvtui.ui.look.rows import plain, width_of


def reads(per_token: Any, count: int = 64) -> tuple[tuple[float, int], ...]:
    at, found = 10.0, []
    for number in range(count):
        at += per_token(number)
        found.append((at, number + 1))
    return tuple(found)


def answered(stage: int, index: int, **figures: Any) -> Sample:
    usual: dict[str, Any] = {
        "send_s": float(index), "first_s": index + 0.05, "last_s": index + 0.7,
        "end_s": index + 0.7, "ttft_ms": 50.0, "tpot_ms": 5.0, "decode_tps": 200.0,
        "e2e_ms": 650.0, "completion_tokens": 64, "token_source": "usage",
    }  # fmt: skip
    return Sample(stage=stage, index=index, **{**usual, **figures})


def test_both_curves_of_the_cache_stand_in_one_plot() -> None:
    workload = PRESETS["kv-evidence"].build({"max_tokens": (64,), "requests": 1}, True)
    long = [n for n, stage in enumerate(workload.stages) if stage.keep_reads]
    assert [workload.stages[n].kv_cache for n in long] == [True, False]
    samples = [
        answered(long[0], 0, prompt_tokens=24, reads=reads(lambda _: 5.0)),
        answered(long[1], 0, prompt_tokens=24, reads=reads(lambda n: 5.0 + n)),
    ]
    levels = levels_of(workload, samples, {})
    (plot,) = (
        p for p in plots_of(workload, levels, lambda: samples, Gaps()) if p.name == "position"
    )
    on, off = plot.series
    assert (on.label, off.label) == ("cache on", "cache off")
    assert {round(y) for _, y in on.points} == {200}
    assert off.points[0][1] > 4 * off.points[-1][1]
    assert all(24 <= x <= 24 + 64 for one in plot.series for x, _ in one.points)


def test_ttft_is_drawn_against_the_tokens_that_the_server_counted() -> None:
    workload = PRESETS["prefill"].build({"prompt_tokens": (100, 200)}, True)
    samples = [
        answered(n, i, prompt_tokens=(stage.prompt_tokens or 0) + 3, ttft_ms=10.0 * (n + 1))
        for n, stage in enumerate(workload.stages)
        for i in range(3)
    ]
    levels = levels_of(workload, samples, {})
    plot = next(
        p for p in plots_of(workload, levels, lambda: samples, Gaps()) if p.name == "prompt"
    )
    points = {one.label: one.points for one in plot.series}
    assert points == {
        "cold": ((103.0, 10.0), (203.0, 30.0)),
        "again": ((103.0, 20.0), (203.0, 40.0)),
    }


@pytest.mark.parametrize("size", [(24, 6), (40, 10), (116, 30)])
def test_plots_fit_and_begin_at_zero(size: tuple[int, int]) -> None:
    workload = PRESETS["sweep"].build({}, True)
    gaps = Gaps()
    for _ in range(100):
        gaps.add(0.005)
    samples = [answered(n, i) for n in range(3) for i in range(4)]
    levels = levels_of(workload, samples, {})
    for plot in plots_of(workload, levels, lambda: samples, gaps):
        rows = plot_rows(plot, *size)
        assert len(rows) <= size[1]
        assert all(width_of(line) <= size[0] for line in rows)
        if size[1] >= 10:
            assert any(plain(line).lstrip().startswith("0┤") for line in rows)
    empty = plots_of(workload, [], lambda: [], Gaps())
    assert all("drawn as the figures come in" in plain(plot_rows(p, 60, 12)[-1]) for p in empty)


def test_several_endpoints_are_lines_of_their_requests_in_turn() -> None:
    given = {"targets": (Target(name="one"), Target(name="two")), "requests": 3}
    workload = PRESETS["compare-endpoints"].build(given, True)
    stages = [next(n for n, s in enumerate(workload.stages) if s.target == at) for at in (0, 1)]
    samples = [
        answered(stage, i, start_s=float(2 * i + stage), decode_tps=100.0 * (at + 1) + i)
        for i in reversed(range(3))
        for at, stage in enumerate(stages)
    ]
    samples.append(answered(stages[0], 3, warmup=True, start_s=9.0))
    levels = levels_of(workload, samples, {})
    plot = plots_of(workload, levels, lambda: samples, Gaps())[0]
    assert [(one.label, one.points) for one in plot.series] == [
        ("one", ((1.0, 100.0), (2.0, 101.0), (3.0, 102.0))),
        ("two", ((1.0, 200.0), (2.0, 201.0), (3.0, 202.0))),
    ]
