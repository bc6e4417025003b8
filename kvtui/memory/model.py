"""A model as a memory question sees it: a list of layers, each with its own caches.

A layer is a tuple of caches. Most layers have one; a layer that keeps none (an MLP block, an
attention that a search removed) has an empty tuple; a layer with attention beside a recurrence,
or with self and cross attention, has two.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TypeAlias

from kvtui.language import later, tr

from .errors import BadValueError, PlanError

MAX_LAYERS = 4096
MAX_HEADS = 65_536
MAX_DIM = 65_536
MAX_TOKENS = 1 << 40


@dataclass(frozen=True, slots=True)
class Attention:
    """Keys and values of every token, or of the last ones (MHA, GQA, MQA).

    Attributes:
        kv_heads: heads that are stored.
        k_dim: elements of one key.
        v_dim: elements of one value; differs from `k_dim` in some models.
        window: tokens that a sliding window keeps; None keeps all.
        chunk: tokens of a local chunk (Llama 4); None has no chunks.
    """

    kv_heads: int
    k_dim: int
    v_dim: int
    window: int | None = None
    chunk: int | None = None


@dataclass(frozen=True, slots=True)
class Latent:
    """Multi-head latent attention: one compressed vector and one rotary key per token.

    There is no factor 2 and there are no heads, so tensor parallel ranks each hold all of it
    (vLLM 0.33 `MLAAttentionSpec`).

    Attributes:
        rank: `kv_lora_rank`, elements of the latent.
        rope: `qk_rope_head_dim`, elements of the rotary key.
        index_dim: `index_head_dim` of a sparse-attention indexer, 0 without one.
        index_topk: tokens that the indexer lets a step read, 0 without one.
    """

    rank: int
    rope: int
    index_dim: int = 0
    index_topk: int = 0


@dataclass(frozen=True, slots=True)
class State:
    """A recurrence's state: the same size however long the sequence is.

    Attributes:
        family: mamba1, mamba2, gdn, kda or lightning.
        columns: past inputs that the convolution keeps (d_conv − 1), 0 without one.
        channels: width of the convolution.
        elements: elements of the recurrent state.
        dtype: precision of the recurrent state; "auto" where the source does not say, which
            transformers and llama.cpp read as f32 and vLLM as the model's precision.
        groups: B/C groups of Mamba 2 (padded up to the tensor parallel size); 0 elsewhere.
        group_channels: convolution channels of one such group.
    """

    family: str
    columns: int
    channels: int
    elements: int
    dtype: str = "auto"
    groups: int = 0
    group_channels: int = 0


@dataclass(frozen=True, slots=True)
class Shared:
    """A layer that reads another layer's keys and values and stores none.

    Attributes:
        layer: index of that layer, or None where the source does not say which.
    """

    layer: int | None = None


@dataclass(frozen=True, slots=True)
class Cross:
    """Keys and values of an encoder's output, written once per request.

    Attributes:
        kv_heads: heads that are stored.
        k_dim: elements of one key.
        v_dim: elements of one value.
        tokens: length of the encoder's output.
    """

    kv_heads: int
    k_dim: int
    v_dim: int
    tokens: int


Cache: TypeAlias = Attention | Latent | State | Shared | Cross
Layer: TypeAlias = tuple[Cache, ...]


@dataclass(frozen=True, slots=True)
class Experts:
    """A mixture of experts, for weights touched per step.

    Attributes:
        count: routed experts per layer.
        active: routed experts that a token uses.
        params: parameters of all routed experts of all layers.
    """

    count: int
    active: int
    params: int


@dataclass(frozen=True, eq=False)
class Model:
    """A model's geometry and weights.

    Attributes:
        id: the name to ask for it.
        name: the name to show.
        params: parameters, all experts included; None when unknown.
        params_active: parameters that one token uses; None when unknown.
        weights_dtype: precision of the checkpoint ("bf16", "fp8", …).
        kv_dtype: what the KV precision "auto" means for it.
        weights_bytes: measured size of the weights, or None.
        max_context: longest context that the model itself takes; None when unknown.
        vocab: entries of the vocabulary; None when unknown.
        hidden: width of the residual stream; None when unknown.
        tied: embedding and output share their weights; None when unknown.
        layers: the caches of each layer.
        heads: query heads, for the MHA/GQA/MQA comparison; None when unknown or varying.
        experts: the mixture of experts, or None.
        source: where the geometry was read.
        verified: the geometry was read there, not recalled.
        note: what a reader should know; may be empty.
        aliases: other names of it.
        asked_as: shorter names that a user may ask with, too vague to recognise an endpoint by.
        windows_ignored_by: engines that store such windowed layers in full.
        draft_layers: caches of the layers that multi-token prediction adds.
    """

    id: str
    name: str
    params: int | None
    params_active: int | None
    weights_dtype: str
    layers: tuple[Layer, ...]
    source: str
    kv_dtype: str = "bf16"
    weights_bytes: int | None = None
    max_context: int | None = None
    vocab: int | None = None
    hidden: int | None = None
    tied: bool | None = None
    heads: int | None = None
    experts: Experts | None = None
    verified: bool = True
    note: str = ""
    aliases: tuple[str, ...] = ()
    asked_as: tuple[str, ...] = ()
    windows_ignored_by: tuple[str, ...] = ()
    draft_layers: tuple[Layer, ...] = ()

    @cached_property
    def groups(self) -> tuple[tuple[Cache, int], ...]:
        """The distinct caches with how many layers have each, in order of appearance."""
        return group(self.layers)

    @cached_property
    def kv_heads(self) -> int | None:
        """The stored heads, where all attention layers have the same number; else None."""
        heads = {cache.kv_heads for cache, _ in self.groups if isinstance(cache, Attention)}
        return heads.pop() if len(heads) == 1 else None


def group(layers: Iterable[Layer]) -> tuple[tuple[Cache, int], ...]:
    """Distinct caches with their number, in order of appearance."""
    counts: dict[Cache, int] = {}
    for layer in layers:
        for cache in layer:
            counts[cache] = counts.get(cache, 0) + 1
    return tuple(counts.items())


def with_heads(model: Model, kv_heads: int) -> Model:
    """The same model with another number of stored heads in every attention layer.

    Raises:
        PlanError: for a model none of whose layers stores keys and values by head (MLA, Mamba).
        BadValueError: for a number that is not positive or does not divide the query heads.
    """
    if kv_heads < 1:
        raise BadValueError("kv_heads", tr("must be at least 1, not {kv_heads}", kv_heads=kv_heads))
    if model.heads is not None and model.heads % kv_heads:
        raise BadValueError(
            "kv_heads",
            tr(
                "{kv_heads} does not divide the {heads} query heads",
                kv_heads=kv_heads,
                heads=model.heads,
            ),
        )
    if not any(isinstance(cache, Attention) for cache, _ in model.groups):
        raise PlanError(tr("{name} stores no keys and values by head", name=model.name))
    layers = tuple(
        tuple(
            replace(cache, kv_heads=kv_heads) if isinstance(cache, Attention) else cache
            for cache in layer
        )
        for layer in model.layers
    )
    return replace(model, layers=layers, name=f"{model.name} with {kv_heads} KV heads")


def head_variants(model: Model) -> tuple[tuple[str, int, Model], ...]:
    """MHA, GQA and MQA side by side: (label, KV heads, model) each.

    The grouped row is the model's own number of heads, or a quarter of the query heads (8 of 32)
    for a model that is not grouped itself. Empty where the comparison says nothing: MLA, pure
    recurrences, heads that vary by layer.
    """
    heads = model.heads
    own = model.kv_heads
    if heads is None or own is None or heads % own:
        return ()
    grouped = own if 1 < own < heads else max(heads // 4, 1)
    rows = [("MHA", heads)]
    if 1 < grouped < heads and heads % grouped == 0:
        rows.append(("GQA", grouped))
    if heads > 1:
        rows.append(("MQA", 1))
    return tuple(
        (label, number, model if number == own else with_heads(model, number))
        for label, number in rows
    )


def custom(
    *,
    layers: int,
    kv_heads: int,
    head_dim: int,
    n_heads: int | None = None,
    v_head_dim: int | None = None,
    params: int | None = None,
    weights_dtype: str = "bf16",
    kv_dtype: str | None = None,
    weights_bytes: int | None = None,
    max_context: int | None = None,
    vocab: int | None = None,
    window: int | None = None,
    name: str = "custom",
    source: str = later("geometry as given"),
) -> Model:
    """A model from its raw geometry: every layer the same attention.

    Args:
        layers: number of layers.
        kv_heads: stored heads.
        head_dim: elements of a key, and of a value unless `v_head_dim` says otherwise.
        n_heads: query heads, for the MHA/GQA/MQA comparison.
        v_head_dim: elements of a value.
        params: parameters, for the weights.
        weights_dtype: precision of the weights.
        kv_dtype: what "auto" means; the weights' precision where that can hold a cache.
        weights_bytes: size of the weights when known.
        max_context: longest context of the model.
        vocab: entries of the vocabulary.
        window: sliding window in tokens.
        name: the name to show.
        source: where the geometry comes from.

    Raises:
        BadValueError: names the field that is not a sensible positive number.
    """
    check("layers", layers, MAX_LAYERS)
    check("kv_heads", kv_heads, MAX_HEADS)
    check("head_dim", head_dim, MAX_DIM)
    for field, value, limit in (
        ("n_heads", n_heads, MAX_HEADS),
        ("v_head_dim", v_head_dim, MAX_DIM),
        ("params", params, 10**15),
        ("weights_bytes", weights_bytes, 10**16),
        ("max_context", max_context, MAX_TOKENS),
        ("window", window, MAX_TOKENS),
    ):
        if value is not None:
            check(field, value, limit)
    cache = Attention(kv_heads, head_dim, v_head_dim or head_dim, window=window)
    if kv_dtype is None:
        kv_dtype = weights_dtype if weights_dtype in ("f32", "fp16", "bf16") else "fp16"
    return Model(
        id=name,
        name=name,
        params=params,
        params_active=params,
        weights_dtype=weights_dtype,
        kv_dtype=kv_dtype,
        weights_bytes=weights_bytes,
        max_context=max_context,
        vocab=vocab,
        heads=n_heads,
        layers=((cache,),) * layers,
        source=source,
    )


def check(field: str, value: object, limit: int, least: int = 1) -> int:
    """`value` if it is an integer from `least` to `limit`.

    Raises:
        BadValueError: naming the field.
    """
    if isinstance(value, bool) or not isinstance(value, int):
        raise BadValueError(field, tr("must be a whole number, not {value!r}", value=value))
    if value < least:
        raise BadValueError(
            field, tr("must be at least {least:,}, not {value:,}", least=least, value=value)
        )
    if value > limit:
        raise BadValueError(
            field,
            tr("is {value:,}, more than the {limit:,} that makes sense", value=value, limit=limit),
        )
    return value
