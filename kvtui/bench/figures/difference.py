"""Whether two samples differ: a test that suits them, and the shift between them."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import ceil, comb, exp, lgamma, log, sqrt
from statistics import mean, median, variance

from kvtui.bench.figures.quantiles import normal_tail

_EXACT = 24
"""Largest sum of both sizes for which the exact distribution is taken."""


_LEAST_BATCHES = 3


@dataclass(frozen=True, slots=True)
class Test:
    """A test's two-sided probability under "no difference", and its name."""

    p: float
    name: str


def difference(first: Sequence[float], second: Sequence[float]) -> Test:
    """The test that suits two series of requests, in the order in which they were sent.

    Mann–Whitney over the single values where they are independent. Where values that follow each
    other are alike (streams of one wave, a server's mood) there are fewer observations than
    values: then Welch's t over medians of consecutive batches, each as long as the likeness lasts.
    """
    part = independent_part(first, second)
    if part >= 1 or min(*first, *second) <= 0:
        return mann_whitney(first, second)
    length = ceil(1 / part)
    return welch(_batches(first, length), _batches(second, length))


def mann_whitney(first: Sequence[float], second: Sequence[float], *, exact: bool = True) -> Test:
    """The two-sided Mann–Whitney U test; assumes no distribution.

    Exact for few values without ties, else by the normal approximation with the correction for
    ties and continuity.

    Args:
        first: A sample.
        second: The other.
        exact: Take the exact distribution where that is possible.
    """
    n, m = len(first), len(second)
    if not n or not m:
        return Test(1.0, "none: no values")
    ranks, ties = _ranks([*first, *second])
    u = sum(ranks[:n]) - n * (n + 1) / 2
    if exact and n + m <= _EXACT and not ties:
        tail = sum(_counts(n, m)[: int(min(u, n * m - u)) + 1])
        return Test(min(1.0, 2 * tail / comb(n + m, n)), "Mann–Whitney U, exact")
    total = n + m
    spread = n * m / 12 * (total + 1 - ties / (total * (total - 1)))
    if spread <= 0:
        return Test(1.0, "Mann–Whitney U")
    z = max(0.0, abs(u - n * m / 2) - 0.5) / sqrt(spread)
    return Test(normal_tail(z), "Mann–Whitney U, normal approximation")


def difference_of_few(first: Sequence[float], second: Sequence[float]) -> Test:
    """A test of positive values of which there are so few that their ranks tell nothing.

    Three against three cannot fall below 10 % by ranks alone; Welch's t of their logs can, at the
    price of taking them to be about log-normal.
    """
    if min(len(first), len(second)) < 2 or min(*first, *second) <= 0:
        return mann_whitney(first, second)
    logs = ([log(value) for value in values] for values in (first, second))
    return welch(*logs, name="Welch's t of the logs")


def welch(
    first: Sequence[float],
    second: Sequence[float],
    *,
    name: str = "Welch's t over medians of batches",
) -> Test:
    """Welch's t test between two samples of at least two values, two-sided."""
    n, m = len(first), len(second)
    one, other = variance(first) / n, variance(second) / m
    gap = abs(mean(first) - mean(second))
    if one + other <= 0:
        return Test(1.0 if gap == 0 else 0.0, name)
    free = (one + other) ** 2 / (one**2 / (n - 1) + other**2 / (m - 1))
    return Test(student_tail(gap / sqrt(one + other), free), name)


def _batches(values: Sequence[float], length: int) -> list[float]:
    """The median of the logs of each batch of ``length`` or more; never fewer than three."""
    count = max(_LEAST_BATCHES, len(values) // length)
    edges = [round(k * len(values) / count) for k in range(count + 1)]
    return [median(map(log, values[a:b])) for a, b in itertools.pairwise(edges)]


def student_tail(t: float, free: float) -> float:
    """Two-sided probability of Student's t beyond ``t`` with ``free`` degrees of freedom."""
    return _beta(free / (free + t * t), free / 2, 0.5)


def _beta(x: float, a: float, b: float) -> float:
    """The regularised incomplete beta function, by its continued fraction (Lentz)."""
    if x <= 0 or x >= 1:
        return float(x >= 1)
    if x > (a + 1) / (a + b + 2):
        return 1 - _beta(1 - x, b, a)
    front = exp(lgamma(a + b) - lgamma(a) - lgamma(b) + a * log(x) + b * log(1 - x)) / a
    tiny = 1e-300
    c, d = 1.0, 1 / max(1 - (a + b) * x / (a + 1), tiny)
    total = d
    for k in range(1, 300):
        even = k * (b - k) * x / ((a + 2 * k - 1) * (a + 2 * k))
        odd = -(a + k) * (a + b + k) * x / ((a + 2 * k) * (a + 2 * k + 1))
        for step in (even, odd):
            d = 1 / (1 + step * d or tiny)
            c = 1 + step / c or tiny
            total *= c * d
        if abs(c * d - 1) < 1e-12:
            break
    return front * total


def least_p(n: int, m: int) -> float:
    """The smallest probability that so many values can show."""
    return min(1.0, 2 / comb(n + m, n))


def _ranks(values: Sequence[float]) -> tuple[list[float], float]:
    """Mid-ranks, and the sum of t³ − t over the ties."""
    order = sorted(range(len(values)), key=values.__getitem__)
    ranks = [0.0] * len(values)
    ties = 0.0
    at = 0
    while at < len(order):
        end = at
        while end + 1 < len(order) and values[order[end + 1]] == values[order[at]]:
            end += 1
        for k in range(at, end + 1):
            ranks[order[k]] = (at + end) / 2 + 1
        size = end - at + 1
        ties += size**3 - size
        at = end + 1
    return ranks, ties


@lru_cache(maxsize=256)
def _counts(n: int, m: int) -> tuple[int, ...]:
    """How many of all arrangements have each value of U, from 0 to n·m."""
    counts = [1] + [0] * (n * m)
    for i in range(1, n + 1):  # the Gaussian binomial, factor by factor
        for u in range(n * m, m + i - 1, -1):
            counts[u] -= counts[u - m - i]
        for u in range(i, n * m + 1):
            counts[u] += counts[u - i]
    return tuple(counts)


def shift_ratio(first: Sequence[float], second: Sequence[float]) -> float | None:
    """The typical ratio of a value of ``second`` to one of ``first`` (Hodges–Lehmann, of logs).

    None where a value is not above 0. Large samples are thinned evenly: the median of a hundred
    thousand pairs is sharp enough.
    """
    if not first or not second or min(first) <= 0 or min(second) <= 0:
        return None
    a, b = _thinned(first), _thinned(second)
    ratios = sorted(y / x for x in a for y in b)
    middle = len(ratios) // 2
    return ratios[middle] if len(ratios) % 2 else (ratios[middle - 1] + ratios[middle]) / 2


def _thinned(values: Sequence[float], most: int = 300) -> list[float]:
    ordered = sorted(values)
    if len(ordered) <= most:
        return ordered
    return [ordered[int((k + 0.5) * len(ordered) / most)] for k in range(most)]


def independent_part(first: Sequence[float], second: Sequence[float]) -> float:
    """The part of two series that counts as independent: (1 − r) / (1 + r).

    r is their lag-1 rank correlation, the mean of both, corrected for the bias of short series.
    Requests one after the other share the server's mood; thirty slow ones in a row are not thirty
    observations. A correlation within the noise of none counts as none.
    """
    n = len(first) + len(second)
    if min(len(first), len(second)) < 10:
        return 1.0
    r = (_lag_one(first) * len(first) + _lag_one(second) * len(second)) / n
    if r <= 2 / sqrt(n):
        return 1.0
    r = min(0.98, r + (1 + 4 * r) * 2 / n)
    return (1 - r) / (1 + r)


def _lag_one(values: Sequence[float]) -> float:
    """The correlation of the ranks of values that follow each other."""
    ranks, _ = _ranks(values)
    middle = sum(ranks) / len(ranks)
    spread = sum((r - middle) ** 2 for r in ranks)
    if spread <= 0:
        return 0.0
    return sum((a - middle) * (b - middle) for a, b in itertools.pairwise(ranks)) / spread
