"""What a reader of an answer should know beside its figures, a sentence each."""

from __future__ import annotations

from . import weights
from .answer import Budget
from .model import Latent, State
from .parallel import Parallel
from .precision import Precision
from .question import Question
from .units import gib

# The precisions that an engine takes for its cache (vLLM 0.33 `config/cache.py` CacheDType,
# SGLang 0.5.23 `--kv-cache-dtype`); llama.cpp's are refused where it has none.
_STORED = {
    "vllm": (
        "f32",
        "fp16",
        "bf16",
        "fp8",
        "fp8_ds_mla",
        "nvfp4",
        "fp8_per_token_head",
        "int8_per_token_head",
        "int4_per_token_head",
    ),
    "sglang": ("f32", "fp16", "bf16", "fp8", "fp8_ds_mla", "nvfp4"),
}


def notes_on(
    question: Question,
    split: Parallel,
    k: Precision,
    v: Precision,
    weighed: weights.Weights | None,
    budget: Budget,
) -> list[str]:
    """The notes on a question and its budget."""
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
    if question.spec_tokens and not model.draft_layers:
        notes.append(f"no draft layers of {model.name} are known, so none are counted")
    if k.name == "fp8_ds_mla" and question.k != k.name:
        notes.append("fp8 beside an indexer is stored as fp8_ds_mla, 656 B a token and layer")
    notes.extend(
        f"{question.engine} stores no {name} cache: the size alone is told"
        for name in dict.fromkeys((k.name, v.name))
        if name not in _STORED.get(question.engine, (name,))
    )
    if question.engine == "llamacpp" and any(
        isinstance(cache, Latent) and cache.index_dim for cache in caches
    ):
        notes.append("llama.cpp's own size of the indexer's keys has not been checked")
    notes.extend(
        f"{precision.name}: {precision.note}"
        for precision in dict.fromkeys((k, v))
        if precision.note
    )
    if model.note:
        notes.append(f"{model.name}: {model.note}")
    if not model.verified:
        notes.append(f"{model.name}'s geometry is {model.source}")
    return notes
