"""The adviser's line: it takes its place under the panes only where something is said."""

from __future__ import annotations

from typing import TYPE_CHECKING

from textual.reactive import var

from kvtui.ui.widgets.lines import LinesWidget

if TYPE_CHECKING:
    from collections.abc import Sequence

    from textual.geometry import Size

    from kvtui.ui.look.rows import Row


class AdviceLine(LinesWidget):
    """One sentence."""

    DEFAULT_CSS = "AdviceLine { height: auto; display: none; }"

    say: var[str] = var("", init=False)

    def watch_say(self) -> None:
        """Come, go, or say another sentence."""
        self.display = bool(self.say)
        self.redraw()
        self.measure_again()

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:  # noqa: ARG002
        """As many rows as the sentence takes."""
        return len(self.draw(width, 0))

    def draw(self, width: int, height: int) -> Sequence[Row]:  # noqa: ARG002
        """The rows."""
        if not self.say:
            return ()
        from kvtui.ui.draw.advice import advice_rows

        return advice_rows(self.say, width)
