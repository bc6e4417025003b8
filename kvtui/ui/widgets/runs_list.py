"""The recorded runs: a cursor, marks, what is filtered."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kvtui.language import tr
from kvtui.ui.draw.runs import entry_row, name_cells, nothing_rows
from kvtui.ui.draw.sections import around, with_rest
from kvtui.ui.look.rows import Row, row
from kvtui.ui.widgets.lines import LinesWidget

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from textual import events

    from kvtui.bench.records.entries import Entry


class RunsList(LinesWidget, can_focus=True):
    """A row for each run that passes the filter."""

    def __init__(self) -> None:
        super().__init__(id="runs-list")
        self.all: tuple[Entry, ...] | None = None
        """None: the folder is still being read."""
        self.shown: tuple[Entry, ...] = ()
        self.marks: list[Path] = []
        """In the order in which they were set: the first one is what others are compared with."""
        self.at = 0
        self.border_title = tr("runs")

    @property
    def here(self) -> Entry | None:
        """The run with the cursor."""
        return self.shown[self.at] if self.at < len(self.shown) else None

    def show(self, entries: Sequence[Entry], shown: Sequence[Entry]) -> None:
        """Other runs, or another filter; the cursor stays on its run."""
        here = self.here
        self.all, self.shown = tuple(entries), tuple(shown)
        paths = [entry.path for entry in shown]
        self.at = paths.index(here.path) if here is not None and here.path in paths else 0
        self.marks = [path for path in self.marks if path in {entry.path for entry in entries}]
        self._title()
        self.redraw()

    def move(self, by: int) -> None:
        """The cursor goes up or down."""
        self.at = max(0, min(len(self.shown) - 1, self.at + by))
        self.redraw()

    def toggle_mark(self) -> None:
        """Mark the run with the cursor, or not any more."""
        if self.here is not None:
            path = self.here.path
            if path in self.marks:
                self.marks.remove(path)
            else:
                self.marks.append(path)
            self._title()
            self.redraw()

    def forget_marks(self) -> None:
        """None is marked."""
        self.marks.clear()
        self._title()
        self.redraw()

    def _title(self) -> None:
        count = len(self.all or ())
        some = (
            tr("{shown} of {count}", shown=len(self.shown), count=count)
            if len(self.shown) != count
            else f"{count}"
        )
        marked = tr(" · {marks} marked, c compares", marks=len(self.marks)) if self.marks else ""
        self.border_subtitle = f"{some}{marked}" if count else ""

    def on_mouse_scroll_down(self, event: events.MouseScrollDown) -> None:
        """The wheel moves the cursor."""
        event.stop()
        self.move(1)

    def on_mouse_scroll_up(self, event: events.MouseScrollUp) -> None:
        """The wheel moves the cursor."""
        event.stop()
        self.move(-1)

    def draw(self, width: int, height: int) -> Sequence[Row]:
        """The rows around the cursor."""
        if self.all is None:
            return [row((tr("reading the folder"), "muted"))]
        if not self.shown:
            return nothing_rows(bool(self.all), width)
        seen = around(self.at, len(self.shown), height)
        cells = name_cells(self.shown, width)
        lines: list[Row] = []
        for number in seen:
            entry = self.shown[number]
            here = number == self.at
            mark = self.marks.index(entry.path) if entry.path in self.marks else -1
            letter = chr(ord("A") + mark) if 0 <= mark < 26 else "•" if mark >= 0 else " "
            lead = f"{'▸' if here else ' '}{letter} "
            lines.append(
                entry_row(
                    entry,
                    width,
                    cells=cells,
                    lead=lead,
                    cursor=here,
                    action=f"screen.take({number})",
                )
            )
        return with_rest(lines, len(self.shown) - seen.stop, width)
