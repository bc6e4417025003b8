"""What a list keeps of a query: words that stand in it, else letters in their order."""

from __future__ import annotations

from typing import NamedTuple

LETTERS = 4
"""The rank of what holds only the letters of a word, in their order."""


class Match(NamedTuple):
    """How well a text fits, 0 best, and the characters of its name that were typed."""

    rank: int
    places: frozenset[int] = frozenset()


def match(query: str, name: str, more: str = "") -> Match | None:
    """How ``name`` fits the query; None where it does not.

    Every word of the query has to stand in the name or in ``more`` (a remark, an id); a name that
    begins with the first word is best. Where a word stands nowhere, its letters may still stand in
    the name in their order, from the beginning of a word on.
    """
    folded, rest = _folded(name), _folded(more)
    places: set[int] = set()
    rank = 0
    for index, word in enumerate(_folded(query).split()):
        at = folded.find(word)
        if at >= 0:
            places.update(range(at, at + len(word)))
            begins = not at or not folded[at - 1].isalnum()
            rank = max(rank, (0 if not index and not at else 1) if begins else 2)
        elif word in rest:
            rank = max(rank, 3)
        else:
            letters = _subsequence(word, folded)
            if letters is None:
                return None
            places.update(letters)
            rank = LETTERS
    return Match(rank, frozenset(places))


def _folded(text: str) -> str:
    """In lower case, letter by letter: a place in it is a place in the text."""
    return "".join(low if len(low := letter.casefold()) == 1 else letter for letter in text)


def _subsequence(word: str, text: str) -> list[int] | None:
    places: list[int] = []
    at = -1
    for letter in word:
        at = text.find(letter, at + 1)
        if at < 0:
            return None
        places.append(at)
    first = places[0]
    return places if not first or not text[first - 1].isalnum() else None
