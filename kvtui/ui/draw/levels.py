"""The table of a run's levels, with as many columns as fit; and its findings as sentences."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from rich.cells import cell_len

from kvtui.bench.figures.finding import Finding
from kvtui.bench.figures.levels import Level
from kvtui.bench.figures.quantiles import Figure
from kvtui.bench.work.labels import label_shown
from kvtui.language import later, tr
from kvtui.text import UNKNOWN, milliseconds, one_line, rate
from kvtui.ui.look.rows import Row, Span, left, right, row, wrap

MARKS = {True: ("✓", "good"), False: ("✗", "warn"), None: ("–", "muted")}
"""What a finding holds → glyph and role."""
_CAUTIONS = {
    "failures": ("▲", "bad"),
    "client_bound": ("▲", "warn"),
    "estimated_count": ("~", "warn"),
    "short_output": ("▲", "warn"),
    "few_tpot": ("▲", "warn"),
}


class _Column(NamedTuple):
    head: str
    cell: Callable[[Level], str]
    rank: int
    """Columns of a lower rank stay longer when room is short."""
    role: str = "text"


def _middle(name: str) -> Callable[[Level], str]:
    def cell(level: Level) -> str:
        figure: Figure | None = getattr(level, name)
        return milliseconds(figure.p50 if figure else None)

    return cell


def _between(name: str) -> Callable[[Level], str]:
    """The interval of the median; where there are too few for one, the extremes."""

    def cell(level: Level) -> str:
        figure: Figure | None = getattr(level, name)
        if figure is None or figure.n < 2:
            return ""
        if figure.p50_ci95 is None:
            return f"{_short(figure.min)}…{_short(figure.max)}"
        low, high = figure.p50_ci95
        return f"[{_short(low)},{_short(high)}]"

    return cell


def _short(value: float) -> str:
    return f"{value:.0f}" if value >= 100 else f"{value:.3g}"


def _tail(name: str) -> Callable[[Level], str]:
    def cell(level: Level) -> str:
        figure: Figure | None = getattr(level, name)
        if figure is None:
            return UNKNOWN
        if figure.n < 2:
            return ""  # one value has no percentiles
        # With fewer than one value expected beyond it, it is the largest value by a name.
        mark = "~" if figure.n < 100 else ""
        return f"{mark}{milliseconds(figure.p99)}"

    return cell


def _share(level: Level) -> str:
    return UNKNOWN if level.goodput_share is None else f"{100 * level.goodput_share:.0f} %"


def _tps(level: Level) -> str:
    steady = level.steady_output_tps
    if steady is None and level.output_tps is None:
        return UNKNOWN
    return rate(steady) if steady is not None else f"{rate(level.output_tps)}*"


def _prompt(level: Level) -> str:
    return UNKNOWN if level.prompt_tokens is None else f"{level.prompt_tokens:,.0f}"


def _failed(level: Level) -> str:
    return ", ".join(f"{n} {name}" for name, n in level.failed.items()) or "0"


_COLUMNS = (
    _Column("n", lambda level: f"{level.completed:,}", 0),
    _Column(later("failed"), _failed, 1),
    _Column(later("prompt"), _prompt, 5),
    _Column("TTFT", _middle("ttft_ms"), 0, "strong"),
    _Column("95 %", _between("ttft_ms"), 2, "muted"),
    _Column("p99", _tail("ttft_ms"), 6, "muted"),
    _Column("TPOT", _middle("tpot_ms"), 0, "strong"),
    _Column("95 %", _between("tpot_ms"), 2, "muted"),
    _Column("p99", _tail("tpot_ms"), 6, "muted"),
    _Column("E2E", _middle("e2e_ms"), 3),
    _Column("tok/s", _tps, 0, "strong"),
    _Column("req/s", lambda level: rate(level.request_rate), 4),
)
_WARM = _Column(later("warm TTFT"), _middle("ttft_warm_ms"), 2)
_GOOD = _Column(later("goodput"), _share, 1)
_MOST_LABEL = 34
_LEAST_LABEL = 19


def level_rows(levels: Sequence[Level], width: int) -> list[Row]:
    """The head and a row a level: medians, with what is known of their certainty beside."""
    if not levels:
        return [row((tr("no level is done yet"), "muted"))]
    columns = list(_COLUMNS)
    names = [one_line(label_shown(level.label), 60) for level in levels]
    if any(level.ttft_warm_ms for level in levels):
        columns.insert(4, _WARM)
    if any(level.goodput_share is not None for level in levels):
        columns.append(_GOOD)
    if not any(level.failed for level in levels):
        columns = [column for column in columns if column.head != "failed"]
    columns = [each for each in columns if any(each.cell(level) for level in levels)]
    sizes = {
        column: max(cell_len(tr(column.head)), *(len(column.cell(level)) for level in levels)) + 2
        for column in columns
    }
    bound = any(level.client is not None and level.client.client_bound for level in levels)
    longest = min(_MOST_LABEL, max(map(cell_len, names)) + 2 * bound)
    room = width - max(_LEAST_LABEL, min(longest, width // 3))
    while len(columns) > 1 and sum(sizes[column] for column in columns) > room:
        last = max(column.rank for column in columns)
        columns = [column for column in columns if column.rank < last] or columns[:1]
    label = max(_LEAST_LABEL, min(longest, width - sum(sizes[column] for column in columns)))
    head: list[Span] = [Span(left(tr("level"), label), "muted")]
    head += [Span(right(tr(column.head), sizes[column]), "muted") for column in columns]
    lines: list[Row] = [tuple(head)]
    for level, name in zip(levels, names, strict=True):
        part = level.client is not None and level.client.client_bound
        spans = [Span(left(f"▲ {name}" if part else name, label), "warn" if part else "text")]
        for column in columns:
            role = "bad" if column.head == "failed" and level.failed else column.role
            spans.append(Span(right(column.cell(level), sizes[column]), role))
        lines.append(tuple(spans))
    return lines


def table_note(levels: Sequence[Level]) -> str:
    """What the signs of the table mean, those that it has."""
    parts = []
    if any(level.client is not None and level.client.client_bound for level in levels):
        parts.append(tr("▲ client-bound: this process was part of what was measured"))
    medians = [figure for level in levels for figure in (level.ttft_ms, level.tpot_ms) if figure]
    if any(figure.n > 1 and figure.p50_ci95 is None for figure in medians):
        parts.append(tr("a…b least and most, where they are too few for an interval"))
    if any(_tps(level).endswith("*") for level in levels):
        parts.append(tr("* over all, ramp and tail included"))
    return " · ".join(parts)


def finding_rows(findings: Sequence[Finding], width: int) -> list[Row]:
    """Each sentence with its sign: ✓ it holds, ✗ it does not, – the figures do not decide it."""
    if not findings:
        text = tr("nothing to add: findings come of several levels, or of many requests")
        return [row((line, "muted")) for line in wrap(text, max(10, width))]
    lines: list[Row] = []
    for finding in findings:
        glyph, role = _CAUTIONS.get(finding.code) or MARKS[finding.holds]
        for at, line in enumerate(wrap(one_line(finding.message, 600), max(10, width - 2))):
            lines.append(row((f"{glyph} " if not at else "  ", role), (line, "text")))
    return lines
