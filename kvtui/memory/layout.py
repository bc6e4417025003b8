"""A question worked out as far as each stage's cache and each card's budget."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from kvtui.text import GIB

from . import kv as _kv
from . import llamacpp, overhead, sglang, vllm, vllm_groups, weights
from .answer import Budget
from .model import Latent, Layer, Model
from .parallel import Parallel, rank_layers
from .parallel import stages as split_stages
from .precision import Precision
from .question import Question, split_of, validate
from .store import LogicalStore, Store


class Layout(NamedTuple):
    """A question worked out as far as one card's cache and budget, for each stage."""

    split: Parallel
    k: Precision
    v: Precision
    terms: overhead.Overhead
    weighed: weights.Weights | None
    stores: Sequence[Store]
    budgets: Sequence[Budget]


def lay_out(question: Question) -> Layout:
    """The caches and budgets of each pipeline stage.

    Raises:
        BadValueError: a number that makes no sense; names the field.
        UnknownNameError: an unknown engine or precision.
        PlanError: a precision or a split that this cache cannot have.
    """
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
    return Layout(split, k, v, terms, weighed, stores, budgets)


def _precisions(question: Question) -> tuple[Precision, Precision]:
    own = "fp16" if question.engine == "llamacpp" else "auto"
    names = [
        own if name.strip().casefold() == "auto" else name for name in (question.k, question.v)
    ]
    k, v = (_kv.resolve(question.model, name) for name in names)
    if question.engine == "llamacpp":
        llamacpp.check_blocks(question.model, k, v)
    if question.engine in ("vllm", "sglang") and k.name == "fp8" and _is_indexed(question.model):
        # Both store fp8 in the layout of the sparse kernels there.
        k = v = _kv.resolve(question.model, "fp8_ds_mla")
    return k, v


def _is_indexed(model: Model) -> bool:
    return any(isinstance(cache, Latent) and cache.index_dim for cache, _ in model.groups)


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
        settings = vllm_groups.Settings(
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


def total_bytes(question: Question, store: Store, sequences: int) -> int:
    """What so many sequences take of one rank's cache."""
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
