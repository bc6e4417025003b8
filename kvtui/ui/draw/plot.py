"""A run's plots, drawn by plotext in the theme's colours; both axes from zero."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence

from rich.cells import cell_len

from kvtui.language import tr
from kvtui.ui.draw.plotext_rows import blank_figure, rows_of
from kvtui.ui.look.plots import Plot, Series, last_said
from kvtui.ui.look.rows import BLANK, Row, Span, clip, crop, plain, row, width_of
from kvtui.ui.look.ticks import tick_label, ticks

ROLES = ("used", "weights", "warn", "good", "accent", "reasoning")
"""Of the series, in order; more of them begin again."""
_TAGS = {number + 1: role for number, role in enumerate(ROLES)}
_MARK = len(ROLES) + 1
_TAGS[_MARK] = "warn"
SMALLEST = (24, 6)
_PART = " · "
_HIGH = 16
"""Rows from which on a mark of the y axis has four to itself, else three."""


def plot_rows(plot: Plot, width: int, height: int) -> list[Row]:
    """Legend, picture, and what it says."""
    if width < SMALLEST[0] or height < SMALLEST[1]:
        return [row((clip(last_said(plot), width), "muted"))]
    series = [one for one in map(_finite, plot.series) if one.points]
    if not series:
        empty = tr("drawn as the figures come in")
        return [BLANK] * (height // 2) + [row((clip(empty, width).center(width), "muted"))]
    lines = [_legend(plot, series, width), *_picture(plot, series, width, height - 2)]
    lines += [BLANK] * (height - 1 - len(lines))
    return [*lines, row((f" {_whole_parts(last_said(plot), width - 1)}", "muted"))]


def _whole_parts(text: str, width: int) -> str:
    """As many of the parts as there is room for, none of them cut unless it is the only one."""
    parts = text.split(_PART)
    while len(parts) > 1 and cell_len(_PART.join(parts)) > width:
        parts.pop()
    return clip(_PART.join(parts), width)


def _finite(one: Series) -> Series:
    kept = [
        (at, mark)
        for at, mark in zip(one.points, one.marks or [""] * len(one.points), strict=True)
        if all(map(math.isfinite, at))
    ]
    return Series(one.label, tuple(at for at, _ in kept), tuple(mark for _, mark in kept))


def _legend(plot: Plot, series: Sequence[Series], width: int) -> Row:
    spans: list[Span] = [Span(f" {plot.y}", "muted")]
    if len(series) > 1 or series[0].label:
        for number, one in enumerate(series):
            role = ROLES[number % len(ROLES)]
            spans += [Span("   ━━ ", role), Span(one.label, "text")]
    return crop(tuple(spans), width)


def _picture(plot: Plot, series: Sequence[Series], width: int, height: int) -> list[Row]:
    import plotext

    figure = blank_figure(width, height)
    right = max(x for one in series for x, _ in one.points) or 1.0
    top = 1.1 * max(y for one in series for _, y in one.points) or 1.0
    if not plot.steps:
        right *= 1.04
    for number, one in enumerate(series):
        color = number % len(ROLES) + 1
        points = _stairs(one.points) if plot.steps else list(one.points)
        points = _sparse(points, 2 * width)
        xs, ys = [x for x, _ in points], [y for _, y in points]
        if len(points) > 1:
            signal = figure.signal(xs, ys, marker=plotext.marker("braille", color))
            signal.lines()
            figure.draw(signal)
        if plot.dots and not plot.steps and len(points) <= width // 4:
            for at, (x, y) in enumerate(one.points):
                word = f"●{one.marks[at]}" if one.marks and one.marks[at] else "●"
                figure.draw(figure.text(x, y, plotext.colorize(word, color)))
    for at_x, word in plot.at:
        if at_x <= right:
            line = plotext.marker("braille", _MARK)
            signal = figure.signal([at_x, at_x], [0.0, top], marker=line)
            signal.lines()
            figure.draw(signal)
            figure.draw(figure.text(at_x, top, plotext.colorize(word, _MARK)))
    for axis, end, most in (
        ("x", right, width // 10),
        ("y", top, height // (4 if height >= _HIGH else 3)),
    ):
        name_room = (len(plot.x) + 6) / width if axis == "x" else 0.0
        marks = [mark for mark in ticks(end, max(2, most)) if mark <= (1 - name_room) * end]
        figure.ruler(axis).lim(0, end)
        figure.ruler(axis).ticks(marks, [tick_label(mark, binary=False) for mark in marks])
    lines = rows_of(figure, _TAGS)
    last = plain(lines[-1]).rstrip()
    room = width - len(last) - len(plot.x) - 1
    if room > 0:
        lines[-1] = row((last, "muted"), " " * room, (plot.x, "muted"))
    return [crop(line, width) if width_of(line) > width else line for line in lines]


def _stairs(points: Sequence[tuple[float, float]]) -> list[tuple[float, float]]:
    """The outline of bars: left edge and height of each, the last point their end."""
    outline = [(points[0][0], 0.0)]
    for (x, y), (after, _) in itertools.pairwise(points):
        outline += [(x, y), (after, y)]
    return [*outline, (points[-1][0], 0.0)]


def _sparse(points: list[tuple[float, float]], most: int) -> list[tuple[float, float]]:
    step = max(1, -(-len(points) // most))
    return points[::step]
