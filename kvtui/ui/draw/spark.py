"""A sparkline from zero: a stall is a gap, a steady rate is a full line."""

from __future__ import annotations

from collections.abc import Sequence

_BLOCKS = " ▁▂▃▄▅▆▇█"


def sparkline(values: Sequence[float], width: int, top: float | None = None) -> str:
    """The last ``width`` values (or means of neighbours) as blocks, scaled from 0 to ``top``."""
    if not values or width <= 0:
        return ""
    values = resample(values, width)
    ceiling = top or max(values)
    if ceiling <= 0:
        return _BLOCKS[1] * len(values)
    last = len(_BLOCKS) - 1
    return "".join(
        _BLOCKS[1 if value <= 0 else max(1, min(last, round(value / ceiling * last)))]
        for value in values
    )


def resample(values: Sequence[float], width: int) -> list[float]:
    """At most ``width`` values: neighbours are averaged where there are more."""
    count = len(values)
    if count <= width:
        return list(values)
    result = []
    for index in range(width):
        start, end = index * count // width, max((index + 1) * count // width, 1)
        part = values[start : max(end, start + 1)]
        result.append(sum(part) / len(part))
    return result
