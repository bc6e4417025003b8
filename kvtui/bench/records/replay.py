"""A recorded run in place of a session: the same meter, fed with the recorded stamps.

What a caller sees is what it saw live: text, phases, figures and their formulas, at the pace of the
record or a multiple of it. Nothing is sent anywhere.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Future
from dataclasses import replace
from itertools import islice
from pathlib import Path
from time import perf_counter
from types import MappingProxyType
from typing import Any

from kvtui.bench.records.playback import Recording, count_requests, known_requests, recordings
from kvtui.bench.records.record import Record, RecordError, read_record
from kvtui.bench.requests.curl import Sent
from kvtui.bench.requests.document import document
from kvtui.bench.requests.prepared import Prepared
from kvtui.bench.work.workload import MOST_TOKENS
from kvtui.config import Endpoint
from kvtui.engine.geometry import EngineGeometry
from kvtui.failure import Evidence
from kvtui.language import tr
from kvtui.measure.figures import RunFigures, Snapshot
from kvtui.measure.gaps import Gaps
from kvtui.measure.meter import Kept, Piece, Stamps
from kvtui.measure.rate import Sample
from kvtui.stream.events import Ended, Event
from kvtui.stream.request import Request
from kvtui.text import many

_EMBEDDED = "kvtui://embedded"
_LOOK_S = 0.05


class Pace:
    """A clock that runs ``speed`` times as fast as the real one, and can be held."""

    def __init__(self, speed: float, clock: Callable[[], float] = perf_counter) -> None:
        self.speed = speed
        self._clock = clock
        self._real = clock()
        self._shown = self._real
        self._held = False

    def __call__(self) -> float:
        """Seconds, as shown."""
        return self._shown + (0.0 if self._held else (self._clock() - self._real) * self.speed)

    def left(self, t: float) -> float:
        """Real seconds until it shows ``t``."""
        return (t - self()) / self.speed

    @property
    def held(self) -> bool:
        """It stands."""
        return self._held

    def hold(self, held: bool) -> None:
        """Stand, or go on from there."""
        self._shown, self._real, self._held = self(), self._clock(), held


class ReplayRun:
    """One recorded request as it comes again; what is asked of it may be asked from any thread."""

    def __init__(self, recording: Recording, request: Request, pace: Pace) -> None:
        self.request = request
        self.notes: tuple[str, ...] = ()
        self.done = threading.Event()
        self._pace = pace
        self._recording = recording
        self._start = pace()
        self._meter = recording.meter(self._start, pace)
        self._reads = recording.reads(self._start)
        self._stop = threading.Event()
        self._future: Future[RunFigures] = Future()

    def play(self) -> None:
        """Begin."""
        threading.Thread(target=self._work, name="kvtui-replay", daemon=True).start()

    def _work(self) -> None:
        meter, pace = self._meter, self._pace
        for events in self._reads:
            if not self._wait_for(events[0].t):
                evidence = replace(_evidence_of(self._reads), stopped=True)
                meter.feed([Ended(pace(), evidence, stopped=True)])
                break
            last = events[-1]
            if isinstance(last, Ended):
                self.notes = last.notes
            meter.feed(events)
        stopped = self._stop.is_set()
        self._future.set_result(self._recording.conclude(meter, stopped=stopped))
        self.done.set()

    def _wait_for(self, t: float) -> bool:
        """Wait until the clock shows ``t``; False where it is stopped before."""
        while (left := self._pace.left(t)) > 0 or self._pace.held:
            if self._stop.wait(min(left, _LOOK_S) if left > 0 else _LOOK_S):
                return False
        return not self._stop.is_set()

    def snapshot(self) -> Snapshot:
        """The state now."""
        return self._meter.snapshot()

    def drain(self) -> list[Piece]:
        """The text since the last call."""
        return self._meter.drain()

    def samples(self, n: int) -> list[Sample]:
        """At most ``n`` points of the running rate, oldest first."""
        return self._meter.series(n)

    def gaps(self) -> Gaps:
        """The gaps between chunks so far."""
        return self._meter.gaps()

    def stamps(self) -> Stamps:
        """When its parts happened."""
        return self._meter.stamps()

    def kept(self) -> Kept | None:
        """None: it is recorded already."""
        return None

    def sent(self) -> Sent:
        """What was asked then."""
        return Sent(self.request.endpoint, self.request.endpoint.base_url, self.request)

    def stop(self) -> None:
        """End it here, as a stream is stopped."""
        self._stop.set()

    def result(self, timeout: float | None = None) -> RunFigures:
        """Wait for the figures."""
        return self._future.result(timeout)

    def on_done(self, callback: Callable[[RunFigures], None]) -> None:
        """Call ``callback`` with the figures when they are there."""
        self._future.add_done_callback(lambda future: callback(future.result()))


def _evidence_of(reads: Sequence[Sequence[Event]]) -> Evidence:
    last = reads[-1][-1]
    assert isinstance(last, Ended)
    return Evidence(
        phase="stream", url=last.evidence.url, host=last.evidence.host, status=last.evidence.status
    )


class Replay:
    """What is replayed of a record: a request, or all repeats of a single run."""

    def __init__(
        self, record: Record, chosen: Sequence[Recording], of: int, speed: float = 1.0
    ) -> None:
        self.record = record
        self.recordings = tuple(chosen)
        self.speed = speed
        self._of = of

    @classmethod
    def read(cls, path: Path, request: int | None = None, speed: float = 1.0) -> Replay:
        """Choose from a record.

        Args:
            path: The record.
            request: Number of the request, from 1 in the order of the file; None: all repeats of
                a single run, of a benchmark the completed request with the median time per token.
            speed: Times the pace of the record.

        Raises:
            RecordError: It cannot be read, or has no such request, or none that can be replayed.
        """
        record = read_record(path, requests=False)
        measured: list[tuple[float, int]] = []
        rest: list[int] = []
        of = 0
        for of, sample in known_requests(path):
            if not sample.warmup:
                rest.append(of)
            if sample.completed and not sample.warmup and sample.tpot_ms:
                measured.append((sample.tpot_ms, of))
        if request is not None and of:
            if not 1 <= request <= of:
                have = many(of, "request")
                raise RecordError(
                    tr(
                        "{path} has {have}: there is no number {request}.",
                        path=path,
                        have=have,
                        request=request,
                    )
                )
            numbers = [request]
        elif record.header.get("kind") == "run":
            numbers = list(range(1, of + 1))
        else:
            middle = sorted(measured)[(len(measured) - 1) // 2 :][:1]
            numbers = [number for _, number in middle] or (rest or [of])[:1]
        chosen = list(recordings(path, dict.fromkeys(numbers)))
        if not chosen and request is None:  # an older kvtui's that a later one went on with
            chosen = list(islice(recordings(path), 1))
        if not chosen:
            why = _no_stamps(record, request) if of else _none_read(count_requests(path))
            raise RecordError(tr("{path} cannot be replayed. {why}", path=path, why=why))
        return cls(record, chosen, of, speed)

    @property
    def mark(self) -> str:
        """What tells it from a live run: a word or two."""
        pace = "" if self.speed == 1 else f" ×{self.speed:g}"
        return f"replay{pace}"

    @property
    def note(self) -> str:
        """Which request of which file this is."""
        name = self.record.path.name
        if len(self.recordings) == self._of:
            return name
        numbers = ", ".join(str(r.number) for r in self.recordings)
        return tr("request {numbers} of {all} in {name}", numbers=numbers, all=self._of, name=name)

    @property
    def endpoint(self) -> Endpoint:
        """The endpoint of then; no key goes with it."""
        told: dict[str, Any] = self.record.header.get("endpoint") or {}
        return Endpoint(
            _EMBEDDED if told.get("embedded") else str(told.get("base_url") or ""),
            str(told.get("chosen_by") or "the record"),
            key_from=told.get("key_from"),
            model=told.get("model"),
            profile=told.get("profile"),
        )

    @property
    def model(self) -> str:
        """The model of then."""
        return str((self.record.header.get("endpoint") or {}).get("model") or "")

    def request(self, recording: Recording) -> Request:
        """What was asked."""
        stages = self.record.workload.stages
        stage = stages[min(recording.sample.stage, len(stages) - 1)]
        asked: dict[str, Any] = self.record.header.get("request") or {}
        texts = stage.texts or ("(a synthetic prompt)",)
        messages = asked.get("messages")
        return Request(
            self.endpoint,
            self.model,
            texts[recording.sample.index % len(texts)],
            system=asked.get("system"),
            messages=tuple(messages) if messages else None,
            max_tokens=None if stage.max_tokens >= MOST_TOKENS else stage.max_tokens,
            temperature=asked.get("temperature", self.record.workload.temperature),
            top_p=asked.get("top_p"),
            seed=asked.get("seed", self.record.workload.seed),
            stop=tuple(asked.get("stop") or ()),
            kv_cache=stage.kv_cache,
            extra_body=MappingProxyType(asked.get("extra_body") or {}),
        )

    def document(self) -> dict[str, Any]:
        """What ``kvtui run --json`` printed, or would have."""
        told: dict[str, Any] = self.record.header.get("endpoint") or {}
        asked: dict[str, Any] = self.record.header.get("request") or {}
        base_url = asked.get("base_url") or told.get("base_url") or ""
        runs = [recording.figures() for recording in self.recordings]
        return document(self.endpoint, str(base_url), self.model or None, runs)


def _geometry(told: Any) -> EngineGeometry | None:
    """The embedded model's sizes, where the record has them."""
    try:
        return EngineGeometry(**told) if told else None
    except TypeError:  # another kvtui's
        return None


def _none_read(lines: int) -> str:
    if not lines:
        return tr("It holds no request.")
    return tr("None of its {n} requests can be read: their lines are damaged.", n=lines)


def _no_stamps(record: Record, request: int | None) -> str:
    wrote = record.header.get("kvtui")
    if request is None:
        return tr(
            "Its requests were recorded without the stamps of their tokens (by kvtui {wrote});"
            " kvtui runs show and kvtui compare read its figures.",
            wrote=wrote,
        )
    return tr(
        "Request {request} was recorded without the stamps of its tokens (by kvtui {wrote}).",
        request=request,
        wrote=wrote,
    )


class ReplaySession:
    """Stands where a session stands; whatever is asked of it, the recorded run comes."""

    def __init__(self, replay: Replay, clock: Callable[[], float] = perf_counter) -> None:
        self.replay = replay
        self.pace = Pace(replay.speed, clock)
        self._run: ReplayRun | None = None

    def warm(self) -> None:
        """Nothing has to be loaded."""

    def prepare(self, *, unbidden: bool = False) -> Future[Prepared]:  # noqa: ARG002 - a session's
        """The endpoint of then."""
        replay = self.replay
        told: dict[str, Any] = replay.record.header.get("endpoint") or {}
        models = (replay.model,) if replay.model else ()
        future: Future[Prepared] = Future()
        future.set_result(
            Prepared(
                replay.endpoint,
                replay.model or "no model",
                models,
                engine_geometry=_geometry(told.get("geometry")),
                notes=(replay.note,),
                context=told.get("context"),
            )
        )
        return future

    def start(
        self,
        request: Request,  # noqa: ARG002 - what is asked now has been answered then
        run_index: int = 0,
        unique_prefix: bool | None = None,  # noqa: ARG002
        **_: Any,
    ) -> ReplayRun:
        """Play the recorded request; of several repeats the one of that number.

        Raises:
            RecordError: Its tape is damaged.
        """
        chosen = self.replay.recordings[run_index % len(self.replay.recordings)]
        self.pace.hold(False)
        self._run = ReplayRun(chosen, self.replay.request(chosen), self.pace)
        self._run.play()
        return self._run

    def settle(self, endpoint: Endpoint, refused: Iterable[str]) -> None:
        """What a check-up learns is for requests that are sent: none is."""

    def toggle(self) -> bool:
        """Hold the replay, or let it go on; whether it stands now."""
        running = self._run is not None and not self._run.done.is_set()
        self.pace.hold(running and not self.pace.held)
        return self.pace.held

    def close(self) -> None:
        """Stop what plays."""
        if self._run is not None:
            self._run.stop()
            self._run.done.wait(1.0)
