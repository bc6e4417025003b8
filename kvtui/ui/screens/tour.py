"""The tour: a main screen of its own, on the embedded engine, that plays the steps.

The user's screen stays as it is underneath: leaving the tour takes nothing back, because nothing
was changed. It has its own conductor and choices, and talks to the embedded engine alone, whatever
the endpoint of the screen underneath.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

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
        conductor: Conductor,
        memory: MemoryView,
        open_endpoint: Callable[[TourScreen], None],
        close: Callable[[], None],
        *,
        fps: int = 30,
    ) -> None:
        """Take what it runs on.

        Args:
            conductor: Runs its requests; nobody else's.
            memory: Its choices of the Memory pane.
            open_endpoint: Has the embedded engine prepared; an ``EndpointReady`` follows.
            close: Ends what was opened for it.
            fps: Frames per second.
        """
        super().__init__(fps=fps)
        self.conductor = conductor
        self.memory = memory
        self._open_endpoint = open_endpoint
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
        self.stream.prompt.form = self.conductor_.form
        self.stream.figures.state = self.conductor_.stream
        self.show_endpoint()
        self._explain(tr("The embedded engine is starting: no key, no network, nothing to pay."))
        self._open_endpoint(self)

    @property
    def conductor_(self) -> Conductor:
        """The tour's conductor, which it has from the start."""
        assert self.conductor is not None
        return self.conductor

    @property
    def step(self) -> Step:
        """The step shown."""
        return self._steps[self._at]

    def on_endpoint_ready(self, message: EndpointReady) -> None:
        """The engine answers: the first step begins, or the one that was waiting."""
        super().on_endpoint_ready(message)
        if self.conductor_.endpoint.ready:
            self._enter()

    def on_opening_failed(self, message: OpeningFailed) -> None:
        """Without the engine there is no tour."""
        super().on_opening_failed(message)
        self._explain(self.conductor_.endpoint.problem)

    def on_unmount(self) -> None:
        """The server is asked no more, and the engine that was started for the tour ends."""
        super().on_unmount()
        self._close()

    # --- steps ----------------------------------------------------------------------------------

    def action_run(self) -> None:
        """Enter goes on; the steps send the prompts."""
        self.action_tour_next()

    def action_tour_next(self) -> None:
        """The next step; behind the last one the tour is over."""
        if self._at + 1 < len(self._steps):
            self._go(self._at + 1)
        else:
            self.dismiss()

    def action_tour_back(self) -> None:
        """The step before."""
        if self._at:
            self._go(self._at - 1)

    async def action_back(self) -> None:
        """Esc: leave the field, else the tour."""
        if self.stream.editor is not None:
            await super().action_back()
        else:
            self.dismiss()

    async def action_tour(self) -> None:
        """F2 leaves as it came."""
        self.dismiss()

    def _go(self, at: int) -> None:
        """To another step; a run on its way is stopped first."""
        if not self.conductor_.endpoint.ready:
            return
        if self.conductor_.running:
            self._due = at
            self.action_stop()
            return
        self._at = at
        self._enter()

    def _enter(self) -> None:
        """Show the step, and run what it runs."""
        step = self.step
        if step.memory is not None:
            self._show(step.memory)
        elif self.memory is not None and self.memory.as_if and step.run is not None:
            self.memory.toggle_as_if()
        self.show_memory()
        if step.run is None:
            self._explain(step.said(self._facts))
            return
        self._explain(tr(step.watch))
        self._send(step.run)

    def _send(self, ask: Ask) -> None:
        """The same as editing the prompt, choosing the model and pressing Enter."""
        conductor = self.conductor_
        conductor.form = replace(
            conductor.form,
            prompt=" ".join([ask.prompt] * ask.times),
            max_tokens=ask.max_tokens,
            temperature=0.0,
            repeats=1,
            kv_cache=ask.cache,
        )
        self.stream.prompt.form = conductor.form
        self._take_served(ask.model or self._own_model())
        super().action_run()

    def _own_model(self) -> str:
        """The engine's own model, also where the screen underneath asks for a demo."""
        prepared = self.conductor_.prepared
        assert prepared is not None
        return next((name for name in prepared.models if not is_demo(name)), prepared.model or "")

    def _show(self, shown: Shown) -> None:
        """The same as m, g, c, b, W."""
        assert self.memory is not None
        self.memory.choose_model(shown.model)
        self.memory.choose_card(shown.card)
        self.memory.context = shown.context
        self.memory.users = shown.users
        self.memory.choose_weights(shown.weights)
        self._facts.shows(self.memory.state(self.live_tokens))

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

    def advise_on_frame(self, frame: Frame) -> None:
        """The panel says what there is to say."""

    def advise_on_choice(self) -> None:
        """As above."""

    def _explain(self, text: str) -> None:
        self.panel.shown = (self._at + 1, len(self._steps), self.step.title, text)
