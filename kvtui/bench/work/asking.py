"""A stage and a number → the request that is sent."""

from __future__ import annotations

from dataclasses import replace

from kvtui.bench.work.prompts import Words, synthetic
from kvtui.bench.work.workload import Stage
from kvtui.stream.request import Request, with_prefix


def ask(
    common: Request, stage: Stage, index: int, *, nonce: str, words: Words, warmup: bool
) -> Request:
    """One request of a stage: its prompt is the run's own unless the same one is wanted.

    Args:
        common: What all requests to its endpoint share.
        stage: Its stage.
        index: Its number in the stage.
        nonce: Makes the run's prompts differ from every other's.
        words: How words become tokens.
        warmup: Whether it is a warm-up request, whose prompt no other one has.
    """
    kind = "warm-up" if warmup else "run"
    key = f"{nonce}/{stage.series}/{'same' if stage.same_prompt else f'{kind} {index}'}"
    cache = common.kv_cache if stage.kv_cache is None else stage.kv_cache
    common = replace(common, max_tokens=stage.max_tokens, kv_cache=cache)
    if not stage.texts:
        text = synthetic(words.needed(stage.prompt_tokens or 1), key, words)
        return replace(common, prompt=text)
    request = replace(common, prompt=stage.texts[index % len(stage.texts)])
    return request if stage.same_prompt else with_prefix(request, f"[{synthetic(3, key)}] ")
