"""When the next request of a stage is due: as soon as one ends, or at a set rate."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import count
from random import Random

from kvtui.bench.work.workload import Stage


class Driver:
    """Hands out the requests of one stage; knows no clock but the times it is given.

    Args:
        stage: Its load: concurrency, rate, how long.
        indexes: The requests to run; None: from 0 on until the duration is over.
        warmup: A warm-up runs as fast as the concurrency lets it, without a rate or duration.
        seed: Of the arrivals.
    """

    def __init__(
        self, stage: Stage, indexes: Iterable[int] | None, *, warmup: bool, seed: str
    ) -> None:
        self._indexes: Iterator[int] = count() if indexes is None else iter(indexes)
        self._most = stage.concurrency or (8 if warmup else 0)
        self._rate = None if warmup else stage.rate
        self._poisson = stage.arrival == "poisson"
        self._duration = None if warmup else stage.duration_s
        self._random = Random(seed)
        self._next_at = 0.0
        self._end = float("inf")
        self._ahead: int | None = None
        self.closed = False
        self.why = ""
        self._advance()

    def begin(self, now: float) -> None:
        """The stage starts now."""
        self._next_at = now
        if self._duration is not None:
            self._end = now + self._duration

    def due(self, now: float, in_flight: int) -> tuple[int, float | None] | None:
        """The request to start now, and how many ms late it is at a set rate; None: none."""
        if now >= self._end:
            self.close("its time is over")
        if self.closed or self._ahead is None:
            return None
        if self._most and in_flight >= self._most:
            return None
        if self._rate is None:
            return self._advance(), None
        if now < self._next_at:
            return None
        late = (now - self._next_at) * 1000
        gap = 1 / self._rate
        self._next_at += self._random.expovariate(self._rate) if self._poisson else gap
        return self._advance(), late

    def wait(self, now: float, in_flight: int, most: float) -> float:
        """How long nothing is due unless a request ends."""
        if self.closed or self._ahead is None:
            return most
        until = min(most, self._end - now)
        if self._rate is not None and not (self._most and in_flight >= self._most):
            until = min(until, self._next_at - now)
        return max(0.0, until)

    def shift(self, seconds: float) -> None:
        """A pause of that length is no part of the stage."""
        self._next_at += seconds
        self._end += seconds

    def close(self, why: str) -> None:
        """Start no further request."""
        if not self.closed:
            self.closed, self.why = True, why

    @property
    def finished(self) -> bool:
        """No request is left to start."""
        return self.closed or self._ahead is None

    def _advance(self) -> int:
        before = self._ahead
        self._ahead = next(self._indexes, None)
        return -1 if before is None else before
