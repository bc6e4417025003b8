"""The event loop's own lag: is it the server that is slow, or are we?"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from time import perf_counter

_PERIOD_S = 0.01
_CALM_S = 0.03
_WORTH_S = 0.001
_UNEASY_S = 0.005
"""Being so late is no mere chance: for a second the looks are close again."""


def _never() -> bool:
    return False


class LagWatch:
    """Wakes every 10 ms while it is on and keeps how much too late it was woken.

    Each wake takes the reading thread off its rest: while nothing is at stake, and none came late
    lately, it wakes every 30 ms.
    """

    def __init__(self, loop: asyncio.AbstractEventLoop, calm: Callable[[], bool] = _never) -> None:
        """Watch a loop.

        Args:
            loop: Whose lag is of interest.
            calm: Whether little hangs on the very next moments; asked on the loop's thread.
        """
        self._loop = loop
        self._calm = calm
        self._uneasy_until = 0.0
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

    def _wait(self, seconds: float = _PERIOD_S) -> None:
        self._due = perf_counter() + seconds
        self._timer = self._loop.call_later(seconds, self._wake)

    def _wake(self) -> None:
        now = perf_counter()
        late = now - self._due
        if late > _WORTH_S:
            self._late.append((now, late))
            if late > _UNEASY_S:
                self._uneasy_until = now + 1.0
        self._wait(_CALM_S if now > self._uneasy_until and self._calm() else _PERIOD_S)
