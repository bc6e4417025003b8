"""A Llama's forward pass in NumPy: RMSNorm, attention, SwiGLU, layer after layer.

B is a number of sequences. Weights lie as in the file, (outputs, inputs).

A pass is a generator that pauses after every layer: whoever drives it can do other work in
between, or drop the pass. Its return value is the logits.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from kvtui.engine.attention import Attention, Places
from kvtui.engine.cache import KVCache, Slot
from kvtui.engine.geometry import LlamaConfig
from kvtui.engine.precision import Matrix, PackedMatrix

Floats = NDArray[np.float32]
Pass = Generator[None, None, Floats]
"""A forward pass: pauses after each layer, returns logits."""

_FEW_ROWS, _SMALL_PRODUCT = 8, 1_000_000
"""OpenBLAS multiplies without repacking the weights while outputs · inputs · rows stay below a
million (its `sgemm_small_kernel_permit`). For a few rows the repacking costs more than the rest,
so their products are cut to that size; measured, four rows then take half the time."""

_LARGEST_EXPONENT = np.float32(80)
"""exp(80) is still a float32."""


@dataclass(frozen=True, slots=True)
class Layer:
    """The weights of one transformer block."""

    attention_norm: Floats
    qkv: Matrix
    output: Matrix
    ffn_norm: Floats
    gate_up: Matrix
    down: Matrix


class Llama:
    """The weights of a model and its forward passes.

    Args:
        config: the model's sizes.
        embedding: (vocabulary, dim).
        layers: one `Layer` each.
        norm: the final norm's weights, (dim,).
        head: (vocabulary, dim); the embedding itself where the two are tied.
        context: positions to prepare rotations for.
        rope_factors: divisors of the rotation frequencies (Llama 3.1), or None.
    """

    def __init__(
        self,
        config: LlamaConfig,
        embedding: Matrix,
        layers: Sequence[Layer],
        norm: Floats,
        head: Matrix,
        context: int,
        rope_factors: Floats | None = None,
    ) -> None:
        self.config = config
        self.embedding = embedding
        self.layers = layers
        self.norm = norm
        self.head = head
        self.attention = Attention(config, context, rope_factors)
        self._eps = np.float32(config.norm_eps)

    @property
    def weight_arrays(self) -> list[Matrix]:
        """Every array of weights, each once."""
        arrays: list[Matrix] = [self.embedding, self.norm]
        if self.head is not self.embedding:
            arrays.append(self.head)
        for layer in self.layers:
            arrays += [layer.attention_norm, layer.qkv, layer.output]
            arrays += [layer.ffn_norm, layer.gate_up, layer.down]
        return arrays

    @property
    def n_params(self) -> int:
        """Weights, tied ones counted once."""
        return sum(array.size for array in self.weight_arrays)

    @property
    def nbytes(self) -> int:
        """Bytes the weights take in memory."""
        return sum(array.nbytes for array in self.weight_arrays)

    # -- passes ----------------------------------------------------------------------------------

    def extend(self, ids: Sequence[int], slot: Slot, *, every: bool = False) -> Pass:
        """Run `ids` behind what the slot holds and cache them.

        The slot's length grows when the pass is complete.

        Returns:
            The last token's logits, (vocabulary,); with `every` those of all, (T, vocabulary).
        """
        start = slot.length
        x = self.embedding[np.asarray(ids)]
        for i, layer in enumerate(self.layers):
            attended = self.attention.extend(self._qkv(layer, x), i, slot, start)
            x = self._finish_layer(layer, x, attended)
            yield
        slot.grow(start + len(x))
        return self._logits(x if every else x[-1])

    def recompute(self, ids: Sequence[int]) -> Pass:
        """Run the whole prefix and keep nothing: what every step costs without a cache.

        Returns:
            The last token's logits, (vocabulary,).
        """
        x = self.embedding[np.asarray(ids)]
        for layer in self.layers:
            attended = self.attention.recompute(self._qkv(layer, x))
            x = self._finish_layer(layer, x, attended)
            yield
        return self._logits(x[-1])

    def step(self, token_id: int, slot: Slot) -> Pass:
        """Run one token behind what the slot holds: matrix times vector throughout.

        Returns:
            Its logits, (vocabulary,).
        """
        at = slot.length
        x = self.embedding[token_id]
        for i, layer in enumerate(self.layers):
            attended = self.attention.step(self._qkv(layer, x), i, slot, at)
            x = self._finish_layer(layer, x, attended)
            yield
        slot.grow(at + 1)
        return self._logits(x)

    def step_batch(self, token_ids: Sequence[int], slots: Sequence[Slot], cache: KVCache) -> Pass:
        """Run one token for each of several sequences: the weights are read once for all.

        Args:
            token_ids: the sequences' last tokens.
            slots: where they are cached, in the order of the cache.
            cache: what the slots belong to.

        Returns:
            Their logits, (B, vocabulary).
        """
        places = Places.of(slots)
        x = self.embedding[np.asarray(token_ids)]
        for i, layer in enumerate(self.layers):
            attended = self.attention.step_batch(self._qkv(layer, x), i, cache, places)
            x = self._finish_layer(layer, x, attended)
            yield
        for slot, at in zip(slots, places.positions, strict=True):
            slot.grow(at + 1)
        return self._logits(x)

    # -- parts -----------------------------------------------------------------------------------

    def _normed(self, x: Floats, weights: Floats) -> Floats:
        """RMSNorm (Zhang and Sennrich, arXiv:1910.07467) over the last axis."""
        if x.ndim == 1:
            root = np.sqrt(x.dot(x) / np.float32(len(x)) + self._eps)
        else:
            root = np.sqrt(np.einsum("ij,ij->i", x, x) / np.float32(x.shape[1]) + self._eps)
            root = root[:, None]
        normed: Floats = x / root
        normed *= weights
        return normed

    def _qkv(self, layer: Layer, x: Floats) -> Floats:
        return _linear(layer.qkv, self._normed(x, layer.attention_norm))

    def _feed_forward(self, layer: Layer, x: Floats) -> Floats:
        """SwiGLU (Shazeer, arXiv:2002.05202): silu(gate) · up, then down."""
        both = _linear(layer.gate_up, self._normed(x, layer.ffn_norm))
        gate, up = both[..., : self.config.ffn], both[..., self.config.ffn :]
        hidden = np.minimum(-gate, _LARGEST_EXPONENT)
        np.exp(hidden, out=hidden)
        hidden += 1.0
        np.divide(gate, hidden, out=hidden)
        hidden *= up
        return _linear(layer.down, hidden)

    def _finish_layer(self, layer: Layer, x: Floats, attended: Floats) -> Floats:
        x = x + _linear(layer.output, attended)
        out: Floats = x + self._feed_forward(layer, x)
        return out

    def _logits(self, x: Floats) -> Floats:
        return _linear(self.head, self._normed(x, self.norm))


def _linear(weights: Matrix, x: Floats) -> Floats:
    """Apply (outputs, inputs) weights to one vector (inputs,) or to rows of them (B, inputs)."""
    if isinstance(weights, PackedMatrix):
        return weights.apply(x)
    if x.ndim == 1 or len(x) > _FEW_ROWS:
        return (weights @ x.T).T
    out = np.empty((len(weights), len(x)), np.float32)
    piece = max(1, _SMALL_PRODUCT // x.size)
    for begin in range(0, len(weights), piece):
        np.matmul(weights[begin : begin + piece], x.T, out=out[begin : begin + piece])
    return out.T
