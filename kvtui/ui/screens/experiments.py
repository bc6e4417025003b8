"""The Experiments screen: presets and their settings, a run as it goes, what it came to."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from textual.binding import Binding
from textual.widgets import Input

from kvtui.language import later, tr
from kvtui.ui.commands import bindings
from kvtui.ui.draw.experiments import PHASES
from kvtui.ui.experiments import recorded
from kvtui.ui.experiments.form import sends
from kvtui.ui.experiments.keys import EXPERIMENTS, Mode
from kvtui.ui.layout.sizes import take_size
from kvtui.ui.look.rows import row
from kvtui.ui.screens.bench_base import BenchScreen
from kvtui.ui.widgets.bench_panes import BenchBar, BenchFooter
from kvtui.ui.widgets.experiment_form import ExperimentForm
from kvtui.ui.widgets.results_view import ResultsView
from kvtui.ui.widgets.too_small import TooSmall

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from textual.app import ComposeResult
    from textual.timer import Timer

    from kvtui.bench.records.record import Record
    from kvtui.ui.experiments.experiment import Experiment
    from kvtui.ui.experiments.lab import Lab

FRAME_S = 0.25
"""Figures change four times a second at most."""


class ExperimentsScreen(BenchScreen):
    """Shows the lab: what could be run, what runs, what it came to."""

    TABLE = EXPERIMENTS
    NAME = "Experiments"
    BINDINGS = [  # noqa: RUF012
        *bindings([offer.command for offer in EXPERIMENTS]),
        # With priority, so that keys typed at once go to the field that these lead to.
        Binding("tab", "app.focus_next", "Next field", show=False, priority=True),
        Binding("shift+tab", "app.focus_previous", "Field before", show=False, priority=True),
        Binding("up", "move(-1)", "Up", show=False),
        Binding("down", "move(1)", "Down", show=False),
        Binding("left", "move(-1)", "Stream before", show=False),
        Binding("right", "move(1)", "Next stream", show=False),
    ]

    def __init__(self, lab: Lab, show_runs: Callable[[], None]) -> None:
        """Show the form, or what runs.

        Args:
            lab: Keeps what was typed, and the run, while the screen is away.
            show_runs: Opens the recorded runs.
        """
        super().__init__()
        self.lab = lab
        self._show_runs = show_runs
        self.mode: Mode = "form"
        self._timer: Timer | None = None
        self.head = BenchBar(later("experiments"))
        self.form = ExperimentForm(lab)
        self.results = ResultsView()
        self.foot = BenchFooter(EXPERIMENTS, "form")

    def compose(self) -> ComposeResult:
        """Head, form and results (one of them is shown), foot."""
        take_size(self)
        yield self.head
        yield self.form
        yield self.results
        yield self.foot
        yield TooSmall(id="too-small")

    def on_mount(self) -> None:
        """What runs is shown at once; else the form."""
        self._timer = self.set_interval(FRAME_S, self.tick, pause=True)
        self.form.fill()
        self._enter("live" if self.lab.running else "form")
        if self.lab.running:
            self.tick()
        elif self.lab.unseen:
            self._show_results()

    def _enter(self, mode: Mode) -> None:
        self.mode = mode
        self.foot.set_mode(mode)
        self.form.display = mode == "form"
        self.results.display = mode != "form"
        if self._timer is not None:
            (self._timer.resume if mode == "live" else self._timer.pause)()
        if mode == "form":
            self.form.presets.focus()
            self.form.show()
            self.look()
        elif mode == "live":
            self.results.lanes.focus()
        else:
            self.results.levels.focus()
        self._show_head()
        self.refresh_bindings()

    # --- the form -------------------------------------------------------------------------------

    def endpoint_changed(self) -> None:
        """The endpoint has become known, or is another one: other defaults, another place."""
        if self.mode == "form":
            self.form.fill()
            self.form.show()
            self._show_head()

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """Enter in a field runs, too."""
        event.stop()
        self.action_begin()

    def action_choose(self, name: str) -> None:
        """A click on a preset."""
        self.form.choose(name)

    def action_move(self, by: int) -> None:
        """Up and down: fields, presets, lanes."""
        if self.mode == "form":
            if isinstance(self.focused, Input):
                (self.focus_next if by > 0 else self.focus_previous)()
            else:
                self.form.presets.move(by)
        elif self.mode == "live":
            self.results.lanes.move(by)

    def on_bench_screen_listed(self, message: BenchScreen.Listed) -> None:
        """The latest experiments stand under the form."""
        self.form.show_recent([entry for entry in message.entries if entry.kind == "bench"])

    # --- a run ----------------------------------------------------------------------------------

    def action_begin(self) -> None:
        """Run what the form says; a paid endpoint is asked about once."""
        problem = self.lab.why_not()
        if self.mode != "form":
            return
        if problem:
            self.say(problem, "warning")
            return
        asked = self.form.asked
        if asked.workload is None or asked.extent is None:
            self.say(tr("Nothing was sent: {problem}", problem=asked.problems[0][1]), "warning")
            return
        self._ask_money(
            tr("{preset} sends {what}.", preset=self.lab.preset, what=sends(asked.extent)),
            asked.workload,
        )

    def _ask_money(self, sentence: str, work: Any) -> None:
        if not self.lab.may_cost(work):
            self._begin(work)
            return
        from kvtui.ui.screens.confirm import ConfirmScreen

        text = tr(
            "{sentence}\n\nTo {places}, which may charge for it.",
            sentence=sentence,
            places=self.lab.places(work),
        )

        def answered(yes: bool | None) -> None:
            if yes:
                self._begin(work)

        self.app.push_screen(
            ConfirmScreen(tr("This endpoint is not yours"), text, tr("send")), answered
        )

    def _begin(self, work: Any) -> None:
        if problem := self.lab.why_not():  # asked for twice, or something began meanwhile
            self.say(problem, "warning")
            return
        self.lab.beginning = True
        self.read(
            partial(self.lab.prepare, work),
            self._begun,
            always=True,
            severity="error",
            failed=self._not_begun,
        )

    def _not_begun(self) -> None:
        self.lab.beginning = False

    def _begun(self, experiment: Experiment) -> None:
        self.lab.beginning = False
        self.lab.begin(experiment)
        if self.is_attached:
            self._enter("live")
            self.tick()

    def tick(self) -> None:
        """One look at the run."""
        experiment = self.lab.experiment
        if experiment is None or self.mode != "live":
            return
        if experiment.over:
            self._show_results()
            return
        self.results.show_live(experiment.state(), experiment.plots())
        self._show_head()

    def _show_results(self) -> None:
        experiment = self.lab.experiment
        if experiment is None:
            return
        self.lab.unseen = False
        if experiment.trouble:
            self.say(experiment.trouble, "error")
        if experiment.results is None:
            self._enter("form")
            return
        self._enter("results")
        self.results.show_results(experiment.results, experiment.plots())

    def _show_head(self) -> None:
        experiment = self.lab.experiment
        if self.mode == "form" or experiment is None:
            self.head.show(
                row((self.lab.where, "text")), row((tr("○ nothing is sent yet"), "muted"))
            )
            return
        glyph, word, role = PHASES[experiment.phase]
        word = tr(word)
        about = row(
            (experiment.workload.preset, "strong"), ("  ", "muted"), (experiment.label, "text")
        )
        self.head.show(about, row((f"{glyph} {word}", role)))

    def action_pause(self) -> None:
        """Send no further request, or go on."""
        if self.lab.experiment is not None:
            self.lab.experiment.toggle_pause()
            self.tick()

    def action_stop(self) -> None:
        """End the run; what is done is kept."""
        if self.lab.experiment is not None and self.lab.running:
            self.lab.experiment.stop()
            self.tick()

    def interrupt(self) -> bool:
        """Ctrl+C: stop the run; whether one was there."""
        runs = self.lab.running
        self.action_stop()
        return runs

    def action_resume(self) -> None:
        """Go on with the run shown, or with the latest that can be."""
        problem = self.lab.why_not()
        if problem:
            self.say(problem, "warning")
            return
        record = None if self.lab.experiment is None else self.lab.experiment.record
        if self.mode == "results" and record is not None and not record.finished:
            self.resume(record)
            return
        entry = next((entry for entry in self.form.recent if entry.resumable), None)
        if self.mode == "results" or entry is None:
            self.say(tr("There is no run that was stopped or killed before its end."))
            return
        self.resume(entry.path)

    def resume(self, run: Path | Record) -> None:
        """Go on with a half-done record, after a question where that may cost money."""
        self.read(partial(recorded.half_done, run), self._resume)

    def _resume(self, found: tuple[Record, int]) -> None:
        record, done = found
        wanted = sum(stage.requests or 0 for stage in record.workload.stages)
        left = (
            tr("{left:,} of {wanted:,} requests", left=max(0, wanted - done), wanted=wanted)
            if wanted
            else tr("the rest")
        )
        self._ask_money(
            tr("{preset}: {left} are still to be sent.", preset=record.workload.preset, left=left),
            record,
        )

    def action_open_marked(self) -> None:
        """Open the marked stream."""
        self.action_open_lane(self.results.lanes.marked)

    def action_open_lane(self, number: int) -> None:
        """Open a stream: its text and figures, live."""
        if self.lab.experiment is None or self.mode != "live":
            return
        from kvtui.ui.screens.stream_view import StreamScreen

        self.results.lanes.marked = number
        self.app.push_screen(StreamScreen(self.lab.experiment, number))

    # --- what is shown --------------------------------------------------------------------------

    def action_plot(self) -> None:
        """The next plot."""
        self.results.next_plot()

    def action_zoom(self, number: int) -> None:
        """One pane alone, or all."""
        self.results.zoom(number)

    def action_form(self) -> None:
        """Back to the settings."""
        self._enter("form")

    def action_results(self) -> None:
        """What the latest run came to."""
        if self.lab.experiment is None or self.lab.experiment.results is None:
            self.say(tr("Nothing has been run since kvtui was opened: h shows the recorded runs."))
            return
        self._show_results()

    def action_runs(self) -> None:
        """The recorded runs."""
        self._show_runs()

    def action_back(self) -> None:
        """The first that applies."""
        if self.mode == "form" and isinstance(self.focused, Input):
            self.form.presets.focus()
        elif self.lab.running and self.mode == "live":
            self.action_stop()
        elif self.mode == "results":
            if not self.results.unzoom():
                self._enter("form")
        else:
            self.dismiss(None)

    def action_leave(self) -> None:
        """The main screen; a run goes on."""
        self.dismiss(None)
