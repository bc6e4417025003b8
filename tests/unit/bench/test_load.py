"""When requests are due, by a clock that the test moves."""

from __future__ import annotations

import itertools
from statistics import mean

from kvtui.bench.running.load import Driver
from kvtui.bench.work.workload import Arrival, Stage


def driver(
    concurrency: int = 1,
    rate: float | None = None,
    requests: int | None = 6,
    duration_s: float | None = None,
    arrival: Arrival = "constant",
    warmup: bool = False,
) -> Driver:
    stage = Stage(
        label="x",
        texts=("x",),
        concurrency=concurrency,
        rate=rate,
        requests=requests,
        duration_s=duration_s,
        arrival=arrival,
    )
    made = Driver(stage, None if requests is None else range(requests), warmup=warmup, seed="1")
    made.begin(100.0)
    return made


def test_streams_are_kept_full() -> None:
    load = driver(concurrency=2)
    assert [load.due(100.0, n) for n in (0, 1, 2)] == [(0, None), (1, None), None]
    assert load.due(103.0, 1) == (2, None)
    assert load.wait(103.0, 2, 0.25) == 0.25
    assert not load.finished


def test_a_constant_rate_does_not_drift() -> None:
    load = driver(concurrency=0, rate=10.0)
    now, starts = 100.0, []
    while not load.finished:
        due = load.due(now, 50)
        if due is None:
            now += load.wait(now, 50, 1.0) + 0.003  # always woken late
        else:
            starts.append((due[0], now, due[1] or 0.0))
    assert [index for index, _, _ in starts] == [0, 1, 2, 3, 4, 5]
    assert all(abs(now - (100 + 0.1 * i)) < 0.004 for i, now, _ in starts)
    assert all(late < 4 for _, _, late in starts)


def test_poisson_has_the_rate_and_its_spread() -> None:
    load = driver(concurrency=0, rate=5.0, requests=4000, arrival="poisson")
    now, starts = 100.0, []
    while not load.finished:
        if load.due(now, 0) is None:
            now += load.wait(now, 0, 10.0)
        else:
            starts.append(now)
    gaps = [b - a for a, b in itertools.pairwise(starts)]
    assert abs(mean(gaps) - 0.2) < 0.01
    assert abs(sum(g > 0.2 for g in gaps) / len(gaps) - 0.368) < 0.03


def test_a_duration_ends_it_and_a_pause_is_no_part_of_it() -> None:
    load = driver(requests=None, duration_s=2.0)
    assert load.due(101.9, 0) == (0, None)
    load.shift(5.0)
    assert load.due(106.9, 0) == (1, None)
    assert load.due(107.1, 0) is None
    assert load.finished
    assert load.why == "its time is over"


def test_a_warm_up_has_no_rate() -> None:
    load = driver(concurrency=1, rate=0.01, requests=2, warmup=True)
    assert load.due(100.0, 0) == (0, None)
    assert load.due(100.1, 0) == (1, None)
    assert load.finished
