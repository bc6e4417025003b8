"""What is shown where not even one pane has room."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kvtui.language import tr
from kvtui.ui.look.rows import BLANK, Row, row
from kvtui.ui.widgets.lines import LinesWidget

if TYPE_CHECKING:
    from collections.abc import Sequence

NEEDED = (60, 18)


class TooSmall(LinesWidget):
    """Says "terminal too small", the size at hand and the size needed."""

    def draw(self, width: int, height: int) -> Sequence[Row]:
        """The sentence, in the middle, cut by nothing but the terminal."""
        text = tr(
            "terminal too small: have {width}x{height}, need {columns}x{rows}",
            width=width,
            height=height,
            columns=NEEDED[0],
            rows=NEEDED[1],
        )
        words = text.split(": ") if len(text) > width else [text]
        lines = [row((part.center(width), "warn")) for part in words]
        return [*[BLANK] * max(0, (height - len(lines)) // 2), *lines]
