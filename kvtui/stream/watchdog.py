"""Deadlines for each thing that is awaited: connection, headers, first token, next data event."""

from __future__ import annotations

import asyncio

from kvtui.failure.evidence import WaitingFor


class Watchdog:
    """Cancels a task when what is awaited does not come in time, and remembers what that was.

    Re-arming costs one assignment: the timer is moved only when it fires too early.
    """

    def __init__(self, task: asyncio.Task[None], total: float | None) -> None:
        self._task = task
        self._loop = task.get_loop()
        self._deadline = float("inf")
        self._timer: asyncio.TimerHandle | None = None
        self._started = self._loop.time()
        self._armed = self._started
        self._total = total
        self._cap = self._loop.call_at(self._started + total, self._fire, True) if total else None
        self.waiting_for: WaitingFor = "connect"
        self.fired = False
        self.capped = False
        """It was the limit for all of it that ran out."""
        self.quiet_s: float | None = None
        """How long nothing that was awaited had come when it fired."""
        self.waited_s: float | None = None

    def arm(self, waiting_for: WaitingFor, seconds: float) -> None:
        """Wait for something else from now on, at most ``seconds``."""
        self.waiting_for = waiting_for
        self._armed = self._loop.time()
        self._deadline = self._armed + seconds
        if self._timer is None or self._timer.when() > self._deadline:
            if self._timer is not None:
                self._timer.cancel()
            self._timer = self._loop.call_at(self._deadline, self._check)

    def name(self, waiting_for: WaitingFor) -> None:
        """What is awaited goes by another name from now on, within the same limit."""
        self.waiting_for = waiting_for

    def rearm(self, seconds: float) -> None:
        """What was awaited came: as long again for the next of its kind."""
        self._armed = self._loop.time()
        self._deadline = self._armed + seconds

    def close(self) -> None:
        """No more deadlines."""
        for timer in (self._timer, self._cap):
            if timer is not None:
                timer.cancel()
        self._timer = self._cap = None
        self._deadline = float("inf")

    def _check(self) -> None:
        if self._loop.time() < self._deadline:
            self._timer = self._loop.call_at(self._deadline, self._check)
        else:
            self._fire(False)

    def _fire(self, capped: bool) -> None:
        now = self._loop.time()
        self.fired = True
        self.capped = capped
        self.quiet_s = now - self._armed
        self.waited_s = self._total if capped else self.quiet_s
        self.close()
        self._task.cancel()
