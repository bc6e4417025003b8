"""The plots that a run's figures give, by name."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from kvtui.bench.evaluation.evidence import positions
from kvtui.bench.evaluation.reading import ttfts
from kvtui.bench.evaluation.results import Results
from kvtui.bench.export.svg import Series, plot
from kvtui.bench.figures.sample import Sample
from kvtui.bench.figures.summary import kind_of
from kvtui.bench.records.schema import RecordError
from kvtui.bench.work.labels import label_shown
from kvtui.language import later, tr

_KINDS = (later("cold"), later("again"))
_LONG_MS = 5000
"""From here on a time is read more easily in seconds."""


def plots(results: Results) -> dict[str, str]:
    """The plots that there are points for: name → SVG, the one that tells most first."""
    found = {name: draw(results) for name, draw in _PLOTS.items()}
    return {name: svg for name, svg in found.items() if svg}


def plot_of(results: Results, name: str | None = None) -> str:
    """One plot; without a name the one that tells most.

    Raises:
        RecordError: There are no points for it.
    """
    found = plots(results)
    if name is None and found:
        return next(iter(found.values()))
    if name is None or name not in found:
        have = f"it gives {', '.join(found)}" if found else "it holds too few finished requests"
        raise RecordError(
            f"{results.record.path} gives no plot{f' {name!r}' * bool(name)}: {have}."
        )
    return found[name]


def _measured(results: Results) -> list[Sample]:
    return [s for s in results.record.samples if s.completed and not s.warmup]


def _throughput(results: Results) -> str:
    """Each level's median latency against its throughput."""
    if len({(row.concurrency, row.rate) for row in results.levels}) < 2:
        return ""
    groups: dict[str, list[tuple[float, float, str]]] = {}
    for row in results.levels:
        tps = row.steady_output_tps or row.output_tps
        if tps and row.e2e_ms:
            name = tr(
                "{prompt} to {output} tokens",
                prompt=row.prompt_tokens_wanted or tr("own"),
                output=row.max_tokens,
            )
            load = f"{row.rate:g}/s" if row.rate else f"c={row.concurrency}"
            groups.setdefault(name, []).append((tps, row.e2e_ms.p50, load))
    series = [
        Series(name, [(x, y) for x, y, _ in points], True, [load for *_, load in points])
        for name, points in groups.items()
    ]
    series, unit = _in_unit(series)
    return plot(tr("Latency against throughput"), tr("output tok/s"), f"E2E p50, {unit}", series)


def _prompt(results: Results) -> str:
    """Of a run that varies the prompt's length."""
    workload = results.record.workload
    if workload.preset != "prefill":
        return ""
    samples = _measured(results)
    series = [Series(tr(kind), ttfts(workload, samples, kind)) for kind in _KINDS]
    series, unit = _in_unit(series)
    return plot(tr("TTFT against prompt length"), tr("prompt tokens"), f"TTFT, {unit}", series)


def _position(results: Results) -> str:
    """Of a run that kept its reads."""
    samples = _measured(results)
    series = [
        Series(label_shown(stage.label), positions([s for s in samples if s.stage == number]))
        for number, stage in enumerate(results.record.workload.stages)
        if stage.keep_reads
    ]
    return plot(tr("Time per token against position"), tr("position"), tr("ms a token"), series)


def _in_unit(series: Sequence[Series]) -> tuple[list[Series], str]:
    """Times in ms, or in seconds where they are long; and the unit's name."""
    if max((y for one in series for _, y in one.points), default=0.0) < _LONG_MS:
        return list(series), "ms"
    told = [replace(one, points=[(x, y / 1000) for x, y in one.points]) for one in series]
    return told, "s"


def _over_time(title: str, figure: str) -> Callable[[Results], str]:
    """A figure of each request in the order in which they were sent, a colour a level."""

    def draw(results: Results) -> str:
        stages = results.record.workload.stages
        levels: dict[str, list[tuple[float, float]]] = {}
        ordered = sorted(_measured(results), key=lambda s: (s.started_at, s.start_s))
        for number, sample in enumerate(ordered, 1):
            value = getattr(sample, figure)
            if value is not None:
                label = kind_of(stages[sample.stage]).label
                levels.setdefault(label, []).append((float(number), value))
        drawn = [Series(label_shown(name), points) for name, points in levels.items()]
        series, unit = _in_unit(drawn)
        name = tr(title)
        told = tr("{figure} of each request", figure=name)
        return plot(told, tr("request"), f"{name}, {unit}", series)

    return draw


_PLOTS: dict[str, Callable[[Results], str]] = {
    "throughput": _throughput,
    "prompt": _prompt,
    "position": _position,
    "ttft": _over_time("TTFT", "ttft_ms"),
    "tpot": _over_time("TPOT", "tpot_ms"),
    "e2e": _over_time(later("E2E time"), "e2e_ms"),
}
