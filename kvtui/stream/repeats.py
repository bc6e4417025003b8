"""Servers whose every delta repeats all text before it."""

from __future__ import annotations


class Repeats:
    """Finds a server whose every delta repeats all text before it.

    The proof is two deltas in a row, from the first on, that strictly extend the one before. A
    model that repeats a phrase does not do that.
    """

    __slots__ = ("_seen", "_steps", "found", "length", "settled")

    def __init__(self) -> None:
        self.settled = False
        self.found = False
        self.length = 0
        self._seen = ""
        self._steps = 0

    def see(self, text: str) -> str | None:
        """The whole text where ``text`` just proved to be it, else None."""
        if self.found or self.settled or not text:
            return None
        if self._seen and not (len(text) > len(self._seen) and text.startswith(self._seen)):
            self.settled = True
            self._seen = ""
            return None
        self._steps += 1
        self._seen = text
        if self._steps < 3:
            return None
        self.found = True
        return text

    def new(self, text: str) -> str:
        """What a repeating delta adds."""
        if text.startswith(self._seen):
            added = text[len(self._seen) :]
            self._seen = text
            return added
        if self._seen.startswith(text):
            return ""
        self._seen += text
        return text
