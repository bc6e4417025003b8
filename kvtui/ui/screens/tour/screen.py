"""The tour: a main screen of its own, on the embedded engine, that plays the steps.

The user's screen stays as it is underneath: leaving the tour takes nothing back, because nothing
was changed. It has its own conductor and choices, and talks to the embedded engine alone, whatever
the endpoint of the screen underneath.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from textual.binding import Binding

from kvtui.language import tr
from kvtui.ui.messages import EndpointReady, OpeningFailed
from kvtui.ui.screens.main.screen import MainScreen
from kvtui.ui.state import is_demo
from kvtui.ui.tour.facts import Facts
from kvtui.ui.tour.script import Step, steps
from kvtui.ui.widgets.tour_panel import TourPanel

if TYPE_CHECKING:
    from collections.abc import Callable

    from textual.app import ComposeResult

    from kvtui.ui.memory import MemoryView
    from kvtui.ui.screens.main.shell import Shell
    from kvtui.ui.stream.conductor import Conductor
    from kvtui.ui.stream.frame import Frame
    from kvtui.ui.tour.script import Ask, Shown


class TourScreen(MainScreen):
    """The three panes and a panel that explains them."""

    BINDINGS = [  # noqa: RUF012
        Binding("right,space", "tour_next", "Next step", show=False),
        Binding("left,backspace", "tour_back", "Step before", show=False),
    ]

    def __init__(
        self,
        shell: Shell,
        conductor: Conductor,
        memory: MemoryView,
        close: Callable[[], None],
        *,
        fps: int = 30,
    ) -> None:
        """Take what it runs on; ``opened.sessions`` is there before it is mounted.

        Args:
            shell: The app around the screen.
            conductor: Runs its requests; nobody else's.
            memory: Its choices of the Memory pane.
            close: Ends what was opened for it.
            fps: Frames per second.
        """
        super().__init__(shell, fps=fps)
        self.opened.conductor = self._conductor = conductor
        self.opened.memory = self._memory = memory
        self.parts.advice.silent = True  # the panel says what there is to say
        self._close = close
        self._steps = steps()
        self._at = 0
        self._facts = Facts()
        self._due: int | None = None
        """The step to go to once the run that is being stopped has ended."""
        self.panel = TourPanel(id="tour")

    def compose(self) -> ComposeResult:
        """The panel takes the footer's place."""
        for widget in super().compose():
            if widget is self.footer:
                yield self.panel
            yield widget

    def on_mount(self) -> None:
        """Begin."""
        self.add_class("-tour")
        self.stream.prompt.form = self._conductor.form
        self.stream.figures.state = self._conductor.stream
        self.show_endpoint()
        self._explain(tr("The embedded engine is starting: no key, no network, nothing to pay."))
        sessions, session = self.opened.sessions, self._conductor.session
        if sessions is not None and session is not None:
            sessions.prepare(session)

    @property
    def step(self) -> Step:
        """The step shown."""
        return self._steps[self._at]

    def on_endpoint_ready(self, message: EndpointReady) -> None:
        """The engine answers: the first step begins, or the one that was waiting."""
        super().on_endpoint_ready(message)
        message.prevent_default()  # else it would be taken up once more
        if self._conductor.endpoint.ready:
            self._enter()

    def on_opening_failed(self, message: OpeningFailed) -> None:
        """Without the engine there is no tour."""
        super().on_opening_failed(message)
        message.prevent_default()
        self._explain(self._conductor.endpoint.problem)

    def on_unmount(self) -> None:
        """The engine that was started for the tour ends."""
        self._close()

    # --- steps ----------------------------------------------------------------------------------

    def actions(self) -> dict[str, Callable[..., Any]]:
        """Enter goes on, since the steps send the prompts; F2 leaves as it came."""
        return {
            **super().actions(),
            "run": self.next_step,
            "back": self.back,
            "tour": self._leave,
            "tour_next": self.next_step,
            "tour_back": self.step_before,
        }

    def next_step(self) -> None:
        """The next step; behind the last one the tour is over."""
        if self._at + 1 < len(self._steps):
            self._go(self._at + 1)
        else:
            self.dismiss()

    def step_before(self) -> None:
        """The step before."""
        if self._at:
            self._go(self._at - 1)

    async def back(self) -> None:
        """Esc: leave the field, else the tour."""
        if self.stream.editor is not None:
            await super().back()
        else:
            self.dismiss()

    def _leave(self) -> None:
        self.dismiss()

    def _go(self, at: int) -> None:
        """To another step; a run on its way is stopped first."""
        if not self._conductor.endpoint.ready:
            return
        if self._conductor.running:
            self._due = at
            self.parts.requests.stop()
            return
        self._at = at
        self._enter()

    def _enter(self) -> None:
        """Show the step, and run what it runs."""
        step = self.step
        if step.memory is not None:
            self._show(step.memory)
        elif self._memory.as_if and step.run is not None:
            self._memory.toggle_as_if()
        self.parts.memory.show()
        if step.run is None:
            self._explain(step.said(self._facts))
            return
        self._explain(tr(step.watch))
        self._send(step.run)

    def _send(self, ask: Ask) -> None:
        """The same as editing the prompt, choosing the model and pressing Enter."""
        form = replace(
            self._conductor.form,
            prompt=" ".join([ask.prompt] * ask.times),
            max_tokens=ask.max_tokens,
            temperature=0.0,
            repeats=1,
            kv_cache=ask.cache,
        )
        self.parts.requests.take_form(form)
        self.parts.requests.take_model(ask.model or self._own_model())
        self.parts.requests.run()

    def _own_model(self) -> str:
        """The engine's own model, also where the screen underneath asks for a demo."""
        prepared = self._conductor.prepared
        assert prepared is not None
        return next((name for name in prepared.models if not is_demo(name)), prepared.model or "")

    def _show(self, shown: Shown) -> None:
        """The same as m, g, c, b, W."""
        memory = self._memory
        memory.choose_model(shown.model)
        memory.choose_card(shown.card)
        memory.context = shown.context
        memory.users = shown.users
        memory.choose_weights(shown.weights)
        self._facts.shows(memory.state(self.parts.memory.live_tokens))

    def show_frame(self, frame: Frame) -> None:
        """A run that ended is explained, or makes room for the step that is due."""
        super().show_frame(frame)
        if not frame.finished or frame.running:
            return
        if self._due is not None:
            self._at, self._due = self._due, None
            self.call_next(self._enter)
            return
        run = self.step.run
        if run is not None:
            self._facts.ran(run.label, frame.finished[-1])
        self._explain(self.step.said(self._facts))

    def _explain(self, text: str) -> None:
        self.panel.shown = (self._at + 1, len(self._steps), self.step.title, text)
