"""Memory against context or users on the tightest card, and where it meets what there is."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, TypeAlias

from kvtui.language import counted, later, tr
from kvtui.memory.answer import Answer
from kvtui.memory.layout import lay_out
from kvtui.memory.model import MAX_TOKENS
from kvtui.memory.question import MAX_SEQUENCES
from kvtui.memory.units import ceil_div

Axis: TypeAlias = Literal["context", "users"]
POINTS = 64


@dataclass(frozen=True, slots=True)
class Curve:
    """What the plot draws, in bytes of the tightest card.

    Attributes:
        axis: what runs along x.
        points: (tokens or users, bytes) from 0 on.
        fixed: weights and overhead: where the curve starts.
        room: what the engine may fill.
        crossing: the largest x that still fits; None where memory sets no limit.
        asked: the x of the question.
        asked_bytes: the memory it takes.
        model_limit: the longest context that the model itself takes; None elsewhere.
    """

    axis: Axis
    points: tuple[tuple[int, int], ...]
    fixed: int
    room: int
    crossing: int | None
    asked: int
    asked_bytes: int
    model_limit: int | None = None

    @property
    def end(self) -> int:
        """The last x."""
        return self.points[-1][0]


def memory_at(told: Answer, axis: Axis) -> Callable[[int], int]:
    """Bytes on the tightest card at a context or at a number of users, weights included.

    Every stage of a pipeline has its own room: what counts is the least that one has left, so
    that the value exceeds `room` exactly where something no longer fits.
    """
    question = told.question
    ready = lay_out(question)
    dp = ready.split.dp
    sequences, context = ceil_div(question.concurrency, dp), question.context
    room = room_of(told)

    def value(x: int) -> int:
        tokens, many = (x, sequences) if axis == "context" else (context, ceil_div(x, dp))
        left = [
            budget.kv_bytes - (store.total_bytes(tokens, many) if x else 0)
            for store, budget in zip(ready.stores, ready.budgets, strict=True)
        ]
        return room - min(left)

    return value


def room_of(told: Answer) -> int:
    """What the engine may fill on the fullest card: all but what stays outside."""
    budget = told.budget
    return budget.weights_bytes + budget.overhead_bytes + budget.kv_bytes


def draw_curve(told: Answer, axis: Axis, points: int = POINTS) -> Curve:
    """The curve of an answer.

    Args:
        told: the answer; its question is asked again at other contexts or users.
        axis: what runs along x.
        points: how many.
    """
    value, room, question = memory_at(told, axis), room_of(told), told.question
    if axis == "context":
        most, asked, limit = told.max_context, question.context, MAX_TOKENS
    else:
        most, asked, limit = told.max_concurrency, question.concurrency, MAX_SEQUENCES
    bounded = most < limit and value(most + 1) > room
    own_limit = question.model.max_context if axis == "context" else None
    reach = max(asked, most if bounded else 0, 4)
    if not bounded and own_limit:
        reach = max(asked, own_limit)
    end = min(max(reach + ceil_div(reach, 4), 8), limit)
    # A wide gap between what is asked and what fits must not press one of them to the axis.
    if bounded and 0 < most < asked // 20:
        end = asked + ceil_div(asked, 10)
    xs = sorted(
        {*(end * step // (points - 1) for step in range(points)), asked, most if bounded else 0}
    )
    return Curve(
        axis=axis,
        points=tuple((x, value(x)) for x in xs),
        fixed=value(0),
        room=room,
        crossing=most if bounded else None,
        asked=asked,
        asked_bytes=value(asked),
        model_limit=own_limit,
    )


def said(curve: Curve, width: int) -> str:
    """The crossing in words, a shorter form where there is little width."""
    from kvtui.memory.units import gib

    room = gib(curve.room)
    what = tr("context") if curve.axis == "context" else tr("users")
    if curve.fixed > curve.room:
        long = tr("weights and overhead alone exceed the {room} there are", room=room)
        short = tr("weights alone exceed {room}", room=room)
    elif curve.crossing is None:
        long = tr("memory sets no limit, whatever the {what}: the cache stays the same", what=what)
        short = tr("memory sets no limit")
    elif curve.crossing == 0:
        long = tr("not even one fits into the {room} there are ({what})", what=what, room=room)
        short = tr("not one fits into {room}", room=room)
    else:
        forms = (
            (later("{n} token"), later("{n} tokens"))
            if curve.axis == "context"
            else (later("1 user"), later("{n} users"))
        )
        many = counted(curve.crossing, *forms)
        long = tr(
            "fills the room of {room} at {many}",
            room=room,
            many=many,
        )
        short = tr("full at {many}", many=many)
        limit = curve.model_limit
        if limit is not None and curve.crossing > limit:
            long += tr(" (the model itself takes {limit:,})", limit=limit)
    return long if len(long) <= width else short


GRID_CONTEXTS = (2_048, 4_096, 8_192, 16_384, 32_768, 65_536, 131_072)
GRID_USERS = (1, 4, 16, 64, 256)


def fit_grid(told: Answer) -> tuple[tuple[bool, ...], ...]:
    """Whether each of `GRID_USERS` fits, a row for each of `GRID_CONTEXTS`."""
    ready = lay_out(told.question)
    pairs = list(zip(ready.stores, ready.budgets, strict=True))
    return tuple(
        tuple(
            all(
                store.total_bytes(context, ceil_div(users, ready.split.dp)) <= own.kv_bytes
                for store, own in pairs
            )
            for users in GRID_USERS
        )
        for context in GRID_CONTEXTS
    )
