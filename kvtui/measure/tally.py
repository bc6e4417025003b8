"""What the events of one request add up to: stamps, counts, text; per token only a sum."""

from __future__ import annotations

from collections.abc import Sequence

from kvtui.measure.gaps import Gaps
from kvtui.measure.rate import RunningRate
from kvtui.stream.events import (
    Connected,
    Delta,
    DeltaKind,
    Ended,
    Event,
    Finish,
    Headers,
    KeepAlive,
    ModelName,
    PromptProgress,
    Replaced,
    Sent,
    Timings,
    Usage,
)

_COMPACT = 4096


class Text:
    """A text that grows by small pieces; kept as few large ones."""

    def __init__(self) -> None:
        self._parts: list[str] = []
        self._recent: list[str] = []
        self.append = self._recent.append

    def compact(self) -> None:
        """Join the pieces where there are many; call it now and then."""
        if len(self._recent) >= _COMPACT:
            self._parts.append("".join(self._recent))
            self._recent.clear()

    def set(self, text: str) -> None:
        """Begin again with ``text``."""
        self._parts = [text]
        self._recent.clear()

    def __str__(self) -> str:
        return "".join(self._parts) + "".join(self._recent)


class Tally:
    """Feed it batches of events, one batch a read. Times are ``perf_counter`` seconds."""

    def __init__(self) -> None:
        self.t_connected: float | None = None
        self.connect_s: float | None = None
        self.t_send: float | None = None
        self.t_headers: float | None = None
        self.t_body: float | None = None
        """The first event of the body, whatever it carries."""
        self.keep_alives = 0
        self.status: int | None = None
        self.server_ms: float | None = None
        self.t_first: float | None = None
        self.first_kind: DeltaKind | str | None = None
        self.t_answer: float | None = None
        """The first content."""
        self.t_last: float | None = None
        self.t_finish: float | None = None
        self.finish_alone = False
        """The finish came in a chunk of its own, after the last text."""
        self.finish_reason: str | None = None
        self.chunks = 0
        self.first_chunks = 0
        """Chunks that carry the stamp ``t_first``."""
        self.first_ids = 0
        self.first_usage: int | None = None
        self.ids = 0
        self.ids_missing = 0
        self.usage_final = 0
        self.usage_continuous = 0
        self.usage_seen = False
        self.reasoning_tokens: int | None = None
        self.prompt_tokens: int | None = None
        self.cached_prompt_tokens: int | None = None
        self.timings: Timings | None = None
        self.timings_live = False
        self.progress: PromptProgress | None = None
        self.model: str | None = None
        self.ended: Ended | None = None
        self.content = Text()
        self.reasoning = Text()
        self.had_reasoning = False
        # How text came off the wire, for telling a buffered stream.
        self.text_events = 0
        self.text_stamps = 0
        self.text_batches = 0
        self.batch_least = 0
        self.batch_most = 0
        self.t_text_first: float | None = None
        self.t_text_last: float | None = None
        self.gaps = Gaps()
        self.chunk_rate = RunningRate()
        self.token_rate = RunningRate()
        self.fresh: list[Delta | Replaced] | None = None
        """Deltas that nobody has drained yet, where somebody wants them."""
        self.reads: list[tuple[float, int]] | None = None
        """(stamp, chunks so far) of each read with tokens, where somebody wants them."""
        self.read_tokens: list[int] = []
        """Beside them the tokens so far, as the server counted; 0 where it does not tell."""

    def feed(self, events: Sequence[Event]) -> None:
        """Take the events of one read."""
        chunks = ids = text = 0
        grown = False
        stamp: float | None = None
        if self.t_body is None and self.t_headers is not None and events:
            self.t_body = events[0].t
        for event in events:
            kind = type(event)
            if kind is Delta:
                assert isinstance(event, Delta)
                if event.t != stamp:
                    if stamp is not None:
                        self._stamp(stamp, chunks, ids, text, grown)
                    chunks = ids = text = 0
                    grown = False
                    stamp = event.t
                if not event.joined:
                    chunks += 1
                self._delta(event)
                if event.tokens is None:
                    self.ids_missing += not event.joined
                else:
                    ids += event.tokens
                if event.kind == "content" or event.kind == "reasoning":
                    text += not event.joined
            elif kind is Usage:
                assert isinstance(event, Usage)
                if self._usage(event):
                    grown = True
                    stamp = event.t if stamp is None else stamp
            elif kind is Replaced:
                assert isinstance(event, Replaced)
                stamp = event.t if stamp is None else stamp
                if not event.joined:
                    chunks += 1
                    text += 1
                    self.ids_missing += 1
                (self.reasoning if event.kind == "reasoning" else self.content).set(event.text)
                if self.fresh is not None:
                    self.fresh.append(event)
            else:
                self._other(event, bool(chunks))
        if stamp is not None:
            self._stamp(stamp, chunks, ids, text, grown)
            self.content.compact()
            self.reasoning.compact()

    def _delta(self, event: Delta) -> None:
        kind = event.kind
        if self.t_first is None:
            self.t_first = event.t
            self.first_kind = kind
        if kind == "content":
            if self.t_answer is None:
                self.t_answer = event.t
            if event.choice == 0:
                self.content.append(event.text)
        elif kind == "reasoning":
            self.had_reasoning = True
            if event.choice == 0:
                self.reasoning.append(event.text)
        if self.fresh is not None:
            self.fresh.append(event)

    def _stamp(self, t: float, chunks: int, ids: int, text: int, grown: bool) -> None:
        """All tokens of one read are known: one entry for the rates and the gaps."""
        if self.t_first is None:
            self.t_first = t
            self.first_kind = "usage"
        if not chunks and grown:
            chunks = 1  # a chunk that shows its token only in the count
        if self.t_last is not None and t > self.t_last:
            self.gaps.add(t - self.t_last, chunks)
        self.chunks += chunks
        self.ids += ids
        if t == self.t_first:
            self.first_chunks += chunks
            self.first_ids += ids
            self.first_usage = self.usage_continuous or None
        self.t_last = t if self.t_last is None else max(t, self.t_last)
        self.chunk_rate.add(t, self.chunks)
        counted = self._counted()
        if counted:
            self.token_rate.add(t, counted)
        if self.reads is not None:
            self.reads.append((t, self.chunks))
            self.read_tokens.append(counted)
        if text:
            self._text_read(t, text)

    def _counted(self) -> int:
        """Tokens so far by the server's own running count; 0 where it keeps none."""
        if self.usage_continuous:
            return max(self.usage_continuous, self.usage_final)  # the last count ends the stream
        if self.timings_live and self.timings and self.timings.predicted_n:
            return self.timings.predicted_n
        return 0 if self.ids_missing else self.ids

    def _text_read(self, t: float, events: int) -> None:
        self.text_events += events
        self.text_stamps += t != self.t_text_last
        self.text_batches += 1
        self.batch_least = min(self.batch_least or events, events)
        self.batch_most = max(self.batch_most, events)
        if self.t_text_first is None:
            self.t_text_first = t
        self.t_text_last = t

    def _usage(self, event: Usage) -> bool:
        """Keep the counts; whether this one shows tokens that no text has shown."""
        self.usage_seen = True
        if event.prompt_tokens:
            self.prompt_tokens = event.prompt_tokens
        if event.cached_prompt_tokens is not None:
            self.cached_prompt_tokens = event.cached_prompt_tokens
        if event.reasoning_tokens is not None:
            self.reasoning_tokens = max(self.reasoning_tokens or 0, event.reasoning_tokens)
        count = event.completion_tokens or 0
        if not event.continuous:
            self.usage_final = max(self.usage_final, count)
            return False
        grown = count > self.usage_continuous
        self.usage_continuous = max(self.usage_continuous, count)
        return grown

    def _other(self, event: Event, with_text: bool) -> None:
        match event:
            case Finish():
                if event.reason or self.finish_reason is None:
                    self.finish_reason = event.reason
                if event.reason and self.t_finish is None:
                    self.t_finish = event.t
                    self.finish_alone = not with_text
            case Timings():
                self.timings_live = self.timings is not None or self.finish_reason is None
                self.timings = event
                if event.cache_n is not None and self.cached_prompt_tokens is None:
                    self.cached_prompt_tokens = event.cache_n
            case PromptProgress():
                self.progress = event
            case ModelName():
                self.model = event.model
            case Connected():
                self.t_connected = event.t
                if self.connect_s is None or not event.reused:
                    self.connect_s = event.connect_s
            case KeepAlive():
                self.keep_alives += 1
            case Sent():
                self.t_send = event.t
                self.t_headers = self.t_body = None
            case Headers():
                self.t_headers = event.t
                self.status = event.status
                self.server_ms = event.server_ms
            case Ended():
                self.ended = event
            case _:
                pass
