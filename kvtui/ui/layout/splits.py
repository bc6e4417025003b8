"""Where the panes' borders stand: bounded so that every pane stays usable, kept per size class."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

LEAST_STREAM, LEAST_SIDE = 40, 32
"""Columns with their borders: below them figures and bars lose their columns."""
LEAST_MEMORY, LEAST_ERRORS = 7, 8
"""Rows with their borders: both bars and what fits; the badge, the sentence and a fix."""
STEP = 2
"""Columns that a key moves."""


class SizeClass(NamedTuple):
    """The classes of the terminal's size that a layout is made for, e.g. ``("w-120", "h-40")``."""

    width: str
    height: str


class Room(NamedTuple):
    """Cells that the panes share."""

    columns: int
    rows: int


class Place(NamedTuple):
    """Columns of the side panes, rows of the Memory pane."""

    side: int
    memory: int


def bounded(place: Place, room: Room) -> Place:
    """The place, moved where it would leave a pane too small."""
    side = max(LEAST_SIDE, min(place.side, room.columns - LEAST_STREAM))
    memory = max(LEAST_MEMORY, min(place.memory, room.rows - LEAST_ERRORS))
    return Place(side, memory)


class Splits:
    """What the user moved: columns of the side, share of the rows that Memory has."""

    def __init__(self, kept: Mapping[str, object] | None = None) -> None:
        """Take what was kept; what is no sensible number is left out."""
        self._kept: dict[str, float] = {
            str(key): float(value)
            for key, value in (kept or {}).items()
            if isinstance(value, (int, float))
            and not isinstance(value, bool)
            and 0 < value < 10_000
        }

    def place(self, size: SizeClass, room: Room) -> tuple[int | None, int | None]:
        """Columns of the side and rows of Memory; None where the layout's own hold."""
        side, share = self._kept.get(size.width), self._kept.get(size.height)
        near = bounded(
            Place(
                round(side) if side is not None else LEAST_SIDE,
                round(share * room.rows) if share is not None else LEAST_MEMORY,
            ),
            room,
        )
        return (
            None if side is None else near.side,
            None if share is None else near.memory,
        )

    def move(self, size: SizeClass, room: Room, wanted: Place, now: Place) -> bool:
        """Put the borders where they are wanted; False where nothing changes.

        Args:
            size: the classes that this holds for.
            room: what the panes share.
            wanted: where the borders shall be.
            now: where they are; a border that stays keeps the layout's own place.
        """
        place = bounded(wanted, room)
        if place.side != now.side:
            self._kept[size.width] = place.side
        if place.memory != now.memory:
            self._kept[size.height] = round(place.memory / room.rows, 4)
        return place != now

    def reset(self) -> None:
        """Back to the layout's own, at every size."""
        self._kept.clear()

    @property
    def kept(self) -> dict[str, float]:
        """As it is remembered."""
        return dict(self._kept)
