"""The record of a run: JSON Lines, appended as it goes, schema ``kvtui.record/2``.

Each line is an object with a ``type``:

- ``run`` (the first): ``schema``, ``id``, ``kind`` (``bench``, or ``run``: a request with its
  repeats), ``created_at`` (UTC), ``clock`` (which, its resolution, what it showed then), ``kvtui``,
  ``machine``, ``endpoint`` (never a key), ``request`` (what all requests share), ``workload``
  (``kvtui.bench.work.workload``), ``nonce``.
- ``segment``: a stretch without a break begins (the run, or its going on after a pause or an
  interruption), with both clocks; times of its requests count from its stages' start. Each has a
  number of its own; in older files it may repeat (``kvtui.bench.records.axes``).
- ``learned``: how words become tokens at this endpoint, and whether ``ignore_eos`` is sent.
- ``request``: one request (``kvtui.bench.figures.sample.Sample``; what it leaves out is the
  default) and its ``tape``: every event with its stamp (``kvtui.bench.records.tape``). One that was
  stopped or failed is ``partial``: its text and figures are what there was.
- ``stage_end``, ``health``: of a stage, as it ends.
- ``meta``: tags and a note; the last one counts.
- ``end``: the run is through, with counts and medians, and what ``meta`` said until then; without
  it, it can be resumed.

A line is written whole by one call, so a killed run loses what was in flight and no more. Who
writes a benchmark's record holds its lock (``kvtui.bench.records.lock``): nobody else resumes it.
Unknown types and fields are passed over. Older schemas are read as today's, line by line as they
are read (``kvtui.bench.records.schema``); no file is written anew. Version 1 had no ``kind`` and
``clock`` in ``run``, no ``summary`` in ``end`` and no ``tape``: its requests have figures and are
not replayed. Who resumes one appends today's lines to it.
"""

from __future__ import annotations

import os
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec

from kvtui.bench.figures.health import Health
from kvtui.bench.figures.sample import Counted, Sample
from kvtui.bench.figures.samples import Samples
from kvtui.bench.records.axes import Axes
from kvtui.bench.records.schema import (
    MOST_LINE,
    SCHEMA,
    UNREADABLE,
    VERSION,
    RecordError,
    check_header,
    is_request,
    migrated,
    type_of,
    version_of,
)
from kvtui.bench.requests.targets import Target
from kvtui.bench.work.prompts import Words
from kvtui.bench.work.workload import Workload, WorkloadError, from_table
from kvtui.language import tr
from kvtui.places import data_folder, user_path
from kvtui.reading import lines_of

__all__ = ["SCHEMA", "Record", "RecordError", "new_path", "read_header", "read_record", "runs_path"]


def runs_path(environ: Mapping[str, str] = os.environ) -> Path:
    """The folder of the records: where ``KVTUI_RUNS`` says, else in the platform's data folder."""
    named = environ.get("KVTUI_RUNS")
    if named:
        return user_path(named)
    return data_folder() / "runs"


def new_path(preset: str, folder: Path | None = None) -> Path:
    """A file name that no other run has."""
    stamp = datetime.now(UTC).strftime("%Y%m%d-%H%M%S")
    safe = "".join(c if c.isalnum() or c in "-_" else "-" for c in preset)[:40]
    return (folder or runs_path()) / f"{stamp}-{safe}-{secrets.token_hex(2)}.jsonl"


@dataclass(frozen=True)
class Record:
    """A run as read from its file."""

    path: Path
    header: Mapping[str, Any]
    workload: Workload
    samples: Sequence[Sample]
    health: Mapping[tuple[int, int], Health]
    words: Words | None = None
    ignore_eos: bool = False
    targets: tuple[Target, ...] = ()
    """The endpoints of a run that has several, with what became known of them."""
    ended_early: Mapping[int, str] = field(default_factory=dict)
    segments: int = 1
    finished: bool = False
    tags: tuple[str, ...] = ()
    note: str = ""
    torn: int = 0
    """Lines that could not be read: what was being written when the run was killed."""

    @property
    def done(self) -> Samples:
        """What a resumed run need not send again: neither what failed nor what was stopped."""
        return Samples(sample for sample in self.samples if sample.completed)


def read_record(path: Path, *, requests: bool = True) -> Record:
    """A record, whole or half done.

    Args:
        path: The file.
        requests: Whether to read them, too; who has them already passes them over.

    Raises:
        RecordError: It cannot be read, or is none.
    """
    header: dict[str, Any] | None = None
    samples = _Latest()
    health: dict[tuple[int, int], Health] = {}
    early: dict[int, str] = {}
    axes = Axes()
    more: dict[str, Any] = {}
    torn = version = 0
    try:
        with path.open("rb") as file:
            for line in lines_of(file, MOST_LINE):
                if not line.strip():
                    continue
                if header is None:
                    header, version = read_header(line, path)
                    continue
                if not requests and is_request(line):
                    continue
                try:
                    kind = type_of(line)
                except UNREADABLE:
                    torn += 1
                    continue
                try:
                    if kind == "request" and version == VERSION:
                        sample = _SAMPLE.decode(line)  # its tape is passed over
                        samples.add(sample, axes.of(sample.segment))
                    else:
                        table = migrated(msgspec.json.decode(line), version)
                        _line(kind, table, samples, axes, health, early, more)
                except (msgspec.ValidationError, KeyError, TypeError) as error:
                    raise RecordError(
                        tr(
                            "{path}: a line of type {kind!r}: {error}.",
                            path=path,
                            kind=kind,
                            error=error,
                        )
                    ) from None
                except UNREADABLE:
                    torn += 1
    except OSError as error:
        raise RecordError(
            tr("{path} cannot be read: {error}.", path=path, error=error.strerror or error)
        ) from None
    if header is None:
        raise RecordError(tr("{path} is empty.", path=path))
    try:
        workload = from_table(header["workload"])
    except (KeyError, WorkloadError) as error:
        raise RecordError(f"{path}: {error}") from None
    if samples.stages > len(workload.stages):
        raise RecordError(
            tr(
                "{path} is damaged: a request is of level {number}, and the run has {count}.",
                path=path,
                number=samples.stages,
                count=len(workload.stages),
            )
        )
    return Record(
        path,
        header,
        workload,
        samples.all(),
        health,
        ended_early=early,
        segments=axes.count,
        torn=torn,
        **more,
    )


class _Latest:
    """Requests as they are read: of one that was sent again the later counts."""

    def __init__(self) -> None:
        self._read = Samples()
        self._places: dict[tuple[int, int, bool], int] = {}
        self.stages = 0
        """As many as there must be: one more than the largest number."""

    def add(self, sample: Sample, segment: int) -> None:
        """The next one of the file, and the stretch that it lies in."""
        if segment != sample.segment:
            sample = msgspec.structs.replace(sample, segment=segment)
        self.stages = max(self.stages, sample.stage + 1)
        self._places[sample.stage, sample.index, sample.warmup] = len(self._read)
        self._read.append(sample)

    def all(self) -> Samples:
        """Those that count, in the file's order."""
        if len(self._places) == len(self._read):
            return self._read
        places = set(self._places.values())
        return Samples(sample for place, sample in enumerate(self._read) if place in places)


_SAMPLE = msgspec.json.Decoder(Sample)


def read_header(line: bytes, path: Path) -> tuple[dict[str, Any], int]:
    """The first line in today's form, and the version of the schema that it was written in.

    Raises:
        RecordError: It is no record's.
    """
    try:
        table = msgspec.json.decode(line)
    except UNREADABLE:
        table = None
    if not isinstance(table, dict):
        raise RecordError(tr("{path} is no record of kvtui.", path=path))
    version = version_of(table, path)
    header = migrated(table, version)
    check_header(header, path)
    return header, version


def _line(
    kind: str,
    table: dict[str, Any],
    samples: _Latest,
    axes: Axes,
    health: dict[tuple[int, int], Health],
    early: dict[int, str],
    more: dict[str, Any],
) -> None:
    match kind:
        case "request":
            sample = msgspec.convert(table, Sample)
            samples.add(sample, axes.of(sample.segment))
        case "health":
            segment = axes.of(_number(table["segment"]))
            health[table["stage"], segment] = msgspec.convert(table, Health)
        case "stage_end":
            if table["why"]:
                early[table["stage"]] = table["why"]
        case "segment":
            axes.begin(_number(table["segment"]))
        case "learned":
            words = table["words"]
            more["words"] = msgspec.convert(words, Words) if words else None
            more["ignore_eos"] = bool(table["ignore_eos"])
            more["targets"] = msgspec.convert(table.get("targets", ()), tuple[Target, ...])
        case "meta":
            more["tags"], more["note"] = tuple(table.get("tags", ())), table.get("note", "")
        case "end":
            more["finished"] = True
        case _:
            pass  # a later kvtui's


def _number(value: Any) -> int:
    return msgspec.convert(value, Counted)
