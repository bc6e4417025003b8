"""The endpoints of a run, one or several: made ready, learned, and what each is asked."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from types import MappingProxyType

from kvtui.bench.requests.session import Session
from kvtui.bench.requests.targets import Target
from kvtui.bench.running.flights import Place
from kvtui.bench.running.learning import Learner
from kvtui.bench.running.progress import Learned
from kvtui.bench.running.several import made_ready
from kvtui.bench.work.asking import ask
from kvtui.bench.work.prompts import Words
from kvtui.bench.work.workload import Stage, Workload
from kvtui.stream.request import Request

_MOST_WARMED = 512


class Endpoints:
    """What requests go to; stages name them by number.

    Args:
        request: What every request has in common; its prompt is replaced.
        workload: What is run.
        targets: The workload's targets as an earlier part of the run left them.
        words: How words become tokens, where it is known already.
        nonce: Makes this run's prompts differ from every other's.
    """

    def __init__(
        self,
        request: Request,
        workload: Workload,
        targets: Sequence[Target],
        words: Words | None,
        nonce: str,
    ) -> None:
        self.words = words
        self.targets = tuple(targets)
        self.ignore_eos = False
        self.base_urls: list[str] = []
        self.refusing: set[int] = set()
        """Those that refuse every request."""
        self._requests = [request]
        self._workload = workload
        self._nonce = nonce

    @property
    def none_left(self) -> bool:
        """All of them refuse every request."""
        return len(self.refusing) == len(self._requests)

    def learn(self, session: Session, learner: Learner) -> Learned:
        """What each takes, and how words become tokens where prompts are synthetic."""
        workload = self._workload
        if self.targets:
            request = self._requests[0]
            ready, self.targets = made_ready(session, request, self.targets, learner)
            self.refusing |= {number for number, one in enumerate(ready) if one is None}
            self._requests = [one or request for one in ready]
        for number, request in enumerate(self._requests):
            if number in self.refusing:
                continue
            ignores = learner.ignores_eos(request, workload.ignore_eos)
            self.ignore_eos = ignores if number == 0 else self.ignore_eos
            extra = dict(request.extra_body)
            if ignores:
                extra.setdefault("ignore_eos", True)
            self._requests[number] = replace(
                request,
                extra_body=MappingProxyType(extra),
                temperature=workload.temperature,
                seed=workload.seed,
            )
        self.base_urls = [request.endpoint.base_url for request in self._requests]
        if self.words is None and not all(stage.texts for stage in workload.stages):
            self.words = learner.words(self._requests[0], self._nonce)
        return Learned(self.words, self.ignore_eos, self.targets)

    def open_connections(self, stage: Stage, learner: Learner) -> None:
        """As many as the stage has streams, so that none is set up while it is measured."""
        target = stage.target
        count = min(stage.concurrency or 16, _MOST_WARMED)
        learner.open_connections(self._requests[target], self.base_urls[target], count)

    def ask(self, stage: Stage, place: Place) -> Request:
        """One request of a stage."""
        return ask(
            self._requests[stage.target],
            stage,
            place.index,
            nonce=self._nonce,
            words=self.words or Words(),
            warmup=place.warmup,
        )
