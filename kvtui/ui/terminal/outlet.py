"""The last border before the terminal: every line of every widget passes it on its way out."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from rich.cells import cell_len, set_cell_size
from rich.segment import Segment
from textual.filter import LineFilter

if TYPE_CHECKING:
    from textual.color import Color

OBEYED = re.compile(
    r"[\x00-\x1f\x7f-\x9f\ud800-\udfff\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]"
)
"""Characters that a terminal acts on, or that no terminal can be sent."""


class Outlet(LineFilter):
    """Drops what a terminal would obey from titles, fields, notices: whatever forgot to before.

    Rows show such characters as signs already (``kvtui.ui.look.rows.inert``); here nothing may
    change its width any more, so they give way to spaces.
    """

    def apply(self, segments: list[Segment], background: Color) -> list[Segment]:  # noqa: ARG002
        """The segments without them; the same list where there are none."""
        if all(segment.text.isprintable() or segment.control for segment in segments):
            return segments
        return [
            each if each.control else Segment(_inert(each.text), each.style) for each in segments
        ]


def _inert(text: str) -> str:
    return set_cell_size(OBEYED.sub("", text), cell_len(text))
