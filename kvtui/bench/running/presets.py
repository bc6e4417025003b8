"""The ready-made experiments, as workloads for an endpoint."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import msgspec

from kvtui.bench.running.presets_several import common, compare_endpoints, precision
from kvtui.bench.running.search import rates_between, streams_up_to
from kvtui.bench.work.labels import label_shown
from kvtui.bench.work.texts import ARTICLE, QUESTION, SUMMARISE
from kvtui.bench.work.workload import Goal, Spec, Stage, Workload, WorkloadError, expand
from kvtui.language import tr

_BATCH = 32
"""Requests of a batch: three without a miss, or five with one, make a share of 95 % sure."""
_QUESTION = 48
"""Tokens of a prompt before a long answer: a chat template and a few words beside it."""
_MARGIN = 48
"""Tokens left for a chat template and a prefix."""


@dataclass(frozen=True, slots=True)
class Plan:
    """A workload and what had to be changed to fit the endpoint."""

    workload: Workload
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Preset:
    """A ready-made experiment."""

    name: str
    about: str
    build: Callable[[dict[str, Any], bool], Workload] = field(repr=False)
    """From the flags that were given (names of ``Spec``), and whether the engine is our own."""


def article(given: dict[str, Any], _embedded: bool) -> Workload:
    """Short against long output, and a long prompt; each three times."""
    repeat = given.get("repeat") or given.get("requests") or 3
    cache = False if given.get("no_kv_cache") else None
    shared: dict[str, Any] = {
        "requests": repeat,
        "warmup": given.get("warmup", 1),
        "same_prompt": bool(given.get("same_prompt")),
        "kv_cache": cache,
    }
    lengths: Sequence[int] = given.get("max_tokens") or (64, 512, 1024, 2048)
    question = given.get("prompts") or (QUESTION,)
    stages = [
        Stage(
            label=f"question, {n} tokens",
            texts=tuple(question),
            max_tokens=n,
            series=f"question/{n}",
            **shared,
        )
        for n in lengths
    ]
    summary = Stage(
        label="summarise 2,000 characters",
        texts=(SUMMARISE + ARTICLE[:2000],),
        max_tokens=min(128, max(lengths)),
        series="summarise",
        **shared,
    )
    return Workload(preset="article", stages=(*stages, summary), **common(given))


def sweep(given: dict[str, Any], embedded: bool) -> Workload:
    """Concurrency or rate × prompt × output length."""
    streams = (1, 2, 4) if embedded else (1, 2, 4, 8, 16)
    usual = Spec(
        prompt_tokens=() if given.get("prompts") else (256,),
        max_tokens=(128,),
        # At a rate nothing holds requests back but a limit that was asked for.
        concurrency=(1,) if given.get("rate") else streams,
    )
    names = [name for name in Spec.__struct_fields__ if given.get(name) is not None]
    spec = msgspec.structs.replace(usual, **{name: given[name] for name in names})
    if given.get("search"):
        return _searching(spec, 16 if embedded else 256, given)
    workload = expand(spec, "sweep", QUESTION)
    return msgspec.structs.replace(workload, most_s=given.get("most_s"))


def _searching(spec: Spec, most: int, given: dict[str, Any]) -> Workload:
    """A sweep's stages as batches of every level that a search may look at."""
    if given.get("rate"):
        levels = msgspec.structs.replace(spec, rate=rates_between(min(spec.rate), max(spec.rate)))
    else:
        most = max(given.get("concurrency") or (most,))
        levels = msgspec.structs.replace(spec, concurrency=streams_up_to(most))
    if len(spec.prompt_tokens) > 1 or len(spec.max_tokens) > 1:
        raise WorkloadError(tr("A search takes one prompt length and one output length."))
    search = Goal()
    each = msgspec.structs.replace(levels, repeat=1, requests=given.get("requests"))
    plain = expand(each, "sweep", QUESTION)
    stages = [
        msgspec.structs.replace(
            stage,
            series=f"{stage.series}/{batch}",
            requests=given.get("requests") or max(_BATCH, 4 * stage.concurrency),
            duration_s=None,
            warmup=stage.warmup if batch == 0 else 0,
        )
        for stage in plain.stages
        for batch in range(search.batches)
    ]
    return msgspec.structs.replace(
        plain,
        stages=tuple(stages),
        search=search,
        most_s=given.get("most_s"),
        unfit="" if spec.slo else tr("A search wants limits to keep: --slo 'ttft_ms<500'."),
    )


def prefill(given: dict[str, Any], _embedded: bool) -> Workload:
    """TTFT against prompt length: cold, then the same prompts again."""
    lengths: Sequence[int] = given.get("prompt_tokens") or (64, 128, 256, 512, 1024, 2048, 4096)
    repeat = given.get("repeat") or given.get("requests") or 5
    output = (given.get("max_tokens") or (4,))[0]
    stages = [
        Stage(
            label=f"{n} prompt tokens, {kind}",
            prompt_tokens=n,
            max_tokens=output,
            requests=repeat,
            warmup=given.get("warmup", 1) if kind == "cold" else 0,
            series=f"prefill/{n}",
            concurrency=(given.get("concurrency") or (1,))[0],
        )
        for n in lengths
        for kind in ("cold", "again")
    ]
    return Workload(preset="prefill", stages=tuple(stages), **common(given))


def kv_evidence(given: dict[str, Any], embedded: bool) -> Workload:
    """Time per token over the position, beside the prefill of as many tokens."""
    output = (given.get("max_tokens") or (512,))[0]
    repeat = given.get("repeat") or given.get("requests") or 3
    warmup = given.get("warmup", 1)
    lengths = given.get("prompt_tokens") or tuple(max(16, output * k // 4) for k in (1, 2, 3, 4))
    stages = [
        Stage(
            label=f"prefill of {n} tokens",
            prompt_tokens=n,
            max_tokens=2,
            requests=max(5, repeat),
            warmup=warmup,
            series=f"prefill/{n}",
        )
        for n in lengths
    ]
    caches: tuple[bool | None, ...] = (True, False) if embedded else (None,)
    if given.get("no_kv_cache"):
        caches = (False,)
    for cache in caches:
        name = {True: ", cache on", False: ", cache off", None: ""}[cache]
        stages.append(
            Stage(
                label=f"{output} tokens{name}",
                prompt_tokens=_QUESTION,
                max_tokens=output,
                requests=repeat,
                warmup=min(1, warmup) if cache is not False else 0,
                kv_cache=cache,
                keep_reads=True,
                series=f"decode/{cache}",
            )
        )
    return Workload(preset="kv-evidence", stages=tuple(stages), **common(given))


def quality_of_stream(given: dict[str, Any], _embedded: bool) -> Workload:
    """The same question again and again, with when each read came."""
    repeat = given.get("repeat") or given.get("requests") or 5
    levels: Sequence[int] = given.get("concurrency") or (1,)
    stages = [
        Stage(
            label=f"{output} tokens, c={streams}",
            texts=tuple(given.get("prompts") or (QUESTION,)),
            max_tokens=output,
            concurrency=streams,
            requests=max(repeat, streams),
            warmup=given.get("warmup", 1),
            same_prompt=bool(given.get("same_prompt")),
            keep_reads=True,
            series=f"quality/{output}/{streams}",
        )
        for output in given.get("max_tokens") or (256,)
        for streams in levels
    ]
    return Workload(preset="quality-of-stream", stages=tuple(stages), **common(given))


PRESETS: dict[str, Preset] = {
    preset.name: preset
    for preset in (
        Preset(
            "article",
            "Short output against long, a long prompt, three times.",
            article,
        ),
        Preset(
            "sweep",
            "Throughput and latency by streams or rate; the knee.",
            sweep,
        ),
        Preset(
            "prefill",
            "TTFT by prompt length, cold and warm: prefill rate.",
            prefill,
        ),
        Preset(
            "kv-evidence",
            "Time per token by position: is a KV cache at work?",
            kv_evidence,
        ),
        Preset(
            "quality-of-stream",
            "Tokens a chunk, buffering, gaps, stalls, first bytes.",
            quality_of_stream,
        ),
        Preset(
            "compare-endpoints",
            "The same work on several endpoints: ratios of pairs.",
            compare_endpoints,
        ),
        Preset(
            "precision",
            "The embedded engine in f32, f16, int8: speed, logits.",
            precision,
        ),
    )
}


def fitted(workload: Workload, context: int | None) -> Plan:
    """The workload without what the model's context cannot hold, and what was changed."""
    if context is None:
        return Plan(workload.check())
    stages: list[Stage] = []
    notes: list[str] = []
    for stage in workload.stages:
        prompt = stage.prompt_tokens or max(len(text) for text in stage.texts) // 3
        room = context - prompt - _MARGIN
        if stage.max_tokens <= room:
            stages.append(stage)
        elif room >= max(2, stage.max_tokens // 2):
            notes.append(
                tr(
                    "{label}: {room} tokens are asked for, which is what the context of {context}"
                    " has room for.",
                    label=label_shown(stage.label),
                    room=room,
                    context=context,
                )
            )
            label = stage.label.replace(str(stage.max_tokens), str(room))
            stages.append(msgspec.structs.replace(stage, max_tokens=room, label=label))
        else:
            notes.append(
                tr(
                    "{label}: left out, the context holds {context} tokens.",
                    label=label_shown(stage.label),
                    context=context,
                )
            )
    kept = msgspec.structs.replace(workload, stages=tuple(stages))
    return Plan(kept.check(), tuple(notes))
