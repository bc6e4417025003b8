"""Weights in bytes, in all and on the fullest card.

Parameters × bits; a quantised checkpoint usually leaves the embedding and the output head in
16 bits, except ggml's, which quantise those too. All experts of a mixture count for memory. For
70B in w8a8 this gives 67.67 GiB, where vLLM logged 67.72
(https://github.com/vllm-project/vllm/pull/12569).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from kvtui.language import tr

from . import precision as _precision
from .model import Model
from .parallel import Parallel
from .units import ceil_div

# A checkpoint in one of these keeps embedding and head in 16 bits.
_PARTLY = ("fp8", "int8", "int4", "nvfp4", "mxfp4")


class Weights(NamedTuple):
    """Sizes in bytes.

    Attributes:
        total: all weights once, LoRA adapters and draft models included.
        experts: what of them are routed experts.
        ends: what of them are embedding and output head.
        how: how the size was found, for display.
    """

    total: int
    experts: int
    ends: int
    how: str


def weigh(model: Model, dtype: str | None, given: int | None, extra: int = 0) -> Weights | None:
    """The weights of a model, or None when neither size nor parameters are known.

    Args:
        model: the model.
        dtype: precision of the weights where it is not the checkpoint's.
        given: their size in bytes when known.
        extra: bytes of LoRA adapters and draft models beside them.

    Raises:
        UnknownPrecisionError: for an unknown precision.
    """
    kind = _precision.parse(dtype or model.weights_dtype)
    ends = ends_params(model)
    experts = model.experts.params if model.experts else 0
    if given is not None:
        total, how = given, tr("as given for all cards together")
    elif dtype is None and model.weights_bytes is not None:
        total, how = model.weights_bytes, tr("as measured")
    elif model.params is None:
        return None
    elif kind.name == "mxfp4" and experts:
        # Only the experts are in 4 bits (gpt-oss, Kimi-K3).
        total = kind.bytes(experts) + 2 * max(model.params - experts, 0)
        how = tr("{params:,.2f} B parameters, the experts in mxfp4", params=model.params / 1e9)
    elif kind.name in _PARTLY:
        total = kind.bytes(max(model.params - ends, 0)) + 2 * min(ends, model.params)
        how = tr(
            "{params:,.2f} B parameters × {name}, embedding and head in 16 bits",
            params=model.params / 1e9,
            name=kind.name,
        )
    else:
        total = kind.bytes(model.params)
        how = tr("{params:,.2f} B parameters × {size}", params=model.params / 1e9, size=kind.label)
    params = model.params or 0
    return Weights(
        total + extra,
        _part(total, experts, params),
        min(_part(total, ends, params) if kind.name not in _PARTLY else 2 * ends, total),
        how,
    )


def ends_params(model: Model) -> int:
    """Parameters of embedding and output head; 0 when the vocabulary is unknown."""
    if model.vocab is None or model.hidden is None:
        return 0
    return model.vocab * model.hidden * (1 if model.tied else 2)


def _part(total: int, params: int, of: int) -> int:
    return min(total * params // of, total) if of else 0


def on_ranks(weights: Weights | None, split: Parallel, sizes: Sequence[int]) -> list[int]:
    """Bytes on a card of each pipeline stage.

    Args:
        weights: the weights; None counts none.
        split: how the model is spread.
        sizes: layers of each stage.
    """
    if weights is None:
        return [0] * len(sizes)
    layers = sum(sizes) or 1
    over = split.ep if split.ep is not None else split.tp
    body = weights.total - weights.experts - weights.ends
    result = []
    for number, size in enumerate(sizes):
        # Embedding on the first stage, head on the last.
        held = (number == 0) + (number == len(sizes) - 1)
        rank = ceil_div(ceil_div(body * size, layers), split.tp)
        rank += ceil_div(ceil_div(weights.experts * size, layers), over)
        rank += ceil_div(weights.ends * held, 2 * split.tp)
        result.append(rank)
    return result
