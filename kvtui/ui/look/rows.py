"""Rows of text with roles: what every pane draws, before any colour is known.

A span names a *role* (``muted``, ``bad``, ``used``), never a colour: ``kvtui.ui.look.roles`` turns
roles into styles of the theme in use. All widths are in terminal cells.

Every text passes ``inert`` when it becomes a span or is cut to a width: what a server, a file or a
variable holds is shown, never obeyed by the terminal.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import NamedTuple, TypeAlias

from rich.cells import cell_len, set_cell_size, split_graphemes

from kvtui.text import sanitise

UNKNOWN = "—"
MORE = "…"


def inert(text: str) -> str:
    """``text`` on one line, with controls and bidi overrides as visible signs."""
    return text if text.isprintable() else sanitise(text).replace("\n", " ")


class _SpanFields(NamedTuple):
    text: str
    role: str = "text"
    action: str = ""


class Span(_SpanFields):
    """Text of one role; ``action`` makes it clickable (a Textual action such as ``screen.run``)."""

    __slots__ = ()

    def __new__(cls, text: str, role: str = "text", action: str = "") -> Span:
        """Take the text as what can be shown."""
        return super().__new__(cls, inert(text), role, action)


Row: TypeAlias = tuple[Span, ...]
BLANK: Row = ()


def row(*parts: Span | tuple[str, str] | str) -> Row:
    """Build a row from spans, ``(text, role)`` pairs and plain strings; empty texts are dropped."""
    spans = []
    for part in parts:
        span = Span(part) if isinstance(part, str) else Span(*part)
        if span.text:
            spans.append(span)
    return tuple(spans)


def width_of(line: Row) -> int:
    """Cells the row takes."""
    return sum(cell_len(span.text) for span in line)


def plain(line: Row) -> str:
    """The row's text without roles."""
    return "".join(span.text for span in line)


def crop(line: Row, width: int) -> Row:
    """Cut a row to ``width`` cells; a cut row ends with ``…``."""
    if width <= 0:
        return BLANK
    if width_of(line) <= width:
        return line
    room = width - 1
    kept: list[Span] = []
    for span in line:
        size = cell_len(span.text)
        if size > room:
            kept.append(span._replace(text=set_cell_size(span.text, room) + MORE))
            return tuple(kept)
        kept.append(span)
        room -= size
    return tuple(kept)


def clip(text: str, width: int) -> str:
    """Cut a string to ``width`` cells, ending with ``…`` where something was lost."""
    text = inert(text)
    if cell_len(text) <= width:
        return text
    return set_cell_size(text, max(0, width - 1)) + MORE if width > 0 else ""


def clip_words(text: str, width: int) -> str:
    """Cut a string to ``width`` cells after a whole word, where there is one."""
    text = inert(text)
    if cell_len(text) <= width:
        return text
    kept = text
    while cell_len(kept) > width - 2 and " " in kept:
        kept = kept.rpartition(" ")[0]
    return clip(f"{kept} {MORE}" if cell_len(kept) <= width - 2 else text, width)


def clip_middle(text: str, width: int) -> str:
    """Cut a string to ``width`` cells in its middle: of a URL, host and path both matter."""
    if cell_len(text) <= width:
        return text
    end = text[len(text) - max(0, width // 2) :]
    return clip(text, width - cell_len(end)) + end if cell_len(end) < width else clip(text, width)


def left(text: str, width: int) -> str:
    """``text`` in a field of exactly ``width`` cells, at its left."""
    return set_cell_size(clip(text, width), width)


def right(text: str, width: int) -> str:
    """``text`` in a field of exactly ``width`` cells, at its right."""
    short = clip(text, width)
    return " " * (width - cell_len(short)) + short


def between(start: Row, end: Row, width: int, *, gap: int = 1) -> Row:
    """``start`` at the left edge and ``end`` at the right one; ``start`` gives way."""
    end = crop(end, width)
    room = width - width_of(end)
    start = crop(start, max(0, room - (gap if end else 0)))
    return (*start, Span(" " * (room - width_of(start)), "text"), *end)


def rule(width: int) -> Row:
    """A quiet horizontal line."""
    return (Span("─" * width, "faint"),)


def beside(blocks: Iterable[tuple[list[Row], int]], height: int) -> list[Row]:
    """Put blocks side by side, each padded to its own width and all to ``height`` rows."""
    lines: list[Row] = [BLANK] * height
    for rows_of, width in blocks:
        for index in range(height):
            line = crop(rows_of[index] if index < len(rows_of) else BLANK, width)
            pad = width - width_of(line)
            lines[index] = (*lines[index], *line, *((Span(" " * pad),) if pad else ()))
    return lines


def changed_cells(old: Row, new: Row, width: int) -> tuple[int, int] | None:
    """The columns ``(from, to)`` in which two rows differ, by whole spans; None where nowhere."""
    if old == new:
        return None
    start = 0
    for one, other in zip(old, new, strict=False):
        if one != other:
            break
        start += cell_len(one.text)
    end = max(width_of(old), width_of(new))
    if width_of(old) == width_of(new):
        for one, other in zip(reversed(old), reversed(new), strict=False):
            size = cell_len(one.text)
            if one != other or end - size < start:
                break
            end -= size
    return min(start, width - 1), min(max(end, start + 1), width)


def wrap(text: str, width: int) -> list[str]:
    """Wrap text at spaces to ``width`` cells; wide characters may break anywhere. Never empty.

    A figure keeps its unit, a flag its value, and ``=`` what it equals.
    """
    lines: list[str] = []
    for paragraph in sanitise(text).split("\n"):
        done, rest = break_lines(_glued(paragraph), width)
        lines.extend(line.replace(_GLUE, " ") for line in (*done, rest))
    return lines or [""]


_GLUE = "\u00a0"
_TOGETHER = (
    r"(?<=\d) (?=(?:[KMGT]i?B|B|ms|s|tok|tokens?|tok/s|%)(?![\w/]))"
    r"|(?<= =) (?=[\d.,]+(?: |$))"
)
_FLAG = r"(?<!\S)(--[a-z][a-z-]*) (?=[\w.]{1,8}(?:\s|$))"


def _glued(text: str) -> str:
    """With a space that does not break where two words belong together."""
    return re.sub(_FLAG, rf"\1{_GLUE}", re.sub(_TOGETHER, _GLUE, text))


def break_lines(text: str, width: int) -> tuple[list[str], str]:
    """Break off the lines that are full for certain; the remainder may still grow.

    Returns:
        The full lines (trailing space removed) and the rest, which fits in ``width`` cells.
    """
    spans, rest = break_points(text, width)
    return [text[start:end] for start, end in spans], text[rest:]


def break_points(text: str, width: int) -> tuple[list[tuple[int, int]], int]:
    """Where ``break_lines`` breaks, in time that is linear in the length of the text.

    Returns:
        The full lines as ``(start, end)`` in characters, and where the rest begins.
    """
    width = max(1, width)
    spans: list[tuple[int, int]] = []
    at, size = 0, len(text)
    look = width + 32
    while True:
        window = text[at : at + look]
        if cell_len(window) <= width:
            if at + look >= size:
                return spans, at
            look *= 2  # a flood of marks without width
            continue
        cut, following = _break_ascii(window, width) or _break_at(window, width)
        spans.append((at, at + len(window[:cut].rstrip(" "))))
        at += following
        if following == len(window):  # spaces to the end of what was looked at, and beyond
            while at < size and text[at] == " ":
                at += 1
        look = width + 32


def _break_ascii(text: str, width: int) -> tuple[int, int] | None:
    """As ``_break_at``, for text of narrow characters without a URL near the break, and quicker."""
    if not text.isascii():
        return None
    soft = text.rfind(" ", 0, width + 1)
    if "://" in text[max(soft, 0) : width + 1]:
        return None
    if soft <= 0:
        return width, width
    following = soft
    while following < len(text) and text[following] == " ":
        following += 1
    return soft, following


def _break_at(text: str, width: int) -> tuple[int, int]:
    """Where to cut a too long text: the end of the line, and the start of the next."""
    spans, _ = split_graphemes(text)
    used = 0
    soft = 0
    slash = 0
    fit = 0
    previous_wide = False
    for start, end, size in spans:
        if text[start] == " ":
            # A space may hang over the edge: it is dropped by the caller.
            soft = start
            if used + size > width:
                fit = start
                break
        elif text[start - 1 : start] == "/" and "//" not in text[start - 2 : start + 1]:
            slash = start
        elif start and (size > 1 or previous_wide) and text[start] not in _NO_LINE_START:
            soft = start
        if used + size > width:
            fit = start
            break
        used += size
        previous_wide = size > 1
        fit = end
    if slash > soft and "://" in text[soft:slash]:  # a URL breaks at its slashes
        return slash, slash
    if soft <= 0:
        cut = max(fit, spans[0][1])
        return cut, cut
    if text[soft] == " ":
        following = soft
        while following < len(text) and text[following] == " ":
            following += 1
        return (soft, following)
    return soft, soft


_NO_LINE_START = frozenset("，。、；：？！）》」』】〉…,.;:?!)]}")
