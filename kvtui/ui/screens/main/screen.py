"""The main screen: three panes, and who does what for each command of the table."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from kvtui.language import tr
from kvtui.ui.commands import bindings
from kvtui.ui.layout.sizes import HEIGHTS, WIDTHS, take_size
from kvtui.ui.messages import (
    ConductorReady,
    EndpointReady,
    ExperimentOver,
    FileWanted,
    FormSubmitted,
    MemoryReady,
    OpeningFailed,
    ServerSaid,
    ServersCardFound,
    SessionReady,
)
from kvtui.ui.screens.main.advice import Advice
from kvtui.ui.screens.main.answer import Answer
from kvtui.ui.screens.main.dialogs import Dialogs
from kvtui.ui.screens.main.endpoints import Endpoints
from kvtui.ui.screens.main.experiments import Experiments
from kvtui.ui.screens.main.failures import Failures
from kvtui.ui.screens.main.frames import Frames
from kvtui.ui.screens.main.memory_choices import MemoryChoices
from kvtui.ui.screens.main.opened import Opened
from kvtui.ui.screens.main.overview import Overview
from kvtui.ui.screens.main.pane_places import PanePlaces
from kvtui.ui.screens.main.presenting import Presenter
from kvtui.ui.screens.main.prompts import Prompts
from kvtui.ui.screens.main.requests import Requests
from kvtui.ui.screens.main.server_figures import ServerFigures
from kvtui.ui.screens.main.settings import SettingsTaker
from kvtui.ui.terminal.paint import PaintedWhereSeen, paint_cells
from kvtui.ui.widgets.advice_line import AdviceLine
from kvtui.ui.widgets.bars import FooterBar, HeaderBar, TabsBar
from kvtui.ui.widgets.lines import LinesWidget
from kvtui.ui.widgets.panes import ErrorsPane, MemoryPane
from kvtui.ui.widgets.split_panes import SplitPanes
from kvtui.ui.widgets.stream_pane import StreamPane
from kvtui.ui.widgets.text_view import TextView
from kvtui.ui.widgets.too_small import TooSmall

if TYPE_CHECKING:
    from collections.abc import Callable

    from textual.app import ComposeResult

    from kvtui.ui.look.veil import Veil
    from kvtui.ui.memory import MemoryView
    from kvtui.ui.screens.main.shell import Severity, Shell
    from kvtui.ui.stream.conductor import Conductor
    from kvtui.ui.stream.frame import Frame


class MainScreen(PaintedWhereSeen[None]):
    """Arranges the panes, feeds them frame by frame, and has commands and messages carried out."""

    BINDINGS = bindings()
    HORIZONTAL_BREAKPOINTS = WIDTHS
    VERTICAL_BREAKPOINTS = HEIGHTS

    def __init__(self, shell: Shell, *, fps: int = 30) -> None:
        """Panes without content: that comes by messages.

        Args:
            shell: The app around the screen.
            fps: Frames a second while something runs.
        """
        super().__init__()
        paint_cells(self)
        self.shell = shell
        self.opened = Opened()
        self.header = HeaderBar(id="header")
        self.tabs = TabsBar(id="tabs")
        self.stream = StreamPane(id="stream")
        self.memory_pane = MemoryPane(id="memory")
        self.errors = ErrorsPane(id="errors")
        self.panes = SplitPanes(self.stream, self.memory_pane, self.errors)
        self.advice_line = AdviceLine(id="advice")
        self.footer = FooterBar(id="footer")
        self._appoint(fps)
        self._actions = self.actions()
        for name, act in self._actions.items():
            setattr(self, f"action_{name}", act)  # the name by which Textual finds an action

    def _appoint(self, fps: int) -> None:
        """Make the collaborators and give each what it needs."""
        opened, shell, say = self.opened, self.shell, self.say
        self.dialogs = dialogs = Dialogs(shell, self)
        self.presenter = Presenter(opened, hide=self._hide, enlarge=self._enlarge)
        self.advice = Advice(opened, self.advice_line, dialogs, say, self.post_message)
        self.memory_choices = MemoryChoices(
            opened, self.memory_pane, dialogs, say, chosen=self.advice.on_choice
        )
        self.server = ServerFigures(opened, later=self.set_timer, changed=self.memory_choices.show)
        self.frames = Frames(
            opened,
            self.server,
            fps=fps,
            every=partial(self.set_interval, pause=True),
            show=self.show_frame,
        )
        self.endpoints = Endpoints(
            opened,
            self.memory_choices,
            self.presenter,
            dialogs,
            say,
            shell.options,
            show=self.show_endpoint,
            tick=self.frames.tick,
        )
        self.prompts = Prompts(opened, shell.remembered)
        self.requests = Requests(
            opened,
            self.stream,
            self.frames,
            self.endpoints,
            self.memory_choices,
            self.prompts,
            dialogs,
            say,
        )
        self.answer = Answer(opened, self.stream, self.memory_pane, dialogs, say)
        self.failures = Failures(opened, self.errors, self.presenter, dialogs, say, shell.options)
        self.experiments = Experiments(
            opened,
            shell,
            self.header,
            dialogs,
            say,
            on_over=lambda: self.post_message(ExperimentOver()),
        )
        self.pane_places = PanePlaces(
            self.panes,
            self.tabs,
            shell.remembered,
            one_fits=lambda: self.has_class("-w-tabs") or self.has_class("-h-tabs"),
            mark=self._mark_zoomed,
        )
        self.settings = SettingsTaker(
            opened,
            shell,
            self.memory_choices,
            self.requests,
            self.prompts,
            dialogs,
            say,
            set_fps=self.frames.set_fps,
        )
        self.overview = Overview(opened, shell, dialogs, say)

    def actions(self) -> dict[str, Callable[..., Any]]:
        """Each command of the table, and who carries it out."""
        return {
            "run": self.requests.run,
            "stop": self.requests.stop,
            "back": self.back,
            "edit": self.edit,
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
            "card": self.memory_choices.card,
            "model": self.memory_choices.model,
            "precision": self.memory_choices.precision,
            "weights": self.memory_choices.weights,
            "context": self.memory_choices.context,
            "users": self.memory_choices.users,
            "as_if": self.memory_choices.as_if,
            "planner": partial(self.memory_choices.planner, self.requests.stop),
            "body": self.failures.open,
            "copy_failure": self.failures.copy,
            "copy_curl": self.failures.copy_curl,
            "copy_report": self.failures.copy_report,
            "older": self.failures.older,
            "newer": self.failures.newer,
            "doctor": self.failures.examine,
            "why": self.advice.why,
            "zoom": self.pane_places.zoom,
            "split": self.pane_places.split,
            "split_reset": self.pane_places.reset,
            "presenter": self.presenter.toggle,
            "theme": self.overview.theme,
            "tour": self.overview.tour,
            "settings": self.settings.open,
            "help": self.overview.help,
            "palette": self.overview.palette,
            "suspend": self.overview.suspend,
            "quit": self.overview.quit,
        }

    @property
    def conductor(self) -> Conductor | None:
        """What runs requests; None until it is imported, a moment after the first frame."""
        return self.opened.conductor

    @property
    def memory(self) -> MemoryView | None:
        """The choices of the Memory pane; None until the catalogue is read."""
        return self.opened.memory

    # --- the panes ------------------------------------------------------------------------------

    def compose(self) -> ComposeResult:
        """Header, panes, footer."""
        take_size(self)
        yield self.header
        yield self.tabs
        yield self.panes
        yield self.advice_line
        yield self.footer
        yield TooSmall(id="too-small")

    def on_mount(self) -> None:
        """The focus begins in the Stream pane; nothing ticks while nothing runs."""
        self.frames.mount()
        self.pane_places.mount()
        self.stream.text.focus()
        if self.shell.options.get("presenter"):
            self.presenter.toggle()

    def on_unmount(self) -> None:
        """The server is asked no more."""
        self.server.stop()

    def show_frame(self, frame: Frame) -> None:
        """Hand the frozen states to the panes; each draws only what changed."""
        self.stream.show_frame(frame)
        self.header.phase = frame.stream.snapshot.phase
        self.memory_choices.show_tokens(frame.live_tokens)
        for note in frame.notes:
            self.say(note)
        self.advice.on_frame(frame)
        self.paint_now()
        conductor = self.conductor
        if conductor is None or (frame.running and not (frame.finished or frame.began)):
            return
        self.presenter.renew()  # a failure may name another host
        self.errors.state = conductor.errors
        if conductor.trouble:
            self.say(conductor.trouble, "error")
            conductor.trouble = ""
        if frame.finished and not frame.running:
            self.server.run_ended()
        if frame.finished and conductor.engine_lost:
            self.endpoints.restart_engine()

    def show_endpoint(self) -> None:
        """Draw what is known of the endpoint."""
        if self.conductor is None:
            return
        self.presenter.renew()
        view = self.presenter.endpoint(self.conductor.endpoint)
        self.header.endpoint = view
        self.footer.embedded = view.embedded
        self.stream.set_endpoint(view)
        self.errors.state = self.conductor.errors

    def _hide(self, veil: Veil | None) -> None:
        self.errors.veil = veil
        self.shell.hide_names(veil)

    def _enlarge(self, large: bool) -> None:
        self.set_class(large, "-presenter")
        self.stream.figures.presenter = large
        self.footer.presenter = large
        self.show_endpoint()

    def _mark_zoomed(self, number: int) -> None:
        for each in (1, 2, 3):
            self.set_class(each == number, f"-zoom-{each}")

    def refresh_language(self) -> None:
        """Draw what stands there already in the language in use."""
        for pane in (self.memory_pane, self.errors, self.stream):
            pane.retitle()
        for widget in self.query(LinesWidget):
            widget.redraw()

    def say(self, sentence: str, severity: Severity = "information") -> None:
        """A notice on the screen; never markup, with nothing secret in it."""
        from kvtui.text import one_line, redact

        said = redact(self.presenter.text(sentence), self.opened.api_key)
        self.notify(one_line(said, 400), severity=severity, markup=False, timeout=8)

    # --- commands that concern several panes ----------------------------------------------------

    async def back(self) -> None:
        """Esc: the first that applies. Dialogs are screens of their own and close themselves."""
        if self.stream.editor is not None:
            self.stream.editor.submit(run=False)
        elif self.stream.search is not None:
            await self.stream.close_search()
        elif self.stream.answer is not None:
            await self.stream.close_answer()
        elif not self.requests.stop_if_any() and self.pane_places.zoomed:
            self.pane_places.zoom(self.pane_places.zoomed)

    def interrupt(self) -> bool:
        """Ctrl+C: stop what runs; whether anything did."""
        return self.requests.stop_if_any()

    async def edit(self) -> None:
        """Edit the prompt in place."""
        if self.conductor is not None and self.pane_places.zoomed > 1:
            self.pane_places.zoom(1)
        await self.requests.edit()

    # --- what the opening found -----------------------------------------------------------------

    def on_conductor_ready(self, message: ConductorReady) -> None:
        """Everything is imported: draw the panes."""
        conductor = self.opened.conductor = message.conductor
        self.opened.sessions = message.sessions
        if message.fps not in (None, self.frames.fps):
            self.frames.set_fps(message.fps)
        if message.keeps_prompts is not None:
            self.prompts.let_be_kept(message.keeps_prompts)
        # Where frames are few, so that a link carries little, figures come with every second one.
        conductor.figures_s = max(conductor.figures_s, 1.9 / self.frames.fps)
        self.stream.prompt.form = conductor.form
        self.stream.figures.state = conductor.stream
        self.show_endpoint()

    def on_memory_ready(self, message: MemoryReady) -> None:
        """Catalogue and cards are there."""
        self.opened.memory = message.view
        self.memory_choices.introduce_model()
        self.memory_choices.show()
        for problem in message.problems:
            self.say(problem, "warning")

    def on_session_ready(self, message: SessionReady) -> None:
        """The session's thread runs."""
        if self.conductor is not None:
            self.conductor.session = message.session
        if message.server is not None:
            self.opened.server = message.server

    def on_endpoint_ready(self, message: EndpointReady) -> None:
        """The endpoint is known."""
        conductor = self.conductor
        if conductor is None:
            return
        asked = conductor.waiting
        conductor.endpoint_ready(message.prepared)
        self.opened.endpoint_known = True
        self.opened.server_kv = None  # another server's, until this one has been asked
        self.memory_choices.introduce_model()
        self.advice.forget()
        self.show_endpoint()
        self.memory_choices.show()
        self.server.watch_unbidden()
        if conductor.failures.counting:
            self.frames.begin()
        for note in message.prepared.notes:
            if not message.prepared.endpoint.embedded:
                self.say(note)
        self.requests.endpoint_ready(asked=asked)
        self._endpoint_settled()

    def on_opening_failed(self, message: OpeningFailed) -> None:
        """The endpoint cannot be used; the screen stays, the sentence is shown."""
        if self.conductor is not None:
            self.conductor.opening_failed(message.sentence)
        self.opened.endpoint_known = True
        self.show_endpoint()
        self.memory_choices.show()
        if len(self.stream.text.history):  # else the sentence stands where the text would
            self.say(message.sentence, "error")
        self._endpoint_settled()

    def _endpoint_settled(self) -> None:
        """It is known who answers, or that nobody does: the Experiments screen hears of it.

        A tour that was asked for begins now, so that an engine is shared.
        """
        self.experiments.endpoint_changed()
        if self.shell.options.pop("tour", False):
            self.call_next(self.overview.tour)

    # --- other messages -------------------------------------------------------------------------

    def on_server_said(self, message: ServerSaid) -> None:
        """The server's own figure stands beside ours."""
        self.server.said(message.kv)

    def on_servers_card_found(self, message: ServersCardFound) -> None:
        """The adviser learns which card the server runs on."""
        self.advice.card_found(message)

    def on_experiment_over(self) -> None:
        """A run of experiments ended."""
        self.experiments.over()

    async def on_form_submitted(self, message: FormSubmitted) -> None:
        """The editor hands its form over."""
        self.requests.take_form(message.form)
        await self.stream.close_editor()
        if message.run:
            self._actions["run"]()

    def on_file_wanted(self, message: FileWanted) -> None:
        """A file is chosen over the screen, and its text goes to whoever asked."""
        from kvtui.ui.screens.file_picker import FilePickerScreen

        self.dialogs.open(FilePickerScreen("Prompt from a file"), message.take)

    def on_paste(self) -> None:
        """Text pasted where no field is: it is no row of keys."""
        self.say(tr("Pasted text goes into a field: e edits the prompt, ^o there reads a file."))

    def on_text_view_following(self, message: TextView.Following) -> None:
        """Say when the text is not followed."""
        self.stream.prompt.paused = not message.following

    def on_split_panes_zoomed(self, message: SplitPanes.Zoomed) -> None:
        """A double click on a pane."""
        self.pane_places.zoom(message.number)

    def on_split_panes_moved(self) -> None:
        """Where the borders stand is remembered."""
        self.pane_places.remember()
