"""Sides of a comparison, made up."""

from __future__ import annotations

from math import exp
from random import Random

from kvtui.bench.evaluation.compare import Comparison
from kvtui.bench.evaluation.sides import Side, SideLevel


def requests(random: Random, n: int, tpot: float, *, drift: float = 0.0) -> dict[str, list[float]]:
    """Figures of ``n`` requests of 128 tokens: log-normal noise, now and then a stall, a drift."""
    ttfts, tpots = [], []
    mood = 0.0
    for _ in range(n):
        mood = 0.8 * mood + drift * random.gauss(0, 1)
        stall = 1.5 if random.random() < 0.03 else 1.0
        ttfts.append(200 * exp(random.gauss(0, 0.1) + mood) * stall)
        tpots.append(tpot * exp(random.gauss(0, 0.03) + mood) * stall)
    e2e = [a + 127 * b for a, b in zip(ttfts, tpots, strict=True)]
    return {"ttft_ms": ttfts, "tpot_ms": tpots, "e2e_ms": e2e}


def side(*values: dict[str, list[float]]) -> Side:
    levels = [
        SideLevel(label=f"c={2**k}", concurrency=2**k, values=v) for k, v in enumerate(values)
    ]
    return Side("x", "test", "m", tuple(levels))


def claims(comparison: Comparison) -> list[str]:
    return [f.figure for p in comparison.pairs for f in p.figures if f.says in ("slower", "faster")]
