"""A benchmark's results as one HTML page that needs nothing else: table, findings, plots in SVG."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from kvtui.bench.evaluation.results import FORMULAS, Results
from kvtui.bench.export.plots import plots
from kvtui.bench.export.tables import table

_MARKS = {True: "yes", False: "no", None: ""}

_STYLE = """
body { font: 15px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 92rem; padding: 0 1rem;
  color: #1f2328; background: #fff }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; margin: 1rem 0 }
th, td { border-bottom: 1px solid #d0d7de; padding: .25rem .6rem; text-align: right;
  white-space: nowrap }
th:first-child, td:first-child { text-align: left }
svg { width: calc(50% - 1.2rem); min-width: min(30rem, 100%); height: auto;
  margin: .5rem 1rem .5rem 0; vertical-align: top }
.wide { overflow-x: auto }
dt { font-weight: 600 } dd { margin: 0 0 .3rem 1rem }
"""


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
        parts.append('<div class="wide"><table><thead><tr>')
        parts.append(_cells("th", head) + "</tr></thead><tbody>")
        parts += ["<tr>" + _cells("td", row) + "</tr>" for row in rows]
        parts.append("</tbody></table></div>")
    if results.findings:
        parts.append("<ul>")
        for finding in results.findings:
            mark = _MARKS[finding.holds]
            says = f"<b>{mark}</b> " if mark else ""
            parts.append(f"<li>{says}{escape(finding.message)}</li>")
        parts.append("</ul>")
    parts += plots(results).values()
    parts.append("<h2>Definitions</h2><dl>")
    parts += [f"<dt>{name}</dt><dd>{escape(text)}</dd>" for name, text in FORMULAS.items()]
    parts.append("</dl></body></html>")
    return "\n".join(parts)


def _cells(tag: str, row: Sequence[str]) -> str:
    return "".join(f"<{tag}>{escape(cell)}</{tag}>" for cell in row)
