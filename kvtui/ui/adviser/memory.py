"""The adviser's figures of memory: what is asked of the card, and what a decode step reads."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Literal

from kvtui.memory import budget
from kvtui.memory.errors import PlanError
from kvtui.ui.adviser.situation import Asked, Smaller, StepBound

if TYPE_CHECKING:
    from kvtui.memory.cards import Card

_SMALLER = ("fp8", "int4")
"""Precisions that are offered where the one in force leaves too little room."""


def asked_of(question: budget.Question) -> Asked | None:
    """What the Memory pane asks of its card; None where it cannot be answered."""
    try:
        told = budget.answer(question)
    except PlanError:
        return None
    smaller = None
    if told.max_concurrency <= question.concurrency and told.budget.kv_bytes > 0:
        smaller = _smaller(question, told)
    return Asked(
        card=question.card.name,
        model=question.model.name,
        kv_dtype=told.k.name,
        context=question.context,
        users=question.concurrency,
        sequence_bytes=told.bytes_per_sequence,
        budget_bytes=told.budget.kv_bytes,
        most=told.max_concurrency,
        smaller=smaller,
    )


def _smaller(question: budget.Question, told: budget.Answer) -> Smaller | None:
    for name in _SMALLER:
        try:
            other = budget.answer(replace(question, k=name, v=name))
        except PlanError:  # this cache cannot be stored so
            continue
        if other.max_concurrency > told.max_concurrency:
            return Smaller(name, other.max_concurrency)
    return None


def step_bound(
    question: budget.Question, card: Card, where: Literal["profile", "local"], tokens: int
) -> StepBound | None:
    """What the bandwidth of the server's own card allows one sequence of so many tokens.

    Args:
        question: The model that the server runs, with the cache as it was configured.
        card: The card that the server runs on; never just the one of the Memory pane.
        where: Who says so.
        tokens: Length of the sequence at the middle of the answer.
    """
    try:
        told = budget.answer(
            replace(question, card=card, context=max(1, tokens), concurrency=1, max_num_seqs=None)
        )
    except PlanError:
        return None
    if not told.bounds:
        return None
    one = told.bounds[0]
    return StepBound(
        card=card.name,
        where=where,
        model=question.model.name,
        weights_bytes=one.weights_read_bytes,
        kv_bytes=one.kv_read_bytes,
        tokens_per_s=one.tokens_per_s,
    )
