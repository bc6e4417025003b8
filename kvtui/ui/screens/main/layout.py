"""Zoom and splits: what the main screen does about its panes' places, as a mixin of it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kvtui.ui.layout.splits import Splits
from kvtui.ui.widgets.split_panes import SplitPanes

if TYPE_CHECKING:
    from kvtui.ui.widgets.bars import TabsBar


class LayoutActions:
    """Actions; each is one command."""

    if TYPE_CHECKING:
        # Of the screen's other parts:
        # ruff: noqa: D102
        panes: SplitPanes
        tabs: TabsBar

        @property
        def app(self) -> Any: ...
        def has_class(self, *names: str) -> bool: ...
        def set_class(self, add: bool, *class_names: str, update: bool = True) -> Any: ...
        def call_after_refresh(self, callback: Any, *args: Any) -> bool: ...

    zoomed = 0
    """The pane that is zoomed, or 0."""

    def take_splits(self) -> None:
        """The borders stand where they were left."""
        self.panes.splits = Splits(self.app.remembered.get("splits", dict))
        self.panes.place()

    def action_zoom(self, number: int) -> None:
        """Zoom a pane, or bring it back; where only one pane fits, show that one."""
        tabs = self.has_class("-w-tabs") or self.has_class("-h-tabs")
        again = self.zoomed == number and not tabs
        self.zoomed = 0 if again or (tabs and number == 1) else number
        for each in (1, 2, 3):
            self.set_class(self.zoomed == each, f"-zoom-{each}")
        self.tabs.shown = self.zoomed or 1
        self.panes.place()

    def on_split_panes_zoomed(self, message: SplitPanes.Zoomed) -> None:
        """A double click on a pane."""
        self.action_zoom(message.number)

    def action_split(self, columns: int, rows: int) -> None:
        """Move a border between panes: the upright one by columns, the level one by rows."""
        self.panes.step(columns, rows)

    def action_split_reset(self) -> None:
        """The layout's own places again."""
        self.panes.reset()

    def on_split_panes_moved(self) -> None:
        """Where the borders stand is remembered."""
        self.app.remembered.put("splits", self.panes.splits.kept or None)
