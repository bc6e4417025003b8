"""The forward pass against plain loops, and its ways of running against each other."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import reference
from tinygguf import Q8_0, random_llama

from kvtui.engine.cache import KVCache, Slot
from kvtui.engine.geometry import LlamaConfig
from kvtui.engine.gguf import GGUFFile
from kvtui.engine.transformer import Floats, Llama, Pass
from kvtui.engine.weights import load_llama

PROMPT = [5, 40, 7, 200, 12, 12, 90, 3, 66, 101, 8, 150]


def run(work: Pass) -> Floats:
    while True:
        try:
            next(work)
        except StopIteration as done:
            return done.value


def taken(cache: KVCache) -> Slot:
    slot = cache.take()
    assert slot is not None
    return slot


def loaded(path: Path) -> tuple[GGUFFile, Llama]:
    file = GGUFFile.open(path)
    config = LlamaConfig.from_metadata(file.metadata, "m")
    return file, load_llama(file, config, config.context)


@pytest.mark.parametrize(("heads", "kv_heads"), [(4, 4), (4, 2), (6, 2), (4, 1)])
def test_logits_are_those_of_the_plain_loops(tmp_path: Path, heads: int, kv_heads: int) -> None:
    file, model = loaded(random_llama(tmp_path / "m.gguf", heads=heads, kv_heads=kv_heads))
    expected = reference.logits(file, PROMPT)
    cache = KVCache(model.config, 2, 64)
    whole, stepwise = taken(cache), taken(cache)
    np.testing.assert_allclose(run(model.extend(PROMPT, whole)), expected[-1], atol=2e-4)
    np.testing.assert_allclose(run(model.recompute(PROMPT)), expected[-1], atol=2e-4)
    for position, token in enumerate(PROMPT):
        np.testing.assert_allclose(run(model.step(token, stepwise)), expected[position], atol=2e-4)


def test_quantised_weights_run_the_same_way(tmp_path: Path) -> None:
    file, model = loaded(random_llama(tmp_path / "m.gguf", dim=64, kind=Q8_0))
    np.testing.assert_allclose(
        run(model.recompute(PROMPT)), reference.logits(file, PROMPT)[-1], atol=2e-4
    )


def test_a_prompt_in_chunks_is_the_prompt(tiny: Llama, cache: KVCache) -> None:
    whole, parts = taken(cache), taken(cache)
    expected = run(tiny.extend(PROMPT, whole))
    run(tiny.extend(PROMPT[:5], parts))
    run(tiny.extend(PROMPT[5:6], parts))
    np.testing.assert_allclose(run(tiny.extend(PROMPT[6:], parts)), expected, atol=1e-4)
    assert parts.length == whole.length == len(PROMPT)
    np.testing.assert_allclose(parts.keys, whole.keys, atol=1e-4)


def test_attention_is_the_same_in_blocks(tiny: Llama, monkeypatch: pytest.MonkeyPatch) -> None:
    expected = run(tiny.recompute(PROMPT))
    monkeypatch.setattr("kvtui.engine.attention._QUERY_BLOCK", 5)
    np.testing.assert_allclose(run(tiny.recompute(PROMPT)), expected, atol=1e-4)


def test_cache_on_and_off_give_the_same_greedy_tokens(tiny: Llama, cache: KVCache) -> None:
    slot = taken(cache)
    on, off = [], []
    logits = run(tiny.extend(PROMPT, slot))
    for _ in range(40):
        on.append(int(logits.argmax()))
        logits = run(tiny.step(on[-1], slot))
    for _ in range(40):
        off.append(int(run(tiny.recompute(PROMPT + off)).argmax()))
    assert on == off


@pytest.mark.parametrize("gap", [False, True])
@pytest.mark.parametrize("lengths", [[3, 9, 5, 7], [2, 80, 3, 4]])
def test_a_batch_gives_what_each_would_give_alone(
    tiny: Llama, cache: KVCache, lengths: list[int], gap: bool
) -> None:
    slots = [taken(cache) for _ in range(len(lengths) + 1)]
    slots = slots[:2] + slots[3:] if gap else slots[: len(lengths)]
    alone = KVCache(tiny.config, len(lengths), 128)
    last = []
    expected = []
    for n, (length, slot) in enumerate(zip(lengths, slots, strict=True)):
        prompt = [(7 * n + 3 * t) % 250 for t in range(length)]
        run(tiny.extend(prompt, slot))
        other = taken(alone)
        run(tiny.extend(prompt, other))
        last.append(30 + n)
        expected.append(run(tiny.step(last[-1], other)))
    together = run(tiny.step_batch(last, slots, cache))
    np.testing.assert_allclose(together, expected, atol=2e-4)
    assert [slot.length for slot in slots] == [length + 1 for length in lengths]
    for slot, other in zip(slots, alone.slots, strict=True):
        n = other.length
        np.testing.assert_allclose(slot.keys[:, :, :n], other.keys[:, :, :n], atol=1e-4)


def test_a_pass_pauses_after_each_layer(tiny: Llama, cache: KVCache) -> None:
    slot = taken(cache)
    assert len(list(tiny.extend(PROMPT, slot))) == tiny.config.layers
    assert len(list(tiny.recompute(PROMPT))) == tiny.config.layers
    assert len(list(tiny.step(4, slot))) == tiny.config.layers
    assert len(list(tiny.step_batch([4], [slot], cache))) == tiny.config.layers


def test_a_pass_let_go_leaves_no_tokens(tiny: Llama, cache: KVCache) -> None:
    slot = taken(cache)
    work = tiny.extend(PROMPT, slot)
    next(work)
    work.close()
    assert slot.length == 0


def test_large_gates_do_not_overflow(tiny: Llama) -> None:
    x = np.full(tiny.config.dim, 1.0, np.float32)
    layer = tiny.layers[0]
    with np.errstate(over="raise", invalid="raise"):
        tiny._feed_forward(layer, x * np.float32(1e4))


def test_rope_factors_divide_the_frequencies(tiny: Llama) -> None:
    halved = Llama(
        tiny.config,
        tiny.embedding,
        tiny.layers,
        tiny.norm,
        tiny.head,
        128,
        np.full(tiny.config.head_dim // 2, 2.0, np.float32),
    )
    np.testing.assert_allclose(
        halved.attention.rotations[2::2], tiny.attention.rotations[1:64], atol=1e-6
    )


def test_parameters_are_counted_once(tiny_file: GGUFFile, tiny: Llama) -> None:
    assert tiny.n_params == sum(info.count for info in tiny_file.tensors.values())
    assert tiny.nbytes == 4 * tiny.n_params
