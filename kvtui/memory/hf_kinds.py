"""The sizes of each kind of cache in a config.json."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from kvtui.language import tr

from .hf_fields import ConfigError, Fields, words
from .model import MAX_DIM, MAX_HEADS, MAX_TOKENS, Attention, Latent, State

MAX_ELEMENTS = 1 << 32


class Attentions:
    """Attention layers of a config.json, each kind made when a layer asks for it.

    Args:
        fields: the text model's fields.
        kind: its `model_type`.
    """

    def __init__(self, fields: Fields, kind: str) -> None:
        self.fields = fields
        self.kind = kind

    def heads(self) -> int:
        """Query heads."""
        found = self.fields.need("num_attention_heads", "n_head", "n_heads", "num_heads")
        if isinstance(found, list):
            raise ConfigError(
                "num_attention_heads",
                tr("{where}: num_attention_heads varies by layer", where=self.fields.where),
            )
        return self.fields.whole(
            "num_attention_heads", "n_head", "n_heads", "num_heads", limit=MAX_HEADS
        )

    def kv_heads(self) -> int:
        """Stored heads.

        Raises:
            ConfigError: no field tells; the number of query heads is not assumed.
        """
        fields = self.fields
        inner = fields.inner("attn_config")
        if inner is not None and inner.get("kv_n_heads") is not None:
            return inner.whole("kv_n_heads", limit=MAX_HEADS)
        if self.kind in words("only_mha"):
            return self.heads()
        names = (
            "num_key_value_heads",
            "num_kv_heads",
            "n_head_kv",
            "n_kv_heads",
            "multi_query_group_num",
        )
        if self.kind in ("falcon", "gpt_bigcode") and not fields.get("new_decoder_architecture"):
            shared = fields.get("multi_query")
            if shared is None:
                raise fields.missing("multi_query")
            fields.get(*names)
            return 1 if shared else self.heads()
        if self.kind == "mpt":
            return self.heads()
        found = fields.get(*names)
        if isinstance(found, list):
            # One number for each layer; the layers get theirs afterwards.
            return 1
        return fields.whole(*names, limit=MAX_HEADS)

    def head_dim(self) -> int:
        """Elements of a key.

        Raises:
            ConfigError: no field tells, and the architecture is not known to derive it from the
                width, or the width is no multiple of the heads.
        """
        fields = self.fields
        given = fields.maybe("head_dim", "attention_head_dim", "kv_channels", "head_size")
        if given is not None:
            return given
        if self.kind not in words("derived_head_dim"):
            raise fields.missing("head_dim")
        hidden, heads = fields.whole("hidden_size", "n_embd", "d_model"), self.heads()
        if hidden % heads:
            raise ConfigError(
                "head_dim",
                tr(
                    "{where}: head_dim is missing, and {hidden} is no multiple of {heads} heads",
                    where=fields.where,
                    hidden=hidden,
                    heads=heads,
                ),
            )
        return hidden // heads

    def full(self) -> Attention | Latent:
        """A layer that keeps every token."""
        fields = self.fields
        if fields.get("kv_lora_rank") is not None:
            return self._latent()
        fields.get("qk_rope_head_dim", "qk_nope_head_dim")
        dim = self.head_dim()
        v_dim = fields.maybe("v_head_dim") or dim
        stored = self.kv_heads()
        # Gemma 4: the global layers have heads of their own.
        own = fields.maybe("global_head_dim")
        if own is not None:
            dim = v_dim = own
            stored = fields.maybe("num_global_key_value_heads", limit=MAX_HEADS) or stored
        return Attention(stored, dim, v_dim)

    def window(self) -> Attention:
        """A layer that keeps a sliding window."""
        fields = self.fields
        size = fields.whole("sliding_window", "sliding_window_size", limit=MAX_TOKENS)
        # MiMo: the windowed layers have heads of their own.
        stored = fields.maybe("swa_num_key_value_heads", limit=MAX_HEADS) or self.kv_heads()
        dim = fields.maybe("swa_head_dim") or self.head_dim()
        v_dim = fields.maybe("swa_v_head_dim") or fields.maybe("v_head_dim") or dim
        return Attention(stored, dim, v_dim, window=size)

    def chunk(self) -> Attention:
        """A layer that keeps a local chunk."""
        size = self.fields.whole("attention_chunk_size", limit=MAX_TOKENS)
        dim = self.head_dim()
        return Attention(self.kv_heads(), dim, dim, chunk=size)

    def short_conv(self) -> State:
        """LFM2's short convolution: the last inputs, and no recurrence."""
        kernel = self.fields.whole("conv_L_cache")
        width = self.fields.maybe("conv_dim") or self.fields.whole("hidden_size")
        return State("shortconv", kernel - 1, width, 0)

    def _latent(self) -> Latent:
        fields = self.fields
        fields.get("qk_nope_head_dim", "v_head_dim", "qk_head_dim", "head_dim")
        fields.get("num_key_value_heads")
        index_dim = fields.maybe("index_head_dim") or 0
        topk = fields.maybe("index_topk", limit=MAX_TOKENS) or 0
        return Latent(
            fields.whole("kv_lora_rank"), fields.whole("qk_rope_head_dim"), index_dim, topk
        )


def states(fields: Fields, kind: str) -> Callable[[], State]:
    """A maker of the recurrent layers' state, by the fields that describe it."""

    def make() -> State:
        if fields.get("linear_num_value_heads") is not None:
            return _gated_delta(fields)
        inner = fields.inner("linear_attn_config")
        if inner is not None:
            return _kimi_delta(inner)
        if kind.startswith("minimax"):
            return _lightning(fields, kind)
        if fields.get("mamba_n_heads", "mamba_num_heads", "n_mamba_heads") is not None:
            return _mamba2(fields)
        if kind == "mamba2":
            return _mamba2(fields)
        if fields.get("mamba_d_state", "state_size") is not None:
            return _mamba1(fields)
        raise ConfigError(
            "layer_types",
            tr(
                "{where}: a recurrent layer, but no field known here gives its state"
                " (linear_num_value_heads, linear_attn_config, mamba_n_heads, mamba_d_state)",
                where=fields.where,
            ),
        )

    return make


_DTYPES = {"float32": "f32", "bfloat16": "bf16", "float16": "fp16"}


def _state_dtype(fields: Fields) -> str:
    given = fields.get("mamba_ssm_dtype", "mamba_ssm_cache_dtype")
    return _DTYPES.get(str(given), "auto") if given is not None else "auto"


def _gated_delta(fields: Fields) -> State:
    """Qwen3-Next, 3.5, 3.6: the state is the outer product of a value's and a key's head."""
    keys = fields.whole("linear_num_key_heads", limit=MAX_HEADS)
    values = fields.whole("linear_num_value_heads", limit=MAX_HEADS)
    key, value = fields.whole("linear_key_head_dim"), fields.whole("linear_value_head_dim")
    kernel = fields.whole("linear_conv_kernel_dim")
    return State(
        "gdn",
        kernel - 1,
        2 * keys * key + values * value,
        values * value * key,
        dtype=_state_dtype(fields),
    )


def _kimi_delta(inner: Fields) -> State:
    """Kimi-Linear: queries, keys and values each have a convolution."""
    heads, dim = inner.whole("num_heads", limit=MAX_HEADS), inner.whole("head_dim")
    kernel = inner.whole("short_conv_kernel_size")
    return State("kda", kernel - 1, 3 * heads * dim, heads * dim * dim)


def _lightning(fields: Fields, kind: str) -> State:
    """MiniMax-Text: a head's state is the outer product of its key and value."""
    heads = fields.whole("num_attention_heads", limit=MAX_HEADS)
    dim = Attentions(fields, kind).head_dim()
    return State("lightning", 0, 0, heads * dim * dim)


def _mamba2(fields: Fields) -> State:
    """Mamba 2: convolution over the inner width and B and C of every group."""
    heads = fields.whole("mamba_n_heads", "mamba_num_heads", "n_mamba_heads", "num_heads")
    size = fields.whole("mamba_d_state", "ssm_state_size", "state_size")
    groups = fields.whole("mamba_n_groups", "n_groups", "mamba_ngroups", limit=MAX_HEADS)
    kernel = fields.whole("mamba_d_conv", "conv_kernel")
    inner = _inner(fields, heads)
    return State(
        "mamba2",
        kernel - 1,
        inner + 2 * groups * size,
        inner * size,
        dtype=_state_dtype(fields),
        groups=groups,
        group_channels=2 * size,
    )


def _inner(fields: Fields, heads: int) -> int:
    """The inner width: heads × head size, or as given."""
    given = fields.maybe("mamba_d_ssm", limit=MAX_ELEMENTS)
    names: tuple[str, ...] = ("mamba_d_head", "mamba_head_dim", "mamba_headdim")
    dim: Any = fields.get(*names)
    if dim is None and fields.raw.get("model_type") == "mamba2":
        names, dim = ("head_dim",), fields.get("head_dim")
    expand = fields.factor("mamba_expand", "expand")
    if dim is None or dim == "auto":
        if given is not None:
            return given
        if expand is None:
            raise fields.missing(names[0])
        return int(expand * fields.whole("hidden_size"))
    inner = heads * fields.checked(names, dim, MAX_DIM, 1)
    if given is not None and given != inner:
        raise ConfigError(
            "mamba_d_ssm",
            tr(
                "{where}: mamba_d_ssm {given} is not {heads} heads × {dim}",
                where=fields.where,
                given=given,
                heads=heads,
                dim=dim,
            ),
        )
    return inner


def _mamba1(fields: Fields) -> State:
    """Mamba 1: a state of d_state for every inner channel."""
    size = fields.whole("mamba_d_state", "state_size")
    kernel = fields.whole("mamba_d_conv", "conv_kernel")
    expand = fields.factor("mamba_expand", "expand")
    if expand is not None:
        inner = int(expand * fields.whole("hidden_size", "d_model"))
    else:
        inner = fields.whole("intermediate_size", "d_inner")
    return State("mamba1", kernel - 1, inner, inner * size, dtype=_state_dtype(fields))
