"""A run whose requests the test hands in, on the thread and at the moment that the test chooses."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from fakes import Piece

from kvtui.bench.figures.sample import Sample
from kvtui.bench.records.begin import Begun
from kvtui.bench.records.record import Record
from kvtui.bench.running.progress import (
    BenchEvent,
    Progress,
    RequestEnded,
    RequestStarted,
    StageEnded,
    StageStarted,
)
from kvtui.bench.running.runner import Outcome
from kvtui.bench.work.workload import Workload
from kvtui.measure.figures import Snapshot
from kvtui.measure.gaps import Gaps
from kvtui.stream.request import Request


@dataclass
class LiveRun:
    """A request that is in the phase which the test says."""

    request: Any = None
    phase: str = "prefill"
    tokens: int = 0
    pieces: list[Any] = field(default_factory=list)
    followed: bool = False
    gaps: tuple[float, ...] = ()
    done: threading.Event = field(default_factory=threading.Event)

    def glance(self) -> tuple[str, int]:
        return self.phase, self.tokens

    def follow(self) -> None:
        self.followed = True

    def drain(self) -> list[Any]:
        pieces, self.pieces = self.pieces, []
        return pieces

    def say(self, text: str) -> None:
        self.pieces.append(Piece("content", text))

    def snapshot(self) -> Snapshot:
        return Snapshot(phase=self.phase, tokens=self.tokens)  # type: ignore[arg-type]

    def samples(self, n: int) -> Sequence[Any]:
        return ()

    def add_gaps(self, total: Gaps) -> None:
        for gap in self.gaps:
            total.add(gap)


class FakeRunner:
    """Runs until the test ends it."""

    def __init__(self, workload: Workload, request: Request) -> None:
        self.workload, self.request = workload, request
        self.samples: list[Sample] = []
        self.stopped = self.paused = False
        self.stage = 0
        self.flying: dict[tuple[int, int], LiveRun] = {}
        self._ended = threading.Event()
        self._tell: Callable[[BenchEvent], None] = lambda _: None

    def listen(self, on_event: Callable[[BenchEvent], None]) -> None:
        self._tell = on_event

    def run(self) -> Outcome:
        self._ended.wait(30)
        return Outcome(tuple(self.samples), {}, None, True, "", self.stopped, {})  # type: ignore[arg-type]

    def stop(self) -> None:
        self.stopped = True
        self._ended.set()

    def pause(self) -> None:
        self.paused = True

    def resume(self) -> None:
        self.paused = False

    def progress(self) -> Progress:
        stage = self.workload.stages[self.stage]
        here = [s for s in self.samples if s.stage == self.stage]
        return Progress(
            stage=self.stage,
            stages=len(self.workload.stages),
            label=stage.label,
            in_flight=len(self.flying),
            done=len(here),
            wanted=stage.requests,
            failed=sum(s.failed for s in self.samples),
            elapsed_s=12.0,
            left_s=34.0,
            paused=self.paused,
        )

    # --- what the test does ---------------------------------------------------------------------

    def level(self, number: int) -> None:
        self.stage = number
        self._tell(StageStarted(number, self.workload.stages[number].label))

    def level_over(self) -> None:
        self._tell(StageEnded(self.stage, ""))

    def send(self, index: int, **how: Any) -> LiveRun:
        stage = self.workload.stages[self.stage]
        run = LiveRun(SimpleNamespace(max_tokens=stage.max_tokens, kv_cache=None), **how)
        self.flying[self.stage, index] = run
        self._tell(RequestStarted(self.stage, index, False, run))  # type: ignore[arg-type]
        return run

    def answer(self, index: int, **figures: Any) -> Sample:
        stage = self.workload.stages[self.stage]
        run = self.flying.pop((self.stage, index))
        run.phase = "done"
        run.done.set()
        usual: dict[str, Any] = {
            "start_s": float(index),
            "send_s": float(index),
            "first_s": index + 0.05,
            "last_s": index + 0.05 + 0.005 * (stage.max_tokens - 1),
            "end_s": index + 0.06 + 0.005 * stage.max_tokens,
            "ttft_ms": 50.0,
            "tpot_ms": 5.0,
            "decode_tps": 200.0,
            "e2e_ms": 50 + 5.0 * (stage.max_tokens - 1),
            "completion_tokens": stage.max_tokens,
            "prompt_tokens": stage.prompt_tokens or 20,
            "token_source": "usage",
        }
        sample = Sample(stage=self.stage, index=index, **{**usual, **figures})
        self.samples.append(sample)
        self._tell(RequestEnded(sample))
        return sample

    def finish(self) -> None:
        self._ended.set()


class FakeRecorder:
    """Keeps nothing."""

    def __init__(self, path: Path) -> None:
        self.path, self.error, self.taken = path, "", 0

    def take(self, event: BenchEvent) -> None:
        self.taken += 1

    def close(self) -> None: ...


@dataclass(frozen=True)
class FakeBegun(Begun):
    """A run and no file."""

    prepared: Any = None

    def conclude(self, outcome: Outcome) -> Record:
        endpoint = self.prepared.endpoint
        return Record(
            self.recorder.path,
            {
                "created_at": "2026-11-29T12:04:11.000+00:00",
                "kvtui": "0.1.0",
                "nonce": "00",
                "endpoint": {
                    "base_url": None if endpoint.embedded else endpoint.base_url,
                    "model": self.prepared.model,
                    "embedded": endpoint.embedded,
                },
            },
            self.runner.workload,  # type: ignore[attr-defined]
            outcome.samples,
            {},
            finished=not outcome.stopped,
        )


class Bench:
    """What has been begun; ``install`` puts it in the place of the real beginning."""

    def __init__(self) -> None:
        self.begun: list[FakeBegun] = []
        self.asked: list[Any] = []

    @property
    def runner(self) -> FakeRunner:
        return self.begun[-1].runner  # type: ignore[return-value]

    def install(self, monkeypatch: Any) -> Bench:
        def begin(
            session: Any, prepared: Any, request: Request, work: Any, path: Path | None = None
        ) -> FakeBegun:
            self.asked.append(work)
            workload = work.workload if isinstance(work, Record) else work
            runner = FakeRunner(workload, request)
            if isinstance(work, Record):
                runner.samples = list(work.samples)
            begun = FakeBegun(runner, FakeRecorder(Path("run.jsonl")), prepared)  # type: ignore[arg-type]
            self.begun.append(begun)
            return begun

        monkeypatch.setattr("kvtui.bench.records.begin.begin", begin)
        return self

    def close(self) -> None:
        for begun in self.begun:
            begun.runner.stop()


class Held:
    """Stands in for what blocks: it takes until the test lets go."""

    def __init__(self, then: Any) -> None:
        self.then = then
        self.asked = 0
        self.go = threading.Event()

    def __call__(self, *given: Any, **named: Any) -> Any:
        self.asked += 1
        assert threading.current_thread() is not threading.main_thread()
        assert self.go.wait(30)
        return self.then(*given, **named)
