"""Beside the planner's answer: its title, the grid, the examples, the notes, all of it as text."""

from __future__ import annotations

from rich.cells import cell_len

from kvtui.language import tr
from kvtui.memory.units import gib
from kvtui.text import one_line
from kvtui.ui.look.rows import Row, Span, between, clip, left, right, row, wrap
from kvtui.ui.planner.answer import PlannerState, engine_name
from kvtui.ui.planner.curve import GRID_CONTEXTS, GRID_USERS
from kvtui.ui.planner.form import ENGINE_NAMES
from kvtui.ui.planner.presets import PRESETS


def title_of(state: PlannerState, width: int) -> str:
    """What the answer is about, for its border."""
    told = state.told
    if told is None:
        return ""
    question = told.question
    precision = told.k.name if told.k == told.v else f"{told.k.name}/{told.v.name}"
    split = told.split
    ways = [f"{name} {count}" for name, count in (("TP", split.tp), ("PP", split.pp)) if count > 1]
    ways += [tr("{dp} replicas", dp=split.dp)] if split.dp > 1 else []
    cards = f"{split.cards} × {question.card.name}" + (f" ({', '.join(ways)})" if ways else "")
    short = " · ".join([cards, f"KV {precision}", engine_name(told)])
    whole = f"{one_line(question.model.name, 60)} · {short}"
    if state.stale:
        return clip(tr("▲ the answer before: {whole}", whole=whole), width)
    return whole if cell_len(whole) <= width else clip(short, width)


def grid_rows(state: PlannerState, fits: tuple[tuple[bool, ...], ...], width: int) -> list[Row]:
    """What fits of contexts × users; a click takes one."""
    told = state.told
    if told is None or not fits:
        return []
    cell = max(5, (width - 8) // len(GRID_USERS))
    lines = [
        row((left("", 8), "muted"), *[(right(f"{users:,}", cell), "muted") for users in GRID_USERS])
    ]
    limit = told.question.model.max_context
    for context, line in zip(GRID_CONTEXTS, fits, strict=True):
        own = context == told.question.context
        spans = [Span(left(f"{context // 1024}k", 8), "accent" if own else "muted")]
        for users, fit in zip(GRID_USERS, line, strict=True):
            glyph, role = ("✓", "good") if fit else ("✗", "bad")
            if fit and limit is not None and context > limit:
                glyph, role = "·", "muted"
            here = own and users == told.question.concurrency
            text = right(f"▸{glyph}" if here else glyph, cell)
            spans.append(Span(text, role, f"screen.lengths({context},{users})"))
        lines.append(tuple(spans))
    return lines


def preset_rows(width: int) -> list[Row]:
    """The worked examples; a click takes one."""
    return [
        between(
            row(Span(tr(preset.short), "text", f"screen.preset({at})")),
            row(Span(preset.figure, "strong", f"screen.preset({at})")),
            width,
        )
        for at, preset in enumerate(PRESETS)
    ]


def note_rows(
    state: PlannerState, focused: str, hint: str, matches: tuple[str, ...], width: int, height: int
) -> list[Row]:
    """Under the fields: what is wrong, else what the focused field means and what it fits."""
    lines: list[Row] = []
    for name, text in sorted(state.problems, key=lambda item: item[0] != focused):
        if name == focused and matches:  # on the way to a name
            text = tr(
                "no {field} of that name yet. ⏎ lists {matches}",
                field=tr(focused),
                matches=", ".join(matches),
            )
        for at, line in enumerate(wrap(text, width - 2)):
            lines.append(row(("▲ " if not at else "  ", "bad"), (line, "warn")))
    if not lines:
        lines = [row((line, "muted")) for line in wrap(hint, width)]
    if len(lines) > height > 0:
        lines = [*lines[: height - 1], row(("…", "muted"))]
    return lines


def whole_text(state: PlannerState) -> str:
    """Everything known of the answer, for reading and copying."""
    from kvtui.memory.render import render_text

    told = state.told
    if told is None:
        return tr("No answer yet.")
    lines = [render_text(told, state.smallest), ""]
    for item in state.flags:
        name = ENGINE_NAMES[item.engine]
        lines.append(f"{name:<10} {item.text or item.reason} {item.note}".rstrip())
    lines += ["", tr("weights: {weights_formula}", weights_formula=told.weights_formula)]
    if told.bounds:
        lines += ["", tr("Decode's upper bound by bandwidth (real engines reach a part of it):")]
        lines += [
            tr(
                "{batch:>4} at once  {tokens_per_s:>10,.0f} tok/s together; a step"
                " reads {weights_read_bytes} of weights and {kv_read_bytes} of cache",
                batch=bound.batch,
                tokens_per_s=bound.tokens_per_s,
                weights_read_bytes=gib(bound.weights_read_bytes),
                kv_read_bytes=gib(bound.kv_read_bytes),
            )
            for bound in told.bounds
        ]
    return "\n".join(lines)
