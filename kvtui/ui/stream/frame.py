"""What one frame of the screen shows: handed from the conductor to the panes, never changed."""

from __future__ import annotations

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
    """A wait that the server asked for is being counted down."""
    notes: tuple[str, ...] = ()
    """What was changed on the way to the server, each said once."""
