"""What one frame of the screen shows: handed from the conductor to the panes, never changed."""

from __future__ import annotations

from dataclasses import dataclass

from kvtui.measure.figures import RunFigures
from kvtui.ui.state import StreamState


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
