"""The main screen: what is shown on its panes, and which part carries out what it is told."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kvtui.language import tr
from kvtui.ui.commands import bindings
from kvtui.ui.messages import (
    ConductorReady,
    EndpointReady,
    FileWanted,
    FormSubmitted,
    MemoryReady,
    OpeningFailed,
    ServerSaid,
    ServersCardFound,
    SessionReady,
)
from kvtui.ui.screens.main.opened import Opened
from kvtui.ui.screens.main.parts import Parts
from kvtui.ui.screens.main.stage import Stage
from kvtui.ui.widgets.split_panes import SplitPanes
from kvtui.ui.widgets.text_view import TextView

if TYPE_CHECKING:
    from collections.abc import Callable

    from kvtui.ui.memory import MemoryView
    from kvtui.ui.screens.main.shell import Severity, Shell
    from kvtui.ui.stream.conductor import Conductor
    from kvtui.ui.stream.frame import Frame


class MainScreen(Stage):
    """Feeds the panes frame by frame, and has commands and messages carried out by its parts."""

    BINDINGS = bindings()

    def __init__(self, shell: Shell, *, fps: int = 30) -> None:
        """Panes without content: that comes by messages.

        Args:
            shell: The app around the screen.
            fps: Frames a second while something runs.
        """
        super().__init__()
        self.shell = shell
        self.opened = Opened()
        self.parts = Parts(
            self,
            self.opened,
            shell,
            self.say,
            fps=fps,
            show_frame=self.show_frame,
            show_endpoint=self.show_endpoint,
        )
        self._actions = self.actions()
        for name, act in self._actions.items():
            setattr(self, f"action_{name}", act)  # the name by which Textual finds an action

    def actions(self) -> dict[str, Callable[..., Any]]:
        """Each command of the table, and what carries it out."""
        return {**self.parts.actions(), "back": self.back, "edit": self.edit}

    @property
    def conductor(self) -> Conductor | None:
        """What runs requests; None until it is imported, a moment after the first frame."""
        return self.opened.conductor

    @property
    def memory(self) -> MemoryView | None:
        """The choices of the Memory pane; None until the catalogue is read."""
        return self.opened.memory

    # --- the panes ------------------------------------------------------------------------------

    def on_mount(self) -> None:
        """The focus begins in the Stream pane; nothing ticks while nothing runs."""
        self.parts.frames.mount()
        self.parts.places.mount()
        self.stream.text.focus()
        if self.shell.options.get("presenter"):
            self.parts.presenter.toggle()

    def on_unmount(self) -> None:
        """The server is asked no more."""
        self.parts.server.stop()

    def show_frame(self, frame: Frame) -> None:
        """Hand the frozen states to the panes; each draws only what changed."""
        self.stream.show_frame(frame)
        self.header.phase = frame.stream.snapshot.phase
        self.parts.memory.show_tokens(frame.live_tokens)
        for note in frame.notes:
            self.say(note)
        self.parts.advice.on_frame(frame)
        self.paint_now()
        conductor = self.conductor
        if conductor is None or (frame.running and not (frame.finished or frame.began)):
            return
        self.parts.presenter.renew()  # a failure may name another host
        self.errors.state = conductor.errors
        if conductor.trouble:
            self.say(conductor.trouble, "error")
            conductor.trouble = ""
        if frame.finished and not frame.running:
            self.parts.server.run_ended()
        if frame.finished and conductor.engine_lost:
            self.parts.endpoints.restart_engine()

    def show_endpoint(self) -> None:
        """Draw what is known of the endpoint."""
        if self.conductor is None:
            return
        self.parts.presenter.renew()
        view = self.parts.presenter.endpoint(self.conductor.endpoint)
        self.header.endpoint = view
        self.footer.embedded = view.embedded
        self.stream.set_endpoint(view)
        self.errors.state = self.conductor.errors
        self.stream.prompt.form = self.conductor.form

    def say(self, sentence: str, severity: Severity = "information") -> None:
        """A notice on the screen; never markup, with nothing secret in it."""
        from kvtui.text import one_line, redact

        said = redact(self.parts.presenter.text(sentence), self.opened.api_key)
        self.notify(one_line(said, 400), severity=severity, markup=False, timeout=8)

    def action_copy_text(self) -> None:
        """Copy what is marked, and say so."""
        marked = self.get_selected_text()
        super().action_copy_text()
        if marked:
            count = len(marked)
            self.say(tr("{count} characters are copied.", count=f"{count:,}"))

    # --- commands that concern several panes ----------------------------------------------------

    async def back(self) -> None:
        """Esc: the first that applies. Dialogs are screens of their own and close themselves."""
        if self.stream.editor is not None:
            self.stream.editor.submit(run=False)
        elif self.stream.search is not None:
            await self.stream.close_search()
        elif self.stream.answer is not None:
            await self.stream.close_answer()
        elif self.parts.requests.stop_if_any():
            return
        elif self.parts.places.zoomed:
            self.parts.places.zoom(self.parts.places.zoomed)
        else:
            await self.parts.endpoints.leave_replay()

    def interrupt(self) -> bool:
        """Ctrl+C: stop what runs; whether anything did."""
        return self.parts.requests.stop_if_any()

    async def edit(self) -> None:
        """Edit the prompt in place."""
        if self.conductor is not None and self.parts.places.zoomed > 1:
            self.parts.places.zoom(1)
        await self.parts.requests.edit()

    # --- what the opening found -----------------------------------------------------------------

    def on_conductor_ready(self, message: ConductorReady) -> None:
        """Everything is imported: draw the panes."""
        conductor = self.opened.conductor = message.conductor
        self.opened.sessions = message.sessions
        if message.fps not in (None, self.parts.frames.fps):
            self.parts.frames.set_fps(message.fps)
        if message.keeps_prompts is not None:
            self.parts.prompts.let_be_kept(message.keeps_prompts)
        # Where frames are few, so that a link carries little, figures come with every second one.
        conductor.figures_s = max(conductor.figures_s, 1.9 / self.parts.frames.fps)
        self.stream.prompt.form = conductor.form
        self.stream.figures.state = conductor.stream
        self.show_endpoint()

    def on_memory_ready(self, message: MemoryReady) -> None:
        """Catalogue and cards are there."""
        self.opened.memory = message.view
        self.parts.memory.introduce_model()
        self.parts.memory.show()
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
        self.parts.memory.introduce_model()
        self.parts.advice.forget()
        self.show_endpoint()
        self.parts.memory.show()
        self.parts.server.watch_unbidden()
        if conductor.failures.counting:
            self.parts.frames.begin()
        for note in message.prepared.notes:
            if not message.prepared.endpoint.embedded:
                self.say(note)
        self.parts.requests.endpoint_ready(asked=asked)
        self._endpoint_settled()

    def on_opening_failed(self, message: OpeningFailed) -> None:
        """The endpoint cannot be used; the screen stays, the sentence is shown."""
        if self.conductor is not None:
            self.conductor.opening_failed(message.sentence)
        self.opened.endpoint_known = True
        self.show_endpoint()
        self.parts.memory.show()
        if len(self.stream.text.history):  # else the sentence stands where the text would
            self.say(message.sentence, "error")
        self._endpoint_settled()

    def _endpoint_settled(self) -> None:
        """It is known who answers, or that nobody does: the Experiments screen hears of it.

        A tour that was asked for begins now, so that an engine is shared.
        """
        self.parts.experiments.endpoint_changed()
        if self.shell.options.pop("tour", False):
            self.call_next(self.parts.overview.tour)

    # --- other messages -------------------------------------------------------------------------

    def on_server_said(self, message: ServerSaid) -> None:
        """The server's own figure stands beside ours."""
        self.parts.server.said(message.kv)

    def on_servers_card_found(self, message: ServersCardFound) -> None:
        """The adviser learns which card the server runs on."""
        self.parts.advice.card_found(message)

    def on_experiment_over(self) -> None:
        """A run of experiments ended."""
        self.parts.experiments.over()

    async def on_form_submitted(self, message: FormSubmitted) -> None:
        """The editor hands its form over."""
        self.parts.requests.take_form(message.form)
        await self.stream.close_editor()
        if message.problem:
            self.say(tr("Not taken: {problem}", problem=message.problem), "warning")
        if message.run:
            self._actions["run"]()

    def on_file_wanted(self, message: FileWanted) -> None:
        """A file is chosen over the screen, and its text goes to whoever asked."""
        from kvtui.ui.screens.file_picker import FilePickerScreen

        self.parts.dialogs.open(FilePickerScreen("Prompt from a file"), message.take)

    def on_paste(self) -> None:
        """Text pasted where no field is: it is no row of keys."""
        self.say(tr("Pasted text goes into a field: e edits the prompt, ^o there reads a file."))

    def on_text_view_following(self, message: TextView.Following) -> None:
        """Say when the text is not followed."""
        self.stream.prompt.paused = not message.following

    def on_split_panes_zoomed(self, message: SplitPanes.Zoomed) -> None:
        """A double click on a pane."""
        self.parts.places.zoom(message.number)

    def on_split_panes_moved(self) -> None:
        """Where the borders stand is remembered."""
        self.parts.places.remember()
