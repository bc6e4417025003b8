"""Parameters and precision of a checkpoint, from its config.json."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from kvtui.language import tr

from .hf_fields import Fields
from .model import Attention, Cache, Experts, Latent, Layer, State

_METHODS = {"fp8": "fp8", "mxfp4": "mxfp4", "fbgemm_fp8": "fp8", "nvfp4": "nvfp4"}


def weights_precision(inner: Fields, outer: Fields, dtype: str) -> str | None:
    """The precision of the weights; None for a quantisation that is not known here."""
    quantised = inner.inner("quantization_config") or outer.inner("quantization_config")
    if quantised is None:
        return dtype or None
    method = str(quantised.get("quant_method") or "").casefold()
    if method in _METHODS:
        return _METHODS[method]
    if method in ("gptq", "awq", "auto-round", "autoround", "auto_round", "gptqmodel"):
        return _bits(quantised.get("bits", "w_bit"))
    if method == "bitsandbytes":
        return "int4" if quantised.get("load_in_4bit") else "int8"
    algorithm = str(quantised.get("quant_algo") or "").upper()
    if method == "modelopt" or (algorithm and not method):
        known = {"NVFP4": "nvfp4", "FP8": "fp8", "W4A16_NVFP4": "nvfp4", "MXFP4": "mxfp4"}
        return known.get(algorithm)
    if method == "compressed-tensors":
        return _compressed(quantised)
    return None


def _bits(bits: Any) -> str | None:
    return {4: "int4", 8: "int8"}.get(bits) if isinstance(bits, int) else None


def _compressed(quantised: Fields) -> str | None:
    """compressed-tensors: the format, or bits and type of its first group."""
    groups = quantised.get("config_groups")
    first = next(iter(groups.values()), None) if isinstance(groups, dict) else None
    form = str((first or {}).get("format") or quantised.get("format") or "")
    if form.startswith("mxfp4"):
        return "mxfp4"
    if form.startswith("nvfp4"):
        return "nvfp4"
    weights = (first or {}).get("weights") if isinstance(first, dict) else None
    if not isinstance(weights, dict):
        return None
    if weights.get("type") == "float":
        return {8: "fp8", 4: "nvfp4"}.get(weights.get("num_bits", 0))
    return _bits(weights.get("num_bits"))


def estimate(
    fields: Fields, kind: str, layers: Sequence[Layer], tied: bool | None
) -> tuple[int | None, int | None, Experts | None, str]:
    """Parameters, those that a token uses, and the experts, where the fields give them.

    Counted are embedding, head, attention and gated MLPs of plain attention models; norms and
    biases are left out (under 0.1 %), and gated delta layers counted. None for models with other
    recurrences, encoders or varying layers, whose projections the fields do not give in full.
    """
    unknown = (None, None, None, tr("parameters not counted from these fields: give --weights-gib"))
    caches = [layer[0] for layer in layers if len(layer) == 1 and _is_counted(layer[0])]
    if len(caches) != len(layers):
        return unknown
    hidden = fields.soft("hidden_size")
    vocab = fields.soft("vocab_size")
    heads = fields.soft("num_attention_heads")
    inter = fields.soft("intermediate_size")
    activation = str(fields.get("hidden_act", "hidden_activation") or "")
    ungated = kind in ("gpt2", "opt", "bloom", "gpt_neox", "gptj", "phi", "falcon", "starcoder2")
    if not (hidden and vocab and heads) or ungated or not activation:
        return unknown
    if fields.get("num_kv_shared_layers") or activation in ("relu2", "situ"):
        return unknown
    gated = kind == "qwen3_next" or bool(fields.get("attn_output_gate"))
    attention = sum(_attention(cache, hidden, heads, fields, gated) for cache in caches)
    ends = vocab * hidden * (1 if tied is True else 2)
    return _with_mlp(fields, len(layers), hidden, inter, attention + ends) or unknown


def _is_counted(cache: Cache) -> bool:
    return isinstance(cache, Attention | Latent) or (
        isinstance(cache, State) and cache.family == "gdn"
    )


def _attention(cache: Cache, hidden: int, heads: int, fields: Fields, gated: bool) -> int:
    """Parameters of one layer's projections; `gated` queries bring a gate of their size."""
    if isinstance(cache, Latent):
        nope = fields.soft("qk_nope_head_dim") or 0
        v_dim = fields.soft("v_head_dim") or 0
        query = fields.soft("q_lora_rank")
        q_dim = heads * (nope + cache.rope)
        queries = hidden * query + query * q_dim if query else hidden * q_dim
        return (
            queries
            + hidden * (cache.rank + cache.rope)
            + cache.rank * heads * (nope + v_dim)
            + heads * v_dim * hidden
        )
    if isinstance(cache, State):
        # Gated delta: queries, keys, values and a gate in, values out, and two scalars a head.
        many = fields.soft("linear_num_value_heads") or 0
        values = many * (fields.soft("linear_value_head_dim") or 0)
        return (
            hidden * (cache.channels + 2 * values + 2 * many) + (cache.columns + 1) * cache.channels
        )
    if isinstance(cache, Attention):
        queries = hidden * heads * cache.k_dim * (2 if gated else 1)
        stored = hidden * cache.kv_heads * (cache.k_dim + cache.v_dim)
        return queries + stored + hidden * heads * cache.v_dim
    return 0


def _with_mlp(
    fields: Fields, layers: int, hidden: int, inter: int | None, rest: int
) -> tuple[int, int, Experts | None, str] | None:
    count = fields.soft("n_routed_experts", "num_experts", "num_local_experts")
    if not count:
        if inter is None:
            return None
        total = rest + layers * 3 * hidden * inter
        return total, total, None, ""
    active = fields.soft("num_experts_per_tok", "top_k_experts", "num_experts_per_token")
    width = fields.soft("moe_intermediate_size") or inter
    if active is None or width is None:
        return None
    listed = fields.get("moe_layer_freq")
    dense = fields.soft("first_k_dense_replace") or 0
    if isinstance(listed, list):
        dense = sum(1 for item in listed if not item)
    shared = fields.soft("n_shared_experts", "num_shared_experts") or 0
    shared_width = fields.soft("shared_expert_intermediate_size") or shared * width
    if fields.get("enable_moe_block") and inter is not None:
        shared_width = inter  # Gemma 4: a dense MLP beside the experts
    sparse = layers - dense
    one = 3 * hidden * width
    routed = sparse * count * one
    total = rest + routed + sparse * (3 * hidden * shared_width + hidden * count)
    if dense:
        if inter is None:
            return None
        total += dense * 3 * hidden * inter
    used = total - routed + sparse * active * one
    return total, used, Experts(count, active, routed), ""
