"""The answer to a memory question: what fits on the card.

`answer` takes well under 10 ms. Budgets are per card, of the fullest rank, and sum exactly to
what the card holds.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from kvtui.text import GIB

from . import kv as _kv
from . import llamacpp, overhead, roofline, sglang, vllm, weights
from .model import MAX_TOKENS, Latent, Layer, State
from .parallel import Parallel, rank_layers
from .parallel import stages as split_stages
from .precision import Precision
from .question import ENGINES, MAX_SEQUENCES, Question, split_of, validate
from .store import LogicalStore, Store
from .units import ceil_div, gib

__all__ = ["ENGINES", "Answer", "Budget", "Question", "answer", "longest_context"]


@dataclass(frozen=True, slots=True)
class Budget:
    """One card, in bytes; the four parts sum to what it holds.

    Attributes:
        weights_bytes: the weights on this card.
        overhead_bytes: activations, CUDA context, graphs, buffers.
        kv_bytes: what is left for the KV cache; negative by as much as is missing.
        outside_bytes: what the engine leaves alone.
        overhead_low_bytes: the overhead could be as little as this,
        overhead_high_bytes: or as much as this.
    """

    weights_bytes: int
    overhead_bytes: int
    kv_bytes: int
    outside_bytes: int
    overhead_low_bytes: int
    overhead_high_bytes: int


@dataclass(frozen=True, eq=False)
class Answer:
    """What fits.

    Attributes:
        question: what was asked.
        split: how the cards share the model.
        k: precision of the keys.
        v: precision of the values.
        bytes_per_token: the next token's cost at this context, over all cards that hold it.
        bytes_per_sequence: one sequence's cost at this context, over all cards that hold it.
        constant_bytes_per_sequence: what of it is not context × bytes_per_token.
        total_bytes: the cost of all sequences, over all cards.
        per_gpu_bytes_per_token: the same four on the fullest card.
        per_gpu_bytes_per_sequence: see above.
        per_gpu_constant_bytes_per_sequence: see above.
        per_gpu_total_bytes: see above.
        weights_bytes: all weights once; None when the parameters are unknown.
        budget: the fullest card's budget.
        fits: the sequences asked for fit.
        max_context: the longest context at this concurrency that memory allows; the model's own
            limit where memory sets none.
        max_concurrency: the most sequences at this context.
        concurrency_ratio: how many times one sequence fits (vLLM's "maximum concurrency").
        formula: the KV formula with its numbers.
        overhead_formula: the budget's terms with their numbers.
        weights_formula: how the weights' size was found.
        bounds: decode's upper bound by bandwidth for some batch sizes; empty when unknown.
        details: the engine's own figures (blocks, groups, cells).
        notes: what a reader should know, one sentence each.
    """

    question: Question
    split: Parallel
    k: Precision
    v: Precision
    bytes_per_token: int
    bytes_per_sequence: int
    constant_bytes_per_sequence: int
    total_bytes: int
    per_gpu_bytes_per_token: int
    per_gpu_bytes_per_sequence: int
    per_gpu_constant_bytes_per_sequence: int
    per_gpu_total_bytes: int
    weights_bytes: int | None
    budget: Budget
    fits: bool
    max_context: int
    max_concurrency: int
    concurrency_ratio: float
    formula: str
    overhead_formula: str
    weights_formula: str
    bounds: tuple[roofline.Bound, ...]
    notes: tuple[str, ...]
    details: dict[str, Any]

    def to_json(self) -> dict[str, Any]:
        """The document that `kvtui plan --json` prints (schema kvtui.plan/1)."""
        question, card, budget = self.question, self.question.card, self.budget
        return {
            "schema": "kvtui.plan/1",
            "model": question.model.name,
            "engine": question.engine,
            "kv": {
                "k_dtype": self.k.name,
                "v_dtype": self.v.name,
                "bytes_per_token": self.bytes_per_token,
                "bytes_per_sequence": self.bytes_per_sequence,
                "constant_bytes_per_sequence": self.constant_bytes_per_sequence,
                "total_bytes": self.total_bytes,
                "per_gpu": {
                    "bytes_per_token": self.per_gpu_bytes_per_token,
                    "bytes_per_sequence": self.per_gpu_bytes_per_sequence,
                    "constant_bytes_per_sequence": self.per_gpu_constant_bytes_per_sequence,
                    "total_bytes": self.per_gpu_total_bytes,
                },
            },
            "context": question.context,
            "concurrency": question.concurrency,
            "weights_bytes": self.weights_bytes,
            "gpu": {
                "name": card.name,
                "memory_bytes": card.memory_bytes,
                "usable_total_bytes": card.usable_total_bytes,
                "usable_source": card.usable_source or None,
                "count": self.split.cards,
            },
            "budget": {
                "weights_bytes": budget.weights_bytes,
                "overhead_bytes": budget.overhead_bytes,
                "kv_bytes": budget.kv_bytes,
                "outside_bytes": budget.outside_bytes,
                "overhead_low_bytes": budget.overhead_low_bytes,
                "overhead_high_bytes": budget.overhead_high_bytes,
            },
            "fits": self.fits,
            "max_context": self.max_context,
            "max_concurrency": self.max_concurrency,
            "concurrency_ratio": self.concurrency_ratio,
            "decode_upper_bound": [
                {"batch": bound.batch, "tokens_per_s": round(bound.tokens_per_s, 1)}
                for bound in self.bounds
            ],
            "formula": self.formula,
            "overhead_formula": self.overhead_formula,
            "weights_formula": self.weights_formula,
            "details": self.details,
            "notes": list(self.notes),
        }


def answer(question: Question) -> Answer:
    """Answer it.

    Raises:
        BadValueError: a number that makes no sense; names the field.
        UnknownNameError: an unknown engine or precision.
        PlanError: a precision or a split that this cache cannot have.
    """
    ready = _prepare(question)
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
    totals = [_total(question, one, sequences) for one in stores]
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
        notes=(*terms.notes, *_notes(question, split, k, v, weighed, budget)),
    )


def fits(question: Question) -> bool:
    """Whether the sequences asked for fit: `answer` without everything else.

    Raises:
        BadValueError, UnknownNameError, PlanError: as `answer`.
    """
    ready = _prepare(question)
    sequences = ceil_div(question.concurrency, ready.split.dp)
    return all(
        _total(question, store, sequences) <= own.kv_bytes
        for store, own in zip(ready.stores, ready.budgets, strict=True)
    )


class _Ready(NamedTuple):
    """A question worked out as far as one card's cache and budget, for each stage."""

    split: Parallel
    k: Precision
    v: Precision
    terms: overhead.Overhead
    weighed: weights.Weights | None
    stores: Sequence[Store]
    budgets: Sequence[Budget]


def _prepare(question: Question) -> _Ready:
    validate(question)
    split = split_of(question)
    k, v = _precisions(question)
    layers = question.model.layers
    if question.spec_tokens and question.engine != "llamacpp":
        layers = (*layers, *question.model.draft_layers)
    whole = split_stages(layers, _with_draft(split, len(layers), question))
    ranked = [rank_layers(stage, split.tp) for stage in whole]
    stores = _stores(question, ranked, k, v, split)
    terms = overhead.of(question, split)
    weighed = weights.weigh(
        question.model,
        question.weights_dtype,
        question.weights_bytes,
        question.extra_weights_bytes,
    )
    held = weights.on_ranks(weighed, split, [len(stage) for stage in whole])
    budgets = [_budget(question, terms, size) for size in held]
    return _Ready(split, k, v, terms, weighed, stores, budgets)


def _precisions(question: Question) -> tuple[Precision, Precision]:
    own = "fp16" if question.engine == "llamacpp" else "auto"
    names = [
        own if name.strip().casefold() == "auto" else name for name in (question.k, question.v)
    ]
    k, v = (_kv.resolve(question.model, name) for name in names)
    if question.engine == "llamacpp":
        llamacpp.check_blocks(question.model, k, v)
    return k, v


def _with_draft(split: Parallel, layers: int, question: Question) -> Parallel:
    """A partition given for the model's layers, the draft layers on the last stage."""
    own = len(question.model.layers)
    if split.partition is None or layers == own:
        return split
    *first, last = split.partition
    return split._replace(partition=(*first, last + layers - own))


def _stores(
    question: Question,
    ranked: Sequence[Sequence[Layer]],
    k: Precision,
    v: Precision,
    split: Parallel,
) -> Sequence[Store]:
    model = question.model
    if question.engine == "vllm":
        settings = vllm.Settings(
            block_tokens=question.block_size,
            in_flight_tokens=in_flight_tokens(question, split),
            prefix_caching=question.prefix_caching,
            spec_tokens=question.spec_tokens,
            cp=split.cp,
        )
        return vllm.build(model, ranked, k, v, settings)
    if question.engine == "llamacpp":
        cells = llamacpp.Settings(question.ubatch, question.swa_full, question.kv_unified)
        return [llamacpp.LlamaCppStore(model, layers, k, v, cells) for layers in ranked]
    if question.engine == "sglang":
        return [sglang.SglangStore(model, layers, k, v) for layers in ranked]
    return [LogicalStore(model, layers, k, v, split.cp) for layers in ranked]


def in_flight_tokens(question: Question, split: Parallel) -> int:
    """Tokens scheduled and not yet settled, which vLLM's windows reserve for.

    A batch for each pipeline stage, and one more with asynchronous scheduling (vLLM 0.33
    `config/vllm.py` max_concurrent_batches, max_in_flight_tokens).
    """
    batches = split.pp + question.async_scheduling
    return batches * (question.max_num_batched_tokens or batched_tokens(question))


def batched_tokens(question: Question) -> int:
    """VLLM's default `max_num_batched_tokens` when serving (`engine/arg_utils.py`).

    16,384 on a card of 160 GiB or more, 8,192 from 70 GiB on but for the A100, else 2,048.
    """
    memory = question.card.engine_total_bytes
    if memory >= 160 * GIB:
        return 16_384
    if memory >= 70 * GIB and "a100" not in question.card.name.casefold():
        return 8_192
    return 2_048


def _total(question: Question, store: Store, sequences: int) -> int:
    if question.n_ctx is not None and isinstance(store, llamacpp.LlamaCppStore):
        return sum(store.parts(question.n_ctx, sequences))
    return store.total_bytes(question.context, sequences)


def _budget(question: Question, terms: overhead.Overhead, held: int) -> Budget:
    kv_bytes = terms.available - held - terms.overhead
    if question.kv_budget_bytes is not None:
        kv_bytes = question.kv_budget_bytes
    return Budget(
        weights_bytes=held,
        overhead_bytes=terms.overhead,
        kv_bytes=kv_bytes,
        outside_bytes=question.card.memory_bytes - held - terms.overhead - kv_bytes,
        overhead_low_bytes=max(terms.overhead - terms.band, 0),
        overhead_high_bytes=terms.overhead + terms.band,
    )


def _bandwidth(question: Question, split: Parallel) -> int | None:
    """Bytes per second of the cards that read for one step together; stages take turns."""
    one = question.card.bandwidth_bytes_per_s
    return None if one is None else one * split.tp


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


def _notes(
    question: Question,
    split: Parallel,
    k: Precision,
    v: Precision,
    weighed: weights.Weights | None,
    budget: Budget,
) -> list[str]:
    model, card, notes = question.model, question.card, []
    if weighed is None:
        notes.append(f"{model.name}: parameters unknown, so no weights are counted")
    if budget.kv_bytes < 0:
        notes.append(f"weights and overhead alone exceed the card by {gib(-budget.kv_bytes)}")
    elif budget.outside_bytes < 0:
        notes.append(f"the parts exceed the card by {gib(-budget.outside_bytes)}")
    if model.max_context is not None and question.context > model.max_context:
        notes.append(f"{model.name} itself takes {model.max_context:,} tokens at most")
    if question.engine != "logical" and card.usable_total_bytes is not None:
        notes.append(
            f"the driver shows an engine {gib(card.usable_total_bytes)} of {card.name}'s "
            f"{gib(card.memory_bytes)} ({card.usable_source})"
        )
    if question.engine == "logical":
        notes.append("the formula alone: no engine's padding, overhead or reserve is counted")
    caches = [cache for cache, _ in model.groups]
    if split.tp > 1:
        if any(isinstance(cache, Latent) for cache in caches):
            notes.append(f"MLA has no heads to share: each of {split.tp} ranks holds all of it")
        heads = model.kv_heads
        if heads is not None and heads < split.tp:
            notes.append(f"{heads} KV heads on {split.tp} ranks: each is stored more than once")
    if any(isinstance(cache, State) and cache.dtype == "auto" for cache in caches):
        as_what = "the model's precision" if question.engine == "vllm" else "f32"
        notes.append(f"the recurrent state's precision is not given: {as_what} is counted")
    notes.extend(
        f"{precision.name}: {precision.note}"
        for precision in dict.fromkeys((k, v))
        if precision.note
    )
    if not model.verified:
        notes.append(f"{model.name}'s geometry is {model.source}")
    return notes
