"""A benchmark's results as one HTML page that needs nothing else: table, findings, plots in SVG."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from kvtui.bench.evaluation.results import FORMULAS, Results
from kvtui.bench.export.plots import plots
from kvtui.bench.export.tables import RARE_NOTE, table, told_of
from kvtui.language import in_use, later, tr
from kvtui.text import one_line

_MARKS = {True: ("yes", later("yes")), False: ("no", later("no")), None: ("note", "·")}
"""Class and word of a finding's mark."""

_STYLE = """
:root { color-scheme: light dark; --ink: #1f2328; --dim: #59636e; --line: #d8dee4; --page: #f6f8fa;
  --card: #fff; --yes: #1a7f37; --no: #9a6700;
  --s0: #1f6feb; --s1: #bf5700; --s2: #1a7f37; --s3: #8250df; --s4: #cf222e; --s5: #0a7ea4;
  --s6: #9a6700; --s7: #57606a }
@media (prefers-color-scheme: dark) { :root { --ink: #d7dee7; --dim: #8d99a8; --line: #2a333e;
  --page: #0f1318; --card: #151b22; --yes: #8ecf80; --no: #e6c27a;
  --s0: #7ea6dc; --s1: #e6a15c; --s2: #8ecf80; --s3: #b59ad9; --s4: #f2777f; --s5: #56c2b6;
  --s6: #e6c27a; --s7: #9aa5b1 } }
body { font: 15px/1.5 system-ui, sans-serif; margin: 0 auto; max-width: 84rem; padding: 2rem;
  color: var(--ink); background: var(--page) }
h1 { font-size: 1.6rem; margin: 0 } h2 { font-size: 1.1rem; margin: 2rem 0 .6rem }
.facts { color: var(--dim); margin: .3rem 0 0; overflow-wrap: anywhere }
.card { background: var(--card); border: 1px solid var(--line); border-radius: 8px }
.findings { list-style: none; margin: 1.5rem 0 0; padding: .4rem 1rem }
.findings li { display: flex; gap: .8rem; padding: .45rem 0; overflow-wrap: anywhere }
.findings li + li { border-top: 1px solid var(--line) }
.findings b { flex: 0 0 2rem; text-align: right; color: var(--dim) }
.findings .yes { color: var(--yes) } .findings .no { color: var(--no) }
.wide { overflow-x: auto }
table { border-collapse: collapse; font-size: 13px; font-variant-numeric: tabular-nums;
  width: 100% }
th, td { border-bottom: 1px solid var(--line); padding: .4rem .6rem; text-align: right;
  white-space: nowrap }
th { color: var(--dim); font-weight: 600; vertical-align: bottom; white-space: normal }
tbody tr:last-child td { border-bottom: 0 }
th:first-child, td:first-child { text-align: left; padding-left: 1rem }
.rare { color: var(--dim); font-size: 13px; margin: .4rem 0 0 }
.plots { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(34rem, 100%), 1fr));
  gap: 1rem }
.plots > div { padding: .5rem; break-inside: avoid }
svg { display: block; width: 100%; height: auto }
svg .bg { fill: var(--card) } svg .ink { fill: var(--ink) } svg .dim { fill: var(--dim) }
svg .grid { stroke: var(--line) }
dl { display: grid; grid-template-columns: max-content 1fr; gap: .2rem 1.2rem; margin: 0;
  font-size: 13px } dt { font-weight: 600 } dd { margin: 0; color: var(--dim) }
@media print { :root { color-scheme: light; --ink: #000; --dim: #444; --line: #ccc;
  --page: #fff; --card: #fff; --yes: #1a7f37; --no: #9a6700 }
  body { padding: 0; font-size: 11px } table, dl { font-size: 9px } th, td { padding: .2rem .3rem }
  .wide { overflow: visible } .plots { grid-template-columns: 1fr 1fr } li { break-inside: avoid } }
"""
_SERIES = "\n".join(
    f"svg text.s{n}, svg circle.s{n} {{ fill: var(--s{n}) }}"
    f" svg polyline.s{n} {{ stroke: var(--s{n}) }}"
    for n in range(8)
)
_POLICY = "default-src 'none'; style-src 'unsafe-inline'"
"""Nothing is fetched, nothing is run, whatever stands in a name."""


def html(results: Results) -> str:
    """The page."""
    title = f"kvtui bench {results.record.workload.preset}"
    parts = [
        "<!doctype html>",
        f'<html lang="{in_use()}"><head><meta charset="utf-8">',
        f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">',
        '<meta name="viewport" content="width=device-width">',
        f"<title>{escape(title)}</title><style>{_STYLE}{_SERIES}</style></head><body>",
        f"<h1>{escape(title)}</h1>",
        *(f'<p class="facts">{escape(line)}</p>' for line in _facts(results)),
    ]
    if results.findings:
        parts.append('<ul class="findings card">')
        for finding in results.findings:
            group, mark = _MARKS[finding.holds]
            says = escape(one_line(finding.message, 600))
            parts.append(f'<li><b class="{group}">{tr(mark)}</b><span>{says}</span></li>')
        parts.append("</ul>")
    if results.levels:
        head, *rows = table(results.levels)
        parts.append(f'<h2>{tr("Levels")}</h2><div class="wide card"><table><thead><tr>')
        parts.append(_cells("th", head) + "</tr></thead><tbody>")
        parts += ["<tr>" + _cells("td", row) + "</tr>" for row in rows]
        parts.append("</tbody></table></div>")
        if any(cell.startswith("~") for row in rows for cell in row):
            parts.append(f'<p class="rare">{tr(RARE_NOTE)}</p>')
    if drawn := plots(results):
        parts.append(f'<h2>{tr("Plots")}</h2><div class="plots">')
        parts += [f'<div class="card">{svg}</div>' for svg in drawn.values()]
        parts.append("</div>")
    parts.append(f"<h2>{tr('Definitions')}</h2><dl>")
    parts += [f"<dt>{name}</dt><dd>{escape(text)}</dd>" for name, text in FORMULAS.items()]
    parts.append("</dl></body></html>")
    return "\n".join(parts)


def _facts(results: Results) -> list[str]:
    """Whom it asked; what came of it; when, with what and on which machine."""
    header = results.record.header
    machine = header.get("machine") or {}
    when = str(header.get("created_at") or "")[:19].replace("T", " ")
    made = [
        f"{when} UTC" if when else "",
        f"kvtui {header.get('kvtui')}" if header.get("kvtui") else "",
        f"Python {machine.get('python')}" if machine.get("python") else "",
        str(machine.get("platform") or ""),
    ]
    about, came = told_of(results)
    return [about, came, one_line(" · ".join(part for part in made if part), 300)]


def _cells(tag: str, row: Sequence[str]) -> str:
    return "".join(f"<{tag}>{escape(cell)}</{tag}>" for cell in row)
