"""Which plots a run's figures give, as series of points; drawing them is another module's."""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable, Iterable, Sequence
from statistics import median

from kvtui.bench.figures.levels import Level
from kvtui.bench.figures.sample import Sample
from kvtui.bench.work.labels import label_shown
from kvtui.bench.work.workload import Workload
from kvtui.language import tr
from kvtui.measure.gaps import Gaps
from kvtui.text import one_line
from kvtui.ui.look.plots import Plot, Point, Series, gaps_plot

_BUCKETS = 64
_APART = 1.25
"""Prompts of one length differ by less than this factor: no axis for them."""


class Requests:
    """Of each request the few figures that a plot shows one by one: added as it ends.

    One thread may add while another draws.
    """

    def __init__(self, workload: Workload, samples: Iterable[Sample] = ()) -> None:
        self._workload = workload
        several = len(workload.targets) > 1
        self.rates: list[list[tuple[float, float | None]]] = [
            [] for _ in (workload.targets if several else ())
        ]
        """Of each endpoint of several: when each was sent, and its tokens a second."""
        self.positions: dict[int, list[Point]] = {
            number: [] for number, stage in enumerate(workload.stages) if stage.keep_reads
        }
        """Stage that keeps its reads → (position in the sequence, tokens a second there)."""
        for sample in samples:
            self.add(sample)

    def add(self, sample: Sample) -> None:
        """One that has ended, or as far as it has come."""
        if sample.failed or sample.warmup:
            return
        if self.rates:
            target = self._workload.stages[sample.stage].target
            self.rates[target].append((sample.start_s, sample.decode_tps))
        if sample.stage in self.positions:
            from kvtui.bench.evaluation.evidence import positions

            found = [(x, 1000 / ms) for x, ms in positions([sample]) if ms > 0]
            self.positions[sample.stage].extend(found)

    def and_also(self, samples: Iterable[Sample]) -> Requests:
        """These and others, which are under way."""
        both = Requests(self._workload)
        both.rates = [rates.copy() for rates in self.rates]
        both.positions = {number: points.copy() for number, points in self.positions.items()}
        for sample in samples:
            both.add(sample)
        return both


def plots_of(
    workload: Workload, levels: Sequence[Level], requests: Requests, gaps: Gaps
) -> tuple[Plot, ...]:
    """The plots that apply, the most telling first; one whose points are to come is empty.

    Args:
        workload: What was asked.
        levels: Its rows so far.
        requests: What is drawn of its requests so far.
        gaps: Between the chunks of all streams.
    """
    found = [
        _turns(workload, requests),
        _position(workload, requests),
        _prompt(workload, levels),
        _load(workload, levels),
        _length(workload, levels),
        gaps_plot(gaps),
    ]
    return tuple(plot for plot in found if plot is not None)


def _kind(label: str) -> str:
    """A label without its numbers: levels of one kind are points of one line."""
    return " ".join(re.sub(r"\d[\d.,]*", "", label).replace("=", " ").split()).strip(" ,→/")


def _grouped(
    rows: Sequence[Level],
    key: Callable[[Level], Hashable],
    name: Callable[[Level], str],
    point: Callable[[Level], tuple[float | None, float | None]],
    mark: Callable[[Level], str] = lambda _: "",
) -> tuple[Series, ...]:
    groups: dict[Hashable, list[tuple[Point, str, str]]] = {}
    for row in rows:
        x, y = point(row)
        if x is not None and y is not None:
            groups.setdefault(key(row), []).append(((x, y), mark(row), name(row)))
    series = []
    for entries in groups.values():
        ordered = sorted(entries)
        points = tuple(at for at, _, _ in ordered)
        series.append(Series(ordered[0][2], points, tuple(mark for _, mark, _ in ordered)))
    several = [one for one in series if len(one.points) > 1]
    return tuple(several or series)


# --- the plots ------------------------------------------------------------------------------------


def _turns(workload: Workload, requests: Requests) -> Plot | None:
    """Tokens a second of each request in turn, a line for each endpoint of several."""
    if len(workload.targets) < 2:
        return None
    series = []
    for target, ours in zip(workload.targets, requests.rates, strict=True):
        ordered = sorted(ours, key=lambda pair: pair[0])
        points = [(float(at), rate) for at, (_, rate) in enumerate(ordered, 1) if rate]
        if points:
            series.append(Series(one_line(label_shown(target.name), 40), tuple(points)))
    title = tr("TPS of each request, by endpoint")
    return Plot("turns", title, tr("request"), "tok/s", tuple(series))


def _position(workload: Workload, requests: Requests) -> Plot | None:
    """Tokens a second against the position in the sequence."""
    if not requests.positions:
        return None
    series = []
    for number, points in requests.positions.items():
        label = label_shown(workload.stages[number].label.rpartition(", ")[2])
        if points:
            series.append(Series(label, _thinned(points.copy())))
    return Plot("position", tr("TPS against position"), tr("position"), "tok/s", tuple(series))


def _thinned(points: list[Point]) -> tuple[Point, ...]:
    """Medians over equal stretches of x."""
    low, high = min(x for x, _ in points), max(x for x, _ in points)
    width = (high - low) / _BUCKETS or 1.0
    buckets: dict[int, list[Point]] = {}
    for x, y in points:
        buckets.setdefault(int((x - low) / width), []).append((x, y))
    return tuple(
        (median(x for x, _ in some), median(y for _, y in some))
        for _, some in sorted(buckets.items())
    )


def _prompt(workload: Workload, levels: Sequence[Level]) -> Plot | None:
    """TTFT against prompt length."""
    wanted = {stage.prompt_tokens for stage in workload.stages if stage.prompt_tokens}
    lengths = [row.prompt_tokens for row in levels if row.prompt_tokens]
    varied = bool(lengths) and max(lengths) > _APART * min(lengths)
    if len(wanted) < 2 and not varied:
        return None
    rows = [row for row in levels if row.prompt_tokens or row.prompt_tokens_wanted]
    kinds = [_kind(row.label) for row in rows]
    alike = {kind for kind in kinds if kinds.count(kind) > 1} if len(wanted) >= 2 else set()

    def point(row: Level) -> tuple[float | None, float | None]:
        ttft = row.ttft_ms or row.ttft_warm_ms
        return row.prompt_tokens or row.prompt_tokens_wanted, ttft.p50 if ttft else None

    def key(row: Level) -> str:
        return _kind(row.label) if alike else ""

    if alike:
        rows = [row for row in rows if _kind(row.label) in alike]
    series = _grouped(rows, key, lambda row: _short(row) if len(alike) > 1 else "TTFT", point)
    return Plot("prompt", tr("TTFT against prompt length"), tr("prompt tokens"), "ms", series)


def _short(row: Level) -> str:
    return label_shown(row.label.rpartition(", ")[2] if "," in row.label else _kind(row.label))


def _load(workload: Workload, levels: Sequence[Level]) -> Plot | None:
    """Latency against throughput, a point a level of load."""
    if len({(stage.concurrency, stage.rate) for stage in workload.stages}) < 2:
        return None

    def point(row: Level) -> tuple[float | None, float | None]:
        tps = row.steady_output_tps or row.output_tps
        return tps, row.e2e_ms.p50 if row.e2e_ms else None

    series = _grouped(
        levels,
        lambda row: (row.prompt_tokens_wanted, row.max_tokens, row.kv_cache),
        lambda row: tr(
            "{prompt_tokens_wanted}→{max_tokens} tokens",
            prompt_tokens_wanted=row.prompt_tokens_wanted or tr("own"),
            max_tokens=row.max_tokens,
        ),
        point,
        lambda row: f"{row.rate:g}/s" if row.rate else str(row.concurrency),
    )
    return Plot(
        "load", tr("latency (E2E p50) against throughput, by streams"), "tok/s", "ms", series
    )


def _length(workload: Workload, levels: Sequence[Level]) -> Plot | None:
    """Tokens a second against the length of the answer."""
    loads = {(stage.concurrency, stage.rate) for stage in workload.stages}
    if len({stage.max_tokens for stage in workload.stages}) < 3 or len(loads) > 1:
        return None

    def point(row: Level) -> tuple[float | None, float | None]:
        tokens = row.completion_tokens
        return (
            tokens.p50 if tokens else float(row.max_tokens),
            row.decode_tps.p50 if row.decode_tps else None,
        )

    def name(row: Level) -> str:
        return label_shown(_kind(row.label))

    series = _grouped(levels, lambda row: _kind(row.label), name, point)
    return Plot(
        "length", tr("TPS against length of the answer"), tr("answer tokens"), "tok/s", series
    )
