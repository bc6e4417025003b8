"""What a list of runs shows of the requests of one: counts and medians, line by line."""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Sequence
from math import isnan, nan
from statistics import median
from typing import Any, NamedTuple

import msgspec

from kvtui.bench.figures.sample import is_warm
from kvtui.bench.figures.summary import fresh_stages, kind_of, shared_of
from kvtui.bench.work.workload import Stage, Workload


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


class _Row(NamedTuple):
    """What is kept of a request; nan: not known."""

    stopped: float
    failed: float
    segment: float
    begin: float
    end: float
    tokens: float
    cached: float
    shared: float
    """Cached tokens that may be the template's."""
    ttft_ms: float
    tpot_ms: float
    tps: float


_WIDTH = len(_Row._fields)


class Glance:
    """Counts and medians over requests, as their lines go by; of one sent again the later counts.

    By the rules of ``kvtui.bench.figures.levels``: a list says of a run what its levels say.
    """

    def __init__(self, workload: Workload | None = None) -> None:
        """Nothing yet.

        Args:
            workload: What was asked; None: not known, every stage is then a level of its own.
        """
        stages = workload.stages if workload is not None else ()
        self._fresh = fresh_stages(workload) if workload is not None else set[int]()
        self._turn = {
            number: stage.concurrency
            for number, stage in enumerate(stages)
            if workload is not None and workload.interleave
        }
        """Requests of a stage until the next one has its turn."""
        first: dict[Stage, int] = {}
        self._level = {n: first.setdefault(kind_of(stage), n) for n, stage in enumerate(stages)}
        """Stage → the first one of its kind, with which it is one level."""
        self._places: dict[tuple[int, int, bool], int] = {}
        self._rows = array("d")

    def take(self, line: Any) -> None:
        """One request: a line of the record, or a sample."""
        place = self._places.setdefault((line.stage, line.index, line.warmup), len(self._places))
        tokens = line.completion_tokens
        row = _Row(
            stopped=line.stopped,
            failed=bool(line.failed),
            segment=line.segment,
            begin=line.start_s if line.send_s is None else line.send_s,
            end=line.end_s if line.last_s is None else line.last_s,
            tokens=(line.estimated_tokens if tokens is None else tokens) or 0,
            cached=line.cached_prompt_tokens or 0,
            shared=(
                shared_of(line.cached_prompt_tokens, line.prompt_tokens)
                if line.stage in self._fresh
                else 0
            ),
            ttft_ms=_known(line.ttft_ms),
            tpot_ms=_known(line.tpot_ms),
            tps=_known(line.decode_tps),
        )
        self._rows[place * _WIDTH : (place + 1) * _WIDTH] = array("d", row)

    def _each(self) -> Iterator[tuple[tuple[int, int, bool], _Row]]:
        for key, place in self._places.items():
            yield key, _Row(*self._rows[place * _WIDTH : (place + 1) * _WIDTH])

    def _peak(self) -> float | None:
        spans: dict[tuple[int, float, int], tuple[float, float]] = {}
        """Stage, segment and turn, a stretch without a break → when it began and ended."""
        tokens: dict[int, float] = {}
        for (stage, index, warmup), row in self._each():
            if warmup or row.stopped:
                continue
            turn = self._turn.get(stage, 0)
            key = stage, row.segment, index // turn if turn else 0
            begin, end = spans.get(key, (row.begin, row.end))
            spans[key] = min(begin, row.begin), max(end, row.end)
            level = self._level.get(stage, stage)
            tokens[level] = tokens.get(level, 0) + (0 if row.failed else row.tokens)
        seconds = dict.fromkeys(tokens, 0.0)
        for (stage, _, _), (begin, end) in spans.items():
            seconds[self._level.get(stage, stage)] += end - begin
        rates = [tokens[n] / seconds[n] for n in tokens if tokens[n] and seconds[n] > 0]
        return round(max(rates), 6) if rates else None

    def summary(self) -> Summary:
        """What came of them; TTFT over the cold ones where there are any."""
        template = max((int(row.shared) for _, row in self._each()), default=0)
        cold, warm, tpot, tps = array("d"), array("d"), array("d"), array("d")
        requests = failed = stopped = 0
        for (_, _, warmup), row in self._each():
            if not warmup:
                requests += not row.stopped
                failed += bool(row.failed and not row.stopped)
                stopped += bool(row.stopped)
        for (_, _, warmup), row in self._each():
            # Those that a person stopped tell where there is nothing else.
            if warmup or (row.stopped or row.failed if requests else not row.stopped):
                continue
            (warm if is_warm(int(row.cached), template) else cold).append(row.ttft_ms)
            tpot.append(row.tpot_ms)
            tps.append(row.tps)
        ttft = _median(cold)
        return Summary(
            requests,
            failed,
            _median(warm) if ttft is None else ttft,
            _median(tpot),
            _median(tps),
            self._peak(),
            stopped,
        )


def _known(value: float | None) -> float:
    return nan if value is None else value


def _median(values: Sequence[float]) -> float | None:
    known = [value for value in values if not isnan(value)]
    return round(median(known), 6) if known else None
