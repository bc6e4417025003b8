"""Weights and cache in float16 and int8: the same model, fewer bytes, bounded errors."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest

from kvtui.engine.cache import KVCache, Slot
from kvtui.engine.errors import EngineError
from kvtui.engine.fidelity import Fidelity, compare, measure
from kvtui.engine.geometry import LlamaConfig
from kvtui.engine.gguf import GGUFFile
from kvtui.engine.precision import PackedMatrix, PackedStore, packed
from kvtui.engine.transformer import Floats, Llama, Pass
from kvtui.engine.weights import load_llama

SHORT = ("f16", "int8")
PROMPT = [3, 14, 15, 92, 65, 35, 89, 79, 32, 38, 46]


def run(work: Pass) -> Floats:
    while True:
        try:
            next(work)
        except StopIteration as done:
            logits: Floats = done.value
            return logits


def taken(cache: KVCache) -> Slot:
    slot = cache.take()
    assert slot is not None
    return slot


def widened(weights: Floats, precision: str) -> Floats:
    """The definition, number by number."""
    if precision == "f16":
        return weights.astype(np.float16).astype(np.float32)
    rows = []
    for row in weights:
        scale = np.float32(max(abs(float(v)) for v in row)) / np.float32(127)
        rows.append([round(float(v / scale)) * scale if scale else 0.0 for v in row])
    return np.array(rows, np.float32)


@pytest.mark.parametrize("precision", SHORT)
def test_a_matrix_is_its_rounded_self(precision: str, monkeypatch: pytest.MonkeyPatch) -> None:
    random = np.random.default_rng(1)
    weights = random.standard_normal((37, 24)).astype(np.float32)
    weights[5] = 0
    short = packed(weights, precision)
    assert isinstance(short, PackedMatrix)
    exact = widened(weights, precision)
    np.testing.assert_allclose(short[np.arange(37)], exact, atol=1e-6)
    np.testing.assert_allclose(short[7], exact[7], atol=1e-6)
    monkeypatch.setattr("kvtui.engine.precision._BLOCK", 24 * 10)  # pieces of ten rows
    one, rows = random.standard_normal(24), random.standard_normal((3, 24))
    for x in (one.astype(np.float32), rows.astype(np.float32)):
        np.testing.assert_allclose(short.apply(x), (exact @ x.T).T, atol=1e-4)
    assert (len(short), short.size) == (37, 37 * 24)
    assert short.nbytes == {"f16": 37 * 24 * 2, "int8": 37 * 24 + 37 * 4}[precision]


def test_numbers_beyond_half_do_not_become_infinite() -> None:
    huge = np.array([[1e6, -1e6, 1.0]], np.float32)
    assert packed(huge, "f16")[0].tolist() == [65504.0, -65504.0, 1.0]


def test_an_int8_vector_is_off_by_half_a_step_at_most() -> None:
    store = PackedStore.zeros((2, 3, 8, 16), "int8")
    vectors = np.random.default_rng(2).standard_normal((3, 16)).astype(np.float32) * 50
    store[1, :, 4] = vectors
    steps = np.abs(vectors).max(axis=-1) / 127
    assert (np.abs(store[1, :, 4] - vectors).max(axis=-1) <= steps * 0.5001).all()
    assert not store[0].any()


@pytest.mark.parametrize("kv", SHORT)
@pytest.mark.parametrize("weights", ["f32", *SHORT])
def test_every_way_to_run_gives_the_same(tiny_file: GGUFFile, weights: str, kv: str) -> None:
    """At once, in pieces, token by token and in a batch: one model, whatever holds its numbers."""
    config = LlamaConfig.from_metadata(tiny_file.metadata, "random")
    model = load_llama(tiny_file, config, config.context, weights)
    cache = KVCache(config, 3, config.context, kv)
    whole, parts, steps = taken(cache), taken(cache), taken(cache)
    expected = run(model.extend(PROMPT, whole, every=True))
    assert expected.shape == (len(PROMPT), len(model.head))
    run(model.extend(PROMPT[:4], parts))
    np.testing.assert_allclose(run(model.extend(PROMPT[4:], parts)), expected[-1], atol=2e-3)
    for position, token in enumerate(PROMPT):
        np.testing.assert_allclose(run(model.step(token, steps)), expected[position], atol=2e-3)
    alone = run(model.step(7, whole))
    together = run(model.step_batch([7, 7], [parts, steps], cache))
    np.testing.assert_allclose(together, [alone, alone], atol=4e-3)


@pytest.mark.parametrize(("kv", "each"), [("f32", 4 * 8), ("f16", 2 * 8), ("int8", 8 + 4)])
def test_the_bytes_of_a_cache_are_its_arrays(tiny: Llama, kv: str, each: int) -> None:
    """Two layers, two KV heads, head_dim 8: keys and values, int8 with a float32 scale a vector."""
    config = tiny.config
    assert (config.layers, config.kv_heads, config.head_dim) == (2, 2, 8)
    cache = KVCache(config, 2, 64, kv)
    slot = taken(cache)
    run(tiny.extend(PROMPT, slot))
    assert cache.bytes_per_token == 2 * 2 * 2 * each
    assert slot.nbytes == cache.usage().nbytes == len(PROMPT) * cache.bytes_per_token
    assert cache.nbytes_total == 2 * 64 * cache.bytes_per_token


def rows_of(path: Path, *pairs: tuple[str, str]) -> list[Fidelity]:
    rows: list[Fidelity] = []
    compare(str(path), pairs, rows.append)
    return rows


def test_fidelity_is_what_its_names_say(tiny_path: Path) -> None:
    same, half, eight = rows_of(tiny_path, ("f32", "f32"), ("f16", "f16"), ("int8", "int8"))
    assert (same.kl_mean, same.kl_max, same.top1, same.max_abs) == (0.0, 0.0, 1.0, 0.0)
    assert same.nll == same.nll_f32 == half.nll_f32
    assert 0 < half.max_abs < eight.max_abs
    assert 0 < half.kl_mean < eight.kl_mean <= eight.kl_max
    assert half.weights_bytes < 0.6 * same.weights_bytes
    assert eight.weights_bytes < 0.4 * same.weights_bytes


def test_divergence_by_the_definition(tiny_path: Path, tiny: Llama) -> None:
    """KL, agreement and differences of one pair, worked out position by position."""
    from kvtui.engine.fidelity import TEXT
    from kvtui.engine.tokenizer import Tokenizer

    (row,) = rows_of(tiny_path, ("int8", "f32"))
    file = GGUFFile.open(tiny_path)
    tokenizer = Tokenizer.from_metadata(file.metadata, "random")
    ids = tokenizer.encode(TEXT, specials=False)
    if tokenizer.bos_id is not None:
        ids.insert(0, tokenizer.bos_id)
    ids = ids[:128]
    assert row.positions == len(ids)
    short = load_llama(file, tiny.config, 128, "int8")
    divergences, agree, apart, surprise = [], 0, 0.0, []
    for n in range(1, len(ids) + 1):
        p, q = run(tiny.recompute(ids[:n])), run(short.recompute(ids[:n]))
        apart = max(apart, float(np.abs(p - q).max()))
        agree += int(p.argmax()) == int(q.argmax())
        p_log = p - np.log(np.exp(p.astype(np.float64)).sum())
        q_log = q - np.log(np.exp(q.astype(np.float64)).sum())
        divergences.append(float((np.exp(p_log) * (p_log - q_log)).sum()))
        if n < len(ids):
            surprise.append(-float(q_log[ids[n]]))
    assert row.kl_mean == pytest.approx(np.mean(divergences), rel=0.05, abs=1e-6)
    assert row.kl_max == pytest.approx(max(divergences), rel=0.05, abs=1e-5)
    assert row.top1 == pytest.approx(agree / len(ids), abs=0.02)
    assert row.max_abs == pytest.approx(apart, rel=0.02)
    assert row.nll == pytest.approx(np.mean(surprise), rel=1e-3)
    assert math.isfinite(row.nll)


def test_a_model_that_is_not_there_is_a_sentence() -> None:
    with pytest.raises(EngineError, match="no model 'nowhere'"):
        measure("nowhere", [("f16", "f32")])
