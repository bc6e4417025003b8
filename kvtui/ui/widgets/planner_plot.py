"""The planner's plot: memory against context or users, drawn a moment after the answer."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kvtui.language import tr
from kvtui.text import GIB
from kvtui.ui.draw.plotext_rows import blank_figure, rows_of
from kvtui.ui.look.rows import BLANK, Row, Span, crop, row
from kvtui.ui.look.ticks import tick_label, ticks
from kvtui.ui.planner.curve import Curve, said
from kvtui.ui.widgets.panes import TitledLines
from kvtui.ui.widgets.plotted import Plotted

if TYPE_CHECKING:
    from collections.abc import Sequence

# plotext's colours as tags: each number becomes a role of the theme.
_ROOM, _USED, _FIXED, _CROSSING, _WORDS = 1, 2, 3, 5, 6
_TAGS = {_ROOM: "bad", _USED: "used", _FIXED: "weights", _CROSSING: "warn", _WORDS: "muted"}


class PlotPane(Plotted, TitledLines):
    """A curve from zero, the room's line, the crossing, and a sentence about it."""

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self.curve: Curve | None = None
        self.large = False

    def show(self, curve: Curve) -> None:
        """Draw a curve."""
        self.curve = curve
        self._title()
        self.redraw()

    def set_large(self, large: bool) -> None:
        """Say what the key does next."""
        self.large = large
        self._title()

    def on_resize(self) -> None:
        """The title's line follows the width."""
        self._title()

    def _title(self) -> None:
        if self.curve is not None:
            what = tr("context") if self.curve.axis == "context" else tr("users")
            self.border_title = tr("memory on a card, GiB, against {what}", what=what)
            other = tr("users") if self.curve.axis == "context" else tr("context")
            size = tr("back") if self.large else tr("large")
            self.border_subtitle = f"^t {other} · ^g {size}"

    def draw(self, width: int, height: int) -> Sequence[Row]:
        """The plot, and its sentence below."""
        if self.curve is None or width < 20 or height < 5:
            return ()
        lines = draw_plot(self.curve, width, height - 1) if self.can_plot else []
        sentence = said(self.curve, width - 2)
        ok = self.curve.asked_bytes <= self.curve.room
        mark = Span("✓ " if ok else "✗ ", "good" if ok else "bad")
        lines += [BLANK] * (height - 1 - len(lines))
        return [*lines, crop(row(mark, (sentence, "text")), width)]


def draw_plot(curve: Curve, width: int, height: int) -> list[Row]:
    """The plot as rows with roles, both axes from zero.

    plotext keeps one global figure, so this is called from the UI thread only; all values are
    whole numbers, so none of them is infinite.
    """
    import plotext

    figure = blank_figure(width, height)
    room, fixed, end = curve.room / GIB, curve.fixed / GIB, curve.end
    highest = max(room, fixed, min(curve.asked_bytes / GIB, 1.6 * room)) or 1
    cell = highest / max(height - 4, 1)
    top = highest + 1.5 * cell

    def line(xs: list[float], ys: list[float], color: int) -> None:
        signal = figure.signal(xs, ys, marker=plotext.marker("braille", color))
        signal.lines()
        figure.draw(signal)

    def say(y: float, words: str) -> None:
        figure.draw(figure.text(end * 0.03, y, plotext.colorize(words, _WORDS)))

    line([0, end], [fixed, fixed], _FIXED)
    line([0, end], [room, room], _ROOM)
    if curve.crossing:
        line([curve.crossing, curve.crossing], [0, room], _CROSSING)
    line(*_visible(curve, top), _USED)
    if height >= 8:
        say(room + cell, tr("room {room:,.2f}", room=room))
        if fixed > 3 * cell:
            say(fixed - cell, tr("weights and overhead {fixed:,.2f}", fixed=fixed))
    x_ruler, y_ruler = figure.ruler("x"), figure.ruler("y")
    x_ruler.lim(0, end)
    y_ruler.lim(0, top)
    binary = curve.axis == "context"
    marks = ticks(end, max(2, width // 10), binary=binary, least=1)
    x_ruler.ticks(marks, [tick_label(mark, binary=binary) for mark in marks])
    sizes = ticks(top, height // (3 if height < 16 else 4) + 1)
    y_ruler.ticks(sizes, [f"{size:,.10g}" for size in sizes])
    return rows_of(figure, _TAGS)


def _visible(curve: Curve, top: float) -> tuple[list[float], list[float]]:
    """The curve up to the plot's upper edge, where the last piece is cut."""
    xs: list[float] = []
    ys: list[float] = []
    for x, size in curve.points:
        y = size / GIB
        if y > top:
            if xs and y > ys[-1]:
                xs.append(xs[-1] + (x - xs[-1]) * (top - ys[-1]) / (y - ys[-1]))
                ys.append(top)
            break
        xs.append(x)
        ys.append(y)
    if len(xs) < 2:
        return [0.0, 0.0], [0.0, min(top, curve.fixed / GIB)]
    return xs, ys
