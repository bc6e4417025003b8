"""A record at a glance: what a list of runs shows, without the requests in memory.

The first line tells what was asked, the last ones what came of it: ``end`` holds a summary. A run
without one (killed, or under way) is read through, a few fields a line, unless it is a large one:
then what came of it is not known here.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from io import BytesIO
from pathlib import Path
from typing import Any, BinaryIO, Literal
from urllib.parse import urlsplit

import msgspec

from kvtui.bench.figures.sample import Counted
from kvtui.bench.records.axes import Axes
from kvtui.bench.records.glance import Glance, Summary
from kvtui.bench.records.schema import MOST_LINE, UNREADABLE, RecordError, version_of
from kvtui.bench.work.workload import Workload, WorkloadError, from_table
from kvtui.language import tr
from kvtui.reading import lines_of

_PROMPT = 200
"""Characters of a prompt that a list may show."""
_TAIL = 16 << 10
_GROWTH = 8
"""The end is looked for in so many times as much each time: notes may follow it."""
_END = b'\n{"type":"end"'
MOST_READ = 16 << 20
"""Bytes of a file that are looked through for a list of many."""


@dataclass(frozen=True, slots=True)
class Entry:
    """One run of the folder. Figures are medians over the completed requests; None: unknown."""

    path: Path
    size: int
    """Bytes of the file."""
    when: str
    """UTC, ISO 8601: when it began; of a broken file, when it was last changed."""
    broken: str = ""
    """Why it cannot be read; the rest is then empty."""
    id: str = ""
    kind: Literal["bench", "run"] = "bench"
    """``run``: a request with its repeats, from the screen or ``kvtui run``."""
    preset: str = ""
    endpoint: str = ""
    """The host, or ``embedded engine``."""
    base_url: str | None = None
    model: str | None = None
    version: str = ""
    """Of the kvtui that wrote it."""
    finished: bool = False
    running: bool = False
    """A run writes it now."""
    wanted: int | None = None
    """Requests asked for; None where a time ends the run."""
    cache_off: bool = False
    """The embedded engine kept no keys and values."""
    prompt: str = ""
    """Of a single run."""
    several: bool = False
    """A level of it has more than one stream at once."""
    requests: int | None = 0
    """Measured requests that ended; None: the file is large, and has no summary (yet)."""
    failed: int = 0
    stopped: int = 0
    """Requests that a person stopped; the figures are theirs where ``requests`` is 0."""
    ttft_ms: float | None = None
    tpot_ms: float | None = None
    decode_tps: float | None = None
    """Of a stream."""
    peak_tps: float | None = None
    """Of all streams together, at the level with the most; None where no level had several."""
    tags: tuple[str, ...] = ()
    note: str = ""

    @property
    def resumable(self) -> bool:
        """``kvtui bench --resume`` can go on with it."""
        return self.unfinished and not self.running

    @property
    def cut_short(self) -> bool:
        """Nothing of it was not stopped by a person: the figures end at the last token."""
        return bool(self.stopped) and self.requests == 0

    @property
    def unfinished(self) -> bool:
        """A benchmark that has not come to its end (yet)."""
        return self.kind == "bench" and not self.finished and not self.broken


class _Line(msgspec.Struct):
    """What a glance needs of any line."""

    type: str
    stage: Counted = 0
    index: Counted = 0
    segment: Counted = 0
    warmup: bool = False
    start_s: float = 0.0
    send_s: float | None = None
    last_s: float | None = None
    end_s: float = 0.0
    prompt_tokens: Counted | None = None
    completion_tokens: Counted | None = None
    estimated_tokens: Counted | None = None
    failed: Any = False
    stopped: bool = False
    ttft_ms: float | None = None
    tpot_ms: float | None = None
    decode_tps: float | None = None
    cached_prompt_tokens: Counted | None = None
    tags: tuple[str, ...] | None = None
    note: str = ""
    summary: Summary | None = None
    workload: msgspec.Raw = msgspec.Raw()
    """Of the first line."""


_LINES = msgspec.json.Decoder(_Line)


def entry_of(path: Path) -> Entry:
    """A file of the folder; one that is no record is an entry that says why."""
    try:
        stat = path.stat()
    except OSError as error:
        return Entry(
            path, 0, "", broken=tr("it cannot be read: {error}", error=error.strerror or error)
        )
    when = datetime.fromtimestamp(stat.st_mtime, UTC).isoformat(timespec="milliseconds")
    blank = Entry(path, stat.st_size, when)
    try:
        with path.open("rb") as file:
            first = file.readline(MOST_LINE)
            return _ended(_headed(blank, first), file, first)
    except OSError as error:
        return replace(
            blank, broken=tr("it cannot be read: {error}", error=error.strerror or error)
        )
    except RecordError as error:
        return replace(blank, broken=str(error).removeprefix(f"{path} ").rstrip("."))


def _headed(entry: Entry, line: bytes) -> Entry:
    """What the first line tells."""
    if not line.strip():
        raise RecordError(tr("{path} is empty.", path=entry.path))
    try:
        header = msgspec.json.decode(line)
    except UNREADABLE:
        raise RecordError(tr("{path} is no record of kvtui.", path=entry.path)) from None
    if not isinstance(header, dict):
        raise RecordError(tr("{path} is no record of kvtui.", path=entry.path))
    version_of(header, entry.path)
    endpoint, workload = _table(header, "endpoint"), _table(header, "workload")
    listed = workload.get("stages")
    stages = [_table(each) for each in listed] if isinstance(listed, list) else []
    asked = [stage.get("requests") for stage in stages]
    counts = [number for number in asked if isinstance(number, int)]
    streams = [stage.get("concurrency") for stage in stages]
    only = stages[0] if header.get("kind") == "run" and stages else {}
    texts = only.get("texts")
    base_url = _text(endpoint, "base_url") or None
    return replace(
        entry,
        when=_text(header, "created_at") or entry.when,
        id=_text(header, "id"),
        kind="run" if header.get("kind") == "run" else "bench",
        preset=_text(workload, "preset"),
        endpoint="embedded engine" if endpoint.get("embedded") is True else host_of(base_url),
        base_url=base_url,
        model=_text(endpoint, "model") or None,
        version=_text(header, "kvtui"),
        wanted=sum(counts) if counts and len(counts) == len(asked) else None,
        cache_off=only.get("kv_cache") is False,
        prompt=str(texts[0])[:_PROMPT] if isinstance(texts, list) and texts else "",
        several=any(isinstance(each, int) and each > 1 for each in streams),
    )


def host_of(base_url: str | None) -> str:
    """Host and port of a URL; all of it where it has none."""
    try:
        place = urlsplit(base_url or "").netloc
    except ValueError:
        place = ""
    return place.rpartition("@")[2] or base_url or ""


def _ended(entry: Entry, file: BinaryIO, first: bytes) -> Entry:
    """What the last lines tell, or else all of them."""
    begin = file.tell()
    size = _TAIL
    while size < entry.size - begin:
        file.seek(entry.size - size)
        tail = file.read(size)
        at = tail.rfind(_END)
        if at >= 0:
            if found := _looked(entry, _lines(BytesIO(tail[at + 1 :])), None):
                return found
            break  # a run that was gone on with, or of a kvtui that summed nothing up
        if size >= MOST_READ:
            break
        size = min(size * _GROWTH, MOST_READ)
    if entry.size - begin > MOST_READ:
        marks = _marked(entry.path, entry.size)
        return replace(entry, requests=None, tags=marks.tags or (), note=marks.note)
    file.seek(begin)
    found = _looked(entry, _lines(file), Glance(_asked(first)))
    assert found is not None
    return found


def _lines(file: BinaryIO) -> Iterator[_Line]:
    axes = Axes()
    for text in lines_of(file, MOST_LINE):
        try:
            line = _LINES.decode(text)
        except UNREADABLE:
            continue  # torn, or a later kvtui's
        if line.type == "segment":
            axes.begin(line.segment)
        elif line.type == "request":
            line.segment = axes.of(line.segment)
        yield line


def _asked(line: bytes) -> Workload | None:
    """The workload of a first line, where it can be read."""
    with suppress(*UNREADABLE, WorkloadError):
        return from_table(msgspec.json.decode(_LINES.decode(line).workload))
    return None


def _looked(entry: Entry, lines: Iterator[_Line], glance: Glance | None) -> Entry | None:
    """The entry after these lines.

    Args:
        entry: What is known so far.
        lines: All of them, or those of the tail.
        glance: Looks at the requests; None: the lines are the tail.

    Returns:
        None where the tail tells too little.
    """
    marks: _Line | None = None
    ended: _Line | None = None
    for line in lines:
        if line.type == "request":
            if glance is not None:
                glance.take(line)
        elif line.type == "meta":
            marks = line
        elif line.type == "segment":
            ended = None
        elif line.type == "end":
            ended = line
    summary = ended.summary if ended else None
    if summary is None:
        if glance is None:
            return None
        summary = glance.summary()
    if glance is None and marks is None:
        told = ended is not None and ended.tags is not None
        marks = ended if told else _marked(entry.path, entry.size)
    return replace(
        entry,
        finished=ended is not None,
        requests=summary.requests,
        failed=summary.failed,
        stopped=summary.stopped,
        ttft_ms=summary.ttft_ms,
        tpot_ms=summary.tpot_ms,
        decode_tps=summary.decode_tps,
        peak_tps=summary.peak_tps if entry.several else None,
        tags=marks.tags or () if marks else (),
        note=marks.note if marks else "",
    )


def end_of(path: Path) -> dict[str, Any]:
    """What ``end`` says of a record: counts and medians over all requests, tags and note so far.

    Raises:
        OSError: It cannot be read.
    """
    tags: tuple[str, ...] = ()
    note = ""
    with path.open("rb") as file:
        glance = Glance(_asked(file.readline(MOST_LINE)))
        for line in _lines(file):
            if line.type == "request":
                glance.take(line)
            elif line.type == "meta":
                tags, note = line.tags or (), line.note
    return {"summary": msgspec.to_builtins(glance.summary()), "tags": tags, "note": note}


def _marked(path: Path, size: int) -> _Line:
    """Tags that were given while the run was under way, as far as they lie near its end."""
    marks = _Line("meta")
    with path.open("rb") as file:
        file.seek(max(0, size - MOST_READ))
        for line in lines_of(file, MOST_LINE):
            if line.startswith(b'{"type":"meta"'):
                with suppress(*UNREADABLE):
                    marks = _LINES.decode(line)
    return marks


def ends_torn(path: Path) -> bool:
    """Whether a file's last line has no end, as a kill in the middle of a write leaves it."""
    with path.open("rb") as file:
        if not file.seek(0, os.SEEK_END):
            return False
        file.seek(-1, os.SEEK_END)
        return file.read(1) != b"\n"


def _table(value: Any, name: str | None = None) -> Mapping[str, Any]:
    found = value.get(name) if name is not None else value
    return found if isinstance(found, dict) else {}


def _text(table: Mapping[str, Any], name: str) -> str:
    value = table.get(name)
    return value if isinstance(value, str) else ""
