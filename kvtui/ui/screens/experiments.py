"""The Experiments screen: presets and their settings, a run as it goes, what it came to."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from textual.binding import Binding
from textual.containers import Vertical
from textual.message import Message
from textual.widgets import Input

from kvtui.bench.records.schema import RecordError
from kvtui.bench.running.presets import PRESETS
from kvtui.language import later, tr
from kvtui.ui.commands import bindings
from kvtui.ui.draw.experiments import PHASES, asked_rows
from kvtui.ui.draw.runs import recent_rows
from kvtui.ui.experiments.form import sends
from kvtui.ui.experiments.keys import EXPERIMENTS, Mode
from kvtui.ui.layout.sizes import take_size
from kvtui.ui.look.rows import row
from kvtui.ui.screens.bench_base import BenchScreen
from kvtui.ui.widgets.bench_panes import BenchBar, BenchFooter, RowsText
from kvtui.ui.widgets.knob_fields import KnobFields
from kvtui.ui.widgets.preset_list import PresetList
from kvtui.ui.widgets.results_view import ResultsView
from kvtui.ui.widgets.too_small import TooSmall

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from textual.app import ComposeResult
    from textual.timer import Timer

    from kvtui.bench.records.entries import Entry
    from kvtui.ui.experiments.form import Asked
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

    class Found(Message):
        """The recorded runs were listed."""

        def __init__(self, entries: Sequence[Entry]) -> None:
            super().__init__()
            self.entries = tuple(entries)

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
        self.asked: Asked = lab.ask()
        self.recent: tuple[Entry, ...] = ()
        self._timer: Timer | None = None
        self.head = BenchBar(later("experiments"))
        self.presets = PresetList(list(PRESETS.values()), lab.preset)
        self.knobs = KnobFields()
        self.told = RowsText(lambda _: ())
        self.listed = RowsText(lambda _: ())
        self.results = ResultsView()
        self.foot = BenchFooter(EXPERIMENTS, "form")

    def compose(self) -> ComposeResult:
        """Head, form and results (one of them is shown), foot."""
        take_size(self)
        yield self.head
        with Vertical(id="form-view"):
            yield self.presets
            with Vertical(id="knobs-box") as box:
                box.border_title = tr("settings")
                yield self.knobs
            with Vertical(id="asked") as box:
                box.border_title = tr("what Enter sends")
                yield self.told
            with Vertical(id="recent") as box:
                box.border_title = tr("latest runs")
                yield self.listed
        yield self.results
        yield self.foot
        yield TooSmall(id="too-small")

    def on_mount(self) -> None:
        """What runs is shown at once; else the form."""
        self._timer = self.set_interval(FRAME_S, self.tick, pause=True)
        self.knobs.fill(self.asked.fields, self.lab.texts.get(self.lab.preset, {}))
        self._enter("live" if self.lab.running else "form")
        if self.lab.running:
            self.tick()
        elif self.lab.unseen:
            self._show_results()

    def _enter(self, mode: Mode) -> None:
        self.mode = mode
        self.foot.set_mode(mode)
        self.query_one("#form-view").display = mode == "form"
        self.results.display = mode != "form"
        if self._timer is not None:
            (self._timer.resume if mode == "live" else self._timer.pause)()
        if mode == "form":
            self.presets.focus()
            self._show_form()
            self._list_runs()
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
            self.asked = self.lab.ask()
            self.knobs.fill(self.asked.fields, self.lab.texts.get(self.lab.preset, {}))
            self._show_form()
            self._show_head()

    def on_preset_list_chosen(self, message: PresetList.Chosen) -> None:
        """Another preset: its fields."""
        self.lab.preset = message.name
        self.asked = self.lab.ask()
        self.knobs.fill(self.asked.fields, self.lab.texts.get(message.name, {}))
        self._show_form()

    def on_knob_fields_changed(self) -> None:
        """A key was typed: said at once what it comes to."""
        self.lab.texts[self.lab.preset] = self.knobs.texts()
        self.asked = self.lab.ask()
        self._show_form()

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """Enter in a field runs, too."""
        event.stop()
        self.action_begin()

    def _show_form(self) -> None:
        self.knobs.show(self.asked)
        room = max(3, self.query_one("#asked").size.height)
        work = self.asked.workload
        where = self.lab.where if work is None else self.lab.places(work)
        self.told.show(partial(_asked_rows, self.asked, self.knobs.focused, where, room))
        self.query_one("#knobs-box").border_title = tr(
            "settings of {preset}", preset=self.lab.preset
        )
        self.listed.show(partial(recent_rows, self.recent))

    def on_resize(self) -> None:
        """Notes have another room."""
        if self.mode == "form":
            self.call_after_refresh(self._show_form)

    def action_choose(self, name: str) -> None:
        """A click on a preset."""
        self.presets.choose(name)
        self.presets.focus()

    def action_move(self, by: int) -> None:
        """Up and down: fields, presets, lanes."""
        if self.mode == "form":
            if isinstance(self.focused, Input):
                (self.focus_next if by > 0 else self.focus_previous)()
            else:
                self.presets.move(by)
        elif self.mode == "live":
            self.results.lanes.move(by)

    def _list_runs(self) -> None:
        self.run_worker(self._look_for_runs, thread=True, exclusive=True, exit_on_error=False)

    def _look_for_runs(self) -> None:
        from kvtui.bench.records.store import list_runs

        try:
            self.post_message(self.Found([e for e in list_runs() if e.kind == "bench"]))
        except RecordError as error:
            self.app.call_from_thread(self.say, str(error), "warning")

    def on_experiments_screen_found(self, message: Found) -> None:
        """The latest runs stand under the form."""
        self.recent = message.entries
        if self.mode == "form":
            self._show_form()

    # --- a run ----------------------------------------------------------------------------------

    def action_begin(self) -> None:
        """Run what the form says; a paid endpoint is asked about once."""
        problem = self.lab.why_not()
        if self.mode != "form":
            return
        if problem:
            self.say(problem, "warning")
            return
        asked = self.asked
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
        try:
            self.lab.begin(work)
        except (RecordError, ValueError) as error:
            self.say(str(error), "error")
            return
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
        entry = next((entry for entry in self.recent if entry.resumable), None)
        if self.mode == "results" or entry is None:
            self.say(tr("There is no run that was stopped or killed before its end."))
            return
        from kvtui.bench.records.record import read_record

        try:
            self.resume(read_record(entry.path))
        except RecordError as error:
            self.say(str(error), "warning")

    def resume(self, record: Any) -> None:
        """Go on with a half-done record, after a question where that may cost money."""
        wanted = sum(stage.requests or 0 for stage in record.workload.stages)
        done = sum(not s.warmup for s in record.done)
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
            self.presets.focus()
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


def _asked_rows(asked: Asked, knob: Any, where: str, height: int, width: int) -> Any:
    return asked_rows(asked, knob, where, width, height)
