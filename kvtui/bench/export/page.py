"""A benchmark's results as one HTML page that needs nothing else: table, findings, plots in SVG."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from math import floor, log10

from kvtui.bench.export.tables import table
from kvtui.bench.reading import positions, ttfts
from kvtui.bench.results import FORMULAS, Results

_WIDTH, _HEIGHT = 640, 320
_LEFT, _RIGHT, _TOP, _BOTTOM = 70, 20, 30, 45
_COLOURS = ("#1f6feb", "#bf5700", "#1a7f37", "#8250df")
_MARKS = {True: "yes", False: "no", None: ""}

_STYLE = """
body { font: 15px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 75rem; padding: 0 1rem;
  color: #1f2328; background: #fff }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; margin: 1rem 0 }
th, td { border-bottom: 1px solid #d0d7de; padding: .25rem .6rem; text-align: right }
th:first-child, td:first-child { text-align: left }
svg { max-width: 100%; margin: .5rem 1rem .5rem 0 } svg text { font: 12px system-ui, sans-serif }
dt { font-weight: 600 } dd { margin: 0 0 .3rem 1rem }
"""


@dataclass(frozen=True, slots=True)
class Series:
    """Points under one name; joined by a line where they are levels."""

    name: str
    points: Sequence[tuple[float, float]]
    joined: bool = False


def html(results: Results) -> str:
    """The page."""
    record = results.record
    endpoint = record.header.get("endpoint") or {}
    where = endpoint.get("base_url") or "the embedded engine"
    title = f"kvtui bench {record.workload.preset}"
    about = f"{endpoint.get('model') or ''} at {where}, {record.header.get('created_at')}"
    parts = [
        "<!doctype html>",
        '<html lang="en"><head><meta charset="utf-8">',
        '<meta name="viewport" content="width=device-width">',
        f"<title>{escape(title)}</title><style>{_STYLE}</style></head><body>",
        f"<h1>{escape(title)}</h1><p>{escape(about)}</p>",
    ]
    if results.levels:
        head, *rows = table(results.levels)
        parts.append("<table><thead><tr>" + _cells("th", head) + "</tr></thead><tbody>")
        parts += ["<tr>" + _cells("td", row) + "</tr>" for row in rows]
        parts.append("</tbody></table>")
    if results.findings:
        parts.append("<ul>")
        for finding in results.findings:
            mark = _MARKS[finding.holds]
            says = f"<b>{mark}</b> " if mark else ""
            parts.append(f"<li>{says}{escape(finding.message)}</li>")
        parts.append("</ul>")
    parts += plots(results)
    parts.append("<h2>Definitions</h2><dl>")
    parts += [f"<dt>{name}</dt><dd>{escape(text)}</dd>" for name, text in FORMULAS.items()]
    parts.append("</dl></body></html>")
    return "\n".join(parts)


def _cells(tag: str, row: Sequence[str]) -> str:
    return "".join(f"<{tag}>{escape(cell)}</{tag}>" for cell in row)


def plots(results: Results) -> list[str]:
    """The plots that the preset's figures give."""
    record = results.record
    workload = record.workload
    samples = [s for s in record.samples if s.completed and not s.warmup]
    found = []
    if workload.preset == "prefill":
        series = [Series(kind, ttfts(workload, samples, kind)) for kind in ("cold", "again")]
        found.append(plot("TTFT against prompt length", "prompt tokens", "ms", series))
    elif workload.preset == "kv-evidence":
        series = [
            Series(stage.label, positions([s for s in samples if s.stage == number]))
            for number, stage in enumerate(workload.stages)
            if stage.keep_reads
        ]
        found.append(plot("Time per token against position", "position", "ms a token", series))
    elif len({(row.concurrency, row.rate) for row in results.levels}) > 1:
        groups: dict[str, list[tuple[float, float]]] = {}
        for row in results.levels:
            tps = row.steady_output_tps or row.output_tps
            if tps and row.e2e_ms:
                name = f"{row.prompt_tokens_wanted or 'own'} to {row.max_tokens} tokens"
                groups.setdefault(name, []).append((tps, row.e2e_ms.p50))
        series = [Series(name, points, joined=True) for name, points in groups.items()]
        found.append(plot("Latency against throughput", "output tok/s", "E2E p50, ms", series))
    return [text for text in found if text]


def plot(title: str, x_name: str, y_name: str, series: Sequence[Series]) -> str:
    """Points on linear axes that begin at 0; empty where there are none."""
    points = [point for one in series for point in one.points]
    if not points:
        return ""
    x_ticks = _ticks(max(x for x, _ in points))
    y_ticks = _ticks(max(y for _, y in points))

    def x_at(x: float) -> float:
        return round(_LEFT + x / x_ticks[-1] * (_WIDTH - _LEFT - _RIGHT), 1)

    def y_at(y: float) -> float:
        return round(_HEIGHT - _BOTTOM - y / y_ticks[-1] * (_HEIGHT - _TOP - _BOTTOM), 1)

    out = [
        f'<svg viewBox="0 0 {_WIDTH} {_HEIGHT}" width="{_WIDTH}" role="img"'
        f' aria-label="{escape(title)}">',
        f'<text x="{_LEFT}" y="18" font-weight="bold">{escape(title)}</text>',
    ]
    for tick in x_ticks:
        at = x_at(tick)
        out.append(
            f'<text x="{at}" y="{_HEIGHT - _BOTTOM + 16}" text-anchor="middle">{tick:g}</text>'
        )
    for tick in y_ticks:
        at = y_at(tick)
        out.append(
            f'<line x1="{_LEFT}" x2="{_WIDTH - _RIGHT}" y1="{at}" y2="{at}" stroke="#d0d7de"/>'
            f'<text x="{_LEFT - 6}" y="{at + 4}" text-anchor="end">{tick:g}</text>'
        )
    out.append(
        f'<text x="{(_LEFT + _WIDTH - _RIGHT) / 2}" y="{_HEIGHT - 8}" text-anchor="middle">'
        f"{escape(x_name)}</text>"
        f'<text x="14" y="{_HEIGHT / 2}" text-anchor="middle"'
        f' transform="rotate(-90 14 {_HEIGHT / 2})">{escape(y_name)}</text>'
    )
    for number, one in enumerate(series):
        colour = _COLOURS[number % len(_COLOURS)]
        places = [(x_at(x), y_at(y)) for x, y in one.points]
        if one.joined and len(places) > 1:
            path = " ".join(f"{x},{y}" for x, y in places)
            out.append(f'<polyline points="{path}" fill="none" stroke="{colour}"/>')
        out += [f'<circle cx="{x}" cy="{y}" r="3" fill="{colour}"/>' for x, y in places]
        out.append(
            f'<text x="{_WIDTH - _RIGHT}" y="{_TOP + 14 * (number + 1)}" text-anchor="end"'
            f' fill="{colour}">● {escape(one.name)}</text>'
        )
    return "\n".join([*out, "</svg>"])


def _ticks(most: float) -> list[float]:
    """From 0 to at least ``most`` in three to six round steps."""
    if most <= 0:
        return [0.0, 1.0]
    step = 10 ** floor(log10(most))
    for part in (0.2, 0.5, 1, 2):
        if most / (step * part) <= 5.5:
            step *= part
            break
    return [round(k * step, 10) for k in range(int(most / step) + 2)]
