"""Where an axis has its marks: round values, and how they are written."""

from __future__ import annotations

from math import floor, log10

_FINEST = 1e-12


def ticks(end: float, most: int, *, binary: bool = False, least: float = 0.001) -> list[float]:
    """Round values from zero to `end`, about `most` of them.

    They are `least` apart or more, but where the whole axis is shorter than that.
    """
    if 0 < end < least:
        least = min(least, max(_FINEST, 10.0 ** floor(log10(end / most))))
    step = 1024.0 if binary and end >= 1024 else least
    factors = (2.0,) if binary and end >= 1024 else (2.0, 2.5, 2.0)
    at = 0
    while end / step > most:
        step *= factors[at % len(factors)]
        at += 1
    return [step * number for number in range(int(end / step) + 1)]


def tick_label(value: float, *, binary: bool) -> str:
    """4096 as 4k where the axis counts tokens; grouped digits elsewhere."""
    if binary and value >= 1024 and value % 1024 == 0:
        kilo = value / 1024
        return f"{kilo / 1024:g}M" if kilo >= 1024 and kilo % 1024 == 0 else f"{kilo:,.0f}k"
    return f"{value:,.10g}"
