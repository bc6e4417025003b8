"""The cache's bytes are the formula's, to the byte."""

from __future__ import annotations

import numpy as np
import pytest

from kvtui.engine.cache import KVCache
from kvtui.engine.errors import EngineError
from kvtui.engine.geometry import LlamaConfig


def config(layers: int, heads: int, kv_heads: int, head_dim: int) -> LlamaConfig:
    return LlamaConfig(
        layers=layers,
        dim=heads * head_dim,
        n_heads=heads,
        kv_heads=kv_heads,
        head_dim=head_dim,
        ffn=4,
        context=64,
    )


@pytest.mark.parametrize(
    ("geometry", "bytes_per_token"),
    [
        (config(30, 9, 3, 64), 46_080),  # SmolLM2-135M in float32
        (config(8, 9, 3, 32), 6_144),
        (config(5, 6, 2, 32), 2_560),
        (config(6, 7, 7, 32), 10_752),
        (config(1, 8, 1, 2), 16),
    ],
)
def test_bytes_in_use_equal_the_formula(geometry: LlamaConfig, bytes_per_token: int) -> None:
    assert geometry.kv_bytes_per_token() == bytes_per_token
    cache = KVCache(geometry, 3, 64)
    for slot, length in zip(cache.slots, (1, 64, 17), strict=True):
        assert cache.take() is slot
        slot.grow(length)
        assert slot.nbytes == bytes_per_token * length
    assert cache.usage().nbytes == bytes_per_token * 82
    assert cache.usage().tokens == 82
    assert cache.tokens_total == 192
    assert cache.nbytes_total == bytes_per_token * 192


def test_memory_that_the_system_refuses_is_said_in_one_sentence(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def refuse(*_arguments: object, **_options: object) -> object:
        raise OSError(12, "Cannot allocate memory")

    monkeypatch.setattr("kvtui.engine.precision.mmap.mmap", refuse)
    with pytest.raises(EngineError, match=r"0\.4 GiB that the KV cache of 4 sequences of 2048"):
        KVCache(config(30, 9, 3, 64), 4, 2048)


def test_slots_are_taken_and_given_back() -> None:
    cache = KVCache(config(1, 2, 2, 2), 2, 8)
    first, second = cache.take(), cache.take()
    assert first is not None
    assert second is not None
    assert cache.take() is None
    first.grow(5)
    cache.release(first)
    assert cache.usage().nbytes == 0
    first.grow(5)  # a pass that had not ended when its sequence was cancelled
    assert cache.usage().nbytes == 0
    assert cache.take() is first
    assert first.length == 0


def test_the_arrays_begin_as_zeros_of_float32() -> None:
    cache = KVCache(config(2, 2, 2, 2), 2, 8)
    assert cache.itemsize == 4
    assert cache.keys.dtype == np.float32
    assert not cache.keys.any()
    assert not cache.values.any()
    assert np.shares_memory(cache.slots[1].keys, cache.keys)
