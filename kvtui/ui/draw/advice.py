"""The adviser's line under the panes: one sentence, and the key that shows its figures."""

from __future__ import annotations

from kvtui.language import tr
from kvtui.ui.look.rows import Row, Span, between, row, width_of, wrap

MOST_ROWS = 2
"""A narrow terminal takes two rows for a long sentence; it is whole behind the key."""


def advice_rows(say: str, width: int) -> list[Row]:
    """The sentence; none for an empty one."""
    if not say:
        return []
    why = row(Span("a", "key", "screen.why"), Span(f" {tr('why')} ", "muted", "screen.why"))
    lines = wrap(say, max(20, width - 3 - width_of(why) - 2))
    if len(lines) > MOST_ROWS:
        lines = [*lines[: MOST_ROWS - 1], lines[MOST_ROWS - 1] + "…"]
    marks = (" ▸ ", *["   "] * MOST_ROWS)
    rows = [row((mark, "accent"), (line, "text")) for mark, line in zip(marks, lines, strict=False)]
    rows[0] = between(rows[0], why, width, gap=2)
    return rows
