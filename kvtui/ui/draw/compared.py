"""Two or more runs side by side: ratios, and what stands out from the noise."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from kvtui.bench.work.labels import label_shown
from kvtui.language import later, tr
from kvtui.text import UNKNOWN, milliseconds, one_line, rate
from kvtui.ui.look.rows import BLANK, Row, Span, clip, crop, left, right, row, wrap

if TYPE_CHECKING:
    from kvtui.bench.evaluation.compare import Compared, Comparison, LevelPair

_NAMES = {"ttft_ms": "TTFT", "tpot_ms": "TPOT", "e2e_ms": "E2E"}
_SAYS = {
    "slower": (later("▲ slower"), "bad"),
    "faster": (later("✓ faster"), "good"),
    "same": (later("– within the noise"), "muted"),
    "too few": (later("– too few requests to tell"), "muted"),
    "untested": (later("– no single requests to test"), "muted"),
}
_SCALARS = {
    "output_tps": later("tok/s"),
    "steady_output_tps": later("tok/s steady"),
    "request_rate": later("req/s"),
    "goodput_rate": later("good req/s"),
}


def compared_rows(comparisons: Sequence[Comparison], names: Sequence[str], width: int) -> list[Row]:
    """Each run against the first one; ``names`` are A's and then the others'."""
    lines: list[Row] = []
    for number, comparison in enumerate(comparisons):
        letter = chr(ord("B") + number)
        if number:
            lines.append(BLANK)
        lines += [
            row(("A  ", "accent"), (clip(names[0], width - 3), "text")),
            row((f"{letter}  ", "accent"), (clip(names[number + 1], width - 3), "text")),
            BLANK,
        ]
        if not comparison.pairs:
            from kvtui.bench.evaluation.sides import apart

            told = tr(
                "These two share no level: {apart}.",
                apart=apart(comparison.first, comparison.second),
            )
            lines += [row((line, "warn")) for line in wrap(told, width)]
            continue
        for pair in comparison.pairs:
            lines += _pair_rows(pair, letter, width)
        lines.append(BLANK)
        lines += _verdict_rows(comparison, letter, width)
    return lines


def _pair_rows(pair: LevelPair, letter: str, width: int) -> list[Row]:
    first = _first(width)
    head = row(
        (left(clip(one_line(label_shown(pair.label), 60), first), first), "strong"),
        (right("A", 10), "muted"),
        (right(letter, 10), "muted"),
        (right(f"{letter}/A", 8), "muted"),
        (right("95 %", 18) if width >= 96 else "", "muted"),
    )
    lines = [head]
    for figure in pair.figures:
        if figure.first is None and figure.second is None:
            continue
        lines.append(_figure_row(figure, width))
    for name, one, other in pair.scalars:
        if name in _SCALARS and (one is not None or other is not None):
            ratio = other / one if one and other is not None else None
            lines.append(
                row(
                    (left(f"  {tr(_SCALARS[name])}", first), "muted"),
                    (right(rate(one), 10), "text"),
                    (right(rate(other), 10), "text"),
                    (right(UNKNOWN if ratio is None else f"{ratio:.3f}×", 8), "muted"),
                )
            )
    return lines


def _figure_row(figure: Compared, width: int) -> Row:
    says, role = _SAYS[figure.says]
    says = tr(says)
    ratio = UNKNOWN if figure.ratio is None else f"{figure.ratio:.3f}×"
    between = figure.ratio_ci95
    interval = f"[{between[0]:.3f}, {between[1]:.3f}]" if between else ""
    counts = f"  n {figure.n_first}, {figure.n_second}"
    p = "" if figure.p_adjusted is None else f", p {figure.p_adjusted:.2g}"
    line = [
        Span(left(f"  {_NAMES.get(figure.figure, figure.figure)} p50", _first(width)), "text"),
        Span(right(milliseconds(figure.first), 10), "text"),
        Span(right(milliseconds(figure.second), 10), "text"),
        Span(right(ratio, 8), role if figure.says in ("slower", "faster") else "strong"),
    ]
    if width >= 96:
        line.append(Span(right(interval, 18), "muted"))
    line.append(Span(f"  {says}", role))
    if width >= 120:
        line.append(Span(f"{counts}{p}", "muted"))
    return crop(tuple(line), width)


def _first(width: int) -> int:
    """Cells of the first column; where there are few, what the figures say takes them."""
    return 30 if width >= 90 else 20


def _verdict_rows(comparison: Comparison, letter: str, width: int) -> list[Row]:
    found = [f for pair in comparison.pairs for f in pair.figures]
    slower = sum(f.says == "slower" for f in found)
    faster = sum(f.says == "faster" for f in found)
    tests = sorted({f.test for f in found if f.test})
    if slower or faster:
        sentence = tr(
            "{letter} is slower in {slower} and faster in {faster} of {count} figures.",
            letter=letter,
            slower=slower,
            faster=faster,
            count=len(found),
        )
    else:
        sentence = tr("Nothing stands out from the noise, which is no proof that nothing changed.")
    role = "bad" if slower else "good" if faster else "text"
    lines = [row((line, role)) for line in wrap(sentence, width)]
    if any(figure.says == "too few" for figure in found):
        from kvtui.bench.evaluation.compare import enough

        few = tr(
            "Too few requests: a claim needs {enough} of each level here, on both sides.",
            enough=enough(len(comparison.pairs)),
        )
        lines += [row((line, "muted")) for line in wrap(few, width)]
    how = tr(
        "Test: {tests}. Claimed at 0.25 % where the medians lie 2 % apart or more.",
        tests=", ".join(tests) or tr("none, too few requests"),
    )
    return [*lines, *(row((line, "muted")) for line in wrap(how, width))]
