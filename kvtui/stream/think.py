"""``<think>`` tags inside the answer: what models put there is reasoning, not answer."""

from __future__ import annotations

from typing import Literal, TypeAlias

Piece: TypeAlias = tuple[float, Literal["content", "reasoning"], str]

_OPEN = {"<think>": "</think>", "<thinking>": "</thinking>", "<thought>": "</thought>"}
_LONGEST = max(map(len, _OPEN))


class ThinkTags:
    """Splits the content of one answer at a leading think block; tags may be cut anywhere.

    A tag counts only where it opens the answer (white space aside): in the middle it is text that
    the model writes about. A piece of a tag is held until it is clear what it is. Each chunk that
    went in comes out as at least one piece with the time at which it came, an empty piece of
    reasoning where all of it was tag, because its token arrived then.
    """

    __slots__ = ("_close", "_held", "_times", "plain")

    def __init__(self) -> None:
        self._close = ""
        self._held = ""
        self._times: list[float] = []  # of the chunks that are held whole
        self.plain = False
        """True when nothing is left to decide: the rest is content as it stands."""

    def feed(self, t: float, text: str) -> list[Piece]:
        """The pieces that ``text``, which came at ``t``, settles."""
        if self.plain:
            return [(t, "content", text)]
        whole = self._held + text
        if self._close:
            return self._inside(t, whole)
        seen = whole.lstrip()
        for tag, close in _OPEN.items():
            if seen.startswith(tag):
                self._close = close
                return self._inside(t, seen[len(tag) :])
        if len(seen) < _LONGEST and any(tag.startswith(seen) for tag in _OPEN):
            self._held = whole
            self._times.append(t)
            return []
        self.plain = True
        return self._release("content", t, whole)

    def flush(self) -> list[Piece]:
        """What was still held when the answer ended."""
        if not self._held and not self._times:
            return []
        t = self._times.pop() if self._times else 0.0
        return self._release("reasoning" if self._close else "content", t, self._held)

    def _inside(self, t: float, whole: str) -> list[Piece]:
        reasoning, tag, answer = whole.partition(self._close)
        if tag:
            self._close = ""
            self.plain = True
            pieces = self._release("reasoning", t, reasoning)
            return [*pieces, (t, "content", answer)] if answer else pieces
        cut = _overlap(whole, self._close)
        if cut and cut == len(whole):
            self._held = whole
            self._times.append(t)
            return []
        keep = len(whole) - cut
        pieces = self._release("reasoning", t, whole[:keep])
        self._held = whole[keep:]
        return pieces

    def _release(self, kind: Literal["content", "reasoning"], t: float, text: str) -> list[Piece]:
        """One piece for each chunk held; the text goes with the last of them."""
        pieces: list[Piece] = [(at, kind, "") for at in self._times]
        self._times = []
        self._held = ""
        pieces.append((t, kind, text))
        return pieces


def _overlap(text: str, tag: str) -> int:
    """How many characters at the end of ``text`` begin ``tag``."""
    for size in range(min(len(text), len(tag) - 1), 0, -1):
        if text.endswith(tag[:size]):
            return size
    return 0
