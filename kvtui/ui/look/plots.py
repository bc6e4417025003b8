"""Plots as series of points: what a picture shows, before it is drawn."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import isfinite

from kvtui.language import tr
from kvtui.measure.gaps import Gaps
from kvtui.text import milliseconds, rate

Point = tuple[float, float]
_BARS = 48


@dataclass(frozen=True, slots=True)
class Series:
    """One line of a plot."""

    label: str
    points: tuple[Point, ...]
    marks: tuple[str, ...] = ()
    """A word at each point, where one is worth it."""


@dataclass(frozen=True, slots=True)
class Plot:
    """One plot; both axes begin at zero."""

    name: str
    title: str
    x: str
    y: str
    series: tuple[Series, ...]
    steps: bool = False
    """A histogram: points are the left edges of its bars, the last one its end."""
    said: str = ""
    """One line under it."""
    at: tuple[tuple[float, str], ...] = ()
    """Places on the x axis that are marked from top to bottom, and what is written there."""
    dots: bool = True
    """Few points are dots too, not only the line between them."""


def rate_plot(points: Sequence[Point]) -> Plot:
    """The running rate over the tokens of one answer."""
    title = tr("TPS over the answer")
    series = (Series("", tuple(points)),) if len(points) > 1 else ()
    said = ""
    if series:
        rates = [tps for _, tps in points]
        said = tr(
            "min {least} · max {most} · now {now} tok/s",
            least=rate(min(rates)),
            most=rate(max(rates)),
            now=rate(rates[-1]),
        )
    return Plot("rate", title, "tokens", "tok/s", series, said=said, dots=False)


def gaps_plot(gaps: Gaps) -> Plot:
    """How long from chunk to chunk, with the median and the slowest hundredth marked."""
    title = tr("ITL: time from chunk to chunk")
    p50, p99 = gaps.percentile(0.5), gaps.percentile(0.99)
    if p50 is None or p99 is None:
        return Plot("itl", title, "ms", "chunks", (), steps=True)
    top = p99 * 1.3
    counts = [0.0] * _BARS
    beyond = 0.0
    bar = top / _BARS
    for low, high, number in gaps.buckets():
        for at in range(int(low / bar), int(high / bar) + 1):  # each bar gets its part of it
            part = number * (min(high, (at + 1) * bar) - max(low, at * bar)) / (high - low)
            if at < _BARS:
                counts[at] += part
            else:
                beyond += part
    edges = [1000 * bar * at for at in range(_BARS + 1)]
    points = tuple(zip(edges, [*counts, 0.0], strict=True))
    more = tr(" · {beyond:,.0f} beyond", beyond=beyond) if beyond >= 0.5 else ""
    said = tr(
        "p50 {p50} · p99 {p99} · {n:,} gaps{more}",
        p50=milliseconds(p50 * 1000),
        p99=milliseconds(p99 * 1000),
        n=gaps.n,
        more=more,
    )
    at_ = ((1000 * p50, "p50"), (1000 * p99, "p99"))
    return Plot("itl", title, "ms", "chunks", (Series("", points),), steps=True, said=said, at=at_)


def last_said(plot: Plot) -> str:
    """What stands under a plot: its own line, else the last point of each line."""
    if plot.said:
        return plot.said
    parts = []
    for one in plot.series:
        known = [point for point in one.points if all(map(isfinite, point))]
        if not known:
            continue
        x, y = known[-1]
        shown = f"{rate(y)} tok/s" if plot.y == "tok/s" else milliseconds(y)
        parts.append(
            tr("{label} {figure} at {place}", label=one.label, figure=shown, place=f"{x:,.0f}")
        )
    return " · ".join(parts)
