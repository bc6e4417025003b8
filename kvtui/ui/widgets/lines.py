"""The base of the panes: a widget that shows rows and repaints only the rows that changed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from textual.geometry import Region, Size
from textual.strip import Strip
from textual.widget import Widget

from kvtui.ui.look.roles import Palette
from kvtui.ui.look.rows import BLANK, Row, Span, changed_cells
from kvtui.ui.terminal.outlet import passed

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence


class LinesWidget(Widget):
    """Shows what ``draw`` returns; subclasses call ``redraw`` when they have a new state."""

    DEFAULT_CSS = """
    LinesWidget { height: 1; width: 1fr; }
    """
    ALLOW_SELECT = False  # rows are drawn, not laid out as text: there is nothing to mark

    def __init__(self, *, id: str | None = None, classes: str | None = None) -> None:
        super().__init__(id=id, classes=classes)
        self._rows: list[Row] = []
        self._drawn_for: Size | None = None
        self._palette: Palette | None = None

    def draw(self, width: int, height: int) -> Sequence[Row]:
        """The rows for a content area of this size."""
        raise NotImplementedError

    def redraw(self) -> None:
        """Draw again and repaint the rows that differ from those on the screen."""
        width, height = self.size
        if not width or not height or self._drawn_for is None:
            return  # nothing is on the screen yet: the first render draws
        new = list(self.draw(width, height))[:height]
        old, self._rows = self._rows, new
        self._drawn_for = self.size
        changed = [
            Region(left, y, right - left, 1)
            for y in range(max(len(old), len(new)))
            if (
                span := changed_cells(
                    old[y] if y < len(old) else BLANK, new[y] if y < len(new) else BLANK, width
                )
            )
            for left, right in (span,)
        ]
        if changed:
            self.refresh(*changed)

    def measure_again(self) -> None:
        """It needs another height now: have it measured and laid out.

        Textual keeps a measure until the next layout is asked for, and takes no note of a further
        one that is asked for while that is pending. Where the screen measures in between (it opens,
        or changes its size) the older measure would stay for good. A touched style drops it.
        """
        self.forget_measure()
        self.refresh(layout=True)

    def forget_measure(self) -> None:
        """It needs another height when next it is laid out: while it is hidden nothing is."""
        self.styles.merge_rules({})

    def on_show(self) -> None:
        """What changed while it was hidden was repainted nowhere: ask for every row again."""
        self.redraw()
        self.refresh()

    def notify_style_update(self) -> None:
        """A new theme needs new colours for the same rows."""
        super().notify_style_update()
        self._palette = None

    @property
    def palette(self) -> Palette:
        """The styles of the theme in use on this widget's background."""
        if self._palette is None:
            self._palette = Palette(self.app.theme_variables, self.background_colors[1])
        return self._palette

    @property
    def rows(self) -> tuple[Row, ...]:
        """What is shown now."""
        return tuple(self._rows)

    def render_lines(self, crop: Region) -> list[Strip]:
        """The rows themselves where at most padding lies around them: it is cheaper."""
        gutter, padding = self.styles.gutter, self.styles.padding
        width, height = self.size
        around = padding.left + width + padding.right
        rows = Region(gutter.left - padding.left, gutter.top, around, height)
        if not rows.contains_region(crop):
            return super().render_lines(crop)
        line_of = self._line_of(self.size, padding.left, padding.right)
        return bare_lines(self, crop.translate((-rows.x, -rows.y)), line_of, around)

    def render_line(self, y: int) -> Strip:
        """One row of the content area."""
        return self._line_of(self.size)(y)

    def _line_of(self, size: Size, left: int = 0, right: int = 0) -> Callable[[int], Strip]:
        """What draws a row at this size, with so many blank cells beside it."""
        if size != self._drawn_for:  # the first time, or after a resize: all rows are asked for
            self._drawn_for = size
            self._rows = list(self.draw(*size))[: size.height]
        rows, palette, width = self._rows, self.palette, left + size.width + right
        blank = (Span(" " * left),) if left else BLANK
        return lambda y: palette.strip(blank + rows[y] if y < len(rows) else BLANK, width)


def bare_lines(
    widget: Widget, crop: Region, line_of: Callable[[int], Strip], width: int
) -> list[Strip]:
    """The lines of a widget without border, as the terminal gets them.

    Args:
        widget: Whose lines they are.
        crop: Which cells of them.
        line_of: Draws the whole line at a row.
        width: Cells of a whole line.
    """
    filters, background = widget.get_line_filters(), widget.background_colors[1]
    whole = crop.x == 0 and crop.width == width
    strips = []
    for y in crop.line_range:
        strip = passed(line_of(y), filters, background)
        strips.append(strip if whole else strip.crop(crop.x, crop.right))
    return strips
