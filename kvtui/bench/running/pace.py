"""How far a run is, and how long the rest of it will take."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Container

from kvtui.bench.figures.sample import Sample
from kvtui.bench.work.workload import Workload

_LAST = 50


class Pace:
    """Counts a run's requests as they end. Warm-up ones are left out."""

    def __init__(self, workload: Workload) -> None:
        self._workload = workload
        self._spent: deque[float] = deque(maxlen=_LAST)
        self.done: Counter[int] = Counter()
        """Stage → requests that have ended."""
        self.total = 0
        self.failed = 0

    def add(self, sample: Sample) -> None:
        """A request has ended."""
        if sample.warmup:
            return
        self.done[sample.stage] += 1
        self.total += 1
        self.failed += sample.failed
        if sample.completed:
            tokens = self._workload.stages[sample.stage].max_tokens
            self._spent.append((sample.end_s - sample.start_s) / tokens)

    def left(self, now: int, early: Container[int]) -> float | None:
        """Seconds to go: each stage's requests at the pace of the last ones, by tokens asked for.

        Args:
            now: The stage under way.
            early: Stages that were ended early.

        Returns:
            None where nothing is known yet, or where what comes next hangs on the results.
        """
        spent = list(self._spent)
        if not spent or self._workload.search is not None:
            return None
        pace = sum(spent) / len(spent)
        total = 0.0
        for number, stage in enumerate(self._workload.stages):
            if number in early or (number < now and not self._workload.interleave):
                continue
            if stage.requests is None:
                total += stage.duration_s or 0.0
                continue
            left = max(0, stage.requests - self.done[number])
            each = pace * stage.max_tokens / max(1, stage.concurrency)
            total += left / stage.rate if stage.rate else left * each
        return total
