"""The event loop's own lag: is it the server that is slow, or are we?"""

from __future__ import annotations

import asyncio
from collections import deque
from time import perf_counter

_PERIOD_S = 0.01
_WORTH_S = 0.001


class LagWatch:
    """Wakes every 10 ms while it is on and keeps how much too late it was woken."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._late: deque[tuple[float, float]] = deque(maxlen=4096)
        self._timer: asyncio.TimerHandle | None = None
        self._due = 0.0

    def start(self) -> None:
        """Begin to watch (on the loop's thread); harmless where it watches already."""
        if self._timer is None:
            self._wait()

    def stop(self) -> None:
        """Stop watching; what was seen stays."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def between(self, begin: float, end: float) -> float:
        """The largest lag in seconds that touched the time from ``begin`` to ``end``.

        Both in ``perf_counter`` seconds; may be called from any thread.
        """
        worst = 0.0
        for t, late in reversed(self._late.copy()):
            if t < begin:
                break  # they are in the order of their times
            if late > worst and t - late <= end:
                worst = late
        return worst

    def _wait(self) -> None:
        self._due = perf_counter() + _PERIOD_S
        self._timer = self._loop.call_later(_PERIOD_S, self._wake)

    def _wake(self) -> None:
        now = perf_counter()
        if now - self._due > _WORTH_S:
            self._late.append((now, now - self._due))
        self._wait()
