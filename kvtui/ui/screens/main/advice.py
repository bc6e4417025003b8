"""The adviser on the main screen: what it hears of, its line, and the figures behind it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kvtui.language import tr
from kvtui.ui.messages import ServersCardFound

if TYPE_CHECKING:
    from collections.abc import Callable

    from kvtui.config import Endpoint
    from kvtui.ui.adviser.watch import Adviser
    from kvtui.ui.screens.main.dialogs import Dialogs
    from kvtui.ui.screens.main.opened import Opened
    from kvtui.ui.screens.main.shell import Say
    from kvtui.ui.stream.frame import Frame
    from kvtui.ui.widgets.advice_line import AdviceLine


class Advice:
    """Feeds the adviser and shows what it says."""

    def __init__(
        self,
        opened: Opened,
        line: AdviceLine,
        dialogs: Dialogs,
        say: Say,
        tell: Callable[[ServersCardFound], object],
    ) -> None:
        """Nothing is said yet.

        Args:
            opened: Holds what is measured and what the Memory pane asks.
            line: Shows the sentence.
            dialogs: Show why.
            say: Says what keeps it from advising.
            tell: Brings what another thread has found; safe on any thread.
        """
        self._opened = opened
        self._line = line
        self._dialogs = dialogs
        self._say = say
        self._tell = tell
        self._adviser: Adviser | None = None
        """None until the first thing happens that could be worth a sentence."""
        self.silent = False
        """Something else explains what happens."""

    def _begun(self) -> Adviser:
        if self._adviser is None:
            from kvtui.ui.adviser.watch import Adviser

            self._adviser = Adviser()
        return self._adviser

    def _show(self) -> None:
        said = None if self._adviser is None else self._adviser.advice
        self._line.say = "" if said is None else said.say

    def on_frame(self, frame: Frame) -> None:
        """A run began or ended."""
        if self.silent:
            return
        if frame.began:
            self._begun().began()
        conductor, memory = self._opened.conductor, self._opened.memory
        if frame.finished and conductor is not None:
            question = None if memory is None else memory.question
            served = None if memory is None else memory.served
            self._begun().ended(frame.finished, frame.stream, conductor.model, question, served)
            self._look_for_card()
        if frame.began or frame.finished:
            self._show()

    def on_choice(self) -> None:
        """A choice of the Memory pane changed, or its model became known."""
        conductor, memory = self._opened.conductor, self._opened.memory
        if self.silent or memory is None or conductor is None or conductor.running:
            return
        self._begun().chose(memory.question, conductor.stream)
        self._show()

    def forget(self) -> None:
        """Another endpoint answers from now on."""
        if self._adviser is not None:
            self._adviser.forget()
            self._show()

    def _look_for_card(self) -> None:
        """Find out, off this thread, which card the server runs on: the next run's figures say."""
        prepared, memory, adviser = self._opened.prepared, self._opened.memory, self._adviser
        if prepared is None or memory is None or adviser is None or adviser.card is not None:
            return
        endpoint, served, own = prepared.endpoint, memory.served, memory.own_cards
        if served is None or endpoint.embedded:
            return
        from threading import Thread

        def look() -> None:
            self._tell(_find(endpoint, served, own))

        Thread(target=look, name="kvtui-card", daemon=True).start()

    def card_found(self, message: ServersCardFound) -> None:
        """The server's card is known: the run that just ended is measured against it."""
        if message.problem:
            self._say(message.problem, "warning")
        opened, adviser = self._opened, self._adviser
        conductor, memory = opened.conductor, opened.memory
        if message.found is None or conductor is None or memory is None or adviser is None:
            return
        if opened.prepared is None or opened.prepared.endpoint != message.endpoint:
            return
        adviser.card = message.found
        if not conductor.running:
            adviser.ended((), conductor.stream, conductor.model, memory.question, memory.served)
            self._show()

    def why(self) -> None:
        """The figures behind the adviser's sentence."""
        said = None if self._adviser is None else self._adviser.advice
        if said is None:
            self._say(tr("The adviser has nothing to say: nothing stands out so far."))
            return
        self._dialogs.text(tr("Why"), f"{said.say}\n\n{said.why}")


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
