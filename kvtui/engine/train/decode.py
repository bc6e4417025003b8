"""Batched generation with a KV cache, for a Llama of model.py."""

from __future__ import annotations

from dataclasses import dataclass

import torch
import torch.nn.functional as F
from model import Llama
from torch import Tensor

SHRINK_SHARE = 0.7  # Rows still running below which the batch drops the finished ones.


@dataclass(frozen=True)
class Sampling:
    """How the next token is drawn; temperature 0 is greedy."""

    temperature: float = 0.8
    top_p: float = 0.95
    max_tokens: int = 400


class Cache:
    """Keys and values of every layer, (layers, batch, kv_heads, columns, head_dim)."""

    def __init__(self, model: Llama, batch: int, columns: int, dtype: torch.dtype) -> None:
        shape = model.shape
        size = (shape.layers, batch, shape.kv_heads, columns, shape.head_dim)
        self.keys, self.values = torch.zeros(size, dtype=dtype), torch.zeros(size, dtype=dtype)

    def select(self, rows: Tensor) -> None:
        """Keep only these rows."""
        self.keys, self.values = self.keys[:, rows], self.values[:, rows]


def step(model: Llama, ids: Tensor, start: int, cache: Cache, hidden: Tensor) -> Tensor:
    """Scores (batch, vocab) after ids (batch, time), which stand in columns start and following.

    Args:
        model: Any Llama, in the cache's dtype.
        ids: New tokens.
        start: Their first column.
        cache: Takes their keys and values.
        hidden: (batch, columns), true where a column holds padding.
    """
    end = start + ids.shape[1]
    x = model.embed(ids)
    cos, sin = model.cos[start:end], model.sin[start:end]
    later = torch.arange(end)[None, :] > torch.arange(start, end)[:, None]
    masked = (hidden[:, None, :end] | later[None])[:, None]
    bias = torch.zeros(masked.shape, dtype=x.dtype).masked_fill_(masked, -1e9)
    for layer, block in enumerate(model.blocks):
        q, k, v = block.project(x, cos, sin)
        keys, values = cache.keys[layer], cache.values[layer]
        keys[:, :, start:end] = k
        values[:, :, start:end] = v
        mixed = F.scaled_dot_product_attention(
            q, keys[:, :, :end], values[:, :, :end], attn_mask=bias, enable_gqa=True
        )
        x = block.finish(x, mixed)
    return model.logits(model.norm(x[:, -1])).float()


def choose(scores: Tensor, sampling: Sampling, generator: torch.Generator) -> Tensor:
    """The next token of each row."""
    if sampling.temperature == 0:
        return scores.argmax(-1)
    shares, order = (scores / sampling.temperature).softmax(-1).topk(min(256, scores.shape[-1]))
    shares[shares.cumsum(-1) - shares > sampling.top_p] = 0
    return order.gather(-1, torch.multinomial(shares, 1, generator=generator))[:, 0]


@torch.no_grad()
def generate(
    model: Llama, prompts: list[list[int]], stop: set[int], sampling: Sampling, seed: int = 0
) -> list[list[int]]:
    """Continue every prompt up to a stop token (kept in the result) or the limit."""
    generator = torch.Generator().manual_seed(seed)
    width = max(map(len, prompts))
    ids = torch.tensor([[0] * (width - len(p)) + p for p in prompts])
    columns = width + sampling.max_tokens
    hidden = torch.zeros(len(prompts), columns, dtype=torch.bool)
    for row, prompt in enumerate(prompts):
        hidden[row, : width - len(prompt)] = True
    cache = Cache(model, len(prompts), columns, model.embed.weight.dtype)
    results: list[list[int]] = [[] for _ in prompts]
    alive = torch.arange(len(prompts))
    running = torch.ones(len(prompts), dtype=torch.bool)
    start, scores = width, step(model, ids, 0, cache, hidden)
    while True:
        tokens = choose(scores, sampling, generator)
        for row in running.nonzero()[:, 0].tolist():
            results[alive[row]].append(int(tokens[row]))
            running[row] = int(tokens[row]) not in stop
        if not running.any() or start + 1 >= columns:
            return results
        if running.float().mean() < SHRINK_SHARE:
            rows = running.nonzero()[:, 0]
            cache.select(rows)
            hidden, alive, tokens, running = hidden[rows], alive[rows], tokens[rows], running[rows]
        scores = step(model, tokens[:, None], start, cache, hidden)
        start += 1
