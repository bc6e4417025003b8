"""Runs a workload through a session: one thread hands out requests, the session reads them.

``run`` blocks its caller; ``stop``, ``pause``, ``resume`` and ``progress`` may be called from any
thread. Events are given on the thread that called ``run``.
"""

from __future__ import annotations

import secrets
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from time import perf_counter
from types import MappingProxyType

from kvtui.bench.figures.health import Health, HealthWatch
from kvtui.bench.figures.sample import Sample
from kvtui.bench.figures.samples import Samples
from kvtui.bench.requests.run import Run
from kvtui.bench.requests.session import Session
from kvtui.bench.requests.targets import Target
from kvtui.bench.running.endpoints import Endpoints
from kvtui.bench.running.flights import Flights, Place
from kvtui.bench.running.learning import LOOK_S, Learner
from kvtui.bench.running.load import Driver
from kvtui.bench.running.pace import Pace
from kvtui.bench.running.progress import (
    BenchEvent,
    HealthTaken,
    Note,
    Progress,
    RequestEnded,
    RequestStarted,
    SegmentStarted,
    StageEnded,
    StageStarted,
)
from kvtui.bench.running.search import Search
from kvtui.bench.running.seen import Seen
from kvtui.bench.work.prompts import Words
from kvtui.bench.work.workload import Stage, Workload
from kvtui.stream.request import Request


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a run came to."""

    samples: Sequence[Sample]
    health: Mapping[tuple[int, int], Health]
    """(stage, segment) → how the client itself did."""
    words: Words
    ignore_eos: bool
    base_url: str
    stopped: bool
    """By the person, not by a rule."""
    ended_early: Mapping[int, str]
    targets: tuple[Target, ...] = ()


class Runner:
    """One run of a workload."""

    def __init__(
        self,
        session: Session,
        request: Request,
        workload: Workload,
        *,
        targets: Sequence[Target] = (),
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
            targets: The workload's targets as an earlier part of the run left them.
            on_event: Told what happens.
            done: Requests that an earlier part of the run has done: they are not run again.
            nonce: Makes this run's prompts differ from every other's; a resumed run passes its own.
            segment: Number of this part, from 0.
            words: How words become tokens, where it is known already.
        """
        self.nonce = nonce or secrets.token_hex(4)
        self._session = session
        self._workload = workload
        self._on_event = on_event
        self._ends = Endpoints(request, workload, targets or workload.targets, words, self.nonce)
        self._stop = threading.Event()
        self._paused = threading.Event()
        self._flights = Flights(session, self._ended)
        self._flights.segment = segment
        self._learner = Learner(session, self._stop, self._note)
        self._samples = Samples(done)
        self._done = {(s.stage, s.index) for s in self._samples if not s.warmup}
        self._pace = Pace(workload)
        for sample in self._samples:
            self._pace.add(sample)
        self._seen = Seen()
        """Of the stage under way."""
        self._health: dict[tuple[int, int], Health] = {}
        self._early: dict[int, str] = {}
        self._begun = perf_counter()
        self._notes: set[str] = set()
        self._now = 0

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

    @property
    def paused(self) -> bool:
        """No further request is started."""
        return self._paused.is_set()

    def progress(self) -> Progress:
        """Where it stands."""
        stages = self._workload.stages
        now = min(self._now, len(stages) - 1)
        return Progress(
            stage=self._now,
            stages=len(stages),
            label=stages[now].label,
            in_flight=len(self._flights),
            done=self._pace.done[self._now],
            wanted=stages[now].requests,
            failed=self._pace.failed,
            elapsed_s=perf_counter() - self._begun,
            left_s=self._pace.left(self._now, self._early),
            paused=self.paused,
            searching=self._workload.search is not None,
        )

    # --- the run ----------------------------------------------------------------------------------

    def run(self) -> Outcome:
        """Run it to its end, or until ``stop``."""
        self._begun = perf_counter()
        learned = self._ends.learn(self._session, self._learner)
        if not self._stop.is_set():  # else it may have been cut short: who goes on learns anew
            self._on_event(learned)
        if self._workload.interleave:
            self._in_turn()
        else:
            for number in self._order():
                if self._over():
                    break
                self._now = number
                self._stage(number, self._workload.stages[number])
        return Outcome(
            samples=self._samples,
            health=MappingProxyType(dict(self._health)),
            words=self._ends.words or Words(),
            ignore_eos=self._ends.ignore_eos,
            base_url=self._ends.base_urls[0],
            targets=self._ends.targets,
            stopped=self._stop.is_set(),
            ended_early=MappingProxyType(dict(self._early)),
        )

    def _over(self) -> bool:
        if self._stop.is_set() or self._ends.none_left:
            return True
        most = self._workload.most_s
        return most is not None and perf_counter() - self._begun >= most

    def _order(self) -> Iterator[int]:
        """The stages to run, in their order; a search chooses each by what came before."""
        if self._workload.search is not None:
            return Search(self._workload, self._samples).order()
        return iter(range(len(self._workload.stages)))

    # --- stages -----------------------------------------------------------------------------------

    def _stage(self, number: int, stage: Stage) -> None:
        missing = self._missing(number, stage)
        if (missing is not None and not missing) or stage.target in self._ends.refusing:
            return
        self._on_event(StageStarted(number, stage.label))
        self._warm(number, stage)
        if self._over():
            return
        self._seen = Seen()
        watch = self._drive(number, stage, missing, watch=HealthWatch())
        self._note_health(number, watch)
        self._on_event(StageEnded(number, self._early.get(number, "")))

    def _in_turn(self) -> None:
        """Some requests of each stage, as many as it has streams, then the next of each.

        Every other turn goes backwards, so that no stage always comes after the same one.
        """
        stages = list(enumerate(self._workload.stages))
        left = {
            number: []
            if stage.target in self._ends.refusing
            else self._missing(number, stage) or []
            for number, stage in stages
        }
        for number, stage in stages:
            self._now = number
            if left[number] and not self._over():
                self._on_event(StageStarted(number, stage.label))
                self._warm(number, stage)
        watch = HealthWatch()
        seen = {number: Seen() for number, _ in stages}
        turn = 0
        self._flights.origin = perf_counter()
        while any(left.values()) and not self._over():
            for number, stage in stages if turn % 2 == 0 else reversed(stages):
                now = _turn(left[number], stage.concurrency)
                del left[number][: len(now)]
                if not now or self._over() or number in self._early:
                    continue
                self._now = number
                self._seen = seen[number]
                watch = self._drive(number, stage, now, watch=watch, turn=True)
            turn += 1
        for number, _ in stages:
            self._seen = seen[number]
            self._note_health(number, watch)
            if self._seen.count:
                self._on_event(StageEnded(number, self._early.get(number, "")))

    def _missing(self, number: int, stage: Stage) -> list[int] | None:
        """The requests still to do; None: as many as the duration allows."""
        if stage.requests is None:
            return None
        return [i for i in range(stage.requests) if (number, i) not in self._done]

    def _warm(self, number: int, stage: Stage) -> None:
        """Connections are opened and the warm-up requests sent, before anything is measured."""
        self._ends.open_connections(stage, self._learner)
        if stage.warmup:
            self._seen = Seen()
            self._drive(number, stage, range(stage.warmup), warmup=True, watch=HealthWatch())

    def _drive(
        self,
        number: int,
        stage: Stage,
        indexes: Iterable[int] | None,
        *,
        watch: HealthWatch,
        warmup: bool = False,
        turn: bool = False,
    ) -> HealthWatch:
        """Send requests of a stage until they are through; the watch over what is unjudged yet.

        Args:
            number: The stage.
            stage: The same.
            indexes: Its requests; None: as many as its duration allows.
            watch: Over this process since the requests that are not judged yet began.
            warmup: Whether they are left out of the figures.
            turn: Whether other stages come between: times count on from where they counted.
        """
        flights = self._flights
        driver = Driver(stage, indexes, warmup=warmup, seed=f"{self._workload.seed}/{number}")
        if not turn:
            flights.origin = perf_counter()
        driver.begin(perf_counter())
        while True:
            if self._over():
                driver.close("stopped")
                if self._stop.is_set():
                    flights.cancel()
            paused = self._paused.is_set() and not self._stop.is_set()
            while not paused and (due := driver.due(perf_counter(), len(flights))) is not None:
                index, late_ms = due
                self._start(stage, Place(number, index, warmup, late_ms))
            if not len(flights) and driver.finished:
                return watch
            if paused and not len(flights):
                if not warmup:
                    self._note_health(number, watch)
                self._wait_for_resume(driver)
                watch = HealthWatch()
                continue
            flights.take(driver.wait(perf_counter(), len(flights), LOOK_S))
            if not warmup and (why := self._judge(stage, driver)):
                driver.close(why)
                self._early[number] = why

    def _note_health(self, number: int, watch: HealthWatch) -> None:
        segment = self._flights.segment
        if (here := self._seen.lateness.get(segment)) is not None:
            health = watch.end(here)
            self._health[number, segment] = health
            self._on_event(HealthTaken(number, segment, health))

    def _wait_for_resume(self, driver: Driver) -> None:
        """Nothing is in flight: what comes after the pause is a segment of its own."""
        begun = perf_counter()
        while self._paused.is_set() and not self._stop.is_set():
            time.sleep(LOOK_S / 5)
        now = perf_counter()
        driver.shift(now - begun)
        self._flights.origin = now
        self._flights.segment += 1
        if not self._stop.is_set():
            self._on_event(SegmentStarted(self._flights.segment))

    def _start(self, stage: Stage, place: Place) -> None:
        request = self._ends.ask(stage, place)
        run = self._flights.start(request, place, keep_reads=stage.keep_reads and not place.warmup)
        self._on_event(RequestStarted(place.stage, place.index, place.warmup, run))

    def _ended(self, sample: Sample, run: Run) -> None:
        """A request has ended: keep it, and what it taught."""
        target = self._workload.stages[sample.stage].target
        self._ends.base_urls[target] = run.base_url or self._ends.base_urls[target]
        for note in run.notes:
            self._note(note)
        self._seen.add(sample)
        self._samples.append(sample)
        self._pace.add(sample)
        self._on_event(RequestEnded(sample, run.kept()))

    def _judge(self, stage: Stage, driver: Driver) -> str:
        """Why the stage need not go on; empty: it does."""
        if driver.closed:
            return ""
        if why := self._seen.hopeless(stage):
            if self._seen.refused:
                self._ends.refusing.add(stage.target)
            return why
        wanted = self._workload.certainty
        if wanted is not None and not self._workload.interleave and self._seen.certain(wanted):
            return "certain enough"
        return ""

    def _note(self, text: str) -> None:
        if text not in self._notes:
            self._notes.add(text)
            self._on_event(Note(text))


def _turn(left: Sequence[int], streams: int) -> Sequence[int]:
    """The next requests of a stage that takes turns: of one turn, also where some are done."""
    return [index for index in left[:streams] if index // streams == left[0] // streams]
