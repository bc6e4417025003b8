"""Whether a stage knows its medians well enough to stop."""

from __future__ import annotations

from collections.abc import Sequence

from kvtui.bench.figures.quantiles import interval, quantile
from kvtui.bench.figures.sample import Sample

_EVERY = 5
_LEAST = 10


def certain(samples: Sequence[Sample], fraction: float) -> bool:
    """Whether the 95 % intervals of median TTFT and TPOT lie within ``fraction`` of the median.

    Looked at every few requests only, from ten on: a rule that looks all the time stops too early.
    """
    if len(samples) < _LEAST or len(samples) % _EVERY:
        return False
    for name in ("ttft_ms", "tpot_ms"):
        values = sorted(
            value
            for sample in samples
            if sample.completed and (value := getattr(sample, name)) is not None
        )
        between = interval(values, 0.5)
        if between is None:
            return False
        middle = quantile(values, 0.5)
        if max(between[1] - middle, middle - between[0]) > fraction * middle:
            return False
    return True
