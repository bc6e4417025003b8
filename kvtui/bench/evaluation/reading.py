"""How the presets' figures are read: the article's claims, the prefill's line."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median

from kvtui.bench.figures.difference import difference_of_few, mann_whitney
from kvtui.bench.figures.finding import Finding
from kvtui.bench.figures.fits import METHOD, Estimate, Fit, fit
from kvtui.bench.figures.levels import Level
from kvtui.bench.figures.sample import Sample
from kvtui.bench.figures.summary import kind_of, template_of
from kvtui.bench.work.workload import Workload
from kvtui.language import tr
from kvtui.text import milliseconds

_STAYS = 0.05
_ALPHA = 0.05
_CACHE_ALPHA = 0.01
_OFF = 0.25
"""A median farther off the line than this part of itself is not described by it."""
_TELLING = 5
"""Values on each side from which a rank test can reach 1 %."""


def _of(workload: Workload, samples: Sequence[Sample], series: str) -> list[Sample]:
    numbers = {n for n, s in enumerate(workload.stages) if s.series.startswith(series)}
    return [s for s in samples if s.stage in numbers and s.completed]


def article(
    workload: Workload, levels: Sequence[Level], samples: Sequence[Sample]
) -> list[Finding]:
    """TTFT moves with the prompt; TPS stays; short outputs make it noisy: each only if so."""
    del levels
    found = []
    template = template_of(workload, samples)
    question, summary = (
        [s.ttft_ms for s in _of(workload, samples, series) if s.ttft_ms and not s.warm(template)]
        for series in ("question", "summarise")
    )
    if question and summary:
        short, long = median(question), median(summary)
        ratio = long / short
        test = mann_whitney(question, summary)
        holds = None if test.p >= _ALPHA else ratio > 1
        figures = {"ratio": ratio, "p": test.p, "test": test.name}
        medians = tr(
            "{short} and {long}, the medians of {n} and {m} requests, answers of all lengths"
            " together",
            short=milliseconds(short),
            long=milliseconds(long),
            n=len(question),
            m=len(summary),
        )
        if holds is None:
            text = tr(
                "Whether TTFT moves with the prompt cannot be told: {ratio:.2f} times,"
                " p = {p:.2f} ({medians}).",
                ratio=ratio,
                p=test.p,
                medians=medians,
            )
        elif holds:
            text = tr(
                "TTFT moves with the prompt: {ratio:.2f} times as long to summarise ({medians}).",
                ratio=ratio,
                medians=medians,
            )
        else:
            text = tr(
                "TTFT does not grow with the prompt here: {ratio:.2f} times ({medians}).",
                ratio=ratio,
                medians=medians,
            )
        found.append(Finding("ttft_moves_with_prompt", text, holds, figures))
    return [*found, *_stays(workload, samples)]


def _stays(workload: Workload, samples: Sequence[Sample]) -> list[Finding]:
    """Whether the decode rate is the same for short answers and long ones."""
    rates: dict[int, list[float]] = {}
    for sample in _of(workload, samples, "question"):
        if sample.decode_tps:
            rates.setdefault(workload.stages[sample.stage].max_tokens, []).append(sample.decode_tps)
    if len(rates) < 2:
        return []
    ordered = sorted(rates)
    middles = [median(rates[n]) for n in ordered]
    short, long = rates[ordered[0]], rates[ordered[-1]]
    change = middles[-1] / middles[0] - 1
    apart = max(middles) / min(middles) - 1
    figures: dict[str, object] = {"spread": apart, "change": change}
    values = {
        "first": middles[0],
        "short": ordered[0],
        "last": middles[-1],
        "long": ordered[-1],
        "change": 100 * change,
        "apart": 100 * apart,
    }
    if apart <= _STAYS:
        text = tr("TPS stays within {apart:.1f} % from {short} to {long} tokens.", **values)
        return [Finding("tps_stays", text, True, figures)]
    test = difference_of_few(short, long)
    figures |= {"p": test.p, "test": test.name}
    if test.p >= _ALPHA:
        text = tr(
            "Whether TPS stays cannot be told from {n} and {m} answers: {first:.1f} tok/s at"
            " {short} tokens, {last:.1f} at {long} ({change:+.1f} %, p = {p:.2g}).",
            n=len(short),
            m=len(long),
            p=test.p,
            **values,
        )
        return [Finding("tps_stays", text, None, figures)]
    text = tr(
        "TPS does not stay: {first:.1f} tok/s at {short} tokens, {last:.1f} at {long}"
        " ({change:+.1f} %).",
        **values,
    )
    return [Finding("tps_stays", text, False, figures)]


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
        found.append(_rate(line, _off_the_line(line, cold)))
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
    if cached and cached > template_of(workload, samples):
        text = tr(
            "{shape}: {n:.0f} prompt tokens came from the prefix cache, as the server says, but the"
            " times tell of no saving (p = {p:.2g}).",
            shape=shape,
            n=cached,
            p=test.p,
        )
        return Finding("prefix_cache", text, None, figures)
    if min(len(before), len(after)) < _TELLING:
        text = tr("{shape}: too few requests to tell{told}.", shape=shape, told=told)
        return Finding("prefix_cache", text, None, figures)
    text = tr("{shape}: no prefix cache shows in a test{told}.", shape=shape, told=told)
    return Finding("prefix_cache", text, False, figures)


def _off_the_line(line: Fit, points: Sequence[tuple[float, float]]) -> tuple[float, float]:
    """(part of itself, prompt tokens) by which a length's median TTFT lies off the line, at most.

    Lengths are told apart where one is a tenth above the other: counts vary a little.
    """
    groups: list[list[tuple[float, float]]] = []
    for point in sorted(points):
        if groups and point[0] <= 1.1 * groups[-1][0][0]:
            groups[-1].append(point)
        else:
            groups.append([point])
    off = []
    for group in groups:
        tokens, ttft = (median(values) for values in zip(*group, strict=True))
        off.append((abs(line.at(tokens).value / ttft - 1), tokens))
    return max(off, default=(0.0, 0.0))


def _rate(line: Fit, off: tuple[float, float]) -> Finding:
    fixed = line.coefficients[0]
    slope = line.coefficients[1]
    figures: dict[str, object] = {
        "off_most": off[0],
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
    text = tr(
        "TTFT = {fixed:.1f} ms + n / {rate:.0f} tok/s (rate {low:.0f} to {high:.0f}, fixed"
        " {least:.1f} to {most:.1f} ms; {method}).",
        fixed=fixed.value,
        rate=rate.value,
        low=rate.low,
        high=rate.high,
        least=fixed.low,
        most=fixed.high,
        method=tr(METHOD),
    )
    if off[0] > _OFF:
        text += tr(
            " But the median at {n:.0f} tokens lies {off:.0f} % off it: something disturbed the"
            " run, or no single rate describes it.",
            n=off[1],
            off=100 * off[0],
        )
        return Finding("prefill_rate", text, None, figures)
    return Finding("prefill_rate", text, True, figures)
