"""The card in the Memory pane: its bar, and what each part of it is."""

from __future__ import annotations

from kvtui.language import tr
from kvtui.text import GIB, UNKNOWN, binary_size, gib
from kvtui.ui.draw.bars import segments
from kvtui.ui.draw.sections import WIDE
from kvtui.ui.look.rows import BLANK, Row, between, crop, left, right, row
from kvtui.ui.state import MemoryState


def card_bar(state: MemoryState, width: int) -> list[Row]:
    """The parts of the card, each as long as it is large."""
    parts = [(part.size, part.glyph, part.role) for part in state.parts]
    return [segments(parts, state.card_bytes, width)]


def card_legend(state: MemoryState, width: int) -> list[Row]:
    """A row for each part: its size, and for the cache the tokens; what the card misses."""
    if width < WIDE:
        return short_legend(state, width)
    lines: list[Row] = []
    for part in state.parts:
        if not part.size and part.role in ("overhead", "outside"):
            continue
        note, role = part.note, "muted"
        if part.role == "used":
            note = f"{state.live_tokens:,} tok"
        elif part.role == "free":
            note = UNKNOWN if state.free_tokens is None else f"{state.free_tokens:,} tok"
        size = _amount(part.size)
        lines.append(
            between(
                row(
                    (f"{part.glyph} ", part.role),
                    (left(tr(part.name), 9), "text"),
                    " ",
                    (right(size, 12), "strong"),
                ),
                row((note, role)),
                width,
            )
        )
    if _missing(state):
        lines.append(_misfit(state, width))
    return lines


def short_legend(state: MemoryState, width: int) -> list[Row]:
    """The cache's use, or what the card misses, in one row."""
    used, free = state.used_bytes, _size_of(state, "free")
    if _missing(state):
        return [_misfit(state, width)]
    return [
        between(
            row(
                ("KV ", "muted"),
                (_amount(used), "strong"),
                (" / ", "muted"),
                (f"{gib(used + free)} GiB", "text"),
            ),
            BLANK,
            width,
        )
    ]


def _missing(state: MemoryState) -> int:
    return max(0, sum(part.size for part in state.parts) - state.card_bytes)


def _misfit(state: MemoryState, width: int) -> Row:
    text = "✗ " + tr("misses {size}", size=binary_size(_missing(state)))
    more = f" · {tr('g card, W weights')}" if width >= WIDE + 12 else " · g, W"
    return crop(row((text, "bad"), (more, "muted")), width)


def _size_of(state: MemoryState, role: str) -> int:
    return next((part.size for part in state.parts if part.role == role), 0)


def _amount(size: int) -> str:
    return binary_size(size) if size < GIB // 10 else f"{gib(size)} GiB"
