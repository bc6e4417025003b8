"""What the screens of experiments and runs share: sizes, a table of commands, help, palette."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, TypeVar

from textual.message import Message

from kvtui.bench.records.schema import RecordError
from kvtui.language import tr
from kvtui.text import one_line
from kvtui.ui.commands import shown_key
from kvtui.ui.experiments import recorded
from kvtui.ui.experiments.keys import LEGEND, Mode, Offer, commands_in
from kvtui.ui.layout.sizes import HEIGHTS, WIDTHS
from kvtui.ui.look.rows import left
from kvtui.ui.terminal.paint import PaintedWhereSeen

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from textual.events import ScreenResume

    from kvtui.bench.evaluation.results import Results
    from kvtui.bench.records.entries import Entry
    from kvtui.bench.records.replay import Replay
    from kvtui.ui.widgets.bench_panes import BenchBar


_T = TypeVar("_T")


class UseOfReplay(Protocol):
    """Where a recorded run is played again."""

    def why_no_replay(self) -> str:
        """Why nothing can be played now, one sentence; empty where it can."""

    def replay(self, replay: Replay) -> None:
        """Play it on the main screen."""


class BenchScreen(PaintedWhereSeen[None]):
    """Subclasses name their ``TABLE`` and bind it, and have a ``head``."""

    CSS_PATH = "../experiments.tcss"
    HORIZONTAL_BREAKPOINTS = WIDTHS
    VERTICAL_BREAKPOINTS = HEIGHTS
    TABLE: ClassVar[Sequence[Offer]] = ()
    NAME: ClassVar[str] = ""
    mode: Mode = "results"
    head: BenchBar
    reading = False
    """Something is read off this thread: what is asked for meanwhile is not begun again."""
    _been_shown = False

    def _on_screen_resume(self, event: ScreenResume) -> None:
        """Its widgets have just been styled when it opens: a quarter of what opening costs."""
        event.refresh_styles = self._been_shown
        self._been_shown = True

    class Listed(Message):
        """The folder of records was read."""

        def __init__(self, entries: Sequence[Entry]) -> None:
            super().__init__()
            self.entries = tuple(entries)

    def read(
        self,
        read: Callable[[], _T],
        then: Callable[[_T], object],
        *,
        always: bool = False,
        severity: Any = "warning",
        failed: Callable[[], object] = lambda: None,
    ) -> None:
        """Read off this thread, then go on here; one thing at a time, which the head says.

        Args:
            read: Blocks; a ``RecordError`` or ``ValueError`` of it is said.
            then: Called on this thread with what was read.
            always: Whether that is so also when this screen was left meanwhile.
            severity: Of what is said where it fails.
            failed: Called on this thread where it fails.
        """
        if self.reading:
            return

        def ended(go_on: Callable[[], object], *, wanted: bool) -> None:
            self._read_ended()
            if wanted or self.is_attached:
                go_on()

        def work() -> None:
            try:
                value = read()
            except (RecordError, ValueError, OSError) as error:
                said = str(error)

                def say() -> None:
                    failed()
                    self.say(said, severity)

                self.app.call_from_thread(ended, say, wanted=True)
                return
            self.app.call_from_thread(ended, lambda: then(value), wanted=always)

        self.reading = True
        self.head.set_reading(True)
        self.run_worker(work, thread=True, group="read", exit_on_error=False)

    def _read_ended(self) -> None:
        self.reading = False
        self.head.set_reading(False)

    def replay_with(self, use: UseOfReplay, path: Path) -> None:
        """Read a record and have it played again on the main screen."""
        if problem := use.why_no_replay():
            self.say(problem, "warning")
            return
        self.read(partial(recorded.replayed, path), use.replay)

    def look(self) -> None:
        """Read the folder of records off this thread; ``Listed`` follows."""
        self.run_worker(self._look, thread=True, exclusive=True, exit_on_error=False)

    def _look(self) -> None:
        from kvtui.bench.records.store import list_runs

        try:
            entries = list_runs()
        except RecordError as error:
            entries = []
            self.app.call_from_thread(self.say, str(error), "warning")
        self.post_message(self.Listed(entries))

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """A key counts where its command means something."""
        if action not in {offer.command.name.partition("(")[0] for offer in self.TABLE}:
            return True
        name = f"{action}({parameters[0]})" if parameters else action
        return name in {command.name for command in commands_in(self.TABLE, self.mode)}

    def action_help(self) -> None:
        """Every key."""
        from kvtui.ui.screens.help import HelpScreen

        commands = [offer.command for offer in self.TABLE]
        self.app.push_screen(HelpScreen(commands=commands, legend=LEGEND))

    def action_palette(self) -> None:
        """Find a command by typing."""
        from kvtui.ui.screens.picker import PickerScreen

        items = [
            (
                command.name,
                f"{left(tr(command.label), 12)} {tr(command.help)}",
                shown_key(command.keys[0]),
            )
            for command in commands_in(self.TABLE, self.mode)
            if command.name != "palette"
        ]

        async def chosen(value: str | None) -> None:
            if value is not None:
                await self.app.run_action(f"screen.{value}")

        self.app.push_screen(PickerScreen(self.NAME, items), chosen)

    def export(self, results: Results) -> None:
        """Ask for a form and a file name, and write it."""
        from kvtui.bench.export.forms import ABOUT
        from kvtui.ui.screens.picker import PickerScreen

        items = [(shape, shape, tr(about)) for shape, about in ABOUT.items()]

        def chosen(shape: str | None) -> None:
            if shape is not None:
                self._name_file(results, shape)

        self.app.push_screen(PickerScreen(tr("Export as"), items), chosen)

    def _name_file(self, results: Results, shape: str) -> None:
        from pathlib import Path

        from kvtui.bench.export.forms import SUFFIXES, write_export
        from kvtui.ui.screens.ask import AskScreen

        def take(name: str) -> str:
            if not name.strip():
                return tr("A file needs a name.")
            try:
                write_export(results, shape, Path(name.strip()).expanduser())
            except RecordError as error:
                return str(error)
            return ""

        def named(name: str | None) -> None:
            if name is not None:
                self.say(tr("Written: {path}", path=Path(name.strip()).expanduser()))

        proposed = results.record.path.stem + SUFFIXES[shape]
        hint = tr("The file is made in {folder} unless a folder is named.", folder=Path.cwd())
        self.app.push_screen(
            AskScreen(tr("Export as {shape}", shape=shape), hint, proposed, take), named
        )

    def say(self, sentence: str, severity: Any = "information") -> None:
        """A notice; never markup."""
        self.notify(one_line(sentence, 400), severity=severity, markup=False, timeout=6)
