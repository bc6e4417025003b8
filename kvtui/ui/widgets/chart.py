"""Tokens per second over the request, drawn by plotext at most three times a second."""

from __future__ import annotations

import math
from collections.abc import Sequence
from time import monotonic

from rich.text import Text
from textual.strip import Strip
from textual.widget import Widget

from kvtui.ui.roles import Palette
from kvtui.ui.rows import row
from kvtui.ui.ticks import tick_label, ticks

REDRAW_S = 0.34
X_NAME, Y_NAME = "tokens", " tok/s "


class ChartView(Widget):
    """A line chart from zero. plotext is imported when the first chart is drawn."""

    DEFAULT_CSS = """
    ChartView { height: 10; }
    """

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._series: tuple[tuple[float, float], ...] = ()
        self._strips: list[Strip] = []
        self._drawn_at = -math.inf
        self._drawn: tuple[object, ...] = ()

    def show(self, series: Sequence[tuple[float, float]], *, final: bool) -> None:
        """Draw the series unless it was drawn a moment ago; the final one always."""
        self._series = tuple(series)
        now = monotonic()
        if final or now - self._drawn_at >= REDRAW_S:
            self._drawn_at = now
            self._redraw()

    def on_resize(self) -> None:
        """Another size, another chart."""
        self._redraw()

    def on_show(self) -> None:
        """What changed while it was hidden was repainted nowhere."""
        self.refresh()

    def notify_style_update(self) -> None:
        """Another theme, other colours."""
        super().notify_style_update()
        self._drawn = ()
        if self.is_mounted:
            self._redraw()

    def _redraw(self) -> None:
        width, height = self.size
        key = (self._series, width, height)
        if width < 12 or height < 4 or key == self._drawn:
            return
        self._drawn = key
        palette = Palette(self.app.theme_variables, self.background_colors[1])
        values = [(x, y) for x, y in self._series if math.isfinite(x) and math.isfinite(y)]
        if len(values) < 2:
            note = "tokens per second over the answer: drawn while it streams"
            self._strips = [palette.strip(row((note, "muted")), width)]
        else:
            self._strips = [
                self._strip(line, palette, width) for line in draw_chart(values, width, height)
            ]
        self.refresh()

    def _strip(self, line: str, palette: Palette, width: int) -> Strip:
        marks = "".join(char if "\u2800" <= char <= "\u28ff" else " " for char in line)
        if marks.strip():
            first = len(marks) - len(marks.lstrip())
            last = len(marks.rstrip())
            parts = row((line[:first], "muted"), (line[first:last], "used"), (line[last:], "muted"))
        else:
            parts = row((line, "muted"))
        return palette.strip(parts, width)

    def render_line(self, y: int) -> Strip:
        """One row of the chart."""
        if y < len(self._strips):
            return self._strips[y]
        return Strip.blank(self.size.width, self.rich_style)


def draw_chart(values: Sequence[tuple[float, float]], width: int, height: int) -> list[str]:
    """The chart as plain lines: tokens per second over tokens, both axes from zero.

    plotext keeps one global figure, so this is called from the UI thread only. Values must be
    finite: one NaN would end the process.
    """
    import plotext

    plotext.terminal.limit(False, False)
    figure = plotext.figure
    figure.clear()
    figure.theme("default")
    figure.plot_size(width, height)
    step = max(1, -(-len(values) // (2 * width)))  # two points a column are all that shows
    kept = list(values[::step])
    signal = figure.signal([x for x, _ in kept], [y for _, y in kept], marker="braille")
    signal.lines()
    figure.draw(signal)
    right, top = max(x for x, _ in kept) or 1, max(y for _, y in kept) * 1.1 or 1
    room = 1 - (len(X_NAME) + 6) / width  # the axis's name takes the place of the last marks
    for axis, end, most in (("x", right, width // 10), ("y", top, height // 3)):
        marks = [mark for mark in ticks(end, most, least=1) if axis == "y" or mark <= room * end]
        figure.ruler(axis).lim(0, end)
        figure.ruler(axis).ticks(marks, [tick_label(mark, binary=False) for mark in marks])
    text = Text.from_ansi(figure.build().string().rstrip("\n"))
    lines = [line.plain for line in text.split("\n")]
    corner = lines[0].find("┌") + 1
    lines[0] = f"{lines[0][:corner]}{Y_NAME}{lines[0][corner + len(Y_NAME) :]}"
    lines[-1] = f"{lines[-1].ljust(width)[: width - len(X_NAME) - 1]}{X_NAME} "
    return lines
