"""How a stream arrives: chunks and their tokens, reads, gaps and stalls, keep-alives, first bytes.

A chunk is a data event with tokens; a read is what came off the socket at once, with one stamp.
What lies behind a pattern is named only where the pattern tells it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from statistics import median

from kvtui.bench.figures.finding import Finding
from kvtui.bench.figures.levels import Level
from kvtui.bench.figures.quantiles import Figure, figure
from kvtui.bench.figures.sample import Sample
from kvtui.bench.figures.summary import kind_of
from kvtui.bench.work.labels import label_shown
from kvtui.bench.work.workload import Workload
from kvtui.language import counted, later, tr
from kvtui.text import milliseconds

STALL_TIMES = 10
"""A gap of so many median gaps is a stall,"""
STALL_MS = 50
"""if it is this long too."""
_TOGETHER_MS = 1.0
"""What comes within this came with the same bytes."""
_MOSTLY = 0.9
_WHOLE = frozenset({"buffered_transport", "single_chunk", "not_streamed"})
"""Subcodes and hints of answers that did not come as a stream."""


@dataclass(slots=True)
class Arrivals:
    """What the reads of some requests add up to."""

    gaps_ms: list[float] = field(default_factory=list)
    """Between two reads with tokens."""
    places: list[int] = field(default_factory=list)
    """The chunk before which each gap lies."""
    per_read: Counter[int] = field(default_factory=Counter)
    """Chunks of a read → how many reads."""
    per_chunk: Counter[int] = field(default_factory=Counter)
    """Tokens of a chunk → how many chunks; of reads whose tokens the server counted."""

    def add(self, sample: Sample) -> None:
        """One request that kept its reads."""
        before, tokens_before, at = 0, 0, 0.0
        counts = sample.read_tokens or (0,) * len(sample.reads)
        for number, ((ms, chunks), tokens) in enumerate(zip(sample.reads, counts, strict=False)):
            new = chunks - before
            if number:
                self.gaps_ms.append(ms - at)
                self.places.append(before)
            if new:
                self.per_read[new] += 1
            if new and tokens > tokens_before:
                each, more = divmod(tokens - tokens_before, new)
                self.per_chunk[each] += new - more
                if more:
                    self.per_chunk[each + 1] += more
            before, tokens_before, at = chunks, tokens, ms

    @property
    def stalls(self) -> list[tuple[float, int]]:
        """(ms, chunk before which it lies) of each stall."""
        if not self.gaps_ms:
            return []
        limit = max(STALL_MS, STALL_TIMES * median(self.gaps_ms))
        return [pair for pair in zip(self.gaps_ms, self.places, strict=True) if pair[0] >= limit]


def quality(
    workload: Workload, levels: Sequence[Level], samples: Sequence[Sample]
) -> list[Finding]:
    """What each level's streams show."""
    found: list[Finding] = []
    several = len(levels) > 1
    groups: dict[str, list[Sample]] = {}
    for sample in samples:
        if sample.completed:
            label = kind_of(workload.stages[sample.stage]).label
            groups.setdefault(label, []).append(sample)
    for label, done in groups.items():
        begin = label_shown(label) + tr(": ") if several else ""
        found += _of_level(begin, done)
    return found


def _of_level(begin: str, done: Sequence[Sample]) -> Iterator[Finding]:
    arrivals = Arrivals()
    for sample in done:
        arrivals.add(sample)
    yield _tokens(begin, arrivals, done)
    yield _reads(begin, arrivals, done)
    if arrivals.gaps_ms:
        yield _gaps(begin, arrivals, done)
    yield _first(begin, done)
    yield _alive(begin, done)


def _tokens(begin: str, arrivals: Arrivals, done: Sequence[Sample]) -> Finding:
    """Tokens of a chunk: one by one, always as many, or now more and now fewer."""
    counts = arrivals.per_chunk
    if not counts:
        known = [s.tokens_per_chunk for s in done if s.tokens_per_chunk]
        if not known:
            text = tr("how many tokens a chunk carries is unknown: the server counted none.")
            return Finding("tokens_per_chunk", begin + text, None)
        mean = median(known)
        text = tr(
            "{mean:.2f} tokens a chunk over whole answers; the server does not count as it goes,"
            " so how they spread over the chunks is unknown.",
            mean=mean,
        )
        holds = True if 0.95 <= mean <= 1.05 else None
        return Finding("tokens_per_chunk", begin + text, holds, {"mean": mean})
    chunks = sum(counts.values())
    mean = sum(size * n for size, n in counts.items()) / chunks
    common, times = counts.most_common(1)[0]
    figures = {
        "mean": mean,
        "counts": {str(size): n for size, n in sorted(counts.items())},
        "chunks": chunks,
    }
    if common == 1 and times >= 0.99 * chunks:
        text = tr("one token a chunk ({n} of {chunks} chunks).", n=times, chunks=chunks)
        return Finding("tokens_per_chunk", begin + text, True, figures)
    if times >= _MOSTLY * chunks:
        text = tr(
            "{tokens} tokens a chunk in {n} of {chunks} chunks: tokens are gathered before they are"
            " sent, so the time between chunks is no time per token.",
            tokens=common,
            n=times,
            chunks=chunks,
        )
    else:
        text = tr(
            "{least} to {most} tokens a chunk, {mean:.2f} on average, now more and now fewer: as"
            " speculative decoding sends them, or a server that sends at set times. The time"
            " between chunks is no time per token.",
            least=min(counts),
            most=max(counts),
            mean=mean,
        )
    return Finding("tokens_per_chunk", begin + text, False, figures)


def _reads(begin: str, arrivals: Arrivals, done: Sequence[Sample]) -> Finding:
    """Whether chunks arrive one by one, together, or all at once."""
    whole = sum(bool(_WHOLE & {s.subcode, *s.hints}) for s in done)
    counts = arrivals.per_read
    reads = sum(counts.values())
    figures = {"counts": {str(size): n for size, n in sorted(counts.items())}, "buffered": whole}
    if whole:
        text = tr(
            "{n} of {all} answers came whole or in bursts: something holds them back.",
            n=whole,
            all=len(done),
        )
        return Finding("buffering", begin + text, False, figures)
    if not reads:
        return Finding("buffering", begin + tr("no reads were kept."), None, figures)
    late = max((s.loop_lag_ms or 0.0 for s in done), default=0.0)
    alone = counts[1] / reads
    if alone >= _MOSTLY:
        text = tr(
            "chunks arrive one by one ({share:.0f} % of {reads} reads).",
            share=100 * alone,
            reads=reads,
        )
        return Finding("buffering", begin + text, True, figures)
    mean = sum(size * n for size, n in counts.items()) / reads
    gap = median(arrivals.gaps_ms) if arrivals.gaps_ms else 0.0
    if late > gap:
        text = tr(
            "{mean:.1f} chunks arrive together on average, in {reads} reads; this client was up to"
            " {late} late, which may be why.",
            mean=mean,
            reads=reads,
            late=milliseconds(late),
        )
        return Finding("buffering", begin + text, None, figures)
    text = tr(
        "{mean:.1f} chunks arrive together on average, in {reads} reads: they are gathered on the"
        " way (a proxy, or writes that the server joins).",
        mean=mean,
        reads=reads,
    )
    return Finding("buffering", begin + text, False, figures)


def _gaps(begin: str, arrivals: Arrivals, done: Sequence[Sample]) -> Finding:
    spread = figure(arrivals.gaps_ms)
    assert spread is not None
    stalls = arrivals.stalls
    late = max((s.loop_lag_ms or 0.0 for s in done), default=0.0)
    figures = {**_short(spread), "stalls": len(stalls), "loop_lag_ms_max": late}
    between = tr(
        "between reads p50 {p50}, p99 {p99}, at most {most} (n = {n})",
        p50=milliseconds(spread.p50),
        p99=milliseconds(spread.p99),
        most=milliseconds(spread.max),
        n=spread.n,
    )
    limit = max(STALL_MS, STALL_TIMES * spread.p50)
    figures["stall_ms"] = limit
    if not stalls:
        text = tr(
            "{between}; no stall (none of {limit} or more).",
            between=between,
            limit=milliseconds(limit),
        )
        return Finding("gaps", begin + text, True, figures)
    longest, place = max(stalls)
    figures["longest_ms"], figures["longest_before_chunk"] = longest, place
    told = tr(
        "{between}; {stalls} of {limit} or more, the longest before chunk {place}",
        between=between,
        stalls=counted(len(stalls), later("{n} stall"), later("{n} stalls")),
        limit=milliseconds(limit),
        place=place + 1,
    )
    if late >= longest / 2:
        text = tr(
            "{told}; this client itself was up to {late} late.", told=told, late=milliseconds(late)
        )
        return Finding("gaps", begin + text, None, figures)
    return Finding("gaps", begin + tr("{told}.", told=told), False, figures)


def _first(begin: str, done: Sequence[Sample]) -> Finding:
    """The response's head, the first event and the first token."""
    timed = [s for s in done if s.ttft_ms is not None]  # of the same answers, all three
    head = figure(s.headers_ms for s in timed)
    event = figure(s.first_event_ms for s in timed)
    token = figure(s.ttft_ms for s in timed)
    if head is None or event is None or token is None:
        text = tr("no first token has an honest time here.")
        return Finding("first_byte", begin + text, None)
    figures = {
        "headers_ms": head.p50,
        "first_event_ms": event.p50,
        "ttft_ms": token.p50,
        "n": token.n,
    }
    early = median(
        s.ttft_ms - s.headers_ms for s in done if s.ttft_ms is not None and s.headers_ms is not None
    )
    figures["headers_before_token_ms"] = early
    told = tr(
        "first byte after {head}, first token after {token}",
        head=milliseconds(head.p50),
        token=milliseconds(token.p50),
    )
    if early < _TOGETHER_MS:
        text = tr("{told}: the head comes with the first token.", told=told)
    elif token.p50 - event.p50 >= _TOGETHER_MS:
        text = tr(
            "{told}, and an event without a token after {event}: a client that takes the first"
            " chunk for the first token reads {less} too little.",
            told=told,
            event=milliseconds(event.p50),
            less=milliseconds(token.p50 - event.p50),
        )
    else:
        text = tr(
            "{told}: the head is sent before the answer is begun, so time to first byte is no"
            " TTFT.",
            told=told,
        )
    return Finding("first_byte", begin + text, None, figures)


def _alive(begin: str, done: Sequence[Sample]) -> Finding:
    count = sum(s.keep_alives for s in done)
    figures = {"keep_alives": count, "requests": len(done)}
    if not count:
        text = tr("no keep-alives among the events.")
        return Finding("keep_alives", begin + text, None, figures)
    text = tr(
        "{n} keep-alives in {all} answers: bytes that are no sign of a token.",
        n=count,
        all=len(done),
    )
    return Finding("keep_alives", begin + text, None, figures)


def _short(spread: Figure) -> dict[str, float]:
    names = ("p50", "p90", "p99", "max", "mean", "n")
    return {f"{name}_ms" if name != "n" else name: getattr(spread, name) for name in names}
