"""Writes a run's record as it goes; ``kvtui.bench.records.record`` describes the lines."""

from __future__ import annotations

import json
import os
import platform
import secrets
import sys
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from time import perf_counter
from typing import Any, Literal

import msgspec

from kvtui import __version__
from kvtui.bench.figures.sample import Sample
from kvtui.bench.records.entries import end_of, ends_torn
from kvtui.bench.records.lock import lock
from kvtui.bench.records.schema import SCHEMA, RecordError, encoded
from kvtui.bench.records.tape import pack
from kvtui.bench.requests.prepared import Prepared
from kvtui.bench.running.progress import (
    BenchEvent,
    HealthTaken,
    Learned,
    RequestEnded,
    SegmentStarted,
    StageEnded,
)
from kvtui.bench.work.workload import Workload, as_table
from kvtui.language import tr
from kvtui.measure.meter import Kept
from kvtui.places import is_homeless
from kvtui.stream.gather import is_secret_header
from kvtui.stream.request import Request
from kvtui.text import redact

_SHORTEST_SECRET = 6


class Recorder:
    """Appends a run's lines to its file. A disk that fills up is said once; the run goes on."""

    def __init__(self, path: Path, secret: tuple[str, ...] = (), *, text: bool = True) -> None:
        """Prepare it; nothing is written before ``create`` or ``append``.

        Args:
            path: The file.
            secret: What must not be in it.
            text: Whether to write what was said, or only how long it was.
        """
        self.path = path
        self._text = text
        self.error = ""
        """Why nothing is written any more."""
        self._keys = tuple(s for s in secret if len(s) >= _SHORTEST_SECRET)
        spelt = [encoded(key)[1:-1] for key in self._keys]
        spelt += [json.dumps(key)[1:-1].encode() for key in self._keys]
        self._secrets = tuple(dict.fromkeys(spelt))
        self._file = -1

    def create(self, header: Mapping[str, Any]) -> None:
        """Make the file, readable by its owner only, and locked while a benchmark writes it.

        Raises:
            RecordError: There is one already, or it cannot be made.
        """
        self._open(os.O_CREAT | os.O_EXCL)
        if header["kind"] == "bench":
            lock(self._file)
        self.write("run", header)
        self._begin(0)
        if self.error:
            self.close()
            self.path.unlink(missing_ok=True)  # made here, and nothing is in it
            raise RecordError(
                tr("{path} cannot be written: {error}.", path=self.path, error=self.error)
            )

    def reopen(self) -> None:
        """Take a file that is there, to ``append`` to it once it was read.

        Raises:
            RecordError: It cannot be written, or a run writes it already.
        """
        self._open(0)
        if not lock(self._file):
            self.close()
            raise RecordError(
                tr("{path} is being written: a run is under way in it.", path=self.path)
            )
        if not _is(self._file, self.path):
            self.close()
            raise RecordError(tr("{path} was deleted meanwhile.", path=self.path))

    def append(self, segment: int) -> None:
        """Go on with a file that was reopened, with the stretch of that number.

        Raises:
            RecordError: Nothing can be written to it; it is closed then, and no longer locked.
        """
        try:
            if ends_torn(self.path):
                os.write(self._file, b"\n")
        except OSError as error:
            self.error = error.strerror or str(error)
        self._begin(segment)
        if self.error:
            self.close()
            raise RecordError(
                tr("{path} cannot be written: {error}.", path=self.path, error=self.error)
            )

    def _begin(self, segment: int) -> None:
        clocks = {"started_at": _now(), "monotonic_s": perf_counter()}
        self.write("segment", {"segment": segment, **clocks})

    def _open(self, flags: int) -> None:
        if is_homeless(self.path):
            raise RecordError(
                tr("{path} cannot be written: no home folder is known.", path=self.path)
            )
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            self._file = os.open(self.path, os.O_WRONLY | os.O_APPEND | flags, 0o600)
        except FileExistsError:
            raise RecordError(
                tr("{path} is there already: name another, or resume it.", path=self.path)
            ) from None
        except OSError as error:
            raise RecordError(
                tr("{path} cannot be written: {error}.", path=self.path, error=error.strerror)
            ) from None

    def write(self, kind: str, table: Mapping[str, Any]) -> None:
        """Append a line."""
        if self._file < 0 or self.error:
            return
        line = encoded({"type": kind, **table})
        for secret in self._secrets:
            line = line.replace(secret, b"***")
        line += b"\n"
        try:
            if os.write(self._file, line) < len(line):
                self.error = tr("there was room for half a line only")
        except OSError as error:
            self.error = error.strerror or str(error)

    def take(self, event: BenchEvent) -> None:
        """Write what is worth keeping of an event."""
        if isinstance(event, RequestEnded):
            if not event.sample.stopped:  # it will be run again
                self.request(event.sample, event.kept)
        elif isinstance(event, StageEnded):
            self.write("stage_end", {"stage": event.stage, "why": event.why})
        elif isinstance(event, SegmentStarted):
            self._begin(event.segment)
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
            learned = {"words": words, "ignore_eos": event.ignore_eos}
            if event.targets:
                learned["targets"] = msgspec.to_builtins(event.targets)
            self.write("learned", learned)

    def request(self, sample: Sample, kept: Kept | None) -> None:
        """Write a request that has ended, whatever became of it."""
        line = msgspec.to_builtins(sample)
        if kept is not None:
            line["tape"] = pack(kept, self._keys, text=self._text, headers=sample.cls != "ok")
        self.write("request", line)

    def end(self) -> None:
        """The run is through: what came of it is summed up for lists of runs."""
        told = {}
        with suppress(OSError):
            told = end_of(self.path)
        self.write("end", {"ended_at": _now(), **told})

    def close(self) -> None:
        """Close the file."""
        if self._file >= 0:
            os.close(self._file)
            self._file = -1


def _is(file: int, path: Path) -> bool:
    """Whether an open file is still the one of that name."""
    try:
        return os.path.samestat(os.fstat(file), path.stat())
    except OSError:
        return False


def secrets_of(prepared: Prepared, request: Request) -> tuple[str, ...]:
    """What must be in no record: the key, and the values of secret headers."""
    headers = {**prepared.endpoint.headers, **request.extra_headers}
    hidden = [value for name, value in headers.items() if is_secret_header(name)]
    key = prepared.endpoint.api_key
    return (*([key] if key else []), *hidden)


def header_of(
    prepared: Prepared,
    request: Request,
    workload: Workload,
    nonce: str,
    kind: Literal["bench", "run"] = "bench",
) -> dict[str, Any]:
    """The first line of a new record."""
    endpoint, geometry = prepared.endpoint, prepared.engine_geometry
    created = _now()
    return {
        "schema": SCHEMA,
        "id": secrets.token_hex(6),
        "kind": kind,
        "created_at": created,
        "clock": {
            "name": "perf_counter",
            "resolution_s": time.get_clock_info("perf_counter").resolution,
            "monotonic_s": perf_counter(),
            "wall": created,
        },
        "kvtui": __version__,
        "machine": {
            "platform": platform.platform(),
            "python": platform.python_version(),
            "cpus": os.cpu_count(),
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
            "geometry": None if geometry is None else asdict(geometry),
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
