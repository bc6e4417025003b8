"""Model files: read right, and refused with one sentence where they are not right."""

from __future__ import annotations

import os
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tinygguf import F32, Q8_0, metadata_of, quantised, random_llama, write_gguf

from kvtui.engine.engine import Engine
from kvtui.engine.errors import ModelFileError
from kvtui.engine.geometry import LlamaConfig
from kvtui.engine.gguf import GGUFFile
from kvtui.engine.weights import load_llama

SIZES: dict[str, Any] = {
    "layers": 1,
    "dim": 32,
    "heads": 4,
    "kv_heads": 2,
    "head_dim": 8,
    "ffn": 32,
    "context": 64,
}


def refusal(action: Callable[[], object]) -> str:
    with pytest.raises(ModelFileError) as caught:
        action()
    message = str(caught.value)
    assert "\n" not in message
    assert message.endswith(".")
    return message


def test_reads_metadata_and_tensors(tmp_path: Path) -> None:
    weights = np.arange(64, dtype=np.float32).reshape(2, 32)
    path = write_gguf(
        tmp_path / "m.gguf",
        {"general.architecture": "llama", "a.list": [1, -2], "a.flag": True, "a.number": 0.5},
        {
            "plain": (F32, (2, 32), quantised(weights, F32)),
            "packed": (Q8_0, (2, 32), quantised(weights, Q8_0)),
        },
    )
    file = GGUFFile.open(path)
    assert file.metadata["a.list"] == [1, -2]
    assert file.metadata["a.flag"] is True
    assert file.metadata["a.number"] == 0.5
    np.testing.assert_array_equal(file.load("plain"), weights)
    np.testing.assert_allclose(file.load("packed"), weights, atol=0.3)


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    message = refusal(lambda: GGUFFile.open(tmp_path / "none.gguf"))
    assert "none.gguf" in message
    assert "No such file" in message


def test_a_folder_is_refused(tmp_path: Path) -> None:
    assert str(tmp_path) in refusal(lambda: GGUFFile.open(tmp_path))


@pytest.mark.parametrize("content", [b"", b"GGUF", b"PK\x03\x04" + b"\0" * 100])
def test_a_foreign_file_is_named(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "foreign.gguf"
    path.write_bytes(content)
    assert "foreign.gguf" in refusal(lambda: GGUFFile.open(path))


def test_a_big_endian_or_old_file_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "old.gguf"
    path.write_bytes(b"GGUF" + struct.pack("<IQQ", 1, 0, 0) + b"\0" * 32)
    assert "version 1" in refusal(lambda: GGUFFile.open(path))


def test_a_file_cut_anywhere_is_refused(tiny_path: Path, tmp_path: Path) -> None:
    whole = tiny_path.read_bytes()
    path = tmp_path / "cut.gguf"

    def load() -> None:
        Engine(path, "cut")

    for length in [*range(24, 4000, 97), *range(4000, len(whole) - 32, 5003), len(whole) - 33]:
        path.write_bytes(whole[:length])
        assert "cut.gguf" in refusal(load)


@settings(max_examples=150, deadline=None)
@given(st.data())
def test_a_damaged_header_is_refused_or_harmless(tiny_path: Path, data: st.DataObject) -> None:
    whole = bytearray(tiny_path.read_bytes()[:6000])
    for _ in range(data.draw(st.integers(1, 4))):
        at = data.draw(st.integers(0, len(whole) - 1))
        whole[at] = data.draw(st.integers(0, 255))
    path = tiny_path.with_name("damaged.gguf")
    path.write_bytes(whole)
    try:
        file = GGUFFile.open(path)
        config = LlamaConfig.from_metadata(file.metadata, "damaged")
        load_llama(file, config, 8)
    except ModelFileError:
        pass  # any other exception fails the test


@pytest.mark.skipif(not hasattr(os, "sysconf"), reason="this system does not tell its memory")
def test_a_model_too_large_for_the_machine_is_refused(
    tiny_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "sysconf", lambda _name: 100)
    assert "GiB in memory" in refusal(lambda: Engine(tiny_path, "m"))


def test_other_architectures_are_refused_by_name(tmp_path: Path) -> None:
    path = write_gguf(
        tmp_path / "q.gguf", metadata_of(**SIZES) | {"general.architecture": "qwen3"}, {}
    )
    message = refusal(lambda: Engine(path, "q"))
    assert "'qwen3'" in message
    assert "q.gguf" in message


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"llama.expert_count": 8}, "mixture of experts"),
        ({"llama.attention.head_count_kv": 3}, "no multiple"),
        ({"llama.block_count": 0}, "zero or less"),
        ({"llama.rope.scaling.type": "yarn"}, "'yarn'"),
        ({"llama.rope.dimension_count": 4}, "part of each head"),
        ({"llama.context_length": "long"}, "llama.context_length"),
        ({"tokenizer.ggml.model": "bert"}, "'bert'"),
        ({"tokenizer.ggml.model": "llama"}, "tokenizer.ggml.scores"),
        ({"tokenizer.ggml.pre": "tekken"}, "'tekken'"),
        ({"tokenizer.ggml.eos_token_id": 10**6}, "eos_token_id"),
    ],
)
def test_what_the_engine_cannot_run_is_said(
    tmp_path: Path, change: dict[str, Any], words: str
) -> None:
    path = write_gguf(tmp_path / "m.gguf", metadata_of(**SIZES) | change, {})
    message = refusal(lambda: Engine(path, "m"))
    assert words in message
    assert "m.gguf" in message


def test_a_missing_size_is_named(tmp_path: Path) -> None:
    metadata = metadata_of(**SIZES)
    del metadata["llama.feed_forward_length"]
    path = write_gguf(tmp_path / "m.gguf", metadata, {})
    assert "lacks llama.feed_forward_length" in refusal(lambda: Engine(path, "m"))


def test_a_missing_tensor_is_named(tmp_path: Path) -> None:
    path = write_gguf(tmp_path / "m.gguf", metadata_of(**SIZES), {})
    assert "token_embd.weight" in refusal(lambda: Engine(path, "m"))


def test_weights_nobody_reads_are_refused(tmp_path: Path) -> None:
    path = random_llama(tmp_path / "m.gguf", **SIZES)
    file = GGUFFile.open(path)
    tensors = {
        name: (info.type_id, info.shape, path.read_bytes()[info.offset :][: 4 * info.count])
        for name, info in file.tensors.items()
    }
    tensors["blk.0.attn_q.bias"] = (F32, (32,), bytes(128))
    write_gguf(tmp_path / "bias.gguf", file.metadata, tensors)
    assert "blk.0.attn_q.bias" in refusal(lambda: Engine(tmp_path / "bias.gguf", "m"))


def test_a_tensor_of_the_wrong_shape_is_refused(tmp_path: Path) -> None:
    path = random_llama(tmp_path / "m.gguf", **SIZES)
    file = GGUFFile.open(path)
    tensors = {
        name: (info.type_id, info.shape, path.read_bytes()[info.offset :][: 4 * info.count])
        for name, info in file.tensors.items()
    }
    tensors["output_norm.weight"] = (F32, (16,), bytes(64))
    write_gguf(tmp_path / "bad.gguf", file.metadata, tensors)
    assert "output_norm.weight" in refusal(lambda: Engine(tmp_path / "bad.gguf", "m"))
