"""Finding words in the streamed text: each key costs a bounded time, however long the text is.

No list of matches is kept. Counting, the next one and the one before are each one pass of Python's
own string search over what the history keeps; what is drawn is searched line by line.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from kvtui.ui.stream.history import History, Line


class Search:
    """One query, where its current match is, and how many there are.

    Upper and lower case are the same unless the query has an upper-case letter.
    """

    def __init__(self, history: History) -> None:
        self.query = ""
        self.place: int | None = None
        """Of the current match; None where there is none."""
        self.count = 0
        self.number = 0
        """Which of them is the current one, from 1."""
        self._history = history
        self._text = ""
        self._known: tuple[int, bool] | None = None

    def look(self, query: str, place: int) -> None:
        """Search for something else: the first match from ``place`` on, else the first of all."""
        self.query = query
        self.place = None
        if query:
            self._go(self._find(place))
        else:
            self.count = self.number = 0

    def step(self, direction: int) -> None:
        """Go to the next match (1) or the one before (-1), round the ends."""
        if not self.query:
            return
        if self.place is None:
            self._go(self._find(0))
        elif direction > 0:
            self._go(self._find(self.place + len(self.query)))
        else:
            text, needle, first = self._prepared()
            at = text.rfind(needle, 0, max(0, self.place - first + len(needle) - 1))
            self._go(first + (at if at >= 0 else text.rfind(needle)) if needle in text else None)

    def recount(self) -> None:
        """The text has grown: how many are there now?"""
        if not self.query:
            return
        text, needle, first = self._prepared()
        place = self.place
        if place is None or place < first or not text.startswith(needle, place - first):
            place = self._find(0)  # none before, or what was found is gone
        self._go(place)

    def spans(
        self, before: Line | None, line: Line, after: Line | None
    ) -> list[tuple[int, int, bool]]:
        """The matches in a line: ``(from, to, current)`` in its characters.

        Args:
            before: The line before, in which a match may begin.
            line: The line that is drawn.
            after: The line behind, in which a match may end.
        """
        if not self.query:
            return []
        start = line.start
        text = line.text
        if before is not None:
            text = before.text + " " * max(0, start - before.start - len(before.text)) + text
            start = before.start
        if after is not None:
            text += " " * max(0, after.start - start - len(text)) + after.text
        text, needle = self._folded(text), self._folded(self.query)
        own, end = line.start - start, line.start - start + len(line.text)
        found: list[tuple[int, int, bool]] = []
        at = text.find(needle)
        while 0 <= at < end:
            stop = at + len(needle)
            if stop > own:
                current = start + at == self.place
                found.append((max(0, at - own), min(stop, end) - own, current))
            at = text.find(needle, stop)
        return found

    def _find(self, place: int) -> int | None:
        text, needle, first = self._prepared()
        at = text.find(needle, max(0, place - first))
        if at < 0:
            at = text.find(needle)
        return first + at if at >= 0 else None

    def _go(self, place: int | None) -> None:
        text, needle, first = self._prepared()
        self.place = place
        self.count = text.count(needle) if place is not None else 0
        self.number = 0 if place is None else text.count(needle, 0, place - first) + 1

    def _prepared(self) -> tuple[str, str, int]:
        history = self._history
        known = (history.version, self._exact)
        if known != self._known:
            self._known = known
            self._text = self._folded(history.kept())
        return self._text, self._folded(self.query), history.first

    @property
    def _exact(self) -> bool:
        return self.query != self.query.lower()

    def _folded(self, text: str) -> str:
        """In one case, and not a character longer or shorter."""
        return text if self._exact else text.replace("İ", "I").lower()
