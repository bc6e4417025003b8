"""A run and its record, made together: for the commands and for the screen."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from kvtui.bench.records.record import Record, RecordError, new_path, read_record
from kvtui.bench.records.recorder import Recorder, header_of, secrets_of
from kvtui.bench.requests.options import request_from
from kvtui.bench.requests.prepared import Prepared
from kvtui.bench.requests.session import Session
from kvtui.bench.running.runner import Outcome, Runner
from kvtui.bench.work.workload import Workload
from kvtui.language import tr
from kvtui.stream.request import Request


@dataclass(frozen=True)
class Begun:
    """A run that is ready to go, and the record it is written to."""

    runner: Runner
    recorder: Recorder

    def conclude(self, outcome: Outcome) -> Record:
        """Close the record and read it; what was measured counts also where the disk was full."""
        if not outcome.stopped:
            self.recorder.end()
        self.recorder.close()
        written = read_record(self.recorder.path, requests=False)
        return replace(
            written,
            samples=outcome.samples,
            health={**written.health, **outcome.health},
            words=outcome.words,
            targets=outcome.targets or written.targets,
            ignore_eos=outcome.ignore_eos,
        )


def request_of(prepared: Prepared, model: str | None, flags: Mapping[str, Any]) -> Request:
    """What all requests of a run have in common, from the shared options."""
    kv_cache = False if flags.get("no_kv_cache") else None
    return request_from(flags, prepared.endpoint, model, kv_cache=kv_cache)


def begin(
    session: Session,
    prepared: Prepared,
    request: Request,
    work: Workload | Record,
    path: Path | None = None,
    *,
    text: bool = True,
) -> Begun:
    """Make a run with its record; nothing is sent before ``Runner.run``.

    Args:
        session: Where requests go through.
        prepared: The endpoint, looked at.
        request: What every request has in common.
        work: What to run; or a record that is half done, which goes on in its file.
        path: File of a new record; None: in the folder of the records.
        text: Whether the record holds what was answered; one that goes on does as it did.

    Raises:
        RecordError: The record cannot be written, is written by another run, or is one of another
            endpoint or model.
    """
    secrets = secrets_of(prepared, request)
    if isinstance(work, Record):
        same_endpoint(work, prepared, request.model)
        recorder = Recorder(work.path, secrets, text=work.header.get("text") is not False)
        recorder.reopen()
        try:
            rest = _rest(work)
        except RecordError:
            recorder.close()
            raise
        runner = Runner(
            session,
            request,
            rest.workload,
            done=rest.done,
            nonce=rest.header["nonce"],
            segment=rest.segments,
            # What was not measured may be what an interruption left: it is learned anew.
            words=rest.words if rest.words is not None and rest.words.measured else None,
            targets=rest.targets,
        )
        recorder.append(rest.segments)
    else:
        runner = Runner(session, request, work)
        recorder = Recorder(path or new_path(work.preset), secrets, text=text)
        told = replace(prepared, model=request.model)
        recorder.create({**header_of(told, request, work, runner.nonce), "text": text})
    return Begun(runner, recorder)


def _rest(record: Record) -> Record:
    """The record as it is now that nobody else writes it: it may have gone on since it was read.

    Raises:
        RecordError: It has come to its end, or cannot be read.
    """
    now = read_record(record.path)
    if now.finished and not record.finished:
        raise RecordError(
            tr("{path} has come to its end meanwhile: nothing is left to do.", path=record.path)
        )
    return now


def same_endpoint(record: Record, prepared: Prepared, model: str | None) -> None:
    """A record holds the figures of one endpoint and model.

    Raises:
        RecordError: It was begun with another.
    """
    before = record.header.get("endpoint") or {}
    now = {
        "base_url": None if prepared.endpoint.embedded else prepared.endpoint.base_url,
        "model": model,
    }
    for name, value in now.items():
        if before.get(name) != value:
            raise RecordError(
                f"{record.path} was begun with {name} {before.get(name)!r}, not {value!r}:"
                " start a new run for it."
            )
