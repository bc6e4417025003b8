"""A stretch of a level without a break: its seconds, its most requests at once, its steady part."""

from __future__ import annotations

from array import array
from math import inf, nan

from kvtui.bench.figures.sample import Sample
from kvtui.bench.work.workload import Stage


class Stretch:
    """When each of its requests was under way, and its tokens; times count from one start.

    A request ends with its last token where there is one: what the server does after it is no part
    of the work.
    """

    __slots__ = ("_begin", "_finish", "_first", "_last", "_tokens")

    def __init__(self) -> None:
        self._begin, self._finish = array("d"), array("d")
        self._first, self._last, self._tokens = array("d"), array("d"), array("q")

    def add(self, sample: Sample) -> None:
        """One more of them; only what completed counts with its tokens."""
        first, last = sample.first_s, sample.last_s
        self._begin.append(sample.start_s if sample.send_s is None else sample.send_s)
        self._finish.append(sample.end_s if last is None else last)
        known = sample.completed and first is not None and last is not None
        self._first.append(first if known and first is not None else nan)
        self._last.append(last if known and last is not None else nan)
        self._tokens.append((sample.tokens or 0) if known else 0)

    @property
    def seconds(self) -> float:
        """From the first one sent to the last one ended."""
        begin, end = self.span
        return end - begin

    @property
    def span(self) -> tuple[float, float]:
        """When the first one was sent, and when the last one ended."""
        return min(self._begin), max(self._finish)

    @property
    def peak(self) -> int:
        """The most that were under way at once; one that begins as another ends comes after it."""
        ends = iter(sorted(self._finish))
        end = next(ends, inf)
        flying = most = 0
        for begin in sorted(self._begin):
            while end <= begin:
                flying -= 1
                end = next(ends, inf)
            flying += 1
            most = max(most, flying)
        return most

    def steady(self, stage: Stage) -> tuple[float, float]:
        """Seconds of the steady window, and the tokens that came in it.

        It begins when as many requests as the level has streams have been sent, and ends when the
        last one is sent: from then on streams fall idle. One stream is always in use. At a rate it
        is the time from the first request's end to the last one's start.
        """
        starts = sorted(self._begin)
        if stage.rate is not None:
            low, high = min(self._finish), starts[-1]
        elif stage.concurrency == 1:
            low, high = starts[0], max(self._finish)
        elif len(starts) > stage.concurrency:
            low, high = starts[stage.concurrency - 1], starts[-1]
        else:
            return 0.0, 0.0
        if high <= low:
            return 0.0, 0.0
        come = zip(self._tokens, self._first, self._last, strict=True)
        return high - low, sum(_within(*request, low, high) for request in come)


def _within(count: int, first: float, last: float, low: float, high: float) -> float:
    """Tokens of a request that came between two times: the first at its stamp, the rest evenly."""
    if not count:
        return 0.0
    within = 1.0 if low <= first <= high else 0.0
    if count == 1 or last <= first:
        return count * within
    overlap = max(0.0, min(last, high) - max(first, low))
    return within + (count - 1) * overlap / (last - first)
