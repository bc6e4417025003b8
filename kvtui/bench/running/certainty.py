"""Whether a stage knows its medians well enough to stop."""

from __future__ import annotations

from collections.abc import Iterable

from kvtui.bench.figures.quantiles import interval, quantile

_EVERY = 5
_LEAST = 10


def certain(n: int, figures: Iterable[Iterable[float]], fraction: float) -> bool:
    """Whether the 95 % intervals of the medians lie within ``fraction`` of the median.

    Looked at every few requests only, from ten on: a rule that looks all the time stops too early.

    Args:
        n: Requests that have ended.
        figures: What they told of each figure that is to be known.
        fraction: Of the median.
    """
    if n < _LEAST or n % _EVERY:
        return False
    for values in map(sorted, figures):
        between = interval(values, 0.5)
        if between is None:
            return False
        middle = quantile(values, 0.5)
        if max(between[1] - middle, middle - between[0]) > fraction * middle:
            return False
    return True
