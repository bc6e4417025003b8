"""The last border before the terminal: every line of every widget passes it on its way out."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from rich.cells import cell_len, set_cell_size
from rich.segment import Segment
from textual.filter import ANSIToTruecolor, LineFilter

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from rich.style import Style
    from textual.color import Color
    from textual.strip import Strip

OBEYED = re.compile(
    r"[\x00-\x1f\x7f-\x9f\ud800-\udfff\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]"
)
"""Characters that a terminal acts on, or that no terminal can be sent."""


class Outlet(LineFilter):
    """Drops what a terminal would obey from titles, fields, notices: whatever forgot to before.

    Rows show such characters as signs already (``kvtui.ui.look.rows.inert``); here nothing may
    change its width any more, so they give way to spaces.

    It applies the filters before it as well: one pass in place of several, and none at all for a
    line that all of them would leave as it is, as nearly every line of ours.
    """

    def __init__(self, before: Sequence[LineFilter] = ()) -> None:
        """Take the filters whose result passes here, in their order."""
        super().__init__()
        self.before = tuple(before)
        self._may_let_pass = all(type(each) is ANSIToTruecolor for each in before)

    def apply(self, segments: list[Segment], background: Color) -> list[Segment]:
        """The segments as the terminal gets them; the same list where nothing is to be changed."""
        if self.lets_pass(segments):
            return segments
        for each in self.before:
            segments = each.apply(segments, background)
        if all(segment.text.isprintable() or segment.control for segment in segments):
            return segments
        return [
            each if each.control else Segment(_inert(each.text), each.style) for each in segments
        ]

    def lets_pass(self, segments: Iterable[Segment]) -> bool:
        """Whether ``apply`` is certain to change nothing."""
        return self._may_let_pass and all(
            text.isprintable() and (style is None or _is_truecolor(style))
            for text, style, _ in segments
        )


def passed(strip: Strip, filters: Sequence[LineFilter], background: Color) -> Strip:
    """A line after all filters; the same strip where they leave it as it is."""
    for each in filters:
        if not (isinstance(each, Outlet) and each.lets_pass(strip)):
            strip = strip.apply_filter(each, background)
    return strip


def _is_truecolor(style: Style) -> bool:
    """Textual's filter would keep it: no colour of the terminal's own palette, nothing dim."""
    color, background = style.color, style.bgcolor
    return (
        (color is None or color.triplet is not None)
        and (background is None or background.triplet is not None)
        and not style.dim
    )


def _inert(text: str) -> str:
    size = cell_len(text)
    kept = set_cell_size(OBEYED.sub("", text), size)
    return kept if cell_len(kept) == size else " " * size  # a joiner swallowed what came to it
