"""What a list of runs shows of the requests of one: counts and medians, line by line."""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from statistics import median
from typing import Any

import msgspec


class Summary(msgspec.Struct, frozen=True, omit_defaults=True):
    """What ``end`` says of the whole run."""

    requests: int = 0
    """Measured ones that ended, those that a person stopped left out."""
    failed: int = 0
    ttft_ms: float | None = None
    tpot_ms: float | None = None
    decode_tps: float | None = None
    peak_tps: float | None = None
    """The most output tokens a second of a stage, over all its streams."""
    stopped: int = 0
    """Requests that a person stopped. Where there are no others, the figures are theirs, each up to
    its last token."""


class Glance:
    """Counts and medians over requests, as their lines go by."""

    def __init__(self) -> None:
        self._failed: dict[tuple[int, int], bool] = {}
        self._cold, self._warm = array("d"), array("d")
        self._tpot, self._tps = array("d"), array("d")
        self._spans: dict[tuple[int, int], list[float]] = {}
        """(stage, segment) → when its first request was sent, its last one ended; its tokens."""
        self._stopped: list[tuple[float | None, float | None, float | None]] = []
        """TTFT, TPOT, rate."""

    def take(self, line: Any) -> None:
        """One request: a line of the record, or a sample."""
        if line.warmup:
            return
        if line.stopped:
            self._stopped.append((line.ttft_ms, line.tpot_ms, line.decode_tps))
            return
        failed = bool(line.failed)
        self._failed[line.stage, line.index] = failed
        self._span(line, failed)
        if failed or line.partial:
            return
        if line.ttft_ms is not None:
            (self._warm if line.cached_prompt_tokens else self._cold).append(line.ttft_ms)
        if line.tpot_ms is not None:
            self._tpot.append(line.tpot_ms)
        if line.decode_tps is not None:
            self._tps.append(line.decode_tps)

    def _span(self, line: Any, failed: bool) -> None:
        """As ``kvtui.bench.figures.levels`` has a level's throughput, in a few numbers."""
        begin = line.start_s if line.send_s is None else line.send_s
        end = line.end_s if line.last_s is None else line.last_s
        span = self._spans.setdefault((line.stage, line.segment), [begin, end, 0.0])
        tokens = line.completion_tokens or line.estimated_tokens or 0
        span[0], span[1] = min(span[0], begin), max(span[1], end)
        span[2] += 0 if failed else tokens

    def _peak(self) -> float | None:
        sums: dict[int, list[float]] = {}
        for (stage, _), (begin, end, tokens) in self._spans.items():
            of = sums.setdefault(stage, [0.0, 0.0])
            of[0], of[1] = of[0] + end - begin, of[1] + tokens
        rates = [tokens / seconds for seconds, tokens in sums.values() if seconds > 0 and tokens]
        return round(max(rates), 6) if rates else None

    def summary(self) -> Summary:
        """What came of them; TTFT over the cold ones where there are any."""
        ttft, tpot, tps = _median(self._cold or self._warm), _median(self._tpot), _median(self._tps)
        if self._stopped and not self._failed:
            ttft, tpot, tps = (
                _median([value for value in column if value is not None])
                for column in zip(*self._stopped, strict=True)
            )
        return Summary(
            len(self._failed),
            sum(self._failed.values()),
            ttft,
            tpot,
            tps,
            self._peak(),
            len(self._stopped),
        )


def _median(values: Sequence[float]) -> float | None:
    return round(median(values), 6) if values else None
