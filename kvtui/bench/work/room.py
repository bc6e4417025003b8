"""How many sequences the memory model says fit, beside what was measured under load."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import msgspec

if TYPE_CHECKING:
    from kvtui.bench.work.workload import Stage
    from kvtui.memory.cards import Card

_CHARACTERS = 4
"""Characters of English a token, for prompts whose tokens nobody has counted yet."""


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
    stages: Sequence[Stage], wanted: Mapping[str, Any], own_cards: Sequence[Card]
) -> tuple[Room, ...]:
    """The room for each length of the stages.

    Args:
        stages: What is asked.
        wanted: The model and the card, under the names of ``kvtui plan``.
        own_cards: The cards of the configuration.

    Raises:
        PlanError: The model or the card is not known, or an option makes no sense.
    """
    from kvtui.memory.plan import plan

    rooms = []
    for tokens in sorted({tokens_of(stage) for stage in stages}):
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


def tokens_of(stage: Stage) -> int:
    """Tokens of one of its sequences; of a prompt that is no synthetic one by its characters."""
    longest = max((len(text) for text in stage.texts), default=0)
    return (stage.prompt_tokens or longest // _CHARACTERS) + stage.max_tokens
