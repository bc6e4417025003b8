"""The streamed text as wrapped lines: only the tail is ever wrapped again, history is bounded.

No widget in here: ``kvtui.ui.widgets.text_view`` draws it. Texts must be sanitised already.

Every character that is kept has a place: how many came before it since the last ``clear``, line
ends counted. Lines know the place where they begin, so that gaps, matches of a search and what the
mouse marks are found for a line without walking the text.
"""

from __future__ import annotations

from array import array
from bisect import bisect_right
from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import NamedTuple

from rich.cells import cell_len

from kvtui.ui.look.rows import break_points

MAX_LINES = 200_000
"""Wrapped lines kept."""
MAX_CHARS = 6_000_000
"""Characters kept: a million tokens and some."""
CHUNK = 16_384
"""Characters after which a paragraph is kept in a further piece, so that old text can go."""

GUTTER = "┊ "
"""Stands before reasoning, so that it is told apart without colour."""


class Line(NamedTuple):
    """One wrapped line. ``kind`` is ``content``, ``reasoning`` or ``note``."""

    text: str
    kind: str
    start: int = 0
    """The place of its first character."""


@dataclass(slots=True)
class _Paragraph:
    kind: str
    start: int
    joined: bool = False
    """It goes on where the one before it ends, without a line end between."""
    parts: list[str] = field(default_factory=list)
    size: int = 0
    lines: int = 0
    """Finished lines that are its own."""

    def text(self) -> str:
        if len(self.parts) > 1:
            self.parts = ["".join(self.parts)]
        return self.parts[0] if self.parts else ""


class History:
    """Paragraphs in, wrapped lines out.

    ``lines`` are finished and never change until the width does; the tail is the open end.
    ``dropped`` counts lines that fell out at the front since the last ``clear``, ``lost`` the
    characters. ``version`` changes with the text.
    """

    def __init__(self, width: int = 80) -> None:
        self.width = max(4, width)
        self.lines: deque[Line] = deque()
        self.dropped = 0
        self.lost = 0
        self.version = 0
        self._paragraphs: deque[_Paragraph] = deque()
        self._chars = 0
        self._end = 0
        self._tail = ""
        self._tail_start = 0
        self._kind = "content"
        self._open = False
        self._at_break = False
        self._gap_ends = array("Q")
        self._gaps = array("f")

    def __len__(self) -> int:
        """Wrapped lines with the tail."""
        return len(self.lines) + (1 if self._open else 0)

    def __getitem__(self, index: int) -> Line:
        """The wrapped line at ``index``, the tail last."""
        if index == len(self.lines) and self._open:
            return Line(self._tail, self._kind, self._tail_start)
        return self.lines[index]

    @property
    def tail(self) -> Line | None:
        """The open last line, None where there is none."""
        return Line(self._tail, self._kind, self._tail_start) if self._open else None

    def append(
        self, text: str, kind: str = "content", marks: Iterable[tuple[int, float]] = ()
    ) -> None:
        """Add streamed text. A change of kind starts a new paragraph, set apart by a blank line.

        Args:
            text: What came, sanitised.
            kind: ``content`` or ``reasoning``.
            marks: The pieces it came in: characters of each, and the seconds after the one before.
        """
        skipped = 0
        if not self._paragraphs:
            skipped = len(text) - len(text.lstrip("\n"))  # answers like to begin with empty lines
            text = text[skipped:]
        if not text:
            return
        self.version += 1
        if kind != self._kind or not self._open:
            if self._open:
                self._close()
                self._start("content")
                self._close()
            self._start(kind)
        place = self._end - skipped
        for size, gap in marks:
            place += size
            if place > self._end:
                self._gap_ends.append(place)
                self._gaps.append(gap)
        first, *others = text.split("\n")
        self._extend(first)
        for part in others:
            self._close()
            self._start(kind)
            self._extend(part)
        self._trim()

    def note(self, text: str) -> None:
        """Add one line of our own, e.g. the mark between two runs."""
        self.version += 1
        if self._open:
            self._close()
        self._start("note")
        self._extend(text)
        self._close()
        self._trim()

    def clear(self) -> None:
        """Forget everything."""
        self.version += 1
        self.lines.clear()
        self._paragraphs.clear()
        self.dropped = self.lost = self._chars = self._end = self._tail_start = 0
        self._tail, self._kind, self._open = "", "content", False
        del self._gap_ends[:], self._gaps[:]

    def rewrap(self, width: int) -> bool:
        """Wrap again for another width; returns whether anything had to be done."""
        width = max(4, width)
        if width == self.width:
            return False
        self.width = width
        self.lines.clear()
        self.dropped = 0
        carried, start = "", 0
        last = len(self._paragraphs) - 1
        following = [*[paragraph.joined for paragraph in self._paragraphs][1:], False]
        for index, paragraph in enumerate(self._paragraphs):
            text = carried + paragraph.text()
            start = start if carried else paragraph.start
            spans, rest = break_points(text, self._room(paragraph.kind))
            kind = paragraph.kind
            self.lines.extend(Line(text[a:b], kind, start + a) for a, b in spans)
            paragraph.lines = len(spans)
            carried = ""
            if index == last and self._open:
                self._tail, self._tail_start = text[rest:], start + rest
                self._at_break = bool(spans) and not self._tail
            elif following[index]:
                carried, start = text[rest:], start + rest
            else:
                self.lines.append(Line(text[rest:], kind, start + rest))
                paragraph.lines += 1
        self._trim()
        return True

    def text(self, kind: str | None = "content") -> str:
        """What is kept, of one kind or (None) of all, paragraphs on lines of their own."""
        parts: list[str] = []
        for paragraph in self._paragraphs:
            if kind is None or paragraph.kind == kind:
                parts += ["" if paragraph.joined or not parts else "\n", paragraph.text()]
        return "".join(parts).strip("\n")

    def answer(self) -> str:
        """The content since the last note: of the latest run."""
        parts: list[str] = []
        for paragraph in reversed(self._paragraphs):
            if paragraph.kind == "note":
                break
            if paragraph.kind == "content":
                parts += [paragraph.text(), "" if paragraph.joined else "\n"]
        return "".join(reversed(parts)).strip("\n")

    # --- places -----------------------------------------------------------------------------------

    @property
    def first(self) -> int:
        """The place of the first character kept."""
        return self._paragraphs[0].start if self._paragraphs else 0

    @property
    def end(self) -> int:
        """The place behind the last character."""
        return self._end

    def kept(self) -> str:
        """All that is kept, as one string: its first character has the place ``first``."""
        parts: list[str] = []
        for paragraph in self._paragraphs:
            parts += ["" if paragraph.joined or not parts else "\n", paragraph.text()]
        return "".join(parts)

    def slice(self, start: int, end: int) -> str:
        """The text between two places, only as much of it walked as is asked for."""
        start = max(start, self.first)
        parts: list[str] = []
        for paragraph in reversed(self._paragraphs):
            at = paragraph.start
            if at > end:
                continue
            if at + paragraph.size < start:
                break
            parts.append(paragraph.text()[max(0, start - at) : end - at])
            if at > start and not paragraph.joined:
                parts.append("\n")
        return "".join(reversed(parts))

    def line_at(self, place: int) -> int:
        """The index of the line that holds a place."""
        if self._open and place >= self._tail_start:
            return len(self.lines)
        return max(0, bisect_right(self.lines, place, key=_start_of) - 1)

    def gaps(self, line: Line) -> list[tuple[int, int, float]]:
        """The pieces of a line: ``(from, to, seconds)`` in its characters."""
        ends, first = self._gap_ends, line.start
        stop = first + len(line.text)
        found: list[tuple[int, int, float]] = []
        index = bisect_right(ends, first)
        at = first
        while index < len(ends) and at < stop:
            end = min(ends[index], stop)
            found.append((at - first, end - first, self._gaps[index]))
            at, index = end, index + 1
        return found

    # --- building ---------------------------------------------------------------------------------

    def _room(self, kind: str) -> int:
        return self.width - (cell_len(GUTTER) if kind == "reasoning" else 0)

    def _start(self, kind: str, *, joined: bool = False) -> None:
        if self._paragraphs and not joined:
            self._end += 1
        self._kind, self._open, self._at_break = kind, True, False
        self._tail, self._tail_start = "", self._end
        self._paragraphs.append(_Paragraph(kind, self._end, joined))

    def _extend(self, text: str) -> None:
        if not text:
            return
        paragraph = self._paragraphs[-1]
        paragraph.parts.append(text)
        paragraph.size += len(text)
        self._chars += len(text)
        self._end += len(text)
        if self._at_break and not self._tail:  # the spaces of a break may come in several pieces
            rest_text = text.lstrip(" ")
            self._tail_start += len(text) - len(rest_text)
            text = rest_text
        text = self._tail + text
        spans, rest = break_points(text, self._room(self._kind))
        start, kind = self._tail_start, self._kind
        self.lines.extend(Line(text[a:b], kind, start + a) for a, b in spans)
        paragraph.lines += len(spans)
        self._tail, self._tail_start = text[rest:], start + rest
        self._at_break = not self._tail and (bool(spans) or self._at_break)
        if spans and paragraph.size > CHUNK:
            self._split(paragraph)

    def _split(self, paragraph: _Paragraph) -> None:
        """Keep the open end of a long paragraph apart from its finished lines."""
        text, cut = paragraph.text(), self._tail_start - paragraph.start
        rest = _Paragraph(paragraph.kind, self._tail_start, joined=True, parts=[text[cut:]])
        rest.size = len(text) - cut
        paragraph.parts, paragraph.size = [text[:cut]], cut
        self._paragraphs.append(rest)

    def _close(self) -> None:
        paragraph = self._paragraphs[-1]
        paragraph.text()
        paragraph.lines += 1
        self.lines.append(Line(self._tail, self._kind, self._tail_start))
        self._tail, self._open = "", False

    def _trim(self) -> None:
        paragraphs = self._paragraphs
        while len(paragraphs) > 1 and (len(self.lines) > MAX_LINES or self._chars > MAX_CHARS):
            gone = paragraphs.popleft()
            for _ in range(gone.lines):
                self.lines.popleft()
            self.dropped += gone.lines
            self.lost += gone.size
            self._chars -= gone.size
        stale = bisect_right(self._gap_ends, self.first)
        if stale > 65_536:
            del self._gap_ends[:stale], self._gaps[:stale]


def _start_of(line: Line) -> int:
    return line.start
