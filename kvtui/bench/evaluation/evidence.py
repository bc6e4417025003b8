"""The evidence for a KV cache: the time per token over position, beside the prefill's."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median

from kvtui.bench.evaluation.reading import ttfts
from kvtui.bench.figures.finding import Finding
from kvtui.bench.figures.fits import METHOD, Estimate, Fit, estimate, fit
from kvtui.bench.figures.levels import Level
from kvtui.bench.figures.sample import Sample
from kvtui.bench.work.labels import label_shown
from kvtui.bench.work.workload import Workload
from kvtui.language import tr

_BINS = 48
_CACHE = 0.5
_NO_CACHE = 0.7
_REQUESTS = 3
"""Requests from which growth over position is told."""


def kv_evidence(
    workload: Workload, levels: Sequence[Level], samples: Sequence[Sample]
) -> list[Finding]:
    """Time per token over position against the prefill of as many tokens."""
    del levels
    long = [n for n, stage in enumerate(workload.stages) if stage.keep_reads]
    prefills = ttfts(workload, [s for s in samples if s.stage not in long])
    line = fit([n for n, _ in prefills], [t for _, t in prefills], 1)
    found = []
    curves: dict[bool | None, Fit] = {}
    for number in long:
        cache, label = workload.stages[number].kv_cache, label_shown(workload.stages[number].label)
        points = positions([s for s in samples if s.stage == number and s.completed])
        curve = fit([x for x, _ in points], [y for _, y in points], 2)
        if curve is None:
            text = tr("{label}: too few positions.", label=label)
            found.append(Finding("kv_cache", text, None))
            continue
        curves[cache] = curve
        each = [positions([s]) for s in samples if s.stage == number and s.completed]
        found.append(_evidence(label, curve, line, each))
    if len(curves) == 2:
        found.append(_apart(curves[True], curves[False]))
    return found


def positions(samples: Sequence[Sample]) -> list[tuple[float, float]]:
    """(position in the sequence, ms per token): the middle of bins of neighbouring tokens."""
    points = []
    for sample in samples:
        reads = sample.reads
        total = reads[-1][1] if reads else 0
        if total < 8 or not sample.tokens:
            continue
        each = sample.tokens / total if sample.tokens > 1.5 * total else 1.0
        prompt = sample.prompt_tokens or 0
        width = max(1, len(reads) // _BINS)
        for at in range(0, len(reads) - width, width):
            c0, c1 = reads[at][1], reads[at + width][1]
            if c1 > c0:
                gaps = [
                    (b[0] - a[0]) / ((b[1] - a[1]) * each)
                    for a, b in zip(
                        reads[at : at + width], reads[at + 1 : at + width + 1], strict=True
                    )
                    if b[1] > a[1]
                ]
                points.append((prompt + each * (c0 + c1) / 2, median(gaps)))
    return points


def _growth(
    curve: Fit, each: Sequence[Sequence[tuple[float, float]]]
) -> tuple[Estimate, bool | None]:
    """Time per token at the end over that at the start, and whether it grew.

    Points of one request are alike in what disturbed it, which a bootstrap over points does not
    know: growth is told only where every request's own last third is slower than its first.
    """
    low, high = curve.low_x, curve.high_x
    grown = curve.derived(
        lambda c: sum(c[k] * high**k for k in range(3)) / sum(c[k] * low**k for k in range(3))
    )
    thirds = [len(points) // 3 for points in each]
    slower = [
        median(y for _, y in points[-third:]) > median(y for _, y in points[:third])
        for points, third in zip(each, thirds, strict=True)
        if third
    ]
    if len(slower) < _REQUESTS:
        return grown, None
    return grown, grown.low > 1 and all(slower)


def _evidence(
    label: str, curve: Fit, line: Fit | None, each: Sequence[Sequence[tuple[float, float]]]
) -> Finding:
    a, b, c = curve.coefficients
    growth, grew = _growth(curve, each)
    n = curve.high_x
    figures: dict[str, object] = {
        "a_ms": a.table(),
        "b_ms_per_token": b.table(),
        "c_ms_per_token2": c.table(),
        "position": n,
        "ms_per_token_at_position": curve.at(n).table(),
        "growth": growth.table() | {"holds": grew},
        "points": curve.n,
        "method": METHOD,
    }
    shape = tr(
        "{label}: {first:.3g} ms a token at the start, {last:.3g} at position {n:.0f}",
        label=label,
        first=curve.at(curve.low_x).value,
        last=curve.at(n).value,
        n=n,
    )
    if grew:
        shape += tr(
            " ({times:.2f} times, {low:.2f} to {high:.2f})",
            times=growth.value,
            low=growth.low,
            high=growth.high,
        )
    elif grew is False:
        shape += tr(" (no growth stands out)")
    if line is None or line.coefficients[1].low <= 0:
        text = tr(
            "{shape}; the prefill's time does not grow measurably with its length, so nothing is"
            " claimed.",
            shape=shape,
        )
        return Finding("kv_cache", text, None, figures)
    size = min(len(curve.draws), len(line.draws))
    at = curve.at(n)
    steps = sum(curve.draws[:size, k] * n**k for k in range(3))
    ratio = estimate(
        at.value / (line.coefficients[1].value * n), steps / (line.draws[:size, 1] * n)
    )
    figures["prefill_ms"] = line.coefficients[1].value * n
    figures["ratio"] = ratio.table()
    told = tr(
        "{shape}: {ratio:.2g} of the prefill of as many tokens ({low:.2g} to {high:.2g})",
        shape=shape,
        ratio=ratio.value,
        low=ratio.low,
        high=ratio.high,
    )
    if ratio.high < _CACHE:
        text = tr("{told}: a KV cache is at work.", told=told)
        if grew:
            text += tr(" The growth is attention's read of it.")
        return Finding("kv_cache", text, True, figures)
    if ratio.low > _NO_CACHE:
        text = tr("{told}: each token costs about a prefill: no KV cache is at work.", told=told)
        return Finding("kv_cache", text, False, figures)
    return Finding("kv_cache", tr("{told}: nothing can be claimed.", told=told), None, figures)


def _apart(on: Fit, off: Fit) -> Finding:
    """Where the two curves part; nothing is claimed where their bands overlap."""
    low, high = max(on.low_x, off.low_x), min(on.high_x, off.high_x)
    places = [low + (high - low) * k / 40 for k in range(41)]
    overlapping = [x for x in places if off.at(x).low <= on.at(x).high]
    last = on.at(high), off.at(high)
    times = last[1].value / last[0].value
    figures = {"position": high, "on_ms": last[0].table(), "off_ms": last[1].table()}
    if high in overlapping or len(overlapping) == len(places):
        return Finding(
            "cache_on_off", tr("With and without the cache cannot be told apart."), None, figures
        )
    since = max(overlapping, default=low)
    figures["apart_from"] = since
    return Finding(
        "cache_on_off",
        tr(
            "At position {n:.0f} a token takes {times:.1f} times as long without the cache; the"
            " curves are apart from position {since:.0f} on.",
            n=high,
            times=times,
            since=since,
        ),
        True,
        figures,
    )
