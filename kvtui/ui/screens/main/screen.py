"""The main screen: three panes, one timer, one action for each command of the table."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from kvtui.language import tr
from kvtui.ui.commands import bindings
from kvtui.ui.layout.sizes import HEIGHTS, WIDTHS, take_size
from kvtui.ui.messages import (
    ConductorReady,
    EndpointReady,
    FormSubmitted,
    MemoryReady,
    OpeningFailed,
    ServerSaid,
    SessionReady,
)
from kvtui.ui.screens.main.actions import MainActions
from kvtui.ui.screens.main.adviser import AdviserActions
from kvtui.ui.screens.main.bench import BenchActions
from kvtui.ui.screens.main.endpoint import EndpointActions
from kvtui.ui.screens.main.failure import FailureActions
from kvtui.ui.screens.main.layout import LayoutActions
from kvtui.ui.screens.main.presenter import PresenterActions
from kvtui.ui.screens.main.prompt import PromptActions
from kvtui.ui.screens.main.settings import SettingsActions
from kvtui.ui.screens.main.stream import StreamActions
from kvtui.ui.state import MemoryState
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
    from textual.app import ComposeResult
    from textual.timer import Timer

    from kvtui.config import Endpoint
    from kvtui.ui.endpoint.server import ServerWatch
    from kvtui.ui.memory import MemoryView
    from kvtui.ui.ports import SessionLike
    from kvtui.ui.state import ServerKV
    from kvtui.ui.stream.conductor import Conductor
    from kvtui.ui.stream.frame import Frame


LOOKS = 5
LOOK_S = 1.1
"""After a run: a server is asked at most once a second."""


class MainScreen(
    BenchActions,
    MainActions,
    EndpointActions,
    StreamActions,
    LayoutActions,
    FailureActions,
    AdviserActions,
    PresenterActions,
    PromptActions,
    SettingsActions,
    PaintedWhereSeen[None],
):
    """Arranges the panes and feeds them from the conductor, frame by frame."""

    BINDINGS = bindings()
    HORIZONTAL_BREAKPOINTS = WIDTHS
    VERTICAL_BREAKPOINTS = HEIGHTS

    def __init__(self, *, fps: int = 30) -> None:
        super().__init__()
        paint_cells(self)
        self.conductor: Conductor | None = None
        """What runs requests; None until it is imported, a moment after the first frame."""
        self.memory: MemoryView | None = None
        self.fps = fps
        self.live_tokens = 0
        self.server: ServerWatch | None = None
        """Asks the server about itself; None until the opening makes it, and in tests."""
        self.server_kv: ServerKV | None = None
        self.awaited: SessionLike | None = None
        """The session whose endpoint is being prepared: what another says comes too late."""
        self.endpoint_known = False
        """Who answers is known, or that nobody does: the Memory pane has a model to show."""
        self._timer: Timer | None = None
        self.header = HeaderBar(id="header")
        self.tabs = TabsBar(id="tabs")
        self.stream = StreamPane(id="stream")
        self.memory_pane = MemoryPane(id="memory")
        self.errors = ErrorsPane(id="errors")
        self.panes = SplitPanes(self.stream, self.memory_pane, self.errors)
        self.advice = AdviceLine(id="advice")
        self.footer = FooterBar(id="footer")

    def compose(self) -> ComposeResult:
        """Header, panes, footer."""
        take_size(self)
        yield self.header
        yield self.tabs
        yield self.panes
        yield self.advice
        yield self.footer
        yield TooSmall(id="too-small")

    def on_mount(self) -> None:
        """The focus begins in the Stream pane; nothing ticks while nothing runs."""
        self._timer = self.set_interval(1 / self.fps, self.tick, pause=True)
        self.take_splits()
        self.stream.text.focus()
        if getattr(self.app, "options", {}).get("presenter"):
            self.present(True)

    def set_fps(self, fps: int) -> None:
        """Another number of frames a second, from now on."""
        self.fps = fps
        if self._timer is not None:
            self._timer.stop()
        self._timer = self.set_interval(1 / fps, self.tick, pause=True)
        if self.conductor is not None and self.conductor.running:
            self._timer.resume()

    # --- frames ---------------------------------------------------------------------------------

    def tick(self) -> None:
        """One frame."""
        if self.conductor is None:
            return
        frame = self.conductor.frame()
        self.show_frame(frame)
        if frame.running and self.server is not None:
            self.server.wake(self.conductor.clock())
        if not (frame.running or frame.counting) and self._timer is not None:
            self._timer.pause()

    def show_frame(self, frame: Frame) -> None:
        """Hand the frozen states to the panes; each draws only what changed."""
        self.stream.show_frame(frame)
        self.header.phase = frame.stream.snapshot.phase
        if frame.live_tokens != self.live_tokens:
            self.live_tokens = frame.live_tokens
            self.show_memory()
        for note in frame.notes:
            self.say(note)
        self.advise_on_frame(frame)
        if self.conductor is None or (frame.running and not (frame.finished or frame.began)):
            return
        if self.presenting:
            self.draw_veil()  # a failure may name another host
        self.errors.state = self.conductor.errors
        if self.conductor.trouble:
            self.say(self.conductor.trouble, "error")
            self.conductor.trouble = ""
        if frame.finished and not frame.running:
            self._run_ended()
        if frame.finished and self.conductor.engine_lost:
            self._prepare_again()

    def begin_frames(self) -> None:
        """Let the timer run, and show the first frame at once."""
        if self.server is not None and self.conductor is not None and self.conductor.running:
            assert self.conductor.prepared is not None
            self.server.watch(self.conductor.prepared.endpoint)
        if self._timer is not None:
            self._timer.resume()
        self.tick()

    def show_memory(self) -> None:
        """Draw pane 2 from the choices and the live tokens."""
        if self.memory is not None:
            conductor = self.conductor
            state = self.memory.state(
                self.live_tokens,
                cached=conductor is None or conductor.cached,
                kept=conductor is None or conductor.kept,
            )
            if not self.endpoint_known:  # no figure of a model that may not be the one
                state = MemoryState(card=state.card, card_bytes=state.card_bytes)
            if self.server_kv is not None and (self.memory.own is None or self.memory.shows_own):
                state = replace(state, server=self.server_kv)
            self.memory_pane.state = state
            if self.endpoint_known:
                self.advise_on_choice()

    def on_server_said(self, message: ServerSaid) -> None:
        """The server's own figure stands beside ours."""
        if message.kv != self.server_kv:
            self.server_kv = message.kv
            self.show_memory()

    def _run_ended(self) -> None:
        """The server's figure is of before: look again soon, not at the next idle look."""
        if self.server is not None and self.server_kv is not None:
            self.server_kv = replace(self.server_kv, stale=True)
        self.show_memory()
        self.look_again(LOOKS)

    def look_again(self, left: int) -> None:
        """Ask the server anew, at most so many times, until it says that nothing runs."""
        said = self.server_kv
        idle = said is None or (not said.running and not said.stale)
        busy = self.conductor is None or self.conductor.running
        if self.server is None or busy or not left or (idle and left < LOOKS):
            return
        assert self.conductor is not None
        self.server.wake(self.conductor.clock(), soon=True)
        self.set_timer(LOOK_S, partial(self.look_again, left - 1))

    def on_unmount(self) -> None:
        """The server is asked no more."""
        if self.server is not None:
            self.server.stop()

    def show_endpoint(self) -> None:
        """Draw what is known of the endpoint."""
        if self.conductor is None:
            return
        if self.presenting:
            self.draw_veil()
        view = self.unveiled(self.conductor.endpoint)
        self.header.endpoint = view
        self.footer.embedded = view.embedded
        self.stream.set_endpoint(view)
        self.errors.state = self.conductor.errors

    # --- what the opening found -------------------------------------------------------------------

    def on_conductor_ready(self, message: ConductorReady) -> None:
        """Everything is imported: draw the panes."""
        self.conductor = message.conductor
        if message.fps not in (None, self.fps):
            self.set_fps(message.fps)
        # Where frames are few, so that a link carries little, figures come with every second one.
        self.conductor.figures_s = max(self.conductor.figures_s, 1.9 / self.fps)
        self.stream.prompt.form = self.conductor.form
        self.stream.figures.state = self.conductor.stream
        self.show_endpoint()

    def on_memory_ready(self, message: MemoryReady) -> None:
        """Catalogue and cards are there."""
        self.memory = message.view
        self._introduce_model()
        self.show_memory()
        for problem in message.problems:
            self.say(problem, "warning")

    def on_session_ready(self, message: SessionReady) -> None:
        """The session's thread runs."""
        if self.conductor is not None:
            self.conductor.session = message.session

    def on_endpoint_ready(self, message: EndpointReady) -> None:
        """The endpoint is known."""
        if self.conductor is None:
            return
        asked = self.conductor.waiting
        self.conductor.endpoint_ready(message.prepared)
        self.endpoint_known = True
        self._introduce_model()
        self.forget_advice()
        self.server_kv = None  # another server's, until this one has been asked
        self.show_endpoint()
        self.show_memory()
        self._watch_unbidden(message.prepared.endpoint)
        if self.conductor.failures.counting:
            self.begin_frames()
        for note in message.prepared.notes:
            if not message.prepared.endpoint.embedded:
                self.say(note)
        if self.conductor.endpoint.ready and not self.conductor.model and message.prepared.models:
            self.action_endpoint_model()
        elif self.conductor.waiting:
            self.action_run()
        elif asked and self.conductor.endpoint.ready:
            self.say(tr("The server names no models: give one with --model."), "warning")
        self._tour_if_asked()

    def _tour_if_asked(self) -> None:
        """``--tour``: it begins once it is known who answers, so that an engine is shared."""
        if getattr(self.app, "options", {}).pop("tour", False):
            self.call_next(self.action_tour)

    def _watch_unbidden(self, endpoint: Endpoint) -> None:
        """A server of this machine is asked about itself at once, any other at the first run."""
        if self.server is None:
            return
        from kvtui.ui.endpoint.server import may_ask_unbidden

        if self.conductor is not None and self.conductor.endpoint.ready:
            if may_ask_unbidden(endpoint):
                self.server.watch(endpoint)
        else:
            self.server.stop()

    def on_opening_failed(self, message: OpeningFailed) -> None:
        """The endpoint cannot be used; the screen stays, the sentence is shown."""
        if self.conductor is not None:
            self.conductor.opening_failed(message.sentence)
        self.endpoint_known = True
        self.show_endpoint()
        self.show_memory()
        if len(self.stream.text.history):  # else the sentence stands where the text would
            self.say(message.sentence, "error")
        self._tour_if_asked()

    def _introduce_model(self) -> None:
        """Tell pane 2 which model answers, once both are known."""
        prepared = None if self.conductor is None else self.conductor.prepared
        if self.memory is None or prepared is None:
            return
        self.memory.introduce(prepared)

    def ask_models(self, *, run: bool) -> None:
        """Ask the server for its models, again or for the first time; with ``run`` then send."""
        from kvtui.ui.opening import prepare

        if self.conductor is not None and self.conductor.session is not None:
            self.conductor.prepare_again(run=run)
            self.show_endpoint()
            self.show_memory()
            prepare(self, self.conductor.session)

    def _prepare_again(self) -> None:
        """The engine's process is gone: start another, off this thread."""
        from kvtui.ui.opening import prepare

        if self.conductor is not None and self.conductor.session is not None:
            self.say(tr("The embedded engine is gone; it is being started again."), "warning")
            self.conductor.prepare_again(run=False)  # a run asked for meanwhile waits for it
            self.show_endpoint()
            prepare(self, self.conductor.session)

    # --- children -------------------------------------------------------------------------------

    async def on_form_submitted(self, message: FormSubmitted) -> None:
        """The editor hands its form over."""
        if self.conductor is not None:
            self.conductor.form = message.form
        self.stream.prompt.form = message.form
        await self.stream.close_editor()
        if message.run:
            self.action_run()

    def on_text_view_following(self, message: TextView.Following) -> None:
        """Say when the text is not followed."""
        self.stream.prompt.paused = not message.following

    def refresh_language(self) -> None:
        """Draw what stands there already in the language in use."""
        for pane in (self.memory_pane, self.errors, self.stream):
            pane.retitle()
        for widget in self.query(LinesWidget):
            widget.redraw()

    def say(self, sentence: str, severity: Any = "information") -> None:
        """A notice on the screen; never markup."""
        from kvtui.text import one_line, redact

        prepared = None if self.conductor is None else self.conductor.prepared
        key = None if prepared is None else prepared.endpoint.api_key
        if self.veil is not None:
            sentence = self.veil.text(sentence)
        self.notify(
            one_line(redact(sentence, key), 400), severity=severity, markup=False, timeout=8
        )
