"""What a stage's requests have shown so far: whether to go on, and how the client did."""

from __future__ import annotations

from array import array

from kvtui.bench.figures.health import Lateness
from kvtui.bench.figures.sample import Sample
from kvtui.bench.running.certainty import certain
from kvtui.bench.work.workload import Stage

_FEW = 3
_KNOWN = ("ttft_ms", "tpot_ms")
"""Figures whose medians ``certainty`` is about."""


class Seen:
    """Sums over the requests that ended since a stage began; none of them is kept."""

    def __init__(self) -> None:
        self.count = 0
        self.lateness: dict[int, Lateness] = {}
        """Of each segment."""
        self._figures = {name: array("d") for name in _KNOWN}
        self._failed = 0
        self._last: Sample | None = None

    def add(self, sample: Sample) -> None:
        """One has ended."""
        self.count += 1
        self._failed += sample.failed
        self._last = sample
        self.lateness.setdefault(sample.segment, Lateness()).add(sample)
        for name, values in self._figures.items():
            value = getattr(sample, name)
            if sample.completed and value is not None:
                values.append(value)

    @property
    def refused(self) -> bool:
        """The last one failed for good: asking again is of no use."""
        failure = self._last.failure if self._last is not None else None
        return failure is not None and not failure["retryable"]

    def hopeless(self, stage: Stage) -> str:
        """Why the stage need not go on: every request failed, and there were enough of them."""
        last = self._last
        if last is None or self._failed < self.count:
            return ""
        most = stage.concurrency
        if self.count < (max(_FEW, most) if self.refused else max(10, 3 * most)):
            return ""
        return f"every request failed: {last.cls}.{last.subcode}"

    def certain(self, fraction: float) -> bool:
        """Whether the medians are known to ``fraction``."""
        return certain(self.count, self._figures.values(), fraction)
