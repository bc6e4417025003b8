"""A recorded request through the meter again: the figures come from the code that made them."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import msgspec

from kvtui.bench.figures.sample import Sample
from kvtui.bench.records.record import read_header
from kvtui.bench.records.schema import (
    MOST_LINE,
    UNREADABLE,
    VERSION,
    RecordError,
    is_request,
    migrated,
)
from kvtui.bench.records.tape import TapeError, unpack
from kvtui.failure import Evidence, Verdict, classify
from kvtui.language import tr
from kvtui.measure.figures import RunFigures
from kvtui.measure.meter import Meter
from kvtui.reading import lines_of
from kvtui.stream.events import Event

_FIGURES = (
    "connect_ms", "ttft_ms", "ttfa_ms", "tpot_ms", "decode_tps", "e2e_tps", "e2e_ms",
    "prompt_tokens", "cached_prompt_tokens", "completion_tokens", "reasoning_tokens",
    "estimated_tokens", "token_source", "chunks", "finish_reason", "itl_p50_ms", "itl_p99_ms",
    "tokens_per_chunk",
)  # fmt: skip
"""What a tape that was cut is not asked for, since the record has it."""


class _Taped(Sample, frozen=True, kw_only=True):
    """A line of type ``request`` with its tape."""

    tape: dict[str, Any] | None = None


_SAMPLE = msgspec.json.Decoder(Sample)


@dataclass(frozen=True, slots=True)
class Recording:
    """One recorded request."""

    path: Path
    number: int
    """Of the file's requests, from 1, warm-up included."""
    sample: Sample
    tape: Mapping[str, Any]

    def reads(self, start: float = 0.0) -> list[list[Event]]:
        """Its events, one list a read; their stamps count on from ``start``.

        Raises:
            RecordError: Its tape is damaged.
        """
        try:
            return unpack(self.tape, start)
        except TapeError as error:
            raise RecordError(f"{self.path}, request {self.number}: {error}.") from None

    def meter(self, start: float, clock: Callable[[], float] | None = None) -> Meter:
        """A meter for it, which shows nothing yet; time begins at ``start``."""
        late = (self.sample.loop_lag_ms or 0.0) / 1000
        stamped_late = (self.sample.stamp_lag_ms or 0.0) / 1000
        return Meter(
            per_chunk=self.tape.get("per_chunk"),
            lag=lambda begin, end: stamped_late if begin == end else late,
            clock=clock or (lambda: start),
            keep_pieces=clock is not None,
            started_at=self.sample.started_at,
        )

    def conclude(self, meter: Meter, *, stopped: bool = False) -> RunFigures:
        """The figures once all reads were fed to ``meter``; or some, where it was stopped."""
        figures = meter.conclude(classify if stopped else self._verdict)
        if stopped or not self.tape.get("cut"):
            return figures
        known = {name: getattr(self.sample, name) for name in _FIGURES}
        return replace(figures, **known)

    def _verdict(self, evidence: Evidence) -> Verdict:
        """What is thought of it now; the class it was given then stands."""
        verdict = classify(evidence)
        sample = self.sample
        if (verdict.cls, verdict.subcode) == (sample.cls, sample.subcode):
            return verdict
        failure = sample.failure or {}
        fixes = failure.get("fixes")
        return replace(
            verdict,
            cls=sample.cls,  # type: ignore[arg-type]
            subcode=sample.subcode,
            message=str(failure.get("message") or verdict.message),
            fixes=tuple(map(str, fixes)) if isinstance(fixes, list) else verdict.fixes,
        )

    def figures(self) -> RunFigures:
        """Its figures at once.

        Raises:
            RecordError: Its tape is damaged.
        """
        meter = self.meter(0.0)
        for events in self.reads():
            meter.feed(events)
        return self.conclude(meter)


def recordings(path: Path, numbers: Mapping[int, Any] | None = None) -> Iterator[Recording]:
    """The requests of a record that have a tape, one after another, so that none has to be kept.

    Args:
        path: The record.
        numbers: Only these; None: all.

    Raises:
        RecordError: It cannot be read, or is none.
    """
    for number, line, version in _requests(path):
        if numbers is None or number in numbers:
            taped = _request(line, version)
            if taped is not None and taped.tape is not None and _whole(taped.tape):
                yield Recording(path, number, taped, taped.tape)


def known_requests(path: Path) -> Iterator[tuple[int, Sample]]:
    """The figures of every request of a record, warm-up included, with its number from 1.

    One after another, so that none has to be kept; a line that was torn has a number, too.

    Raises:
        RecordError: It cannot be read, or is none.
    """
    for number, line, version in _requests(path):
        if version == VERSION:
            with suppress(*UNREADABLE):
                yield number, _SAMPLE.decode(line)
        elif (taped := _request(line, version)) is not None:
            yield number, taped


def count_requests(path: Path) -> int:
    """How many lines of requests a record has, damaged ones with them.

    Raises:
        RecordError: It cannot be read, or is none.
    """
    return sum(1 for _ in _requests(path))


def _requests(path: Path) -> Iterator[tuple[int, bytes, int]]:
    """The lines of the requests: number from 1, bytes, version of their schema."""
    try:
        with path.open("rb") as file:
            _, version = read_header(file.readline(MOST_LINE), path)
            lines = (line for line in lines_of(file, MOST_LINE) if is_request(line))
            for number, line in enumerate(lines, 1):
                yield number, line, version
    except OSError as error:
        raise RecordError(
            tr("{path} cannot be read: {error}.", path=path, error=error.strerror or error)
        ) from None


def _request(line: bytes, version: int) -> _Taped | None:
    """A request; None for a line that was torn."""
    try:
        if version == VERSION:
            return msgspec.json.decode(line, type=_Taped)
        return msgspec.convert(migrated(json.loads(line), version), _Taped)
    except (*UNREADABLE, ValueError):
        return None


def _whole(tape: Mapping[str, Any]) -> bool:
    """It tells how the request ended, as every tape does that was written whole."""
    more = tape.get("more")
    return isinstance(more, list) and any(
        isinstance(event, dict) and event.get("is") == "ended" for event in more
    )
