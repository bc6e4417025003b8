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
from kvtui.bench.work.workload import Workload

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
        words = {
            True: f"TTFT moves with the prompt: {ratio:.2f} times as long to summarise.",
            False: f"TTFT does not grow with the prompt here: {ratio:.2f} times.",
            None: f"Whether TTFT moves with the prompt cannot be told: {ratio:.2f} times,"
            f" p = {test.p:.2f}.",
        }
        found.append(Finding("ttft_moves_with_prompt", words[holds], holds, figures))
    rows = [r for r in levels if r.decode_tps and r.label.startswith("question")]
    if len(rows) >= 2:
        middles = [r.decode_tps.p50 for r in rows if r.decode_tps]
        short, long = rows[0], rows[-1]
        change = middles[-1] / middles[0] - 1
        apart = max(middles) / min(middles) - 1
        stays = apart <= _STAYS
        text = (
            f"TPS stays within {100 * apart:.1f} % from {short.max_tokens} to"
            f" {long.max_tokens} tokens."
            if stays
            else f"TPS does not stay: {middles[0]:.1f} tok/s at {short.max_tokens} tokens,"
            f" {middles[-1]:.1f} at {long.max_tokens} ({100 * change:+.1f} %)."
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
        found.append(Finding("prefill_rate", "Too few lengths for a line through the TTFTs.", None))
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
    text = f"{cold.prompt_tokens_wanted} tokens: {first:.1f} ms cold, {second:.1f} ms again"
    if apart and cached == 0:
        return Finding(
            "prefix_cache",
            f"{text}, though the server says that no prompt token came from a cache.",
            None,
            figures,
        )
    told = f", {cached:.0f} prompt tokens cached" if cached else ""
    if apart:
        text += f": the prefix cache saves {100 * saved:.0f} %{told} (p = {test.p:.2g})."
        return Finding("prefix_cache", text, True, figures)
    few = min(len(before), len(after)) < _TELLING
    says = ": too few requests to tell" if few else ": no prefix cache shows in a test"
    return Finding("prefix_cache", f"{text}{says}{told}.", None if few else False, figures)


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
            f"TTFT does not grow measurably with the prompt up to {line.high_x:.0f} tokens:"
            " no prefill rate can be told.",
            False,
            figures,
        )
    if fixed.high < 0:
        return Finding(
            "prefill_rate",
            f"TTFT grows faster than the prompt up to {line.high_x:.0f} tokens: the line through it"
            f" begins at {fixed.value:.0f} ms, so no single prefill rate describes it.",
            False,
            figures,
        )
    rate = Estimate(1000 / slope.value, 1000 / slope.high, 1000 / slope.low)
    figures["tokens_per_s"] = rate.table()
    return Finding(
        "prefill_rate",
        f"TTFT = {fixed.value:.1f} ms + n / {rate.value:.0f} tok/s (rate {rate.low:.0f} to"
        f" {rate.high:.0f}, fixed {fixed.low:.1f} to {fixed.high:.1f} ms; {METHOD}).",
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
        cache = workload.stages[number].kv_cache
        points = positions([s for s in samples if s.stage == number and s.completed])
        curve = fit([x for x, _ in points], [y for _, y in points], 2)
        if curve is None:
            found.append(
                Finding("kv_cache", f"{workload.stages[number].label}: too few positions.", None)
            )
            continue
        curves[cache] = curve
        found.append(_evidence(workload.stages[number].label, curve, line))
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
    shape = f"{label}: {curve.at(curve.low_x).value:.3g} ms a token at the start,"
    shape += f" {curve.at(n).value:.3g} at position {n:.0f}"
    if line is None or line.coefficients[1].low <= 0:
        text = "the prefill's time does not grow measurably with its length, so nothing is claimed."
        return Finding("kv_cache", f"{shape}; {text}", None, figures)
    size = min(len(curve.draws), len(line.draws))
    at = curve.at(n)
    steps = sum(curve.draws[:size, k] * n**k for k in range(3))
    ratio = estimate(
        at.value / (line.coefficients[1].value * n), steps / (line.draws[:size, 1] * n)
    )
    figures["prefill_ms"] = line.coefficients[1].value * n
    figures["ratio"] = ratio.table()
    told = (
        f"{ratio.value:.2g} of the prefill of as many tokens ({ratio.low:.2g} to {ratio.high:.2g})"
    )
    if ratio.high < _CACHE:
        return Finding("kv_cache", f"{shape}: {told}: a KV cache is at work.", True, figures)
    if ratio.low > _NO_CACHE:
        text = "each token costs about a prefill: no KV cache is at work."
        return Finding("kv_cache", f"{shape}: {told}: {text}", False, figures)
    return Finding("kv_cache", f"{shape}: {told}: nothing can be claimed.", None, figures)


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
            "cache_on_off", "With and without the cache cannot be told apart.", None, figures
        )
    since = max(overlapping, default=low)
    figures["apart_from"] = since
    return Finding(
        "cache_on_off",
        f"At position {high:.0f} a token takes {times:.1f} times as long without the cache; the"
        f" curves are apart from position {since:.0f} on.",
        True,
        figures,
    )
