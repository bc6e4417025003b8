"""Weights as GGUF stores them, turned into float32.

Block layouts are ggml's (ggml-common.h): 32 weights share one float16 scale `d`
(and a minimum `m` in Q4_1); a Q4 byte j holds weight j in its low and weight j + 16
in its high half.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Bytes = NDArray[np.uint8]
Floats = NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class Layout:
    """How one GGUF tensor type lies in the file: `size` bytes hold `block` weights."""

    name: str
    block: int
    size: int
    decode: Callable[[Bytes], Floats]


def _f32(raw: Bytes) -> Floats:
    return raw.view("<f4").astype(np.float32)


def _f16(raw: Bytes) -> Floats:
    return raw.view("<f2").astype(np.float32)


def _bf16(raw: Bytes) -> Floats:
    widened: Floats = (raw.view("<u2").astype(np.uint32) << 16).view(np.float32)
    return widened


def _q8_0(raw: Bytes) -> Floats:
    blocks = raw.reshape(-1, 34)
    scale = blocks[:, :2].copy().view("<f2").astype(np.float32)
    return (blocks[:, 2:].view(np.int8) * scale).ravel()


def _nibbles(packed: Bytes) -> Floats:
    """(n, 16) bytes to (n, 32) weights from 0 to 15."""
    weights = np.empty((len(packed), 32), np.float32)
    weights[:, :16] = packed & 15
    weights[:, 16:] = packed >> 4
    return weights


def _q4_0(raw: Bytes) -> Floats:
    blocks = raw.reshape(-1, 18)
    weights = _nibbles(blocks[:, 2:])
    weights -= 8
    weights *= blocks[:, :2].copy().view("<f2").astype(np.float32)
    return weights.ravel()


def _q4_1(raw: Bytes) -> Floats:
    blocks = raw.reshape(-1, 20)
    scale_and_minimum = blocks[:, :4].copy().view("<f2").astype(np.float32)
    weights = _nibbles(blocks[:, 4:])
    weights *= scale_and_minimum[:, :1]
    weights += scale_and_minimum[:, 1:]
    return weights.ravel()


LAYOUTS: dict[int, Layout] = {
    0: Layout("F32", 1, 4, _f32),
    1: Layout("F16", 1, 2, _f16),
    2: Layout("Q4_0", 32, 18, _q4_0),
    3: Layout("Q4_1", 32, 20, _q4_1),
    8: Layout("Q8_0", 32, 34, _q8_0),
    30: Layout("BF16", 1, 2, _bf16),
}


def layout_of(type_id: int) -> Layout | None:
    """The layout of a GGUF tensor type; types beyond `LAYOUTS` need the `gguf` package.

    Returns:
        None where neither this module nor an installed `gguf` knows the type.
    """
    return LAYOUTS.get(type_id) or _layout_from_gguf(type_id)


def _layout_from_gguf(type_id: int) -> Layout | None:
    try:
        from gguf.constants import GGML_QUANT_SIZES, GGMLQuantizationType
        from gguf.quants import dequantize
    except ImportError:
        return None
    known = {int(member): member for member in GGMLQuantizationType}
    kind = known.get(type_id)
    if kind is None or kind not in GGML_QUANT_SIZES:
        return None
    block, size = GGML_QUANT_SIZES[kind]

    def decode(raw: Bytes) -> Floats:
        weights: Floats = dequantize(raw.reshape(-1, size), kind).astype(np.float32).ravel()
        return weights

    return Layout(kind.name, block, size, decode)
