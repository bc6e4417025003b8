"""The KV cache in bytes: the formula itself, without any engine's padding.

    2 × layers × tokens × KV heads × head_dim × bytes × sequences

taken layer by layer, because layers differ: a window stops growing, a latent has no factor 2, a
recurrence never grows. Formulas and their sources are beside each function. All sizes are exact
integers of bytes; precisions are a `Precision`, a name, or "auto" (the model's own).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

from kvtui.language import counted, later, tr
from kvtui.text import count

from . import precision as _precision
from .errors import PlanError
from .model import Attention, Cache, Cross, Latent, Model, Shared, State
from .precision import Precision
from .units import ceil_div, gib

Named: TypeAlias = Precision | str


def resolve(model: Model, name: Named) -> Precision:
    """The precision of that name for a cache of this model; "auto" is the model's own.

    Raises:
        UnknownPrecisionError: for an unknown name.
        PlanError: for a precision that no cache is stored in.
    """
    if isinstance(name, Precision):
        found = name
    elif name.strip().casefold() == "auto":
        found = _precision.parse(model.kv_dtype)
    else:
        found = _precision.parse(name)
    if not found.kv:
        raise PlanError(
            tr("{name} is a precision of weights: no KV cache is stored in it", name=found.name)
        )
    if found.latent_only and not any(isinstance(cache, Latent) for cache, _ in model.groups):
        raise PlanError(
            tr(
                "{name} packs MLA caches only, and {title} has none",
                name=found.name,
                title=model.name,
            )
        )
    return found


def token_bytes(cache: Cache, k: Precision, v: Precision) -> int:
    """Bytes that one stored token takes in one layer's cache, all heads; 0 where none is stored."""
    if isinstance(cache, Attention | Cross):
        return cache.kv_heads * (k.head_bytes + v.head_bytes) + (
            k.bytes(cache.kv_heads * cache.k_dim) + v.bytes(cache.kv_heads * cache.v_dim)
        )
    if isinstance(cache, Latent):
        return latent_bytes(cache, k) + indexer_bytes(cache)
    return 0


def latent_bytes(cache: Latent, k: Precision) -> int:
    """Bytes of one token's latent and rotary key: (rank + rope) × b, without a factor 2.

    `fp8_ds_mla` keeps the latent in fp8 with one f32 scale per 128 elements and the rotary key in
    bf16: 512 + 4 × 4 + 2 × 64 = 656 B (vLLM 0.33 `flashmla_sparse.py`).
    """
    if k.latent_only:
        return cache.rank + 4 * ceil_div(cache.rank, 128) + 2 * cache.rope
    return k.bytes(cache.rank + cache.rope) + k.head_bytes


def indexer_bytes(cache: Latent) -> int:
    """Bytes of one token's indexer key, one for all heads: 132 B at 128 elements.

    It is fp8 with one f32 scale per 128 elements, whatever the cache's own precision
    (vLLM 0.33 `models/deepseek_v2.py` Indexer).
    """
    return cache.index_dim + 4 * ceil_div(cache.index_dim, 128)


def state_bytes(cache: State, model: Model) -> int:
    """Bytes of one recurrence's state.

    The convolution's columns are in the model's precision, the recurrent state in its own (f32
    where the source says nothing else).
    """
    conv = _precision.parse(model.kv_dtype).bytes(cache.columns * cache.channels)
    return conv + state_precision(cache).bytes(cache.elements)


def state_precision(cache: State) -> Precision:
    """A recurrent state's precision: as said, else f32 as transformers and llama.cpp keep it."""
    return _precision.parse("f32" if cache.dtype == "auto" else cache.dtype)


def stored_tokens(cache: Cache, context: int) -> int:
    """Tokens that a cache holds when the sequence has `context` of them."""
    if isinstance(cache, Attention):
        if cache.window is not None:
            return min(context, cache.window)
        if cache.chunk is not None:
            return min(context, cache.chunk)
        return context
    if isinstance(cache, Latent):
        return context
    if isinstance(cache, Cross):
        return cache.tokens
    return 0


def is_local(cache: Cache) -> bool:
    """Whether it keeps a window or a chunk only."""
    return isinstance(cache, Attention) and (cache.window is not None or cache.chunk is not None)


def is_growing(cache: Cache) -> bool:
    """Whether it keeps every token."""
    return isinstance(cache, Latent) or (isinstance(cache, Attention) and not is_local(cache))


def bytes_per_sequence(model: Model, k: Named, v: Named, context: int) -> int:
    """Bytes of one sequence of `context` tokens."""
    k, v = resolve(model, k), resolve(model, v)
    total = 0
    for cache, layers in model.groups:
        if isinstance(cache, State):
            total += layers * state_bytes(cache, model)
        else:
            total += layers * stored_tokens(cache, context) * token_bytes(cache, k, v)
    return total


def bytes_per_token(model: Model, k: Named, v: Named, context: int) -> int:
    """Bytes that the next token adds to a sequence of `context` tokens."""
    k, v = resolve(model, k), resolve(model, v)
    return sum(
        layers
        * (stored_tokens(cache, context + 1) - stored_tokens(cache, context))
        * token_bytes(cache, k, v)
        for cache, layers in model.groups
    )


def constant_bytes_per_sequence(model: Model, k: Named, v: Named, context: int) -> int:
    """What one sequence costs beside `context × bytes_per_token`: states, full windows."""
    return bytes_per_sequence(model, k, v, context) - context * bytes_per_token(
        model, k, v, context
    )


def kv_bytes(model: Model, k: Named, v: Named, lengths: Sequence[int]) -> int:
    """Bytes of live sequences of these lengths (0 is no sequence)."""
    k, v = resolve(model, k), resolve(model, v)
    return sum(bytes_per_sequence(model, k, v, length) for length in lengths if length > 0)


def formula(model: Model, k: Named, v: Named, context: int, sequences: int = 1) -> str:
    """The formula with its numbers, one term for each kind of layer, and its value.

    "2 × 32 layers × 2,048 tokens × 8 KV heads × 128 × 2 B × 1 = 0.25 GiB"
    """
    k, v = resolve(model, k), resolve(model, v)
    terms = [
        term
        for cache, layers in model.groups
        if (term := _term(cache, layers, model, k, v, context))
    ]
    total = gib(sequences * bytes_per_sequence(model, k, v, context))
    if not terms:
        return tr("no layer keeps a cache = {total}", total=total)
    body = terms[0] if len(terms) == 1 else "(" + " + ".join(terms) + ")"
    return f"{body} × {count(sequences)} = {total}"


def _term(cache: Cache, layers: int, model: Model, k: Precision, v: Precision, context: int) -> str:
    many = counted(layers, later("{n} layer"), later("{n} layers"))
    if isinstance(cache, Shared):
        return ""
    if isinstance(cache, State):
        dtype = state_precision(cache)
        conv = _precision.parse(model.kv_dtype)
        state = f"{count(cache.elements)} × {dtype.label}"
        if cache.columns * cache.channels:
            state = f"({count(cache.columns * cache.channels)} × {conv.label} + {state})"
        return tr(
            "{layers} × {state} {family} state", layers=many, state=state, family=cache.family
        )
    tokens = _tokens(cache, context)
    if isinstance(cache, Latent):
        size = (
            f"{latent_bytes(cache, k):,} B"
            if k.latent_only
            else f"({cache.rank} + {cache.rope}) × {k.label}"
        )
        if cache.index_dim:
            size = tr("({size} + {index} B index)", size=size, index=indexer_bytes(cache))
        return f"{many} × {tokens} × {size}"
    heads = counted(cache.kv_heads, later("{n} KV head"), later("{n} KV heads"))
    if k == v and cache.k_dim == cache.v_dim:
        return f"2 × {many} × {tokens} × {heads} × {cache.k_dim} × {k.label}"
    return f"{many} × {tokens} × {heads} × ({cache.k_dim} × {k.label} + {cache.v_dim} × {v.label})"


def _tokens(cache: Attention | Latent | Cross, context: int) -> str:
    if isinstance(cache, Cross):
        return tr("{n} encoder tokens", n=count(cache.tokens))
    if isinstance(cache, Attention):
        kept = cache.window if cache.window is not None else cache.chunk
        if kept is not None and kept < context:
            return tr("min({n}; {kept}) tokens", n=count(context), kept=count(kept))
    return counted(context, later("{n} token"), later("{n} tokens"))
