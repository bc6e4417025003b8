"""Events of one request in, figures out: live for the screen, final for the record.

``feed`` runs on the thread that reads the wire; everything else may be called from any thread.
"""

from __future__ import annotations

import threading
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from time import perf_counter

from kvtui.failure import Evidence, Verdict
from kvtui.measure.conclude import conclude, count_tokens, first_tokens
from kvtui.measure.figures import LivePhase, RunFigures, Snapshot, TokenSource
from kvtui.measure.gaps import Gaps
from kvtui.measure.mask import Mask, MaskedStream
from kvtui.measure.rate import RunningRate, Sample
from kvtui.measure.tally import Tally
from kvtui.stream.events import Delta, DeltaKind, Ended, Event


@dataclass(frozen=True, slots=True)
class Piece:
    """Text since the last look. ``replaces`` means: the text of this kind so far is ``text``."""

    kind: DeltaKind
    text: str
    t: float
    """Seconds after the first token."""
    gap_s: float
    """After the piece before it; 0.0 within one read."""
    tokens: int | None = None
    replaces: bool = False


@dataclass(frozen=True, slots=True)
class Stamps:
    """When a request's parts happened, in ``perf_counter`` seconds; None: not (yet)."""

    start: float
    send: float | None
    first: float | None
    last: float | None
    end: float | None
    reads: tuple[tuple[float, int], ...] = ()
    """(stamp, chunks so far), where they were asked for."""
    read_tokens: tuple[int, ...] = ()
    """Beside them the tokens so far, where the server counts them as it goes."""
    headers: float | None = None
    body: float | None = None
    """The first event of the body, whatever it carried."""
    keep_alives: int = 0
    longest_gap_s: float | None = None
    """Between two reads with tokens."""


@dataclass(frozen=True, slots=True)
class Kept:
    """A request's events, as they came: what its record is made from."""

    start: float
    """``perf_counter`` when it was started."""
    per_chunk: float | None
    batches: Sequence[Sequence[Event]]
    """As they were fed: several may come out of one read, with one stamp."""
    cut: int = 0
    """Events that were too many to keep."""


MOST_KEPT = 200_000
"""Events kept of one request."""


def _no_lag(_: float, __: float) -> float:
    return 0.0


class Meter:
    """Measures one request.

    Args:
        per_chunk: Tokens a chunk of this endpoint carried in an earlier run; None: unknown, one.
        lag: Largest lag of the reading loop between two times, in seconds.
        clock: Monotonic seconds, the clock of the events.
        keep_pieces: Whether ``drain`` will be called: without it no text waits for anybody.
        keep_reads: Whether ``stamps`` shall tell when each read with tokens came.
        keep_events: Whether ``kept`` will be called.
        started_at: When the request began (UTC, ISO 8601), where that is not now.
        secrets: The keys in use: no text that leaves the meter has one in it.
    """

    def __init__(
        self,
        *,
        per_chunk: float | None = None,
        lag: Callable[[float, float], float] = _no_lag,
        clock: Callable[[], float] = perf_counter,
        keep_pieces: bool = False,
        keep_reads: bool = False,
        keep_events: bool = False,
        started_at: str | None = None,
        secrets: Iterable[str] = (),
    ) -> None:
        self._lock = threading.Lock()
        self._tally = Tally()
        self._per_chunk = per_chunk
        self._lag = lag
        self._clock = clock
        self._start = clock()
        self._started_at = started_at or datetime.now(UTC).isoformat(timespec="milliseconds")
        self._figures: RunFigures | None = None
        self._last_piece = 0.0
        self._mask = Mask(secrets)
        # Nothing here points back at the meter: a thousand that wait for a collection are 5 MB.
        self._masked: defaultdict[DeltaKind, MaskedStream] = defaultdict(
            partial(MaskedStream, self._mask)
        )
        if keep_pieces:
            self._tally.fresh = []
        if keep_reads:
            self._tally.reads = []
        self._kept: list[tuple[Event, ...]] | None = [] if keep_events else None
        self._room = MOST_KEPT
        self._cut = 0

    def feed(self, events: Sequence[Event]) -> None:
        """Take the events of one read."""
        if self._mask:
            events = self._mask.huge(events)
        with self._lock:
            self._tally.feed(events)
            if self._kept is not None:
                self._keep(self._kept, events)

    def _keep(self, kept: list[tuple[Event, ...]], events: Sequence[Event]) -> None:
        self._room -= len(events)
        if self._room >= 0 or type(events[-1]) is Ended:
            kept.append(tuple(events))  # a tuple of these is nothing that the collector walks
        else:
            self._cut += len(events)

    def conclude(self, classify: Callable[[Evidence], Verdict]) -> RunFigures:
        """The figures once ``Ended`` came; the snapshot shows them from then on."""
        figures = conclude(  # not locked: nothing is fed any more, and a huge text takes its time
            self._tally,
            started_at=self._started_at,
            per_chunk=self._per_chunk,
            lag=self._lag,
            classify=classify,
            mask=self._mask,
        )
        with self._lock:
            self._figures = figures
        return figures

    def drain(self) -> list[Piece]:
        """The text that came since the last call (needs ``keep_pieces``)."""
        with self._lock:
            fresh = self._tally.fresh or []
            ended = self._figures is not None
            if not fresh and not (ended and self._masked):
                return []
            self._tally.fresh = []
            first = self._tally.t_first or (fresh[0].t if fresh else 0.0)
        last = self._last_piece or first
        pieces: list[Piece] = []
        for event in fresh:
            gap = max(0.0, event.t - last)
            last = event.t
            if isinstance(event, Delta):
                text = event.text if event.choice == 0 else ""
                if text and self._mask:
                    text = self._masked[event.kind].feed(text)
                if text:
                    pieces.append(Piece(event.kind, text, last - first, gap, event.tokens))
            else:
                text = event.text
                if self._mask:
                    stream = self._masked[event.kind]
                    stream.flush()
                    text = stream.feed(text)
                pieces.append(Piece(event.kind, text, last - first, gap, replaces=True))
        if ended:
            for kind, stream in self._masked.items():
                if text := stream.flush():
                    pieces.append(Piece(kind, text, last - first, 0.0))
            self._masked.clear()
        self._last_piece = last
        return pieces

    def series(self, points: int) -> list[Sample]:
        """The running rate over the run, at most ``points`` samples, oldest first."""
        with self._lock:
            rate, scale, _ = self._rate()
            samples = rate.series(points)
        if scale == 1.0:
            return samples
        return [Sample(s.t, s.tokens * scale, s.tps * scale) for s in samples]

    def gaps(self) -> Gaps:
        """The gaps between chunks so far."""
        with self._lock:
            return self._tally.gaps.copy()

    def add_gaps(self, total: Gaps) -> None:
        """Count the gaps between this request's chunks in a total of many."""
        with self._lock:
            total.merge(self._tally.gaps)

    def stamps(self) -> Stamps:
        """When the request's parts happened."""
        with self._lock:
            tally = self._tally
            return Stamps(
                self._start,
                tally.t_send,
                tally.t_first,
                tally.t_last,
                tally.ended.t if tally.ended is not None else None,
                tuple(tally.reads or ()),
                tuple(tally.read_tokens) if any(tally.read_tokens) else (),
                tally.t_headers,
                tally.t_body,
                tally.keep_alives,
                tally.gaps.longest if tally.gaps.n else None,
            )

    def kept(self) -> Kept | None:
        """The events so far; None where they were not to be kept. Its list grows on."""
        if self._kept is None:
            return None
        return Kept(self._start, self._per_chunk, self._kept, self._cut)

    def follow(self) -> None:
        """Keep the text for ``drain`` from now on; what came before is its first piece."""
        with self._lock:
            tally = self._tally
            if tally.fresh is not None:
                return
            t = tally.t_last or self._clock()
            texts: tuple[tuple[DeltaKind, str], ...] = (
                ("reasoning", str(tally.reasoning)),
                ("content", str(tally.content)),
            )
            tally.fresh = [Delta(t, kind, text) for kind, text in texts if text]

    def glance(self) -> tuple[LivePhase, int]:
        """Phase and tokens so far: what a lane of many shows, cheaper than a snapshot."""
        with self._lock:
            return self._phase(), self._tokens_now()[0] or 0

    def flows(self, seconds: float) -> bool:
        """Tokens have come for at least so long."""
        first = self._tally.t_first
        return first is not None and self._clock() - first >= seconds

    def snapshot(self) -> Snapshot:
        """The state now."""
        with self._lock:
            return self._final() if self._figures is not None else self._live(self._clock())

    # --- live -------------------------------------------------------------------------------------

    def _rate(self) -> tuple[RunningRate, float, bool]:
        """The rate to show, tokens per unit of it, and whether those are an estimate."""
        tally = self._tally
        figures = self._figures
        if figures is not None and figures.completion_tokens and tally.chunks:
            return tally.chunk_rate, figures.completion_tokens / tally.chunks, False
        if tally.token_rate.at(tally.t_last or 0.0) is not None:
            return tally.token_rate, 1.0, False
        return tally.chunk_rate, self._per_chunk or 1.0, True

    def _phase(self) -> LivePhase:
        tally = self._tally
        if self._figures is not None:
            if self._figures.stopped:
                return "stopped"
            return "failed" if self._figures.verdict.is_failure else "done"
        if tally.t_first is not None:
            return "decode"
        if tally.t_send is not None:
            return "prefill"
        return "sending" if tally.t_connected is not None else "connecting"

    def _live(self, now: float) -> Snapshot:
        tally = self._tally
        first, send = tally.t_first, tally.t_send
        rate, scale, estimated = self._rate()
        running = rate.at(now)
        tokens, source = self._tokens_now()
        ttft = (first - send) * 1000 if first is not None and send is not None else None
        waiting = (now - send) * 1000 if send is not None else None
        tpot = None
        if first is not None and tokens and tally.t_last is not None and tally.t_last > first:
            beyond = tokens - first_tokens(tally, tokens)
            tpot = (tally.t_last - first) * 1000 / beyond if beyond > 0 else None
        progress = tally.progress
        p50, p99 = tally.gaps.percentile(0.5), tally.gaps.percentile(0.99)
        return Snapshot(
            phase=self._phase(),
            elapsed_s=now - self._start,
            connect_ms=None if tally.connect_s is None else tally.connect_s * 1000,
            prefill_ms=ttft if ttft is not None else waiting,
            decode_s=None if first is None else now - first,
            prefill_done=progress.processed if progress else None,
            prefill_total=progress.total if progress else None,
            running_tps=None if running is None else running * scale,
            running_tps_estimated=running is not None and estimated,
            ttft_ms=ttft,
            ttfa_ms=self._ttfa(),
            tpot_ms=tpot,
            decode_tps=1000 / tpot if tpot else None,
            itl_p50_ms=None if p50 is None else p50 * 1000,
            itl_p99_ms=None if p99 is None else p99 * 1000,
            tokens_per_chunk=tokens / tally.chunks
            if tokens and tally.chunks and source != "estimate"
            else None,
            prompt_tokens=tally.prompt_tokens,
            cached_prompt_tokens=tally.cached_prompt_tokens,
            tokens=tokens,
            token_source=source,
            chunks=tally.chunks,
            finish_reason=tally.finish_reason and self._mask.whole(tally.finish_reason),
            loop_lag_ms=self._lag(self._start, now) * 1000,
        )

    def _ttfa(self) -> float | None:
        answer, send = self._tally.t_answer, self._tally.t_send
        return (answer - send) * 1000 if answer is not None and send is not None else None

    def _tokens_now(self) -> tuple[int | None, TokenSource]:
        tally = self._tally
        if not tally.chunks:
            return None, "none"
        tokens, source = count_tokens(tally, self._per_chunk or 1.0)
        return tokens, source

    def _final(self) -> Snapshot:
        figures, tally = self._figures, self._tally
        assert figures is not None
        first, last = tally.t_first, tally.t_last
        end = tally.ended.t if tally.ended else self._start
        tokens = figures.completion_tokens
        return Snapshot(
            phase=self._phase(),
            elapsed_s=end - self._start,
            connect_ms=figures.connect_ms,
            prefill_ms=figures.ttft_ms,
            decode_s=last - first if first is not None and last is not None else None,
            running_tps=figures.decode_tps,
            running_tps_estimated=figures.token_source == "estimate",
            ttft_ms=figures.ttft_ms,
            ttfa_ms=figures.ttfa_ms,
            tpot_ms=figures.tpot_ms,
            decode_tps=figures.decode_tps,
            itl_p50_ms=figures.itl_p50_ms,
            itl_p99_ms=figures.itl_p99_ms,
            tokens_per_chunk=figures.tokens_per_chunk,
            prompt_tokens=figures.prompt_tokens,
            cached_prompt_tokens=figures.cached_prompt_tokens,
            tokens=figures.estimated_tokens if tokens is None else tokens,
            token_source=figures.token_source,
            chunks=figures.chunks,
            finish_reason=figures.finish_reason,
            partial=figures.partial,
            loop_lag_ms=figures.loop_lag_ms,
        )
