"""The ready-made experiments that set several endpoints beside each other."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from kvtui.bench.requests.targets import Target, named_apart
from kvtui.bench.work.texts import QUESTION
from kvtui.bench.work.workload import Stage, Workload
from kvtui.language import tr

PAIRS = (
    ("f32", "f32"), ("f16", "f32"), ("int8", "f32"), ("f32", "f16"), ("f32", "int8"),
    ("int8", "int8"),
)  # fmt: skip
"""Precisions of weights and cache: each alone, and both at their shortest."""


def common(given: dict[str, Any], *names: str) -> dict[str, Any]:
    """What every preset takes over from the flags that were given."""
    usual = ("seed", "temperature", "ignore_eos", "slo", "certainty", "most_s")
    return {name: given[name] for name in (*usual, *names) if given.get(name) is not None}


def compare_endpoints(given: dict[str, Any], _embedded: bool) -> Workload:
    """The same prompts on every endpoint, one request of each in turn."""
    targets: Sequence[Target] = named_apart(given.get("targets") or ())
    repeat = given.get("repeat") or given.get("requests") or 20
    lengths: Sequence[int | None] = given.get("prompt_tokens") or (None,)
    streams = (given.get("concurrency") or (1,))[0]
    stages = [
        Stage(
            label=f"{target.name}: {f'{prompt}→' if prompt else ''}{output} tokens",
            texts=() if prompt else tuple(given.get("prompts") or (QUESTION,)),
            prompt_tokens=prompt,
            max_tokens=output,
            concurrency=streams,
            requests=repeat,
            warmup=given.get("warmup", 1),
            same_prompt=bool(given.get("same_prompt")),
            series=f"compare/{prompt or 'own'}/{output}",
            target=number,
        )
        for prompt in lengths
        for output in given.get("max_tokens") or (128,)
        for number, target in enumerate(targets or (Target(name="?"),))
    ]
    wanted = tr(
        "compare-endpoints wants two endpoints or more: name each with --endpoint (a profile, a"
        " URL, or embedded)."
    )
    return Workload(
        preset="compare-endpoints",
        stages=tuple(stages),
        targets=tuple(targets),
        interleave=True,
        unfit="" if len(targets) >= 2 else wanted,
        **common(given),
    )


def precision(given: dict[str, Any], embedded: bool) -> Workload:
    """The same answers from the embedded engine, its numbers held in fewer and fewer bytes."""
    repeat = given.get("repeat") or given.get("requests") or 5
    output = (given.get("max_tokens") or (256,))[0]
    targets = [
        Target(name=f"weights {weights}, KV {kv}", weights=weights, kv_dtype=kv)
        for weights, kv in PAIRS
    ]
    stages = [
        Stage(
            label=target.name,
            texts=tuple(given.get("prompts") or (QUESTION,)),
            max_tokens=output,
            requests=repeat,
            warmup=given.get("warmup", 1),
            same_prompt=bool(given.get("same_prompt")),
            series="precision",
            target=number,
        )
        for number, target in enumerate(targets)
    ]
    unfit = tr(
        "precision runs on the embedded engine only: no server lets a client choose how"
        " its weights and cache are held. Leave --base-url and --profile out."
    )
    return Workload(
        preset="precision",
        stages=tuple(stages),
        targets=tuple(targets),
        interleave=True,
        unfit="" if embedded else unfit,
        **common(given),
    )
