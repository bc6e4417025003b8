"""The shape of a Llama, as its GGUF metadata states it and as the engine tells others."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from kvtui.engine.errors import ModelFileError

_REQUIRED = object()


@dataclass(frozen=True, slots=True)
class LlamaConfig:
    """Sizes of one Llama-architecture model.

    `context` is the longest sequence in tokens; `rope_base` and `rope_scale` give the
    rotation of pair i at position p: p / rope_scale · rope_base^(−2i / head_dim).
    """

    layers: int
    dim: int
    n_heads: int
    kv_heads: int
    head_dim: int
    ffn: int
    context: int
    rope_base: float = 10000.0
    rope_scale: float = 1.0
    norm_eps: float = 1e-5

    @property
    def group(self) -> int:
        """Query heads that share one key/value head (1: MHA, n_heads: MQA)."""
        return self.n_heads // self.kv_heads

    def kv_bytes_per_token(self, itemsize: int = 4) -> int:
        """Bytes one token holds in the KV cache: 2 · layers · kv_heads · head_dim · itemsize.

        The 2 stands for K and V (Ainslie et al., "GQA", arXiv:2305.13245, section 2).
        """
        return 2 * self.layers * self.kv_heads * self.head_dim * itemsize

    @classmethod
    def from_metadata(cls, metadata: Mapping[str, object], name: str) -> LlamaConfig:
        """Read the sizes from GGUF metadata.

        Args:
            metadata: the file's key/value pairs.
            name: what to call the file in an error.

        Raises:
            ModelFileError: another architecture, or a size that is missing or impossible.
        """
        reader = _Fields(metadata, name)
        architecture = metadata.get("general.architecture")
        if architecture != "llama":
            raise ModelFileError(
                f"{name} holds a model of architecture {architecture!r}; "
                "the embedded engine runs 'llama' only."
            )
        if reader.integer("llama.expert_count", 0) > 0:
            raise ModelFileError(
                f"{name} is a mixture of experts, which the embedded engine does not run."
            )
        dim = reader.integer("llama.embedding_length")
        n_heads = reader.integer("llama.attention.head_count")
        config = cls(
            layers=reader.integer("llama.block_count"),
            dim=dim,
            n_heads=n_heads,
            kv_heads=reader.integer("llama.attention.head_count_kv", n_heads),
            head_dim=reader.integer("llama.attention.key_length", dim // max(n_heads, 1)),
            ffn=reader.integer("llama.feed_forward_length"),
            context=reader.integer("llama.context_length"),
            rope_base=reader.number("llama.rope.freq_base", 10000.0),
            rope_scale=_rope_scale(reader),
            norm_eps=reader.number("llama.attention.layer_norm_rms_epsilon", 1e-5),
        )
        config._check(reader)
        return config

    def _check(self, reader: _Fields) -> None:
        sizes = (self.layers, self.dim, self.n_heads, self.kv_heads, self.head_dim, self.ffn)
        if min(*sizes, self.context) < 1:
            raise reader.error("states a size of zero or less")
        if self.n_heads % self.kv_heads:
            raise reader.error(f"has {self.n_heads} heads, no multiple of {self.kv_heads} KV heads")
        if self.head_dim % 2:
            raise reader.error(f"has an odd head size ({self.head_dim}), which RoPE cannot rotate")
        if reader.integer("llama.rope.dimension_count", self.head_dim) != self.head_dim:
            raise reader.error("rotates only a part of each head, which is not supported")
        if reader.integer("llama.attention.value_length", self.head_dim) != self.head_dim:
            raise reader.error("has keys and values of different sizes, which is not supported")


def _rope_scale(reader: _Fields) -> float:
    kind = reader.metadata.get("llama.rope.scaling.type", "none")
    if kind == "none":
        return 1.0
    if kind != "linear":
        raise reader.error(f"scales RoPE by {kind!r}; only 'linear' is supported")
    return reader.number("llama.rope.scaling.factor", 1.0)


@dataclass(frozen=True, slots=True)
class EngineGeometry:
    """What others want to know of a served model, as the child states it; sizes in bytes.

    `weights_bytes` is what the weights take in memory, `file_bytes` what they take in the file;
    `context` is what one sequence can hold here. The bytes of a token count int8's scales;
    `kv_itemsize` does not.
    """

    layers: int
    n_heads: int
    kv_heads: int
    head_dim: int
    kv_itemsize: int
    kv_bytes_per_token: int
    context: int
    context_train: int
    vocab: int
    n_params: int
    weights_bytes: int
    file_bytes: int
    weights_dtype: str = "f32"
    kv_dtype: str = "f32"


@dataclass(frozen=True, slots=True)
class _Fields:
    metadata: Mapping[str, object]
    name: str

    def error(self, fault: str) -> ModelFileError:
        return ModelFileError(f"{self.name} {fault}.")

    def integer(self, key: str, default: int | object = _REQUIRED) -> int:
        value = self.metadata.get(key, default)
        if isinstance(value, bool) or not isinstance(value, int):
            raise self._bad(key, value)
        return value

    def number(self, key: str, default: float) -> float:
        value = self.metadata.get(key, default)
        if isinstance(value, bool) or not isinstance(value, (int, float)) or not value > 0:
            raise self._bad(key, value)
        return float(value)

    def _bad(self, key: str, value: object) -> ModelFileError:
        if value is _REQUIRED:
            return self.error(f"lacks {key} in its metadata")
        return self.error(f"has an unusable {key} in its metadata")
