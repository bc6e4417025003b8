"""The three panes arranged, with header and footer, and nothing behind them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kvtui.ui.layout.sizes import HEIGHTS, WIDTHS, take_size
from kvtui.ui.terminal.paint import PaintedWhereSeen, paint_cells
from kvtui.ui.widgets.advice_line import AdviceLine
from kvtui.ui.widgets.bars import FooterBar, HeaderBar, TabsBar
from kvtui.ui.widgets.lines import LinesWidget
from kvtui.ui.widgets.panes import ErrorsPane, MemoryPane
from kvtui.ui.widgets.split_panes import SplitPanes
from kvtui.ui.widgets.stream_pane import StreamPane
from kvtui.ui.widgets.too_small import TooSmall

if TYPE_CHECKING:
    from textual.app import ComposeResult


class Stage(PaintedWhereSeen[None]):
    """What the main screen looks like; ``MainScreen`` says what happens on it."""

    HORIZONTAL_BREAKPOINTS = WIDTHS
    VERTICAL_BREAKPOINTS = HEIGHTS

    def __init__(self) -> None:
        super().__init__()
        paint_cells(self)
        self.header = HeaderBar(id="header")
        self.tabs = TabsBar(id="tabs")
        self.stream = StreamPane(id="stream")
        self.memory_pane = MemoryPane(id="memory")
        self.errors = ErrorsPane(id="errors")
        self.panes = SplitPanes(self.stream, self.memory_pane, self.errors)
        self.advice_line = AdviceLine(id="advice")
        self.footer = FooterBar(id="footer")

    def compose(self) -> ComposeResult:
        """Header, panes, footer."""
        take_size(self)
        yield self.header
        yield self.tabs
        yield self.panes
        yield self.advice_line
        yield self.footer
        yield TooSmall(id="too-small")

    def one_pane_fits(self) -> bool:
        """The terminal is so small that one pane shows at a time, under tabs."""
        return self.has_class("-w-tabs") or self.has_class("-h-tabs")

    def mark_zoomed(self, number: int) -> None:
        """Have the style sheet zoom a pane by its number; 0 is none."""
        for each in (1, 2, 3):
            self.set_class(each == number, f"-zoom-{each}")

    def enlarge(self, large: bool) -> None:
        """Large figures and few keys, or all as always."""
        self.set_class(large, "-presenter")
        self.stream.figures.presenter = large
        self.footer.presenter = large

    def refresh_language(self) -> None:
        """Draw what stands there already in the language in use."""
        for pane in (self.memory_pane, self.errors, self.stream):
            pane.retitle()
        for widget in self.query(LinesWidget):
            widget.redraw()
