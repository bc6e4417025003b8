"""Whether two samples differ: the Mann–Whitney U test, and the shift between them."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import comb, sqrt

from kvtui.bench.quantiles import normal_tail

_EXACT = 24
"""Largest sum of both sizes for which the exact distribution is taken."""


@dataclass(frozen=True, slots=True)
class Test:
    """A test's two-sided probability under "no difference", and its name."""

    p: float
    name: str


def mann_whitney(first: Sequence[float], second: Sequence[float], shrink: float = 1.0) -> Test:
    """The two-sided Mann–Whitney U test; assumes no distribution.

    Exact for few values without ties, else by the normal approximation with the correction for
    ties and continuity.

    Args:
        first: A sample.
        second: The other.
        shrink: Part of the values that count as independent (see ``independent_part``).
    """
    n, m = len(first), len(second)
    if not n or not m:
        return Test(1.0, "none: no values")
    ranks, ties = _ranks([*first, *second])
    u = sum(ranks[:n]) - n * (n + 1) / 2
    if n + m <= _EXACT and not ties and shrink >= 1:
        tail = sum(_counts(n, m)[: int(min(u, n * m - u)) + 1])
        return Test(min(1.0, 2 * tail / comb(n + m, n)), "Mann–Whitney U, exact")
    total = n + m
    spread = n * m / 12 * (total + 1 - ties / (total * (total - 1)))
    if spread <= 0:
        return Test(1.0, "Mann–Whitney U")
    z = max(0.0, abs(u - n * m / 2) - 0.5) / sqrt(spread) * sqrt(min(1.0, shrink))
    name = "Mann–Whitney U, normal approximation"
    if shrink >= 1:
        return Test(normal_tail(z), name)
    least = least_p(max(1, int(n * shrink)), max(1, int(m * shrink)))
    return Test(max(normal_tail(z), least), f"{name}, corrected for autocorrelation")


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
    mean = sum(ranks) / len(ranks)
    spread = sum((r - mean) ** 2 for r in ranks)
    if spread <= 0:
        return 0.0
    return sum((a - mean) * (b - mean) for a, b in itertools.pairwise(ranks)) / spread
