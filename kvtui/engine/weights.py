"""A Llama's weights out of a GGUF file."""

from __future__ import annotations

import numpy as np

from kvtui.engine.errors import ModelFileError
from kvtui.engine.geometry import LlamaConfig
from kvtui.engine.gguf import GGUFFile
from kvtui.engine.precision import packed
from kvtui.engine.quant import Floats
from kvtui.engine.transformer import Layer, Llama


def load_llama(file: GGUFFile, config: LlamaConfig, context: int, precision: str = "f32") -> Llama:
    """Read all weights of a GGUF file.

    Args:
        file: an opened file of architecture llama.
        config: its sizes.
        context: positions to prepare for.
        precision: how the matrices are held, one of `PRECISIONS`.

    Raises:
        ModelFileError: a tensor is missing, unknown, undecodable, or of an unexpected shape.
    """
    tensors = _Tensors(file)
    width, kv_width = config.n_heads * config.head_dim, config.kv_heads * config.head_dim
    embedding = packed(tensors.load("token_embd.weight", (None, config.dim)), precision)
    vocabulary = len(embedding)
    layers = []
    for i in range(config.layers):
        block = f"blk.{i}."
        q = tensors.load(block + "attn_q.weight", (width, config.dim))
        k = tensors.load(block + "attn_k.weight", (kv_width, config.dim))
        v = tensors.load(block + "attn_v.weight", (kv_width, config.dim))
        gate = tensors.load(block + "ffn_gate.weight", (config.ffn, config.dim))
        up = tensors.load(block + "ffn_up.weight", (config.ffn, config.dim))
        layers.append(
            Layer(
                attention_norm=tensors.load(block + "attn_norm.weight", (config.dim,)),
                qkv=packed(np.concatenate((q, k, v)), precision),
                output=packed(
                    tensors.load(block + "attn_output.weight", (config.dim, width)), precision
                ),
                ffn_norm=tensors.load(block + "ffn_norm.weight", (config.dim,)),
                gate_up=packed(np.concatenate((gate, up)), precision),
                down=packed(
                    tensors.load(block + "ffn_down.weight", (config.dim, config.ffn)), precision
                ),
            )
        )
    norm = tensors.load("output_norm.weight", (config.dim,))
    tied = "output.weight" not in file.tensors
    head = embedding
    if not tied:
        head = packed(tensors.load("output.weight", (vocabulary, config.dim)), precision)
    factors = None
    if "rope_freqs.weight" in file.tensors:
        factors = tensors.load("rope_freqs.weight", (config.head_dim // 2,))
    tensors.refuse_unread()
    return Llama(config, embedding, layers, norm, head, context, factors)


def _fits(shape: tuple[int, ...], wanted: tuple[int | None, ...]) -> bool:
    pairs = zip(shape, wanted, strict=False)
    return len(shape) == len(wanted) and all(size in (None, found) for found, size in pairs)


class _Tensors:
    """Loads tensors, checks their shapes and keeps account of those nobody asked for."""

    def __init__(self, file: GGUFFile) -> None:
        self.file = file
        self.unread = set(file.tensors)

    def load(self, name: str, shape: tuple[int | None, ...]) -> Floats:
        info = self.file.tensors.get(name)
        if info is not None and not _fits(info.shape, shape):
            raise ModelFileError(
                f"{self.file.path} is inconsistent: {name} has the shape {info.shape}, "
                f"where {shape} is expected."
            )
        self.unread.discard(name)
        return self.file.load(name)

    def refuse_unread(self) -> None:
        """A weight left out would give wrong text without a word."""
        unread = sorted(self.unread)
        if unread:
            raise ModelFileError(
                f"{self.file.path} has weights this engine does not use, {unread[0]} first."
            )
