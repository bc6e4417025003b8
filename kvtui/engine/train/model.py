"""A small Llama in PyTorch: the shape the engine runs, written to train fast on a CPU.

RMSNorm, RoPE on *interleaved* pairs (as GGUF's "llama" architecture stores them, so packing needs
no permutation), grouped-query attention, SwiGLU, and one matrix for embedding and output.
"""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass

import torch
import torch.nn.functional as F
from attention import attention
from torch import Tensor, nn

RMS_EPS = 1e-5


@dataclass(frozen=True)
class Shape:
    """Geometry of a Llama.

    Args:
        vocab: Rows of the embedding.
        dim: Width of the residual stream.
        layers: Number of blocks.
        heads: Query heads.
        kv_heads: Key and value heads, a divisor of `heads`.
        head_dim: Width of one head.
        hidden: Inner width of the SwiGLU.
        context: Longest sequence the RoPE table covers.
        rope_base: RoPE's frequency base.
    """

    vocab: int = 4096
    dim: int = 256
    layers: int = 12
    heads: int = 8
    kv_heads: int = 2
    head_dim: int = 32
    hidden: int = 512
    context: int = 2048
    rope_base: float = 10_000.0

    def as_dict(self) -> dict[str, int | float]:
        """The fields, for a checkpoint or a log."""
        return asdict(self)


def rope_table(shape: Shape) -> tuple[Tensor, Tensor]:
    """Cosines and sines, each (context, head_dim / 2), in float32."""
    half = torch.arange(0, shape.head_dim, 2, dtype=torch.float32)
    frequencies = shape.rope_base ** (-half / shape.head_dim)
    angles = torch.outer(torch.arange(shape.context, dtype=torch.float32), frequencies)
    return angles.cos(), angles.sin()


def rotate(x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
    """Rotate the interleaved pairs of x (batch, time, heads, width) by cos and sin (time, half)."""
    even, odd = x[..., 0::2], x[..., 1::2]
    cos, sin = cos[:, None, :].to(x.dtype), sin[:, None, :].to(x.dtype)
    return torch.stack((even * cos - odd * sin, even * sin + odd * cos), dim=-1).flatten(-2)


class RMSNorm(nn.Module):
    """Root-mean-square norm with a gain, computed in float32."""

    def __init__(self, dim: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(dim))

    def forward(self, x: Tensor) -> Tensor:
        """Normalise the last axis; returns x's own dtype."""
        wide = x.float()
        scale = torch.rsqrt(wide.pow(2).mean(-1, keepdim=True) + RMS_EPS)
        return (wide * scale * self.weight).to(x.dtype)


class Block(nn.Module):
    """One layer: attention, then SwiGLU, each on a normed residual."""

    def __init__(self, shape: Shape) -> None:
        super().__init__()
        self.shape = shape
        query, kv = shape.heads * shape.head_dim, shape.kv_heads * shape.head_dim
        self.attn_norm = RMSNorm(shape.dim)
        self.q = nn.Linear(shape.dim, query, bias=False)
        self.k = nn.Linear(shape.dim, kv, bias=False)
        self.v = nn.Linear(shape.dim, kv, bias=False)
        self.o = nn.Linear(query, shape.dim, bias=False)
        self.ffn_norm = RMSNorm(shape.dim)
        self.gate = nn.Linear(shape.dim, shape.hidden, bias=False)
        self.up = nn.Linear(shape.dim, shape.hidden, bias=False)
        self.down = nn.Linear(shape.hidden, shape.dim, bias=False)

    def project(self, x: Tensor, cos: Tensor, sin: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Queries, keys and values (batch, heads, time, head_dim) of x (batch, time, dim)."""
        shape = self.shape
        batch, time, _ = x.shape
        h = self.attn_norm(x)
        q = rotate(self.q(h).view(batch, time, shape.heads, shape.head_dim), cos, sin)
        k = rotate(self.k(h).view(batch, time, shape.kv_heads, shape.head_dim), cos, sin)
        v = self.v(h).view(batch, time, shape.kv_heads, shape.head_dim)
        return q.transpose(1, 2), k.transpose(1, 2), v.transpose(1, 2)

    def finish(self, x: Tensor, mixed: Tensor) -> Tensor:
        """The output, from the input and the mixed values (batch, heads, time, head_dim)."""
        x = x + self.o(mixed.transpose(1, 2).reshape(*x.shape[:2], -1))
        h = self.ffn_norm(x)
        return x + self.down(F.silu(self.gate(h)) * self.up(h))

    def forward(self, x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
        """Run the layer over whole sequences x (batch, time, dim)."""
        q, k, v = self.project(x, cos, sin)
        if self.training:
            mixed, _ = attention(q, k, v)
        else:
            mixed = F.scaled_dot_product_attention(q, k, v, is_causal=True, enable_gqa=True)
        return self.finish(x, mixed)


class Llama(nn.Module):
    """The whole model; `forward` returns hidden states, `logits` the scores of the next token."""

    cos: Tensor
    sin: Tensor

    def __init__(self, shape: Shape) -> None:
        super().__init__()
        self.shape = shape
        self.embed = nn.Embedding(shape.vocab, shape.dim)
        self.blocks = nn.ModuleList(Block(shape) for _ in range(shape.layers))
        self.norm = RMSNorm(shape.dim)
        cos, sin = rope_table(shape)
        self.register_buffer("cos", cos, persistent=False)
        self.register_buffer("sin", sin, persistent=False)
        self.reset()

    def reset(self) -> None:
        """Initialise the weights; the matrices that end a branch shrink with depth."""
        for name, weight in self.named_parameters():
            if weight.dim() < 2:
                continue
            std = 0.02 if name == "embed.weight" else weight.shape[1] ** -0.5 * 0.6
            if name.endswith(("o.weight", "down.weight")):
                std /= math.sqrt(2 * self.shape.layers)
            nn.init.normal_(weight, std=std)

    def forward(self, ids: Tensor) -> Tensor:
        """Normed hidden states (batch, time, dim) for ids (batch, time)."""
        x = self.embed(ids)
        if torch.is_autocast_enabled("cpu"):
            x = x.bfloat16()
        cos, sin = self.cos[: ids.shape[1]], self.sin[: ids.shape[1]]
        for block in self.blocks:
            x = block(x, cos, sin)
        return self.norm(x)

    def logits(self, hidden: Tensor) -> Tensor:
        """Scores (..., vocab) for hidden states."""
        return F.linear(hidden, self.embed.weight)

    def loss(self, ids: Tensor, targets: Tensor) -> Tensor:
        """Mean cross-entropy over targets (batch, time); -100 is left out."""
        scores = self.logits(self(ids)).float()
        return F.cross_entropy(scores.flatten(0, 1), targets.flatten(), ignore_index=-100)
