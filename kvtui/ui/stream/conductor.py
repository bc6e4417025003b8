"""Runs requests and turns them into frames. No widget, and no clock but the one given.

``frame`` is called by the screen's one timer; all else happens on a key.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import CancelledError
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import datetime
from math import inf
from time import perf_counter

from kvtui.bench.requests.curl import Sent
from kvtui.failure import Evidence, Hint
from kvtui.language import tr
from kvtui.measure.figures import RunFigures, Snapshot
from kvtui.stream.request import Request
from kvtui.text import one_line, redact
from kvtui.ui.endpoint.view import asked_for_models, endpoint_view, engine_key, engine_note
from kvtui.ui.ports import HistoryLike, PreparedLike, RunLike, SessionLike
from kvtui.ui.state import (
    CacheCompared,
    EndpointView,
    ErrorsState,
    Failure,
    PromptForm,
    StreamState,
    is_demo,
)
from kvtui.ui.stream.cache_effect import CacheEffect
from kvtui.ui.stream.failure_log import FailureLog
from kvtui.ui.stream.frame import Backlog, Frame, passages
from kvtui.ui.stream.repeats import median_of

SERIES_POINTS = 240
COURSE_POINTS = 1024
"""Of a run that is over, once."""
FIGURES_S = 0.095
"""Figures change ten times a second, text with every frame: an eye reads no faster."""
RESULT_S = 5.0
"""A run that is done has its figures at once; this only bounds a mistake."""

RequestBuilder = Callable[[PreparedLike, str, PromptForm], Request]


@dataclass
class Conductor:
    """The screen's state machine: idle, running (run k of n), finished."""

    build: RequestBuilder
    form: PromptForm = field(default_factory=PromptForm)
    now: Callable[[], datetime] = datetime.now
    clock: Callable[[], float] = perf_counter
    history: HistoryLike | None = None
    """Keeps each run; None: nothing is recorded."""
    mark: str = ""
    """What is shown beside the endpoint where nothing is live (``replay ×2``)."""
    _own: tuple[PromptForm, FailureLog] | None = None
    """What the user asks and what came of it, put by while a recorded run is played."""
    session: SessionLike | None = None
    prepared: PreparedLike | None = None
    model: str = ""
    failures: FailureLog = field(init=False)
    endpoint: EndpointView = field(default_factory=EndpointView)
    _run: RunLike | None = None
    _backlog: Backlog = field(default_factory=Backlog)
    _index: int = 0
    _repeats: int = 1
    _results: list[RunFigures] = field(default_factory=list)
    _stream: StreamState = field(default_factory=lambda: StreamState(Snapshot()))
    _began: int = 0
    _stopping: bool = False
    _measured: float = -inf
    _shown: RunLike | None = None
    """The latest run, under way or done."""
    _live: int = 0
    """Tokens that the sequence holds in the cache: prompt and answer."""
    _asked: PromptForm | None = None
    """What the latest run was asked with; edits meanwhile are the next one's."""
    _answering: str = ""
    """The model of the latest run."""
    _effect: CacheEffect = field(default_factory=CacheEffect)
    figures_s: float = FIGURES_S
    """Seconds between two looks at the figures; a slow link gets fewer."""
    wants_gaps: bool = False
    """A chart of the gaps is shown."""
    trouble: str = ""
    """What went wrong in kvtui itself, once; the screen says it and empties it."""
    _notes: list[str] = field(default_factory=list)
    _said: set[str] = field(default_factory=set)
    waiting: bool = False
    """Run was asked for before the endpoint was ready: it begins when it is."""

    def __post_init__(self) -> None:
        self.failures = FailureLog(self.now, self.clock)

    @property
    def errors(self) -> ErrorsState:
        """What the Errors pane draws."""
        return self.failures.state

    # --- the endpoint ---------------------------------------------------------------------------

    def endpoint_ready(self, prepared: PreparedLike) -> None:
        """Take over what the preparation found."""
        self.prepared = prepared
        self.model = prepared.model or ""
        verdict = prepared.verdict
        self.endpoint = replace(endpoint_view(prepared, self.model), mark=self.mark)
        self.failures.demo(prepared.endpoint.embedded)
        if self.unprepared and self.endpoint.ready and not self.endpoint.note:
            self.endpoint = replace(self.endpoint, note=tr("⏎ asks it for its models"))
        if self.unprepared:
            self.waiting = False  # asked once, not again and again
        if verdict is not None and verdict.is_failure:
            sent = asked_for_models(prepared)
            self.failures.record(Failure("", verdict, prepared.evidence, self.model, sent=sent))

    @property
    def unprepared(self) -> bool:
        """The server was asked for its models in vain, or not yet: the next run has to ask."""
        prepared = self.prepared
        named = self.model or (self.endpoint.ready and prepared is not None and prepared.models)
        return prepared is not None and not named

    def prepare_again(self, *, run: bool) -> None:
        """The server is being asked for its models; with ``run`` one begins when it answers."""
        self.failures.forget_wait()
        self.prepared = None
        self.endpoint = replace(self.endpoint, problem="", waiting=run)
        self.waiting = run

    def change_session(self, session: SessionLike, label: str) -> None:
        """Leave the endpoint: another is being prepared. What it failed at stays in the history."""
        self.session = session
        if self._own is not None:
            self.form, self.failures = self._own
            self._own = None
        self.model = self.mark = ""
        self.endpoint = EndpointView(label=one_line(label, 60), key="", embedded=False)
        self.prepare_again(run=False)

    def play(self, mark: str, form: PromptForm) -> None:
        """A recorded run is going to be played: with its own form, in a tally of its own.

        Args:
            mark: What tells it from a live one.
            form: What was asked then.
        """
        if self._own is None:
            self._own = self.form, self.failures
        self.mark, self.form = mark, form
        self.failures = FailureLog(self.now, self.clock)
        self.waiting = True

    def opening_failed(self, sentence: str) -> None:
        """The endpoint cannot be used at all."""
        self.waiting = False
        self.endpoint = replace(
            self.endpoint, ready=False, problem=one_line(sentence), waiting=False
        )

    def choose_model(self, name: str) -> None:
        """Ask for another of the server's models from now on."""
        self.model = name
        note, key = self.endpoint.note, self.endpoint.key
        if self.prepared is not None and self.endpoint.embedded:
            note, key = engine_note(self.prepared, name), engine_key(name)
        self.endpoint = replace(self.endpoint, model=one_line(name, 60), note=note, key=key)

    # --- running --------------------------------------------------------------------------------

    @property
    def running(self) -> bool:
        """A request is on its way."""
        return self._run is not None

    def why_not(self) -> str:
        """Why a run cannot start now, one sentence; empty when it can."""
        if self.running:
            return tr("A stream is running: esc stops it.")
        if not self.form.prompt.strip():
            return tr("The prompt is empty: e edits it.")
        if self.session is None or self.prepared is None:
            return self.endpoint.problem or tr(
                "The endpoint is being prepared: the run begins then."
            )
        if not self.model:
            return tr("No model is chosen: M shows what the server offers.")
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
        self.failures.forget_wait()
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
        self._shown = self._run
        self._index += 1
        self._began = self._index
        return ""

    @property
    def latest(self) -> RunFigures | None:
        """The figures of the latest run that is done, of those begun with the last Enter."""
        return self._results[-1] if self._results else None

    def look_again(self) -> StreamState:
        """How the latest run stands, with what a chart asks for since the last frame."""
        run = self._run or self._shown
        if run is not None:
            gaps = run.gaps() if self.wants_gaps else None
            self._stream = replace(self._stream, gaps=gaps)
        return self._stream

    def stop(self) -> bool:
        """Stop the stream and the repeats to come; False where nothing runs."""
        self.waiting = False
        self.endpoint = replace(self.endpoint, waiting=False)
        if self._run is None:
            return False
        self._stopping = True
        self._run.stop()
        return True

    def hold(self) -> bool:
        """Hold a replay, or let it go on; False where nothing is replayed."""
        toggle = getattr(self.session, "toggle", None)
        if toggle is None:
            return False
        held = " held" if toggle() else ""
        self.endpoint = replace(self.endpoint, mark=f"{self.mark}{held}")
        return True

    def close(self) -> None:
        """Stop everything and end the session (and with it the engine's process)."""
        self.stop()
        if self.session is not None:
            self.session.close()
            self.session = None
        if self.history is not None:
            with suppress(Exception, CancelledError):  # what the end has cut off is kept as well
                if self._run is not None and not self.mark:
                    figures = self._run.result(0)
                    self.history.add(self._run, figures, self._index, self._repeats, self.prepared)
            self.history.close()

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
            text = self._backlog.take()
            counting = self.failures.count_down() or bool(self._backlog)
            return Frame(self._stream, self._live, text, counting=counting)
        done = run.done.is_set()  # before draining: what comes later is the next frame's
        began, self._began = self._began, 0
        if began == 1:
            self._backlog.clear()  # of the run before, whose text goes
        text = self._backlog.take(passages(run.drain()))
        moment = self.clock()
        if not (done or began) and moment - self._measured < self.figures_s:
            return Frame(self._stream, self._live, text, running=True)
        self._measured = moment
        self._measure(run)
        finished: tuple[RunFigures, ...] = ()
        if done:
            figures = self._finish(run)
            finished = (figures,) if figures is not None else ()
            if self._run is not None:  # the next one's text comes behind a mark
                text += self._backlog.take(most=inf)
        notes, self._notes = tuple(self._notes), []
        return Frame(
            self._stream,
            self._live,
            text,
            began,
            finished,
            self._run is not None,
            self.failures.count_down() or bool(self._backlog),
            notes,
        )

    def _measure(self, run: RunLike) -> None:
        """How the run stands now."""
        snapshot = run.snapshot()
        self._live = (snapshot.prompt_tokens or 0) + (snapshot.tokens or 0)
        asked = self._asked or self.form
        self._stream = StreamState(
            snapshot=snapshot,
            series=tuple((sample.tokens, sample.tps) for sample in run.samples(SERIES_POINTS)),
            gaps=run.gaps() if self.wants_gaps else None,
            max_tokens=asked.max_tokens,
            run=self._index,
            repeats=self._repeats,
            median=self._stream.median,
            kv_cache=asked.kv_cache,
            compared=self._compared(),
        )

    def _finish(self, run: RunLike) -> RunFigures | None:
        """Take over what a run came to, and begin the next repeat; None where it was lost."""
        try:
            figures = run.result(RESULT_S)
        except (Exception, CancelledError) as error:  # noqa: BLE001 - our mistake, not the user's
            self._lose(error)
            return None
        self._results.append(figures)
        if self.history is not None and not self.mark:  # what is played again is no new run
            self.history.add(run, figures, self._index, self._repeats, self.prepared)
        verdict = figures.verdict
        if self.endpoint.embedded and not is_demo(self._answering) and not self.mark:
            samples = run.samples(COURSE_POINTS)
            self._effect.add(self._answering, figures.prompt_tokens, samples, cached=self.kept)
        self._stream = replace(
            self._stream,
            compared=self._compared(),
            outcome="" if verdict.cls == "ok" else verdict.subcode,
            failed=verdict.is_failure,
            median=median_of(self._results) if self._repeats > 1 else None,
        )
        self._log(run, figures)
        self._run = None
        if self._index < self._repeats and not self._stopping and not verdict.is_failure:
            self._next()
        return figures

    def _lose(self, error: BaseException) -> None:
        """A run has no figures: kvtui itself went wrong."""
        self._run = None
        self.trouble = tr(
            "The request was lost: {name} {error}",
            name=type(error).__name__,
            error=one_line(str(error)),
        )
        self._stream = replace(
            self._stream, snapshot=replace(self._stream.snapshot, phase="failed"), failed=True
        )

    def _log(self, run: RunLike, figures: RunFigures) -> None:
        """What went wrong, and what was changed on the way, with no key in it."""
        key = self.prepared.endpoint.api_key if self.prepared is not None else None
        notes = [redact(note, key) for note in run.notes]
        hints = (*figures.hints, *(Hint("note", note) for note in notes))
        self.failures.last = (run.sent(), figures.evidence)
        self._notes += [note for note in notes if note not in self._said]
        self._said.update(notes)
        failure = Failure(
            "", figures.verdict, figures.evidence, self.model, figures=figures, sent=run.sent()
        )
        self.failures.record(failure, hints)

    def _compared(self) -> CacheCompared | None:
        """With and without the cache, of the model that answers; only our engine can do both."""
        return self._effect.of(self._answering) if self.endpoint.embedded else None

    def asked(self) -> tuple[Sent, Evidence | None] | None:
        """The request of the failure shown, else the latest one, else the one that Enter sends."""
        asked = self.failures.asked()
        if asked is not None or self.prepared is None:
            return asked
        request = self.build(self.prepared, self.model, self.form)
        return Sent(request.endpoint, request.endpoint.base_url, request), None
