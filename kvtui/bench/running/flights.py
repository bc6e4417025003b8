"""The requests of a run that are under way: started, awaited, kept as samples when they end."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from queue import Empty, SimpleQueue

from kvtui.bench.figures.sample import Sample, sample_of
from kvtui.bench.requests.run import Run
from kvtui.bench.requests.session import Session
from kvtui.stream.request import Request

STOP_S = 3.0
"""How long a stopped request may take to end."""


@dataclass(frozen=True, slots=True)
class Place:
    """Which request of the run one is."""

    stage: int
    index: int
    warmup: bool = False
    late_ms: float | None = None
    """At a set rate: how long after its time it was started."""


class Flights:
    """Starts requests and hands out their samples; its owner's thread calls it.

    Args:
        session: Where requests go through.
        ended: Told each request's sample and its run, as it ends.
    """

    def __init__(self, session: Session, ended: Callable[[Sample, Run], None]) -> None:
        self._session = session
        self._told = ended
        self._runs: dict[int, tuple[Run, Place]] = {}
        self._ended: SimpleQueue[int] = SimpleQueue()
        self._number = 0
        self.origin = 0.0
        """``perf_counter`` from which the samples' times count."""
        self.segment = 0

    def __len__(self) -> int:
        return len(self._runs)

    def start(self, request: Request, place: Place, *, keep_reads: bool) -> Run:
        """Send a request."""
        run = self._session.start(
            request,
            unique_prefix=False,
            keep_pieces=False,
            keep_reads=keep_reads,
            keep_events=True,
        )
        self._number += 1
        key = self._number
        self._runs[key] = run, place
        run.on_done(lambda _: self._ended.put(key))
        return run

    def take(self, wait: float) -> None:
        """Wait for a request to end, and keep what there is of it and of others that have."""
        try:
            key = self._ended.get(timeout=wait) if wait > 0 else self._ended.get_nowait()
        except Empty:
            for key in [key for key, (run, _) in self._runs.items() if run.done.is_set()]:
                if self._ended.empty():
                    self._keep(key)
            return
        while True:
            self._keep(key)
            try:
                key = self._ended.get_nowait()
            except Empty:
                return

    def cancel(self) -> None:
        """Stop all of them; blocks until their connections are closed."""
        for run, _ in list(self._runs.values()):
            run.stop()
        deadline = time.monotonic() + STOP_S
        for run, _ in list(self._runs.values()):
            run.done.wait(max(0.0, deadline - time.monotonic()))

    def _keep(self, key: int) -> None:
        entry = self._runs.pop(key, None)
        if entry is None:
            return
        run, place = entry
        sample = sample_of(
            run.result(STOP_S),
            run.stamps(),
            self.origin,
            stage=place.stage,
            index=place.index,
            warmup=place.warmup,
            segment=self.segment,
            late_ms=place.late_ms,
        )
        self._told(sample, run)
