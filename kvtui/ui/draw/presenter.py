"""The Stream pane for an audience: the rate over as many rows as there are, and little else."""

from __future__ import annotations

from kvtui.language import tr
from kvtui.text import UNKNOWN, milliseconds
from kvtui.ui.draw.digits import HEIGHT, big, enlarged
from kvtui.ui.draw.stream import big_rate, figures, phase_bar, spark_row
from kvtui.ui.look.rows import BLANK, Row, beside, left, right, row, rule, width_of
from kvtui.ui.state import StreamState

LEAST = 9
"""Rows below which the pane is drawn as always."""
_NARROW, _WIDE = 15, 22
"""Cells of the figures beside the rate: words, or large figures too."""
_LARGEST = 4
_CHARS = 16
"""Cells of four digits and a point: the rate keeps its place while it changes."""


def presenter_rows(state: StreamState, width: int, height: int) -> list[Row]:
    """Phase, the rate in large figures, TTFT and TPOT beside it, sparkline."""
    if height < LEAST:
        return figures(state, width, height)
    figure, unit = big_rate(state, roomy=width >= 60)
    wide = width >= 60 and height >= 13
    column_width = _WIDE if wide else _NARROW
    room = width - column_width - 2
    plain = width_of(big(figure, 0)[0])
    scale = max(1, min((height - 3) // HEIGHT, room // max(1, plain), _LARGEST))
    room = min(room, max(_CHARS, plain) * scale)
    digits = enlarged(big(figure, plain), scale)
    tall = HEIGHT * scale
    when = ""
    if state.running or figure != UNKNOWN:
        when = tr("now") if state.running else tr("decode")
    snapshot = state.snapshot
    column: list[Row] = [row((f"{unit} {when}".rstrip(), "strong"))]
    if wide:
        for name, value in (("TTFT", snapshot.ttft_ms), ("TPOT", snapshot.tpot_ms)):
            number, _, of = milliseconds(value).partition(" ")
            column += [row((name, "muted"), (f"  {of}", "muted")), *big(number, 0, "strong")]
    else:
        for name, value in (("TTFT", snapshot.ttft_ms), ("TPOT", snapshot.tpot_ms)):
            text = right(milliseconds(value), _NARROW - 6)
            column += [BLANK, row((left(name, 6), "muted"), (text, "strong"))]
    block = beside([(digits, room), ([], 2), (column, column_width)], tall)
    rows = [phase_bar(state, width), *block, spark_row(state, width)]
    spare = height - 1 - len(rows)
    if spare > 0:
        rows[1:1] = [BLANK] * (spare - spare // 2)
        rows[-1:-1] = [BLANK] * (spare // 2)
    return [*rows, rule(width)][:height]
