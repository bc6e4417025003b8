"""The article's worked examples, ready to be taken into the fields."""

from __future__ import annotations

from typing import NamedTuple

from .form import PlannerForm


class Preset(NamedTuple):
    """An example and what it comes to."""

    title: str
    short: str
    """The title where there is little room."""
    figure: str
    form: PlannerForm


_SEVEN = PlannerForm(
    model="LLaMA-7B", card="24 GB", engine="formula", k="fp16", context="2048", users="1"
)
_SEVENTY = PlannerForm(
    model="Llama-2-70B",
    weights="int4",
    card="80 GB",
    engine="formula",
    k="fp16",
    context="4096",
    users="1",
)


def _heads(count: int) -> PlannerForm:
    from dataclasses import replace

    return replace(_SEVENTY, heads=str(count))


def _seven(context: int = 2048, users: int = 1, weights: str = "", kv: str = "") -> PlannerForm:
    from dataclasses import replace

    return replace(_SEVEN, context=str(context), users=str(users), weights=weights, kv_gib=kv)


PRESETS: tuple[Preset, ...] = (
    Preset("LLaMA-7B FP16, 2,048 tokens", "7B FP16 2,048 tokens", "1.00 GiB", _seven()),
    Preset(
        "LLaMA-7B FP16, 2,048 tokens, ten users", "… for ten users", "10.00 GiB", _seven(users=10)
    ),
    Preset("LLaMA-7B FP16, 8,192 tokens", "… 8,192 tokens", "4.00 GiB", _seven(8192)),
    Preset("70B, 4,096 tokens, MHA (64 KV heads)", "70B 4,096 MHA", "10.00 GiB", _heads(64)),
    Preset("70B, 4,096 tokens, GQA (8 KV heads)", "70B 4,096 GQA", "1.25 GiB", _heads(8)),
    Preset("70B, 4,096 tokens, MQA (1 KV head)", "70B 4,096 MQA", "0.156 GiB", _heads(1)),
    Preset(
        "24 GB card, 14 for weights, 8 for the cache",
        "24 GB: 14 + 8 of cache",
        "8 × 2,048",
        _seven(users=8, weights="14", kv="8"),
    ),
)
