"""How the presets' figures are read: the article's claims, the prefill's line, the cache."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median

from kvtui.bench.figures.difference import mann_whitney
from kvtui.bench.figures.finding import Finding
from kvtui.bench.figures.fits import METHOD, Estimate, Fit, estimate, fit
from kvtui.bench.figures.levels import Level
from kvtui.bench.figures.sample import Sample
from kvtui.bench.figures.summary import kind_of, template_of
from kvtui.bench.work.labels import label_shown
from kvtui.bench.work.workload import Workload
from kvtui.language import tr

_STAYS = 0.05
_BINS = 48
_CACHE = 0.5
_NO_CACHE = 0.7
_ALPHA = 0.05
_CACHE_ALPHA = 0.01
_TELLING = 5
"""Values on each side from which a rank test can reach 1 %."""


def _of(workload: Workload, samples: Sequence[Sample], series: str) -> list[Sample]:
    numbers = {n for n, s in enumerate(workload.stages) if s.series.startswith(series)}
    return [s for s in samples if s.stage in numbers and s.completed]


def article(
    workload: Workload, levels: Sequence[Level], samples: Sequence[Sample]
) -> list[Finding]:
    """TTFT moves with the prompt; TPS stays; short outputs make it noisy: each only if so."""
    found = []
    template = template_of(workload, samples)
    question, summary = (
        [s.ttft_ms for s in _of(workload, samples, series) if s.ttft_ms and not s.warm(template)]
        for series in ("question", "summarise")
    )
    if question and summary:
        ratio = median(summary) / median(question)
        test = mann_whitney(question, summary)
        holds = None if test.p >= _ALPHA else ratio > 1
        figures = {"ratio": ratio, "p": test.p, "test": test.name}
        if holds is None:
            text = tr(
                "Whether TTFT moves with the prompt cannot be told: {ratio:.2f} times,"
                " p = {p:.2f}.",
                ratio=ratio,
                p=test.p,
            )
        elif holds:
            text = tr(
                "TTFT moves with the prompt: {ratio:.2f} times as long to summarise.", ratio=ratio
            )
        else:
            text = tr("TTFT does not grow with the prompt here: {ratio:.2f} times.", ratio=ratio)
        found.append(Finding("ttft_moves_with_prompt", text, holds, figures))
    rows = [r for r in levels if r.decode_tps and r.label.startswith("question")]
    if len(rows) >= 2:
        middles = [r.decode_tps.p50 for r in rows if r.decode_tps]
        short, long = rows[0], rows[-1]
        change = middles[-1] / middles[0] - 1
        apart = max(middles) / min(middles) - 1
        stays = apart <= _STAYS
        if stays:
            text = tr(
                "TPS stays within {apart:.1f} % from {short} to {long} tokens.",
                apart=100 * apart,
                short=short.max_tokens,
                long=long.max_tokens,
            )
        else:
            text = tr(
                "TPS does not stay: {first:.1f} tok/s at {short} tokens, {last:.1f} at {long}"
                " ({change:+.1f} %).",
                first=middles[0],
                short=short.max_tokens,
                last=middles[-1],
                long=long.max_tokens,
                change=100 * change,
            )
        found.append(Finding("tps_stays", text, stays, {"spread": apart, "change": change}))
    return found


def ttfts(
    workload: Workload, samples: Sequence[Sample], label: str = ""
) -> list[tuple[float, float]]:
    """(prompt tokens, TTFT in ms); the length wanted where the server counts none."""
    points = []
    for sample in samples:
        stage = workload.stages[sample.stage]
        if sample.completed and sample.ttft_ms and stage.label.endswith(label):
            tokens = stage.prompt_tokens or 0
            counted = sample.prompt_tokens
            if counted and 0.5 * tokens <= counted <= 2 * tokens + 64:
                tokens = counted
            points.append((float(tokens), sample.ttft_ms))
    return points


def prefill(
    workload: Workload, levels: Sequence[Level], samples: Sequence[Sample]
) -> list[Finding]:
    """The line through the cold TTFTs, and what the prefix cache saves."""
    cold = [(n, t) for n, t in ttfts(workload, samples, "cold")]
    line = fit([n for n, _ in cold], [t for _, t in cold], 1)
    found = []
    if line is None:
        text = tr("Too few lengths for a line through the TTFTs.")
        found.append(Finding("prefill_rate", text, None))
    else:
        found.append(_rate(line))
    for row, again in zip(levels[::2], levels[1::2], strict=False):
        known = (row.ttft_ms or row.ttft_warm_ms) and (again.ttft_warm_ms or again.ttft_ms)
        if not known or row.prompt_tokens_wanted != again.prompt_tokens_wanted:
            continue
        found.append(_cache_saves(workload, row, again, samples))
    return found


def _cache_saves(
    workload: Workload, cold: Level, again: Level, samples: Sequence[Sample]
) -> Finding:
    """A prompt's first TTFT against its second: a saving is claimed where a test tells it."""
    before, after = (
        [s.ttft_ms for s in samples if kind_of(workload.stages[s.stage]).label == row.label
         and s.completed and s.ttft_ms]
        for row in (cold, again)
    )  # fmt: skip
    first, second = median(before), median(after)
    saved = 1 - second / first
    test = mann_whitney(before, after)
    cached = again.cached_prompt_tokens.p50 if again.cached_prompt_tokens else None
    apart = test.p < _CACHE_ALPHA and saved > 0
    figures = {
        "cold_ms": first,
        "again_ms": second,
        "saved": saved,
        "cached": cached,
        "p": test.p,
        "test": test.name,
    }
    shape = tr(
        "{n} tokens: {cold:.1f} ms cold, {again:.1f} ms again",
        n=cold.prompt_tokens_wanted,
        cold=first,
        again=second,
    )
    if apart and cached == 0:
        return Finding(
            "prefix_cache",
            tr(
                "{shape}, though the server says that no prompt token came from a cache.",
                shape=shape,
            ),
            None,
            figures,
        )
    told = tr(", {n:.0f} prompt tokens cached", n=cached) if cached else ""
    if apart:
        text = tr(
            "{shape}: the prefix cache saves {saved:.0f} %{told} (p = {p:.2g}).",
            shape=shape,
            saved=100 * saved,
            told=told,
            p=test.p,
        )
        return Finding("prefix_cache", text, True, figures)
    if min(len(before), len(after)) < _TELLING:
        text = tr("{shape}: too few requests to tell{told}.", shape=shape, told=told)
        return Finding("prefix_cache", text, None, figures)
    text = tr("{shape}: no prefix cache shows in a test{told}.", shape=shape, told=told)
    return Finding("prefix_cache", text, False, figures)


def _rate(line: Fit) -> Finding:
    fixed = line.coefficients[0]
    slope = line.coefficients[1]
    figures = {
        "fixed_ms": fixed.table(),
        "ms_per_token": slope.table(),
        "n": line.n,
        "method": METHOD,
    }
    if slope.low <= 0:
        return Finding(
            "prefill_rate",
            tr(
                "TTFT does not grow measurably with the prompt up to {n:.0f} tokens: no prefill"
                " rate can be told.",
                n=line.high_x,
            ),
            False,
            figures,
        )
    if fixed.high < 0:
        return Finding(
            "prefill_rate",
            tr(
                "TTFT grows faster than the prompt up to {n:.0f} tokens: the line through it begins"
                " at {fixed:.0f} ms, so no single prefill rate describes it.",
                n=line.high_x,
                fixed=fixed.value,
            ),
            False,
            figures,
        )
    rate = Estimate(1000 / slope.value, 1000 / slope.high, 1000 / slope.low)
    figures["tokens_per_s"] = rate.table()
    return Finding(
        "prefill_rate",
        tr(
            "TTFT = {fixed:.1f} ms + n / {rate:.0f} tok/s (rate {low:.0f} to {high:.0f}, fixed"
            " {least:.1f} to {most:.1f} ms; {method}).",
            fixed=fixed.value,
            rate=rate.value,
            low=rate.low,
            high=rate.high,
            least=fixed.low,
            most=fixed.high,
            method=tr(METHOD),
        ),
        True,
        figures,
    )


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
        found.append(_evidence(label, curve, line))
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


def _evidence(label: str, curve: Fit, line: Fit | None) -> Finding:
    a, b, c = curve.coefficients
    n = curve.high_x
    figures: dict[str, object] = {
        "a_ms": a.table(),
        "b_ms_per_token": b.table(),
        "c_ms_per_token2": c.table(),
        "position": n,
        "ms_per_token_at_position": curve.at(n).table(),
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
