"""What became of the requests so far: counts, the failures with their history, the server's waits.

No widget, and no clock but the one given.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from datetime import datetime
from math import ceil

from kvtui.bench.requests.curl import Sent
from kvtui.failure import Evidence, Hint
from kvtui.ui.state import ErrorsState, Failure

MAX_FAILURES = 100
LONGEST_WAIT_S = 3600.0
"""Longer waits are said, not counted down."""

_ORDER = {"ok": 0, "stopped": 1}
"""Of the counts; failures come behind, as they came."""


class FailureLog:
    """Every finished request passes through here; ``state`` is what the Errors pane draws."""

    def __init__(self, now: Callable[[], datetime], clock: Callable[[], float]) -> None:
        """Begin empty.

        Args:
            now: the time of day that a failure is noted with.
            clock: monotonic seconds, for waits.
        """
        self.state = ErrorsState()
        self.last: tuple[Sent, Evidence | None] | None = None
        """The latest request that was sent, failed or not."""
        self._now = now
        self._clock = clock
        self._retry_at: float | None = None

    def record(self, failure: Failure, hints: tuple[Hint, ...] = ()) -> None:
        """Count a request; ``failure`` is what would be kept of it if it is none that went well."""
        verdict, shown = failure.verdict, self.state.shown
        counts = Counter(dict(self.state.counts))
        stopped = failure.figures is not None and failure.figures.stopped
        counts["stopped" if stopped else verdict.cls] += 1
        failures = self.state.failures
        if verdict.cls != "ok":
            same = bool(failures) and _likeness(failures[0]) == _likeness(failure)
            times = failures[0].times + 1 if same else 1
            kept = replace(failure, at=self._now().strftime("%H:%M:%S"), times=times)
            failures = (kept, *failures[1 if same else 0 :])
            shown = 0
            if verdict.retry_after_s is not None and verdict.retry_after_s <= LONGEST_WAIT_S:
                self._retry_at = self._clock() + verdict.retry_after_s
        unique = {hint.subcode + hint.message: hint for hint in (*verdict.hints, *hints)}
        self.state = replace(
            self.state,
            failures=failures[:MAX_FAILURES],
            counts=tuple(sorted(counts.items(), key=lambda item: _ORDER.get(item[0], 2))),
            hints=tuple(unique.values()),
            last_ok=verdict.cls == "ok",
            last_stopped=stopped,
            failed=self.state.failed + (1 if verdict.is_failure else 0),
            shown=shown,
        )
        self.count_down()

    def demo(self, offered: bool) -> None:
        """Say whether the endpoint offers failures on demand."""
        self.state = replace(self.state, demo=offered)

    # --- looking back -----------------------------------------------------------------------------

    def look(self, step: int) -> bool:
        """Show an older failure (1) or a newer one (-1); False where there is none."""
        shown = self.state.shown + step
        if not 0 <= shown < len(self.state.failures):
            return False
        self.state = replace(self.state, shown=shown)
        return True

    def asked(self) -> tuple[Sent, Evidence | None] | None:
        """The request of the failure shown, else the latest one; None where none was sent."""
        state, failure = self.state, self.state.selected
        if failure is not None and failure.sent is not None and (state.shown or not state.last_ok):
            return failure.sent, failure.evidence
        return self.last

    # --- what the server asked to wait ------------------------------------------------------------

    @property
    def counting(self) -> bool:
        """A wait that the server asked for is not over."""
        return self._retry_at is not None

    def count_down(self) -> bool:
        """Whole seconds until the server's wait is over; True while there are some."""
        if self._retry_at is None:
            return False
        left = max(0, ceil(self._retry_at - self._clock()))
        if left != self.state.wait_s:
            self.state = replace(self.state, wait_s=left)
        if not left:
            self._retry_at = None
        return left > 0

    def forget_wait(self) -> None:
        """The user asks again at once: the wait is not kept."""
        self._retry_at = None
        self.state = replace(self.state, wait_s=None)


def _likeness(failure: Failure) -> tuple[str, ...]:
    """The same for the same failure again, whatever numbers (seconds left, ids) it names."""
    verdict = failure.verdict
    words = re.sub(r"\d+(?:[.,]\d+)*", "#", verdict.message)
    return verdict.cls, verdict.subcode, words, failure.model
