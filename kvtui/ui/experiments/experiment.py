"""A run under way: its thread, and frozen states for a screen that may come and go meanwhile."""

from __future__ import annotations

import threading
import time
from array import array
from collections import defaultdict, deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from statistics import median
from time import perf_counter
from typing import TYPE_CHECKING, Literal, TypeAlias

from kvtui.bench.evaluation.results import Results, results_of
from kvtui.bench.figures.sample import Sample
from kvtui.bench.figures.samples import Samples
from kvtui.bench.figures.summary import levels_of
from kvtui.bench.records.recorded_gaps import recorded_gaps
from kvtui.bench.records.schema import RecordError
from kvtui.bench.running.progress import (
    BenchEvent,
    HealthTaken,
    Note,
    Progress,
    RequestEnded,
    RequestStarted,
    StageStarted,
)
from kvtui.bench.work.labels import label_shown
from kvtui.language import tr
from kvtui.measure.gaps import Gaps
from kvtui.text import one_line
from kvtui.ui.experiments.lanes import Lane, Lanes
from kvtui.ui.experiments.plots import Requests, plots_of
from kvtui.ui.look.plots import Plot

if TYPE_CHECKING:
    from kvtui.bench.figures.health import Health
    from kvtui.bench.figures.levels import Level
    from kvtui.bench.records.begin import Begun
    from kvtui.bench.records.record import Record
    from kvtui.bench.requests.run import Run
    from kvtui.bench.work.workload import Workload

RunPhase: TypeAlias = Literal["running", "paused", "stopping", "stopped", "done", "lost"]
WINDOW_S = 2.0
"""Over which the tokens a second of all streams are counted."""
LEVELS_S = 1.0
"""The table of levels is worked out anew no sooner than after so many seconds."""
_LEVELS_SHARE = 0.05
"""The part of the time that working it out may take: where it takes long, it is done less often."""
BOUND = 0.9
"""Of a core: from here on this process is part of what is measured."""
LAST = 16
"""Requests of the level that tell the lag now."""


@dataclass(frozen=True, slots=True)
class LiveState:
    """What the screen draws of a run; None: not known yet."""

    phase: RunPhase
    progress: Progress | None
    lanes: tuple[Lane, ...] = ()
    ttft_ms: float | None = None
    """Median of the level so far."""
    tpot_ms: float | None = None
    tps: float | None = None
    """Tokens of all streams in the last two seconds, a second."""
    lag_ms: float | None = None
    """Own lateness in reading, the worst of the latest requests."""
    cpu_share: float | None = None
    """Of this process, of a core."""
    levels: tuple[Level, ...] = ()
    samples: int = 0
    notes: tuple[str, ...] = ()

    @property
    def running(self) -> bool:
        """Requests are, or may be, on their way."""
        return self.phase in ("running", "paused", "stopping")

    @property
    def client_bound(self) -> bool:
        """This process is part of what is measured."""
        flying = self.progress is not None and self.progress.in_flight > 0
        return flying and self.cpu_share is not None and self.cpu_share >= BOUND

    @property
    def preparing(self) -> bool:
        """No request has been sent: the endpoints are still looked at and made ready."""
        return self.running and not self.lanes and not self.samples


class Experiment:
    """Runs what was begun; the screen asks for ``state`` when it draws."""

    def __init__(
        self,
        begun: Begun,
        workload: Workload,
        label: str,
        *,
        done: Sequence[Sample] = (),
        on_over: Callable[[], object] = lambda: None,
        clock: Callable[[], float] = perf_counter,
    ) -> None:
        """Remember what to run; nothing is sent before ``start``.

        Args:
            begun: The runner and its record.
            workload: What it runs.
            label: Endpoint and model, free of secrets.
            done: Requests that an earlier part of the run has done.
            on_over: Told at the end, on the run's thread.
            clock: Monotonic seconds.
        """
        self.workload = workload
        self.label = label
        self.path = begun.recorder.path
        self.record: Record | None = None
        """When it is over."""
        self.results: Results | None = None
        """When it is over."""
        self.trouble = ""
        """What went wrong in kvtui itself, or with the record."""
        self.lanes = Lanes()
        self._begun = begun
        self._on_over = on_over
        self._clock = clock
        self._samples = Samples(done)
        self._drawn = Requests(workload, done)
        self._stages: defaultdict[int, _Stage] = defaultdict(_Stage)
        self._health: dict[tuple[int, int], Health] = {}
        self._notes: list[str] = []
        self._stage = 0
        self._levels: tuple[Level, ...] = ()
        self._level_at = 0.0
        self._stopping = False
        self._over = threading.Event()
        self._gaps = Gaps()
        self._tokens: deque[tuple[float, int]] = deque()
        self._cpu: tuple[float, float] | None = None
        self._thread = threading.Thread(target=self._main, name="kvtui-bench", daemon=True)

    # --- from the screen --------------------------------------------------------------------------

    def start(self) -> None:
        """Begin."""
        self._thread.start()

    def stop(self) -> None:
        """End it; what is done is kept. Returns at once."""
        self._stopping = True
        self._begun.runner.stop()

    def close(self, timeout: float = 4.0) -> None:
        """Stop and wait until the record is closed."""
        if self._thread.is_alive():
            self.stop()
            self._thread.join(timeout)

    def toggle_pause(self) -> bool:
        """Pause, or go on; whether it is paused now."""
        runner = self._begun.runner
        paused = runner.progress().paused
        (runner.resume if paused else runner.pause)()
        return not paused

    @property
    def over(self) -> bool:
        """It has come to its end, or was stopped."""
        return self._over.is_set()

    @property
    def level(self) -> str:
        """The level that runs now."""
        return one_line(label_shown(self.workload.stages[self._stage].label), 60)

    def run_on(self, lane: int) -> Run | None:
        """The request on a lane."""
        return self.lanes.run(lane)

    @property
    def phase(self) -> RunPhase:
        """Where it stands, in a word."""
        if self.over:
            if self.record is None:
                return "lost"
            return "done" if self.record.finished else "stopped"
        if self._stopping:
            return "stopping"
        return "paused" if self._begun.runner.paused else "running"

    def state(self) -> LiveState:
        """How it stands now; the screen asks at most four times a second."""
        progress = self._begun.runner.progress()
        over = self.over
        here = self._stages[progress.stage]
        lanes = self.lanes.look()
        return LiveState(
            phase=self.phase,
            progress=progress,
            lanes=lanes,
            ttft_ms=_median(here.ttft_ms),
            tpot_ms=_median(here.tpot_ms),
            tps=None if over else self._rate(lanes),
            lag_ms=max(here.lags_ms.copy(), default=None),
            cpu_share=None if over else self._cpu_share(),
            levels=tuple(self.results.levels) if self.results else self._levels,
            samples=len(self._samples),
            notes=tuple(self._notes),
        )

    def plots(self) -> tuple[Plot, ...]:
        """The plots as far as they go; requests under way that keep their reads included."""
        live = [
            sample
            for stage, index, run in ([] if self.over else self.lanes.running())
            if self.workload.stages[stage].keep_reads
            if (sample := _so_far(run, stage, index)) is not None
        ]
        levels = self.results.levels if self.results else self._levels
        return plots_of(self.workload, levels, self._drawn.and_also(live), self._gaps)

    def _rate(self, lanes: Sequence[Lane]) -> float | None:
        now = self._clock()
        flying = sum(lane.tokens for lane in lanes if lane.phase in ("prefill", "decode"))
        total = self.lanes.done_tokens + flying
        kept = self._tokens
        kept.append((now, total))
        while len(kept) > 2 and kept[1][0] <= now - WINDOW_S:
            kept.popleft()
        since, before = kept[0]
        if now - since < WINDOW_S / 4:
            return None
        return max(0, total - before) / (now - since)

    def _cpu_share(self) -> float | None:
        now, spent = self._clock(), time.process_time()
        before, self._cpu = self._cpu, (now, spent)
        if before is None or now <= before[0]:
            return None
        return (spent - before[1]) / (now - before[0])

    # --- on the run's thread ----------------------------------------------------------------------

    def _main(self) -> None:
        runner = self._begun.runner
        runner.listen(self._take)
        try:
            if self._samples:  # the rest of a record: what it has is drawn, too
                self._level()
                for sample in self._samples:
                    self._stages[sample.stage].add(sample)
                with suppress(RecordError):
                    self._gaps = recorded_gaps(self.path)
            outcome = runner.run()
            record = self._begun.conclude(outcome)
            self.results = results_of(record)
            self.record = record
        except Exception as error:  # noqa: BLE001 - our mistake: said, and the record stays
            self.trouble = tr(
                "The run was lost: {name} {error}",
                name=type(error).__name__,
                error=one_line(str(error)),
            )
            self._begun.recorder.close()
        if self._begun.recorder.error:
            self.trouble = tr(
                "The record is not whole: {path} cannot be written: {error}.",
                path=self.path,
                error=self._begun.recorder.error,
            )
        self._over.set()
        self._on_over()

    def _take(self, event: BenchEvent) -> None:
        self._begun.recorder.take(event)
        if isinstance(event, StageStarted):
            self._stage = event.stage
            self.lanes.begin(self.workload.stages[event.stage].concurrency)
            self._level()
        elif isinstance(event, RequestStarted):
            self._stage = event.stage
            self.lanes.started(event, self.workload.stages[event.stage].max_tokens)
        elif isinstance(event, RequestEnded):
            run = self.lanes.ended(event.sample)
            if run is not None and not event.sample.warmup and not event.sample.failed:
                run.add_gaps(self._gaps)
            if not event.sample.stopped:
                self._samples.append(event.sample)
                self._drawn.add(event.sample)
                self._stages[event.sample.stage].add(event.sample)
            if self.workload.interleave and self._clock() >= self._level_at:
                self._level()
        elif isinstance(event, HealthTaken):
            self._health[event.stage, event.segment] = event.health
        elif isinstance(event, Note):
            self._notes.append(one_line(event.text, 300))

    def _level(self) -> None:
        """The table so far: between levels, where it disturbs no request."""
        begun = self._clock()
        self._levels = tuple(levels_of(self.workload, self._samples, self._health))
        now = self._clock()
        self._level_at = now + max(LEVELS_S, (now - begun) / _LEVELS_SHARE)


class _Stage:
    """Of one stage what the live line shows."""

    def __init__(self) -> None:
        self.ttft_ms, self.tpot_ms = array("d"), array("d")
        self.lags_ms: deque[float] = deque(maxlen=LAST)

    def add(self, sample: Sample) -> None:
        """A request that has ended."""
        if sample.warmup or sample.failed:
            return
        for values, value in ((self.ttft_ms, sample.ttft_ms), (self.tpot_ms, sample.tpot_ms)):
            if value is not None:
                values.append(value)
        if sample.loop_lag_ms is not None:
            self.lags_ms.append(sample.loop_lag_ms)


def _median(values: array[float]) -> float | None:
    return median(values[:]) if values else None


def _so_far(run: Run, stage: int, index: int) -> Sample | None:
    """A request under way as far as its reads go."""
    stamps = run.stamps()
    if stamps.send is None or not stamps.reads:
        return None
    send, now = stamps.send, run.snapshot()
    return Sample(
        stage=stage,
        index=index,
        prompt_tokens=now.prompt_tokens,
        completion_tokens=now.tokens,
        reads=tuple((round((t - send) * 1000, 3), chunks) for t, chunks in stamps.reads),
    )
