"""A session that answers from a script, on a clock that only the test moves."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from threading import Event
from types import SimpleNamespace
from typing import Any

from kvtui.bench.requests.curl import Sent
from kvtui.config import Endpoint, Settings
from kvtui.engine.geometry import EngineGeometry
from kvtui.failure import Evidence, Hint, Verdict
from kvtui.measure.figures import RunFigures, Snapshot
from kvtui.measure.gaps import Gaps
from kvtui.measure.rate import Sample
from kvtui.stream.request import Request
from kvtui.ui.messages import ConductorReady, EndpointReady, MemoryReady, SessionReady
from kvtui.ui.opening.prompt import build_request, initial_form
from kvtui.ui.opening.sessions import Sessions
from kvtui.ui.opening.settings import load_memory
from kvtui.ui.stream.conductor import Conductor

WORDS = (
    (
        "A cache keeps what was worked out before , so that the next step only has to add to it . "
        "When a sequence grows by one token , the keys and values of all earlier tokens are read "
        "again , but never computed again . Without it , every step would start from the start : "
        "twice the text , twice the work for each new word , and four times the work in all ."
    )
    .replace(" ,", ",")
    .replace(" .", ".")
    .replace(" :", ":")
    .split()
)

GEOMETRY = EngineGeometry(
    layers=8,
    n_heads=8,
    kv_heads=2,
    head_dim=32,
    kv_itemsize=4,
    kv_bytes_per_token=4096,
    context=2048,
    context_train=2048,
    vocab=4096,
    n_params=6_000_000,
    weights_bytes=6_600_000,
    file_bytes=6_700_000,
)


SETTINGS = Settings(Path("config.toml"))


@dataclass(frozen=True)
class Piece:
    kind: str
    text: str
    t: float = 0.0
    gap_s: float | None = None
    tokens: int | None = 1
    replaces: bool = False


@dataclass(frozen=True)
class Prepared:
    endpoint: Endpoint
    model: str | None
    models: tuple[str, ...] = ()
    engine_geometry: Any = None
    notes: tuple[str, ...] = ()
    verdict: Verdict | None = None
    evidence: Evidence | None = None
    context: int | None = None


EMBEDDED = Prepared(
    Endpoint("http://127.0.0.1:1/v1", "embedded", embedded=True),
    "kvtui-tiny",
    ("kvtui-tiny",),
    GEOMETRY,
)
REMOTE = Prepared(
    Endpoint("https://gpu.example/v1", "--base-url", "sk-x", "VLLM_KEY"),
    "meta-llama/Llama-3.1-8B-Instruct",
    ("meta-llama/Llama-3.1-8B-Instruct", "Qwen/Qwen3-8B"),
)


CUT = Verdict("truncated", "max_tokens", "Cut at max_tokens 256, as asked.")
OK = Evidence(status=200, finish_reason="length")


@dataclass
class Script:
    """What a run does: a list of (seconds, kind, text), a prompt length, an end."""

    pieces: list[tuple[float, str, str]] = field(
        default_factory=lambda: [
            (0.045 + 0.0047 * n, "content", WORDS[n % len(WORDS)] + " ") for n in range(256)
        ]
    )
    prompt_tokens: int = 38
    first_at: float = 0.0413
    verdict: Verdict = CUT
    evidence: Evidence = OK
    hints: tuple[Hint, ...] = ()
    finish: str | None = "length"
    progress: bool = False
    """Prefill is reported as it goes on, as llama.cpp does."""


class Clock:
    """Seconds that pass when the test says so."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


class FakeRun:
    """A run that has done what its script says up to the clock's now."""

    def __init__(self, script: Script, clock: Clock, request: Request) -> None:
        self.script, self.clock, self.request = script, clock, request
        self.began = clock.now
        self.given = 0
        self.stopped_at: float | None = None
        self.notes: tuple[str, ...] = ()

    @property
    def elapsed(self) -> float:
        end = self.clock.now if self.stopped_at is None else self.stopped_at
        return end - self.began

    def _arrived(self) -> int:
        return sum(1 for t, _, _ in self.script.pieces if t <= self.elapsed)

    @property
    def done(self) -> Event:
        event = Event()
        if self.over:
            event.set()
        return event

    @property
    def over(self) -> bool:
        if self.stopped_at is not None:
            return True
        last = self.script.pieces[-1][0] if self.script.pieces else self.script.first_at
        return self.elapsed > last

    def drain(self) -> Sequence[Piece]:
        arrived = self._arrived()
        new = self.script.pieces[self.given : arrived]
        self.given = arrived
        before = self.script.pieces[self.given - len(new) - 1][0] if self.given > len(new) else None
        gaps = [0.0 if before is None else new[0][0] - before] if new else []
        gaps += [after[0] - now[0] for now, after in itertools.pairwise(new)]
        return [Piece(kind, text, t, gap) for (t, kind, text), gap in zip(new, gaps, strict=True)]

    def snapshot(self) -> Snapshot:
        n, elapsed = self._arrived(), self.elapsed
        failed = self.script.verdict.is_failure
        if self.over:
            phase = "stopped" if self.stopped_at is not None else ("failed" if failed else "done")
        elif not n:
            phase = "prefill" if elapsed > 0.001 else "connecting"
        else:
            phase = "decode"
        first = self.script.pieces[0][0] if self.script.pieces else None
        done = total = None
        if self.script.progress and first is not None and phase == "prefill":
            total = self.script.prompt_tokens
            done = int(total * min(1.0, elapsed / first))
        span = None if first is None or n < 2 else self.script.pieces[n - 1][0] - first
        rate = None if not span else (n - 1) / span
        return Snapshot(
            phase=phase,
            elapsed_s=elapsed,
            connect_ms=0.6 if elapsed > 0.001 else None,
            prefill_ms=(min(elapsed, first or elapsed) * 1000) if elapsed > 0.001 else None,
            prefill_done=done,
            prefill_total=total,
            decode_s=span,
            running_tps=rate,
            ttft_ms=None if not n or first is None else first * 1000,
            ttfa_ms=None if not n or first is None else first * 1000,
            tpot_ms=None if rate is None else 1000 / rate,
            decode_tps=rate if self.over else None,
            itl_p50_ms=None if rate is None else 4.6,
            itl_p99_ms=None if rate is None else 7.9,
            tokens_per_chunk=1.0 if n else None,
            prompt_tokens=self.script.prompt_tokens if n else None,
            cached_prompt_tokens=0 if n else None,
            tokens=n or None,
            token_source="continuous" if n and not self.over else ("usage" if n else "none"),
            chunks=n,
            finish_reason=self.script.finish if self.over and self.stopped_at is None else None,
            loop_lag_ms=0.8 if n else None,
        )

    def samples(self, n: int) -> Sequence[Sample]:
        arrived = self._arrived()
        if arrived < 4:
            return ()
        step = -(-arrived // n)
        times = [t for t, _, _ in self.script.pieces]
        return [
            Sample(times[i - 1] - times[0], i, 190 + 30 * ((i * 7919) % 11) / 11)
            for i in range(2, arrived, step)
        ]

    def gaps(self) -> Gaps:
        times = [t for t, _, _ in self.script.pieces[: self._arrived()]]
        gaps = Gaps()
        for before, after in itertools.pairwise(times):
            gaps.add(after - before)
        return gaps

    def sent(self) -> Sent:
        endpoint = self.request.endpoint
        return Sent(endpoint, endpoint.base_url, self.request)

    def stop(self) -> None:
        if self.stopped_at is None and not self.over:
            self.stopped_at = self.clock.now

    def result(self, timeout: float | None = None) -> RunFigures:
        s = self.snapshot()
        stopped = self.stopped_at is not None
        verdict = Verdict("ok", "stopped") if stopped else self.script.verdict
        text = {
            kind: "".join(t for _, k, t in self.script.pieces[: self.given] if k == kind)
            for kind in ("content", "reasoning")
        }
        return RunFigures(
            started_at="2026-11-29T12:00:00Z",
            verdict=verdict,
            evidence=self.script.evidence,
            partial=stopped or verdict.is_failure,
            connect_ms=s.connect_ms,
            ttft_ms=s.ttft_ms,
            ttfa_ms=s.ttfa_ms,
            tpot_ms=s.tpot_ms,
            decode_tps=s.decode_tps,
            e2e_tps=s.decode_tps,
            e2e_ms=s.elapsed_s * 1000,
            server_ms=None,
            first_token="content" if s.tokens else "none",
            prompt_tokens=s.prompt_tokens,
            cached_prompt_tokens=0,
            completion_tokens=s.tokens,
            reasoning_tokens=None,
            estimated_tokens=None,
            token_source="usage",
            chunks=s.chunks,
            finish_reason=s.finish_reason,
            model_answered=self.request.model,
            content=text["content"],
            reasoning=text["reasoning"],
            hints=self.script.hints,
            stopped=stopped,
        )


class FakeSession:
    """Starts scripted runs."""

    def __init__(self, clock: Clock, *scripts: Script) -> None:
        self.clock = clock
        self.scripts = list(scripts) or [Script()]
        self.started: list[FakeRun] = []
        self.settled: list[tuple[str, tuple[str, ...]]] = []
        self.closed = False

    def warm(self) -> None: ...

    def prepare(self, *, unbidden: bool = False) -> Future[Any]:
        return Future()

    def start(
        self, request: Request, *, run_index: int = 0, unique_prefix: bool = False
    ) -> FakeRun:
        script = self.scripts[min(len(self.started), len(self.scripts) - 1)]
        run = FakeRun(script, self.clock, request)
        self.started.append(run)
        return run

    def settle(self, endpoint: Any, refused: Any) -> None:
        self.settled.append((endpoint.base_url, tuple(refused)))

    def close(self) -> None:
        self.closed = True


def make_app(
    *scripts: Script, prepared: Prepared = EMBEDDED, late: bool = False, **options: Any
) -> Any:
    """An app whose session is fake: ``app.fake.clock`` moves it.

    With ``late`` the endpoint is ready only when ``app.fake.arrive()`` is called.
    """
    from kvtui.ui.app import KvtuiApp

    clock = Clock()
    session = FakeSession(clock, *scripts)
    conductor = Conductor(
        build=build_request(options),
        form=initial_form(options, SETTINGS.defaults),
        now=lambda: datetime(2026, 11, 29, 12, 4, 11),
        clock=clock,
    )

    def opener(app: KvtuiApp) -> None:
        app.conductor = conductor
        sessions = Sessions(conductor, options, app.main.post_message)
        app.main.post_message(ConductorReady(conductor, sessions))
        view, problems = load_memory(options, SETTINGS)
        app.main.post_message(MemoryReady(view, problems))
        app.main.post_message(SessionReady(session))
        if not late:
            app.main.post_message(EndpointReady(prepared))

    app = KvtuiApp(options, opener=opener)
    app.fake = SimpleNamespace(
        clock=clock,
        session=session,
        arrive=lambda: app.main.post_message(EndpointReady(prepared)),
    )
    return app
