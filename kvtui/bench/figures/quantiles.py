"""Quantiles of a sample with intervals that assume nothing of its distribution."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache
from math import erf, exp, lgamma, log, sqrt

import msgspec

CONFIDENCE = 0.95
METHOD = "95 %, order statistics (binomial)"


class Figure(msgspec.Struct, frozen=True):
    """One figure over ``n`` requests. Quantiles are interpolated between the order statistics."""

    p50: float
    p90: float
    p95: float
    p99: float
    mean: float
    n: int
    min: float
    max: float
    stdev: float | None
    """None below two values."""
    p50_ci95: tuple[float, float] | None
    """None where so few values bound no such interval (below 6)."""
    p90_ci95: tuple[float, float] | None
    p95_ci95: tuple[float, float] | None
    p99_ci95: tuple[float, float] | None


def quantile(ordered: Sequence[float], fraction: float) -> float:
    """The quantile of sorted values, interpolated linearly (R's type 7, numpy's default)."""
    place = fraction * (len(ordered) - 1)
    low = int(place)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (ordered[high] - ordered[low]) * (place - low)


def interval(
    ordered: Sequence[float], fraction: float, confidence: float = CONFIDENCE
) -> tuple[float, float] | None:
    """An interval for a quantile, from two order statistics; None where n is too small for one.

    The number of values below the true quantile is binomial, whatever the distribution; the
    narrowest pair of ranks about the quantile that is equally unlikely to miss on each side.
    """
    ranks = _ranks(len(ordered), fraction, confidence)
    return None if ranks is None else (ordered[ranks[0]], ordered[ranks[1]])


@lru_cache(maxsize=512)
def _ranks(n: int, fraction: float, confidence: float) -> tuple[int, int] | None:
    """Places of the two order statistics; they hang on n alone, which many figures share."""
    tail = (1 - confidence) / 2
    if n < 2 or fraction**n > tail or (1 - fraction) ** n > tail:
        return None
    if n > 1000:  # the normal approximation is exact enough
        spread = _z(1 - tail) * sqrt(n * fraction * (1 - fraction))
        low = int(n * fraction - spread)
        high = int(n * fraction + spread) + 1
        return (max(0, low - 1), high - 1) if high <= n else None
    below = 0.0
    low, high = 0, n
    for k in range(n + 1):
        before = below
        below += _binomial(n, k, fraction)
        if before <= tail:
            low = k  # P(fewer than k below the quantile) = before
        if below >= 1 - tail:
            high = k + 1
            break
    return (low - 1, high - 1) if low >= 1 and high <= n else None


def _binomial(n: int, k: int, share: float) -> float:
    """P(X = k) for n tries."""
    ways = lgamma(n + 1) - lgamma(k + 1) - lgamma(n - k + 1)
    return exp(ways + k * log(share) + (n - k) * log(1 - share))


def figure(values: Iterable[float | None]) -> Figure | None:
    """The figure over the values that are known; None where none is."""
    ordered = sorted(float(value) for value in values if value is not None)
    n = len(ordered)
    if not n:
        return None
    mean = sum(ordered) / n
    spread = sqrt(sum((v - mean) ** 2 for v in ordered) / (n - 1)) if n > 1 else None
    return Figure(
        p50=quantile(ordered, 0.5),
        p90=quantile(ordered, 0.9),
        p95=quantile(ordered, 0.95),
        p99=quantile(ordered, 0.99),
        mean=mean,
        n=n,
        min=ordered[0],
        max=ordered[-1],
        stdev=spread,
        p50_ci95=interval(ordered, 0.5),
        p90_ci95=interval(ordered, 0.9),
        p95_ci95=interval(ordered, 0.95),
        p99_ci95=interval(ordered, 0.99),
    )


def normal_tail(z: float) -> float:
    """Two-sided probability of a standard normal beyond ``z``."""
    return 1 - erf(abs(z) / sqrt(2))


def _z(probability: float) -> float:
    from statistics import NormalDist

    return NormalDist().inv_cdf(probability)
