"""Which plots a run gives, where their points lie, and that they are drawn from zero."""

from __future__ import annotations

from typing import Any

import pytest

from kvtui.bench.figures.sample import Sample
from kvtui.bench.figures.summary import levels_of
from kvtui.bench.requests.targets import Target
from kvtui.bench.running.presets import PRESETS
from kvtui.measure.gaps import Gaps
from kvtui.ui.draw.levels import level_rows, table_note
from kvtui.ui.draw.plot import plot_rows
from kvtui.ui.experiments.plots import Requests, plots_of
from kvtui.ui.look.plots import Plot, Series
from kvtui.ui.look.rows import plain, width_of
from kvtui.ui.look.ticks import ticks


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
        p
        for p in plots_of(workload, levels, Requests(workload, samples), Gaps())
        if p.name == "position"
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
        p
        for p in plots_of(workload, levels, Requests(workload, samples), Gaps())
        if p.name == "prompt"
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
    for plot in plots_of(workload, levels, Requests(workload, samples), gaps):
        rows = plot_rows(plot, *size)
        assert len(rows) <= size[1]
        assert all(width_of(line) <= size[0] for line in rows)
        if size[1] >= 10:
            assert any(plain(line).lstrip().startswith("0┤") for line in rows)
    empty = plots_of(workload, [], Requests(workload), Gaps())
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
    plot = plots_of(workload, levels, Requests(workload, samples), Gaps())[0]
    assert [(one.label, one.points) for one in plot.series] == [
        ("one", ((1.0, 100.0), (2.0, 101.0), (3.0, 102.0))),
        ("two", ((1.0, 200.0), (2.0, 201.0), (3.0, 202.0))),
    ]


NAN, INF = float("nan"), float("inf")


@pytest.mark.parametrize("size", [(24, 6), (40, 10), (76, 16), (190, 40)])
@pytest.mark.parametrize(
    "values",
    [
        [0.0], [0.0] * 5, [1e-6], [1e6], [7.0] * 5, [1e-6, 1e6], [1e-320, 5e-324], [NAN, 3.0, INF],
        [NAN], [1e12] * 3, [float(n % 7) for n in range(20_000)],
    ],
)  # fmt: skip
def test_any_value_is_drawn_within_its_room(values: list[float], size: tuple[int, int]) -> None:
    points = tuple((float(n), value) for n, value in enumerate(values))
    rows = plot_rows(Plot("x", "t", "request", "ms", (Series("s", points),)), *size)
    assert len(rows) <= size[1]
    assert max(map(width_of, rows)) <= size[0]
    assert "inf" not in plain(rows[-1])


def test_an_axis_of_small_values_has_its_marks() -> None:
    points = tuple((float(n), 1e-6 * n) for n in range(1, 6))
    rows = plot_rows(Plot("x", "t", "request", "ms", (Series("s", points),)), 40, 10)
    assert any(plain(line).lstrip().startswith("5e-06") for line in rows)
    assert ticks(5e-6, 2) == pytest.approx([0, 5e-6])
    assert ticks(0.0, 4) == [0.0]


def test_a_level_without_figures_has_no_star() -> None:
    workload = PRESETS["sweep"].build({"concurrency": (2,)}, True)
    samples = [Sample(stage=0, index=0, cls="network", subcode="refused", failed=True)]
    levels = levels_of(workload, samples, {})
    told = "\n".join(plain(line) for line in level_rows(levels, 120))
    assert "1 network" in told
    assert "*" not in told + table_note(levels)


def test_a_request_under_way_is_drawn_and_not_kept() -> None:
    given = {"targets": (Target(name="one"), Target(name="two")), "requests": 3}
    workload = PRESETS["compare-endpoints"].build(given, True)
    requests = Requests(workload, [answered(0, 0, decode_tps=100.0)])
    live = requests.and_also([answered(0, 1, start_s=1.0, decode_tps=50.0)])
    assert [rate for _, rate in live.rates[0]] == [100.0, 50.0]
    assert [rate for _, rate in requests.rates[0]] == [100.0]
