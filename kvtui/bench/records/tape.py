"""One request's events in columns: small enough to keep of every request, exact enough to replay.

A tape is a table of plain values:

- ``ops``: a character an event: ``c r t f`` a delta of content, reasoning, tool call, refusal
  (capital: joined to the one before it), ``u`` a count that goes on from the last, ``.`` a chunk
  without a token, ``k`` a keep-alive, ``x`` the next of ``more``. Between them ``|`` begins a
  further read, ``/`` a further part of the same.
- ``us``: microseconds from the read before to each read, the first from the request's start.
- ``text``: what each delta says; without texts ``chars``, how long each was.
- ``tokens``: what each delta counts, where the wire counted any. ``counts``: by how much each ``u``
  grows.
- ``more``: every other event, ``is`` its kind, with what is not its default.
- ``per_chunk``: tokens a chunk was taken for before it was counted. ``cut``: events left out.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from typing import Any

import msgspec

from kvtui.failure import Evidence
from kvtui.measure.mask import Mask, MaskedStream
from kvtui.measure.meter import Kept
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
    Role,
    Sent,
    Timings,
    Usage,
)

MOST_CHARS = 8 << 20
"""Of the texts of one request; what comes later is cut off."""
_LETTERS: dict[DeltaKind, str] = {
    "content": "c",
    "reasoning": "r",
    "tool_call": "t",
    "refusal": "f",
}
_KINDS: dict[str, DeltaKind] = {letter: kind for kind, letter in _LETTERS.items()}
_OTHERS: dict[str, type[Any]] = {
    "connected": Connected,
    "sent": Sent,
    "headers": Headers,
    "delta": Delta,
    "replaced": Replaced,
    "usage": Usage,
    "timings": Timings,
    "progress": PromptProgress,
    "finish": Finish,
    "model": ModelName,
    "ended": Ended,
}
_NAMES = {cls: name for name, cls in _OTHERS.items()}
_BLANK = "·"
_NO_TEXT = ("content_tail", "body", "bad_event", "refusal")
"""Of the evidence, what may quote the answer."""


class TapeError(ValueError):
    """A tape that cannot be read."""


def pack(
    kept: Kept, secrets: Iterable[str] = (), *, text: bool = True, headers: bool = True
) -> dict[str, Any]:
    """The events of a request that has ended, as a tape.

    Args:
        kept: What its meter kept.
        secrets: The keys in use: no text has one in it.
        text: Whether to keep what was said, or only how long it was.
        headers: Whether to keep the response's.
    """
    packer = _Packer(kept.start, text=text, headers=headers)
    for batch in kept.batches:
        packer.batch(batch)
    return packer.tape(kept, Mask(secrets))


class _Packer:
    """The columns, as they grow."""

    def __init__(self, start: float, *, text: bool, headers: bool) -> None:
        self._start = start
        self._text = text
        self._headers = headers
        self._ops: list[str] = []
        self._us: list[int] = []
        self._pieces: list[str] = []
        self._kinds: list[DeltaKind] = []
        self._tokens: list[int | None] = []
        self._counts: list[int] = []
        self._more: list[dict[str, Any]] = []
        self._stamp: float | None = None
        self._at = 0
        self._usage: Usage | None = None
        self._chars = 0
        self._cut = 0

    def batch(self, events: Sequence[Event]) -> None:
        """Events that were fed together."""
        ops = self._ops
        if ops and events and events[0].t == self._stamp:
            ops.append("/")
        for event in events:
            if event.t != self._stamp:
                self._read(event.t)
            cls = type(event)
            if cls is Delta:
                assert isinstance(event, Delta)
                ops.append(self._delta(event))
            elif cls is Usage:
                assert isinstance(event, Usage)
                ops.append(self._count(event))
            elif cls is Role:
                ops.append(".")
            elif cls is KeepAlive:
                ops.append("k")
            else:
                ops.append("x")
                self._more.append(_other(event, text=self._text, headers=self._headers))

    def _read(self, t: float) -> None:
        if self._ops:
            self._ops.append("|")
        self._stamp = t
        now = round((t - self._start) * 1e6)
        self._us.append(now - self._at)
        self._at = now

    def _delta(self, event: Delta) -> str:
        self._chars += len(event.text)
        if self._chars > MOST_CHARS:
            self._cut += 1
            return "."
        if event.choice:
            self._more.append(_other(event, text=self._text))
            return "x"
        self._pieces.append(event.text)
        self._kinds.append(event.kind)
        self._tokens.append(event.tokens)
        letter = _LETTERS[event.kind]
        return letter.upper() if event.joined else letter

    def _count(self, event: Usage) -> str:
        grown = _growth(self._usage, event)
        self._usage = event
        if grown is None:
            self._more.append(_other(event))
            return "x"
        self._counts.append(grown)
        return "u"

    def tape(self, kept: Kept, mask: Mask) -> dict[str, Any]:
        """The table."""
        tape: dict[str, Any] = {"ops": "".join(self._ops), "us": self._us}
        if self._text:
            tape["text"] = _masked(self._pieces, self._kinds, mask)
        else:
            tape["chars"] = [len(piece) for piece in self._pieces]
        if any(number is not None for number in self._tokens):
            tape["tokens"] = self._tokens
        if self._counts:
            tape["counts"] = self._counts
        tape["more"] = self._more
        if kept.per_chunk is not None:
            tape["per_chunk"] = kept.per_chunk
        if self._cut or kept.cut:
            tape["cut"] = self._cut + kept.cut
        return tape


def _growth(before: Usage | None, usage: Usage) -> int | None:
    """By how much the count grew, where nothing else changed."""
    if before is None or usage.completion_tokens is None or before.completion_tokens is None:
        return None
    same = (
        usage.continuous == before.continuous
        and usage.prompt_tokens == before.prompt_tokens
        and usage.reasoning_tokens == before.reasoning_tokens
        and usage.cached_prompt_tokens == before.cached_prompt_tokens
    )
    return usage.completion_tokens - before.completion_tokens if same else None


def _masked(pieces: list[str], kinds: Sequence[DeltaKind], mask: Mask) -> list[str]:
    """The pieces without the keys, also without one that is cut over several of them."""
    if not mask:
        return pieces
    for kind in set(kinds):
        mine = [i for i, k in enumerate(kinds) if k == kind]
        whole = "".join(pieces[i] for i in mine)
        if mask.whole(whole) == whole:
            continue
        stream = MaskedStream(mask)
        for i in mine:
            pieces[i] = stream.feed(pieces[i])
        pieces[mine[-1]] += stream.flush()
    return pieces


def _other(event: Event, *, text: bool = True, headers: bool = True) -> dict[str, Any]:
    table = {"is": _NAMES[type(event)], **_changed(event)}
    table.pop("t", None)
    if isinstance(event, Ended):
        table["evidence"] = _evidence(event.evidence, text=text, headers=headers)
    elif not text and "text" in table:
        table["text"] = _BLANK * len(table["text"])
    return table


def _evidence(evidence: Evidence, *, text: bool, headers: bool) -> dict[str, Any]:
    table = _changed(evidence)
    table["key"] = _changed(evidence.key)
    table["exceptions"] = [_changed(link) for link in evidence.exceptions]
    if not headers:
        table.pop("headers", None)
    if not text:
        for name in _NO_TEXT:
            table.pop(name, None)
    return {name: value for name, value in table.items() if value not in ({}, [])}


def _changed(value: Any) -> dict[str, Any]:
    """The fields that are not at their default."""
    found = {}
    for name, usual in _fields(type(value)):  # type: ignore[arg-type] # a class is hashable
        item = getattr(value, name)
        if item is not usual and item != usual:
            found[name] = dict(item) if isinstance(item, Mapping) else item
    return found


@cache
def _fields(cls: Any) -> tuple[tuple[str, Any], ...]:
    """Name and default of each field; what has none differs from anything."""
    if issubclass(cls, msgspec.Struct):
        return tuple((f.name, f.default) for f in msgspec.structs.fields(cls))
    return tuple((f.name, f.default) for f in dataclasses.fields(cls))


def unpack(tape: Mapping[str, Any], start: float = 0.0) -> list[list[Event]]:
    """The events of a tape, as they were fed; their stamps count on from ``start``.

    Raises:
        TapeError: It is damaged.
    """
    try:
        return _reads(tape, start)
    except (KeyError, TypeError, ValueError, IndexError, AttributeError, StopIteration) as error:
        raise TapeError(f"the tape of a request is damaged ({error!r})") from None


def _reads(tape: Mapping[str, Any], start: float) -> list[list[Event]]:
    reads: list[list[Event]] = []
    texts = tape.get("text")
    pieces = iter(texts if texts is not None else [_BLANK * n for n in tape.get("chars", ())])
    tokens = iter(tape.get("tokens") or ())
    counts, more, us = iter(tape.get("counts") or ()), iter(tape["more"]), iter(tape["us"])
    at, usage = 0, None
    for part in re.findall(r"[|/]?[^|/]+", tape["ops"]):
        if part[0] != "/":
            at += next(us)
        t = start + at / 1e6
        events: list[Event] = []
        for op in part.lstrip("|/"):
            if (kind := _KINDS.get(op.lower())) is not None:
                number = next(tokens, None)
                events.append(Delta(t, kind, str(next(pieces)), number, 0, op.isupper()))
            elif op == "u":
                if usage is None:
                    raise TapeError("a count of a tape grows from none")
                count = (usage.completion_tokens or 0) + next(counts)
                usage = msgspec.structs.replace(usage, t=t, completion_tokens=count)
                events.append(usage)
            elif op in ".k":
                events.append(Role(t) if op == "." else KeepAlive(t))
            elif op == "x":
                table = next(more)
                event = msgspec.convert({**table, "t": t}, _OTHERS[table["is"]])
                if isinstance(event, Usage):
                    usage = event
                events.append(event)
            else:
                raise TapeError(f"the tape of a request has an unknown mark {op!r}")
        reads.append(events)
    return reads
