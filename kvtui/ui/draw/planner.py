"""The planner's answer: bars, figures, the need the other way, the flags, the formula."""

from __future__ import annotations

from typing import NamedTuple

from rich.cells import cell_len

from kvtui.language import tr
from kvtui.memory.answer import Answer
from kvtui.memory.units import gib
from kvtui.ui.draw.bars import gauge, segments
from kvtui.ui.draw.sections import more_mark
from kvtui.ui.look.rows import BLANK, Row, Span, between, crop, left, row, width_of, wrap
from kvtui.ui.planner.answer import PlannerState
from kvtui.ui.planner.form import ENGINE_NAMES

WIDE = 62
NARROW = 40
LABEL = 14
FLAG_KEYS = ("^y", "^l")


class _Part(NamedTuple):
    """Rows that belong together; a lower rank stays longer when room is short."""

    rank: int
    rows: list[Row]
    gap: bool = False
    """A blank row behind it where there is room."""


def answer_rows(state: PlannerState, width: int, height: int) -> list[Row]:
    """The answer at this size; a mark says where something is left out."""
    told = state.told
    if told is None:
        return [row((tr("○ no answer yet: a field is wrong"), "warn"))]
    parts = [part for part in _parts(state, told, width) if part.rows]
    chosen = _choose(parts, height)
    lost = len(chosen) < len(parts)
    if lost:
        chosen = _choose(parts, height - 1)
    spare = height - sum(len(parts[at].rows) for at in chosen) - lost
    lines: list[Row] = []
    for at in chosen:
        lines += [crop(line, width) for line in parts[at].rows]
        if parts[at].gap and spare > 0 and at != chosen[-1]:
            lines.append(BLANK)
            spare -= 1
    if lost:
        lines += [BLANK] * (height - 1 - len(lines))
        lines.append(between(BLANK, (more_mark("^n", "screen.whole"),), width))
    return lines


def _choose(parts: list[_Part], height: int) -> list[int]:
    chosen: list[int] = []
    room = height
    for at in sorted(range(len(parts)), key=lambda at: (parts[at].rank, at)):
        if len(parts[at].rows) <= room:
            chosen.append(at)
            room -= len(parts[at].rows)
    return sorted(chosen)


def _parts(state: PlannerState, told: Answer, width: int) -> list[_Part]:
    question = told.question
    wide = width >= WIDE
    many = f"{question.concurrency:,} × {question.context:,}"
    constant = told.constant_bytes_per_sequence
    parts = [
        _Part(0, [_bar(told, width)]),
        _Part(1, _legend(told, width)),
        _Part(1, [_cache_gauge(told, width)]),
        _Part(0, [_verdict(told, width)], gap=True),
        _Part(
            0,
            [
                _figure(
                    tr("per token"),
                    f"{told.bytes_per_token:,} B",
                    "" if wide else tr("+ {constant} constant", constant=gib(constant)),
                    width,
                )
            ],
        ),
        _Part(
            2,
            [
                _figure(
                    tr("per sequence"),
                    gib(told.bytes_per_sequence),
                    tr("of {context:,}", context=question.context),
                    width,
                )
            ],
        ),
        _Part(
            3 if constant else 5,
            [_figure(tr("of it constant"), gib(constant), tr("however long it is"), width)]
            if wide
            else [],
        ),
        _Part(
            2,
            [_figure(tr("KV in all"), gib(told.total_bytes), tr("for {many}", many=many), width)]
            if wide or question.concurrency > 1
            else [],
        ),
        _Part(0, [_figure(tr("longest"), *_longest(told, width), width)]),
        _Part(
            0,
            [
                _figure(
                    tr("most at once"),
                    f"{told.max_concurrency:,}",
                    tr("× {context:,} tokens", context=question.context),
                    width,
                )
            ],
        ),
        _Part(2, [_bound(told, width)], gap=True),
        _Part(1, _need(state, told, width)),
        _Part(1, _flag_rows(state, width), gap=True),
        _Part(3, _wrapped(f"{told.formula}", width, "text")),
        _Part(4, _wrapped(told.overhead_formula, width, "muted"), gap=True),
    ]
    parts += [_Part(6, _note(note, width)) for note in told.notes]
    if wide and told.weights_bytes is not None:
        parts.insert(-len(told.notes) or len(parts), _Part(6, _note(_weights(told), width)))
    return parts


def _weights(told: Answer) -> str:
    return tr(
        "weights {size}: {formula}",
        size=gib(told.weights_bytes or 0),
        formula=told.weights_formula,
    )


def _bar(told: Answer, width: int) -> Row:
    parts = [(size, glyph, role) for _, size, glyph, role in _segments(told)]
    return segments(parts, told.question.card.memory_bytes, width)


def _segments(told: Answer) -> list[tuple[str, int, str, str]]:
    """(name, bytes, glyph, role) on the fullest card; together what the card holds."""
    budget = told.budget
    room = max(budget.kv_bytes, 0)
    asked = min(told.per_gpu_total_bytes, room)
    return [
        ("weights", budget.weights_bytes, "▓", "weights"),
        ("overhead", budget.overhead_bytes, "▚", "overhead"),
        (tr("KV asked"), asked, "█", "used"),
        (tr("KV free"), room - asked, "░", "free"),
        ("unused", max(budget.outside_bytes, 0), "·", "outside"),
    ]


def _legend(told: Answer, width: int) -> list[Row]:
    """Each segment with its size, as many to a row as fit."""
    budget = told.budget
    narrow = width < WIDE
    lines: list[Row] = []
    line: list[Span] = []
    for name, size, glyph, role in _segments(told):
        if not size and role in ("overhead", "outside"):
            continue
        figure = gib(told.per_gpu_total_bytes if role == "used" else size)
        if role == "weights" and told.weights_bytes is None:
            figure = tr("unknown")
        note = ""
        if role == "overhead" and budget.overhead_high_bytes > budget.overhead_bytes:
            note = f" ±{gib(budget.overhead_high_bytes - budget.overhead_bytes)}"
        if narrow:  # the last of a row keeps the unit
            figure, note = figure.removesuffix(" GiB"), note.removesuffix(" GiB")
            name = name.removeprefix("KV ")
        entry = row(
            (f"{glyph} ", role), (f"{tr(name)} ", "muted"), (figure, "text"), (note, "muted")
        )
        gap = 2 if narrow else 3
        if line and width_of(tuple(line)) + gap + width_of(entry) > width:
            lines.append(tuple(line))
            line = []
        line += [*([Span(" " * gap)] if line else []), *entry]
    return [*lines, tuple(line)]


def _cache_gauge(told: Answer, width: int) -> Row:
    need, have = told.per_gpu_total_bytes, max(told.budget.kv_bytes, 0)
    figures = tr(" {need} of {have}", need=gib(need), have=gib(have))
    if width < NARROW:
        figures = tr(" {need} of {have}", need=gib(need).removesuffix(" GiB"), have=gib(have))
    room = max(3, width - cell_len(figures) - 6)
    bar = gauge(need, have or 1, room, role="used" if told.fits else "bad")
    return row((tr("cache "), "muted"), *bar, (figures, "strong" if told.fits else "bad"))


def _verdict(told: Answer, width: int) -> Row:
    need, have = told.per_gpu_total_bytes, told.budget.kv_bytes
    each = tr(" on each card") if told.split.cards > 1 else ""
    unknown = tr(" (weights unknown, not counted)") if told.weights_bytes is None else ""
    if told.fits:
        glyph, role = tr("✓ fits"), "good"
        why = tr(
            "{size} to spare{each}{unknown}", size=gib(have - need), each=each, unknown=unknown
        )
    elif have < 0:
        glyph, role = tr("✗ no"), "bad"
        why = tr("weights and overhead alone exceed the card by {size}", size=gib(-have))
        if cell_len(why) + 6 > width:
            why = tr("weights exceed it by {size}", size=gib(-have))
    else:
        glyph, role = tr("✗ no"), "bad"
        why = tr("{size} short{each}{unknown}", size=gib(need - have), each=each, unknown=unknown)
    return crop(row((glyph + tr(": "), role), (why, "text")), width)


def _figure(label: str, figure: str, beside: str, width: int) -> Row:
    """A label, a figure right-aligned in its column, and what it is of."""
    cell = 16 if width >= WIDE else 12
    if width < NARROW:
        cell, beside = width - LABEL - 1, ""
    pad = " " * max(0, cell - cell_len(figure))
    return crop(
        row((left(label, LABEL), "muted"), pad, (figure, "strong"), (f" {beside}", "muted")), width
    )


def _longest(told: Answer, width: int) -> tuple[str, str]:
    question = told.question
    users = (
        tr("tokens × {concurrency:,}", concurrency=question.concurrency)
        if question.concurrency > 1
        else tr(" tokens").lstrip()
    )
    limit = question.model.max_context
    if limit is not None and told.max_context > limit:
        users = (
            tr("{users} (the model takes {limit:,})", users=users, limit=limit)
            if width >= WIDE
            else tr("> model's {limit:,}", limit=limit)
        )
    return f"{told.max_context:,}", users


def _bound(told: Answer, width: int) -> Row:
    """Decode's upper bound for some batches, from the first to what fits."""
    if not told.bounds:
        known = told.question.card.bandwidth_bytes_per_s
        why = tr("weights unknown") if known else tr("bandwidth unknown")
        return _figure(tr("decode bound"), "—", why, width)
    most = max(told.max_concurrency, 1)
    possible = [bound for bound in told.bounds if bound.batch <= most] or list(told.bounds[:1])
    kept = [possible[0]]
    if len(possible) > 2 and width >= WIDE:
        kept.append(possible[len(possible) // 2])
    if len(possible) > 1:
        kept.append(possible[-1])
    shown = " · ".join(
        tr("{tokens_per_s:,.0f} at {batch}", tokens_per_s=bound.tokens_per_s, batch=bound.batch)
        for bound in kept
    )
    named = tr(" (upper bound by bandwidth)")
    if LABEL + cell_len(shown) + cell_len(named) + 8 > width:
        named = tr(" (upper bound)") if width >= WIDE else ""
    label = (left(tr("decode bound"), LABEL), "muted")
    return crop(row(label, (f"≤ {shown} tok/s", "strong"), (named, "muted")), width)


def _need(state: PlannerState, told: Answer, width: int) -> list[Row]:
    """The need the other way round: the least cards, and how many of this one."""
    if state.by_hand:
        return [_figure(tr("smallest"), "—", tr("the cache's room is set by hand"), width)]
    name = told.question.card.name
    kind = "" if told.question.engine == "llamacpp" else tr(" (TP)")
    if state.fewest is None:
        own, role = tr("not even 16 × {name} hold it", name=name), "bad"
    else:
        own, role = f"{state.fewest} × {name}{kind if state.fewest > 1 else ''}", "strong"
    few = ", ".join(f"{choice.number} × {choice.card.name}" for choice in state.smallest)
    return [
        crop(row((left(tr("of this card"), LABEL), "muted"), (own, role)), width),
        crop(
            row((left(tr("smallest"), LABEL), "muted"), (few or tr("no card holds it"), "text")),
            width,
        ),
    ]


def _flag_rows(state: PlannerState, width: int) -> list[Row]:
    lines: list[Row] = []
    for number, item in enumerate(state.flags[:2]):
        key = FLAG_KEYS[number]
        action = f"screen.copy_flags({number})"
        mark = "" if item.fits or not item.text else "✗ "
        text, role = (
            (f"{item.text} {item.note}".rstrip(), "text") if item.text else (item.reason, "muted")
        )
        head = row(
            Span(f"{key} ", "key", action),
            Span(left(ENGINE_NAMES[item.engine], LABEL - 3), "muted", action),
            (mark, "bad"),
        )
        room = max(8, width - width_of(head))
        many = wrap(text, room)
        lines.append((*head, Span(many[0], role, action)))
        lines += [row(" " * width_of(head), Span(line, role, action)) for line in many[1:]]
    return lines


def _wrapped(text: str, width: int, role: str) -> list[Row]:
    return [row((line, role)) for line in wrap(text, width)]


def _note(note: str, width: int) -> list[Row]:
    return [
        row(("· " if not at else "  ", "faint"), (line, "muted"))
        for at, line in enumerate(wrap(note, width - 2))
    ]
