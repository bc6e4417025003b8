"""What the figures of a run say, and what they do not: sentences with the numbers behind them."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import msgspec

from kvtui.bench.evaluation import quality, ratios, reading
from kvtui.bench.evaluation.lengths import prompt_lengths
from kvtui.bench.figures.finding import Finding
from kvtui.bench.figures.levels import Level
from kvtui.bench.figures.sample import Sample
from kvtui.bench.figures.summary import template_of
from kvtui.bench.requests.targets import Target
from kvtui.bench.running import search
from kvtui.bench.work.prompts import Words
from kvtui.bench.work.room import Room, tokens_of
from kvtui.bench.work.workload import Workload
from kvtui.text import milliseconds

KNEE_GAIN = 0.1
"""Beyond the knee, doubling the streams raises throughput by less than this part."""
_KEPT = 0.95
"""Part of the requests that must keep the limits for a level to be good."""


def findings_of(
    workload: Workload,
    levels: Sequence[Level],
    samples: Sequence[Sample],
    *,
    words: Words | None,
    targets: Sequence[Target] = (),
) -> list[Finding]:
    """All that is to be said of a run.

    Args:
        workload: What was asked.
        levels: Its rows.
        samples: Its requests.
        words: How synthetic prompts were made.
        targets: The endpoints of a run that has several.
    """
    measured = [s for s in samples if not s.warmup and not s.stopped]
    by_preset = {
        "article": reading.article,
        "prefill": reading.prefill,
        "kv-evidence": reading.kv_evidence,
        "quality-of-stream": quality.quality,
        "compare-endpoints": ratios.compare_endpoints,
    }
    found: list[Finding] = []
    if workload.preset in by_preset:
        found += by_preset[workload.preset](workload, levels, measured)
    if workload.preset == "precision":
        found += ratios.precision(workload, levels, measured, targets or workload.targets)
    found += _load(workload, levels)
    if workload.search is not None:
        found.append(search.found(workload, levels))
    elif workload.slo:
        found += _goodput(levels)
    found += _cautions(workload, levels, measured)
    found += prompt_lengths(workload, measured, words)
    return found


def _load(workload: Workload, levels: Sequence[Level]) -> list[Finding]:
    """The knee of each series of concurrency levels, and the memory model's word beside it."""
    series: dict[tuple[Any, ...], list[Level]] = {}
    for row in levels:
        if row.rate is None and row.completed:
            key = (row.prompt_tokens_wanted, row.max_tokens, row.kv_cache, row.target)
            series.setdefault(key, []).append(row)
    found = []
    for rows in series.values():
        ordered = sorted(rows, key=lambda row: row.concurrency)
        knee = None
        if len({row.concurrency for row in ordered}) >= 3:
            knee = _knee(ordered)
            found.append(knee)
        labels = {row.label for row in rows}
        stage = next(stage for stage in workload.stages if stage.label in labels)
        room = next((r for r in workload.rooms if r.tokens == tokens_of(stage)), None)
        if room is not None:
            found.append(_room(room, ordered, knee))
    return found


def _room(room: Room, rows: Sequence[Level], knee: Finding | None) -> Finding:
    """How many sequences fit, against where throughput stopped to grow."""
    rules = "the bare formula" if room.engine == "logical" else f"{room.engine}'s rules"
    text = (
        f"{room.sequences:,} sequences of {room.tokens:,} tokens fit on {room.card} with"
        f" {room.model} (KV {room.kv_dtype}, {rules})"
    )
    at = knee.figures.get("concurrency") if knee is not None else None
    figures = {**msgspec.to_builtins(room), "knee": at}
    most = max(row.concurrency for row in rows)
    if at is None:
        if most > room.sequences:
            text += f"; at {most} streams some wait for memory."
        else:
            text += f"; the {most} streams of this run never came near."
    elif at >= room.sequences:
        text += f"; the knee at {at} streams lies where memory ends."
    else:
        text += f"; the knee at {at} streams comes before: it is not memory that ends the growth."
    return Finding("room", text, None, figures)


def _knee(rows: Sequence[Level]) -> Finding:
    """The first level after which throughput hardly grows, by the gain per doubling."""
    from math import log2

    points = [(r, r.steady_output_tps or r.output_tps) for r in rows]
    known = [(r, tps) for r, tps in points if tps]
    what = f"{known[0][0].max_tokens} tokens out" if known else ""
    for (row, tps), (after, more) in itertools.pairwise(known):
        doublings = log2(after.concurrency / row.concurrency)
        gain = (more / tps) ** (1 / doublings) - 1
        if gain >= KNEE_GAIN:
            continue
        bound = any(r.client is not None and r.client.client_bound for r in (row, after))
        figures = {
            "concurrency": row.concurrency,
            "output_tps": tps,
            "gain_per_doubling": gain,
            "client_bound": bound,
        }
        if bound:
            return Finding(
                "knee",
                f"{what}: throughput stops growing at {row.concurrency} streams"
                f" ({tps:.1f} tok/s), but this client was itself the bottleneck there: it says"
                " nothing of the server.",
                None,
                figures,
            )
        return Finding(
            "knee",
            f"{what}: the knee is at concurrency {row.concurrency} ({tps:.1f} tok/s): from there"
            f" to {after.concurrency} a doubling brings {100 * gain:+.0f} %.",
            True,
            figures,
        )
    return Finding(
        "knee",
        f"{what}: no knee up to {rows[-1].concurrency} streams: throughput still grows.",
        False,
        {"concurrency": None},
    )


def _goodput(levels: Sequence[Level]) -> list[Finding]:
    good = [r for r in levels if r.goodput_share is not None and r.goodput_share >= _KEPT]
    loads = [r for r in good if r.rate is None]
    if loads:
        best = max(loads, key=lambda row: row.concurrency)
        text = f"{best.concurrency} streams is the highest level run that keeps the limits"
        figures: dict[str, Any] = {"concurrency": best.concurrency}
    elif good:
        best = max(good, key=lambda row: row.rate or 0)
        text = f"{best.rate:g} requests/s is the highest rate run that keeps the limits"
        figures = {"rate": best.rate}
    else:
        return [Finding("slo", "No level keeps the limits for 95 % of its requests.", False)]
    figures["goodput_rate"] = best.goodput_rate
    share = f"{100 * (best.goodput_share or 0):.0f} % of {best.requests} requests"
    return [Finding("slo", f"{text} ({share}).", True, figures)]


def _cautions(
    workload: Workload, levels: Sequence[Level], samples: Sequence[Sample]
) -> list[Finding]:
    found: list[Finding] = []
    for row in levels:
        if row.short_outputs:
            found.append(
                Finding(
                    "short_output",
                    f"{row.label}: {row.short_outputs} of {row.completed} answers ended before the"
                    f" {row.max_tokens} tokens asked for (median"
                    f" {row.completion_tokens.p50 if row.completion_tokens else 0:.0f}).",
                )
            )
        if row.token_source.get("estimate"):
            found.append(
                Finding(
                    "estimated_count",
                    f"{row.label}: the server counted no tokens in {row.token_source['estimate']}"
                    f" of {row.completed} answers: TPOT and tok/s rest on an estimate.",
                )
            )
        if row.client is not None and row.client.client_bound:
            lag = milliseconds(row.client.loop_lag_ms_max)
            found.append(
                Finding(
                    "client_bound",
                    f"{row.label}: this client was part of what was measured (own lag up to {lag},"
                    f" {100 * row.client.cpu_share:.0f} % of a core).",
                )
            )
        if row.ended_early:
            found.append(Finding("ended_early", f"{row.label}: ended early: {row.ended_early}."))
        if row.concurrency > 1 and row.completed and row.steady_output_tps is None:
            found.append(
                Finding(
                    "no_steady_window",
                    f"{row.label}: {row.requests} requests never kept all"
                    f" {row.concurrency} streams in use for long: only throughput over all.",
                )
            )
    template = template_of(workload, samples)
    if template:
        found.append(
            Finding(
                "template_cached",
                f"Up to {template} prompt tokens that all prompts share (the chat template) come"
                " from the prefix cache; a TTFT with no more than those counts as cold.",
                None,
                {"tokens": template},
            )
        )
    if not workload.stages[0].same_prompt and any(s.warm(template) for s in samples):
        share = sum(s.warm(template) for s in samples)
        found.append(
            Finding(
                "warm",
                f"{share} of {len(samples)} requests had prompt tokens from the prefix cache: their"
                " TTFT stands apart, as warm.",
            )
        )
    classes: dict[str, list[Sample]] = {}
    for sample in samples:
        if sample.failed:
            classes.setdefault(f"{sample.cls}.{sample.subcode}", []).append(sample)
    for name, failed in classes.items():
        detail = failed[0].failure or {}
        fixes = detail.get("fixes") or [""]
        found.append(
            Finding(
                "failures",
                f"{len(failed)} of {len(samples)} requests failed as {name}:"
                f" {detail.get('message', '')} {fixes[0]}".strip(),
                None,
                {"outcome": name, "n": len(failed)},
            )
        )
    return found
