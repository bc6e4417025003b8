"""The lanes of a run's streams: a row each with room, a glyph each where many."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from kvtui.language import tr
from kvtui.ui.draw.bars import gauge
from kvtui.ui.experiments.lanes import Lane
from kvtui.ui.look.rows import BLANK, Row, Span, beside, crop, left, right, row

PHASES: dict[str, tuple[str, str]] = {
    "waiting": ("○", "faint"),
    "sending": ("◌", "accent"),
    "prefill": ("◎", "accent"),
    "decode": ("◉", "used"),
    "done": ("●", "good"),
    "stopped": ("■", "warn"),
    "failed": ("▲", "bad"),
}
"""Phase → glyph and role."""
_LEAST = 24
_CELL = 2


def lanes_rows(lanes: Sequence[Lane], width: int, height: int, marked: int = 0) -> list[Row]:
    """All lanes at this size; ``marked`` is the number of the one with the cursor."""
    if not lanes or height < 1:
        return [row((tr("no stream yet"), "muted"))]
    columns = max(1, width // _LEAST)
    needed = -(-len(lanes) // columns)
    if needed <= height:
        columns = min(columns, -(-len(lanes) // height) if len(lanes) > height else 1)
        return _full(lanes, columns, width, marked)
    return _condensed(lanes, width, height, marked)


def _full(lanes: Sequence[Lane], columns: int, width: int, marked: int) -> list[Row]:
    per_column = -(-len(lanes) // columns)
    room = (width - (columns - 1)) // columns
    blocks = []
    for at in range(columns):
        some = lanes[at * per_column : (at + 1) * per_column]
        blocks.append([lane_row(lane, room, marked=lane.number == marked) for lane in some])
    return beside([(block, room + 1) for block in blocks], per_column)


def lane_row(lane: Lane, width: int, *, marked: bool) -> Row:
    """``▸ 3 ◉ decode ████░░  87/128``; a click opens it."""
    action = f"screen.open_lane({lane.number})"
    glyph, role = PHASES[lane.phase]
    word = tr("warm-up") if lane.warmup and lane.phase in ("prefill", "decode") else lane.phase
    figures = f" {lane.tokens}/{lane.wanted}" if lane.wanted else ""
    figures = right(figures, 10) if width >= 34 else figures
    head = row(
        Span("▸" if marked else " ", "accent", action),
        Span(right(str(lane.number), 3) + " ", "strong" if marked else "muted", action),
        Span(f"{glyph} ", role, action),
        Span(left(tr(word), 8), "muted" if role == "faint" else role, action),
    )
    room = width - 15 - len(figures)
    bar: Row = BLANK
    if room >= 4 and lane.wanted:
        drawn = gauge(lane.tokens, lane.wanted, room, role=role)
        bar = tuple(Span(span.text, span.role, action) for span in drawn)
    return crop((*head, *bar, Span(figures, "text", action)), width)


def _condensed(lanes: Sequence[Lane], width: int, height: int, marked: int) -> list[Row]:
    """A glyph for each, the tens told at the left; then how many are in which phase."""
    gutter = 4
    each = _CELL if len(lanes) <= (height - 1) * ((width - gutter) // _CELL) else 1
    per_row = max(1, (width - gutter) // each)
    per_row = per_row // 8 * 8 or per_row
    rows_wanted = -(-len(lanes) // per_row)
    lines: list[Row] = []
    for at in range(min(rows_wanted, max(1, height - 1))):
        some = lanes[at * per_row : (at + 1) * per_row]
        spans: list[Span] = [Span(right(str(some[0].number), 3) + " ", "faint")]
        for lane in some:
            glyph, role = PHASES[lane.phase]
            action = f"screen.open_lane({lane.number})"
            spans.append(Span(glyph, "badge-accent" if lane.number == marked else role, action))
            if each > 1:
                spans.append(Span(" "))
        lines.append(tuple(spans))
    if len(lines) < height:
        lines.append(counts_row(lanes, width, lanes[marked - 1] if marked else None))
    return lines


def counts_row(lanes: Sequence[Lane], width: int, marked: Lane | None = None) -> Row:
    """``◉ 41 decode  ◎ 3 prefill``; the marked lane's own figures last."""
    counts: Counter[str] = Counter(lane.phase for lane in lanes)
    spans: list[Span] = []
    for phase, (glyph, role) in PHASES.items():
        if counts[phase]:
            spans += [Span(f"{glyph} {counts[phase]} ", role), Span(f"{tr(phase)}  ", "muted")]
    if marked is not None:
        spans.append(Span(f"▸ {marked.number}: {marked.tokens}/{marked.wanted}", "text"))
    return crop(tuple(spans), width)
