"""Large figures, readable across a room and narrow enough for 80 columns.

Three cells by five half rows: the half row that is left keeps them apart from what stands below.
"""

from __future__ import annotations

from functools import cache

from kvtui.ui.look.rows import Row, Span

HEIGHT = 3

_POINT = "▪"
"""Touches neither digit beside it: a half block would be read as a part of one."""

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
    ".": (" ", " ", _POINT),
    ",": (" ", " ", _POINT),
    "—": ("   ", "▀▀▀", "   "),
    " ": ("   ", "   ", "   "),
}


_POINTS = ".,"


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
    """One cell as ``scale`` rows: (half) blocks grow, a point stays apart from its digits."""
    if char == _POINT and scale > 1:
        return _LARGE_POINTS[min(scale, max(_LARGE_POINTS))]
    upper, lower = char in "█▀", char in "█▄"
    halves = [upper] * scale + [lower] * scale
    return tuple(_PARTS[halves[2 * line], halves[2 * line + 1]] * scale for line in range(scale))


_PARTS = {(True, True): "█", (True, False): "▀", (False, True): "▄", (False, False): " "}
_LARGE_POINTS = {
    2: ("▐▌", "  "),
    3: (" █ ", " ▀ ", "   "),
    4: (" ██ ", " ██ ", "    ", "    "),
}


def _line(text: str, line: int) -> str:
    """One of the three rows; a point stands close to its digits."""
    drawn = ""
    for index, char in enumerate(text):
        close = char in _POINTS or (index and text[index - 1] in _POINTS)
        drawn += ("" if close or not index else " ") + _GLYPHS.get(char, _GLYPHS[" "])[line]
    return drawn
