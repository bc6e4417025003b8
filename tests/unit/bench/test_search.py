"""The search for the highest level that keeps the limits."""

from __future__ import annotations

from random import Random

import pytest

from kvtui.bench.figures.sample import Sample
from kvtui.bench.figures.summary import levels_of
from kvtui.bench.running.presets import PRESETS
from kvtui.bench.running.search import (
    Search,
    Verdict,
    found,
    judged,
    next_level,
    rates_between,
    share_interval,
    streams_up_to,
)
from kvtui.bench.work.workload import Workload, WorkloadError


def test_levels_to_choose_among() -> None:
    assert streams_up_to(3) == (1, 2, 3)
    assert streams_up_to(40) == (*range(1, 17), 18, 20, 22, 24, 26, 28, 30, 32, 36, 40)
    assert len(streams_up_to(1024)) < 70
    rates = rates_between(2.0, 16.0)
    assert (rates[0], rates[8], rates[-1]) == (2.0, 4.0, 16.0)
    assert len(rates) == 25


def test_a_share_decides_by_the_exact_test() -> None:
    """0.95^89 > 1 % > 0.95^90: so many without a miss are needed for five looks at 5 %."""
    assert [judged(n, n, 0.95, 5) for n in (89, 90)] == ["open", "keeps"]
    assert judged(90, 100, 0.95, 1) == "fails"  # P(90 or fewer of 100 at 0.95) = 0.028
    assert judged(91, 100, 0.95, 1) == "open"  # 0.063
    assert judged(0, 0, 0.95, 3) == "open"


def test_clopper_and_pearsons_intervals() -> None:
    """By hand: no miss in n has the lower end 0.025^(1/n); 8 of 10 is in every table."""
    low, high = share_interval(20, 20)
    assert (low, high) == (pytest.approx(0.025 ** (1 / 20), abs=1e-6), 1.0)
    assert share_interval(8, 10) == (
        pytest.approx(0.4439, abs=1e-4),
        pytest.approx(0.9748, abs=1e-4),
    )
    assert share_interval(0, 20)[0] == 0.0
    # What is shown beside a verdict is what decides: 158 of 160 make 95 % not sure in five looks
    assert judged(158, 160, 0.95, 5) == "open"
    assert share_interval(158, 160, 0.05 / 5)[0] < 0.95 < share_interval(158, 160)[0]
    assert judged(159, 160, 0.95, 5) == "keeps"
    assert share_interval(159, 160, 0.05 / 5)[0] > 0.95


def test_doubling_then_halving() -> None:
    values = streams_up_to(64)
    for limit in range(0, 70):
        verdicts: dict[int, Verdict] = {}
        looks = []
        while (level := next_level(verdicts, values)) is not None:
            looks.append(values[level])
            verdicts[level] = "keeps" if values[level] <= limit else "fails"
        best = max((values[i] for i, v in verdicts.items() if v == "keeps"), default=None)
        assert best == max((v for v in values if v <= limit), default=None)
        assert len(looks) <= 11
        assert len(set(looks)) == len(looks)


def searching(most: int, **more: object) -> Workload:
    given = {"search": True, "concurrency": (most,), "slo": "ttft_ms<100", **more}
    return PRESETS["sweep"].build(given, False).check()


def simulated(workload: Workload, seed: int, chance_of: dict[int, float]) -> list[Sample]:
    """A server whose requests keep the limit with a chance that hangs on the streams."""
    random = Random(seed)
    samples: list[Sample] = []
    for number in Search(workload, samples).order():
        stage = workload.stages[number]
        for index in range(stage.requests or 0):
            good = random.random() < chance_of.get(stage.concurrency, 0.2)
            samples.append(
                Sample(stage=number, index=index, ttft_ms=50.0 if good else 200.0, end_s=1.0)
            )
    return samples


def test_the_knee_is_found_over_many_seeds() -> None:
    """Up to 10 streams all but 0.1 % keep it, beyond a third do not: never more than 10."""
    workload = searching(64)
    chances = {c: 0.999 if c <= 10 else 0.67 for c in range(1, 65)}
    bests = []
    for seed in range(60):
        samples = simulated(workload, seed, chances)
        finding = found(workload, levels_of(workload, samples, {}))
        assert finding.holds
        bests.append(finding.figures["highest"]["concurrency"])
    assert max(bests) == 10
    assert sum(best == 10 for best in bests) >= 50


def test_what_cannot_be_decided_is_said() -> None:
    """Exactly the share that is wanted: no number of looks is sure of it."""
    workload = searching(8)
    undecided = wrong = 0
    for seed in range(60):
        samples = simulated(workload, seed, dict.fromkeys(range(1, 9), 0.95))
        finding = found(workload, levels_of(workload, samples, {}))
        undecided += "cannot be decided" in finding.message
        wrong += bool(finding.holds)
    assert undecided >= 45
    assert wrong <= 6  # one level in twenty by the tests' own error


def test_no_level_and_every_level() -> None:
    workload = searching(4)
    none = found(workload, levels_of(workload, simulated(workload, 1, {}), {}))
    assert none.holds is False
    assert none.figures["highest"] is None
    ever = simulated(workload, 1, dict.fromkeys(range(1, 5), 1.0))
    beyond = found(workload, levels_of(workload, ever, {}))
    assert beyond.figures["highest"]["concurrency"] == 4
    assert "lies beyond" in beyond.message


def test_a_resumed_search_asks_for_what_is_missing() -> None:
    workload = searching(16)
    chances = {c: 1.0 if c <= 5 else 0.1 for c in range(1, 17)}
    whole = simulated(workload, 3, chances)
    half = whole[: len(whole) // 2]
    rest = list(Search(workload, half).order())[:1]
    assert rest[0] == whole[len(whole) // 2].stage


def test_a_search_wants_limits_and_one_length() -> None:
    with pytest.raises(WorkloadError, match="wants limits"):
        PRESETS["sweep"].build({"search": True}, False).check()
    with pytest.raises(WorkloadError, match="one prompt length"):
        searching(4, max_tokens=(8, 16))
