"""The upper bound of decode that memory bandwidth sets.

A step reads the weights that its tokens touch and the cache of every sequence:

    tokens/s ≤ B × bandwidth / (weights touched(B) + Σ KV read)
    weights touched(B) = what is not expert + expert weights × (1 − (1 − used/experts)^B)

A recurrence's state is read and written. Real engines reach 0.17 to 0.9 of it (llmfit issues 203
and 474), so it is a bound and no forecast.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from . import kv as _kv
from .model import Latent, Model, State
from .precision import Precision

if TYPE_CHECKING:
    from .weights import Weights

BATCHES = (1, 2, 4, 8, 16, 32, 64)


class Bound(NamedTuple):
    """The bound at one batch size.

    Attributes:
        batch: sequences decoded together.
        tokens_per_s: of all of them together, at most.
        weights_read_bytes: weights that a step touches.
        kv_read_bytes: cache that a step reads.
    """

    batch: int
    tokens_per_s: float
    weights_read_bytes: int
    kv_read_bytes: int


def bounds(
    model: Model,
    weights: Weights | None,
    k: Precision,
    v: Precision,
    context: int,
    bandwidth: int | None,
    batches: tuple[int, ...] = BATCHES,
) -> tuple[Bound, ...]:
    """The bound for each batch size; empty when weights or bandwidth are unknown.

    Args:
        model: the model.
        weights: its weights.
        k: precision of the keys.
        v: precision of the values.
        context: tokens that each sequence has.
        bandwidth: bytes per second, of all cards that a step reads from.
        batches: the batch sizes.
    """
    if weights is None or not bandwidth:
        return ()
    read = kv_read_bytes(model, k, v, context)
    result = []
    for batch in batches:
        touched = weights_touched(model, weights, batch)
        step = touched + batch * read
        if step:
            result.append(Bound(batch, batch * bandwidth / step, touched, batch * read))
    return tuple(result)


def weights_touched(model: Model, weights: Weights, batch: int) -> int:
    """Bytes of weights that one step over `batch` tokens reads."""
    if model.experts is None or not weights.experts:
        return weights.total
    unused = (1 - model.experts.active / model.experts.count) ** batch
    return weights.total - weights.experts + round(weights.experts * (1 - unused))


def kv_read_bytes(model: Model, k: Precision, v: Precision, context: int) -> int:
    """Bytes of cache that one sequence's next token reads.

    A sparse-attention indexer reads its own keys of every token and the latents of its top k.
    """
    total = 0
    for cache, layers in model.groups:
        if isinstance(cache, State):
            total += 2 * layers * _kv.state_bytes(cache, model)
        elif isinstance(cache, Latent) and cache.index_topk:
            seen = min(context, cache.index_topk)
            total += layers * (
                seen * _kv.latent_bytes(cache, k) + context * _kv.indexer_bytes(cache)
            )
        else:
            total += layers * _kv.stored_tokens(cache, context) * _kv.token_bytes(cache, k, v)
    return total
