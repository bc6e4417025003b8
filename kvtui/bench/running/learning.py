"""What a run finds out of its endpoint before the first request that counts."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from dataclasses import replace
from typing import TypeVar

from kvtui.bench.requests.session import Session
from kvtui.bench.requests.vocabulary import one_token_words
from kvtui.bench.running.flights import STOP_S
from kvtui.bench.work.prompts import PROBES, WORDS, Words, fit_words, synthetic
from kvtui.language import tr
from kvtui.measure.figures import RunFigures
from kvtui.stream.request import Request

LOOK_S = 0.25
"""How often a wait looks whether the run was stopped."""
_FEWEST = 24
"""Words from which prompts can be made that differ from each other."""
_T = TypeVar("_T")


class Learner:
    """Asks an endpoint beforehand.

    Args:
        session: Where requests go through.
        stopped: Set when the run shall end.
        note: Told a sentence for the person who watches.
    """

    def __init__(
        self, session: Session, stopped: threading.Event, note: Callable[[str], None]
    ) -> None:
        self._session = session
        self._stopped = stopped
        self.note = note

    def ignores_eos(self, request: Request, wanted: bool | None) -> bool:
        """Whether ``ignore_eos`` may be sent: where it was asked for, or the server has it."""
        if wanted is not None:
            return wanted
        quirks = self._session.learn(request.endpoint).result()
        return request.endpoint.embedded or quirks.continuous_usage or quirks.llamacpp

    def words(self, request: Request, nonce: str) -> Words:
        """How words become tokens: by the server's tokenizer where it has one, and two probes."""
        chosen = self._vocabulary(request)
        points: list[tuple[int, int | None]] = []
        for words in PROBES:
            text = synthetic(words, f"{nonce}/probe/{words}", chosen)
            probe = replace(request, prompt=text, max_tokens=1)
            figures = self._one(probe)
            if figures is not None and figures.verdict.is_failure and figures.verdict.retryable:
                figures = self._one(probe)
            if figures is None or figures.verdict.is_failure:
                break
            points.append((words, figures.prompt_tokens))
        found = fit_words(points)
        if not found.measured and len(points) == len(PROBES):
            self.note(
                tr(
                    "The server does not tell how many tokens a prompt has: prompt lengths are"
                    " approximate, a word for a token."
                )
            )
        if chosen is None or found.per_word != 1.0 or not found.measured:
            return replace(found, vocabulary=chosen.vocabulary) if chosen else found
        return replace(chosen, fixed=found.fixed, per_word=1.0, measured=True)

    def _vocabulary(self, request: Request) -> Words | None:
        """The words that are one token each; None where the server does not tell, or has few."""

        def count(texts: Sequence[str]) -> list[int] | None:
            return self.await_(self._session.count_tokens(request.endpoint, request.model, texts))

        known = one_token_words(WORDS, count)
        if known is None or len(known[0]) < _FEWEST:
            return None
        return Words(source="tokenizer", vocabulary=known[0], firsts=known[1])

    def open_connections(self, request: Request, base_url: str, count: int) -> None:
        """Open connections, so that none is set up while it is measured."""
        endpoint = replace(request.endpoint, base_url=base_url)
        self.await_(self._session.warm_connections(endpoint, count))

    def await_(self, work: Future[_T]) -> _T | None:
        """What a future holds; None where the run was stopped meanwhile."""
        while not self._stopped.is_set():
            try:
                return work.result(LOOK_S)
            except TimeoutError:
                continue
        return None

    def _one(self, request: Request) -> RunFigures | None:
        run = self._session.start(request, unique_prefix=False, keep_pieces=False)
        while not run.done.wait(LOOK_S):
            if self._stopped.is_set():
                run.stop()
                run.done.wait(STOP_S)
                return None
        return run.result(STOP_S)
