"""The rules on what is asked of the card: whether it fits, and what would."""

from __future__ import annotations

from kvtui.language import tr
from kvtui.text import binary_size, count
from kvtui.ui.adviser.situation import Advice, Asked, Situation


def too_much(situation: Situation) -> Advice | None:
    """What is asked for does not fit, or nothing more would."""
    asked = situation.asked
    if asked is None or asked.users > asked.most:
        return None if asked is None else _no_room(asked)
    if not situation.asked_last or asked.most != asked.users or asked.smaller is None:
        return None
    return Advice(
        tr(
            "{context} tokens × {users} fill {card}: {most} would fit with KV {dtype}",
            context=count(asked.context),
            users=count(asked.users),
            card=asked.card,
            most=count(asked.smaller.most),
            dtype=asked.smaller.kv_dtype,
        ),
        _memory_why(asked),
    )


def _no_room(asked: Asked) -> Advice:
    values = {
        "context": count(asked.context),
        "users": count(asked.users),
        "card": asked.card,
        "most": count(asked.most),
    }
    if asked.budget_bytes <= 0:
        say = tr(
            "{model} leaves no room for a KV cache on {card}", model=asked.model, card=asked.card
        )
    elif asked.smaller is not None:
        say = tr(
            "{context} tokens × {users} do not fit on {card}: {most} do, {more} with KV {dtype}",
            more=count(asked.smaller.most),
            dtype=asked.smaller.kv_dtype,
            **values,
        )
    else:
        say = tr("{context} tokens × {users} do not fit on {card}: {most} do", **values)
    return Advice(say, _memory_why(asked))


def _memory_why(asked: Asked) -> str:
    lines = [
        tr(
            "one sequence of {context} tokens in {dtype} = {sequence}",
            context=count(asked.context),
            dtype=asked.kv_dtype,
            sequence=binary_size(asked.sequence_bytes),
        ),
        tr(
            "{users} of them = {total}; left for the cache on {card} = {budget}",
            users=count(asked.users),
            total=binary_size(asked.sequence_bytes * asked.users),
            card=asked.card,
            budget=binary_size(max(0, asked.budget_bytes)),
        ),
        tr("most of them that fit = {most}", most=count(asked.most)),
    ]
    if asked.smaller is not None:
        lines.append(
            tr(
                "with the cache in {dtype} = {most} (its cost in quality depends on the model)",
                dtype=asked.smaller.kv_dtype,
                most=count(asked.smaller.most),
            )
        )
    return "\n".join(lines)
