"""The answer to a memory question: what fits on the card.

`answer` takes well under 10 ms. Budgets are per card, of the fullest rank, and sum exactly to
what the card holds.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from . import kv as _kv
from . import llamacpp, roofline, sglang, vllm
from .answer import Answer, Budget
from .layout import lay_out, total_bytes
from .model import MAX_TOKENS
from .notes import notes_on
from .parallel import Parallel
from .precision import Precision
from .question import ENGINES, MAX_SEQUENCES, Question
from .store import Store
from .units import ceil_div

__all__ = [
    "ENGINES",
    "Answer",
    "Budget",
    "Question",
    "answer",
    "fits",
    "ladder",
    "longest_context",
    "needed_bytes",
]


def answer(question: Question) -> Answer:
    """Answer it.

    Raises:
        BadValueError: a number that makes no sense; names the field.
        UnknownNameError: an unknown engine or precision.
        PlanError: a precision or a split that this cache cannot have.
    """
    ready = lay_out(question)
    split, k, v, terms, weighed = ready.split, ready.k, ready.v, ready.terms, ready.weighed
    stores, budgets = ready.stores, ready.budgets
    context, sequences = question.context, ceil_div(question.concurrency, split.dp)
    ratios = [
        store.ratio(budget.kv_bytes, context) for store, budget in zip(stores, budgets, strict=True)
    ]
    fullest = min(range(len(stores)), key=lambda n: (ratios[n], budgets[n].kv_bytes))
    store, budget = stores[fullest], budgets[fullest]

    def fit(tokens: int, many: int) -> bool:
        return all(
            one.total_bytes(tokens, many) <= own.kv_bytes
            for one, own in zip(stores, budgets, strict=True)
        )

    # One sequence lives on one replica, on all cards of all its stages.
    per_stage = split.ranks_per_stage
    token = sum(one.token_bytes(context) for one in stores) * per_stage
    sequence = sum(one.sequence_bytes(context) for one in stores) * per_stage
    totals = [total_bytes(question, one, sequences) for one in stores]
    mine, mine_token = store.sequence_bytes(context), store.token_bytes(context)
    most = min(largest(lambda many: fit(context, many), MAX_SEQUENCES), MAX_SEQUENCES) * split.dp
    if question.max_num_seqs is not None and question.engine == "vllm":
        most = min(most, question.max_num_seqs * split.dp)
    return Answer(
        question=question,
        split=split,
        k=k,
        v=v,
        bytes_per_token=token,
        bytes_per_sequence=sequence,
        constant_bytes_per_sequence=sequence - context * token,
        total_bytes=sum(totals) * per_stage * split.dp
        if question.concurrency % split.dp == 0
        else sequence * question.concurrency,
        per_gpu_bytes_per_token=mine_token,
        per_gpu_bytes_per_sequence=mine,
        per_gpu_constant_bytes_per_sequence=mine - context * mine_token,
        per_gpu_total_bytes=totals[fullest],
        weights_bytes=None if weighed is None else weighed.total,
        budget=budget,
        fits=all(total <= own.kv_bytes for total, own in zip(totals, budgets, strict=True)),
        max_context=longest_context(
            lambda tokens: fit(tokens, sequences),
            unbounded=question.model.max_context or context,
        ),
        max_concurrency=most,
        concurrency_ratio=min(ratios[fullest] * split.dp, float(MAX_SEQUENCES)),
        formula=_formula(question, store, k, v, budget, sequences),
        overhead_formula=terms.how,
        weights_formula="unknown" if weighed is None else weighed.how,
        bounds=roofline.bounds(
            question.model,
            weighed,
            k,
            v,
            context,
            _bandwidth(question, split),
        ),
        details=store.details(budget.kv_bytes, context, sequences),
        notes=(*terms.notes, *notes_on(question, split, k, v, weighed, budget)),
    )


def fits(question: Question) -> bool:
    """Whether the sequences asked for fit: `answer` without everything else.

    Raises:
        BadValueError, UnknownNameError, PlanError: as `answer`.
    """
    ready = lay_out(question)
    sequences = ceil_div(question.concurrency, ready.split.dp)
    return all(
        total_bytes(question, store, sequences) <= own.kv_bytes
        for store, own in zip(ready.stores, ready.budgets, strict=True)
    )


def _bandwidth(question: Question, split: Parallel) -> int | None:
    """Bytes per second of the cards that read for one step together; stages take turns."""
    one = question.card.bandwidth_bytes_per_s
    return None if one is None else one * split.tp


def ladder(question: Question, contexts: Sequence[int]) -> tuple[bool, ...]:
    """Whether the question's sequences fit at each of these contexts.

    Raises:
        BadValueError, UnknownNameError, PlanError: as `answer`.
    """
    return tuple(fits(replace(question, context=context, n_ctx=None)) for context in contexts)


def needed_bytes(
    question: Question, contexts: Sequence[int], sequences: int | None = None
) -> tuple[int, ...]:
    """Bytes of KV on the fullest card at each of these contexts, for a plot.

    Args:
        question: the question; its own context is not used.
        contexts: tokens of a sequence.
        sequences: sequences at once on one replica; the question's share without.

    Raises:
        BadValueError, UnknownNameError, PlanError: as `answer`.
    """
    ready = lay_out(question)
    many = sequences or ceil_div(question.concurrency, ready.split.dp)
    return tuple(
        max(store.total_bytes(context, many) for store in ready.stores) for context in contexts
    )


def longest_context(fits: Callable[[int], bool], unbounded: int) -> int:
    """The largest number of tokens for which `fits` holds, 0 if none; `fits` is monotone.

    Args:
        fits: whether a context of that many tokens fits.
        unbounded: the answer where memory sets no limit.
    """
    found = largest(fits, MAX_TOKENS)
    return unbounded if found >= MAX_TOKENS else found


def largest(fits: Callable[[int], bool], limit: int) -> int:
    """The largest number up to `limit` for which a monotone `fits` holds, 0 if none."""
    if not fits(1):
        return 0
    low, high = 1, 2
    while fits(high):
        if high >= limit:
            return limit
        low, high = high, high * 2
    while high - low > 1:
        middle = (low + high) // 2
        if fits(middle):
            low = middle
        else:
            high = middle
    return low


def _formula(
    question: Question,
    store: Store,
    k: Precision,
    v: Precision,
    budget: Budget,
    sequences: int,
) -> str:
    context = question.context
    if isinstance(store, vllm.VllmStore):
        return store.formula(context, sequences, budget.kv_bytes)
    if isinstance(store, llamacpp.LlamaCppStore):
        return store.formula(question.n_ctx or context * sequences, sequences)
    if isinstance(store, sglang.SglangStore):
        return store.formula(context, sequences)
    return _kv.formula(question.model, k, v, context, question.concurrency)
