"""A run's rows: stages of the same kind pooled, each with its figures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec

from kvtui.bench.health import Health
from kvtui.bench.levels import Level, level
from kvtui.bench.sample import Sample
from kvtui.bench.slo import parse_slo
from kvtui.bench.workload import Stage, Workload


def kind_of(stage: Stage) -> Stage:
    """What stages have in common that are one level: all but which prompts they were."""
    return msgspec.structs.replace(stage, series="")


def levels_of(
    workload: Workload,
    samples: Sequence[Sample],
    health: Mapping[tuple[int, int], Health],
    ended_early: Mapping[int, str] | None = None,
) -> list[Level]:
    """The levels that were begun, in the workload's order."""
    limits = parse_slo(workload.slo)
    groups: dict[Stage, list[int]] = {}
    for number, stage in enumerate(workload.stages):
        groups.setdefault(kind_of(stage), []).append(number)
    by_stage: dict[int, list[Sample]] = {}
    for sample in samples:
        by_stage.setdefault(sample.stage, []).append(sample)
    rows = []
    for kind, numbers in groups.items():
        ours = [sample for number in numbers for sample in by_stage.get(number, ())]
        if not any(not sample.warmup for sample in ours):
            continue
        parts = [part for (number, _), part in health.items() if number in numbers]
        why = next((w for n, w in (ended_early or {}).items() if n in numbers), "")
        rows.append(level(kind, ours, health=parts, limits=limits, ended_early=why))
    return rows
