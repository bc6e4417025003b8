"""Large figures, readable across a room and narrow enough for 80 columns.

Three cells by five half rows: the half row that is left keeps them apart from what stands below.
"""

from __future__ import annotations

from functools import cache

from kvtui.ui.look.rows import Row, Span

HEIGHT = 3

_GLYPHS = {
    "0": ("█▀█", "█ █", "▀▀▀"),
    "1": ("▀█ ", " █ ", "▀▀▀"),
    "2": ("▀▀█", "█▀▀", "▀▀▀"),
    "3": ("▀▀█", " ▀█", "▀▀▀"),
    "4": ("█ █", "▀▀█", "  ▀"),
    "5": ("█▀▀", "▀▀█", "▀▀▀"),
    "6": ("█▀▀", "█▀█", "▀▀▀"),
    "7": ("▀▀█", "  █", "  ▀"),
    "8": ("█▀█", "█▀█", "▀▀▀"),
    "9": ("█▀█", "▀▀█", "▀▀▀"),
    ".": (" ", " ", "▀"),
    ",": (" ", " ", "▀"),
    "—": ("   ", "▀▀▀", "   "),
    " ": ("   ", "   ", "   "),
}


def big(text: str, width: int, role: str = "digits") -> list[Row]:
    """``text`` (digits, point, dash) right-aligned in ``width`` cells, three rows."""
    return [(Span(_line(text, line).rjust(width)[-width:], role),) for line in range(HEIGHT)]


def enlarged(rows: list[Row], scale: int) -> list[Row]:
    """Rows of large figures, each cell ``scale`` cells wide and high."""
    return [
        tuple(
            Span("".join(_enlarged(char, scale)[line] for char in text), role)
            for text, role, _ in each
        )
        for each in rows
        for line in range(scale)
    ]


@cache
def _enlarged(char: str, scale: int) -> tuple[str, ...]:
    """One cell as ``scale`` rows of (half) blocks."""
    upper, lower = char in "█▀", char in "█▄"
    halves = [upper] * scale + [lower] * scale
    return tuple(_PARTS[halves[2 * line], halves[2 * line + 1]] * scale for line in range(scale))


_PARTS = {(True, True): "█", (True, False): "▀", (False, True): "▄", (False, False): " "}


def _line(text: str, line: int) -> str:
    """One of the three rows; nothing touches what stands beside it."""
    return " ".join(_GLYPHS.get(char, _GLYPHS[" "])[line] for char in text)
