"""What a comparison compares: levels with their requests' figures, whichever tool measured them."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

from kvtui.bench.figures.quantiles import quantile
from kvtui.bench.work.labels import label_shown
from kvtui.language import later, tr
from kvtui.text import one_line

FIGURES = ("ttft_ms", "tpot_ms", "e2e_ms", "decode_tps")
STATS = ("p50", "p90", "p95", "p99", "mean", "min", "max", "n")
SCALARS = ("output_tps", "steady_output_tps", "request_rate", "goodput_rate", "completed", "failed")


class SideError(ValueError):
    """A file that holds nothing to compare; the message names it."""


@dataclass(frozen=True, slots=True)
class SideLevel:
    """One level of one side."""

    label: str
    concurrency: int | None = None
    rate: float | None = None
    prompt_tokens: int | None = None
    """As asked for."""
    max_tokens: int | None = None
    kv_cache: bool | None = None
    values: Mapping[str, Sequence[float]] = field(default_factory=lambda: MappingProxyType({}))
    """Figure → one value a request, in the order in which they were sent, failures left out."""
    stats: Mapping[str, Mapping[str, float]] = field(default_factory=lambda: MappingProxyType({}))
    """Figure → statistic, where the file has no single values."""
    scalars: Mapping[str, float] = field(default_factory=lambda: MappingProxyType({}))
    output_tokens: int | None = None

    def stat(self, figure: str, stat: str) -> float | None:
        """A statistic of a figure; None where the file does not tell."""
        values = self.values.get(figure)
        if not values:
            return self.stats.get(figure, {}).get(stat)
        if stat == "n":
            return float(len(values))
        if stat == "mean":
            return math.fsum(values) / len(values)
        if stat in ("min", "max"):
            return min(values) if stat == "min" else max(values)
        return quantile(sorted(values), float(stat[1:]) / 100)

    @property
    def key(self) -> tuple[Any, ...]:
        """What levels of two sides must share to be compared."""
        return (self.concurrency, self.rate, self.prompt_tokens, self.max_tokens, self.kv_cache)


@dataclass(frozen=True, slots=True)
class Side:
    """One file to compare."""

    name: str
    source: str
    """The tool that measured it."""
    model: str | None
    levels: tuple[SideLevel, ...]
    notes: tuple[str, ...] = ()


def clean(values: Sequence[Any], scale: float = 1.0) -> tuple[float, ...]:
    """The finite numbers among values, scaled."""
    return tuple(
        value * scale
        for value in values
        if isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
    )


def known(table: Mapping[str, Any]) -> dict[str, float]:
    """The numbers of a table that are there."""
    return {name: float(value) for name, value in table.items() if value is not None}


def pairs_of(first: Side, second: Side) -> list[tuple[SideLevel, SideLevel]]:
    """The levels that both have, by load and lengths; by load alone where that is unambiguous."""
    keys: tuple[Callable[[SideLevel], Any], ...] = (
        lambda row: (row.key, row.label),
        lambda row: row.key,
        lambda row: (row.concurrency, row.rate, row.max_tokens),
        lambda row: (row.concurrency, row.rate),
    )
    for key in keys:
        ours, theirs = _unique(first.levels, key), _unique(second.levels, key)
        if ours and theirs and (both := [(ours[k], theirs[k]) for k in ours if k in theirs]):
            return both
    if len(first.levels) == len(second.levels) == 1:
        return [(first.levels[0], second.levels[0])]
    return []


_ASKED: Mapping[str, str] = MappingProxyType(
    {
        "concurrency": later("{first} against {second} streams"),
        "rate": later("{first} against {second} requests a second"),
        "prompt_tokens": later("prompts of {first} against {second} tokens"),
        "max_tokens": later("answers of {first} against {second} tokens"),
        "kv_cache": later("KV cache {first} against {second}"),
    }
)


def apart(first: Side, second: Side) -> str:
    """What keeps the levels of two sides from being compared, where they have none in common."""
    told = []
    for name, text in _ASKED.items():
        ours, theirs = _asked(first, name), _asked(second, name)
        if ours != theirs:
            told.append(tr(text, first=_values(ours), second=_values(theirs)))
    if told:
        return tr("; ").join(told)
    ours, theirs = ([label_shown(level.label) for level in s.levels] for s in (first, second))
    return tr(
        "{first} against {second}",
        first=one_line(tr(", ").join(ours), 120),
        second=one_line(tr(", ").join(theirs), 120),
    )


def _asked(side: Side, name: str) -> list[Any]:
    """The values that a side's levels have of what was asked, in their order."""
    return list(dict.fromkeys(getattr(level, name) for level in side.levels))


def _values(values: Sequence[Any]) -> str:
    words = {None: tr("none set"), True: tr("on"), False: tr("off")}
    shown = [
        words[value] if value is None or isinstance(value, bool) else f"{value:g}"
        for value in values
    ]
    return one_line(tr(", ").join(shown), 60)


def _unique(
    levels: Sequence[SideLevel], key: Callable[[SideLevel], Any]
) -> dict[Any, SideLevel] | None:
    """Levels by key; None where two share one."""
    table = {key(row): row for row in levels}
    return table if len(table) == len(levels) else None
