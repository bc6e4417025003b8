"""The Memory pane: the card's bar, the live sequences, and what would fit."""

from __future__ import annotations

from rich.cells import cell_len

from kvtui.language import later, tr
from kvtui.text import UNKNOWN, binary_size, count
from kvtui.ui.draw.bars import gauge
from kvtui.ui.draw.memory_card import card_bar, card_legend, short_legend
from kvtui.ui.draw.memory_tables import ladder_row, ladder_says, ladder_table, variant_table
from kvtui.ui.draw.sections import (
    TWO_COLUMNS,
    WIDE,
    Section,
    column_width,
    fill,
    more_mark,
    two_columns,
)
from kvtui.ui.look.rows import BLANK, Row, between, clip, crop, right, row, wrap
from kvtui.ui.state import MemoryState, ServerKV


def memory_rows(state: MemoryState, width: int, height: int) -> list[Row]:
    """All rows of the pane for this size."""
    if not state.ready:
        return _empty(width)
    if state.problem:
        return [row((line, "warn")) for line in wrap(state.problem, width)]
    more = more_mark("2", "screen.zoom(2)")
    if width >= TWO_COLUMNS:
        column = column_width(width)
        head = [*_heading(state, width), BLANK]
        rest = height - len(head)
        asked = [*_in_use(state, column), Section(1, _fits(state, column))]
        others = [_variants(state, column), *_further(state, column)]
        at_left, at_right = (fill(_given(side), column, rest, more) for side in (asked, others))
        return head + two_columns(at_left, at_right, width, rest)
    parts = [
        Section(0, _heading(state, width), close=True),
        *_in_use(state, width),
        _variants(state, width),
        Section(1, _fits(state, width)),
        *_further(state, width),
    ]
    return fill(_given(parts), width, height, more)


def _given(sections: list[Section]) -> list[Section]:
    return [section for section in sections if section.rows]


def _in_use(state: MemoryState, width: int) -> list[Section]:
    """The card's parts, the live sequences, the server's own figure."""
    wide = width >= WIDE
    return [
        Section(
            2,
            card_legend(state, width),
            short_legend(state, width) if wide else None,
            close=not wide,
        ),
        Section(0, _sequence(state, width), close=state.server is not None),
        Section(
            2,
            _server(state.server, width) if state.server is not None else [],
            _server(state.server, width)[:1] if state.server is not None else None,
        ),
    ]


def _variants(state: MemoryState, width: int) -> Section:
    return Section(3, variant_table(state, width) if state.variants else [])


def _further(state: MemoryState, width: int) -> list[Section]:
    """What fits at which context, how it was worked out, what else is to be said."""
    ladder = width >= WIDE and ladder_says(state)
    return [
        *([_ladder_section(state, width)] if ladder else []),
        Section(5, _formula(state, width)),
        Section(6, _notes(state, width)),
    ]


def _title(state: MemoryState, width: int) -> list[Row]:
    kv = f"KV {state.kv_dtype}"
    times = f" × {state.users}" if state.users > 1 else ""
    if state.as_if:
        if width < WIDE:
            users = f" × {state.users}"
            name = clip(state.model, width - cell_len(tr("as if ")) - len(users))
            return [row((tr("as if "), "warn"), (name, "strong"), (users, "strong"))]
        users = " × " + (tr("1 user") if state.users == 1 else tr("{n} users", n=state.users))
        taken = cell_len(tr("as if ")) + 1 + cell_len(users) + len(kv) + 1
        weights = f" {state.weights}"
        if len(state.model) + len(weights) + taken > width:
            weights = ""
        name = clip(state.model, max(8, width - taken))
        return [
            between(
                row(
                    (tr("as if "), "warn"), (name, "strong"), (weights, "muted"), (users, "strong")
                ),
                row((kv, "muted")),
                width,
            )
        ]
    detail = " · ".join(part for part in (kv, state.engine) if part)
    weights = f" {state.weights}" if state.weights and width >= WIDE else ""
    name = clip(state.model, max(8, width - len(detail) - len(weights) - len(times) - 1))
    start = row((name, "strong"), (weights, "muted"), (times, "strong"))
    return [between(start, row((detail, "muted")), width)]


def _heading(state: MemoryState, width: int) -> list[Row]:
    return [*_title(state, width), *_example(state, width), *card_bar(state, width)]


def _example(state: MemoryState, width: int) -> list[Row]:
    return [row((line, "warn")) for line in wrap(state.example, width)] if state.example else []


def _sequence(state: MemoryState, width: int) -> list[Row]:
    name = (tr("sequence") if width >= WIDE else tr("seq")) + " "
    if state.users > 1:
        name = f"{state.users} {tr('seq')} "
    if state.cache_off:
        return [
            row(
                (name, "muted"),
                (clip(tr("cache off: nothing kept"), width - cell_len(name)), "warn"),
            )
        ]
    live, most = f"{state.live_tokens:,}", f"{state.reserved_tokens:,}"
    over = state.live_tokens > state.reserved_tokens
    role = "warn" if over else "strong"
    live = f"▲ {live}" if over else live
    room = width - cell_len(name)
    for of in (" / ", "/"):  # as wide as it gets, so that the bar keeps its length
        field = max(len(live), len(most) + 2 * over) + len(of) + len(most) + 1
        if room - field >= _LEAST_BAR:
            bar = gauge(state.live_tokens, state.reserved_tokens, room - field)
            return [row((name, "muted"), *bar, (right(f"{live}{of}{most}", field), role))]
    return [between(row((name, "muted")), row((f"{live} / {most}", role)), width)]


_LEAST_BAR = 4


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
    name = tr("server said") if server.stale else tr("server now")
    name = (name if wide else tr("server")) + " "
    role = "muted" if server.stale else "strong"
    head = row((name, "muted"), (first, role))
    head = between(head, row((end, role)), width)
    source = clip(server.source if wide else "", width)
    room = width - cell_len(source) - 1
    return [head, between(row((source, "muted")), row((_work(server, room), "muted")), width)]


def _work(server: ServerKV, room: int) -> str:
    """How many sequences run and wait, as long as there is room; none waiting goes first."""
    running, waiting = server.running, server.waiting
    if running is None:
        return ""
    forms = [tr("{running} running", running=running), tr("{running} run", running=running)]
    if waiting is not None:
        forms = [
            tr("{running} running · {waiting} waiting", running=running, waiting=waiting),
            tr("{running} run · {waiting} wait", running=running, waiting=waiting),
            *forms,
        ]
    return next((form for form in forms if cell_len(form) <= room), "")


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
    most = (
        UNKNOWN
        if state.max_requests is None
        else f"{state.max_requests:,} × {state.context:,}" + (" tok" if width >= WIDE else "")
    )
    kept = f" ({state.kv_dtype})" if width < WIDE else ""
    rows = [
        between(row((tr("per token"), "muted"), (kept, "muted")), row((token, "strong")), width)
    ]
    if constant and width >= WIDE:
        rows.append(
            between(
                row((tr("constant per sequence"), "muted")),
                row((binary_size(constant), "strong")),
                width,
            )
        )
    limit = (
        tr(" (model {model_context:,})", model_context=state.model_context)
        if beyond and width >= WIDE
        else ""
    )
    rows.append(
        between(
            row(
                (tr("longest"), "muted"),
                (limit, "muted"),
            ),
            row((longest, "strong")),
            width,
        )
    )
    role = "strong" if state.max_requests else "bad"
    rows.append(between(row((tr("most at once"), "muted")), row((most, role)), width))
    if state.model_context is not None and state.context > state.model_context:
        limit = tr("model's limit {model_context:,}", model_context=state.model_context)
        long = f"▲ {state.context:,}: {limit}"
        rows.append(crop(row((long if cell_len(long) <= width else f"▲ {limit}", "warn")), width))
    return rows


def _ladder_section(state: MemoryState, width: int) -> Section:
    return Section(4, ladder_table(state, width), [ladder_row(state, width)])


def _formula(state: MemoryState, width: int) -> list[Row]:
    return [row((line, "muted")) for line in wrap(state.formula, width)] if state.formula else []


def _notes(state: MemoryState, width: int) -> list[Row]:
    lines: list[Row] = []
    for note in state.notes:
        for index, text in enumerate(wrap(note, width - 2)):
            lines.append(row(("· " if not index else "  ", "faint"), (text, "muted")))
    return lines


def _empty(width: int) -> list[Row]:
    text = later(
        "What the KV cache costs on a card: weights, overhead, cache in use and free. "
        "g chooses the card, m the model."
    )
    return [row((line, "muted")) for line in wrap(tr(text), width)]
