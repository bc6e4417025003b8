"""Medians over repeated runs: complete and cold ones only, with their number."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from statistics import median

from kvtui.measure.figures import RunFigures

FIGURES = (
    "connect_ms",
    "ttft_ms",
    "ttfa_ms",
    "tpot_ms",
    "decode_tps",
    "e2e_tps",
    "e2e_ms",
    "server_ms",
    "prompt_tokens",
    "cached_prompt_tokens",
    "completion_tokens",
    "reasoning_tokens",
    "chunks",
)


@dataclass(frozen=True, slots=True)
class Spread:
    """One figure over ``n`` runs. ``low`` and ``high`` are its least and largest."""

    n: int
    median: float
    low: float
    high: float


def spread(values: Iterable[float | None]) -> Spread | None:
    """The spread of the values that are known; None where none is."""
    known = sorted(value for value in values if value is not None)
    if not known:
        return None
    return Spread(len(known), median(known), known[0], known[-1])


def is_cold(run: RunFigures) -> bool:
    """No prompt token came from the server's prefix cache, as far as it says."""
    return not run.cached_prompt_tokens


def pooled(runs: Iterable[RunFigures]) -> list[RunFigures]:
    """The runs that a median is taken over: complete and cold."""
    return [run for run in runs if not run.partial and is_cold(run)]


def medians(runs: Iterable[RunFigures]) -> dict[str, float | int | None]:
    """The median of each figure over the complete, cold runs, and their number ``n``."""
    chosen = pooled(runs)
    table: dict[str, float | int | None] = {"n": len(chosen)}
    for name in FIGURES:
        found = spread(getattr(run, name) for run in chosen)
        table[name] = found.median if found else None
    return table
