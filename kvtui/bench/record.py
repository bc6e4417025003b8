"""The record of a run: JSON Lines, appended as it goes, schema ``kvtui.record/1``.

Each line is an object with a ``type``:

- ``run`` (the first): ``schema``, ``id``, ``created_at``, ``kvtui``, ``machine``, ``endpoint``
  (never a key), ``request`` (what all requests share), ``workload``, ``nonce``.
- ``segment``: a stretch without a break begins; times of its requests count from its stages' start.
- ``learned``: how words become tokens at this endpoint, and whether ``ignore_eos`` is sent.
- ``request``: one request (``kvtui.bench.sample.Sample``); what it leaves out is the default.
- ``stage_end``, ``health``: of a stage, as it ends.
- ``meta``: tags and a note; the last one counts.
- ``end``: the run is through; without it, it can be resumed.

A line is written whole by one call, so a killed run loses what was in flight and no more.
"""

from __future__ import annotations

import json
import os
import platform
import secrets
import sys
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec

from kvtui import __version__
from kvtui.bench.health import Health
from kvtui.bench.prepared import Prepared
from kvtui.bench.progress import BenchEvent, HealthTaken, Learned, RequestEnded, StageEnded
from kvtui.bench.prompts import Words
from kvtui.bench.sample import Sample
from kvtui.bench.workload import Workload, WorkloadError, as_table, from_table
from kvtui.stream.gather import is_secret_header
from kvtui.stream.request import Request
from kvtui.text import redact

SCHEMA = "kvtui.record/1"
_SHORTEST_SECRET = 6


class RecordError(ValueError):
    """A record that cannot be read or written; the message names the file."""


def runs_path(environ: Mapping[str, str] = os.environ) -> Path:
    """The folder of the records: where ``KVTUI_RUNS`` says, else in the platform's data folder."""
    named = environ.get("KVTUI_RUNS")
    if named:
        return Path(named).expanduser()
    from platformdirs import user_data_path

    return user_data_path("kvtui", appauthor=False) / "runs"


def new_path(preset: str, folder: Path | None = None) -> Path:
    """A file name that no other run has."""
    stamp = datetime.now(UTC).strftime("%Y%m%d-%H%M%S")
    safe = "".join(c if c.isalnum() or c in "-_" else "-" for c in preset)[:40]
    return (folder or runs_path()) / f"{stamp}-{safe}-{secrets.token_hex(2)}.jsonl"


class Recorder:
    """Appends a run's lines to its file. A disk that fills up is said once; the run goes on."""

    def __init__(self, path: Path, secret: tuple[str, ...] = (), *, segment: int = 0) -> None:
        self.path = path
        self.error = ""
        """Why nothing is written any more."""
        self._secrets = tuple(s for s in secret if len(s) >= _SHORTEST_SECRET)
        self._file = -1
        self._segment = segment

    def create(self, header: Mapping[str, Any]) -> None:
        """Make the file, readable by its owner only.

        Raises:
            RecordError: There is one already, or it cannot be made.
        """
        self._open(os.O_CREAT | os.O_EXCL)
        self.write("run", header)
        self.write("segment", {"segment": self._segment, "started_at": _now()})
        if self.error:
            raise RecordError(f"{self.path} cannot be written: {self.error}.")

    def append(self) -> None:
        """Go on with a file that is there.

        Raises:
            RecordError: It cannot be written.
        """
        self._open(0)
        torn = self.path.stat().st_size and self.path.read_bytes()[-1:] != b"\n"
        if torn:
            os.write(self._file, b"\n")
        self.write("segment", {"segment": self._segment, "started_at": _now()})

    def _open(self, flags: int) -> None:
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            self._file = os.open(self.path, os.O_WRONLY | os.O_APPEND | flags, 0o600)
        except FileExistsError:
            raise RecordError(
                f"{self.path} is there already: name another, or resume it."
            ) from None
        except OSError as error:
            raise RecordError(f"{self.path} cannot be written: {error.strerror}.") from None

    def write(self, kind: str, table: Mapping[str, Any]) -> None:
        """Append a line."""
        if self._file < 0 or self.error:
            return
        text = json.dumps({"type": kind, **table}, ensure_ascii=False, separators=(",", ":"))
        for secret in self._secrets:
            text = text.replace(json.dumps(secret)[1:-1], "***")
            text = text.replace(json.dumps(secret, ensure_ascii=False)[1:-1], "***")
        line = text.encode("utf-8", "replace") + b"\n"
        try:
            if os.write(self._file, line) < len(line):
                self.error = "there was room for half a line only"
        except OSError as error:
            self.error = error.strerror or str(error)

    def take(self, event: BenchEvent) -> None:
        """Write what is worth keeping of an event."""
        if isinstance(event, RequestEnded):
            if not event.sample.stopped:
                self.write("request", msgspec.to_builtins(event.sample))
        elif isinstance(event, StageEnded):
            self.write("stage_end", {"stage": event.stage, "why": event.why})
        elif isinstance(event, HealthTaken):
            self.write(
                "health",
                {
                    "stage": event.stage,
                    "segment": event.segment,
                    **msgspec.to_builtins(event.health),
                },
            )
        elif isinstance(event, Learned):
            words = asdict(event.words) if event.words else None
            self.write("learned", {"words": words, "ignore_eos": event.ignore_eos})

    def end(self) -> None:
        """The run is through."""
        self.write("end", {"ended_at": _now()})

    def close(self) -> None:
        """Close the file."""
        if self._file >= 0:
            os.close(self._file)
            self._file = -1


def secrets_of(prepared: Prepared, request: Request) -> tuple[str, ...]:
    """What must be in no record: the key, and the values of secret headers."""
    headers = {**prepared.endpoint.headers, **request.extra_headers}
    hidden = [value for name, value in headers.items() if is_secret_header(name)]
    key = prepared.endpoint.api_key
    return (*([key] if key else []), *hidden)


def header_of(
    prepared: Prepared, request: Request, workload: Workload, nonce: str
) -> dict[str, Any]:
    """The first line of a new record."""
    endpoint = prepared.endpoint
    return {
        "schema": SCHEMA,
        "id": secrets.token_hex(6),
        "created_at": _now(),
        "kvtui": __version__,
        "machine": {
            "platform": platform.platform(),
            "python": platform.python_version(),
            "cpus": os.cpu_count(),
            "clock": "perf_counter",
            "argv": [redact(word, endpoint.api_key) for word in sys.argv[1:]],
        },
        "endpoint": {
            "base_url": None if endpoint.embedded else redact(endpoint.base_url, endpoint.api_key),
            "model": prepared.model,
            "key_from": endpoint.key_from,
            "chosen_by": endpoint.chosen_by,
            "embedded": endpoint.embedded,
            "profile": endpoint.profile,
            "context": prepared.context,
        },
        "request": _clean(
            {
                "system": request.system,
                "top_p": request.top_p,
                "stop": list(request.stop),
                "kv_cache": request.kv_cache,
                "extra_body": dict(request.extra_body),
                "headers": sorted({*endpoint.headers, *request.extra_headers}),
                "timeouts": asdict(request.timeouts),
            },
            endpoint.api_key,
        ),
        "workload": as_table(workload),
        "nonce": nonce,
    }


def _clean(value: Any, key: str | None) -> Any:
    if isinstance(value, str):
        return redact(value, key)
    if isinstance(value, Mapping):
        return {str(name): _clean(item, key) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [_clean(item, key) for item in value]
    return value


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds")


@dataclass(frozen=True)
class Record:
    """A run as read from its file."""

    path: Path
    header: Mapping[str, Any]
    workload: Workload
    samples: tuple[Sample, ...]
    health: Mapping[tuple[int, int], Health]
    words: Words | None = None
    ignore_eos: bool = False
    ended_early: Mapping[int, str] = field(default_factory=dict)
    segments: int = 1
    finished: bool = False
    tags: tuple[str, ...] = ()
    note: str = ""
    torn: int = 0
    """Lines that could not be read: what was being written when the run was killed."""


def read_record(path: Path) -> Record:
    """A record, whole or half done.

    Raises:
        RecordError: It cannot be read, or is none.
    """
    header: dict[str, Any] | None = None
    samples: dict[tuple[int, int, bool], Sample] = {}
    health: dict[tuple[int, int], Health] = {}
    early: dict[int, str] = {}
    more: dict[str, Any] = {"segments": 0}
    torn = 0
    try:
        with path.open("rb") as file:
            for line in file:
                if not line.strip():
                    continue
                try:
                    table = msgspec.json.decode(line)
                    kind = table["type"]
                except (msgspec.DecodeError, TypeError, KeyError):
                    if header is None:
                        raise RecordError(f"{path} is no record of kvtui.") from None
                    torn += 1
                    continue
                if header is None:
                    header = _migrated(table, path)
                    continue
                try:
                    _line(kind, table, samples, health, early, more)
                except (msgspec.ValidationError, KeyError, TypeError) as error:
                    raise RecordError(f"{path}: a line of type {kind!r}: {error}.") from None
    except OSError as error:
        raise RecordError(f"{path} cannot be read: {error.strerror or error}.") from None
    if header is None:
        raise RecordError(f"{path} is empty.")
    try:
        workload = from_table(header["workload"])
    except (KeyError, WorkloadError) as error:
        raise RecordError(f"{path}: {error}") from None
    return Record(
        path,
        header,
        workload,
        tuple(samples.values()),
        health,
        ended_early=early,
        torn=torn,
        **more,
    )


def _migrated(table: dict[str, Any], path: Path) -> dict[str, Any]:
    """The header in today's form. Every older schema gets a case here."""
    schema = table.get("schema")
    if table.get("type") != "run" or not str(schema).startswith("kvtui.record/"):
        raise RecordError(f"{path} is no record of kvtui.")
    if schema != SCHEMA:
        raise RecordError(f"{path} has schema {schema}: this kvtui reads {SCHEMA}.")
    return table


def _line(
    kind: str,
    table: dict[str, Any],
    samples: dict[tuple[int, int, bool], Sample],
    health: dict[tuple[int, int], Health],
    early: dict[int, str],
    more: dict[str, Any],
) -> None:
    match kind:
        case "request":
            sample = msgspec.convert(table, Sample)
            samples[sample.stage, sample.index, sample.warmup] = sample
        case "health":
            health[table["stage"], table["segment"]] = msgspec.convert(table, Health)
        case "stage_end":
            if table["why"]:
                early[table["stage"]] = table["why"]
        case "segment":
            more["segments"] = max(more["segments"], table["segment"] + 1)
        case "learned":
            more["words"] = Words(**table["words"]) if table["words"] else None
            more["ignore_eos"] = bool(table["ignore_eos"])
        case "meta":
            more["tags"], more["note"] = tuple(table.get("tags", ())), table.get("note", "")
        case "end":
            more["finished"] = True
        case _:
            pass  # a later kvtui's
