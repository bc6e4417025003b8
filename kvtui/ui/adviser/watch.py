"""Collects what happens on the screen into a situation, and asks the rules. No widget, no clock."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING

from kvtui.ui.adviser.rules import advise
from kvtui.ui.adviser.situation import Advice, Asked, Ran, Situation, StepBound, ran

if TYPE_CHECKING:
    from collections.abc import Iterable

    from kvtui.measure.figures import RunFigures
    from kvtui.memory.budget import Question
    from kvtui.ui.adviser.card import ServersCard
    from kvtui.ui.state import StreamState

_KEPT = 8


class Adviser:
    """What was said last, and what it was said of."""

    def __init__(self) -> None:
        self.advice: Advice | None = None
        self.card: ServersCard | None = None
        """The server's own card, once it is known."""
        self._runs: deque[Ran] = deque(maxlen=_KEPT)
        self._asked: tuple[Question, Asked | None] | None = None

    def forget(self) -> None:
        """Another endpoint: nothing known of the one before is said of it."""
        self.advice = None
        self.card = None
        self._runs.clear()

    def began(self) -> None:
        """A run begins: what was said of the one before is over."""
        self.advice = None

    def ended(
        self,
        figures: Iterable[RunFigures],
        stream: StreamState,
        model: str,
        question: Question | None,
        served: Question | None,
    ) -> None:
        """Runs ended.

        Args:
            figures: Of the runs.
            stream: How the stream pane shows them.
            model: The model asked for.
            question: What the Memory pane asks.
            served: The same of the model that the server runs; None where that is not known.
        """
        for each in figures:
            kept = ran(each, model=model, max_tokens=stream.max_tokens, kv_cache=stream.kv_cache)
            if kept is None:
                self.advice = None  # the Errors pane has more to say
                return
            self._runs.appendleft(kept)
        self.advice = advise(
            Situation(
                runs=tuple(self._runs),
                compared=stream.compared,
                asked=self._of(question),
                bound=self._bound(served),
            )
        )

    def chose(self, question: Question | None, stream: StreamState | None) -> None:
        """A choice of the Memory pane changed: say what is to be said of it, or nothing."""
        if question is not None and self._asked is not None and self._asked[0] == question:
            return
        asked = self._of(question)
        self.advice = advise(
            Situation(
                runs=tuple(self._runs),
                compared=None if stream is None else stream.compared,
                asked=asked,
                asked_last=True,
            )
        )

    def _of(self, question: Question | None) -> Asked | None:
        from kvtui.ui.adviser.memory import asked_of

        if question is None:
            return None
        if self._asked is None or self._asked[0] != question:
            self._asked = (question, asked_of(question))
        return self._asked[1]

    def _bound(self, served: Question | None) -> StepBound | None:
        from kvtui.ui.adviser.memory import step_bound

        run = self._runs[0] if self._runs else None
        if served is None or self.card is None or run is None:
            return None
        middle = (run.prompt_tokens or 0) + (run.tokens or 0) // 2
        return step_bound(served, self.card.card, self.card.where, middle)
