"""Worked examples: the figures that an introduction to the KV cache begins with.

Each is a set of options for `plan.plan`, and what comes out. Where an often-quoted figure differs
(12.80, 1.60 and 0.20 GiB for the 70B rows), this is the right one.
"""

from __future__ import annotations

from typing import Any, NamedTuple


class Example(NamedTuple):
    """One example.

    Attributes:
        title: what is asked, for a menu.
        options: the options of `plan.plan`.
        figure: what comes out, in words.
    """

    title: str
    options: dict[str, Any]
    figure: str


_SEVEN = {"arch": "LLaMA-7B", "kv_dtype": "fp16", "gpu": "24GB"}
_SEVENTY = {"layers": 80, "heads": 64, "head_dim": 128, "context": 4096, "gpu": "80GB"}

EXAMPLES: tuple[Example, ...] = (
    Example("LLaMA-7B, one user, 2,048 tokens", {**_SEVEN, "context": 2048}, "1.00 GiB of KV"),
    Example(
        "LLaMA-7B, ten users, 2,048 tokens",
        {**_SEVEN, "context": 2048, "concurrency": 10},
        "10.00 GiB of KV",
    ),
    Example("LLaMA-7B, one user, 8,192 tokens", {**_SEVEN, "context": 8192}, "4.00 GiB of KV"),
    Example("70B with MHA, 4,096 tokens", {**_SEVENTY, "kv_heads": 64}, "10.00 GiB of KV"),
    Example("70B with GQA, 4,096 tokens", {**_SEVENTY, "kv_heads": 8}, "1.25 GiB of KV"),
    Example("70B with MQA, 4,096 tokens", {**_SEVENTY, "kv_heads": 1}, "0.156 GiB of KV"),
    Example(
        "24 GB card, 14 for weights, 8 for KV",
        {**_SEVEN, "context": 2048, "weights_gib": 14, "kv_budget_gib": 8},
        "8 requests of 2,048 tokens",
    ),
)
