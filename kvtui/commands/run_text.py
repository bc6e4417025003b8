"""The figures of finished runs as text: a table for people, one column a run and the median."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from kvtui.commands.output import put
from kvtui.measure.figures import RunFigures
from kvtui.measure.statistics import medians, pooled
from kvtui.text import UNKNOWN, count, milliseconds, one_line, rate

_COLUMNS = 6
"""Runs shown beside each other; of more, the last ones."""

_BADGES = {
    "ok": "OK",
    "auth": "AUTH",
    "network": "NETWORK",
    "parameter": "PARAMETER",
    "filter": "FILTER",
    "rate_or_quota": "RATE/QUOTA",
    "server": "SERVER",
    "truncated": "TRUNCATED",
}


def _tps(value: float | None) -> str:
    return UNKNOWN if value is None else f"{rate(value)} tok/s"


def _whole(value: float | None) -> str:
    return count(None if value is None else round(value))


_ROWS: tuple[tuple[str, str, Callable[[float | None], str]], ...] = (
    ("TTFT", "ttft_ms", milliseconds),
    ("to the answer", "ttfa_ms", milliseconds),
    ("TPOT", "tpot_ms", milliseconds),
    ("TPS (decode)", "decode_tps", _tps),
    ("end-to-end TPS", "e2e_tps", _tps),
    ("end to end", "e2e_ms", milliseconds),
    ("connect", "connect_ms", milliseconds),
    ("server's own time", "server_ms", milliseconds),
    ("prompt tokens", "prompt_tokens", _whole),
    ("of them cached", "cached_prompt_tokens", _whole),
    ("completion tokens", "completion_tokens", _whole),
    ("reasoning tokens", "reasoning_tokens", _whole),
    ("chunks", "chunks", _whole),
)
_OPTIONAL = {"ttfa_ms", "server_ms", "cached_prompt_tokens", "reasoning_tokens"}


def print_table(runs: Sequence[RunFigures], *, formula: bool = False) -> None:
    """Figures on stdout, hints and failures on stderr."""
    if any(run.chunks for run in runs):
        for line in table_lines(runs):
            put(line)
        if formula:
            for text in runs[-1].formulas.values():
                put(text)
    seen: set[str] = set()
    for run in runs:
        for line in (*failure_lines(run), *hint_lines(run)):
            if line not in seen:
                seen.add(line)
                put(line, err=True)


def table_lines(runs: Sequence[RunFigures]) -> list[str]:
    """The table, one line a figure."""
    shown = runs[-_COLUMNS:]
    first = len(runs) - len(shown) + 1
    head = ["", *(f"run {first + i}" for i in range(len(shown)))] if len(runs) > 1 else []
    rows: list[list[str]] = [head] if head else []
    middle = medians(runs) if len(runs) > 1 else {}
    if head:
        head.append(f"median of {len(pooled(runs))}")
    for name, field, shape in _ROWS:
        values = [getattr(run, field) for run in shown]
        if field in _OPTIONAL and not any(values):
            continue
        if field == "ttfa_ms" and values == [run.ttft_ms for run in shown]:
            continue
        cells = [shape(value) for value in values]
        if field == "completion_tokens":
            cells = [_tokens(run) for run in shown]
        if head:
            cells.append(shape(middle.get(field)))
        rows.append([name, *cells])
    rows.append(["tokens counted by", *(run.token_source for run in shown)])
    rows.append(["finish_reason", *(one_line(run.finish_reason or UNKNOWN, 24) for run in shown)])
    rows.append(["outcome", *(_outcome(run) for run in shown)])
    widths = [max(len(row[i]) for row in rows if i < len(row)) for i in range(max(map(len, rows)))]
    lines = []
    for row in rows:
        cells = [row[0].ljust(widths[0])]
        cells += [cell.rjust(widths[i]) for i, cell in enumerate(row[1:], 1)]
        lines.append("  ".join(cells).rstrip())
    return lines


def failure_lines(run: RunFigures) -> list[str]:
    """The badge, the sentence and the numbered fixes of a run that was not simply ok."""
    verdict = run.verdict
    if verdict.cls == "ok":
        return []
    lines = [f"{_BADGES[verdict.cls]} {verdict.subcode}: {one_line(verdict.message, 600)}"]
    lines += [f"  {n}. {one_line(fix, 600)}" for n, fix in enumerate(verdict.fixes, 1)]
    return lines


def hint_lines(run: RunFigures) -> list[str]:
    """What is worth saying and no failure."""
    return [f"hint {hint.subcode}: {one_line(hint.message, 600)}" for hint in run.hints]


def _tokens(run: RunFigures) -> str:
    if run.completion_tokens is not None:
        return count(run.completion_tokens)
    return UNKNOWN if run.estimated_tokens is None else f"~{count(run.estimated_tokens)}"


def _outcome(run: RunFigures) -> str:
    if run.stopped:
        return "stopped, partial"
    badge = f"{_BADGES[run.verdict.cls]} {run.verdict.subcode}"
    return f"{badge}, partial" if run.partial else badge
