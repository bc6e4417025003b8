"""The planner's drawn parts: the lines over and under it, the answer, the grid, the examples."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.cells import cell_len

from kvtui.language import tr
from kvtui.ui.draw.planner import answer_rows
from kvtui.ui.draw.planner_side import grid_rows, preset_rows, title_of
from kvtui.ui.look.rows import Row, Span, between, row
from kvtui.ui.planner.keys import FOOTER, KEYS
from kvtui.ui.widgets.lines import LinesWidget

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kvtui.ui.planner.answer import PlannerState


class PlannerBar(LinesWidget):
    """One line over or under everything."""

    def __init__(self, *, id: str, foot: bool) -> None:
        super().__init__(id=id)
        self._foot = foot

    def draw(self, width: int, height: int) -> Sequence[Row]:  # noqa: ARG002
        """The line."""
        if not self._foot:
            start = row(
                (" kvtui ", "badge-accent"),
                "  " + tr("planner"),
                (tr("  what fits on the card"), "muted"),
            )
            return [between(start, row((tr("GiB are 2^30 bytes "), "muted")), width)]
        spans: list[Span] = [Span(" ")]
        room = width - 1
        tail = [item for item in KEYS if item[0] in FOOTER[-2:]]
        rest = sum(len(shown) + cell_len(tr(label)) + 3 for _, _, shown, label, _ in tail)
        head = [item for item in KEYS if item[0] in FOOTER[:-2]]
        for action, _, shown, label, _ in (*head, *tail):
            size = len(shown) + cell_len(tr(label)) + 3
            last = action in FOOTER[-2:]
            if not last and size > room - rest:
                continue
            room -= size if not last else 0
            spans += [
                Span(shown, "key", f"screen.{action}"),
                Span(f" {tr(label)}  ", "muted", f"screen.{action}"),
            ]
        return [tuple(spans)]


class AnswerPane(LinesWidget):
    """The answer to the fields."""

    def __init__(self, *, id: str) -> None:
        super().__init__(id=id)
        self.state: PlannerState | None = None

    def show(self, state: PlannerState) -> None:
        """Draw a state."""
        self.state = state
        self._title()
        self.redraw()

    def on_resize(self) -> None:
        """The title's room follows the width."""
        self._title()

    def _title(self) -> None:
        if self.state is not None:
            self.border_title = title_of(self.state, max(10, self.outer_size.width - 6))

    def draw(self, width: int, height: int) -> Sequence[Row]:
        """The rows."""
        return () if self.state is None else answer_rows(self.state, width, height)


class GridPane(LinesWidget):
    """What fits of some contexts and numbers of users."""

    def __init__(self, *, id: str) -> None:
        super().__init__(id=id)
        self.state: PlannerState | None = None
        self.fits: tuple[tuple[bool, ...], ...] = ()
        self.border_title = tr("context × users that fit")

    def show(self, state: PlannerState, fits: tuple[tuple[bool, ...], ...]) -> None:
        """Draw a grid."""
        self.state, self.fits = state, fits
        self.redraw()

    def draw(self, width: int, height: int) -> Sequence[Row]:  # noqa: ARG002
        """The rows."""
        return () if self.state is None else grid_rows(self.state, self.fits, width)


class ExamplesPane(LinesWidget):
    """The worked examples."""

    def on_mount(self) -> None:
        """The key that lists them stands in the title."""
        self.border_title = tr("examples (^o)")

    def draw(self, width: int, height: int) -> Sequence[Row]:  # noqa: ARG002
        """The rows."""
        return preset_rows(width)
