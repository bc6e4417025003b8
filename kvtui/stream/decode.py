"""One data payload → events: every shape of chunk that servers send, the common one fast."""

from __future__ import annotations

from collections import deque
from typing import Any

import msgspec

from kvtui.stream import shapes
from kvtui.stream.choices import Choices, Key
from kvtui.stream.events import (
    Delta,
    DeltaKind,
    Event,
    Finish,
    KeepAlive,
    ModelName,
    PromptProgress,
    Replaced,
    Role,
    Timings,
    Usage,
)
from kvtui.stream.repeats import Repeats
from kvtui.stream.think import ThinkTags

_TAIL = 80
_MOST_CATEGORIES = 100
_NAME = 1_000
"""Characters of a model's name and of a finish_reason: shown in every frame, and short."""


class _Delta(msgspec.Struct, gc=False):
    content: str | None = None
    reasoning_content: str | None = None
    reasoning: str | None = None
    refusal: Any = None
    tool_calls: Any = None
    function_call: Any = None


class _Choice(msgspec.Struct, gc=False):
    delta: _Delta
    index: int = 0
    finish_reason: Any = None
    token_ids: Any = None
    logprobs: Any = None


class _Chunk(msgspec.Struct, gc=False):
    """The common shape; whatever does not fit it takes the thorough way."""

    choices: list[_Choice]
    usage: dict[str, Any] | None = None
    model: str | None = None
    error: Any = None
    timings: Any = None
    prompt_progress: Any = None
    x_groq: Any = None


_decode_chunk = msgspec.json.Decoder(_Chunk).decode


class Decoder:
    """Turns payloads into events and keeps the counts that the evidence needs.

    ``decode`` handles a chunk of a stream, ``whole`` an answer that came in one piece.
    """

    def __init__(self) -> None:
        self.finish_reason: str | None = None
        self.error: Any = None
        """The first error object that came inside the stream."""
        self.model: str | None = None
        self.content_chars = 0
        self.reasoning_chars = 0
        self.text_chunks = 0
        self.tool_calls = 0
        self.refusal = ""
        self.cumulative = False
        self.filter_categories: list[str] = []
        self.completion_tokens: int | None = None
        self.prompt_tokens: int | None = None
        self.reasoning_tokens: int | None = None
        self._tail: deque[str] = deque(maxlen=_TAIL)
        self._think = ThinkTags()
        self._repeats: dict[str, Repeats] = {"content": Repeats(), "reasoning": Repeats()}
        self._settled = False  # no think tag and no repeating text to look for in the content
        self._surrogate: dict[str, str] = {}
        self.choices = Choices()

    @property
    def has_token(self) -> bool:
        """Whether anything came that is, or counts, a token."""
        seen = self.text_chunks or self.tool_calls or self.refusal or self.completion_tokens
        return bool(seen)

    @property
    def content_tail(self) -> str:
        """The last characters of the answer."""
        return "".join(self._tail)[-_TAIL:]

    def decode(self, payload: bytes, t: float, out: list[Event]) -> bool:
        """Append the events of one chunk; False where it is not JSON that could be one."""
        try:
            chunk = _decode_chunk(payload)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            return self.whole(payload, t, out)
        if len(chunk.choices) != 1:
            return self.whole(payload, t, out)
        choice = chunk.choices[0]
        delta = choice.delta
        text = delta.content
        thought = delta.reasoning_content or delta.reasoning
        if (
            bool(text) == bool(thought)  # both, or neither
            or choice.index != self.choices.shown
            or choice.finish_reason
            or choice.token_ids
            or choice.logprobs
            or delta.tool_calls
            or delta.function_call
            or delta.refusal
            or chunk.error
            or chunk.timings
            or chunk.prompt_progress
            or chunk.x_groq
            or (chunk.model != self.model and chunk.model)
        ):
            return self.whole(payload, t, out)
        self.choices.chosen = True
        if text:
            self.text_chunks += 1
            if self._settled:
                self.content_chars += len(text)
                self._tail.append(text)
                out.append(Delta(t, "content", text))
            else:
                self._content(text, t, None, False, out)
        else:
            assert thought is not None
            self.text_chunks += 1
            self._add("reasoning", thought, t, None, False, out)
        if chunk.usage is not None:
            self._usage(chunk.usage, t, True, out)
        return True

    def flush(self, out: list[Event]) -> None:
        """The end of the stream: let go of what was held back as a piece of a tag."""
        for at, kind, text in self._think.flush():
            self._add(kind, text, at, None, False, out)

    # --- the thorough way -------------------------------------------------------------------------

    def whole(self, payload: bytes, t: float, out: list[Event]) -> bool:
        """A chunk, or an answer that came whole, as a JSON object; False where it is none."""
        objects = shapes.objects(payload)
        if objects is None:
            return False
        for table in objects:
            self._object(table, t, out)
        return True

    def _object(self, table: dict[str, Any], t: float, out: list[Event]) -> None:
        before = len(out)
        if shapes.error_in(table) and self.error is None:
            self.error = table
        model = table.get("model")
        if isinstance(model, str) and model and model[:_NAME] != self.model:
            self.model = model[:_NAME]
            out.append(ModelName(t, self.model))
        progress = table.get("prompt_progress")
        if isinstance(progress, dict):
            total, done = shapes.count(progress.get("total")), progress.get("processed")
            if total:
                cached = shapes.count(progress.get("cache")) or 0
                out.append(PromptProgress(t, total, cached, shapes.count(done) or 0))
        choices = table.get("choices")
        choices = choices if isinstance(choices, list) else []
        self._filters(choices)
        texts = self.content_chars + self.reasoning_chars
        deltas = self._choices(choices, t, out)
        self.text_chunks += self.content_chars + self.reasoning_chars > texts
        timings = table.get("timings")
        if isinstance(timings, dict):
            out.append(
                Timings(
                    t,
                    shapes.count(timings.get("prompt_n")),
                    shapes.count(timings.get("predicted_n")),
                    shapes.number(timings.get("prompt_ms")),
                    shapes.number(timings.get("predicted_ms")),
                    shapes.count(timings.get("cache_n")),
                )
            )
        usage = table.get("usage")
        groq = table.get("x_groq")
        if not isinstance(usage, dict) and isinstance(groq, dict):
            usage = groq.get("usage")
            if groq.get("error") and self.error is None:
                self.error = {"error": groq["error"]}
        if not isinstance(usage, dict) and choices and isinstance(choices[0], dict):
            usage = choices[0].get("usage")  # Moonshot counts there
        if isinstance(usage, dict):
            self._usage(usage, t, bool(choices) and not self.finish_reason, out)
        if not deltas and len(out) == before:
            # A ping dressed as data is no life; a chunk with empty choices is.
            out.append(Role(t) if "choices" in table or self.error is table else KeepAlive(t))

    def _choices(self, choices: list[Any], t: float, out: list[Event]) -> int:
        """Append the deltas of all choices; returns how many there were."""
        first = len(out)
        tables = [choice for choice in choices if isinstance(choice, dict)]
        bodies = list(map(self._body, tables))
        keys = self.choices.keys(tables)
        if self.choices.speak(
            [key for key, body in zip(keys, bodies, strict=True) if shapes.speaks(body)]
        ):
            self._begin_again(t, out)
        for key, choice, body in zip(keys, tables, bodies, strict=True):
            number = self.choices.number(key)
            self._one(choice, body, number, t, first, out)
            reason = choice.get("finish_reason")
            if isinstance(reason, dict):
                reason = reason.get("type")
            if isinstance(reason, str) and self._ends(key, number, reason):
                self.finish_reason = reason[:_NAME]
                out.append(Finish(t, self.finish_reason))
        return sum(isinstance(event, Delta) for event in out[first:])

    def _ends(self, key: Key, number: int, reason: str) -> bool:
        """Whether a choice's reason is why the answer that is shown ended.

        One that never spoke says so only as long as the shown one does not: a gateway may number
        a text and its end differently, but an answer that was filtered away is another one.
        """
        if self.finish_reason is None:
            return number == 0
        return key == self.choices.shown and bool(reason)

    def _begin_again(self, t: float, out: list[Event]) -> None:
        """Another answer is shown from now on: what was shown goes."""
        kinds: tuple[tuple[DeltaKind, int], ...] = (
            ("content", self.content_chars),
            ("reasoning", self.reasoning_chars),
        )
        out += [Replaced(t, kind, "", joined=True) for kind, characters in kinds if characters]
        self.content_chars = self.reasoning_chars = self.tool_calls = 0
        self.refusal = ""
        self.finish_reason = None
        self._tail.clear()
        self._think = ThinkTags()
        self._repeats = {"content": Repeats(), "reasoning": Repeats()}
        self._settled = False
        self._surrogate.clear()

    def _body(self, choice: dict[str, Any]) -> dict[str, Any]:
        """The delta of a choice, or what stands in its place."""
        body = choice.get("delta")
        return body if isinstance(body, dict) and body else self._message(choice)

    def _message(self, choice: dict[str, Any]) -> dict[str, Any]:
        """The message or text of a choice without a delta, unless it repeats what was streamed."""
        if self.content_chars or self.reasoning_chars or self.tool_calls or self.refusal:
            text = choice.get("text")  # the completions dialect streams this
            return {"content": text} if isinstance(text, str) and "message" not in choice else {}
        message = choice.get("message")
        if isinstance(message, dict):
            return message
        return {"content": choice.get("text")}

    def _one(
        self,
        choice: dict[str, Any],
        delta: dict[str, Any],
        index: int,
        t: float,
        first: int,
        out: list[Event],
    ) -> None:
        answer, thought = shapes.content_parts(delta.get("content"))
        thought = shapes.reasoning_text(delta) or thought
        tokens = shapes.wire_tokens(choice)
        if index != 0:
            kind: DeltaKind = "content" if answer else "reasoning"
            if answer or thought:
                joined = _joined(out, first)
                out.append(Delta(t, kind, answer or thought, tokens, index, joined))
            return
        if thought:
            thought = self._pairs("reasoning", thought)
            self._add("reasoning", thought, t, tokens, _joined(out, first), out)
            tokens = None
        if answer:
            answer = self._pairs("content", answer)
            self._content(answer, t, tokens, _joined(out, first), out)
            tokens = None
        refusal = delta.get("refusal")
        if isinstance(refusal, str) and refusal:
            if len(self.refusal) < 2000:
                self.refusal += refusal
            out.append(Delta(t, "refusal", refusal, tokens, 0, _joined(out, first)))
        if (calls := shapes.tool_call_texts(delta)) is not None:
            self.tool_calls += calls[0] or (self.tool_calls == 0)
            out.append(Delta(t, "tool_call", calls[1], tokens, 0, _joined(out, first)))

    def _filters(self, choices: list[Any]) -> None:
        for choice in choices:
            if isinstance(choice, dict):
                results = choice.get("content_filter_results")
                self.filter_categories += shapes.filtered_categories(results)
        del self.filter_categories[_MOST_CATEGORIES:]

    # --- text -------------------------------------------------------------------------------------

    def _content(
        self, text: str, t: float, tokens: int | None, joined: bool, out: list[Event]
    ) -> None:
        """Content that may still open with a think tag or turn out to be repeated text."""
        for at, kind, piece in self._think.feed(t, text):
            self._add(kind, piece, at, tokens, joined, out)
            tokens, joined = None, at == t
        self._settled = self._think.plain and self._repeats["content"].settled

    def _add(
        self,
        kind: DeltaKind,
        text: str,
        t: float,
        tokens: int | None,
        joined: bool,
        out: list[Event],
    ) -> None:
        repeats = self._repeats[kind]
        if not repeats.settled or repeats.found:
            verdict = repeats.see(text)
            if verdict is not None:
                self.cumulative = True
                change = len(verdict) - repeats.length
                repeats.length = len(verdict)
                self._count(kind, change, verdict)
                out.append(Replaced(t, kind, verdict, joined))
                return
            if repeats.found:
                text = repeats.new(text)
        self._count(kind, len(text), text)
        repeats.length += len(text)
        out.append(Delta(t, kind, text, tokens, 0, joined))

    def _count(self, kind: DeltaKind, characters: int, text: str) -> None:
        if kind == "reasoning":
            self.reasoning_chars += characters
        else:
            self.content_chars += characters
            self._tail.append(text)

    def _pairs(self, kind: str, text: str) -> str:
        """Surrogates cut apart by the server joined again, lone ones replaced."""
        text = self._surrogate.pop(kind, "") + text
        if text.isascii():
            return text
        if "\ud800" <= text[-1] <= "\udbff":
            self._surrogate[kind] = text[-1]
            text = text[:-1]
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")

    # --- counts -----------------------------------------------------------------------------------

    def _usage(self, usage: dict[str, Any], t: float, continuous: bool, out: list[Event]) -> None:
        counts = shapes.usage_counts(usage)
        if counts.completion:
            self.completion_tokens = max(self.completion_tokens or 0, counts.completion)
        self.prompt_tokens = counts.prompt or self.prompt_tokens
        if counts.reasoning is not None:
            self.reasoning_tokens = max(self.reasoning_tokens or 0, counts.reasoning)
        out.append(
            Usage(t, counts.prompt, counts.completion, counts.reasoning, counts.cached, continuous)
        )


def _joined(out: list[Event], first: int) -> bool:
    return any(isinstance(event, Delta) for event in out[first:])
