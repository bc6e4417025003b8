"""A run's panes: how far it is, its plots, its streams, its levels, what the figures say."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from textual.containers import Horizontal, Vertical

from kvtui.language import later, tr
from kvtui.ui.draw.experiments import note_rows
from kvtui.ui.draw.levels import finding_rows, level_rows, table_note
from kvtui.ui.look.rows import Row, row, wrap
from kvtui.ui.widgets.bench_panes import BenchPlot, LanesPane, ProgressPane, ScrolledRows
from kvtui.ui.widgets.lines import LinesWidget

if TYPE_CHECKING:
    from collections.abc import Sequence

    from textual.app import ComposeResult

    from kvtui.bench.evaluation.results import Results
    from kvtui.bench.figures.levels import Level
    from kvtui.ui.experiments.experiment import LiveState
    from kvtui.ui.look.plots import Plot

PANES = (later("plot"), later("streams"), later("levels"), later("findings"))
"""In the order of their digits."""


class PaneTabs(LinesWidget):
    """The panes' names where one of them fits at a time."""

    shown = 3
    second: str = PANES[1]
    """The second pane's name; empty where there is none."""

    def show(self, number: int, second: str) -> None:
        """Another pane is shown."""
        self.shown, self.second = number, second
        self.redraw()

    def draw(self, width: int, height: int) -> Sequence[Row]:  # noqa: ARG002
        """The line."""
        parts = []
        for number, name in enumerate(PANES, 1):
            if number == 2:
                name = self.second
            if not name:
                continue
            role = "badge-accent" if number == self.shown else "muted"
            parts.append(row((f" {number} {tr(name)} ", role, f"screen.zoom({number})")))  # type: ignore[arg-type]
        return [tuple(span for part in parts for span in (*part, *row(" ")))]


class ResultsView(Vertical):
    """Shows a run under way or one that is over; the same for a record opened again."""

    def __init__(self) -> None:
        super().__init__(id="results")
        self.progress = ProgressPane(id="bench-progress")
        self.tabs = PaneTabs(id="bench-tabs")
        self.plot = BenchPlot(id="bench-plot")
        self.second = BenchPlot(id="bench-plot-2")
        self.lanes = LanesPane(id="bench-lanes")
        self.levels = ScrolledRows(tr("levels"), id="bench-levels")
        self.findings = ScrolledRows(tr("what the figures say"), id="bench-findings")
        self.zoomed = 0
        self._plots: tuple[Plot, ...] = ()
        self._at = 0
        self._over = False

    def compose(self) -> ComposeResult:
        """Progress, plot beside streams, levels, findings."""
        yield self.progress
        yield self.tabs
        with Horizontal(id="bench-middle"):
            yield self.plot
            yield self.second
            yield self.lanes
        yield self.levels
        yield self.findings

    def on_mount(self) -> None:
        """The first pane is the one that says most in little room."""
        self._show_zoom()

    def show_live(self, live: LiveState, plots: Sequence[Plot]) -> None:
        """A run under way."""
        self._turn(over=False)
        self.progress.show_live(live)
        self.lanes.show(live.lanes)
        self.levels.show(partial(_level_rows, live.levels))
        self.findings.border_title = tr("meanwhile")
        self.findings.show(partial(note_rows, live.notes))
        self._take(plots, final=False)

    def show_results(self, results: Results, plots: Sequence[Plot]) -> None:
        """A run that is over."""
        self._turn(over=True)
        self.progress.show_results(results)
        self.levels.show(partial(_level_rows, tuple(results.levels)))
        self.findings.border_title = tr("what the figures say")
        self.findings.show(partial(finding_rows, tuple(results.findings)))
        self._take(plots, final=True)
        if self.single and not self.zoomed and not any(row.completed for row in results.levels):
            self.zoom(4)  # what failed, and what to do about it, is all there is to see

    def next_plot(self) -> None:
        """The next plot of the run."""
        self._at += 1
        self._draw_plots(final=True)

    def zoom(self, number: int) -> None:
        """One pane alone, or all of them; where only one fits, that one."""
        if number == 2 and self._over and len(self._plots) < 2:
            return
        self.zoomed = 0 if number == self.zoomed and not self.single else number
        self._show_zoom()

    def unzoom(self) -> bool:
        """All panes again; False where none is alone."""
        if not self.zoomed or self.single:
            return False
        self.zoom(self.zoomed)
        return True

    @property
    def single(self) -> bool:
        """Only one pane fits at a time."""
        return self.tabs.display and self.tabs.size.height > 0

    def redraw(self) -> None:
        """Another theme: draw all rows anew."""
        for widget in self.query(LinesWidget):
            widget.notify_style_update()
            widget.refresh()

    def _turn(self, *, over: bool) -> None:
        if over != self._over:
            self._over = over
            self.set_class(over, "-over")
            if not over:
                self._at = 0
            elif self.zoomed == 2:  # the streams are gone
                self.zoomed = 0
            self._show_zoom()

    def _take(self, plots: Sequence[Plot], *, final: bool) -> None:
        alone = len(self._plots) < 2
        self._plots = tuple(plots)
        if alone != (len(plots) < 2):
            self._show_zoom()
        self._draw_plots(final=final)

    def _draw_plots(self, *, final: bool) -> None:
        if not self._plots:
            return
        count = len(self._plots)
        at = self._at % count
        if not self._at and not self._plots[0].series:  # what there is already, until then
            at = next((n for n, plot in enumerate(self._plots) if plot.series), 0)
        self.plot.show(self._plots[at], final=final, more=count)
        if count > 1 and self._over:
            self.second.show(self._plots[(self._at + 1) % count], final=final)
        self.set_class(count > 1, "-two")

    def _show_zoom(self) -> None:
        for number in range(1, 5):
            self.set_class(self.zoomed == number, f"-zoom-{number}")
        self.set_class(not self.zoomed, "-zoom-0")
        second = PANES[1] if not self._over else (tr("second plot") if len(self._plots) > 1 else "")
        self.tabs.show(self.zoomed or 3, second)


def _level_rows(levels: Sequence[Level], width: int) -> list[Row]:
    note = wrap(table_note(levels), max(10, width))
    return [*level_rows(levels, width), *(row((line, "muted")) for line in note if line)]
