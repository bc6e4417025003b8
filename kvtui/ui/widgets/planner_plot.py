"""The planner's plot: memory against context or users, drawn a moment after the answer."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.text import Text

from kvtui.text import GIB
from kvtui.ui.planner.curve import Curve, said
from kvtui.ui.rows import BLANK, Row, Span, crop, row
from kvtui.ui.widgets.panes import TitledLines

if TYPE_CHECKING:
    from collections.abc import Sequence

# plotext's colour numbers as tags: each becomes a role of the theme.
_TAGS = {1: "bad", 2: "used", 3: "weights", 4: "warn"}
_BAD, _USED, _WEIGHTS, _WARN = "red", "green", "yellow", "blue"


class PlotPane(TitledLines):
    """A curve from zero, the room's line, the crossing, and a sentence about it."""

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self.curve: Curve | None = None
        self.card = ""

    def show(self, curve: Curve | None, card: str) -> None:
        """Draw a curve."""
        self.curve, self.card = curve, card
        self._title()
        self.redraw()

    def on_resize(self) -> None:
        """The title's line follows the width."""
        self._title()

    def _title(self) -> None:
        if self.curve is not None:
            what = "context" if self.curve.axis == "context" else "users"
            self.border_title = f"memory on a card, GiB, against {what}"
            other = "users" if self.curve.axis == "context" else "context"
            self.border_subtitle = f"^t {other} · ^g large"

    def draw(self, width: int, height: int) -> Sequence[Row]:
        """The plot, and its sentence below."""
        if self.curve is None or width < 20 or height < 5:
            return ()
        lines = draw_plot(self.curve, width, height - 1)
        sentence = said(self.curve, self.card, width - 2)
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

    plotext.terminal.limit(False, False)
    figure = plotext.figure
    figure.clear()
    figure.theme("default")
    figure.plot_size(width, height)
    top = max(curve.room, curve.asked_bytes, curve.fixed) * 1.12 / GIB
    end = curve.end

    def line(xs: list[float], ys: list[float], color: str) -> None:
        signal = figure.signal(xs, ys, marker=plotext.marker("braille", color))
        signal.lines()
        figure.draw(signal)

    line([0, end], [curve.fixed / GIB] * 2, _WEIGHTS)
    xs, ys = _visible(curve, top)
    line(xs, ys, _USED)
    line([0, end], [curve.room / GIB] * 2, _BAD)
    if curve.crossing:
        line([curve.crossing] * 2, [0, curve.room / GIB], _WARN)
    x_ruler, y_ruler = figure.ruler("x"), figure.ruler("y")
    x_ruler.lim(0, end)
    y_ruler.lim(0, top)
    binary = curve.axis == "context"
    marks = ticks(end, max(2, width // 14), binary=binary, least=1)
    x_ruler.ticks(marks, [tick_label(mark, binary=binary) for mark in marks])
    sizes = ticks(top, max(2, height // 3))
    y_ruler.ticks(sizes, [f"{size:,.10g}" for size in sizes])
    text = Text.from_ansi(figure.build().string().rstrip("\n"))
    return [_roles(line) for line in text.split("\n")]


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


def _roles(line: Text) -> Row:
    """A line of plotext's as spans: its colours become roles, frame and labels are muted."""
    spans: list[Span] = []
    plain = line.plain
    roles = ["muted"] * len(plain)
    for start, end, style in line.spans:
        color = getattr(style, "color", None)
        if color is not None and color.number in _TAGS:
            role = _TAGS[color.number]
            for at in range(start, min(end, len(plain))):
                if "\u2800" <= plain[at] <= "\u28ff":
                    roles[at] = role
    for char, role in zip(plain, roles, strict=True):
        if spans and spans[-1].role == role:
            spans[-1] = Span(spans[-1].text + char, role)
        else:
            spans.append(Span(char, role))
    return tuple(spans)


def ticks(end: float, most: int, *, binary: bool = False, least: float = 0.001) -> list[float]:
    """Round values from zero to `end`, about `most` of them, `least` apart or more."""
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
