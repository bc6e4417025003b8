"""Single runs as records: each Enter of the screen with its repeats, and ``kvtui run -o``.

The screen's are written by a thread of their own: a disk that is slow or gone holds up no frame.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from queue import SimpleQueue
from typing import Any, Protocol

from kvtui.bench.figures.sample import sample_of
from kvtui.bench.records.entries import entry_of
from kvtui.bench.records.record import RecordError, new_path, runs_path
from kvtui.bench.records.recorder import Recorder, header_of
from kvtui.bench.requests.curl import Sent
from kvtui.bench.requests.prepared import Prepared
from kvtui.bench.work.workload import MOST_TOKENS, Stage, Workload
from kvtui.measure.figures import RunFigures
from kvtui.measure.meter import Kept, Stamps
from kvtui.stream.gather import secrets_of
from kvtui.stream.request import Request, without_prefix
from kvtui.text import redact

KEEP = 200
"""Single runs that stay in the folder; benchmarks, and what has a tag or a note, always do."""
_NAME = "run"


class Finished(Protocol):
    """A run that is done, as the session gives it."""

    def sent(self) -> Sent:
        """What was asked."""
        ...

    def stamps(self) -> Stamps:
        """When its parts happened."""
        ...

    def kept(self) -> Kept | None:
        """Its events."""
        ...


@dataclass(frozen=True, slots=True)
class FinishedRun:
    """What is written of a run that is done; the run itself may be forgotten."""

    sent: Sent
    stamps: Stamps
    kept: Kept | None
    figures: RunFigures
    index: int
    """Which repeat it is, from 0."""
    repeats: int
    """How many were asked for."""
    prepared: Prepared | None = None
    """What is known of the endpoint."""

    @classmethod
    def of(
        cls, run: Finished, figures: RunFigures, index: int, repeats: int, prepared: Any = None
    ) -> FinishedRun:
        """From the run."""
        known = prepared if isinstance(prepared, Prepared) else None
        return cls(run.sent(), run.stamps(), run.kept(), figures, index, repeats, known)


class RunWriter:
    """Writes the repeats of one run into one file."""

    def __init__(self, path: Path, *, text: bool = True) -> None:
        self.path = path
        self._text = text
        self._recorder: Recorder | None = None
        self._origin = 0.0

    @property
    def error(self) -> str:
        """Why nothing is written any more."""
        return self._recorder.error if self._recorder is not None else ""

    def add(self, run: FinishedRun) -> None:
        """Write it, whatever became of it; the record is whole after each.

        Raises:
            RecordError: The file cannot be made.
        """
        request = run.sent.request
        assert request is not None
        if self._recorder is None:
            secrets = secrets_of(request.endpoint, request.extra_headers)
            self._recorder = Recorder(self.path, secrets, text=self._text)
            self._recorder.create(_header(run, request))
            self._origin = run.stamps.start
        sample = sample_of(
            run.figures,
            run.stamps,
            self._origin,
            stage=0,
            index=run.index,
            warmup=False,
            segment=0,
            late_ms=None,
        )
        self._recorder.request(sample, run.kept)
        self._recorder.end()

    def close(self) -> None:
        """Close the file."""
        if self._recorder is not None:
            self._recorder.close()


def _header(run: FinishedRun, request: Request) -> Mapping[str, Any]:
    prompt = without_prefix(request.prompt)
    stage = Stage(
        label="run",
        texts=(prompt if prompt.strip() else "(messages)",),
        max_tokens=request.max_tokens or MOST_TOKENS,
        requests=run.repeats,
        warmup=0,
        series=_NAME,
        same_prompt=prompt == request.prompt,  # no words were put before it
        kv_cache=request.kv_cache,
    )
    workload = Workload(
        preset=_NAME,
        stages=(stage,),
        seed=request.seed or 0,
        temperature=request.temperature or 0.0,
    )
    prepared = run.prepared or Prepared(request.endpoint, request.model)
    prepared = replace(prepared, endpoint=request.endpoint, model=request.model)
    header = header_of(prepared, request, workload, "", "run")
    asked = {
        "max_tokens": request.max_tokens,
        "temperature": request.temperature,
        "seed": request.seed,
        "messages": [dict(m) for m in request.messages] if request.messages else None,
        "base_url": redact(run.sent.base_url, request.endpoint.api_key),
    }
    return {**header, "request": {**header["request"], **asked}}


class RunHistory:
    """Puts the screen's runs into the folder of runs."""

    def __init__(
        self,
        folder: Path | None = None,
        keep: int = KEEP,
        say: Callable[[str], object] = lambda _: None,
    ) -> None:
        """Nothing is written before there is a run.

        Args:
            folder: Where the records go; None: where all do.
            keep: How many single runs stay.
            say: Told from another thread why runs are not recorded, once until they are again.
        """
        self.error = ""
        """Why the latest run could not be recorded."""
        self._say = say
        self._folder = folder
        self._keep = keep
        self._jobs: SimpleQueue[FinishedRun | None] = SimpleQueue()
        self._thread: threading.Thread | None = None
        self._writer: RunWriter | None = None

    def add(
        self, run: Finished, figures: RunFigures, index: int, repeats: int, prepared: Any = None
    ) -> None:
        """Record a run that is done; returns at once.

        Args:
            run: The run.
            figures: Its figures.
            index: Which repeat it is, from 1; the first begins a record.
            repeats: How many were asked for.
            prepared: What is known of the endpoint.
        """
        if self._thread is None:
            self._thread = threading.Thread(target=self._work, name="kvtui-history", daemon=True)
            self._thread.start()
        self._jobs.put(FinishedRun.of(run, figures, index - 1, repeats, prepared))

    def close(self, timeout: float = 1.0) -> None:
        """Write what is left; a disk that does not answer is not waited for."""
        if self._thread is not None:
            self._jobs.put(None)
            self._thread.join(timeout)

    def _work(self) -> None:
        while (run := self._jobs.get()) is not None:
            try:
                self._write(run)
            except (RecordError, OSError, ValueError) as error:
                self.error, before = str(error), self.error
                if self._writer is not None:
                    self._writer.close()
                self._writer = None
                if not before:
                    self._say(self.error)
        if self._writer is not None:
            self._writer.close()

    def _write(self, run: FinishedRun) -> None:
        folder = self._folder or runs_path()
        if self._writer is None or run.index == 0:
            if self._writer is not None:
                self._writer.close()
            self._writer = RunWriter(new_path(_NAME, folder))
            prune(folder, self._keep - 1)
        self._writer.add(run)
        if self._writer.error:  # the disk has filled up since it was begun
            raise RecordError(self._writer.error)
        self.error = ""


def prune(folder: Path, keep: int) -> None:
    """Delete the oldest single runs beyond ``keep`` that nobody has tagged or noted."""
    try:
        paths = sorted(folder.glob(f"*-{_NAME}-????.jsonl"), key=lambda path: path.name)
    except OSError:
        return
    for path in paths[: max(0, len(paths) - keep)]:
        entry = entry_of(path)
        if entry.kind == "run" and not (entry.tags or entry.note or entry.broken):
            path.unlink(missing_ok=True)
