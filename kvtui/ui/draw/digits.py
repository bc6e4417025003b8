"""Large figures, three rows high: readable across a room, narrow enough for 80 columns."""

from __future__ import annotations

from kvtui.ui.rows import Row, Span

HEIGHT = 3

_GLYPHS = {
    "0": ("█▀█", "█ █", "█▄█"),
    "1": ("▀█ ", " █ ", "▄█▄"),
    "2": ("▀▀█", "█▀▀", "█▄▄"),
    "3": ("▀▀█", " ▀█", "▄▄█"),
    "4": ("█ █", "▀▀█", "  █"),
    "5": ("█▀▀", "▀▀█", "▄▄█"),
    "6": ("█▀▀", "█▀█", "█▄█"),
    "7": ("▀▀█", "  █", "  █"),
    "8": ("█▀█", "█▀█", "█▄█"),
    "9": ("█▀█", "▀▀█", "▄▄█"),
    ".": (" ", " ", "▄"),
    ",": (" ", " ", "▄"),
    "—": ("   ", "▀▀▀", "   "),
    " ": ("   ", "   ", "   "),
}


_POINTS = ".,"


def big(text: str, width: int, role: str = "digits") -> list[Row]:
    """``text`` (digits, point, dash) right-aligned in ``width`` cells, three rows."""
    return [(Span(_line(text, line).rjust(width)[-width:], role),) for line in range(HEIGHT)]


def _line(text: str, line: int) -> str:
    """One of the three rows; a point stands close to its digits."""
    drawn = ""
    for index, char in enumerate(text):
        close = char in _POINTS or (index and text[index - 1] in _POINTS)
        drawn += ("" if close or not index else " ") + _GLYPHS.get(char, _GLYPHS[" "])[line]
    return drawn
