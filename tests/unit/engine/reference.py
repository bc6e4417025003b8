"""A Llama in plain loops and float64, written apart from the engine, to hold it against."""

from __future__ import annotations

import math

import numpy as np

from kvtui.engine.geometry import LlamaConfig
from kvtui.engine.gguf import GGUFFile


def rms_norm(x: np.ndarray, gain: np.ndarray, eps: float) -> np.ndarray:
    return x / math.sqrt(sum(float(v) ** 2 for v in x) / len(x) + eps) * gain


def rotate(head: np.ndarray, position: int, base: float) -> np.ndarray:
    """Each pair (2i, 2i + 1) turns by position · base^(−2i / D)."""
    out = head.copy()
    for i in range(len(head) // 2):
        angle = position * base ** (-2 * i / len(head))
        a, b = head[2 * i], head[2 * i + 1]
        out[2 * i] = a * math.cos(angle) - b * math.sin(angle)
        out[2 * i + 1] = a * math.sin(angle) + b * math.cos(angle)
    return out


def attention(
    queries: np.ndarray, keys: np.ndarray, values: np.ndarray, position: int
) -> np.ndarray:
    """One position's heads (H, D) over the keys and values (n, Hkv, D) up to it."""
    group = queries.shape[0] // keys.shape[1]
    out = np.zeros_like(queries)
    for h, query in enumerate(queries):
        kv = h // group
        scores = [float(query @ keys[t, kv]) / math.sqrt(len(query)) for t in range(position + 1)]
        top = max(scores)
        weights = [math.exp(score - top) for score in scores]
        for t, weight in enumerate(weights):
            out[h] += weight / sum(weights) * values[t, kv]
    return out


def logits(file: GGUFFile, ids: list[int]) -> np.ndarray:
    """The logits at every position, (T, vocabulary)."""
    c = LlamaConfig.from_metadata(file.metadata, "reference")

    def load(name: str) -> np.ndarray:
        return file.load(name).astype(np.float64)

    embedding = load("token_embd.weight")
    x = embedding[ids]
    for i in range(c.layers):
        block = f"blk.{i}."
        normed = [rms_norm(row, load(block + "attn_norm.weight"), c.norm_eps) for row in x]
        q = np.array([load(block + "attn_q.weight") @ row for row in normed])
        k = np.array([load(block + "attn_k.weight") @ row for row in normed])
        v = np.array([load(block + "attn_v.weight") @ row for row in normed])
        q = q.reshape(len(ids), c.n_heads, c.head_dim)
        k = k.reshape(len(ids), c.kv_heads, c.head_dim)
        v = v.reshape(len(ids), c.kv_heads, c.head_dim)
        for t in range(len(ids)):
            q[t] = [rotate(head, t, c.rope_base) for head in q[t]]
            k[t] = [rotate(head, t, c.rope_base) for head in k[t]]
        mixed = np.array([attention(q[t], k, v, t).ravel() for t in range(len(ids))])
        x = x + mixed @ load(block + "attn_output.weight").T
        for t, row in enumerate(x):
            normed_row = rms_norm(row, load(block + "ffn_norm.weight"), c.norm_eps)
            gate = load(block + "ffn_gate.weight") @ normed_row
            up = load(block + "ffn_up.weight") @ normed_row
            hidden = gate / (1 + np.exp(-gate)) * up
            x[t] = row + load(block + "ffn_down.weight") @ hidden
    norm = load("output_norm.weight")
    return np.array([embedding @ rms_norm(row, norm, c.norm_eps) for row in x])
