"""What a repeat comes to: the median over its complete, cold runs."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median

from kvtui.measure.figures import RunFigures
from kvtui.ui.state import Median


def median_of(figures: Sequence[RunFigures]) -> Median | None:
    """Medians of the runs that were neither cut short nor served from a prefix cache."""
    runs = [run for run in figures if not run.partial and not run.cached_prompt_tokens]
    if not runs:
        return None
    rates = [run.decode_tps for run in runs if run.decode_tps is not None]
    return Median(
        n=len(runs),
        ttft_ms=_median([run.ttft_ms for run in runs]),
        tpot_ms=_median([run.tpot_ms for run in runs]),
        decode_tps=_median(rates),
        tps_low=min(rates, default=None),
        tps_high=max(rates, default=None),
    )


def _median(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return median(known) if known else None
