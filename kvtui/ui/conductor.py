"""Runs requests and turns them into frozen states. No widget, and no clock but the one given.

``frame`` is called by the screen's one timer; all else happens on a key.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import CancelledError
from dataclasses import dataclass, field, replace
from datetime import datetime
from math import ceil, inf
from statistics import median
from time import perf_counter

from kvtui.bench.curl import Sent
from kvtui.failure import Evidence, Hint
from kvtui.measure.figures import RunFigures, Snapshot
from kvtui.stream.request import Request
from kvtui.text import one_line, redact, sanitise
from kvtui.ui.cache_effect import CacheEffect
from kvtui.ui.ports import PreparedLike, RunLike, SessionLike
from kvtui.ui.state import (
    EndpointView,
    ErrorsState,
    Failure,
    Median,
    PromptForm,
    StreamState,
    is_demo,
)

SERIES_POINTS = 240
FIGURES_S = 0.095
"""Figures change ten times a second, text with every frame: an eye reads no faster."""
MAX_FAILURES = 100
LONGEST_WAIT_S = 3600.0
"""Longer waits are said, not counted down."""
DEMO_MODELS = tuple(
    f"demo-{name}"
    for name in ("auth", "network", "parameter", "filter", "ratelimit", "server", "truncated")
)
"""The embedded engine answers these as a provider would that fails so."""
RESULT_S = 5.0
"""A run that is done has its figures at once; this only bounds a mistake."""

RequestBuilder = Callable[[PreparedLike, str, PromptForm], Request]


@dataclass(frozen=True, slots=True)
class Frame:
    """Everything that one frame shows."""

    stream: StreamState
    live_tokens: int
    pieces: tuple[tuple[str, str, bool], ...] = ()
    """Kind, sanitised text, and whether it replaces all text of the run so far."""
    began: int = 0
    """A run began in this frame: its number in the repeat, from 1; else 0."""
    finished: tuple[RunFigures, ...] = ()
    running: bool = False
    counting: bool = False
    """A wait that the server asked for is being counted down."""
    notes: tuple[str, ...] = ()
    """What was changed on the way to the server, each said once."""


@dataclass
class Conductor:
    """The screen's state machine: idle, running (run k of n), finished."""

    build: RequestBuilder
    form: PromptForm = field(default_factory=PromptForm)
    now: Callable[[], datetime] = datetime.now
    clock: Callable[[], float] = perf_counter
    session: SessionLike | None = None
    prepared: PreparedLike | None = None
    model: str = ""
    errors: ErrorsState = field(default_factory=ErrorsState)
    endpoint: EndpointView = field(default_factory=EndpointView)
    _run: RunLike | None = None
    _index: int = 0
    _repeats: int = 1
    _results: list[RunFigures] = field(default_factory=list)
    _stream: StreamState = field(default_factory=lambda: StreamState(Snapshot()))
    _began: int = 0
    _stopping: bool = False
    _measured: float = -inf
    _asked: PromptForm | None = None
    """What the latest run was asked with; edits meanwhile are the next one's."""
    _answering: str = ""
    """The model of the latest run."""
    _effect: CacheEffect = field(default_factory=CacheEffect)
    trouble: str = ""
    """What went wrong in kvtui itself, once; the screen says it and empties it."""
    _last: tuple[Sent, Evidence | None] | None = None
    _retry_at: float | None = None
    _notes: list[str] = field(default_factory=list)
    _said: set[str] = field(default_factory=set)
    waiting: bool = False
    """Run was asked for before the endpoint was ready: it begins when it is."""

    # --- the endpoint ---------------------------------------------------------------------------

    def endpoint_ready(self, prepared: PreparedLike) -> None:
        """Take over what the preparation found."""
        self.prepared = prepared
        endpoint = prepared.endpoint
        self.model = prepared.model or ""
        verdict = prepared.verdict
        usable = verdict is None or not verdict.is_failure
        if endpoint.embedded:
            label, key = "embedded", "no key needed"
        else:
            shown = redact(endpoint.base_url, endpoint.api_key)
            label = one_line(shown.split("://", 1)[-1], 60)
            key = f"key from {endpoint.key_from}" if endpoint.key_from else "no key sent"
            if endpoint.key_wanted_from:
                key = f"no key in {one_line(endpoint.key_wanted_from, 40)}"
        self.endpoint = EndpointView(
            label=label,
            model=one_line(self.model, 60),
            key=key,
            embedded=endpoint.embedded,
            note=_engine_note(prepared, self.model)
            or one_line(redact(" · ".join(prepared.notes), endpoint.api_key), 120),
            ready=usable,
            problem="" if usable or verdict is None else one_line(verdict.message),
            models=(*prepared.models, *(DEMO_MODELS if endpoint.embedded else ())),
        )
        self.errors = replace(self.errors, demo=endpoint.embedded)
        if self.unprepared and usable and not self.endpoint.note:
            self.endpoint = replace(self.endpoint, note="⏎ asks it for its models")
        if self.unprepared:
            self.waiting = False  # asked once, not again and again
        if verdict is not None and verdict.is_failure:
            self._record(
                Failure("", verdict, prepared.evidence, self.model, sent=_listed(prepared))
            )

    @property
    def unprepared(self) -> bool:
        """The server was asked for its models in vain, or not yet: the next run has to ask."""
        prepared = self.prepared
        named = self.model or (self.endpoint.ready and prepared is not None and prepared.models)
        return prepared is not None and not named

    def prepare_again(self, *, run: bool) -> None:
        """The server is being asked for its models; with ``run`` one begins when it answers."""
        self._retry_at = None
        self.errors = replace(self.errors, wait_s=None)
        self.prepared = None
        self.endpoint = replace(self.endpoint, problem="", waiting=run)
        self.waiting = run

    def opening_failed(self, sentence: str) -> None:
        """The endpoint cannot be used at all."""
        self.waiting = False
        self.endpoint = replace(
            self.endpoint, ready=False, problem=one_line(sentence), waiting=False
        )

    def choose_model(self, name: str) -> None:
        """Ask for another of the server's models from now on."""
        self.model = name
        note = self.endpoint.note
        if self.prepared is not None and self.endpoint.embedded:
            note = _engine_note(self.prepared, name)
        self.endpoint = replace(self.endpoint, model=one_line(name, 60), note=note)

    # --- running --------------------------------------------------------------------------------

    @property
    def running(self) -> bool:
        """A request is on its way."""
        return self._run is not None

    def why_not(self) -> str:
        """Why a run cannot start now, one sentence; empty when it can."""
        if self.running:
            return "A stream is running: esc stops it."
        if not self.form.prompt.strip():
            return "The prompt is empty: e edits it."
        if self.session is None or self.prepared is None:
            return self.endpoint.problem or "The endpoint is being prepared: the run begins then."
        if not self.model:
            return "No model is chosen: M shows what the server offers."
        return ""

    def start(self) -> str:
        """Begin the first run; returns why it cannot, or an empty string."""
        preparing = self.prepared is None and not self.endpoint.problem
        self.waiting = preparing and bool(self.form.prompt.strip())
        self.endpoint = replace(self.endpoint, waiting=self.waiting)
        problem = self.why_not()
        if problem:
            return problem
        self._results.clear()
        self._retry_at = None  # pressed at once: the wait is not kept
        self.errors = replace(self.errors, wait_s=None)
        self._index = 0
        self._repeats = self.form.repeats
        self._stopping = False
        self._stream = StreamState(Snapshot())
        return self._next()

    def _next(self) -> str:
        assert self.session is not None
        assert self.prepared is not None
        self._asked, self._answering = self.form, self.model
        try:
            request = self.build(self.prepared, self.model, self.form)
            self._run = self.session.start(
                request,
                run_index=self._index,
                unique_prefix=self._repeats > 1 and not self.form.same_prompt,
            )
        except ValueError as error:  # a request that cannot be made: said, never raised
            self._run = None
            return one_line(str(error))
        self._index += 1
        self._began = self._index
        return ""

    def stop(self) -> bool:
        """Stop the stream and the repeats to come; False where nothing runs."""
        self.waiting = False
        self.endpoint = replace(self.endpoint, waiting=False)
        if self._run is None:
            return False
        self._stopping = True
        self._run.stop()
        return True

    def close(self) -> None:
        """Stop everything and end the session (and with it the engine's process)."""
        self.stop()
        if self.session is not None:
            self.session.close()
            self.session = None

    @property
    def cached(self) -> bool:
        """The run under way (the next one where there is none) keeps a KV cache."""
        asked = self._asked if self.running else None
        return (asked or self.form).kv_cache

    @property
    def kept(self) -> bool:
        """The run shown kept what it worked out: with the cache on, and by a model."""
        return self._asked is None or (self._asked.kv_cache and not is_demo(self._answering))

    @property
    def stream(self) -> StreamState:
        """How the latest run stands."""
        return self._stream

    @property
    def engine_lost(self) -> bool:
        """The embedded engine does not answer any more: it has to be prepared again."""
        latest = self.errors.latest
        return (
            self.endpoint.embedded
            and not self.errors.last_ok
            and latest is not None
            and latest.verdict.cls == "network"
            and not is_demo(latest.model)
        )

    # --- frames ---------------------------------------------------------------------------------

    def frame(self) -> Frame:
        """What is new since the last frame, and how things stand."""
        run = self._run
        if run is None:
            live = self._live(self._stream.snapshot)
            return Frame(self._stream, live, counting=self._count_down())
        done = run.done.is_set()  # before draining: what comes later is the next frame's
        pieces = tuple((piece.kind, sanitise(piece.text), piece.replaces) for piece in run.drain())
        began, self._began = self._began, 0
        moment = self.clock()
        if not (done or began) and moment - self._measured < FIGURES_S:
            live = self._live(self._stream.snapshot)
            return Frame(self._stream, live, pieces, running=True)
        self._measured = moment
        snapshot = run.snapshot()
        asked = self._asked or self.form
        self._stream = StreamState(
            snapshot=snapshot,
            series=tuple((sample.tokens, sample.tps) for sample in run.samples(SERIES_POINTS)),
            max_tokens=asked.max_tokens,
            run=self._index,
            repeats=self._repeats,
            median=self._stream.median,
            kv_cache=asked.kv_cache,
            compared=self._effect.compared,
        )
        finished: tuple[RunFigures, ...] = ()
        if done:
            figures = self._finish(run)
            finished = (figures,) if figures is not None else ()
        notes, self._notes = tuple(self._notes), []
        return Frame(
            self._stream,
            self._live(snapshot),
            pieces,
            began,
            finished,
            self._run is not None,
            self._count_down(),
            notes,
        )

    def _finish(self, run: RunLike) -> RunFigures | None:
        try:
            figures = run.result(RESULT_S)
        except (Exception, CancelledError) as error:  # noqa: BLE001 - our mistake, not the user's
            self._run = None
            self.trouble = f"The request was lost: {type(error).__name__} {one_line(str(error))}"
            self._stream = replace(
                self._stream, snapshot=replace(self._stream.snapshot, phase="failed"), failed=True
            )
            return None
        self._results.append(figures)
        verdict = figures.verdict
        if self.endpoint.embedded and not is_demo(self._answering):
            self._effect.add(figures, cached=self.kept)
        self._stream = replace(
            self._stream,
            compared=self._effect.compared,
            outcome="" if verdict.cls == "ok" else verdict.subcode,
            failed=verdict.is_failure,
            median=self._median(),
        )
        key = self.prepared.endpoint.api_key if self.prepared is not None else None
        notes = [redact(note, key) for note in run.notes]
        hints = (*figures.hints, *(Hint("note", note) for note in notes))
        self._last = (run.sent(), figures.evidence)
        self._notes += [note for note in notes if note not in self._said]
        self._said.update(notes)
        failure = Failure(
            "", verdict, figures.evidence, self.model, figures=figures, sent=run.sent()
        )
        self._record(failure, hints)
        self._run = None
        if self._index < self._repeats and not self._stopping and not verdict.is_failure:
            self._next()
        return figures

    @staticmethod
    def _live(snapshot: Snapshot) -> int:
        """Tokens that the sequence holds in the cache: prompt and answer."""
        return (snapshot.prompt_tokens or 0) + (snapshot.tokens or 0)

    def _median(self) -> Median | None:
        """Over the complete, cold runs; only of a repeat."""
        if self._repeats < 2:
            return None
        runs = [run for run in self._results if not run.partial and not run.cached_prompt_tokens]
        if not runs:
            return None
        rates = [run.decode_tps for run in runs if run.decode_tps is not None]
        return Median(
            n=len(runs),
            ttft_ms=_median([run.ttft_ms for run in runs]),
            tpot_ms=_median([run.tpot_ms for run in runs]),
            decode_tps=_median(rates),
            tps_low=min(rates, default=None),
            tps_high=max(rates, default=None),
        )

    # --- errors ---------------------------------------------------------------------------------

    def look(self, step: int) -> bool:
        """Show an older failure (1) or a newer one (-1); False where there is none."""
        shown = self.errors.shown + step
        if not 0 <= shown < len(self.errors.failures):
            return False
        self.errors = replace(self.errors, shown=shown)
        return True

    def asked(self) -> tuple[Sent, Evidence | None] | None:
        """The request of the failure shown, else the latest one, else the one that Enter sends."""
        errors = self.errors
        failure = errors.selected
        if (
            failure is not None
            and failure.sent is not None
            and (errors.shown or not errors.last_ok)
        ):
            return failure.sent, failure.evidence
        if self._last is not None:
            return self._last
        if self.prepared is None:
            return None
        request = self.build(self.prepared, self.model, self.form)
        return Sent(request.endpoint, request.endpoint.base_url, request), None

    def _count_down(self) -> bool:
        """Whole seconds until the server's wait is over; True while there are some."""
        if self._retry_at is None:
            return False
        left = max(0, ceil(self._retry_at - self.clock()))
        if left != self.errors.wait_s:
            self.errors = replace(self.errors, wait_s=left)
        if not left:
            self._retry_at = None
        return left > 0

    @property
    def counting(self) -> bool:
        """A wait that the server asked for is not over."""
        return self._retry_at is not None

    def _record(self, failure: Failure, hints: tuple[Hint, ...] = ()) -> None:
        """Count a request; ``failure`` is what would be kept of it if it is none that went well."""
        verdict, shown = failure.verdict, self.errors.shown
        counts = Counter(dict(self.errors.counts))
        stopped = failure.figures is not None and failure.figures.stopped
        counts["stopped" if stopped else verdict.cls] += 1
        failures = self.errors.failures
        if verdict.cls != "ok":
            same = bool(failures) and _same(failures[0], failure)
            times = failures[0].times + 1 if same else 1
            kept = replace(failure, at=self.now().strftime("%H:%M:%S"), times=times)
            failures = (kept, *failures[1 if same else 0 :])
            shown = 0
            if verdict.retry_after_s is not None and verdict.retry_after_s <= LONGEST_WAIT_S:
                self._retry_at = self.clock() + verdict.retry_after_s
        unique = {hint.subcode + hint.message: hint for hint in (*verdict.hints, *hints)}
        self.errors = replace(
            self.errors,
            failures=failures[:MAX_FAILURES],
            counts=tuple(sorted(counts.items(), key=lambda item: _ORDER.get(item[0], 2))),
            hints=tuple(unique.values()),
            last_ok=verdict.cls == "ok",
            last_stopped=stopped,
            failed=self.errors.failed + (1 if verdict.is_failure else 0),
            shown=shown,
        )
        self._count_down()


_ORDER = {"ok": 0, "stopped": 1}
"""Of the counts; failures come behind, as they came."""


def _engine_note(prepared: PreparedLike, model: str) -> str:
    """What the embedded model is: its size, and that a tiny one says nothing true."""
    geometry = prepared.engine_geometry
    if geometry is None:
        return ""
    if is_demo(model):
        return "an answer on demand, by no model"
    millions = geometry.n_params / 1e6
    size = f"{millions:,.1f}M" if millions < 10 else f"{millions:,.0f}M"
    if millions < 50:
        return f"{size}, a real model; its text is not meant to be true"
    return f"{size} parameters"


def _listed(prepared: PreparedLike) -> Sent | None:
    """The question for the models that failed; None where none was sent."""
    url = prepared.evidence.url if prepared.evidence is not None else ""
    if prepared.endpoint.embedded or not url.endswith("/models"):
        return None
    return Sent(prepared.endpoint, url.removesuffix("/models"))


def _same(one: Failure, other: Failure) -> bool:
    """The same failure again, whatever numbers (seconds left, ids) its sentence holds."""
    return _likeness(one) == _likeness(other)


def _likeness(failure: Failure) -> tuple[str, ...]:
    verdict = failure.verdict
    words = re.sub(r"\d+(?:[.,]\d+)*", "#", verdict.message)
    return verdict.cls, verdict.subcode, words, failure.model


def _median(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return median(known) if known else None
