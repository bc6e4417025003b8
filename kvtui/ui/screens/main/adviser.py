"""The adviser on the main screen, as a mixin: what it hears of, its line, and ``a``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kvtui.language import tr
from kvtui.ui.messages import ServersCardFound

if TYPE_CHECKING:
    from textual.app import App

    from kvtui.config import Endpoint
    from kvtui.ui.adviser.watch import Adviser
    from kvtui.ui.memory import MemoryView
    from kvtui.ui.stream.conductor import Conductor
    from kvtui.ui.stream.frame import Frame
    from kvtui.ui.widgets.advice_line import AdviceLine


class AdviserActions:
    """One action and what feeds it."""

    if TYPE_CHECKING:
        app: App[Any]
        conductor: Conductor | None
        memory: MemoryView | None
        advice: AdviceLine

        # Of the screen's other half:
        # ruff: noqa: D102
        def say(self, sentence: str, severity: Any = "information") -> None: ...
        def post_message(self, message: Any) -> bool: ...

    adviser: Adviser | None = None
    """None until the first thing happens that could be worth a sentence."""

    def _adviser(self) -> Adviser:
        if self.adviser is None:
            from kvtui.ui.adviser.watch import Adviser

            self.adviser = Adviser()
        return self.adviser

    def _show_advice(self) -> None:
        said = None if self.adviser is None else self.adviser.advice
        self.advice.say = "" if said is None else said.say

    def advise_on_frame(self, frame: Frame) -> None:
        """A run began or ended."""
        if frame.began:
            self._adviser().began()
        if frame.finished and self.conductor is not None:
            memory = self.memory
            question = None if memory is None else memory.question
            served = None if memory is None else memory.served
            self._adviser().ended(
                frame.finished, frame.stream, self.conductor.model, question, served
            )
            self._look_for_card()
        if frame.began or frame.finished:
            self._show_advice()

    def advise_on_choice(self) -> None:
        """A choice of the Memory pane changed, or its model became known."""
        if self.memory is None or self.conductor is None or self.conductor.running:
            return
        self._adviser().chose(self.memory.question, self.conductor.stream)
        self._show_advice()

    def forget_advice(self) -> None:
        """Another endpoint answers from now on."""
        if self.adviser is not None:
            self.adviser.forget()
            self._show_advice()

    def _look_for_card(self) -> None:
        """Find out, off this thread, which card the server runs on: the next run's figures say."""
        conductor, memory, adviser = self.conductor, self.memory, self.adviser
        prepared = None if conductor is None else conductor.prepared
        if prepared is None or memory is None or adviser is None or adviser.card is not None:
            return
        endpoint, served, own = prepared.endpoint, memory.served, memory.own_cards
        if served is None or endpoint.embedded:
            return
        from threading import Thread

        def look() -> None:
            self.post_message(_find(endpoint, served, own))

        Thread(target=look, name="kvtui-card", daemon=True).start()

    def on_servers_card_found(self, message: ServersCardFound) -> None:
        """The server's card is known: the run that just ended is measured against it."""
        if message.problem:
            self.say(message.problem, "warning")
        conductor, memory, adviser = self.conductor, self.memory, self.adviser
        if message.found is None or conductor is None or memory is None or adviser is None:
            return
        prepared = conductor.prepared
        if prepared is None or prepared.endpoint != message.endpoint:
            return
        adviser.card = message.found
        if not conductor.running:
            adviser.ended((), conductor.stream, conductor.model, memory.question, memory.served)
            self._show_advice()

    def action_why(self) -> None:
        """The figures behind the adviser's sentence."""
        said = None if self.adviser is None else self.adviser.advice
        if said is None:
            self.say(tr("The adviser has nothing to say yet: a run gives it figures."))
            return
        from kvtui.ui.screens.body import BodyScreen

        self.app.push_screen(BodyScreen(tr("Why"), f"{said.say}\n\n{said.why}"))


def _find(endpoint: Endpoint, served: Any, own: Any) -> ServersCardFound:
    """Ask profile and driver; blocks."""
    from kvtui.memory.errors import PlanError
    from kvtui.memory.weights import weigh
    from kvtui.ui.adviser.card import servers_card

    weights = weigh(served.model, served.weights_dtype, None)
    try:
        found = servers_card(endpoint, own, 0 if weights is None else weights.total)
    except PlanError as error:
        return ServersCardFound(endpoint, None, str(error))
    return ServersCardFound(endpoint, found)
