"""A run's rows: stages of the same kind pooled, each with its figures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import inf

import msgspec

from kvtui.bench.figures.health import Health
from kvtui.bench.figures.levels import Level, LevelSums
from kvtui.bench.figures.sample import Sample
from kvtui.bench.figures.stretches import Stretch
from kvtui.bench.work.slo import parse_slo
from kvtui.bench.work.workload import Stage, Workload


def kind_of(stage: Stage) -> Stage:
    """What stages have in common that are one level: not their prompts, not their warm-up."""
    return msgspec.structs.replace(stage, series="", warmup=0)


def template_of(workload: Workload, samples: Sequence[Sample]) -> int:
    """Prompt tokens that come from the prefix cache for every prompt of the run: its template's.

    Prompts that are sent for the first time differ from their first word on, so what a server has
    cached of them is what stands before: the chat template, a built-in system text. That is the
    same for all; TTFTs with no more than it are cold. Half a prompt is too much to be that.
    """
    fresh = fresh_stages(workload)
    return max(
        (shared_of(s.cached_prompt_tokens, s.prompt_tokens) for s in samples if s.stage in fresh),
        default=0,
    )


def fresh_stages(workload: Workload) -> set[int]:
    """Those whose prompts are sent for the first time."""
    seen: set[str] = set()
    fresh = set()
    for number, stage in enumerate(workload.stages):
        if not stage.same_prompt and stage.series not in seen:
            fresh.add(number)
        seen.add(stage.series)
    return fresh


def shared_of(cached: int | None, prompt: int | None) -> int:
    """The cached tokens of a prompt sent for the first time, where they may be the template's."""
    return cached if cached and cached <= (prompt or 0) / 2 else 0


def seconds_of(workload: Workload, samples: Sequence[Sample]) -> float:
    """How long was measured, in s: warm-up and what lies between the stretches left out.

    Levels that take turns share one clock: where stretches of several lie over each other, the time
    counts once.
    """
    axes: dict[tuple[int, int], dict[tuple[int, int], Stretch]] = {}
    for sample in samples:
        if sample.warmup or sample.stopped:
            continue
        stage, turn = sample.stage, 0
        axis = stage, sample.segment
        if workload.interleave:
            turn = sample.index // max(1, workload.stages[stage].concurrency)
            axis = 0, sample.segment
        axes.setdefault(axis, {}).setdefault((stage, turn), Stretch()).add(sample)
    seconds = 0.0
    for stretches in axes.values():
        clock = -inf
        for begin, end in sorted(stretch.span for stretch in stretches.values()):
            seconds += max(0.0, end - max(begin, clock))
            clock = max(clock, end)
    return seconds


def levels_of(
    workload: Workload,
    samples: Sequence[Sample],
    health: Mapping[tuple[int, int], Health],
    ended_early: Mapping[int, str] | None = None,
) -> list[Level]:
    """The levels that were begun, in the workload's order."""
    limits, template = parse_slo(workload.slo), template_of(workload, samples)
    groups: dict[Stage, list[int]] = {}
    for number, stage in enumerate(workload.stages):
        groups.setdefault(kind_of(stage), []).append(number)
    sums = {
        kind: LevelSums(kind, limits=limits, template=template, interleaved=workload.interleave)
        for kind in groups
    }
    by_stage = {number: sums[kind] for kind, numbers in groups.items() for number in numbers}
    begun = set()
    for sample in samples:
        if not sample.warmup:
            begun.add(sample.stage)
            by_stage[sample.stage].add(sample)
    rows = []
    for kind, numbers in groups.items():
        if begun.isdisjoint(numbers):
            continue
        parts = [part for (number, _), part in health.items() if number in numbers]
        why = next((w for n, w in (ended_early or {}).items() if n in numbers), "")
        target = workload.targets[kind.target].name if workload.targets else ""
        rows.append(sums[kind].level(health=parts, ended_early=why, target=target))
    return rows
