"""The sizes at which a screen arranges itself anew, as classes that its style sheet names."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from textual.screen import Screen

WIDTHS = [(0, "-w-none"), (60, "-w-tabs"), (80, "-w-80"), (110, "-w-120"), (160, "-w-200")]
HEIGHTS = [(0, "-h-none"), (18, "-h-tabs"), (24, "-h-24"), (34, "-h-40"), (46, "-h-50")]


def take_size(screen: Screen[Any]) -> None:
    """The classes of the size at hand, before the first layout: it is then the last."""
    size = screen.app.size
    for number, table in ((size.width, WIDTHS), (size.height, HEIGHTS)):
        screen.add_class([name for least, name in table if number >= least][-1])
