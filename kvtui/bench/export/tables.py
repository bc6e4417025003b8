"""A benchmark's results as a table of cells, as Markdown and as CSV."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Callable, Sequence

from kvtui.bench.evaluation.results import Results
from kvtui.bench.figures.levels import Level
from kvtui.bench.figures.quantiles import Figure
from kvtui.bench.figures.sample import Sample
from kvtui.bench.figures.summary import seconds_of
from kvtui.bench.work.labels import label_shown
from kvtui.language import counted, later, tr
from kvtui.text import UNKNOWN, clock_time, milliseconds, one_line, rate, sanitise

_Cell = Callable[[Level], str]


def _ms(name: str, stat: str) -> _Cell:
    def cell(row: Level) -> str:
        figure: Figure | None = getattr(row, name)
        if figure is None:
            return UNKNOWN
        text = milliseconds(getattr(figure, stat))
        # A percentile with fewer than one value expected beyond it is the largest value by a name.
        beyond = {"p50": 0.5, "p90": 0.1, "p95": 0.05, "p99": 0.01}[stat]
        return text if figure.n * beyond >= 1 else f"~{text}"

    return cell


def _plus_minus(name: str) -> _Cell:
    def cell(row: Level) -> str:
        figure: Figure | None = getattr(row, name)
        if figure is None:
            return UNKNOWN
        return with_interval(figure.p50, figure.p50_ci95)

    return cell


def with_interval(value: float, between: tuple[float, float] | None) -> str:
    """A time in ms and its interval, in one unit: ``2.50 s [1.94, 3.56]``."""
    told = milliseconds(value)
    if between is None:
        return told
    divisor = 1000 if told.endswith(" s") else 1
    low, high = (_three(bound / divisor) for bound in between)
    return f"{told} [{low}, {high}]"


def _three(value: float) -> str:
    """Three significant figures, zeros kept: ``7.10``, ``71.0``, ``710``."""
    if value < 9.995:
        return f"{value:.2f}"
    return f"{value:.1f}" if value < 99.95 else f"{value:.0f}"


def _failed(row: Level) -> str:
    parts = [f"{n} {name}" for name, n in row.failed_subcodes.items()]
    return ", ".join(parts) or "0"


def _tps(value: float | None) -> str:
    return UNKNOWN if value is None else rate(value)


def _prompt(row: Level) -> str:
    return UNKNOWN if row.prompt_tokens is None else f"{row.prompt_tokens:.0f}"


FAILED, PROMPT = later("failed"), later("prompt")
STEADY, ALL, REQUESTS = later("tok/s steady"), later("tok/s all"), later("req/s")
"""Heads by which a text knows its columns."""
_COLUMNS: tuple[tuple[str, _Cell], ...] = (
    (later("level"), lambda row: one_line(label_shown(row.label), 80)),
    ("n", lambda row: str(row.completed)),
    (FAILED, _failed),
    (PROMPT, _prompt),
    ("TTFT p50 [95 %]", _plus_minus("ttft_ms")),
    ("TTFT p99", _ms("ttft_ms", "p99")),
    ("TPOT p50 [95 %]", _plus_minus("tpot_ms")),
    ("TPOT p99", _ms("tpot_ms", "p99")),
    ("E2E p50", _ms("e2e_ms", "p50")),
    (STEADY, lambda row: _tps(row.steady_output_tps)),
    (ALL, lambda row: _tps(row.output_tps)),
    (REQUESTS, lambda row: _tps(row.request_rate)),
)
RARE = frozenset({FAILED})
"""Columns left out of a text where all of them say 0."""
_WARM: tuple[str, _Cell] = (later("warm TTFT"), _ms("ttft_warm_ms", "p50"))
_GOOD: tuple[str, _Cell] = (
    later("goodput"),
    lambda row: UNKNOWN if row.goodput_share is None else f"{100 * row.goodput_share:.0f} %",
)


RARE_NOTE = later("~ too few requests for that percentile: it is near the largest value.")


def told_of(results: Results) -> tuple[str, str]:
    """Which preset, of whom; and how many requests there were, what came of them, how long."""
    record = results.record
    endpoint = record.header.get("endpoint") or {}
    preset = record.workload.preset
    where = endpoint.get("base_url") or tr("the embedded engine")
    model = endpoint.get("model") or ""
    about = tr("{preset}: {model} at {where}", preset=preset, model=model, where=where)
    if len(record.workload.targets) > 1:
        names = tr(" and ").join(label_shown(target.name) for target in record.workload.targets)
        about = f"{preset}{tr(': ')}{names}"
    count = failed = 0
    for sample in record.samples:
        if not sample.warmup and not sample.stopped:
            count += 1
            failed += sample.failed
    parts = [counted(count, later("{n} request"), later("{n} requests"))]
    parts.append(tr("{n:,} failed", n=failed) if failed else tr("none failed"))
    if not record.finished:
        parts.append(tr("not finished"))
    if count:
        parts.append(
            tr(
                "{time} of measuring",
                time=clock_time(round(seconds_of(record.workload, record.samples))),
            )
        )
    return one_line(about, 300), tr(", ").join(parts)


def table(levels: Sequence[Level]) -> list[list[str]]:
    """The head and a row for each level, as cells."""
    columns = list(_COLUMNS)
    if any(row.ttft_warm_ms for row in levels):
        columns.insert(6, _WARM)
    if any(row.goodput_share is not None for row in levels):
        columns.append(_GOOD)
    head = [tr(name) for name, _ in columns]
    return [head, *([cell(row) for _, cell in columns] for row in levels)]


def markdown(results: Results) -> list[str]:
    """The same as a Markdown table and list."""
    record = results.record
    endpoint = record.header.get("endpoint") or {}
    where = endpoint.get("base_url") or tr("the embedded engine")
    lines = [
        f"# kvtui bench {_md(record.workload.preset)}",
        "",
        tr(
            "{model} at {where}, {when}",
            model=_md(endpoint.get("model") or ""),
            where=_md(where),
            when=_md(record.header.get("created_at")),
        ),
        "",
    ]
    if results.levels:
        head, *rows = table(results.levels)
        lines.append("| " + " | ".join(map(_md, head)) + " |")
        lines.append("|" + "---|" * len(head))
        lines += ["| " + " | ".join(map(_md, row)) + " |" for row in rows]
        lines.append("")
    lines += [f"- {_md(finding.message)}" for finding in results.findings]
    return lines


_MARKUP = re.compile(r"[\\|`]|\](?=[(\[:])")
_LINKED = re.compile(r"://|www\.|@|\b(?:mailto|xmpp|tel):|#\d|[^\W_]\.[^\W\d_]{2}", re.IGNORECASE)
"""What some reader makes a link of in bare text: addresses, hosts, mail, mentions, issues."""


def _md(text: object) -> str:
    """A text of anybody's as words of a page: no control, no cell's end, no link, picture, tag.

    Words that readers make links of by themselves are code: a backslash stops only some of them.
    """
    parts = re.split(r"(\s+)", one_line(str(text), 600))
    return "".join(_code(part) if _LINKED.search(part) else _words(part) for part in parts)


def _words(text: str) -> str:
    return _MARKUP.sub(r"\\\g<0>", text).replace("<", "&lt;")


def _code(word: str) -> str:
    """A word between back-ticks, more of them than stand in it; no cell ends in it."""
    fence = "`" * (1 + max(map(len, re.findall("`+", word)), default=0))
    room = " " if len(fence) > 1 else ""
    return fence + room + word.replace("|", "\\|") + room + fence


def csv_text(results: Results) -> str:
    """One line a request, warm-up included and marked."""
    names = [n for n in Sample.__struct_fields__ if n not in ("reads", "failure", "hints")]
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(["level", *names, "hints"])
    for sample in results.record.samples:
        label = results.record.workload.stages[sample.stage].label
        values = ["" if (v := getattr(sample, n)) is None else v for n in names]
        writer.writerow([_safe(v) for v in [label, *values, " ".join(sample.hints)]])
    return out.getvalue()


def _safe(value: object) -> object:
    """A text of anybody's: no control in it, and quoted where a spreadsheet would compute it."""
    if not isinstance(value, str):
        return value
    text = sanitise(value)
    return f"'{text}" if text.lstrip()[:1] in ("=", "+", "-", "@") else text
