"""A recorded run, open again as it was; and two or more of them compared."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from textual.binding import Binding
from textual.screen import ModalScreen

from kvtui.language import later, tr
from kvtui.ui.commands import bindings
from kvtui.ui.draw.compared import compared_rows
from kvtui.ui.draw.record import when_of
from kvtui.ui.experiments.keys import RECORD
from kvtui.ui.experiments.plots import Requests, plots_of
from kvtui.ui.layout.sizes import take_size
from kvtui.ui.look.rows import row
from kvtui.ui.screens.bench_base import BenchScreen, UseOfReplay
from kvtui.ui.widgets.bench_panes import BenchBar, BenchFooter, ScrolledRows
from kvtui.ui.widgets.results_view import ResultsView
from kvtui.ui.widgets.too_small import TooSmall

if TYPE_CHECKING:
    from collections.abc import Sequence

    from textual.app import ComposeResult

    from kvtui.bench.evaluation.compare import Comparison
    from kvtui.bench.evaluation.results import Results
    from kvtui.measure.gaps import Gaps


class RecordScreen(BenchScreen):
    """The same panes as after a live run."""

    TABLE = RECORD
    NAME = "Run"
    BINDINGS = bindings([offer.command for offer in RECORD])

    def __init__(
        self, results: Results, gaps: Gaps, requests: Requests, *, use: UseOfReplay
    ) -> None:
        """Show a run.

        Args:
            results: What it came to.
            gaps: Between its chunks.
            requests: What is drawn of each.
            use: Plays it again.
        """
        super().__init__()
        self._use = use
        self._requests = requests
        self.shown = results
        self.gaps = gaps
        self.head = BenchBar(later("runs"))
        self.results = ResultsView()

    def compose(self) -> ComposeResult:
        """Head, panes, foot."""
        take_size(self)
        yield self.head
        yield self.results
        yield BenchFooter(RECORD, "results")
        yield TooSmall(id="too-small")

    def on_mount(self) -> None:
        """Everything is there."""
        record = self.shown.record
        when = when_of(str(record.header.get("created_at") or ""))
        self.head.show(row((record.workload.preset, "strong"), (f"  {when}", "muted")))
        self.results.levels.focus()
        plots = plots_of(record.workload, self.shown.levels, self._requests, self.gaps)
        self.results.show_results(self.shown, [plot for plot in plots if plot.series])

    def action_plot(self) -> None:
        """The next plot."""
        self.results.next_plot()

    def action_zoom(self, number: int) -> None:
        """One pane alone, or all."""
        self.results.zoom(number)

    def action_export(self) -> None:
        """Write a file."""
        self.export(self.shown)

    def action_replay(self) -> None:
        """Play it again on the main screen."""
        self.replay_with(self._use, self.shown.record.path)

    def action_back(self) -> None:
        """All panes, then the list."""
        if not self.results.unzoom():
            self.dismiss(None)


class CompareScreen(ModalScreen[None]):
    """Runs side by side."""

    CSS_PATH = "../experiments.tcss"
    BINDINGS = [Binding("escape,q,c", "leave", "Close", show=False)]  # noqa: RUF012

    def __init__(self, comparisons: Sequence[Comparison], names: Sequence[str]) -> None:
        super().__init__()
        self.table = ScrolledRows(tr("compared"), id="compared")
        self._rows: Any = partial(compared_rows, tuple(comparisons), tuple(names))

    def compose(self) -> ComposeResult:
        """One text."""
        yield self.table

    def on_mount(self) -> None:
        """Keys scroll."""
        self.table.border_subtitle = tr("esc close · ↑ ↓ scroll")
        self.table.show(self._rows)
        self.table.focus()

    def action_leave(self) -> None:
        """Back."""
        self.dismiss(None)
