"""Straight lines and parabolas through measurements, with bootstrap intervals.

The bootstrap draws the points again with replacement, with a fixed seed, and takes the 2.5 and
97.5 percentiles of what comes out: no distribution is assumed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import isfinite
from typing import TYPE_CHECKING, Any

from kvtui.language import later

if TYPE_CHECKING:
    import numpy

METHOD = later("least squares, 95 % by bootstrap over points")
_DRAWS = 1000
_SEED = 20240229


@dataclass(frozen=True, slots=True)
class Estimate:
    """A value and the interval that holds it with 95 %."""

    value: float
    low: float
    high: float

    def table(self) -> dict[str, float | None]:
        """For JSON, where an end that nothing bounds is None."""
        low, high = (end if isfinite(end) else None for end in (self.low, self.high))
        return {"value": self.value, "low": low, "high": high}


@dataclass(frozen=True, slots=True)
class Fit:
    """y = c0 + c1·x + c2·x² …: the coefficients, and draws of them for anything derived."""

    coefficients: tuple[Estimate, ...]
    n: int
    draws: numpy.ndarray[Any, Any]
    """One row a bootstrap draw, one column a coefficient."""
    low_x: float
    high_x: float

    def derived(self, of: Callable[[Any], Any]) -> Estimate:
        """An estimate of something computed from the coefficients.

        Args:
            of: Takes the coefficients along the last axis, lowest power first.
        """
        import numpy

        point = numpy.array([c.value for c in self.coefficients])
        return estimate(float(of(point)), of(self.draws.T))

    def at(self, x: float) -> Estimate:
        """The fitted value at ``x``."""
        return self.derived(lambda c: sum(c[k] * x**k for k in range(len(self.coefficients))))


def estimate(value: float, draws: Any) -> Estimate:
    """A value with the percentiles of its draws; what is not finite among them widens it."""
    import numpy

    known = numpy.where(numpy.isfinite(draws), draws, numpy.inf)
    low, high = numpy.percentile(known, [2.5, 97.5], method="nearest")
    return Estimate(value, float(low), float(high))


def fit(xs: Sequence[float], ys: Sequence[float], degree: int) -> Fit | None:
    """A polynomial of ``degree`` through the points; None where they are too few or all alike."""
    import numpy

    x, y = numpy.asarray(xs, float), numpy.asarray(ys, float)
    n = len(x)
    if n < degree + 3 or len(set(xs)) < degree + 2:
        return None
    scale = float(x.max()) or 1.0
    powers = numpy.vander(x / scale, degree + 1, increasing=True)
    factors = scale ** -numpy.arange(degree + 1.0)
    point = numpy.linalg.lstsq(powers, y, rcond=None)[0] * factors
    random = numpy.random.default_rng(_SEED)
    rows = []
    for _ in range(_DRAWS):
        pick = random.integers(0, n, n)
        if len(set(x[pick])) > degree:
            rows.append(numpy.linalg.lstsq(powers[pick], y[pick], rcond=None)[0] * factors)
    draws = numpy.array(rows)
    coefficients = tuple(estimate(float(point[k]), draws[:, k]) for k in range(degree + 1))
    return Fit(coefficients, n, draws, float(x.min()), float(x.max()))
