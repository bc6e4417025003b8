"""The streamed text as wrapped lines: only the tail is ever wrapped again, history is bounded.

No widget in here: ``kvtui.ui.widgets.text_view`` draws it. Texts must be sanitised already.
"""

from __future__ import annotations

from collections import deque
from typing import NamedTuple

from rich.cells import cell_len

from kvtui.ui.rows import break_lines

MAX_LINES = 20_000
"""Wrapped lines kept."""
MAX_CHARS = 4_000_000
"""Characters kept for wrapping again at another width."""

GUTTER = "┊ "
"""Stands before reasoning, so that it is told apart without colour."""


class Line(NamedTuple):
    """One wrapped line. ``kind`` is ``content``, ``reasoning`` or ``note``."""

    text: str
    kind: str


class History:
    """Paragraphs in, wrapped lines out.

    ``lines`` are finished and never change until the width does; ``tail`` is the open end.
    ``dropped`` counts lines that fell out at the front since the last ``clear``.
    """

    def __init__(self, width: int = 80) -> None:
        self.width = max(4, width)
        self.lines: deque[Line] = deque()
        self.dropped = 0
        self._paragraphs: deque[tuple[str, list[str]]] = deque()
        self._chars = 0
        self._tail = ""
        self._kind = "content"
        self._open = False

    def __len__(self) -> int:
        """Wrapped lines with the tail."""
        return len(self.lines) + (1 if self._open else 0)

    def __getitem__(self, index: int) -> Line:
        """The wrapped line at ``index``, the tail last."""
        if index == len(self.lines) and self._open:
            return Line(self._tail, self._kind)
        return self.lines[index]

    @property
    def tail(self) -> Line | None:
        """The open last line, None where there is none."""
        return Line(self._tail, self._kind) if self._open else None

    def append(self, text: str, kind: str = "content") -> None:
        """Add streamed text. A change of kind starts a new paragraph, set apart by a blank line."""
        if not self._paragraphs:
            text = text.lstrip("\n")  # answers like to begin with empty lines
        if not text:
            return
        if kind != self._kind or not self._open:
            if self._open:
                self._close()
                self._push(Line("", "content"))
                self._paragraphs.append(("content", [""]))
            self._start(kind)
        first, *others = text.split("\n")
        self._extend(first)
        for part in others:
            self._close()
            self._start(kind)
            self._extend(part)
        self._trim()

    def note(self, text: str) -> None:
        """Add one line of our own, e.g. the mark between two runs."""
        if self._open:
            self._close()
        self._start("note")
        self._extend(text)
        self._close()
        self._trim()

    def clear(self) -> None:
        """Forget everything."""
        self.lines.clear()
        self._paragraphs.clear()
        self.dropped = self._chars = 0
        self._tail, self._kind, self._open = "", "content", False

    def rewrap(self, width: int) -> bool:
        """Wrap again for another width; returns whether anything had to be done."""
        width = max(4, width)
        if width == self.width:
            return False
        self.width = width
        paragraphs = self._paragraphs
        was_open = self._open
        self.lines.clear()
        self.dropped = 0
        for index, (kind, parts) in enumerate(paragraphs):
            done, rest = break_lines("".join(parts), self._room(kind))
            self.lines.extend(Line(line, kind) for line in done)
            if was_open and index == len(paragraphs) - 1:
                self._tail = rest
            else:
                self.lines.append(Line(rest, kind))
        self._trim()
        return True

    def text(self, kind: str | None = "content") -> str:
        """What is kept, of one kind or (None) of all, paragraphs on lines of their own."""
        return "\n".join(
            "".join(parts) for own, parts in self._paragraphs if kind is None or own == kind
        ).strip("\n")

    def _room(self, kind: str) -> int:
        return self.width - (cell_len(GUTTER) if kind == "reasoning" else 0)

    def _start(self, kind: str) -> None:
        self._kind, self._tail, self._open = kind, "", True
        self._paragraphs.append((kind, []))

    def _extend(self, text: str) -> None:
        if not text:
            return
        self._paragraphs[-1][1].append(text)
        self._chars += len(text)
        done, self._tail = break_lines(self._tail + text, self._room(self._kind))
        for line in done:
            self._push(Line(line, self._kind))

    def _close(self) -> None:
        kind, parts = self._paragraphs[-1]
        self._paragraphs[-1] = (kind, ["".join(parts)])
        self._push(Line(self._tail, self._kind))
        self._tail, self._open = "", False

    def _push(self, line: Line) -> None:
        self.lines.append(line)

    def _trim(self) -> None:
        while len(self.lines) > MAX_LINES:
            self.lines.popleft()
            self.dropped += 1
        while self._chars > MAX_CHARS and len(self._paragraphs) > 1:
            _, parts = self._paragraphs.popleft()
            self._chars -= sum(map(len, parts))
