"""Points and lines as an SVG picture: linear axes that begin at 0.

Colours are given as attributes, so that a picture stands alone, and as classes (``bg``, ``grid``,
``ink``, ``dim``, ``s0`` to ``s7``), so that a page around it may choose others.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from math import floor, log10

from kvtui.text import one_line

_WIDTH, _HEIGHT = 640, 320
_LEFT, _RIGHT, _TOP, _BOTTOM = 70, 20, 30, 45
_COLOURS = ("#1f6feb", "#bf5700", "#1a7f37", "#8250df", "#cf222e", "#0a7ea4", "#9a6700", "#57606a")
_LEGEND_PX = 15
_LETTER_PX = 7
_NAMED = 12
"""Points of a joined series that may carry their names."""
_FONT = 'font-family="system-ui, sans-serif" font-size="12"'


@dataclass(frozen=True, slots=True)
class Series:
    """Points under one name; joined by a line where they are levels."""

    name: str
    points: Sequence[tuple[float, float]]
    joined: bool = False
    labels: Sequence[str] = ()
    """What each point is, where that is worth saying."""


def plot(title: str, x_name: str, y_name: str, series: Sequence[Series]) -> str:
    """The picture, an ``svg`` element that stands alone or in a page; empty without points."""
    series = [one for one in series if one.points]
    if not series:
        return ""
    x_ticks = _ticks(max(x for one in series for x, _ in one.points))
    y_ticks = _ticks(max(y for one in series for _, y in one.points))
    legend = _legend([one.name for one in series]) if len(series) > 1 else []
    height = _HEIGHT + (legend[-1][1] + 2 * _LEGEND_PX if legend else 0)

    def x_at(x: float) -> float:
        return round(_LEFT + x / x_ticks[-1] * (_WIDTH - _LEFT - _RIGHT), 1)

    def y_at(y: float) -> float:
        return round(_HEIGHT - _BOTTOM - y / y_ticks[-1] * (_HEIGHT - _TOP - _BOTTOM), 1)

    out = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {height}" width="{_WIDTH}"'
        f' role="img" aria-label="{_text(title)}" {_FONT}>',
        f'<rect class="bg" width="{_WIDTH}" height="{height}" fill="#fff"/>',
        f'<text x="{_LEFT}" y="18" font-weight="bold" class="ink" fill="#1f2328">'
        f"{_text(title)}</text>",
    ]
    out += [
        f'<text x="{x_at(tick)}" y="{_HEIGHT - _BOTTOM + 16}" text-anchor="middle"'
        f' class="dim" fill="#57606a">{tick:,.10g}</text>'
        for tick in x_ticks
    ]
    out += [
        f'<line x1="{_LEFT}" x2="{_WIDTH - _RIGHT}" y1="{y_at(tick)}" y2="{y_at(tick)}"'
        f' class="grid" stroke="#d8dee4"/><text x="{_LEFT - 6}" y="{y_at(tick) + 4}"'
        f' text-anchor="end" class="dim" fill="#57606a">{tick:,.10g}</text>'
        for tick in y_ticks
    ]
    out.append(
        f'<text x="{(_LEFT + _WIDTH - _RIGHT) / 2}" y="{_HEIGHT - 8}" text-anchor="middle"'
        f' class="dim" fill="#57606a">{_text(x_name)}</text>'
        f'<text x="14" y="{_HEIGHT / 2}" text-anchor="middle"'
        f' class="dim" fill="#57606a" transform="rotate(-90 14 {_HEIGHT / 2})">'
        f"{_text(y_name)}</text>"
    )
    for number, one in enumerate(series):
        at = number % len(_COLOURS)
        colour, group = _COLOURS[at], f'class="s{at}"'
        places = [(x_at(x), y_at(y)) for x, y in one.points]
        if one.joined and len(places) > 1:
            path = " ".join(f"{x},{y}" for x, y in places)
            out.append(f'<polyline points="{path}" fill="none" {group} stroke="{colour}"/>')
        out += [
            f'<circle cx="{x}" cy="{y}" r="3" {group} fill="{colour}" fill-opacity=".7"/>'
            for x, y in places
        ]
        if len(one.labels) == len(places) <= _NAMED:
            out += [
                f'<text x="{x - 6}" y="{y - 6}" text-anchor="end" {group} fill="{colour}"'
                f' font-size="11">{_text(label)}</text>'
                for (x, y), label in zip(places, one.labels, strict=True)
            ]
        if legend:
            x, y = legend[number]
            out.append(
                f'<text x="{x}" y="{_HEIGHT + y + 10}" {group} fill="{colour}">'
                f"● {_text(one.name)}</text>"
            )
    return "\n".join([*out, "</svg>"])


def _legend(names: Sequence[str]) -> list[tuple[int, int]]:
    """Where each name stands under the picture: in columns, as many as the longest lets."""
    wide = max(len(_text(name)) for name in names) * _LETTER_PX + 30
    columns = max(1, (_WIDTH - _LEFT - _RIGHT) // wide)
    return [
        (_LEFT + number % columns * wide, number // columns * _LEGEND_PX)
        for number in range(len(names))
    ]


def _text(text: str) -> str:
    return escape(one_line(text, 90))


def _ticks(most: float) -> list[float]:
    """From 0 to at least ``most`` in three to six round steps."""
    if most <= 0:
        return [0.0, 1.0]
    step = 10 ** floor(log10(most))
    for part in (0.2, 0.5, 1, 2):
        if most / (step * part) <= 5.5:
            step *= part
            break
    return [round(k * step, 10) for k in range(int(most / step) + 2)]
