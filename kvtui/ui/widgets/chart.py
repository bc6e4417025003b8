"""The answer as a chart, drawn by plotext at most three times a second."""

from __future__ import annotations

import math
from dataclasses import replace
from time import monotonic
from typing import TYPE_CHECKING, Literal, TypeAlias

from kvtui.language import tr
from kvtui.ui.look.rows import row
from kvtui.ui.widgets.plotted import Plotted

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kvtui.ui.look.rows import Row
    from kvtui.ui.state import StreamState

REDRAW_S = 0.34
ChartKind: TypeAlias = Literal["rate", "gaps"]
KINDS: tuple[ChartKind, ...] = ("rate", "gaps")


class ChartView(Plotted):
    """One chart of the latest answer: its rate, or its gaps."""

    def __init__(self, kind: ChartKind, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self.kind: ChartKind = kind
        self._state: StreamState | None = None
        self._drawn_at = -math.inf

    def show(self, state: StreamState, *, final: bool) -> None:
        """Draw the state unless one was drawn a moment ago; the final one always."""
        if state is self._state:
            return
        now = monotonic()
        if final or now - self._drawn_at >= REDRAW_S:
            self._drawn_at = now
            self._state = state
            self.redraw()

    @property
    def shown(self) -> StreamState | None:
        """What the picture is of; None while there is none."""
        return self._state if self.can_plot else None

    def draw(self, width: int, height: int) -> Sequence[Row]:
        """The picture."""
        if not self.can_plot or self._state is None:
            return [row((tr("drawn while it streams"), "muted"))]
        from kvtui.ui.draw.plot import plot_rows
        from kvtui.ui.look.plots import gaps_plot, rate_plot

        state = self._state
        if self.kind == "rate":
            # The line above says least, most and now.
            return plot_rows(replace(rate_plot(state.series), said=" "), width, height)
        from kvtui.measure.gaps import Gaps

        return plot_rows(gaps_plot(state.gaps or Gaps()), width, height)
