"""The Memory pane: the card's bar, the live sequences, and what would fit."""

from __future__ import annotations

from dataclasses import dataclass

from rich.cells import cell_len

from kvtui.text import GIB, KIB, MIB, UNKNOWN, binary_size, count, gib
from kvtui.ui.draw.bars import gauge, segments
from kvtui.ui.rows import BLANK, Row, Span, between, clip, crop, left, right, row, wrap
from kvtui.ui.state import MemoryState, ServerKV

MORE_MARK = Span("more ▸ 2", "accent", "screen.zoom(2)")
WIDE = 36


@dataclass(frozen=True, slots=True)
class _Section:
    """Rows that belong together; lower ``rank`` stays longer when room is short."""

    rank: int
    rows: list[Row]
    instead: list[Row] | None = None
    """A shorter form."""
    close: bool = False
    """No blank row behind it."""


def memory_rows(state: MemoryState, width: int, height: int) -> list[Row]:
    """All rows of the pane for this size."""
    if not state.ready:
        return _empty(width)
    if state.problem:
        return [row((line, "warn")) for line in wrap(state.problem, width)]
    return _fill([part for part in _sections(state, width) if part.rows], width, height)


def _fill(sections: list[_Section], width: int, height: int) -> list[Row]:
    """Take sections by rank while they fit, spread spare rows between them, mark what is left."""
    rows = _choose(sections, height)
    lost = any(rows.get(index) is not part.rows for index, part in enumerate(sections))
    if lost:  # the mark needs a place of its own
        rows = _choose(sections, height - 1)
    spare = height - sum(map(len, rows.values())) - (1 if lost else 0)
    lines: list[Row] = []
    last = max(rows, default=0)
    for index in sorted(rows):
        lines += rows[index]
        if spare > 0 and index != last and not sections[index].close:
            lines.append(BLANK)
            spare -= 1
    if lost:
        lines += [BLANK] * (height - 1 - len(lines))
        lines.append(between(BLANK, (MORE_MARK,), width))
    return lines


def _choose(sections: list[_Section], height: int) -> dict[int, list[Row]]:
    chosen: dict[int, list[Row]] = {}
    order = sorted(range(len(sections)), key=lambda index: (sections[index].rank, index))
    for index in order:  # first a short form of everything that matters
        section = sections[index]
        for form in (section.instead or section.rows, section.instead):
            if form and sum(map(len, chosen.values())) + len(form) <= height:
                chosen[index] = form
                break
    for index in order:  # then the long form where room is left
        section = sections[index]
        if section.instead and index in chosen:
            others = sum(len(form) for key, form in chosen.items() if key != index)
            while others + len(section.rows) > height and (
                lesser := [key for key in chosen if sections[key].rank > section.rank]
            ):
                worst = max(lesser, key=lambda key: sections[key].rank)
                others -= len(chosen.pop(worst))
            if others + len(section.rows) <= height:
                chosen[index] = section.rows
    return chosen


def _sections(state: MemoryState, width: int) -> list[_Section]:
    wide = width >= WIDE
    return [
        _Section(0, _title(state, width), close=True),
        _Section(0, _bar(state, width), close=True),
        _Section(
            2,
            _legend(state, width),
            _short_legend(state, width) if wide else None,
            close=not wide,
        ),
        _Section(0, _sequence(state, width), close=state.server is not None),
        _Section(
            2,
            _server(state.server, width) if state.server is not None else [],
            _server(state.server, width)[:1] if state.server is not None else None,
        ),
        _Section(3, _variants(state, width) if state.variants else []),
        _Section(1, _fits(state, width)),
        *([_ladder_section(state, width)] if wide and _ladder_says(state) else []),
        _Section(5, _formula(state, width)),
        _Section(6, _notes(state, width)),
    ]


def _ladder_says(state: MemoryState) -> bool:
    """The ladder is worth a row: the model itself takes one of its contexts."""
    return any(not rung.over_model for rung in state.ladder)


def _title(state: MemoryState, width: int) -> list[Row]:
    kv = f"KV {state.kv_dtype}"
    times = f" × {state.users}" if state.users > 1 else ""
    if state.as_if:
        if width < WIDE:
            users = f" × {state.users}"
            name = clip(state.model, width - len("as if ") - len(users))
            return [row(("as if ", "warn"), (name, "strong"), (users, "strong"))]
        users = f" × {state.users} user{'s' if state.users != 1 else ''}"
        taken = len("as if  ") + len(users) + len(kv) + 1
        weights = f" {state.weights}"
        if len(state.model) + len(weights) + taken > width:
            weights = ""
        name = clip(state.model, max(8, width - taken))
        return [
            between(
                row(("as if ", "warn"), (name, "strong"), (weights, "muted"), (users, "strong")),
                row((kv, "muted")),
                width,
            )
        ]
    detail = " · ".join(part for part in (kv, state.engine) if part)
    weights = f" {state.weights}" if state.weights and width >= WIDE else ""
    name = clip(state.model, max(8, width - len(detail) - len(weights) - len(times) - 1))
    start = row((name, "strong"), (weights, "muted"), (times, "strong"))
    return [between(start, row((detail, "muted")), width)]


def _bar(state: MemoryState, width: int) -> list[Row]:
    parts = [(part.size, part.glyph, part.role) for part in state.parts]
    return [segments(parts, state.card_bytes, width)]


def _short_legend(state: MemoryState, width: int) -> list[Row]:
    used, free = state.used_bytes, _size_of(state, "free")
    if _missing(state):
        return [_misfit(state, width)]
    return [
        between(
            row(
                ("KV ", "muted"),
                (_amount(used), "strong"),
                (" of ", "muted"),
                (f"{gib(used + free)} GiB", "text"),
            ),
            BLANK,
            width,
        )
    ]


def _legend(state: MemoryState, width: int) -> list[Row]:
    if width < WIDE:
        return _short_legend(state, width)
    lines: list[Row] = []
    for part in state.parts:
        if not part.size and part.role in ("overhead", "outside"):
            continue
        note, role = part.note, "muted"
        if part.role == "used":
            note = f"{state.live_tokens:,} tok"
        elif part.role == "free":
            note = UNKNOWN if state.free_tokens is None else f"{state.free_tokens:,} tok"
        small = 0 < part.size < GIB // 100
        size = binary_size(part.size) if small else gib(part.size) + " GiB"
        lines.append(
            between(
                row(
                    (f"{part.glyph} ", part.role),
                    (left(part.name, 9), "text"),
                    " ",
                    (right(size, 12), "strong"),
                ),
                row((note, role)),
                width,
            )
        )
    if _missing(state):
        lines.append(_misfit(state, width))
    return lines


def _missing(state: MemoryState) -> int:
    return max(0, sum(part.size for part in state.parts) - state.card_bytes)


def _misfit(state: MemoryState, width: int) -> Row:
    text = f"✗ misses {binary_size(_missing(state))}"
    more = " of this card · g card, W weights" if width >= WIDE + 12 else " · g, W"
    return crop(row((text, "bad"), (more, "muted")), width)


def _size_of(state: MemoryState, role: str) -> int:
    return next((part.size for part in state.parts if part.role == role), 0)


def _amount(size: int) -> str:
    return binary_size(size) if size < GIB // 100 else f"{gib(size)} GiB"


def _sequence(state: MemoryState, width: int) -> list[Row]:
    name = "sequence " if width >= WIDE else "seq "
    if state.users > 1:
        name = f"{state.users} seq "
    if state.cache_off:
        return [row((name, "muted"), (clip("cache off: nothing kept", width - len(name)), "warn"))]
    figures = f" {state.live_tokens:,} / {state.reserved_tokens:,}"
    figures = right(figures, max(len(figures), 2 * len(f"{state.reserved_tokens:,}") + 4))
    bar = gauge(state.live_tokens, state.reserved_tokens, max(4, width - len(name) - len(figures)))
    over = state.live_tokens > state.reserved_tokens
    return [row((name, "muted"), *bar, (figures, "warn" if over else "strong"))]


def _server(server: ServerKV, width: int) -> list[Row]:
    """The server's own figure, then where it comes from and what it works on."""
    wide = width >= WIDE
    share = "" if server.share is None else f"{100 * server.share:.1f} %"
    size = "" if server.bytes_used is None else binary_size(server.bytes_used)
    used, total = server.tokens_used, server.tokens_total
    tokens = "" if used is None else f"{used:,}"
    if tokens and total is not None and wide:
        tokens += f" / {total:,}"
    first = (size or share) if wide else (share or size)
    end = f"{tokens} tok" if tokens else ""
    name = "server said " if server.stale else "server says "
    role = "muted" if server.stale else "strong"
    head = row((name if wide else name.split()[0] + " ", "muted"), (first, role))
    head = between(head, row((end, role)), width)
    source = clip(server.source if wide else "", width)
    room = width - cell_len(source) - 1
    return [head, between(row((source, "muted")), row((_work(server, room), "muted")), width)]


def _work(server: ServerKV, room: int) -> str:
    """How many sequences run and wait, as long as there is room; none waiting goes first."""
    running, waiting = server.running, server.waiting
    if running is None:
        return ""
    forms = [f"{running} running", f"{running} run"]
    if waiting is not None:
        forms = [
            f"{running} running · {waiting} waiting",
            f"{running} run · {waiting} wait",
            *forms,
        ]
    return next((form for form in forms if len(form) <= room), "")


def _fits(state: MemoryState, width: int) -> list[Row]:
    """Bytes per token, longest context, most requests: three rows, figures at the right."""
    token = f"{count(state.bytes_per_token)} B"
    constant = state.constant_bytes
    longest = UNKNOWN if state.max_context is None else f"{state.max_context:,} tok"
    beyond = (
        state.max_context is not None
        and state.model_context is not None
        and state.max_context > state.model_context
    )
    most = UNKNOWN if state.max_requests is None else f"{state.max_requests:,} × {state.context:,}"
    kept = f" ({state.kv_dtype})" if width < WIDE else ""
    rows = [between(row(("per token", "muted"), (kept, "muted")), row((token, "strong")), width)]
    if constant and width >= WIDE:
        rows.append(
            between(
                row(("constant per sequence", "muted")),
                row((binary_size(constant), "strong")),
                width,
            )
        )
    limit = f" (model {state.model_context:,})" if beyond and width >= WIDE else ""
    rows.append(
        between(row(("longest", "muted"), (limit, "muted")), row((longest, "strong")), width)
    )
    role = "strong" if state.max_requests else "bad"
    rows.append(between(row(("most at once", "muted")), row((most, role)), width))
    if state.model_context is not None and state.context > state.model_context:
        limit = f"model's limit {state.model_context:,}"
        long = f"▲ {state.context:,}: {limit}"
        rows.append(crop(row((long if len(long) <= width else f"▲ {limit}", "warn")), width))
    return rows


def _variants(state: MemoryState, width: int) -> list[Row]:
    largest = max(max(line.sizes) for line in state.variants)
    unit, name = (
        (GIB, "GiB")
        if largest >= GIB // 10
        else ((MIB, "MiB") if largest >= MIB // 10 else (KIB, "KiB"))
    )
    wide = width >= WIDE
    shown = _shown_columns(state, wide=wide)
    cell = max(6, min(8, (width - 12) // max(1, len(shown)))) if wide else 7
    first = width - cell * len(shown)
    head = f"{name} at {state.context:,}" if wide else name
    if len(head) > first:
        head = f"{name}, {state.context:,}"
    names = [_column_head(state.precisions[at], state.kv_dtype, cell) for at in shown]
    lines = [row((left(head, first), "muted"), *names)]
    for line in state.variants:
        heads = f" {line.kv_heads:>3}" if wide else ""
        label = f"{'▸' if line.own else ' '} {line.label}{heads}"
        role = "strong" if line.own else "text"
        lines.append(
            row(
                (left(label, first), "accent" if line.own else "muted"),
                *[(right(_figure(line.sizes[at] / unit), cell), role) for at in shown],
            )
        )
    return lines


def _column_head(name: str, used: str, cell: int) -> Span:
    """A precision's name; the one in force is marked."""
    if name == used:
        return Span(right("▸" + clip(name, cell - 1), cell), "accent")
    return Span(right(clip(name, cell - 1), cell), "muted")


def _shown_columns(state: MemoryState, *, wide: bool) -> list[int]:
    """Where four columns have no room, int8 or fp8 goes, whichever is not in force."""
    shown = list(range(len(state.precisions)))
    if not wide and len(shown) > 3:
        gone = next(
            (
                name
                for name in ("int8", "fp8")
                if name in state.precisions and name != state.kv_dtype
            ),
            "",
        )
        shown = [at for at in shown if state.precisions[at] != gone]
    return shown


def _figure(value: float) -> str:
    return f"{value:,.2f}" if value < 99.995 else f"{value:,.0f}"


def _ladder_section(state: MemoryState, width: int) -> _Section:
    return _Section(4, _long_ladder(state, width), [_ladder(state, width)])


def _long_ladder(state: MemoryState, width: int) -> list[Row]:
    """One row for each context: what a sequence takes, how many fit, whether those asked for do."""
    cell = min(14, (width - 8) // 3)
    first = width - 3 * cell
    lines = [
        row(
            (left("context", first), "muted"),
            *[(right(name, cell), "muted") for name in ("a sequence", "most", "fits")],
        )
    ]
    for rung in state.ladder:
        size = binary_size(rung.sequence_bytes)
        if rung.over_model:
            glyph, role = "· too long", "muted"
        else:
            glyph, role = ("✓", "good") if rung.fits else ("✗", "bad")
        lines.append(
            row(
                (left(rung.label, first), "muted"),
                (right(size, cell), "text"),
                (right(f"{rung.most:,}", cell), "text"),
                (right(glyph, cell), role),
            )
        )
    return lines


def _ladder(state: MemoryState, width: int) -> Row:
    spans: list[Span] = []
    each = width // max(1, len(state.ladder))
    for rung in state.ladder:
        glyph, role = ("✓", "good") if rung.fits else ("✗", "bad")
        if rung.fits and rung.over_model:
            glyph, role = "·", "muted"
        text = f"{rung.label} {glyph}"
        spans += [
            Span(text[:-1], "muted"),
            Span(text[-1], role),
            Span(" " * max(1, each - len(text))),
        ]
    return crop(tuple(spans[:-1]), width)


def _formula(state: MemoryState, width: int) -> list[Row]:
    return [row((line, "muted")) for line in wrap(state.formula, width)] if state.formula else []


def _notes(state: MemoryState, width: int) -> list[Row]:
    lines: list[Row] = []
    for note in state.notes:
        for index, text in enumerate(wrap(note, width - 2)):
            lines.append(row(("· " if not index else "  ", "faint"), (text, "muted")))
    return lines


def _empty(width: int) -> list[Row]:
    text = (
        "What the KV cache costs on a card: weights, overhead, cache in use and free. "
        "g chooses the card, m the model."
    )
    return [row((line, "muted")) for line in wrap(text, width)]
