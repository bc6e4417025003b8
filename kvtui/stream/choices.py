"""Which of the answers in one stream is the one that is shown."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from kvtui.language import tr
from kvtui.stream.shapes import count
from kvtui.text import one_line

Key = int | str
_MOST = 1_000
"""Answers that are told apart; what a server numbers beyond it is one more."""


class Choices:
    """Numbers the answers of one stream: 0 is the one that is shown.

    That is the one that the server numbers 0; as long as that has not spoken, the first that has,
    whatever its number: a gateway may count from 1, write numbers as strings, or leave them out.
    """

    def __init__(self) -> None:
        self.shown: Key = 0
        """As the server calls it."""
        self.chosen = False
        """One has spoken."""
        self._others: dict[Key, int] = {}

    def keys(self, choices: Iterable[dict[str, Any]]) -> list[Key]:
        """What the server calls each choice of one chunk; a place where it has no number.

        A choice that comes alone and without a number goes on with the answer that is shown.
        """
        given = [_key(choice.get("index")) for choice in choices]
        if given == [None]:
            return [self.shown]
        return [place if key is None else key for place, key in enumerate(given)]

    def speak(self, keys: list[Key]) -> bool:
        """These have text in one chunk; whether from now on another one is shown than before."""
        changed = False
        if keys and not self.chosen:
            self.chosen = True
            self.shown = 0 if 0 in keys else keys[0]
        elif self.shown != 0 and 0 in keys:
            changed = True
            self._others[self.shown] = len(self._others) + 1
            self.shown = 0
        for key in keys:
            if key != self.shown and len(self._others) < _MOST:
                self._others.setdefault(key, len(self._others) + 1)
        return changed

    def number(self, key: Key) -> int:
        """Another number than 0 for each that has spoken beside the one that is shown."""
        full = len(self._others) == _MOST and key != self.shown
        return self._others.get(key, _MOST if full else 0)

    def note(self) -> str | None:
        """What is to be said of them; None where there is one answer, and it is number 0."""
        shown = one_line(str(self.shown), 20)
        if self._others:
            return tr(
                "{n} answers came in one stream: number {shown} is shown, the tokens of all are"
                " counted.",
                n=len(self._others) + 1,
                shown=shown,
            )
        if self.shown != 0:
            return tr(
                "The server numbers its only answer {shown}, not 0: it is shown all the same.",
                shown=shown,
            )
        return None


def _key(index: Any) -> Key | None:
    """``index`` as a number where it is one in any spelling; None where it says nothing."""
    if isinstance(index, str):
        word = index.strip()
        return int(word) if word.isascii() and word.isdigit() and len(word) < 10 else word or None
    return count(index)
