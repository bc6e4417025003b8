"""The doctor's checklist: each step with its time, the sentence and fixes at the first failure."""

from __future__ import annotations

from collections.abc import Sequence

from kvtui.doctor.steps import GLYPHS, TITLES, State, Step
from kvtui.language import tr
from kvtui.text import milliseconds, one_line, sanitise
from kvtui.ui.draw.evidence import BADGES
from kvtui.ui.look.rows import BLANK, Row, left, plain, right, row, wrap

_ROLES: dict[State, str] = {"ok": "good", "failed": "bad", "unknown": "muted"}
_TITLE = 12
_TIME = 9
COPY_WIDTH = 100


def doctor_rows(steps: Sequence[Step], width: int, *, coming: bool = True) -> list[Row]:
    """One row or more for each step: those done, and (``coming``) all others."""
    lines: list[Row] = []
    failed = False
    for step in steps:
        lines += _step(step, width)
        if step.verdict is not None and not failed:
            failed = True
            lines += _advice(step, width)
    if not coming:
        return lines
    done = {step.name for step in steps}
    for index, name in enumerate(name for name in TITLES if name not in done):
        glyph, role = ("◉ ", "accent") if not index else ("○ ", "faint")
        title = "text" if not index else "muted"
        lines.append(
            row((glyph, role), (tr(TITLES[name]), title), (" …" if not index else "", "muted"))
        )
    return lines


def failed_rows(steps: Sequence[Step], width: int) -> tuple[int, int] | None:
    """The rows from the first failure to the end of its fixes (from, to); None without one."""
    for number, step in enumerate(steps):
        if step.state == "failed":
            before = len(doctor_rows(steps[:number], width, coming=False))
            return before, len(doctor_rows(steps[: number + 1], width, coming=False))
    return None


def _step(step: Step, width: int) -> list[Row]:
    took = milliseconds(step.ms) if step.ms is not None else ""
    head = f"{left(tr(step.title), _TITLE)}{right(took, _TIME)}  "
    indent = 2 + _TITLE + _TIME + 2
    details = wrap(one_line(step.detail, 300), max(16, width - indent)) if step.detail else [""]
    role = "muted" if step.state == "unknown" else "text"
    lines = [row((f"{GLYPHS[step.state]} ", _ROLES[step.state]), (head, role), (details[0], role))]
    notes = [line for note in step.notes for line in wrap(one_line(note, 300), width - indent)]
    lines += [row((" " * indent, "text"), (line, role)) for line in details[1:]]
    lines += [row((" " * indent, "text"), (line, "muted")) for line in notes]
    return lines


def _advice(step: Step, width: int) -> list[Row]:
    verdict = step.verdict
    assert verdict is not None
    glyph, word, badge, _ = BADGES[verdict.cls]
    lines = [
        BLANK,
        row(("  ", "text"), (f" {glyph} {word} ", badge), (f" {verdict.subcode}", "strong")),
        *[row((f"  {line}", "text")) for line in wrap(sanitise(verdict.message), width - 2)],
    ]
    for number, fix in enumerate(verdict.fixes, 1):
        for index, line in enumerate(wrap(sanitise(fix), width - 4)):
            lines.append(row((f"  {'  ' if index else f'{number} '}", "accent"), (line, "text")))
    return [*lines, BLANK]


def doctor_text(title: str, steps: Sequence[Step]) -> str:
    """The checklist as plain text, to be copied."""
    rows = doctor_rows(steps, COPY_WIDTH)
    return (
        "\n".join([f"kvtui doctor · {title}", "", *[plain(line).rstrip() for line in rows]]) + "\n"
    )
