"""Bars of segments told apart by glyph as well as by role."""

from __future__ import annotations

from collections.abc import Sequence

from kvtui.ui.look.rows import Row, Span


def segments(parts: Sequence[tuple[int, str, str]], total: int, width: int) -> Row:
    """A bar of exactly ``width`` cells.

    Args:
        parts: ``(size, glyph, role)``; every non-zero size keeps at least one cell.
        total: what the whole bar stands for; parts that exceed it fill it in proportion.
        width: cells.
    """
    sizes = [max(0, size) for size, _, _ in parts]
    total = max(total, sum(sizes), 1)
    cells = [size * width / total for size in sizes]
    whole = [max(1, int(cell)) if size else 0 for cell, size in zip(cells, sizes, strict=True)]
    order = sorted(range(len(parts)), key=lambda i: cells[i] - int(cells[i]), reverse=True)
    target = width if sum(sizes) >= total else round(sum(sizes) * width / total)
    for index in order:
        if sum(whole) >= target:
            break
        if sizes[index]:
            whole[index] += 1
    while sum(whole) > width:
        largest = max(range(len(whole)), key=whole.__getitem__)
        whole[largest] -= 1
    spans = [
        Span(glyph * cell, role)
        for (_, glyph, role), cell in zip(parts, whole, strict=True)
        if cell
    ]
    missing = width - sum(whole)
    if missing > 0:
        spans.append(Span(" " * missing))
    return tuple(spans)


_EIGHTHS = " ▏▎▍▌▋▊▉"


def gauge(value: float, total: float, width: int, *, role: str = "used", rest: str = "free") -> Row:
    """``█████▍░░░░``: a fraction in eighths of a cell, so that a few tokens already move it."""
    fraction = 0.0 if total <= 0 else min(1.0, max(0.0, value / total))
    eighths = round(fraction * width * 8)
    if value > 0 and not eighths:
        eighths = 1
    full, part = divmod(eighths, 8)
    spans = [Span("█" * full, role)] if full else []
    if part:
        spans.append(Span(_EIGHTHS[part], role))
    empty = width - full - (1 if part else 0)
    if empty > 0:
        spans.append(Span("░" * empty, rest))
    return tuple(spans)
