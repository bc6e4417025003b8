"""What a comparison claims, over many seeds."""

from __future__ import annotations

from math import comb, exp
from random import Random

import numpy
import pytest

from kvtui.bench.evaluation.compare import (
    Comparison,
    compare,
    enough,
    resampled,
)
from kvtui.bench.figures.difference import (
    difference,
    independent_part,
    mann_whitney,
    shift_ratio,
    student_tail,
)
from tests.unit.bench.sides import claims, requests, side

SEEDS = 100


def compared(seed: int, factor: float, *, n: int = 20, drift: float = 0.0) -> Comparison:
    random = Random(seed)
    one = side(*(requests(random, n, 10.0, drift=drift) for _ in range(3)))
    other = side(*(requests(random, n, 10.0 * factor, drift=drift) for _ in range(3)))
    return compare(one, other)


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """No bootstrap: no claim rests on the intervals, and hundreds of them take long."""
    monkeypatch.setattr("kvtui.bench.evaluation.compare._ratio_interval", lambda *_: None)


@pytest.mark.usefixtures("quick")
def test_a_tenth_slower_stands_out() -> None:
    """+10 % TPOT with 20 requests a level: found at 98 % of the levels or more, as slower."""
    found = [compared(seed, 1.1) for seed in range(SEEDS)]
    slower = [f for c in found for _, f in c.regressions if f.figure == "tpot_ms"]
    assert len(slower) >= 0.98 * 3 * SEEDS
    assert all(f.ratio == pytest.approx(1.1, abs=0.05) for f in slower)
    assert all("Holm" in f.test for f in slower)
    assert sum("Mann–Whitney U" in f.test for f in slower) > 0.9 * len(slower)
    assert not any(f.says == "faster" for c in found for p in c.pairs for f in p.figures)
    faster = compared(1, 1 / 1.1)
    assert not faster.regressions
    assert claims(faster).count("tpot_ms") == 3


@pytest.mark.usefixtures("quick")
def test_nothing_changed_nothing_said() -> None:
    """At most one seed in a hundred has a claim in it: 0.25 % for each of three figures."""
    wrong = [seed for seed in range(2 * SEEDS) if claims(compared(seed, 1.0))]
    assert len(wrong) <= 2, wrong


@pytest.mark.usefixtures("quick")
def test_a_server_that_drifts_within_its_run() -> None:
    """Requests that share the server's mood are not so many observations.

    Taken as if they were, two of three seeds have a claim in them. A mood that lasts about as long
    as the run is beyond any test: it looks like a change.
    """
    both = [
        [side(*(requests(random, 60, 10.0, drift=0.03) for _ in range(3))) for _ in range(2)]
        for random in map(Random, range(SEEDS))
    ]
    wrong = [seed for seed, (one, other) in enumerate(both) if claims(compare(one, other))]
    naive = [
        seed
        for seed, (one, other) in enumerate(both)
        if any(
            mann_whitney(a.values[name], b.values[name]).p < 0.0025
            for a, b in zip(one.levels, other.levels, strict=True)
            for name in ("tpot_ms", "e2e_ms")
        )
    ]
    assert len(wrong) <= 0.25 * SEEDS
    assert len(wrong) <= 0.5 * len(naive)


def waves(random: Random, factor: float) -> list[float]:
    """24 requests at 8 streams: those of one wave differ by far less than the waves."""
    moods = [random.gauss(0, 0.003) for _ in range(3)]
    return [factor * 10 * exp(mood + random.gauss(0, 0.0005)) for mood in moods for _ in range(8)]


def test_streams_of_one_wave() -> None:
    """They are one observation each, and a tenth slower still stands out from the waves."""
    random = Random(7)
    found = [
        compare(side({"tpot_ms": waves(random, 1.0)}), side({"tpot_ms": waves(random, 1.1)}))
        for _ in range(SEEDS)
    ]
    assert sum(len(c.regressions) for c in found) >= 0.97 * SEEDS
    assert "Welch" in found[0].pairs[0].figures[1].test
    same = [difference(waves(random, 1.0), waves(random, 1.0)).p for _ in range(SEEDS)]
    assert sum(p < 0.05 for p in same) <= 0.15 * SEEDS


def test_too_few_claim_nothing() -> None:
    for seed in range(20):
        found = compared(seed, 1.5, n=3)
        assert not claims(found)
        assert {f.says for p in found.pairs for f in p.figures} == {"too few"}


def heavy(random: Random, n: int, factor: float) -> dict[str, list[float]]:
    """Figures whose tails are so heavy that they have no variance: one in fifty is ten times."""
    ttfts = [200 * factor * (1 + 0.05 * random.paretovariate(1.2)) for _ in range(n)]
    tpots = [10 * factor * (1 + 0.02 * random.paretovariate(1.2)) for _ in range(n)]
    return {"ttft_ms": ttfts, "tpot_ms": tpots,
            "e2e_ms": [a + 127 * b for a, b in zip(ttfts, tpots, strict=True)]}  # fmt: skip


@pytest.mark.usefixtures("quick")
@pytest.mark.parametrize(("n", "m", "levels"), [(10, 10, 6), (40, 40, 6), (8, 120, 3), (60, 12, 1)])
def test_heavy_tails_and_other_numbers_on_both_sides(n: int, m: int, levels: int) -> None:
    """Three figures at several levels, all of them looked at: still one false claim in a hundred
    comparisons, about; and half as slow again is found."""
    wrong = missed = 0
    for seed in range(SEEDS):
        random = Random(seed)
        one, same, slow = (
            side(*(heavy(random, size, factor) for _ in range(levels)))
            for size, factor in ((n, 1.0), (m, 1.0), (m, 1.5))
        )
        wrong += bool(claims(compare(one, same)))
        missed += sum(f.says != "slower" for p in compare(one, slow).pairs for f in p.figures)
    assert wrong <= 4  # P(5 or more of 100) at the 0.75 % there may be is below one in a thousand
    assert missed <= 0.25 * 3 * levels * SEEDS


@pytest.mark.usefixtures("quick")
@pytest.mark.parametrize(
    ("n", "levels", "able"),
    [(5, 1, False), (6, 1, True), (6, 2, False), (7, 2, True), (7, 5, False), (8, 5, True)],
)
def test_what_no_figures_could_show_is_no_silence(n: int, levels: int, able: bool) -> None:
    """Ten times as slow, no value of one side among the other's: found, or said to be too few."""
    random = Random(n)
    one, other = (
        side(*(requests(random, n, 10.0 * factor) for _ in range(levels))) for factor in (1, 10)
    )
    says = {f.says for p in compare(one, other).pairs for f in p.figures if f.figure == "tpot_ms"}
    assert says == ({"slower"} if able else {"too few"})
    assert (n >= enough(levels)) == able


@pytest.mark.usefixtures("quick")
def test_a_level_of_few_requests_takes_nothing_from_the_others() -> None:
    random = Random(1)
    sizes = (20, 3, 20)
    one, other = (side(*(requests(random, n, tpot) for n in sizes)) for tpot in (10.0, 12.0))
    says = [p.figures[1].says for p in compare(one, other).pairs]
    assert says == ["slower", "too few", "slower"]


@pytest.mark.parametrize("n", [6, 7, 40, 41, 5000])
def test_the_bootstrap_of_medians_is_as_if_each_was_drawn(n: int) -> None:
    random = Random(n)
    values = [random.lognormvariate(0, 0.3) for _ in range(n)]
    rng = numpy.random.default_rng(1)
    fast = resampled(values, rng, 4000)
    array = numpy.asarray(values)
    slow = [numpy.median(array[rng.integers(0, n, n)]) for _ in range(1000)]
    spread = numpy.std(slow)
    for at in (5, 50, 95):
        assert numpy.percentile(fast, at) == pytest.approx(
            numpy.percentile(slow, at), abs=0.35 * spread
        )


def test_a_small_difference_is_not_worth_a_claim() -> None:
    steady = {"tpot_ms": [10 + k / 1000 for k in range(40)]}
    shifted = {"tpot_ms": [10.1 + k / 1000 for k in range(40)]}
    assert not claims(compare(side(steady), side(shifted)))


# --- the test itself ------------------------------------------------------------------------------


def test_mann_whitney_by_hand() -> None:
    assert mann_whitney([1, 2, 3], [4, 5, 6]).p == pytest.approx(2 / comb(6, 3))
    assert mann_whitney([1, 4], [2, 3]).p == pytest.approx(1.0)
    assert mann_whitney([1, 1, 1], [1, 1, 1]).p == 1.0
    assert mann_whitney([], [1]).p == 1.0
    # 19 values below 21, none between: the smallest probability there is
    exact = mann_whitney(list(range(10)), list(range(20, 31)))
    assert exact.p == pytest.approx(2 / comb(21, 10))
    assert exact.name == "Mann–Whitney U, exact"


def test_exact_and_normal_agree() -> None:
    random = Random(3)
    for _ in range(20):
        a = [random.gauss(0, 1) for _ in range(12)]
        b = [random.gauss(0.5, 1) for _ in range(12)]
        exact = mann_whitney(a, b).p
        normal = mann_whitney(a, b, exact=False).p
        assert normal == pytest.approx(exact, abs=0.02)


def test_students_t_is_the_tables() -> None:
    for t, free, p in ((12.706, 1, 0.05), (2.776, 4, 0.05), (4.604, 4, 0.01), (2.228, 10, 0.05)):
        assert student_tail(t, free) == pytest.approx(p, rel=0.001)
    assert student_tail(1.96, 1e6) == pytest.approx(0.05, rel=0.001)
    assert student_tail(0, 5) == pytest.approx(1)


def test_shift_and_dependence() -> None:
    assert shift_ratio([1, 2, 4], [2, 4, 8]) == pytest.approx(2)
    assert shift_ratio([0, 1], [1, 2]) is None
    random = Random(5)
    assert independent_part([random.random() for _ in range(9)], list(range(20))) == 1.0
    assert independent_part(*([random.random() for _ in range(50)] for _ in range(2))) == 1.0
    walk = [0.0]
    for _ in range(100):
        walk.append(0.9 * walk[-1] + random.gauss(0, 1))
    assert independent_part(walk, walk) < 0.2
