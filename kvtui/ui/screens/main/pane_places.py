"""The panes' places: which one is zoomed, and where the borders between them stand."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kvtui.ui.layout.splits import Splits

if TYPE_CHECKING:
    from collections.abc import Callable

    from kvtui.ui.remembered import Remembered
    from kvtui.ui.widgets.bars import TabsBar
    from kvtui.ui.widgets.split_panes import SplitPanes


class PanePlaces:
    """Zoom and splits."""

    def __init__(
        self,
        panes: SplitPanes,
        tabs: TabsBar,
        remembered: Remembered,
        *,
        one_fits: Callable[[], bool],
        mark: Callable[[int], None],
    ) -> None:
        """All panes show, at the layout's own places.

        Args:
            panes: Stand beside each other.
            tabs: Name the panes where only one of them fits.
            remembered: Where the borders were left.
            one_fits: Whether that is so now.
            mark: Has the style sheet zoom a pane by its number; 0 is none.
        """
        self._panes = panes
        self._tabs = tabs
        self._remembered = remembered
        self._one_fits = one_fits
        self._mark = mark
        self.zoomed = 0
        """The pane that is zoomed, or 0."""

    def mount(self) -> None:
        """The borders stand where they were left."""
        self._panes.splits = Splits(self._remembered.get("splits", dict))
        self._panes.place()

    def zoom(self, number: int) -> None:
        """Zoom a pane, or bring it back; where only one pane fits, show that one."""
        tabs = self._one_fits()
        again = self.zoomed == number and not tabs
        self.zoomed = 0 if again or (tabs and number == 1) else number
        self._mark(self.zoomed)
        self._tabs.shown = self.zoomed or 1
        self._panes.place()

    def split(self, columns: int, rows: int) -> None:
        """Move a border between panes: the upright one by columns, the level one by rows."""
        self._panes.step(columns, rows)

    def reset(self) -> None:
        """The layout's own places again."""
        self._panes.reset()

    def remember(self) -> None:
        """Where the borders stand is remembered."""
        self._remembered.put("splits", self._panes.splits.kept or None)
