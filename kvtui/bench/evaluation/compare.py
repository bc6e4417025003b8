"""Two sides of a comparison: ratios, and which differences stand out from the noise.

A difference stands out when a two-sided test over the single requests finds it at 0.25 % and the
medians lie at least 2 % apart. The test is Mann–Whitney U, or Welch's t over batches where requests
that follow each other are alike; Holm's correction is for the number of levels. Below that nothing
is claimed; levels of so few requests that nothing could be are said to have too few. A server that
was slower for the whole of one run, for whatever reason, cannot be told from one that has changed.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from kvtui.bench.evaluation.sides import FIGURES, SCALARS, STATS, Side, SideLevel, pairs_of
from kvtui.bench.figures.difference import Test, difference, least_p, shift_ratio
from kvtui.language import tr
from kvtui.text import did_you_mean

ALPHA = 0.0025
LEAST = 0.02
TESTED = ("ttft_ms", "tpot_ms", "e2e_ms")
"""Lower is better for all of them."""

Says = Literal["slower", "faster", "same", "too few", "untested"]
"""``same``: no difference stands out, which is no proof that there is none."""


class ConditionError(ValueError):
    """A ``--fail-on`` that cannot be read, or that no level can answer."""


@dataclass(frozen=True, slots=True)
class Compared:
    """One figure of one level on two sides."""

    figure: str
    first: float | None
    second: float | None
    n_first: int
    n_second: int
    ratio: float | None
    """Of the medians, second to first."""
    shift: float | None
    """Typical ratio of single values (Hodges–Lehmann)."""
    ratio_ci95: tuple[float, float] | None
    """Bootstrap over requests."""
    p: float | None
    p_adjusted: float | None
    test: str
    says: Says


@dataclass(frozen=True, slots=True)
class LevelPair:
    """A level that both sides have."""

    label: str
    first: SideLevel
    second: SideLevel
    figures: tuple[Compared, ...]
    scalars: tuple[tuple[str, float | None, float | None], ...]


@dataclass(frozen=True, slots=True)
class Comparison:
    """Everything two sides have in common."""

    first: Side
    second: Side
    pairs: tuple[LevelPair, ...]

    @property
    def regressions(self) -> list[tuple[LevelPair, Compared]]:
        """What became slower beyond the noise."""
        return [(p, f) for p in self.pairs for f in p.figures if f.says == "slower"]


def compare(first: Side, second: Side) -> Comparison:
    """Every figure of every level that both have."""
    matched = pairs_of(first, second)
    columns: list[list[Compared]] = []
    for figure in TESTED:
        sizes = [tuple(len(row.values.get(figure, ())) for row in pair) for pair in matched]
        able = _able([(n, m) for n, m in sizes])
        found = [_figure(figure, *pair, able=can) for pair, can in zip(matched, able, strict=True)]
        adjusted = holm([None if test is None else test.p for _, test in found])
        columns.append([_judged(row, p) for (row, _), p in zip(found, adjusted, strict=True)])
    pairs = []
    for number, (one, other) in enumerate(matched):
        judged = [column[number] for column in columns]
        scalars = tuple(
            (name, one.scalars.get(name), other.scalars.get(name))
            for name in SCALARS
            if name in one.scalars or name in other.scalars
        )
        pairs.append(LevelPair(one.label, one, other, tuple(judged), scalars))
    return Comparison(first, second, tuple(pairs))


def _able(sizes: Sequence[tuple[int, int]]) -> list[bool]:
    """Which levels have requests enough for a claim, however far their figures lie apart.

    The correction for the number of levels is part of it: where it takes from the smallest what
    their numbers could show, they are not tested, and count no more among the levels.
    """
    least = [least_p(n, m) if n and m else 1.0 for n, m in sizes]
    able = [p <= ALPHA for p in least]
    while any(able):
        adjusted = holm([p if can else None for p, can in zip(least, able, strict=True)])
        if all(p is None or p <= ALPHA for p in adjusted):
            break
        most = max(p for p, can in zip(least, able, strict=True) if can)
        able = [can and p < most for p, can in zip(least, able, strict=True)]
    return able


def enough(levels: int) -> int:
    """Requests of a level on each side from which a claim can be made at so many levels."""
    return next(n for n in itertools.count(2) if levels * least_p(n, n) <= ALPHA)


def _figure(
    figure: str, one: SideLevel, other: SideLevel, *, able: bool
) -> tuple[Compared, Test | None]:
    a, b = one.values.get(figure, ()), other.values.get(figure, ())
    middle = one.stat(figure, "p50"), other.stat(figure, "p50")
    known = middle[0] is not None and middle[1] is not None and middle[0] > 0
    base = Compared(
        figure=figure,
        first=middle[0],
        second=middle[1],
        n_first=round(one.stat(figure, "n") or 0),
        n_second=round(other.stat(figure, "n") or 0),
        ratio=middle[1] / middle[0] if known else None,  # type: ignore[operator]
        shift=shift_ratio(a, b),
        ratio_ci95=_ratio_interval(a, b),
        p=None,
        p_adjusted=None,
        test="",
        says="untested",
    )
    if not a or not b:
        return base, None
    if not able:
        return replace(base, says="too few"), None
    test = difference(a, b)
    return replace(base, p=test.p, test=f"{test.name}; Holm"), test


def holm(probabilities: Sequence[float | None]) -> list[float | None]:
    """Probabilities adjusted for their number (Holm's step-down), in the order given."""
    known = sorted((p, i) for i, p in enumerate(probabilities) if p is not None)
    adjusted: list[float | None] = [None] * len(probabilities)
    largest = 0.0
    for rank, (p, i) in enumerate(known):
        largest = max(largest, min(1.0, p * (len(known) - rank)))
        adjusted[i] = largest
    return adjusted


def _judged(compared: Compared, p: float | None) -> Compared:
    if p is None:
        return compared
    says: Says = "same"
    ratio, shift = compared.ratio, compared.shift
    if p < ALPHA and ratio is not None and shift is not None:
        if ratio >= 1 + LEAST and shift > 1:
            says = "slower"
        elif ratio <= 1 / (1 + LEAST) and shift < 1:
            says = "faster"
    return replace(compared, p_adjusted=p, says=says)


def _ratio_interval(a: Sequence[float], b: Sequence[float]) -> tuple[float, float] | None:
    """The ratio of the medians with 95 %, by bootstrap; None below six values."""
    if min(len(a), len(b)) < 6 or min(a) <= 0:
        return None
    import numpy

    random = numpy.random.default_rng(20240229)
    low, high = numpy.percentile(resampled(b, random) / resampled(a, random), [2.5, 97.5])
    return float(low), float(high)


def resampled(values: Sequence[float], random: Any, times: int = 1000) -> Any:
    """Medians of as many values drawn from them again and again, with none drawn in fact.

    The middle one of n draws lies where the middle one of n uniform numbers does, which is
    Beta-distributed; of an even number the next one is the least of those that are left.
    """
    import numpy

    ordered = numpy.sort(numpy.asarray(values, dtype=float))
    n = len(ordered)
    k = (n + 1) // 2
    lower = random.beta(k, n + 1 - k, times)
    upper = lower
    if n % 2 == 0:
        upper = lower + (1 - lower) * (1 - random.random(times) ** (1 / (n - k)))
    places = (numpy.minimum((at * n).astype(int), n - 1) for at in (lower, upper))
    return sum(ordered[at] for at in places) / 2


# --- --fail-on ------------------------------------------------------------------------------------

_CONDITION = re.compile(
    r"\s*([a-z_0-9]+)(?:\.([a-z0-9]+))?\s*(>=|<=|>|<)\s*([0-9]+(?:\.[0-9]+)?)\s*(x|%|)\s*"
)


@dataclass(frozen=True, slots=True)
class Condition:
    """``ttft_ms.p50>1.1x``: a figure of the second side against a ratio or a value."""

    text: str
    figure: str
    stat: str | None
    sign: str
    bound: float
    unit: str
    """``x``: second / first; ``%``: its change; empty: the second's own value."""

    def value(self, pair: LevelPair) -> float | None:
        """What is held against the bound; None where a side does not tell."""
        one, other = (_read(side, self.figure, self.stat) for side in (pair.first, pair.second))
        if other is None or not self.unit:
            return other
        if one is None or one == 0:
            return None
        return other / one if self.unit == "x" else 100 * (other / one - 1)

    def hit(self, value: float) -> bool:
        """Whether the comparison fails by it."""
        bound = self.bound
        return {
            ">": value > bound, ">=": value >= bound, "<": value < bound, "<=": value <= bound
        }[self.sign]  # fmt: skip


def _read(level: SideLevel, figure: str, stat: str | None) -> float | None:
    return level.scalars.get(figure) if stat is None else level.stat(figure, stat)


def parse_condition(text: str) -> Condition:
    """A condition of ``--fail-on``.

    Raises:
        ConditionError: It cannot be read.
    """
    match = _CONDITION.fullmatch(text)
    if match is None:
        raise ConditionError(
            tr(
                "{text!r} is no condition: write for example ttft_ms.p50>1.1x, tpot_ms.p99>80"
                " or output_tps<0.9x.",
                text=text,
            )
        )
    figure, stat, sign, bound, unit = match.groups()
    if stat is None and figure in FIGURES:
        stat = "p50"
    names = FIGURES if stat is not None else SCALARS
    if figure not in names:
        every = (*FIGURES, *SCALARS)
        raise ConditionError(
            tr(
                "{figure!r} is no figure of a comparison{hint}; there are {every}.",
                figure=figure,
                hint=did_you_mean(figure, every),
                every=", ".join(every),
            )
        )
    if stat is not None and stat not in STATS:
        raise ConditionError(
            tr("{stat!r} is no statistic; there are {known}.", stat=stat, known=", ".join(STATS))
        )
    return Condition(text.strip(), figure, stat, sign, float(bound), unit)
