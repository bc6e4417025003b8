"""Runs a workload through a session: one thread hands out requests, the session reads them.

``run`` blocks its caller; ``stop``, ``pause``, ``resume`` and ``progress`` may be called from any
thread. Events are given on the thread that called ``run``.
"""

from __future__ import annotations

import secrets
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from queue import Empty, SimpleQueue
from time import perf_counter
from types import MappingProxyType

from kvtui.bench.health import Health, HealthWatch
from kvtui.bench.load import Driver
from kvtui.bench.progress import (
    BenchEvent,
    HealthTaken,
    Learned,
    Note,
    Progress,
    RequestEnded,
    RequestStarted,
    StageEnded,
    StageStarted,
)
from kvtui.bench.prompts import PROBES, Words, fit_words, synthetic
from kvtui.bench.run import Run
from kvtui.bench.sample import Sample, sample_of
from kvtui.bench.session import Session
from kvtui.bench.workload import Stage, Workload
from kvtui.measure.figures import RunFigures
from kvtui.stream.request import Request, with_prefix

_LOOK_S = 0.25
_STOP_S = 3.0
_FEW = 3


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a run came to."""

    samples: tuple[Sample, ...]
    health: Mapping[tuple[int, int], Health]
    """(stage, segment) → how the client itself did."""
    words: Words
    ignore_eos: bool
    base_url: str
    stopped: bool
    """By the person, not by a rule."""
    ended_early: Mapping[int, str]


class Runner:
    """One run of a workload."""

    def __init__(
        self,
        session: Session,
        request: Request,
        workload: Workload,
        *,
        on_event: Callable[[BenchEvent], None] = lambda _: None,
        done: Iterable[Sample] = (),
        nonce: str | None = None,
        segment: int = 0,
        words: Words | None = None,
    ) -> None:
        """Prepare it; nothing is sent before ``run``.

        Args:
            session: Where requests go through.
            request: What every request has in common; its prompt is replaced.
            workload: What to run.
            on_event: Told what happens.
            done: Requests that an earlier part of the run has done: they are not run again.
            nonce: Makes this run's prompts differ from every other's; a resumed run passes its own.
            segment: Number of this part, from 0.
            words: How words become tokens, where it is known already.
        """
        self.nonce = nonce or secrets.token_hex(4)
        self._session = session
        self._request = request
        self._workload = workload
        self._on_event = on_event
        self._samples = list(done)
        self._done = {(s.stage, s.index) for s in self._samples if not s.warmup}
        self._segment = segment
        self._words = words
        self._health: dict[tuple[int, int], Health] = {}
        self._early: dict[int, str] = {}
        self._stop = threading.Event()
        self._paused = threading.Event()
        self._runs: dict[int, tuple[Run, int, bool, float | None]] = {}
        self._ended: SimpleQueue[int] = SimpleQueue()
        self._number = 0
        self._origin = perf_counter()
        self._begun = perf_counter()
        self._base_url = request.endpoint.base_url
        self._ignore_eos = False
        self._notes: set[str] = set()
        self._now = 0
        self._hopeless = ""

    def listen(self, on_event: Callable[[BenchEvent], None]) -> None:
        """Tell ``on_event`` from now on; to be called before ``run``."""
        self._on_event = on_event

    # --- from any thread --------------------------------------------------------------------------

    def stop(self) -> None:
        """End it: what is in flight is cancelled, what is done is kept."""
        self._stop.set()

    def pause(self) -> None:
        """Start no further request until ``resume``."""
        self._paused.set()

    def resume(self) -> None:
        """Go on after ``pause``."""
        self._paused.clear()

    def progress(self) -> Progress:
        """Where it stands."""
        samples = [s for s in self._samples.copy() if not s.warmup]
        stages = self._workload.stages
        here = [s for s in samples if s.stage == self._now]
        stage = stages[min(self._now, len(stages) - 1)]
        elapsed = perf_counter() - self._begun
        return Progress(
            stage=self._now,
            stages=len(stages),
            label=stage.label,
            in_flight=len(self._runs),
            done=len(here),
            wanted=stage.requests,
            total_done=len(samples),
            failed=sum(s.failed for s in samples),
            elapsed_s=elapsed,
            left_s=self._left(samples),
            paused=self._paused.is_set(),
        )

    def _left(self, samples: list[Sample]) -> float | None:
        """Seconds to go: each stage's requests at the pace of its like, by tokens asked for."""
        spent = [
            (s.end_s - s.start_s) / self._workload.stages[s.stage].max_tokens
            for s in samples
            if s.completed
        ]
        if not spent:
            return None
        pace = sum(spent[-50:]) / len(spent[-50:])
        total = 0.0
        for number, stage in enumerate(self._workload.stages):
            done = sum(s.stage == number for s in samples)
            if number in self._early or (number < self._now and not self._workload.interleave):
                continue
            if stage.requests is None:
                total += stage.duration_s or 0.0
            else:
                left = max(0, stage.requests - done)
                each = pace * stage.max_tokens / max(1, stage.concurrency)
                total += left / stage.rate if stage.rate else left * each
        return total

    # --- the run ----------------------------------------------------------------------------------

    def run(self) -> Outcome:
        """Run it to its end, or until ``stop``."""
        self._begun = perf_counter()
        self._learn()
        self._calibrate()
        self._on_event(Learned(self._words, self._ignore_eos))
        stages = self._workload.stages
        if self._workload.interleave:
            self._in_turn()
        else:
            for number in range(len(stages)):
                if self._over():
                    break
                self._now = number
                self._stage(number, stages[number])
        return Outcome(
            samples=tuple(self._samples),
            health=MappingProxyType(dict(self._health)),
            words=self._words or Words(),
            ignore_eos=self._ignore_eos,
            base_url=self._base_url,
            stopped=self._stop.is_set(),
            ended_early=MappingProxyType(dict(self._early)),
        )

    def _over(self) -> bool:
        if self._stop.is_set() or self._hopeless:
            return True
        most = self._workload.most_s
        return most is not None and perf_counter() - self._begun >= most

    def _learn(self) -> None:
        """Whether ``ignore_eos`` may be sent: where it was asked for, or the server has it."""
        wanted = self._workload.ignore_eos
        if wanted is None:
            quirks = self._session.learn(self._request.endpoint).result()
            embedded = self._request.endpoint.embedded
            wanted = embedded or quirks.continuous_usage or quirks.llamacpp
        self._ignore_eos = bool(wanted)
        extra = dict(self._request.extra_body)
        if wanted:
            extra.setdefault("ignore_eos", True)
        self._request = replace(
            self._request,
            extra_body=MappingProxyType(extra),
            temperature=self._workload.temperature,
            seed=self._workload.seed,
        )

    def _calibrate(self) -> None:
        """Find out how many tokens a word takes, where synthetic prompts need it."""
        if self._words is not None or all(stage.texts for stage in self._workload.stages):
            return
        points: list[tuple[int, int | None]] = []
        for words in PROBES:
            text = synthetic(words, f"{self.nonce}/probe/{words}")
            request = replace(self._request, prompt=text, max_tokens=1)
            figures = self._one(request)
            if figures is not None and figures.verdict.is_failure and figures.verdict.retryable:
                figures = self._one(request)
            if figures is None or figures.verdict.is_failure:
                break
            points.append((words, figures.prompt_tokens))
        self._words = fit_words(points)
        if not self._words.measured and len(points) == len(PROBES):
            self._note(
                "The server does not tell how many tokens a prompt has: prompt lengths are"
                " approximate, a word for a token."
            )

    def _one(self, request: Request) -> RunFigures | None:
        run = self._session.start(request, unique_prefix=False, keep_pieces=False)
        while not run.done.wait(_LOOK_S):
            if self._stop.is_set():
                run.stop()
                run.done.wait(_STOP_S)
                return None
        return run.result(_STOP_S)

    # --- stages -----------------------------------------------------------------------------------

    def _stage(self, number: int, stage: Stage) -> None:
        missing = self._missing(number, stage)
        if missing is not None and not missing:
            return
        self._on_event(StageStarted(number, stage.label))
        self._warm_connections(stage)
        if stage.warmup:
            self._drive(number, stage, range(stage.warmup), warmup=True)
        if self._over():
            return
        self._drive(number, stage, missing, warmup=False)
        self._on_event(StageEnded(number, self._early.get(number, "")))

    def _in_turn(self) -> None:
        """One request of each stage, then the next of each."""
        stages = self._workload.stages
        for number, stage in enumerate(stages):
            self._now = number
            if stage.warmup and not self._over():
                self._warm_connections(stage)
                self._drive(number, stage, range(stage.warmup), warmup=True)
        for index in range(max(stage.requests or 0 for stage in stages)):
            for number, stage in enumerate(stages):
                wanted = index < (stage.requests or 0) and (number, index) not in self._done
                if wanted and not self._over():
                    self._now = number
                    self._drive(number, stage, range(index, index + 1), warmup=False)

    def _missing(self, number: int, stage: Stage) -> range | list[int] | None:
        """The requests still to do; None: as many as the duration allows."""
        if stage.requests is None:
            return None
        return [i for i in range(stage.requests) if (number, i) not in self._done]

    def _warm_connections(self, stage: Stage) -> None:
        count = min(stage.concurrency or 16, 512)
        endpoint = replace(self._request.endpoint, base_url=self._base_url)
        opening = self._session.warm_connections(endpoint, count)
        while not self._stop.is_set():
            try:
                opening.result(_LOOK_S)
            except TimeoutError:
                continue
            return

    def _drive(
        self, number: int, stage: Stage, indexes: Iterable[int] | None, *, warmup: bool
    ) -> None:
        driver = Driver(stage, indexes, warmup=warmup, seed=f"{self._workload.seed}/{number}")
        self._origin = perf_counter()
        watch = HealthWatch()
        driver.begin(self._origin)
        ours: list[Sample] = []
        while True:
            if self._over():
                driver.close("stopped")
                if self._stop.is_set():
                    self._cancel()
            paused = self._paused.is_set() and not self._stop.is_set()
            while not paused and (due := driver.due(perf_counter(), len(self._runs))) is not None:
                self._start(number, stage, *due, warmup=warmup)
            if not self._runs and driver.finished:
                break
            if paused and not self._runs:
                self._note_health(number, watch, ours, warmup=warmup)
                self._wait_for_resume(driver)
                watch = HealthWatch()
                continue
            self._take(driver.wait(perf_counter(), len(self._runs), _LOOK_S), ours)
            if not warmup and (why := self._judge(stage, ours, driver)):
                driver.close(why)
                self._early[number] = why
        self._note_health(number, watch, ours, warmup=warmup)

    def _note_health(
        self, number: int, watch: HealthWatch, ours: list[Sample], *, warmup: bool
    ) -> None:
        here = [s for s in ours if s.segment == self._segment]
        if here and not warmup:
            health = watch.end(here)
            self._health[number, self._segment] = health
            self._on_event(HealthTaken(number, self._segment, health))

    def _wait_for_resume(self, driver: Driver) -> None:
        """Nothing is in flight: what comes after the pause is a segment of its own."""
        while self._paused.is_set() and not self._stop.is_set():
            time.sleep(_LOOK_S / 5)
        now = perf_counter()
        driver.shift(now - self._origin)
        self._origin = now
        self._segment += 1

    def _start(
        self,
        number: int,
        stage: Stage,
        index: int,
        late_ms: float | None,
        *,
        warmup: bool,
    ) -> None:
        request = self._ask(stage, index, warmup=warmup)
        run = self._session.start(
            request,
            unique_prefix=False,
            keep_pieces=False,
            keep_reads=stage.keep_reads and not warmup,
        )
        self._number += 1
        key = self._number
        self._runs[key] = (run, index, warmup, late_ms)
        run.on_done(lambda _: self._ended.put(key))
        self._on_event(RequestStarted(number, index, warmup, run))

    def _ask(self, stage: Stage, index: int, *, warmup: bool) -> Request:
        """The request: its prompt is this run's own unless the same one is wanted."""
        kind = "warm-up" if warmup else "run"
        key = f"{self.nonce}/{stage.series}/{'same' if stage.same_prompt else f'{kind} {index}'}"
        if stage.texts:
            text = stage.texts[index % len(stage.texts)]
            request = replace(self._request, prompt=text, max_tokens=stage.max_tokens)
            if not stage.same_prompt:
                request = with_prefix(request, f"[{synthetic(3, key)}] ")
        else:
            words = (self._words or Words()).needed(stage.prompt_tokens or 1)
            text = synthetic(words, key)
            request = replace(self._request, prompt=text, max_tokens=stage.max_tokens)
        return replace(
            request, kv_cache=stage.kv_cache if stage.kv_cache is not None else request.kv_cache
        )

    def _take(self, wait: float, ours: list[Sample]) -> None:
        """Wait for a request to end, and keep what there is of it and of others that have."""
        try:
            key = self._ended.get(timeout=wait) if wait > 0 else self._ended.get_nowait()
        except Empty:
            for key in [key for key, entry in self._runs.items() if entry[0].done.is_set()]:
                if self._ended.empty():
                    self._keep(key, ours)
            return
        while True:
            self._keep(key, ours)
            try:
                key = self._ended.get_nowait()
            except Empty:
                return

    def _keep(self, key: int, ours: list[Sample]) -> None:
        entry = self._runs.pop(key, None)
        if entry is None:
            return
        run, index, warmup, late_ms = entry
        figures = run.result(_STOP_S)
        sample = sample_of(
            figures,
            run.stamps(),
            self._origin,
            stage=self._now,
            index=index,
            warmup=warmup,
            segment=self._segment,
            late_ms=late_ms,
        )
        self._base_url = run.base_url or self._base_url
        for note in run.notes:
            self._note(note)
        ours.append(sample)
        self._samples.append(sample)
        self._on_event(RequestEnded(sample))

    def _judge(self, stage: Stage, ours: list[Sample], driver: Driver) -> str:
        """Why the stage need not go on; empty: it does."""
        if driver.closed or not ours:
            return ""
        if all(s.failed for s in ours):
            stubborn = ours[-1].failure is not None and not ours[-1].failure["retryable"]
            enough = max(_FEW, stage.concurrency) if stubborn else max(10, 3 * stage.concurrency)
            if len(ours) >= enough:
                last = ours[-1]
                if stubborn:
                    self._hopeless = f"every request failed: {last.cls}.{last.subcode}"
                return f"every request failed: {last.cls}.{last.subcode}"
        if self._workload.certainty is not None:
            from kvtui.bench.certainty import certain

            if certain(ours, self._workload.certainty):
                return "certain enough"
        return ""

    def _cancel(self) -> None:
        for run, *_ in list(self._runs.values()):
            run.stop()
        deadline = time.monotonic() + _STOP_S
        for run, *_ in list(self._runs.values()):
            run.done.wait(max(0.0, deadline - time.monotonic()))

    def _note(self, text: str) -> None:
        if text not in self._notes:
            self._notes.add(text)
            self._on_event(Note(text))
