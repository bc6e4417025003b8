"""What one frame of the screen shows: handed from the conductor to the panes, never changed."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

from kvtui.measure.figures import RunFigures
from kvtui.text import sanitise
from kvtui.ui.ports import PieceLike
from kvtui.ui.state import StreamState


class Passage(NamedTuple):
    """Text of one kind that is new in a frame."""

    kind: str
    text: str
    """Sanitised."""
    replaces: bool = False
    """It stands for all text of the run so far."""
    marks: tuple[tuple[int, float], ...] = ()
    """The reads it came in: characters of each, and the seconds between its chunks."""


def passages(pieces: Iterable[PieceLike]) -> tuple[Passage, ...]:
    """The pieces of a frame, joined as far as they are of one kind.

    A read that carried several pieces gave each the same part of the gap before it, as the
    percentiles of the gaps count it.
    """
    done: list[Passage] = []
    texts: list[str] = []
    marks: list[tuple[int, float]] = []
    read: list[int] = []
    gap = 0.0
    kind, replaces = "", False

    def end_read() -> None:
        if read:
            marks.append((sum(read), gap / len(read)))
            read.clear()

    def end_passage() -> None:
        end_read()
        if texts:
            done.append(Passage(kind, "".join(texts), replaces, tuple(marks)))
            texts.clear()
            marks.clear()

    for piece in pieces:
        if piece.replaces or piece.kind != kind:
            end_passage()
            kind, replaces = piece.kind, piece.replaces
        if piece.gap_s:
            end_read()
            gap = piece.gap_s
        text = sanitise(piece.text)
        texts.append(text)
        read.append(len(text))
    end_passage()
    return tuple(done)


MOST_CHARS = 40_000
"""Characters that one frame takes: wrapping them is a tenth of a second at the worst."""


class Backlog:
    """Text that came faster than it can be wrapped: each frame takes a part, keys come between."""

    def __init__(self) -> None:
        self._waiting: deque[Passage] = deque()

    def __bool__(self) -> bool:
        """Something waits."""
        return bool(self._waiting)

    def clear(self) -> None:
        """Forget what waits."""
        self._waiting.clear()

    def take(self, new: Iterable[Passage] = (), most: float = MOST_CHARS) -> tuple[Passage, ...]:
        """What a frame shows, after ``new`` has joined the end; of ``most`` characters or fewer."""
        self._waiting.extend(new)
        taken: list[Passage] = []
        while self._waiting and most > 0:
            passage = self._waiting.popleft()
            if len(passage.text) > most:
                passage, rest = _split(passage, int(most))
                self._waiting.appendleft(rest)
            most -= len(passage.text)
            taken.append(passage)
        return tuple(taken)


def _split(passage: Passage, at: int) -> tuple[Passage, Passage]:
    """The passage in two, with the reads that each part came in."""
    before: list[tuple[int, float]] = []
    after: list[tuple[int, float]] = []
    left = at
    for size, gap in passage.marks:
        if here := min(size, left):
            before.append((here, gap))
        if size > here:
            after.append((size - here, gap))
        left -= here
    first = passage._replace(text=passage.text[:at], marks=tuple(before))
    return first, passage._replace(text=passage.text[at:], replaces=False, marks=tuple(after))


@dataclass(frozen=True, slots=True)
class Frame:
    """Everything that one frame shows."""

    stream: StreamState
    live_tokens: int
    passages: tuple[Passage, ...] = ()
    began: int = 0
    """A run began in this frame: its number in the repeat, from 1; else 0."""
    finished: tuple[RunFigures, ...] = ()
    running: bool = False
    counting: bool = False
    """There are frames to come: a wait that the server asked for is being counted down, or text
    waits to be shown."""
    notes: tuple[str, ...] = ()
    """What was changed on the way to the server, each said once."""
