"""The highest level of load that keeps the limits: doubling, then halving what is left between.

A level is judged by the part of its requests that keep all limits. It keeps them where that part is
surely above what is wanted, and fails where it is surely below: exact binomial tests at 5 %, shared
among the times that are looked. Where neither is sure after all batches, the level is undecided and
counts as not kept.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from math import comb
from typing import Literal, TypeAlias

from kvtui.bench.figures.finding import Finding
from kvtui.bench.figures.levels import Level
from kvtui.bench.figures.sample import Sample
from kvtui.bench.work.slo import keeps, parse_slo
from kvtui.bench.work.workload import Workload
from kvtui.language import counted, later, tr

Verdict: TypeAlias = Literal["keeps", "fails", "open"]
_ALPHA = 0.05
_FINE = 8
"""Levels between one and its double, from where whole numbers allow so many."""
METHOD = "exact binomial tests, 5 % shared among the looks; intervals 95 % (Clopper–Pearson)"


def streams_up_to(most: int) -> tuple[int, ...]:
    """Concurrencies to choose among: all up to 16, then eight between each and its double."""
    levels = set(range(1, min(most, 2 * _FINE) + 1)) | {most}
    step = 2
    while step * _FINE <= most:
        levels |= {step * m for m in range(_FINE, 2 * _FINE) if step * m <= most}
        step *= 2
    return tuple(sorted(levels))


def rates_between(low: float, high: float) -> tuple[float, ...]:
    """Rates to choose among: eight between each and its double."""
    rates = []
    rate, number = low, 0
    while rate < high:
        rates.append(float(f"{rate:.3g}"))
        number += 1
        rate = low * 2 ** (number / _FINE)
    return tuple(dict.fromkeys((*rates, high)))


def judged(good: int, n: int, share: float, looks: int) -> Verdict:
    """Whether ``good`` of ``n`` requests within the limits decide a level."""
    alpha = _ALPHA / looks
    if n and _tail(good, n, share) < alpha:
        return "keeps"
    if n and 1 - _tail(good + 1, n, share) < alpha:
        return "fails"
    return "open"


def share_interval(good: int, n: int, tail: float = _ALPHA / 2) -> tuple[float, float]:
    """Clopper and Pearson's interval for a share: 95 %, or with ``tail`` beyond each end."""

    def solved(count: int, wanted: float) -> float:
        """The share at which ``count`` or more of n have this probability."""
        low, high = 0.0, 1.0
        for _ in range(50):
            middle = (low + high) / 2
            low, high = (middle, high) if _tail(count, n, middle) < wanted else (low, middle)
        return (low + high) / 2

    return solved(good, tail) if good else 0.0, solved(good + 1, 1 - tail) if good < n else 1.0


def _tail(count: int, n: int, share: float) -> float:
    """P(X >= count) for n tries."""
    if count <= n - count:
        below = (comb(n, k) * share**k * (1 - share) ** (n - k) for k in range(count))
        return 1 - sum(below)
    return sum(comb(n, k) * share**k * (1 - share) ** (n - k) for k in range(count, n + 1))


def next_level(verdicts: Mapping[int, Verdict], values: Sequence[float]) -> int | None:
    """The level to look at next, by what is known; None: the answer is there.

    Args:
        verdicts: Level → what it was found to be.
        values: How much load each level is, ascending.
    """
    kept, failed = -1, len(values)
    while failed - kept > 1:
        if failed < len(values):
            look = (kept + failed) // 2
        elif kept < 0:
            look = 0
        else:
            double = 2 * values[kept]
            look = next((i for i, v in enumerate(values) if v >= double), len(values) - 1)
        verdict = verdicts.get(look)
        if verdict is None:
            return look
        if verdict == "keeps":
            kept = look
        else:
            failed = look
    return None


class Search:
    """Which stage of a searching workload comes next.

    Args:
        workload: Its stages come in batches of equal levels, ascending.
        samples: The run's requests; grows as they end.
    """

    def __init__(self, workload: Workload, samples: Sequence[Sample]) -> None:
        assert workload.search is not None
        self._search = workload.search
        self._workload = workload
        self._samples = samples
        self._limits = parse_slo(workload.slo)
        levels: dict[float, list[int]] = {}
        for number, stage in enumerate(workload.stages):
            levels.setdefault(stage.rate or stage.concurrency, []).append(number)
        self._values = sorted(levels)
        self._levels = [levels[value] for value in self._values]

    def order(self) -> Iterator[int]:
        """The stages to run, each chosen by what those before have shown."""
        verdicts: dict[int, Verdict] = {}
        while (level := next_level(verdicts, self._values)) is not None:
            for batch, number in enumerate(self._levels[level], 1):
                if self._done(number) < (self._workload.stages[number].requests or 0):
                    yield number
                verdicts[level] = self._verdict(self._levels[level][:batch])
                if verdicts[level] != "open":
                    break

    def _done(self, number: int) -> int:
        return sum(s.stage == number and not s.warmup and not s.stopped for s in self._samples)

    def _verdict(self, numbers: Sequence[int]) -> Verdict:
        ours = [s for s in self._samples if s.stage in numbers and not s.warmup and not s.stopped]
        good = sum(
            s.completed and keeps(self._limits, lambda name, s=s: getattr(s, name))  # type: ignore[misc]
            for s in ours
        )
        return judged(good, len(ours), self._search.share, self._search.batches)


def found(workload: Workload, levels: Sequence[Level]) -> Finding:
    """What a search came to, whole or half done."""
    assert workload.search is not None
    share, looks = workload.search.share, workload.search.batches
    rows = sorted(
        (row for row in levels if row.goodput_share is not None),
        key=lambda row: row.rate or row.concurrency,
    )
    verdicts = [judged(_good(row), row.requests, share, looks) for row in rows]
    of = {verdict: [r for r, v in zip(rows, verdicts, strict=True) if v == verdict]
          for verdict in ("keeps", "fails", "open")}  # fmt: skip
    not_kept = min((rows.index(r) for r in (*of["fails"], *of["open"])), default=len(rows))
    kept = [row for row in rows[:not_kept] if row in of["keeps"]]
    figures = {
        "limits": workload.slo,
        "share_wanted": share,
        "levels": [
            {**_table(row), "verdict": verdict} for row, verdict in zip(rows, verdicts, strict=True)
        ],
        "method": METHOD,
    }
    wanted = tr("{slo} for {share:.0f} % of requests", slo=workload.slo, share=100 * share)
    above = rows[not_kept:]
    bound = next((r for r in above if r.client is not None and r.client.client_bound), None)
    tail = "".join(
        tr("; at {load} it fails ({share})", load=_load(row), share=_share(row, looks))
        if row in of["fails"]
        else tr(
            "; at {load} it cannot be decided ({share})", load=_load(row), share=_share(row, looks)
        )
        for row in above[:2]
    )
    if bound is not None:
        tail += tr(
            "; at {load} this client was part of what was measured, which may be why",
            load=_load(bound),
        )
    if not kept:
        figures["highest"] = None
        if not rows:
            return Finding("search", tr("No level was judged."), None, figures)
        text = tr("No level is sure to keep {wanted}{tail}.", wanted=wanted, tail=tail)
        return Finding("search", text, None if of["open"] or bound else False, figures)
    best = kept[-1]
    figures |= {"highest": _table(best), "goodput_rate": best.goodput_rate}
    values = {stage.rate or stage.concurrency for stage in workload.stages}
    if (best.rate or best.concurrency) >= max(values):
        tail = tr(", and the highest that was allowed: the limit lies beyond") + tail
    elif not above:
        tail = tr(" so far: the search was not finished") + tail
    text = tr(
        "{load} is the highest level sure to keep {wanted} ({share}){tail}.",
        load=_load(best),
        wanted=wanted,
        share=_share(best, looks),
        tail=tail,
    )
    return Finding("search", text, True, figures)


def _good(row: Level) -> int:
    return round((row.goodput_share or 0.0) * row.requests)


def _load(row: Level) -> str:
    if row.rate:
        return tr("{n:g} requests/s", n=row.rate)
    return counted(row.concurrency, later("{n} stream"), later("{n} streams"))


def _share(row: Level, looks: int) -> str:
    """The count, and the shares that the tests which decide would not rule out."""
    low, high = share_interval(_good(row), row.requests, _ALPHA / looks)
    return tr(
        "{n} of {all}, between {low:.1f} and {high:.1f} %",
        n=_good(row),
        all=row.requests,
        low=100 * low,
        high=100 * high,
    )


def _table(row: Level) -> dict[str, object]:
    return {
        "concurrency": row.concurrency,
        "rate": row.rate,
        "good": _good(row),
        "requests": row.requests,
        "share_ci95": share_interval(_good(row), row.requests),
    }
