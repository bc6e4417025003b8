"""What the figures of a run say, and what they do not: sentences with the numbers behind them."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import msgspec

from kvtui.bench.evaluation import evidence, quality, rates, ratios, reading
from kvtui.bench.evaluation.cautions import cautions
from kvtui.bench.evaluation.lengths import prompt_lengths
from kvtui.bench.figures.finding import Finding
from kvtui.bench.figures.levels import Level
from kvtui.bench.figures.sample import Sample
from kvtui.bench.figures.samples import Samples
from kvtui.bench.requests.targets import Target
from kvtui.bench.running import search
from kvtui.bench.work.prompts import Words
from kvtui.bench.work.room import Room
from kvtui.bench.work.workload import Workload
from kvtui.language import counted, later, tr
from kvtui.text import count, milliseconds, rate

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
    measured = Samples(s for s in samples if not s.warmup and not s.stopped)
    by_preset = {
        "article": reading.article,
        "prefill": reading.prefill,
        "kv-evidence": evidence.kv_evidence,
        "quality-of-stream": quality.quality,
        "compare-endpoints": ratios.compare_endpoints,
    }
    found: list[Finding] = []
    if workload.preset in by_preset:
        found += by_preset[workload.preset](workload, levels, measured)
    if workload.preset == "precision":
        found += ratios.precision(workload, levels, measured, targets or workload.targets)
    found += _load(workload, levels)
    found += rates.queues(workload, measured)
    if workload.search is not None:
        found.append(search.found(workload, levels))
    elif workload.slo:
        found += _goodput(levels)
    found += _stopped(samples)
    found += cautions(workload, levels, measured)
    found += prompt_lengths(workload, measured, words)
    return found


def _stopped(samples: Sequence[Sample]) -> list[Finding]:
    """What was stopped is in no median; of a single one is told what it came to."""
    stopped = [s for s in samples if s.stopped and not s.warmup]
    if not stopped:
        return []
    only = stopped[0] if len(stopped) == 1 else None
    if only is None or only.ttft_ms is None:
        text = counted(
            len(stopped),
            later("{n} request was stopped and is in no figure."),
            later("{n} requests were stopped and are in no figure."),
        )
        return [Finding("stopped", text, None, {"requests": len(stopped)})]
    figures = {
        "requests": 1,
        "tokens": only.tokens,
        "ttft_ms": only.ttft_ms,
        "tpot_ms": only.tpot_ms,
        "decode_tps": only.decode_tps,
    }
    text = tr(
        "1 request was stopped after {tokens} tokens and is in no median: TTFT {ttft}, TPOT {tpot},"
        " {tps} tok/s up to its last token.",
        tokens=count(only.tokens),
        ttft=milliseconds(only.ttft_ms),
        tpot=milliseconds(only.tpot_ms),
        tps=rate(only.decode_tps),
    )
    return [Finding("stopped", text, None, figures)]


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
        room = next((r for r in workload.rooms if r.tokens == stage.tokens), None)
        if room is not None:
            found.append(_room(room, ordered, knee))
    return found


def _room(room: Room, rows: Sequence[Level], knee: Finding | None) -> Finding:
    """How many sequences fit, against where throughput stopped to grow."""
    logical = room.engine == "logical"
    fit = tr(
        "{n:,} sequences of {tokens:,} tokens fit on {card} with {model} (KV {dtype}, {rules})",
        n=room.sequences,
        tokens=room.tokens,
        card=room.card,
        model=room.model,
        dtype=room.kv_dtype,
        rules=tr("the bare formula") if logical else tr("{engine}'s rules", engine=room.engine),
    )
    at = knee.figures.get("concurrency") if knee is not None else None
    figures = {**msgspec.to_builtins(room), "knee": at}
    most = max(row.concurrency for row in rows)
    if at is None:
        if most > room.sequences:
            text = tr("{fit}; at {n} streams some wait for memory.", fit=fit, n=most)
        else:
            text = tr("{fit}; the {n} streams of this run never came near.", fit=fit, n=most)
    elif at >= room.sequences:
        text = tr("{fit}; the knee at {n} streams lies where memory ends.", fit=fit, n=at)
    else:
        text = tr(
            "{fit}; the knee at {n} streams comes before: it is not memory that ends the growth.",
            fit=fit,
            n=at,
        )
    return Finding("room", text, None, figures)


def _knee(rows: Sequence[Level]) -> Finding:
    """The first level after which throughput hardly grows, by the gain per doubling."""
    from math import log2

    points = [(r, r.steady_output_tps or r.output_tps) for r in rows]
    known = [(r, tps) for r, tps in points if tps]
    what = tr("{n} tokens out", n=known[0][0].max_tokens) if known else ""
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
                tr(
                    "{what}: throughput stops growing at {n} streams ({tps:.1f} tok/s), but this"
                    " client was itself the bottleneck there: it says nothing of the server.",
                    what=what,
                    n=row.concurrency,
                    tps=tps,
                ),
                None,
                figures,
            )
        return Finding(
            "knee",
            tr(
                "{what}: the knee is at concurrency {n} ({tps:.1f} tok/s): from there to {more} a"
                " doubling brings {gain}.",
                what=what,
                n=row.concurrency,
                tps=tps,
                more=after.concurrency,
                gain=_percent(gain),
            ),
            True,
            figures,
        )
    return Finding(
        "knee",
        tr(
            "{what}: no knee up to {n} streams: throughput still grows.",
            what=what,
            n=rows[-1].concurrency,
        ),
        False,
        {"concurrency": None},
    )


def _percent(share: float) -> str:
    """``+80 %``, ``−15 %``."""
    return f"{100 * share:+.0f} %".replace("-", "−")


def _goodput(levels: Sequence[Level]) -> list[Finding]:
    good = [r for r in levels if r.goodput_share is not None and r.goodput_share >= _KEPT]
    loads = [r for r in good if r.rate is None]
    if loads:
        best = max(loads, key=lambda row: row.concurrency)
        template = later(
            "{n} streams is the highest level run that keeps the limits ({share} of {requests})."
        )
        load = f"{best.concurrency}"
        figures: dict[str, Any] = {"concurrency": best.concurrency}
    elif good:
        best = max(good, key=lambda row: row.rate or 0)
        template = later(
            "{n} requests/s is the highest rate run that keeps the limits ({share} of {requests})."
        )
        load = f"{best.rate:g}"
        figures = {"rate": best.rate}
    else:
        return [Finding("slo", tr("No level keeps the limits for 95 % of its requests."), False)]
    figures["goodput_rate"] = best.goodput_rate
    share = f"{100 * (best.goodput_share or 0):.0f} %"
    requests = counted(best.requests, later("{n} request"), later("{n} requests"))
    return [Finding("slo", tr(template, n=load, share=share, requests=requests), True, figures)]
