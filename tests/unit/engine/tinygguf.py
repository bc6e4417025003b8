"""Small GGUF files for tests, written byte by byte: no shipped model and no `gguf` package."""

from __future__ import annotations

import struct
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

SPECIALS = ["<|endoftext|>", "<|im_start|>", "<|im_end|>"]
MERGES = ["t h", "th e", "Ġ the", "i n", "Ġ t", "Ġ a", "a n", "an d", "Ġ and", "h e", "o n", "e r"]
CHATML = (
    "{% for message in messages %}{{'<|im_start|>' + message['role'] + '\n' + message['content']"
    " + '<|im_end|>' + '\n'}}{% endfor %}"
    "{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}"
)
F32, F16, Q4_0, Q4_1, Q8_0, BF16 = 0, 1, 2, 3, 8, 30


def string(text: str) -> bytes:
    raw = text.encode()
    return struct.pack("<Q", len(raw)) + raw


def value(item: Any) -> bytes:
    if isinstance(item, bool):
        return struct.pack("<IB", 7, item)
    if isinstance(item, int):
        return struct.pack("<II", 4, item)
    if isinstance(item, float):
        return struct.pack("<If", 6, item)
    if isinstance(item, str):
        return struct.pack("<I", 8) + string(item)
    if item and isinstance(item[0], str):
        return struct.pack("<IIQ", 9, 8, len(item)) + b"".join(map(string, item))
    if item and isinstance(item[0], float):
        return struct.pack("<IIQ", 9, 6, len(item)) + struct.pack(f"<{len(item)}f", *item)
    return struct.pack("<IIQ", 9, 5, len(item)) + struct.pack(f"<{len(item)}i", *item)


def quantised(weights: np.ndarray, kind: int) -> bytes:
    """Rows of weights as one of the types above; Q8_0 rounds as ggml does."""
    if kind == F32:
        return weights.astype("<f4").tobytes()
    if kind == F16:
        return weights.astype("<f2").tobytes()
    assert kind == Q8_0
    blocks = weights.reshape(-1, 32).astype(np.float32)
    scale = np.abs(blocks).max(axis=1, keepdims=True) / 127
    with np.errstate(divide="ignore", invalid="ignore"):
        rounded = np.nan_to_num(np.rint(blocks / scale)).astype(np.int8)
    scales = scale.astype("<f2").view(np.uint8).reshape(-1, 2)
    return np.concatenate([scales, rounded.view(np.uint8)], axis=1).tobytes()


def write_gguf(
    path: Path,
    metadata: Mapping[str, Any],
    tensors: Mapping[str, tuple[int, tuple[int, ...], bytes]],
) -> Path:
    """Tensors are (type, shape in NumPy's order, bytes)."""
    head = b"GGUF" + struct.pack("<IQQ", 3, len(tensors), len(metadata))
    head += b"".join(string(key) + value(item) for key, item in metadata.items())
    body = b""
    for name, (kind, shape, raw) in tensors.items():
        head += string(name) + struct.pack("<I", len(shape))
        head += struct.pack(f"<{len(shape)}Q", *reversed(shape))
        head += struct.pack("<IQ", kind, len(body))
        body += raw + b"\0" * (-len(raw) % 32)
    path.write_bytes(head + b"\0" * (-len(head) % 32) + body)
    return path


def byte_tokens() -> list[str]:
    printable = [*range(33, 127), *range(161, 173), *range(174, 256)]
    others = [byte for byte in range(256) if byte not in printable]
    return [chr(byte) for byte in printable] + [chr(256 + n) for n in range(len(others))]


def token_texts(size: int | None = None) -> list[str]:
    tokens = SPECIALS + byte_tokens() + [merge.replace(" ", "") for merge in MERGES]
    if size is not None:
        tokens += [f"<|unused{n}|>" for n in range(size - len(tokens))]
    return tokens


def metadata_of(
    *,
    layers: int,
    dim: int,
    heads: int,
    kv_heads: int,
    head_dim: int,
    ffn: int,
    context: int,
    vocab: int | None = None,
) -> dict[str, Any]:
    tokens = token_texts(vocab)
    kinds = [3 if token.startswith("<|") and token.endswith("|>") else 1 for token in tokens]
    return {
        "general.architecture": "llama",
        "general.name": "random",
        "llama.block_count": layers,
        "llama.embedding_length": dim,
        "llama.attention.head_count": heads,
        "llama.attention.head_count_kv": kv_heads,
        "llama.attention.key_length": head_dim,
        "llama.attention.value_length": head_dim,
        "llama.rope.dimension_count": head_dim,
        "llama.rope.freq_base": 10000.0,
        "llama.attention.layer_norm_rms_epsilon": 1e-5,
        "llama.feed_forward_length": ffn,
        "llama.context_length": context,
        "llama.vocab_size": len(tokens),
        "tokenizer.ggml.model": "gpt2",
        "tokenizer.ggml.pre": "smollm",
        "tokenizer.ggml.tokens": tokens,
        "tokenizer.ggml.token_type": kinds,
        "tokenizer.ggml.merges": MERGES,
        "tokenizer.ggml.bos_token_id": 1,
        "tokenizer.ggml.eos_token_id": 2,
        "tokenizer.ggml.padding_token_id": 0,
        "tokenizer.ggml.unknown_token_id": 0,
        "tokenizer.ggml.add_bos_token": False,
        "tokenizer.chat_template": CHATML,
    }


def sentencepiece_metadata() -> dict[str, Any]:
    """A SentencePiece vocabulary: bytes, letters, and unions with scores."""
    letters = [*"▁abcdefghijklmnopqrstuvwxyz.,!é"]
    unions = ["▁t", "he", "▁the", "▁a", "in", "an", "ing", "▁an", "and", "▁and", "er", "on", "▁▁"]
    tokens = ["<unk>", "<s>", "</s>", *(f"<0x{byte:02X}>" for byte in range(256))]
    tokens += unions + letters
    scores = [0.0] * 259 + [-float(n) for n in range(len(unions))] + [-100.0] * len(letters)
    return {
        "tokenizer.ggml.model": "llama",
        "tokenizer.ggml.pre": "default",
        "tokenizer.ggml.tokens": tokens,
        "tokenizer.ggml.scores": scores,
        "tokenizer.ggml.token_type": [2, 3, 3] + [6] * 256 + [1] * (len(tokens) - 259),
        "tokenizer.ggml.bos_token_id": 1,
        "tokenizer.ggml.eos_token_id": 2,
        "tokenizer.ggml.unknown_token_id": 0,
        "tokenizer.ggml.padding_token_id": 0,
        "tokenizer.ggml.add_bos_token": True,
        "tokenizer.chat_template": "",
    }


def random_llama(
    path: Path,
    *,
    vocabulary: Mapping[str, Any] | None = None,
    layers: int = 2,
    dim: int = 32,
    heads: int = 4,
    kv_heads: int = 2,
    head_dim: int = 8,
    ffn: int = 64,
    context: int = 128,
    vocab: int | None = None,
    kind: int = F32,
    seed: int = 0,
) -> Path:
    """A model of random weights, scaled so that its logits are well apart."""
    metadata = metadata_of(
        layers=layers,
        dim=dim,
        heads=heads,
        kv_heads=kv_heads,
        head_dim=head_dim,
        ffn=ffn,
        context=context,
        vocab=vocab,
    )
    metadata |= vocabulary or {}
    metadata["llama.vocab_size"] = len(metadata["tokenizer.ggml.tokens"])
    random = np.random.default_rng(seed)
    tensors: dict[str, tuple[int, tuple[int, ...], bytes]] = {}

    def matrix(name: str, outputs: int, inputs: int, scale: float = 1.0) -> None:
        weights = random.normal(0, scale / inputs**0.5, (outputs, inputs)).astype(np.float32)
        tensors[name] = (kind, (outputs, inputs), quantised(weights, kind))

    def norm(name: str) -> None:
        weights = random.uniform(0.5, 1.5, dim).astype(np.float32)
        tensors[name] = (F32, (dim,), quantised(weights, F32))

    matrix("token_embd.weight", len(metadata["tokenizer.ggml.tokens"]), dim, 2.0)
    for i in range(layers):
        norm(f"blk.{i}.attn_norm.weight")
        matrix(f"blk.{i}.attn_q.weight", heads * head_dim, dim, 2.0)
        matrix(f"blk.{i}.attn_k.weight", kv_heads * head_dim, dim, 2.0)
        matrix(f"blk.{i}.attn_v.weight", kv_heads * head_dim, dim, 2.0)
        matrix(f"blk.{i}.attn_output.weight", dim, heads * head_dim)
        norm(f"blk.{i}.ffn_norm.weight")
        matrix(f"blk.{i}.ffn_gate.weight", ffn, dim)
        matrix(f"blk.{i}.ffn_up.weight", ffn, dim)
        matrix(f"blk.{i}.ffn_down.weight", dim, ffn)
    norm("output_norm.weight")
    return write_gguf(path, metadata, tensors)
