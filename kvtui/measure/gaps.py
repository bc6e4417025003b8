"""Gaps between chunks as a histogram in bounded memory: percentiles to within two percent."""

from __future__ import annotations

from math import exp, log

_GROWTH = 0.02
_FLOOR = 1e-6


class Gaps:
    """Seconds between chunks. A read that carried k of them counts as k gaps of a k-th each."""

    def __init__(self) -> None:
        self._buckets: dict[int, int] = {}
        self.n = 0
        self.longest = 0.0
        """Between two reads, in seconds, however many chunks the second one carried."""

    def add(self, seconds: float, chunks: int = 1) -> None:
        """Count a gap before a read of ``chunks`` chunks."""
        self.longest = max(self.longest, seconds)
        each = max(seconds / chunks, _FLOOR)
        bucket = int(log(each / _FLOOR) / _GROWTH)
        self._buckets[bucket] = self._buckets.get(bucket, 0) + chunks
        self.n += chunks

    def merge(self, other: Gaps) -> None:
        """Count another's gaps too."""
        for bucket, count in other._buckets.copy().items():
            self._buckets[bucket] = self._buckets.get(bucket, 0) + count
            self.n += count

    def percentile(self, fraction: float) -> float | None:
        """The gap in seconds below which ``fraction`` of all lie; None without any."""
        if not self.n:
            return None
        wanted = fraction * self.n
        seen = 0
        for bucket in sorted(self._buckets.copy()):
            seen += self._buckets[bucket]
            if seen >= wanted:
                return _FLOOR * exp((bucket + 0.5) * _GROWTH)
        return None

    def copy(self) -> Gaps:
        """The same gaps, apart from what is still counted."""
        other = Gaps()
        other.merge(self)
        other.longest = self.longest
        return other

    def buckets(self) -> list[tuple[float, float, int]]:
        """(from, to, count) in seconds as they are counted, each two percent wide."""
        return [
            (_FLOOR * exp(at * _GROWTH), _FLOOR * exp((at + 1) * _GROWTH), count)
            for at, count in sorted(self._buckets.copy().items())
        ]
