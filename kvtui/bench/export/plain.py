"""A benchmark's results as plain text that fits a terminal of any width."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from kvtui.bench.evaluation.results import Results
from kvtui.bench.export.tables import (
    ALL,
    FAILED,
    PROMPT,
    RARE,
    RARE_NOTE,
    REQUESTS,
    STEADY,
    table,
    told_of,
)
from kvtui.language import later, tr
from kvtui.text import UNKNOWN, one_line, padded, wide_in, wrapped

WIDTH = 80
"""Where no terminal tells another."""
_MARKS = {True: later("yes"), False: later("no"), None: "·"}
_PROSE = 100
"""Cells of a line of sentences, at most."""
_LABEL = 34
"""Cells of a level's name, at most, where columns are many."""
_TOGETHER = (("n", FAILED, PROMPT), (STEADY, ALL, REQUESTS))
"""Columns that stand in one block, beside those that begin with the same word."""


def text(results: Results, width: int = WIDTH) -> list[str]:
    """What was run, a table with a row a level, and the findings under it.

    Args:
        results: What the record amounts to.
        width: Cells of a line. A table that is wider goes on below, its levels named again.
    """
    about, came = told_of(results)
    lines = [one_line(about, max(40, width)), came]
    if results.levels:
        lines += ["", *_blocks(table(results.levels), width)]
    if any("~" in line for line in lines):
        lines += wrapped(tr(RARE_NOTE), max(40, width), "", "  ")
    if results.findings:
        lines.append("")
    for finding in results.findings:
        mark = tr(_MARKS[finding.holds])
        lines += wrapped(
            one_line(finding.message, 600),
            min(_PROSE, max(40, width)),
            f"{mark:>{3 - wide_in(mark)}}  ",
            " " * 5,
        )
    return lines


def _blocks(rows: Sequence[Sequence[str]], width: int) -> Iterator[str]:
    """The table, its columns in as many blocks as the width asks for."""
    columns = [list(column) for column in zip(*rows, strict=True)]
    labels, *figures = columns
    rare = set(map(tr, RARE))
    figures = [column for column in figures if column[0] not in rare or set(column[1:]) != {"0"}]
    told = [column for column in figures if set(column[1:]) != {UNKNOWN}]
    figures = told or figures
    wide = [max(len(cell) + wide_in(cell) for cell in column) for column in figures]
    label = max(len(cell) + wide_in(cell) for cell in labels)
    if label + sum(w + 2 for w in wide) > width:
        label = min(label, _LABEL)
    labels = [
        cell if len(cell) + wide_in(cell) <= label else cell[: label - 1 - wide_in(cell)] + "…"
        for cell in labels
    ]
    for number, block in enumerate(_parted(figures, wide, width - label)):
        if number:
            yield ""
        for line, name in enumerate(labels):
            cells = [_right(figures[at][line], wide[at]) for at in block]
            yield "  ".join([padded(name, label), *cells]).rstrip()


def _parted(
    figures: Sequence[Sequence[str]], wide: Sequence[int], room: int
) -> Iterator[list[int]]:
    """Columns block by block; those that belong together are not parted where they fit."""
    block: list[int] = []
    used = 0
    at = 0
    while at < len(figures):
        group = [at]
        while group[-1] + 1 < len(figures) and _belong(figures[at][0], figures[group[-1] + 1][0]):
            group.append(group[-1] + 1)
        need = sum(wide[one] + 2 for one in group)
        if block and used + need > room:
            yield block
            block, used = [], 0
        for one in group:
            if block and used + wide[one] + 2 > room:
                yield block
                block, used = [], 0
            block.append(one)
            used += wide[one] + 2
        at = group[-1] + 1
    if block:
        yield block


def _right(text: str, cells: int) -> str:
    return text.rjust(cells - wide_in(text))


def _belong(first: str, second: str) -> bool:
    told = [[tr(name) for name in names] for names in _TOGETHER]
    known: Sequence[str] = next((names for names in told if first in names), [])
    return second in known or (not known and first.split()[0] == second.split()[0])
