"""Writes small GGUF files (version 3): metadata, and tensors full of zeros."""

from __future__ import annotations

import struct
from pathlib import Path
from typing import Any

F32, F16 = 0, 1
_SIZES = {F32: 4, F16: 2}


def write_gguf(
    path: Path,
    metadata: dict[str, Any],
    tensors: dict[str, tuple[tuple[int, ...], int]] | None = None,
    *,
    data: bool = True,
) -> Path:
    """Write one; tensors are name: (dimensions, type), with or without their data."""
    tensors = tensors or {}
    out = bytearray(b"GGUF" + struct.pack("<IQQ", 3, len(tensors), len(metadata)))
    for key, value in metadata.items():
        out += _text(key) + _value(value)
    offset = 0
    for name, (dims, kind) in tensors.items():
        out += _text(name) + struct.pack(f"<I{len(dims)}Q", len(dims), *dims)
        out += struct.pack("<IQ", kind, offset)
        offset += _padded(_bytes(dims, kind))
    out += bytes(_padded(len(out)) - len(out))
    with path.open("wb") as stream:
        stream.write(out)
        if data and offset:
            stream.truncate(len(out) + offset)
    return path


def _bytes(dims: tuple[int, ...], kind: int) -> int:
    size = _SIZES[kind]
    for dim in dims:
        size *= dim
    return size


def _padded(size: int) -> int:
    return (size + 31) // 32 * 32


def _text(text: str) -> bytes:
    raw = text.encode()
    return struct.pack("<Q", len(raw)) + raw


def _value(value: Any) -> bytes:
    if isinstance(value, bool):
        return struct.pack("<I?", 7, value)
    if isinstance(value, int):
        return struct.pack("<II", 4, value)
    if isinstance(value, float):
        return struct.pack("<If", 6, value)
    if isinstance(value, str):
        return struct.pack("<I", 8) + _text(value)
    assert isinstance(value, list)
    body = b"".join(_value(item)[4:] for item in value)
    kind = struct.unpack("<I", _value(value[0])[:4])[0]
    return struct.pack("<IIQ", 9, kind, len(value)) + body


def llama(
    layers: int,
    heads: int,
    kv_heads: int,
    head_dim: int,
    *,
    arch: str = "llama",
    width: int = 64,
    vocab: int = 64,
    extra: dict[str, Any] | None = None,
) -> tuple[dict[str, Any], dict[str, tuple[tuple[int, ...], int]]]:
    """Metadata and tensors of a whole model with real cache geometry and a tiny width."""
    metadata: dict[str, Any] = {
        "general.architecture": arch,
        "general.name": f"{arch} made by a test",
        f"{arch}.vocab_size": vocab,
        f"{arch}.context_length": 131072,
        f"{arch}.embedding_length": width,
        f"{arch}.block_count": layers,
        f"{arch}.feed_forward_length": width,
        f"{arch}.attention.head_count": heads,
        f"{arch}.attention.head_count_kv": kv_heads,
        f"{arch}.attention.key_length": head_dim,
        f"{arch}.attention.value_length": head_dim,
        f"{arch}.attention.layer_norm_rms_epsilon": 1e-5,
        f"{arch}.rope.dimension_count": head_dim,
        "tokenizer.ggml.model": "none",
        **(extra or {}),
    }
    tensors: dict[str, tuple[tuple[int, ...], int]] = {
        "token_embd.weight": ((width, vocab), F16),
        "output_norm.weight": ((width,), F32),
        "output.weight": ((width, vocab), F16),
    }
    gemma = arch.startswith("gemma")
    if gemma:
        del tensors["output.weight"]
    for n in range(layers):
        tensors |= {
            f"blk.{n}.attn_norm.weight": ((width,), F32),
            f"blk.{n}.attn_q.weight": ((width, heads * head_dim), F16),
            f"blk.{n}.attn_k.weight": ((width, kv_heads * head_dim), F16),
            f"blk.{n}.attn_v.weight": ((width, kv_heads * head_dim), F16),
            f"blk.{n}.attn_output.weight": ((heads * head_dim, width), F16),
            f"blk.{n}.ffn_norm.weight": ((width,), F32),
            f"blk.{n}.ffn_gate.weight": ((width, width), F16),
            f"blk.{n}.ffn_up.weight": ((width, width), F16),
            f"blk.{n}.ffn_down.weight": ((width, width), F16),
        }
        if arch in ("gemma3", "qwen3"):
            tensors |= {
                f"blk.{n}.attn_q_norm.weight": ((head_dim,), F32),
                f"blk.{n}.attn_k_norm.weight": ((head_dim,), F32),
            }
        if gemma:
            tensors |= {
                f"blk.{n}.post_attention_norm.weight": ((width,), F32),
                f"blk.{n}.post_ffw_norm.weight": ((width,), F32),
            }
    return metadata, tensors


def mamba2(
    layers: int, inner: int, size: int, groups: int, *, width: int = 64, vocab: int = 64
) -> tuple[dict[str, Any], dict[str, tuple[tuple[int, ...], int]]]:
    """Metadata and tensors of a Mamba 2 model with heads of 64."""
    heads, channels = inner // 64, inner + 2 * groups * size
    metadata: dict[str, Any] = {
        "general.architecture": "mamba2",
        "general.name": "mamba2 made by a test",
        "mamba2.vocab_size": vocab,
        "mamba2.context_length": 1 << 20,
        "mamba2.embedding_length": width,
        "mamba2.block_count": layers,
        "mamba2.feed_forward_length": 0,
        "mamba2.attention.head_count": 0,
        "mamba2.attention.layer_norm_rms_epsilon": 1e-5,
        "mamba2.ssm.conv_kernel": 4,
        "mamba2.ssm.inner_size": inner,
        "mamba2.ssm.state_size": size,
        "mamba2.ssm.time_step_rank": heads,
        "mamba2.ssm.group_count": groups,
        "tokenizer.ggml.model": "none",
    }
    tensors: dict[str, tuple[tuple[int, ...], int]] = {
        "token_embd.weight": ((width, vocab), F16),
        "output_norm.weight": ((width,), F32),
        "output.weight": ((width, vocab), F16),
    }
    for n in range(layers):
        tensors |= {
            f"blk.{n}.attn_norm.weight": ((width,), F32),
            f"blk.{n}.ssm_in.weight": ((width, inner + channels + heads), F16),
            f"blk.{n}.ssm_conv1d.weight": ((4, channels), F32),
            f"blk.{n}.ssm_conv1d.bias": ((channels,), F32),
            f"blk.{n}.ssm_dt.bias": ((heads,), F32),
            f"blk.{n}.ssm_a": ((1, heads), F32),
            f"blk.{n}.ssm_d": ((1, heads), F32),
            f"blk.{n}.ssm_norm.weight": ((inner // groups, groups), F32),
            f"blk.{n}.ssm_out.weight": ((inner, width), F16),
        }
    return metadata, tensors


def deepseek2(
    layers: int, *, rank: int = 512, rope: int = 64, width: int = 64, vocab: int = 64
) -> tuple[dict[str, Any], dict[str, tuple[tuple[int, ...], int]]]:
    """Metadata and tensors of an MLA model without experts, 4 heads."""
    heads, nope, v_dim = 4, 128, 128
    arch = "deepseek2"
    metadata: dict[str, Any] = {
        "general.architecture": arch,
        "general.name": "deepseek2 made by a test",
        f"{arch}.vocab_size": vocab,
        f"{arch}.context_length": 163840,
        f"{arch}.embedding_length": width,
        f"{arch}.block_count": layers,
        f"{arch}.feed_forward_length": width,
        f"{arch}.leading_dense_block_count": layers,
        f"{arch}.attention.head_count": heads,
        f"{arch}.attention.head_count_kv": 1,
        f"{arch}.attention.key_length": rank + rope,
        f"{arch}.attention.value_length": rank,
        f"{arch}.attention.key_length_mla": nope + rope,
        f"{arch}.attention.value_length_mla": v_dim,
        f"{arch}.attention.kv_lora_rank": rank,
        f"{arch}.attention.q_lora_rank": 32,
        f"{arch}.attention.layer_norm_rms_epsilon": 1e-6,
        f"{arch}.rope.dimension_count": rope,
        f"{arch}.expert_count": 2,
        f"{arch}.expert_used_count": 1,
        f"{arch}.expert_shared_count": 1,
        f"{arch}.expert_feed_forward_length": width,
        f"{arch}.expert_weights_scale": 1.0,
        "tokenizer.ggml.model": "none",
    }
    tensors: dict[str, tuple[tuple[int, ...], int]] = {
        "token_embd.weight": ((width, vocab), F16),
        "output_norm.weight": ((width,), F32),
        "output.weight": ((width, vocab), F16),
    }
    for n in range(layers):
        tensors |= {
            f"blk.{n}.attn_norm.weight": ((width,), F32),
            f"blk.{n}.attn_q_a.weight": ((width, 32), F16),
            f"blk.{n}.attn_q_a_norm.weight": ((32,), F32),
            f"blk.{n}.attn_q_b.weight": ((32, heads * (nope + rope)), F16),
            f"blk.{n}.attn_kv_a_mqa.weight": ((width, rank + rope), F16),
            f"blk.{n}.attn_kv_a_norm.weight": ((rank,), F32),
            f"blk.{n}.attn_k_b.weight": ((nope, rank, heads), F16),
            f"blk.{n}.attn_v_b.weight": ((rank, v_dim, heads), F16),
            f"blk.{n}.attn_output.weight": ((heads * v_dim, width), F16),
            f"blk.{n}.ffn_norm.weight": ((width,), F32),
            f"blk.{n}.ffn_gate.weight": ((width, width), F16),
            f"blk.{n}.ffn_up.weight": ((width, width), F16),
            f"blk.{n}.ffn_down.weight": ((width, width), F16),
        }
    return metadata, tensors
