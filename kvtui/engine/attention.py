"""Grouped-query attention with rotary positions, and the cache it reads and fills.

Shapes: T tokens of one sequence, B sequences, n positions seen, H query heads in Hkv groups of
G, D numbers a head. What comes in is the product of the input and the stacked query, key and
value weights, (…, (H + 2 · Hkv) · D).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from kvtui.engine.cache import KVCache, Slot
from kvtui.engine.geometry import LlamaConfig

Floats = NDArray[np.float32]

_QUERY_BLOCK = 128
"""Queries scored at once in prefill: bounds the score matrix to H · 128 · n numbers."""


@dataclass(frozen=True, slots=True)
class Places:
    """Where the sequences of a batch stand.

    Attributes:
        slots: their slots, in the order of the cache.
        rows: the same as a range, where these are neighbours.
        positions: the position of each one's new token.
        mask: (B, 1, 1, longest), 0 for what a sequence may see and −∞ behind it.
        alike: whether padding all to the longest costs less than going one by one.
    """

    slots: Sequence[Slot]
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
        return cls(slots, slice(first, last + 1), positions, mask, alike)


class Attention:
    """The attention of one model; the same for all layers.

    Args:
        config: the model's sizes.
        context: positions to prepare rotations for.
        rope_factors: divisors of the rotation frequencies (Llama 3.1), or None.
    """

    def __init__(
        self, config: LlamaConfig, context: int, rope_factors: Floats | None = None
    ) -> None:
        self.rotations = rotations(config, context, rope_factors)
        self._config = config
        self._turned = config.n_heads + config.kv_heads
        self._scale = np.float32(config.head_dim**-0.5)

    def extend(self, qkv: Floats, i: int, slot: Slot, start: int) -> Floats:
        """Attention of T tokens from position `start` on, which it also caches.

        Args:
            qkv: (T, (H + 2 · Hkv) · D).
            i: the layer.
            slot: the sequence's cache, filled up to `start`.
            start: the first token's position.

        Returns:
            (T, H · D).
        """
        q, k, v = self._heads(qkv, start)
        end = start + len(qkv)
        slot.keys[i, :, start:end] = k
        slot.values[i, :, start:end] = v
        return self._causal(q, slot.keys[i, :, :end], slot.values[i, :, :end])

    def recompute(self, qkv: Floats) -> Floats:
        """Attention of all T tokens from the first on, without a cache.

        Args:
            qkv: (T, (H + 2 · Hkv) · D).

        Returns:
            (T, H · D).
        """
        return self._causal(*self._heads(qkv, 0))

    def step(self, qkv: Floats, i: int, slot: Slot, at: int) -> Floats:
        """Attention of the token at position `at` in layer `i`, which it also caches.

        Args:
            qkv: ((H + 2 · Hkv) · D,).
            i: the layer.
            slot: the sequence's cache.
            at: the token's position.

        Returns:
            (H · D,).
        """
        c = self._config
        heads = qkv.reshape(-1, c.head_dim)
        turned = _rotate(heads[: self._turned], self.rotations[at])
        slot.keys[i, :, at] = turned[c.n_heads :]
        slot.values[i, :, at] = heads[self._turned :]
        q: Floats = turned[: c.n_heads].reshape(c.kv_heads, c.group, c.head_dim) * self._scale
        scores = _scores(slot.keys[i, :, : at + 1], q)
        attended: Floats = _softmax(scores) @ slot.values[i, :, : at + 1]
        return attended.reshape(-1)

    def step_batch(self, qkv: Floats, i: int, cache: KVCache, places: Places) -> Floats:
        """As `step` for B sequences.

        Args:
            qkv: (B, (H + 2 · Hkv) · D).
            i: the layer.
            cache: all slots.
            places: which of them, and how far they are filled.

        Returns:
            (B, H · D).
        """
        if places.alike:
            return self._padded(qkv, i, cache, places)
        rows = zip(qkv, places.slots, places.positions, strict=True)
        return np.stack([self.step(row, i, slot, at) for row, slot, at in rows])

    def _padded(self, qkv: Floats, i: int, cache: KVCache, places: Places) -> Floats:
        """`step_batch` for neighbouring slots in one piece, padded to the longest."""
        c = self._config
        heads = qkv.reshape(len(qkv), -1, c.head_dim)
        turned = _rotate(heads[:, : self._turned], self.rotations[places.positions][:, None])
        rows, each = places.rows, np.arange(places.rows.start, places.rows.stop)
        cache.keys[each, i, :, places.positions] = turned[:, c.n_heads :]
        cache.values[each, i, :, places.positions] = heads[:, self._turned :]
        q = turned[:, : c.n_heads].reshape(-1, c.kv_heads, c.group, c.head_dim)
        scaled: Floats = q * self._scale
        longest = places.mask.shape[-1]
        scores = _scores(cache.keys[rows, i, :, :longest], scaled)
        scores += places.mask
        attended: Floats = _softmax(scores) @ cache.values[rows, i, :, :longest]
        return attended.reshape(len(qkv), -1)

    def _heads(self, qkv: Floats, start: int) -> tuple[Floats, Floats, Floats]:
        """Queries (Hkv, G, T, D), keys and values (Hkv, T, D); queries and keys rotated."""
        c, count = self._config, len(qkv)
        heads = qkv.reshape(count, -1, c.head_dim).transpose(1, 0, 2)
        turned = _rotate(heads[: self._turned], self.rotations[start : start + count])
        queries = turned[: c.n_heads].reshape(c.kv_heads, c.group, count, c.head_dim)
        return queries, turned[c.n_heads :], heads[self._turned :]

    def _causal(self, q: Floats, k: Floats, v: Floats) -> Floats:
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


def _scores(keys: Floats, queries: Floats) -> Floats:
    """Queries (…, G, D) against keys (…, n, D): (…, G, n).

    With the keys on the left BLAS takes half the time that it takes for the product as written.
    """
    products = keys @ np.swapaxes(queries, -1, -2)
    return np.ascontiguousarray(np.swapaxes(products, -1, -2))


def _softmax(scores: Floats) -> Floats:
    """Softmax over the last axis, in place."""
    scores -= scores.max(axis=-1, keepdims=True)
    np.exp(scores, out=scores)
    scores /= scores.sum(axis=-1, keepdims=True)
    return scores


def rotations(config: LlamaConfig, context: int, factors: Floats | None) -> NDArray[np.complex64]:
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
