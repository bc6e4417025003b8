"""Experiments and recorded runs: their screens, and a run that goes on behind the panes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kvtui.language import tr

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from textual.timer import Timer

    from kvtui.bench.records.replay import Replay
    from kvtui.ui.experiments.lab import Lab
    from kvtui.ui.screens.experiments import ExperimentsScreen
    from kvtui.ui.screens.main.dialogs import Dialogs
    from kvtui.ui.screens.main.opened import Opened
    from kvtui.ui.screens.main.shell import Say, Shell
    from kvtui.ui.widgets.bars import HeaderBar

MARK_S = 1.0


class Experiments:
    """Opens the screens, marks a run that goes on behind, has a recorded one played again."""

    def __init__(
        self,
        opened: Opened,
        shell: Shell,
        header: HeaderBar,
        dialogs: Dialogs,
        say: Say,
        *,
        on_over: Callable[[], object],
    ) -> None:
        """Nothing is run before the lab is asked for.

        Args:
            opened: Holds the lab, and what it measures.
            shell: Options, and a timer that ticks under any screen.
            header: Shows how far a run is.
            dialogs: Show the screens.
            say: Says why nothing can be run.
            on_over: Told when a run has ended, on the run's thread.
        """
        self._opened = opened
        self._shell = shell
        self._header = header
        self._dialogs = dialogs
        self._say = say
        self._on_over = on_over
        self._timer: Timer | None = None

    # --- screens --------------------------------------------------------------------------------

    def open(self) -> None:
        """The Experiments screen."""
        self._open()

    def _open(self) -> ExperimentsScreen | None:
        """It alone over the panes: the one that is open already, or a new one."""
        lab = self._lab()
        if lab is None:
            return None
        from kvtui.ui.screens.experiments import ExperimentsScreen

        there = self._dialogs.opened(ExperimentsScreen)
        self._dialogs.lay_open(there[0] if there else None)
        if there:
            return there[0]
        screen = ExperimentsScreen(lab, self.open_runs)
        self._dialogs.open(screen)
        return screen

    def _lab(self) -> Lab | None:
        if self._opened.lab is None:
            if self._opened.conductor is None:
                self._say(tr("One moment: kvtui is still starting."))
                return None
            from kvtui.ui.experiments.lab import Lab

            self._opened.lab = Lab(
                self._opened.conductor,
                self._shell.options,
                on_begin=self._watch,
                on_over=self._on_over,
            )
        return self._opened.lab

    def open_runs(self) -> None:
        """The Runs screen."""
        from kvtui.ui.screens.runs import RunsScreen

        self._dialogs.open(RunsScreen(self))

    # --- what a recorded run can be used for ------------------------------------------------------

    def resume(self, path: Path) -> None:
        """Go on with a half-done record on the Experiments screen."""
        screen, lab = self._open(), self._opened.lab
        if screen is None or lab is None:
            return
        if problem := lab.why_not():
            self._say(problem, "warning")
        else:
            screen.call_after_refresh(screen.resume, path)

    def why_no_replay(self) -> str:
        """Why no recorded run can be played now, one sentence; empty where one can."""
        opened = self._opened
        if opened.conductor is None or opened.sessions is None:
            return tr("One moment: kvtui is still starting.")
        if opened.running or opened.experimenting:
            return tr("Something is running: stop it first.")
        return ""

    def replay(self, replay: Replay) -> None:
        """Play a recorded run again here, uncovered."""
        opened = self._opened
        if problem := self.why_no_replay():  # it has begun while the record was read
            self._say(problem, "warning")
            return
        assert opened.sessions is not None
        opened.leave_endpoint()
        self._dialogs.lay_open()
        opened.sessions.replay_instead(replay)
        self._say(
            tr("A recorded run is played again, nothing is sent: esc goes back to the endpoint.")
        )

    # --- a run behind the panes -------------------------------------------------------------------

    def endpoint_changed(self) -> None:
        """The Experiments screen may have waited for it."""
        if self._opened.lab is None:
            return
        from kvtui.ui.screens.experiments import ExperimentsScreen

        for screen in self._dialogs.opened(ExperimentsScreen):
            screen.endpoint_changed()

    def _watch(self) -> None:
        """A run began: the header says how far it is, once a second, until it is over."""
        if self._timer is None:
            self._timer = self._shell.set_interval(MARK_S, self.mark)
        self.mark()

    def over(self) -> None:
        """A run ended: its screen shows it, or a notice says so."""
        from kvtui.ui.screens.experiments import ExperimentsScreen

        self.mark()
        watching = self._dialogs.opened(ExperimentsScreen)
        for screen in watching:
            screen.tick()
        experiment = None if self._opened.lab is None else self._opened.lab.experiment
        if experiment is not None and not watching:
            self._say(
                experiment.trouble
                or tr("{preset} is over: x shows it.", preset=experiment.workload.preset)
            )

    def mark(self) -> None:
        """Show how far the run is, or no more that one runs."""
        from kvtui.ui.draw.experiments import mark_of

        lab = self._opened.lab
        if lab is None or lab.experiment is None or not lab.running:
            self._header.experiment = ""
            if self._timer is not None:
                self._timer.stop()
                self._timer = None
            return
        self._header.experiment = mark_of(lab.experiment.state(), lab.experiment.workload.preset)
