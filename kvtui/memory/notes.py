"""What a reader of an answer should know beside its figures, a sentence each."""

from __future__ import annotations

from kvtui.language import tr

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
        notes.append(tr("{name}: parameters unknown, so no weights are counted", name=model.name))
    if budget.kv_bytes < 0:
        notes.append(
            tr(
                "weights and overhead alone exceed the card by {size}",
                size=gib(-budget.kv_bytes),
            )
        )
    elif budget.outside_bytes < 0:
        notes.append(
            tr(
                "the parts exceed the card by {size}",
                size=gib(-budget.outside_bytes),
            )
        )
    if model.max_context is not None and question.context > model.max_context:
        notes.append(
            tr(
                "{name} itself takes {max_context:,} tokens at most",
                name=model.name,
                max_context=model.max_context,
            )
        )
    if question.engine != "logical" and card.usable_total_bytes is not None:
        notes.append(
            tr(
                "the driver shows an engine {usable} of {name}'s {size} ({source})",
                usable=gib(card.usable_total_bytes),
                name=card.name,
                size=gib(card.memory_bytes),
                source=card.usable_source,
            )
        )
    if question.engine == "logical":
        notes.append(tr("the formula alone: no engine's padding, overhead or reserve is counted"))
    caches = [cache for cache, _ in model.groups]
    if split.tp > 1:
        if any(isinstance(cache, Latent) for cache in caches):
            notes.append(
                tr("MLA has no heads to share: each of {tp} ranks holds all of it", tp=split.tp)
            )
        heads = model.kv_heads
        if heads is not None and heads < split.tp:
            notes.append(
                tr(
                    "{heads} KV heads on {tp} ranks: each is stored more than once",
                    heads=heads,
                    tp=split.tp,
                )
            )
    if any(isinstance(cache, State) and cache.dtype == "auto" for cache in caches):
        as_what = tr("the model's precision") if question.engine == "vllm" else "f32"
        notes.append(
            tr(
                "the recurrent state's precision is not given: {as_what} is counted",
                as_what=as_what,
            )
        )
    if question.spec_tokens and not model.draft_layers:
        notes.append(
            tr("no draft layers of {name} are known, so none are counted", name=model.name)
        )
    if k.name == "fp8_ds_mla" and question.k != k.name:
        notes.append(tr("fp8 beside an indexer is stored as fp8_ds_mla, 656 B a token and layer"))
    notes.extend(
        tr(
            "{engine} stores no {name} cache: the size alone is told",
            engine=question.engine,
            name=name,
        )
        for name in dict.fromkeys((k.name, v.name))
        if name not in _STORED.get(question.engine, (name,))
    )
    if question.engine == "llamacpp" and any(
        isinstance(cache, Latent) and cache.index_dim for cache in caches
    ):
        notes.append(tr("llama.cpp's own size of the indexer's keys has not been checked"))
    notes.extend(
        f"{precision.name}: {tr(precision.note)}"
        for precision in dict.fromkeys((k, v))
        if precision.note
    )
    if model.note:
        notes.append(f"{model.name}: {tr(model.note)}")
    if not model.verified:
        notes.append(tr("{name}'s geometry is {source}", name=model.name, source=tr(model.source)))
    return notes
