"""How many sequences the memory model says fit, beside what was measured under load."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import msgspec

if TYPE_CHECKING:
    from kvtui.memory.cards import Card


class Room(msgspec.Struct, frozen=True, kw_only=True):
    """What fits on the cards, for sequences of one length. Sizes in bytes."""

    tokens: int
    """Prompt and answer of one sequence."""
    sequences: int
    model: str
    card: str
    engine: str
    kv_dtype: str
    bytes_per_sequence: int
    formula: str


def rooms_of(
    lengths: Iterable[int], wanted: Mapping[str, Any], own_cards: Sequence[Card]
) -> tuple[Room, ...]:
    """The room for each length that is asked for.

    Args:
        lengths: Tokens of a sequence, prompt and answer.
        wanted: The model and the card, under the names of ``kvtui plan``.
        own_cards: The cards of the configuration.

    Raises:
        PlanError: The model or the card is not known, or an option makes no sense.
    """
    from kvtui.memory.plan import plan

    rooms = []
    for tokens in sorted(set(lengths)):
        question, told = plan({**wanted, "context": tokens}, own_cards)
        rooms.append(
            Room(
                tokens=tokens,
                sequences=told.max_concurrency,
                model=question.model.name,
                card=question.card.name,
                engine=question.engine,
                kv_dtype=told.k.name,
                bytes_per_sequence=told.bytes_per_sequence,
                formula=told.formula,
            )
        )
    return tuple(rooms)
