"""The drawn parts of the Experiments and Runs screens."""

from __future__ import annotations

from time import monotonic
from typing import TYPE_CHECKING

from textual.containers import VerticalScroll

from kvtui.language import tr
from kvtui.ui.commands import by_rank
from kvtui.ui.draw.experiments import progress_rows
from kvtui.ui.draw.lanes import lanes_rows
from kvtui.ui.draw.record import record_rows
from kvtui.ui.experiments.keys import Mode, Offer, commands_in
from kvtui.ui.look.rows import BLANK, Row, between, row
from kvtui.ui.widgets.bars import FooterBar
from kvtui.ui.widgets.lines import LinesWidget
from kvtui.ui.widgets.plotted import Plotted

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from textual.app import ComposeResult
    from textual.geometry import Size

    from kvtui.bench.evaluation.results import Results
    from kvtui.ui.commands import Command
    from kvtui.ui.experiments.experiment import LiveState
    from kvtui.ui.experiments.lanes import Lane
    from kvtui.ui.look.plots import Plot

REDRAW_S = 0.45
"""Between two drawings of a plot while a run fills it."""


class BenchBar(LinesWidget):
    """The line over a screen: what it is, what it is about, how things stand."""

    def __init__(self, name: str) -> None:
        super().__init__(id="bench-head")
        self._what = name
        self._about: Row = BLANK
        self._state: Row = BLANK
        self._reading = False

    def set_reading(self, reading: bool) -> None:
        """A file is read, or no more: said in place of how things stand."""
        self._reading = reading
        self.redraw()

    def show(self, about: Row, state: Row = BLANK) -> None:
        """Draw it."""
        self._about, self._state = about, state
        self.redraw()

    def draw(self, width: int, height: int) -> Sequence[Row]:  # noqa: ARG002
        """The line."""
        start = row((" kvtui ", "badge-accent"), f"  {tr(self._what)}  ", *self._about)
        state = row((tr("reading…"), "muted")) if self._reading else self._state
        return [between(start, (*state, *row(" ")), width)]


class BenchFooter(FooterBar):
    """The keys of a screen's table that mean something in its mode."""

    def __init__(self, table: Sequence[Offer], mode: Mode) -> None:
        super().__init__(id="bench-foot")
        self._table = table
        self._mode: Mode = mode

    def set_mode(self, mode: Mode) -> None:
        """Other keys."""
        if mode != self._mode:
            self._mode = mode
            self.redraw()

    def commands(self) -> Sequence[Command]:
        """By rank."""
        return by_rank(commands_in(self._table, self._mode))


class RowsText(LinesWidget):
    """Rows made for a width, as many as they are."""

    def __init__(self, make: Callable[[int], Sequence[Row]]) -> None:
        super().__init__()
        self._make = make
        self._count = 0

    def show(self, make: Callable[[int], Sequence[Row]]) -> None:
        """Other rows; the layout is asked for only where their number changed."""
        self._make = make
        if not self.size.width:
            self.forget_measure()
        elif len(make(self.size.width)) != self._count:
            self.measure_again()
        self.redraw()

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:  # noqa: ARG002
        """As many rows as there are at this width."""
        self._count = len(self._make(width))
        return self._count

    def draw(self, width: int, height: int) -> Sequence[Row]:  # noqa: ARG002
        """The rows."""
        return self._make(width)


class ScrolledRows(VerticalScroll):
    """Rows in a border, scrolled where they are more than fit."""

    def __init__(self, title: str, *, id: str) -> None:
        super().__init__(id=id)
        self.border_title = title
        self.text = RowsText(lambda _: ())

    def compose(self) -> ComposeResult:
        """The rows."""
        yield self.text

    def show(self, make: Callable[[int], Sequence[Row]]) -> None:
        """Other rows."""
        self.text.show(make)


class ProgressPane(LinesWidget):
    """How far the run is, or what it was."""

    live: LiveState | None = None
    results: Results | None = None

    def show_live(self, live: LiveState) -> None:
        """A run under way."""
        self.live, self.results = live, None
        self.redraw()

    def show_results(self, results: Results) -> None:
        """A run that is over."""
        self.results = results
        self.redraw()

    def draw(self, width: int, height: int) -> Sequence[Row]:
        """The rows."""
        if self.results is not None:
            return record_rows(self.results, width)[:height]
        return () if self.live is None else progress_rows(self.live, width)[:height]


class BenchPlot(Plotted):
    """One of a run's plots."""

    def __init__(self, *, id: str) -> None:
        super().__init__(id=id)
        self.plot: Plot | None = None
        self._drawn_at = 0.0

    def show(self, plot: Plot | None, *, final: bool, more: int = 0) -> None:
        """Draw a plot, unless one was drawn a moment ago; the final one always."""
        if plot is None:
            return
        other = self.plot is None or self.plot.name != plot.name
        if plot == self.plot and not final:
            return
        now = monotonic()
        if not (final or other) and now - self._drawn_at < REDRAW_S:
            return
        self.plot, self._drawn_at = plot, now
        self.border_title = plot.title
        self.border_subtitle = tr("t next of {more}", more=more) if more > 1 else ""
        self.redraw()

    def draw(self, width: int, height: int) -> Sequence[Row]:
        """The picture."""
        if self.plot is None or not self.can_plot:
            return ()
        from kvtui.ui.draw.plot import plot_rows

        return plot_rows(self.plot, width, height)


class LanesPane(LinesWidget, can_focus=True):
    """A lane for each stream; the marked one is opened by Enter, any one by a click."""

    def __init__(self, *, id: str) -> None:
        super().__init__(id=id)
        self.lanes: tuple[Lane, ...] = ()
        self.marked = 1

    def show(self, lanes: Sequence[Lane]) -> None:
        """Draw them."""
        self.lanes = tuple(lanes)
        self.marked = max(1, min(self.marked, len(lanes) or 1))
        count = len(lanes)
        self.border_title = tr("streams") if count != 1 else tr("stream")
        self.border_subtitle = tr("{count} · ⏎ opens", count=count) if count else ""
        self.redraw()

    def move(self, by: int) -> None:
        """Mark another lane."""
        self.marked = max(1, min(len(self.lanes) or 1, self.marked + by))
        self.redraw()

    def draw(self, width: int, height: int) -> Sequence[Row]:
        """The lanes."""
        return lanes_rows(self.lanes, width, height, self.marked)
