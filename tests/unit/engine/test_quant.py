"""Weights out of their blocks, against values worked out by hand and against `gguf`."""

from __future__ import annotations

import struct

import numpy as np
import pytest

from kvtui.engine.quant import LAYOUTS, Layout, layout_of


def decode(type_id: int, raw: bytes) -> np.ndarray:
    return LAYOUTS[type_id].decode(np.frombuffer(raw, np.uint8))


def half(value: float) -> bytes:
    return struct.pack("<e", value)


def test_floats_are_read_as_they_are() -> None:
    np.testing.assert_array_equal(
        decode(0, struct.pack("<3f", 1.5, -2, 1e-30)), np.float32([1.5, -2, 1e-30])
    )
    np.testing.assert_array_equal(decode(1, half(0.5) + half(-3)), [0.5, -3])


def test_bfloat16_is_the_upper_half_of_a_float32() -> None:
    raw = b"".join(struct.pack("<f", value)[2:] for value in (1.0, -0.15625, 3.140625))
    np.testing.assert_array_equal(decode(30, raw), [1.0, -0.15625, 3.140625])


def test_q8_0_is_scale_times_signed_byte() -> None:
    quants = [-128, -1, 0, 127, *range(28)]
    weights = decode(8, half(0.25) + struct.pack("32b", *quants))
    np.testing.assert_array_equal(weights, np.array(quants) * 0.25)


def test_q4_0_holds_weight_j_low_and_weight_j_plus_16_high() -> None:
    packed = bytes(low | (15 - low) << 4 for low in range(16))
    weights = decode(2, half(2.0) + packed)
    np.testing.assert_array_equal(weights[:16], (np.arange(16) - 8) * 2.0)
    np.testing.assert_array_equal(weights[16:], (7.0 - np.arange(16)) * 2.0)


def test_q4_1_adds_a_minimum() -> None:
    packed = bytes(low | (15 - low) << 4 for low in range(16))
    weights = decode(3, half(0.5) + half(-1.0) + packed)
    np.testing.assert_array_equal(weights[:16], np.arange(16) * 0.5 - 1.0)
    np.testing.assert_array_equal(weights[16:], (15.0 - np.arange(16)) * 0.5 - 1.0)


def test_blocks_follow_one_another() -> None:
    first, second = half(1.0) + bytes(range(32)), half(2.0) + bytes(range(32))
    np.testing.assert_array_equal(
        decode(8, first + second), np.concatenate([np.arange(32), 2.0 * np.arange(32)])
    )


@pytest.mark.parametrize("type_id", [2, 3, 8])
def test_agrees_with_the_gguf_package(type_id: int) -> None:
    quants = pytest.importorskip("gguf.quants", reason="the gguf package is not installed")
    constants = pytest.importorskip("gguf.constants")
    kind = constants.GGMLQuantizationType(type_id)
    weights = np.random.default_rng(type_id).normal(size=(4, 64)).astype(np.float32)
    raw = quants.quantize(weights, kind)
    theirs = quants.dequantize(raw, kind)
    ours = LAYOUTS[type_id].decode(raw.ravel()).reshape(theirs.shape)
    np.testing.assert_allclose(ours, theirs, rtol=1e-6, atol=1e-7)


def test_more_types_come_from_the_gguf_package() -> None:
    pytest.importorskip("gguf", reason="the gguf package is not installed")
    q6_k = layout_of(14)
    assert isinstance(q6_k, Layout)
    assert (q6_k.name, q6_k.block, q6_k.size) == ("Q6_K", 256, 210)
    assert q6_k.decode(np.zeros(420, np.uint8)).shape == (512,)


def test_an_unknown_type_has_no_layout() -> None:
    assert layout_of(9999) is None
