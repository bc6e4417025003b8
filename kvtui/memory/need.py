"""From a need to a card: the smallest that holds so much context for so many."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

from . import cards as _cards
from .budget import fits
from .cards import Card
from .errors import PlanError
from .question import Question

COUNTS = (1, 2, 4, 8, 16)


class Choice(NamedTuple):
    """Cards that hold the need.

    Attributes:
        card: the card.
        number: how many of them, the fewest of 1, 2, 4, 8 and 16.
    """

    card: Card
    number: int

    @property
    def memory_bytes(self) -> int:
        """What they hold together."""
        return self.number * self.card.memory_bytes


def smallest(
    question: Question, among: Sequence[Card] | None = None, counts: Sequence[int] = COUNTS
) -> tuple[Choice, ...]:
    """For each card the fewest of them that hold the question's context and concurrency.

    Args:
        question: the need; its card and its split are not used.
        among: cards to choose from; the real ones of the catalogue without.
        counts: numbers of cards to try.

    Returns:
        The choices, least memory first; cards that do not hold it in any number are left out.
    """
    found = []
    for card in _cards.catalogue() if among is None else among:
        if among is None and card in _cards.PROFILES:
            continue
        count = fewest(replace(question, card=card), counts)
        if count is not None:
            found.append(Choice(card, count))
    return tuple(sorted(found, key=lambda choice: (choice.memory_bytes, choice.number)))


def fewest(question: Question, counts: Sequence[int] = COUNTS) -> int | None:
    """The fewest of the question's card that hold its need, or None where none does.

    Of a card that is a whole computer there is one.
    """
    for count in counts:
        if count > 1 and question.card is not None and question.card.alone:
            break
        asked = replace(question, gpus=count, tp=None, pp=1, dp=1, cp=1, ep=None, pp_partition=None)
        try:
            if fits(asked):
                return count
        except PlanError:
            continue
    return None
