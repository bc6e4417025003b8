"""A Llama's forward pass in NumPy: RMSNorm, RoPE, grouped-query attention, SwiGLU.

Shapes: T tokens of one sequence, B sequences, H query heads in Hkv groups of G, D numbers a
head. Weights lie as in the file, (outputs, inputs).

A pass is a generator that pauses after every layer: whoever drives it can do other work in
between, or drop the pass. Its return value is the logits.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from kvtui.engine.cache import KVCache, Slot
from kvtui.engine.geometry import LlamaConfig

Floats = NDArray[np.float32]
Pass = Generator[None, None, Floats]
"""A forward pass: pauses after each layer, returns logits."""

_QUERY_BLOCK = 128
"""Queries scored at once in prefill: bounds the score matrix to H · 128 · n numbers."""


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
    qkv: Floats
    output: Floats
    ffn_norm: Floats
    gate_up: Floats
    down: Floats


@dataclass(frozen=True, slots=True)
class Places:
    """Where the sequences of a batch stand.

    Attributes:
        rows: their slots, where these are neighbours.
        positions: the position of each one's new token.
        mask: (B, 1, 1, longest), 0 for what a sequence may see and −∞ behind it.
        alike: whether padding all to the longest costs less than going one by one.
    """

    rows: slice
    positions: list[int]
    mask: Floats
    alike: bool

    @classmethod
    def of(cls, slots: Sequence[Slot]) -> Places:
        """The places of `slots`, in the order of the cache."""
        positions = [slot.length for slot in slots]
        longest = max(positions) + 1
        seen = np.arange(longest) <= np.asarray(positions)[:, None]
        mask = np.where(seen, np.float32(0), np.float32(-np.inf))[:, None, None]
        first, last = slots[0].index, slots[-1].index
        neighbours = last - first + 1 == len(slots)
        alike = neighbours and 2 * int(seen.sum()) >= seen.size
        return cls(slice(first, last + 1), positions, mask, alike)


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
        embedding: Floats,
        layers: Sequence[Layer],
        norm: Floats,
        head: Floats,
        context: int,
        rope_factors: Floats | None = None,
    ) -> None:
        self.config = config
        self.embedding = embedding
        self.layers = layers
        self.norm = norm
        self.head = head
        self._rotations = _rotations(config, context, rope_factors)
        self._scale = np.float32(config.head_dim**-0.5)
        self._eps = np.float32(config.norm_eps)

    @property
    def weight_arrays(self) -> list[Floats]:
        """Every array of weights, each once."""
        arrays = [self.embedding, self.norm]
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

    def extend(self, ids: Sequence[int], slot: Slot) -> Pass:
        """Run `ids` behind what the slot holds and cache them.

        The slot's length grows when the pass is complete.

        Returns:
            The last token's logits, (vocabulary,).
        """
        start = slot.length
        x = self.embedding[np.asarray(ids)]
        for i, layer in enumerate(self.layers):
            q, k, v = self._project(layer, x, start)
            end = start + len(x)
            slot.keys[i, :, start:end] = k
            slot.values[i, :, start:end] = v
            attended = self._attend(q, slot.keys[i, :, :end], slot.values[i, :, :end])
            x = self._finish_layer(layer, x, attended)
            yield
        slot.grow(start + len(x))
        return self._logits(x[-1])

    def recompute(self, ids: Sequence[int]) -> Pass:
        """Run the whole prefix and keep nothing: what every step costs without a cache.

        Returns:
            The last token's logits, (vocabulary,).
        """
        x = self.embedding[np.asarray(ids)]
        for layer in self.layers:
            q, k, v = self._project(layer, x, 0)
            x = self._finish_layer(layer, x, self._attend(q, k, v))
            yield
        return self._logits(x[-1])

    def step(self, token_id: int, slot: Slot) -> Pass:
        """Run one token behind what the slot holds: matrix times vector throughout.

        Returns:
            Its logits, (vocabulary,).
        """
        at = slot.length
        rotation = self._rotations[at]
        x = self.embedding[token_id]
        for i, layer in enumerate(self.layers):
            qkv = _linear(layer.qkv, self._normed(x, layer.attention_norm))
            x = x + _linear(layer.output, self._attend_one(qkv, rotation, i, slot, at))
            x = x + self._feed_forward(layer, x)
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
        rotations = self._rotations[places.positions]
        x = self.embedding[np.asarray(token_ids)]
        for i, layer in enumerate(self.layers):
            qkv = _linear(layer.qkv, self._normed(x, layer.attention_norm))
            if places.alike:
                attended = self._attend_alike(qkv, rotations, i, cache, places)
            else:
                attended = np.stack(
                    [
                        self._attend_one(row, rotation, i, slot, at)
                        for row, rotation, slot, at in zip(
                            qkv, rotations, slots, places.positions, strict=True
                        )
                    ]
                )
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

    def _project(self, layer: Layer, x: Floats, start: int) -> tuple[Floats, Floats, Floats]:
        """Queries (Hkv, G, T, D), keys and values (Hkv, T, D); queries and keys rotated."""
        c = self.config
        qkv = _linear(layer.qkv, self._normed(x, layer.attention_norm))
        heads = qkv.reshape(len(x), c.n_heads + 2 * c.kv_heads, c.head_dim).transpose(1, 0, 2)
        turned = _rotate(heads[: c.n_heads + c.kv_heads], self._rotations[start : start + len(x)])
        queries = turned[: c.n_heads].reshape(c.kv_heads, c.group, len(x), c.head_dim)
        return queries, turned[c.n_heads :], heads[c.n_heads + c.kv_heads :]

    def _attend(self, q: Floats, k: Floats, v: Floats) -> Floats:
        """Causal attention of T queries, the last T of n positions.

        Args:
            q: (Hkv, G, T, D).
            k: (Hkv, n, D).
            v: (Hkv, n, D).

        Returns:
            (T, H · D).
        """
        kv_heads, group, count, dim = q.shape
        past = k.shape[1] - count
        out = np.empty((count, kv_heads, group, dim), np.float32)
        for begin in range(0, count, _QUERY_BLOCK):
            end = min(begin + _QUERY_BLOCK, count)
            seen = past + end
            block: Floats = q[:, :, begin:end].reshape(kv_heads, -1, dim) * self._scale
            scores: Floats = block @ k[:, :seen].transpose(0, 2, 1)
            grid = scores.reshape(kv_heads, group, end - begin, seen)
            hidden = np.triu(np.ones((end - begin, end - begin), bool), 1)
            grid[..., past + begin :][..., hidden] = -np.inf
            mixed = _softmax(scores) @ v[:, :seen]
            out[begin:end] = mixed.reshape((*grid.shape[:3], dim)).transpose(2, 0, 1, 3)
        return out.reshape(count, -1)

    def _attend_one(
        self, qkv: Floats, rotation: NDArray[np.complex64], i: int, slot: Slot, at: int
    ) -> Floats:
        """Attention of the token at position `at` in layer `i`, which it also caches.

        Args:
            qkv: ((H + 2 · Hkv) · D,).
            rotation: (D / 2,).
            i: the layer.
            slot: the sequence's cache.
            at: the token's position.

        Returns:
            (H · D,).
        """
        c = self.config
        heads = qkv.reshape(-1, c.head_dim)
        turned = _rotate(heads[: c.n_heads + c.kv_heads], rotation)
        slot.keys[i, :, at] = turned[c.n_heads :]
        slot.values[i, :, at] = heads[c.n_heads + c.kv_heads :]
        q: Floats = turned[: c.n_heads].reshape(c.kv_heads, c.group, c.head_dim) * self._scale
        scores: Floats = q @ slot.keys[i, :, : at + 1].transpose(0, 2, 1)
        attended: Floats = _softmax(scores) @ slot.values[i, :, : at + 1]
        return attended.reshape(-1)

    def _attend_alike(
        self,
        qkv: Floats,
        rotations: NDArray[np.complex64],
        i: int,
        cache: KVCache,
        places: Places,
    ) -> Floats:
        """As `_attend_one` for B neighbouring slots at once, padded to the longest.

        Args:
            qkv: (B, (H + 2 · Hkv) · D).
            rotations: (B, D / 2).
            i: the layer.
            cache: all slots.
            places: which of them, and how far they are filled.

        Returns:
            (B, H · D).
        """
        c = self.config
        heads = qkv.reshape(len(qkv), -1, c.head_dim)
        turned = _rotate(heads[:, : c.n_heads + c.kv_heads], rotations[:, None])
        keys, values = cache.keys[places.rows, i], cache.values[places.rows, i]
        each = np.arange(len(qkv))
        keys[each, :, places.positions] = turned[:, c.n_heads :]
        values[each, :, places.positions] = heads[:, c.n_heads + c.kv_heads :]
        q = turned[:, : c.n_heads].reshape(-1, c.kv_heads, c.group, c.head_dim)
        scaled: Floats = q * self._scale
        longest = places.mask.shape[-1]
        scores: Floats = scaled @ keys[:, :, :longest].transpose(0, 1, 3, 2)
        scores += places.mask
        attended: Floats = _softmax(scores) @ values[:, :, :longest]
        return attended.reshape(len(qkv), -1)

    def _logits(self, x: Floats) -> Floats:
        return _linear(self.head, self._normed(x, self.norm))


def _linear(weights: Floats, x: Floats) -> Floats:
    """Apply (outputs, inputs) weights to one vector (inputs,) or to rows of them (B, inputs)."""
    if x.ndim == 1 or len(x) > _FEW_ROWS:
        return (weights @ x.T).T
    out = np.empty((len(weights), len(x)), np.float32)
    piece = max(1, _SMALL_PRODUCT // x.size)
    for begin in range(0, len(weights), piece):
        np.matmul(weights[begin : begin + piece], x.T, out=out[begin : begin + piece])
    return out.T


def _softmax(scores: Floats) -> Floats:
    """Softmax over the last axis, in place."""
    scores -= scores.max(axis=-1, keepdims=True)
    np.exp(scores, out=scores)
    scores /= scores.sum(axis=-1, keepdims=True)
    return scores


def _rotations(config: LlamaConfig, context: int, factors: Floats | None) -> NDArray[np.complex64]:
    """RoPE's rotation of each pair at each position, (context, D / 2), as unit complex numbers.

    Source: Su et al., arXiv:2104.09864, equation 34.
    """
    pairs = np.arange(0, config.head_dim, 2, dtype=np.float64)
    frequencies = config.rope_base ** (-pairs / config.head_dim) / config.rope_scale
    if factors is not None:
        frequencies = frequencies / factors
    angles = np.outer(np.arange(context, dtype=np.float64), frequencies)
    turns: NDArray[np.complex64] = np.exp(1j * angles).astype(np.complex64)
    return turns


def _rotate(heads: Floats, rotation: NDArray[np.complex64]) -> Floats:
    """Rotate pairs (2i, 2i + 1), the order in which Llama GGUF files store queries and keys.

    Read as complex numbers, a rotation is one product.
    """
    pairs = np.ascontiguousarray(heads).view(np.complex64)
    turned: Floats = (pairs * rotation).view(np.float32)
    return turned
