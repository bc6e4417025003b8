"""``kvtui compare``: records or other tools' results side by side."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from kvtui.commands.errors import BadInput
from kvtui.commands.output import print_json, put
from kvtui.commands.runs import RunName
from kvtui.text import UNKNOWN, milliseconds, one_line, rate

if TYPE_CHECKING:
    from kvtui.bench.evaluation.compare import Compared, Comparison, Condition, LevelPair
    from kvtui.bench.evaluation.sides import Side

SCHEMA = "kvtui.compare/1"
_LETTERS = "BCDEFGHIJKLMNOPQRSTUVWXYZ"
_NAMES = {"ttft_ms": "TTFT p50", "tpot_ms": "TPOT p50", "e2e_ms": "E2E p50"}
_SCALARS = {
    "output_tps": "tok/s all",
    "steady_output_tps": "tok/s steady",
    "request_rate": "req/s",
    "goodput_rate": "good req/s",
    "completed": "completed",
    "failed": "failed",
}
_SAYS = {
    "slower": "SLOWER",
    "faster": "faster",
    "same": "within noise",
    "too few": "too few requests to tell",
    "untested": "no single requests to test",
}


@click.command()
@click.argument("files", nargs=-1, required=True, metavar="A B…", type=RunName())
@click.option(
    "--fail-on",
    "conditions",
    multiple=True,
    metavar="CONDITION",
    help="End with status 1 where it holds: 'ttft_ms.p50>1.1x', 'output_tps<0.9x'; repeatable.",
)
@click.option("--json", "as_json", is_flag=True, help="One JSON object on stdout.")
def compare(files: tuple[str, ...], conditions: tuple[str, ...], as_json: bool) -> None:
    """Compare B, C … with A: runs (see kvtui runs), files of --json, or other tools' results.

    Read are also the result files of vllm bench serve, guidellm, llama-benchy and aiperf. A
    difference is claimed only where a test over the single requests finds it. Exit status: 0 done,
    1 a --fail-on condition holds, 2 wrong flags or files.
    """
    if len(files) < 2:
        raise click.UsageError("Give at least two files or runs to compare.")
    if len(files) > len(_LETTERS) + 1:
        raise click.UsageError(f"More than {len(_LETTERS) + 1} cannot be shown side by side.")
    sys.exit(_compare([_path(name) for name in files], conditions, as_json=as_json))


def _path(name: str) -> Path:
    """A file, or a run's by its name."""
    path = Path(name)
    if path.exists():
        if path.is_dir():
            raise BadInput(f"{name} is a folder: name a file or a run.")
        return path
    from kvtui.bench.records.record import RecordError
    from kvtui.bench.records.store import find

    try:
        return find(name).path
    except RecordError as error:
        raise BadInput(f"There is no file {name!r}, and as a run: {error}") from None


def _compare(files: list[Path], conditions: tuple[str, ...], *, as_json: bool) -> int:
    from kvtui.bench.evaluation.compare import ConditionError, parse_condition
    from kvtui.bench.evaluation.compare import compare as compared
    from kvtui.bench.evaluation.imports import read_side
    from kvtui.bench.evaluation.sides import SideError, apart

    try:
        wanted = [parse_condition(text) for text in conditions]
        first, *others = [read_side(path) for path in files]
    except (SideError, ConditionError) as error:
        raise BadInput(str(error)) from None
    comparisons = [compared(first, other) for other in others]
    for comparison in comparisons:
        if not comparison.pairs:
            raise BadInput(
                f"{first.name} and {comparison.second.name} have no level in common:"
                f" {apart(first, comparison.second)}."
            )
    hits = [_checked(comparison, wanted) for comparison in comparisons]
    if as_json:
        tables = [_table(c, h) for c, h in zip(comparisons, hits, strict=True)]
        table = {"schema": SCHEMA, "comparisons": tables}
        print_json(table)
    else:
        text = _text(comparisons[0]) if len(comparisons) == 1 else _several(comparisons)
        for line in text:
            put(line)
        for letter, found in zip(_LETTERS, hits, strict=False):
            of = f" of {letter}" if len(hits) > 1 else ""
            for hit in found:
                if hit["hit"]:
                    says = f"{hit['level']}{of} has {hit['value']:.4g}"
                    put(f"FAILS {hit['condition']}: {says}")
    return 1 if any(hit["hit"] for found in hits for hit in found) else 0


def _checked(comparison: Comparison, wanted: list[Condition]) -> list[dict[str, Any]]:
    """Each condition at each level. One that no level can answer is an error, not a pass."""
    rows: list[dict[str, Any]] = []
    for condition in wanted:
        values = [(pair, condition.value(pair)) for pair in comparison.pairs]
        if all(value is None for _, value in values):
            raise BadInput(
                f"{condition.text} cannot be told of {comparison.first.name} and"
                f" {comparison.second.name}: one of them does not hold that figure."
            )
        rows += [
            {
                "condition": condition.text,
                "level": pair.label,
                "value": value,
                "hit": None if value is None else condition.hit(value),
            }
            for pair, value in values
        ]
    return rows


def _table(comparison: Comparison, hits: list[dict[str, Any]]) -> dict[str, Any]:
    from kvtui.bench.evaluation.compare import ALPHA, LEAST

    return {
        "first": _side(comparison.first),
        "second": _side(comparison.second),
        "levels": [
            {
                "label": pair.label,
                "second_label": pair.second.label,
                "concurrency": pair.first.concurrency,
                "figures": [asdict(figure) for figure in pair.figures],
                "scalars": {
                    name: {"first": a, "second": b, "ratio": b / a if a and b is not None else None}
                    for name, a, b in pair.scalars
                },
            }
            for pair in comparison.pairs
        ],
        "regressions": [
            {"level": pair.label, "figure": figure.figure, "ratio": figure.ratio}
            for pair, figure in comparison.regressions
        ],
        "fail_on": hits,
        "rule": {"alpha": ALPHA, "least_difference": LEAST, "adjustment": "Holm"},
    }


def _side(side: Side) -> dict[str, Any]:
    return {
        "file": side.name,
        "source": side.source,
        "model": side.model,
        "levels": len(side.levels),
        "output_tokens": sum(level.output_tokens or 0 for level in side.levels),
        "notes": list(side.notes),
    }


def _text(comparison: Comparison) -> list[str]:
    first, second = comparison.first, comparison.second
    lines = [f"A  {_named(first)}", f"B  {_named(second)}", ""]
    for pair in comparison.pairs:
        other = "" if pair.second.label == pair.label else f" | {one_line(pair.second.label, 40)}"
        lines.append(f"{one_line(pair.label, 60)}{other}")
        rows = [["", "A", "B", "B/A", "[95 %]", "n", ""]]
        rows += [_row(figure) for figure in pair.figures if _known(figure)]
        rows += [_scalar(name, a, b) for name, a, b in pair.scalars]
        widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
        for row in rows:
            cells = [row[0].ljust(widths[0])]
            cells += [cell.rjust(widths[i]) for i, cell in enumerate(row[1:-1], 1)]
            lines.append(("  " + "  ".join([*cells, row[-1]])).rstrip())
    lines.append("")
    lines += _verdict(comparison)
    return lines


def _several(comparisons: Sequence[Comparison]) -> list[str]:
    """All sides in one table: each figure of A, and of the others with its ratio to A's."""
    first = comparisons[0].first
    names = dict(zip(_LETTERS, comparisons, strict=False))
    lines = [f"A  {_named(first)}"]
    lines += [f"{letter}  {_named(one.second)}" for letter, one in names.items()]
    labels = dict.fromkeys(pair.label for one in comparisons for pair in one.pairs)
    for label in labels:
        found = [next((p for p in one.pairs if p.label == label), None) for one in comparisons]
        known = next(pair for pair in found if pair is not None)
        rows = [["", "A", *(cell for letter in names for cell in (letter, "×A", ""))]]
        for number, figure in enumerate(known.figures):
            row = [_NAMES[figure.figure], milliseconds(figure.first)]
            for pair in found:
                row += _beside(None if pair is None else pair.figures[number])
            rows.append(row)
        for number, (name, value, _) in enumerate(known.scalars):
            row = [_SCALARS[name], _scalar(name, value, None)[1]]
            for pair in found:
                cells = ["", "", "", ""]
                if pair is not None and number < len(pair.scalars):
                    cells = _scalar(*pair.scalars[number])
                row += [cells[2], cells[3], ""]
            rows.append(row)
        widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
        lines += ["", one_line(label, 60)]
        for row in rows:
            cells = [row[0].ljust(widths[0])]
            cells += [
                cell.ljust(widths[i]) if i % 3 == 1 and i > 1 else cell.rjust(widths[i])
                for i, cell in enumerate(row[1:], 1)
            ]
            lines.append(("  " + "  ".join(cells)).rstrip())
    lines.append("")
    changed = [
        f"{figure.says.upper()}: {letter}, {one_line(pair.label, 60)}: {_NAMES[figure.figure]}"
        f" {figure.ratio:.3f} times A's."
        for letter, one in names.items()
        for pair in one.pairs
        for figure in pair.figures
        if figure.says in ("slower", "faster")
    ]
    figures = [f for one in comparisons for pair in one.pairs for f in pair.figures]
    most = max(len(one.pairs) for one in comparisons)
    return [*lines, *changed, *_rule(figures, most), "≈ within noise; ratios are to A."]


def _beside(figure: Compared | None) -> list[str]:
    if figure is None:
        return ["", "", ""]
    ratio = "" if figure.ratio is None else f"{figure.ratio:.3f}"
    says = {"slower": "SLOWER", "faster": "faster", "same": "≈"}.get(figure.says, "")
    return [milliseconds(figure.second), ratio, says]


def _named(side: Side) -> str:
    model = f", {one_line(side.model, 60)}" if side.model else ""
    notes = "".join(f" ({note})" for note in side.notes)
    return f"{one_line(side.name, 80)} ({side.source}{model}){notes}"


def _known(figure: Compared) -> bool:
    return figure.first is not None or figure.second is not None


def _row(figure: Compared) -> list[str]:
    ratio = UNKNOWN if figure.ratio is None else f"{figure.ratio:.3f}"
    between = figure.ratio_ci95
    says = _SAYS[figure.says]
    if figure.p_adjusted is not None:
        says += f" (p = {figure.p_adjusted:.2g})"
    return [
        _NAMES[figure.figure],
        milliseconds(figure.first),
        milliseconds(figure.second),
        ratio,
        f"[{between[0]:.3f}, {between[1]:.3f}]" if between else "",
        f"{figure.n_first}, {figure.n_second}",
        says,
    ]


def _scalar(name: str, a: float | None, b: float | None) -> list[str]:
    whole = name in ("completed", "failed")
    cells = [UNKNOWN if v is None else f"{v:.0f}" if whole else rate(v) for v in (a, b)]
    ratio = f"{b / a:.3f}" if a and b is not None and not whole else ""
    return [_SCALARS[name], *cells, ratio, "", "", ""]


def _verdict(comparison: Comparison) -> list[str]:
    changed: list[tuple[LevelPair, Compared]] = [
        (pair, figure)
        for pair in comparison.pairs
        for figure in pair.figures
        if figure.says in ("slower", "faster")
    ]
    lines = [
        f"{figure.says.upper()}: {one_line(pair.label, 60)}: {_NAMES[figure.figure]}"
        f" {figure.ratio:.3f} times."
        for pair, figure in changed
    ]
    figures = [figure for pair in comparison.pairs for figure in pair.figures]
    return [*lines, *_rule(figures, len(comparison.pairs))]


def _rule(figures: Sequence[Compared], levels: int) -> list[str]:
    """By which rule differences were claimed, or why none was."""
    from kvtui.bench.evaluation.compare import ALPHA, LEAST, enough

    tested = [figure for figure in figures if figure.p_adjusted is not None]
    few = []
    if any(figure.says == "too few" for figure in figures):
        at = "a level" if levels == 1 else f"each of {levels} levels"
        few = [f"A claim needs {enough(levels)} requests of {at} on both sides."]
    if not tested:
        return ["Nothing is claimed: there are too few single requests to test.", *few]
    names = sorted({figure.test for figure in tested})
    rule = (
        f"Test: {' / '.join(names)}, two-sided at {100 * ALPHA:g} %; differences under"
        f" {100 * LEAST:g} % are not claimed."
    )
    if any(figure.says in ("slower", "faster") for figure in figures):
        return [rule, *few]
    return ["No difference stands out from the noise.", rule, *few]
