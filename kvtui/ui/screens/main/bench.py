"""What the main screen does for experiments and runs, as a mixin."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kvtui.language import tr
from kvtui.ui.messages import EndpointReady, ExperimentOver, OpeningFailed

if TYPE_CHECKING:
    from pathlib import Path

    from textual.app import App
    from textual.message import Message
    from textual.screen import Screen
    from textual.timer import Timer

    from kvtui.ui.endpoint.server import ServerWatch
    from kvtui.ui.experiments.lab import Lab
    from kvtui.ui.memory import MemoryView
    from kvtui.ui.screens.experiments import ExperimentsScreen
    from kvtui.ui.state import ServerKV
    from kvtui.ui.stream.conductor import Conductor
    from kvtui.ui.widgets.bars import HeaderBar

MARK_S = 1.0


class BenchActions:
    """Opens the screens, marks a run that goes on behind, keeps a stream from disturbing it."""

    if TYPE_CHECKING:
        app: App[Any]
        conductor: Conductor | None
        header: HeaderBar
        memory: MemoryView | None
        server: ServerWatch | None
        server_kv: ServerKV | None
        endpoint_known: bool

        # Of the screen's other half:
        # ruff: noqa: D102
        def say(self, sentence: str, severity: Any = "information") -> None: ...
        def post_message(self, message: Message) -> bool: ...

    lab: Lab | None = None
    """What experiments are there; made when they are first asked for."""
    _mark_timer: Timer | None = None

    def action_experiments(self) -> None:
        """The Experiments screen."""
        self._open_experiments()

    def _open_experiments(self) -> ExperimentsScreen | None:
        """It alone over this screen: the one that is open already, or a new one."""
        lab = self._lab()
        if lab is None:
            return None
        from kvtui.ui.screens.experiments import ExperimentsScreen

        opened = [each for each in self.app.screen_stack if isinstance(each, ExperimentsScreen)]
        self._lay_open(opened[0] if opened else None)
        if opened:
            return opened[0]
        screen = ExperimentsScreen(lab)
        self.app.push_screen(screen)
        return screen

    def _lay_open(self, screen: Screen[Any] | None = None) -> None:
        """Close what lies over a screen; over this one where none is named."""
        below: Any = self if screen is None else screen
        while self.app.screen is not below:
            self.app.pop_screen()

    def action_runs(self) -> None:
        """The Runs screen."""
        from kvtui.ui.screens.runs import RunsScreen

        self.app.push_screen(RunsScreen())

    def resume_run(self, record: Any) -> None:
        """Go on with a half-done record on the Experiments screen."""
        screen = self._open_experiments()
        if screen is None or self.lab is None:
            return
        if problem := self.lab.why_not():
            self.say(problem, "warning")
        else:
            screen.call_after_refresh(screen.resume, record)

    def replay_run(self, path: Path) -> str:
        """Play a recorded run again here, uncovered; returns why it cannot be, or nothing."""
        if self.conductor is None:
            return tr("One moment: kvtui is still starting.")
        if self.conductor.running or (self.lab is not None and self.lab.running):
            return tr("Something is running: stop it first.")
        from kvtui.bench.records.record import RecordError
        from kvtui.bench.records.replay import Replay
        from kvtui.ui.opening import replay_instead

        app: Any = self.app
        try:
            replay = Replay.read(path, None, 1.0)
        except RecordError as error:
            return str(error)
        self.endpoint_known = False
        self.server_kv = None
        if self.server is not None:
            self.server.stop()
        if self.memory is not None:
            self.memory.forget_endpoint()
        self._lay_open()
        replay_instead(app, replay)
        self.say(tr("A recorded run is played again, nothing is sent: E goes back to an endpoint."))
        return ""

    async def take_endpoint(self, choice: str) -> None:
        """Another endpoint, unless an experiment runs on this one."""
        if self.lab is not None and self.lab.running:
            self.say(tr("An experiment is running on this endpoint: x shows it, esc stops it."))
            return
        await super().take_endpoint(choice)  # type: ignore[misc]

    def action_run(self) -> None:
        """Send the prompt, unless an experiment would measure it too."""
        if self.lab is not None and self.lab.running:
            self.say(
                tr("An experiment is running and would measure this too: x shows it."), "warning"
            )
            return
        super().action_run()  # type: ignore[misc]

    def _lab(self) -> Lab | None:
        if self.lab is None:
            if self.conductor is None:
                self.say(tr("One moment: kvtui is still starting."))
                return None
            from kvtui.ui.experiments.lab import Lab

            options = getattr(self.app, "options", {})
            self.lab = Lab(self.conductor, options, lambda: self.post_message(ExperimentOver()))
        return self.lab

    def on_endpoint_ready(self, message: EndpointReady) -> None:  # noqa: ARG002
        """Beside what the screen itself does: the Experiments screen may have waited for it."""
        self._tell_experiments()

    def on_opening_failed(self, message: OpeningFailed) -> None:  # noqa: ARG002
        """The same where there is none."""
        self._tell_experiments()

    def _tell_experiments(self) -> None:
        if self.lab is None:
            return
        from kvtui.ui.screens.experiments import ExperimentsScreen

        for screen in self.app.screen_stack:
            if isinstance(screen, ExperimentsScreen):
                screen.endpoint_changed()

    def watch_experiment(self) -> None:
        """A run began: the header says how far it is, once a second, until it is over."""
        if self._mark_timer is None:
            self._mark_timer = self.app.set_interval(MARK_S, self._mark)
        self._mark()

    def on_experiment_over(self) -> None:
        """A run ended: its screen shows it, or a notice says so."""
        from kvtui.ui.screens.experiments import ExperimentsScreen

        self._mark()
        watching = [s for s in self.app.screen_stack if isinstance(s, ExperimentsScreen)]
        for screen in watching:
            screen.tick()
        experiment = None if self.lab is None else self.lab.experiment
        if experiment is not None and not watching:
            self.say(
                experiment.trouble
                or tr("{preset} is over: x shows it.", preset=experiment.workload.preset)
            )

    def _mark(self) -> None:
        from kvtui.ui.draw.experiments import mark_of

        if self.lab is None or self.lab.experiment is None or not self.lab.running:
            self.header.experiment = ""
            if self._mark_timer is not None:
                self._mark_timer.stop()
                self._mark_timer = None
            return
        experiment = self.lab.experiment
        self.header.experiment = mark_of(experiment.state(), experiment.workload.preset)
