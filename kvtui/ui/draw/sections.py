"""A pane filled with sections: the important ones first, spare rows between them."""

from __future__ import annotations

from dataclasses import dataclass

from kvtui.language import tr
from kvtui.ui.look.rows import BLANK, Row, Span, beside, between, row

WIDE = 36
"""Columns from which on a pane has the room for words."""

TWO_COLUMNS = 110
"""Columns from which on a pane stands in two, so that no row grows too long to be read across."""
COLUMN_GAP = 4


def column_width(width: int) -> int:
    """Of each of two columns."""
    return (width - COLUMN_GAP) // 2


def two_columns(at_left: list[Row], at_right: list[Row], width: int, height: int) -> list[Row]:
    """Both beside each other, in ``height`` rows."""
    column = column_width(width)
    return beside([(at_left, column), ([], COLUMN_GAP), (at_right, column)], height)


def more_mark(key: str, action: str) -> Span:
    """Says that there is more than fits, and which key shows it."""
    return Span(tr("more ▸ {key}", key=key), "accent", action)


@dataclass(frozen=True, slots=True)
class Section:
    """Rows that belong together; lower ``rank`` stays longer when room is short."""

    rank: int
    rows: list[Row]
    instead: list[Row] | None = None
    """A shorter form."""
    close: bool = False
    """No blank row behind it."""


def fill(sections: list[Section], width: int, height: int, more: Span) -> list[Row]:
    """Take sections by rank while they fit, spread spare rows; ``more`` marks what is left."""
    rows = _choose(sections, height)
    lost = any(rows.get(index) is not part.rows for index, part in enumerate(sections))
    if lost:  # the mark needs a place of its own
        rows = _choose(sections, height - 1)
    spare = height - sum(map(len, rows.values())) - (1 if lost else 0)
    lines: list[Row] = []
    last = max(rows, default=0)
    for index in sorted(rows):
        lines += rows[index]
        if spare > 0 and index != last and not sections[index].close:
            lines.append(BLANK)
            spare -= 1
    if lost:
        lines += [BLANK] * (height - 1 - len(lines))
        lines.append(between(BLANK, (more,), width))
    return lines


def _choose(sections: list[Section], height: int) -> dict[int, list[Row]]:
    chosen: dict[int, list[Row]] = {}
    order = sorted(range(len(sections)), key=lambda index: (sections[index].rank, index))
    for index in order:  # first a short form of everything that matters
        section = sections[index]
        for form in (section.instead or section.rows, section.instead):
            if form and sum(map(len, chosen.values())) + len(form) <= height:
                chosen[index] = form
                break
    for index in order:  # then the long form where room is left
        section = sections[index]
        if section.instead and index in chosen:
            others = sum(len(form) for key, form in chosen.items() if key != index)
            while others + len(section.rows) > height and (
                lesser := [key for key in chosen if sections[key].rank > section.rank]
            ):
                worst = max(lesser, key=lambda key: sections[key].rank)
                others -= len(chosen.pop(worst))
            if others + len(section.rows) <= height:
                chosen[index] = section.rows
    return chosen


def around(at: int, count: int, height: int) -> range:
    """Which of ``count`` lines a list of this height shows, the marked one among them."""
    first = max(0, min(at - height // 2, count - height))
    return range(first, min(first + height, count))


def with_rest(lines: list[Row], rest: int, width: int) -> list[Row]:
    """The lines of a list, the last one giving way to how many are left below it."""
    if rest <= 0 or not lines:
        return lines
    return [
        *lines[:-1],
        between(BLANK, row((tr("{more} more below", more=rest + 1), "muted")), width),
    ]
