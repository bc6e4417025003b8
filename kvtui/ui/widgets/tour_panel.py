"""The tour's panel under the panes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from textual.reactive import var

from kvtui.ui.draw.tour import tour_rows
from kvtui.ui.widgets.lines import LinesWidget

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kvtui.ui.look.rows import Row


class TourPanel(LinesWidget):
    """Step, title, text."""

    shown: var[tuple[int, int, str, str]] = var((1, 1, "", ""), init=False)
    """Number of the step, of how many, its title, its text."""

    def watch_shown(self) -> None:
        """Draw it."""
        self.redraw()

    def draw(self, width: int, height: int) -> Sequence[Row]:  # noqa: ARG002
        """The rows."""
        return tour_rows(*self.shown, width)
