"""The Runs screen: every recorded run, opened again, searched, marked, compared, exported."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, Protocol

from textual.binding import Binding
from textual.containers import Vertical
from textual.widgets import Input

from kvtui.bench.records import store
from kvtui.bench.records.lock import is_locked
from kvtui.language import later, tr
from kvtui.ui.commands import bindings, move_bindings
from kvtui.ui.draw.record import when_of
from kvtui.ui.draw.runs import detail_rows
from kvtui.ui.experiments import recorded
from kvtui.ui.experiments.keys import RUNS
from kvtui.ui.layout.sizes import take_size
from kvtui.ui.look.rows import row
from kvtui.ui.screens import run_edits
from kvtui.ui.screens.bench_base import BenchScreen, UseOfReplay
from kvtui.ui.widgets.bench_panes import BenchBar, BenchFooter, RowsText
from kvtui.ui.widgets.runs_list import RunsList
from kvtui.ui.widgets.too_small import TooSmall

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from textual.app import ComposeResult

    from kvtui.bench.records.entries import Entry

PAGE = 10


class UseOfRuns(UseOfReplay, Protocol):
    """What can be done with a recorded run beside reading it."""

    def open(self) -> None:
        """The Experiments screen in place of this one."""

    def resume(self, path: Path) -> None:
        """Go on with a half-done record on the Experiments screen."""


class RunsScreen(BenchScreen):
    """A list, and what can be done with one run or several."""

    TABLE = RUNS
    NAME = "Runs"
    BINDINGS = [  # noqa: RUF012
        *bindings([offer.command for offer in RUNS]),
        *move_bindings(PAGE),
        Binding("home", "move(-1000000)", "First", show=False),
        Binding("end", "move(1000000)", "Last", show=False),
    ]

    def __init__(self, use: UseOfRuns) -> None:
        """Read nothing yet.

        Args:
            use: What else a recorded run is good for.
        """
        super().__init__()
        self._use = use
        self.head = BenchBar(later("runs"))
        self.filter = Input(placeholder=tr("words to look for"), id="runs-filter", compact=True)
        self.list = RunsList()
        self.detail = RowsText(lambda _: ())

    def compose(self) -> ComposeResult:
        """Head, filter, list, what is under the cursor, foot."""
        take_size(self)
        yield self.head
        yield self.filter
        yield self.list
        with Vertical(id="runs-detail"):
            yield self.detail
        yield BenchFooter(RUNS, "results")
        yield TooSmall(id="too-small")

    def on_mount(self) -> None:
        """Read the folder, off this thread."""
        self.filter.display = False
        self.list.focus()
        self.head.show(row((tr("every run that was recorded"), "muted")))
        self.look()

    def on_screen_resume(self) -> None:
        """A screen over this one may have changed something."""
        if self.is_mounted:
            self.look()

    def on_bench_screen_listed(self, message: BenchScreen.Listed) -> None:
        """Show what is in the folder."""
        self._show(message.entries)

    def _show(self, entries: Sequence[Entry]) -> None:
        words = self.filter.value
        self.list.show(entries, store.search(entries, words) if words.strip() else entries)
        self._show_detail()

    def _show_detail(self) -> None:
        self.detail.show(partial(detail_rows, self.list.here))

    # --- moving and finding -----------------------------------------------------------------------

    def action_move(self, by: int) -> None:
        """The cursor."""
        self.list.move(by)
        self._show_detail()

    def action_take(self, number: int) -> None:
        """A click puts the cursor there; on the run with the cursor it opens it."""
        again = number == self.list.at
        self.list.at = number
        self.action_move(0)
        if again:
            self.action_open()

    def action_search(self) -> None:
        """Type what to look for."""
        self.filter.display = True
        self.filter.focus()

    def on_input_changed(self, event: Input.Changed) -> None:
        """Each key filters."""
        event.stop()
        if self.list.all is not None:
            self._show(self.list.all)

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """Back to the list, filtered."""
        event.stop()
        self.filter.display = bool(self.filter.value)
        self.list.focus()

    def action_mark(self) -> None:
        """Mark the run with the cursor and go on to the next."""
        self.list.toggle_mark()
        self.action_move(1)

    def action_back(self) -> None:
        """The first that applies."""
        if self.filter.display:
            self.filter.value = ""
            self.filter.display = False
            self.list.focus()
        elif self.list.marks:
            self.list.forget_marks()
        else:
            self.dismiss(None)

    # --- one run --------------------------------------------------------------------------------

    def _here(self) -> Entry | None:
        entry = self.list.here
        if entry is None:
            self.say(tr("There is no run under the cursor."))
        elif entry.broken:
            self.say(f"{entry.path.name}: {entry.broken}", "warning")
            return None
        return entry

    def _under_way(self, entry: Entry) -> bool:
        """Whether a run writes it at this moment, of this kvtui or another: said, where it does."""
        running = entry.unfinished and is_locked(entry.path)
        if running:
            self.say(tr("This run is under way: stop it, or wait for its end."), "warning")
        if running != entry.running:
            self.look()
        return running

    def action_open(self) -> None:
        """Open it as it was."""
        if (entry := self._here()) is not None:
            self.read(partial(recorded.opened, entry.path), self._open)

    def _open(self, found: Any) -> None:
        from kvtui.ui.screens.record import RecordScreen

        self.app.push_screen(RecordScreen(*found, use=self._use))

    def action_export(self) -> None:
        """Write its results to a file."""
        if (entry := self._here()) is not None:
            self.read(partial(recorded.results_in, entry.path), self.export)

    def action_tag(self) -> None:
        """Tags, or ``-word`` to take one away."""
        if (entry := self._here()) is not None:
            self.app.push_screen(run_edits.ask_tags(entry), self._changed)

    def action_note(self) -> None:
        """A note."""
        if (entry := self._here()) is not None:
            self.app.push_screen(run_edits.ask_note(entry), self._changed)

    def action_delete(self) -> None:
        """Delete its file, after a question."""
        entry = self.list.here
        if entry is None or self._under_way(entry):
            return

        def answered(yes: bool | None) -> None:
            if yes and (problem := run_edits.delete(entry)):
                self.say(problem, "error")
            self.look()

        self.app.push_screen(run_edits.ask_delete(entry), answered)

    def _changed(self, text: str | None) -> None:
        if text is not None:
            self.look()

    def action_resume(self) -> None:
        """Go on with it on the Experiments screen."""
        entry = self._here()
        if entry is None:
            return
        if self._under_way(entry):
            return
        if not entry.unfinished:
            self.say(tr("This run came to its end: there is nothing to go on with."))
            return
        self._use.resume(entry.path)

    def action_replay(self) -> None:
        """Play it again on the main screen."""
        entry = self._here()
        if entry is not None:
            self.replay_with(self._use, entry.path)

    def action_experiments(self) -> None:
        """The Experiments screen in place of this one."""
        self._use.open()

    # --- several ----------------------------------------------------------------------------------

    def action_compare(self) -> None:
        """Each marked run with the first of them."""
        paths = list(self.list.marks)
        if len(paths) < 2:
            self.say(
                tr("Mark two runs or more with space: the first is what the others are held to.")
            )
            return
        entries = {entry.path: entry for entry in self.list.all or ()}
        names = [_name(entries[path]) for path in paths]
        self.read(partial(recorded.compared, paths), partial(self._show_compared, names))

    def _show_compared(self, names: Sequence[str], comparisons: Any) -> None:
        from kvtui.ui.screens.record import CompareScreen

        self.app.push_screen(CompareScreen(comparisons, names))


def _name(entry: Entry) -> str:
    tags = "".join(f" #{tag}" for tag in entry.tags)
    place = f"{tr(entry.endpoint)} ▸ {entry.model or '—'}"
    return f"{when_of(entry.when)}  {entry.preset}  {place}{tags}"
