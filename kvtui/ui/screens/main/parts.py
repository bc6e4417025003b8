"""The main screen's parts, each given what it needs, and the command table carried out by them."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from kvtui.ui.messages import ExperimentOver
from kvtui.ui.screens.main.advice import Advice
from kvtui.ui.screens.main.answer import Answer
from kvtui.ui.screens.main.dialogs import Dialogs
from kvtui.ui.screens.main.endpoints import Endpoints
from kvtui.ui.screens.main.experiments import Experiments
from kvtui.ui.screens.main.failures import Failures
from kvtui.ui.screens.main.frames import Frames
from kvtui.ui.screens.main.memory_choices import MemoryChoices
from kvtui.ui.screens.main.overview import Overview
from kvtui.ui.screens.main.pane_places import PanePlaces
from kvtui.ui.screens.main.presenting import Presenter
from kvtui.ui.screens.main.prompts import Prompts
from kvtui.ui.screens.main.requests import Requests
from kvtui.ui.screens.main.server_figures import ServerFigures
from kvtui.ui.screens.main.settings import SettingsTaker

if TYPE_CHECKING:
    from collections.abc import Callable

    from kvtui.ui.look.veil import Veil
    from kvtui.ui.screens.main.opened import Opened
    from kvtui.ui.screens.main.shell import Say, Shell
    from kvtui.ui.screens.main.stage import Stage
    from kvtui.ui.stream.frame import Frame


class Parts:
    """One part for each subject; this is where they are made, and where they meet."""

    def __init__(
        self,
        stage: Stage,
        opened: Opened,
        shell: Shell,
        say: Say,
        *,
        fps: int,
        show_frame: Callable[[Frame], None],
        show_endpoint: Callable[[], None],
    ) -> None:
        """Make them; nothing happens yet.

        Args:
            stage: The panes that they draw on.
            opened: What they share.
            shell: The app around the screen.
            say: Shows a notice.
            fps: Frames a second while something runs.
            show_frame: Hands a frame to the panes.
            show_endpoint: Draws what is known of the endpoint.
        """

        def hide(veil: Veil | None) -> None:
            stage.errors.veil = veil
            shell.hide_names(veil)

        def enlarge(large: bool) -> None:
            stage.enlarge(large)
            show_endpoint()

        options = shell.options
        dialogs = self.dialogs = Dialogs(shell, stage)
        self.prompts = Prompts(opened, shell.remembered)
        self.presenter = Presenter(opened, hide=hide, enlarge=enlarge)
        self.advice = Advice(opened, stage.advice_line, dialogs, say, stage.post_message)
        self.memory = MemoryChoices(
            opened, stage.memory_pane, dialogs, say, chosen=self.advice.on_choice
        )
        self.server = ServerFigures(opened, later=stage.set_timer, changed=self.memory.show)
        every = partial(stage.set_interval, pause=True)
        self.frames = Frames(opened, self.server, fps=fps, every=every, show=show_frame)
        self.endpoints = Endpoints(
            opened,
            self.memory,
            self.presenter,
            dialogs,
            say,
            options,
            show=show_endpoint,
            tick=self.frames.tick,
        )
        self.requests = Requests(
            opened,
            stage.stream,
            self.frames,
            self.endpoints,
            self.memory,
            self.prompts,
            dialogs,
            say,
        )
        self.answer = Answer(opened, stage.stream, stage.memory_pane, dialogs, say)
        self.failures = Failures(opened, stage.errors, self.presenter, dialogs, say, options)
        self.experiments = Experiments(
            opened,
            shell,
            stage.header,
            dialogs,
            say,
            on_over=lambda: stage.post_message(ExperimentOver()),
        )
        self.places = PanePlaces(
            stage.panes,
            stage.tabs,
            shell.remembered,
            one_fits=stage.one_pane_fits,
            mark=stage.mark_zoomed,
        )
        self.settings = SettingsTaker(
            opened,
            shell,
            self.memory,
            self.requests,
            self.prompts,
            dialogs,
            say,
            set_fps=self.frames.set_fps,
        )
        self.overview = Overview(opened, shell, dialogs, say)

    def actions(self) -> dict[str, Callable[..., Any]]:
        """The commands of the table, and the part that carries out each."""
        return {
            "run": self.requests.run,
            "stop": self.requests.stop,
            "cache": self.requests.cache,
            "profile": self.endpoints.choose,
            "endpoint_model": self.requests.choose_model,
            "experiments": self.experiments.open,
            "runs": self.experiments.open_runs,
            "chart": self.answer.next_chart,
            "hold": self.requests.hold,
            "follow": self.answer.follow,
            "copy_answer": self.answer.copy,
            "save": self.answer.save,
            "search": self.answer.search,
            "next_match": self.answer.next_match,
            "previous_match": self.answer.previous_match,
            "tint": self.answer.tint,
            "rendered": self.answer.render,
            "formulas": self.answer.formulas,
            "card": self.memory.card,
            "model": self.memory.model,
            "precision": self.memory.precision,
            "weights": self.memory.weights,
            "context": self.memory.context,
            "users": self.memory.users,
            "as_if": self.memory.as_if,
            "planner": partial(self.memory.planner, self.requests.stop),
            "body": self.failures.open,
            "copy_failure": self.failures.copy,
            "copy_curl": self.failures.copy_curl,
            "copy_report": self.failures.copy_report,
            "older": self.failures.older,
            "newer": self.failures.newer,
            "doctor": self.failures.examine,
            "why": self.advice.why,
            "zoom": self.places.zoom,
            "split": self.places.split,
            "split_reset": self.places.reset,
            "presenter": self.presenter.toggle,
            "theme": self.overview.theme,
            "tour": self.overview.tour,
            "settings": self.settings.open,
            "help": self.overview.help,
            "palette": self.overview.palette,
            "suspend": self.overview.suspend,
            "quit": self.overview.quit,
        }
