"""How far a run is, and how long the rest of it will take."""

from __future__ import annotations

import threading
from collections import Counter, deque
from collections.abc import Container, Mapping
from dataclasses import dataclass, field
from math import ceil, log

from kvtui.bench.figures.sample import Sample
from kvtui.bench.work.workload import Stage, Workload

_LAST = 50
_LETTERS = 4
"""Letters of a token, near enough for a guess of the time a prompt takes."""


@dataclass(slots=True)
class _Seen:
    """What the last requests of one stage took, in seconds."""

    whole: deque[float] = field(default_factory=lambda: deque(maxlen=_LAST))
    ttft: deque[float] = field(default_factory=lambda: deque(maxlen=_LAST))
    token: deque[float] = field(default_factory=lambda: deque(maxlen=_LAST))


@dataclass(frozen=True, slots=True)
class _Took:
    """The means of what is seen of a stage, in seconds; None: not known of it."""

    whole: float
    ttft: float | None
    token: float | None


class Pace:
    """Counts a run's requests as they end, and learns from them what the others will take.

    Warm-up requests are counted nowhere, but what they took tells as much as any. The run's thread
    adds while another asks: who asks works on what there was when it began.
    """

    def __init__(self, workload: Workload) -> None:
        self._workload = workload
        self._lock = threading.Lock()
        self._seen: dict[int, _Seen] = {}
        """By stage, the one whose request ended last at the end."""
        self.done: Counter[int] = Counter()
        """Stage → requests that have ended."""
        self.total = 0
        self.failed = 0

    def add(self, sample: Sample) -> None:
        """A request has ended."""
        with self._lock:
            if sample.completed:
                seen = self._seen.pop(sample.stage, None) or _Seen()
                self._seen[sample.stage] = seen
                seen.whole.append(sample.end_s - sample.start_s)
                if sample.ttft_ms is not None:
                    seen.ttft.append(sample.ttft_ms / 1000)
                if sample.tpot_ms is not None:
                    seen.token.append(sample.tpot_ms / 1000)
            if sample.warmup:
                return
            self.done[sample.stage] += 1
            self.total += 1
            self.failed += sample.failed

    def _took(self) -> dict[int, _Took]:
        """What is known now of each stage; in the order of ``_seen``."""
        with self._lock:
            return {
                number: _Took(_mean(seen.whole) or 0.0, _mean(seen.ttft), _mean(seen.token))
                for number, seen in self._seen.items()
            }

    def left(self, now: int, early: Container[int]) -> float | None:
        """Seconds to go.

        A stage that has begun goes on at its own pace. One that has not takes the first token of
        prompts as long (by a line through the lengths seen) and the time per token of the latest
        stage, times the tokens asked for; more streams at once lengthen both as they did before.

        Args:
            now: The stage under way.
            early: Stages that were ended early.

        Returns:
            None where nothing is known yet, or where what comes next hangs on the results.
        """
        took = self._took()
        if not took or self._workload.search is not None:
            return None
        total = 0.0
        for number, stage in enumerate(self._workload.stages):
            if number in early or (number < now and not self._workload.interleave):
                continue
            if stage.requests is None:
                total += stage.duration_s or 0.0
                continue
            left = max(0, stage.requests - self.done[number])
            if stage.rate:
                total += left / stage.rate
                continue
            if number not in took:
                left += stage.warmup
            total += ceil(left / max(1, stage.concurrency)) * self._each(number, stage, took)
        return total

    def _each(self, number: int, stage: Stage, took: Mapping[int, _Took]) -> float:
        """Seconds of one request of a stage."""
        if number in took:
            return took[number].whole
        latest = next(reversed(list(took)))
        seen, like = took[latest], self._workload.stages[latest]
        if seen.token is None:
            alone = seen.whole * stage.max_tokens / like.max_tokens
        else:
            alone = self._first(stage, took) + seen.token * stage.max_tokens
        streams = max(1, stage.concurrency) / max(1, like.concurrency)
        return float(alone * streams ** self._crowding(took))

    def _first(self, stage: Stage, took: Mapping[int, _Took]) -> float:
        """Its TTFT, by the least-squares line through the lengths seen; flat where there is one."""
        points = [
            (_tokens(self._workload.stages[number]), seen.ttft)
            for number, seen in took.items()
            if seen.ttft is not None
        ]
        if not points:
            return 0.0
        x = sum(n for n, _ in points) / len(points)
        y = sum(t for _, t in points) / len(points)
        spread = sum((n - x) ** 2 for n, _ in points)
        slope = sum((n - x) * (t - y) for n, t in points) / spread if spread else 0.0
        return max(0.0, y + max(0.0, slope) * (_tokens(stage) - x))

    def _crowding(self, took: Mapping[int, _Took]) -> float:
        """How requests lengthen with the streams at once: 0 not at all, 1 in proportion."""
        latest, *before = reversed(list(took))
        like = self._workload.stages[latest]
        for number in before:
            stage = self._workload.stages[number]
            more = like.concurrency / max(1, stage.concurrency)
            same = (stage.max_tokens, _tokens(stage)) == (like.max_tokens, _tokens(like))
            if same and more > 1 and not (stage.rate or like.rate):
                longer = max(1.0, took[latest].whole / max(1e-6, took[number].whole))
                return min(1.0, log(longer) / log(more))
        return 0.0


def _mean(values: deque[float]) -> float | None:
    return sum(values) / len(values) if values else None


def _tokens(stage: Stage) -> float:
    """About how long its prompts are."""
    if stage.texts:
        return sum(map(len, stage.texts)) / len(stage.texts) / _LETTERS
    return float(stage.prompt_tokens or 0)
