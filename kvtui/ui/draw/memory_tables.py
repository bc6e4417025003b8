"""The Memory pane's tables: what other heads and precisions cost, what fits at which context."""

from __future__ import annotations

from rich.cells import cell_len

from kvtui.language import tr
from kvtui.text import GIB, KIB, MIB, binary_size
from kvtui.ui.draw.sections import WIDE
from kvtui.ui.look.rows import Row, Span, clip, crop, left, right, row
from kvtui.ui.state import MemoryState


def variant_table(state: MemoryState, width: int) -> list[Row]:
    """A row for each number of KV heads, a column for each precision: what a sequence takes."""
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
    head = tr("{name} at {context:,}", name=name, context=state.context) if wide else name
    if cell_len(head) > first:
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


def ladder_says(state: MemoryState) -> bool:
    """The ladder is worth a row: the model itself takes one of its contexts."""
    return any(not rung.over_model for rung in state.ladder)


def ladder_table(state: MemoryState, width: int) -> list[Row]:
    """One row for each context: what a sequence takes, how many fit, whether those asked for do."""
    cell = min(14, (width - 8) // 3)
    first = width - 3 * cell
    lines = [
        row(
            (left(tr("context"), first), "muted"),
            *[(right(name, cell), "muted") for name in (tr("a sequence"), tr("most"), tr("fits"))],
        )
    ]
    for rung in state.ladder:
        size = binary_size(rung.sequence_bytes)
        if rung.over_model:
            glyph, role = tr("· too long"), "muted"
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


def ladder_row(state: MemoryState, width: int) -> Row:
    """Which contexts fit, in one row."""
    marks: list[tuple[str, str, str]] = []
    for rung in state.ladder:
        glyph, role = ("✓", "good") if rung.fits else ("✗", "bad")
        if rung.fits and rung.over_model:
            glyph, role = "·", "muted"
        marks.append((f"{rung.label} ", glyph, role))
    said = ""
    if any(glyph == "·" for _, glyph, _ in marks):
        said = f"  (· {tr('too long')})"
    used = sum(cell_len(label) + 1 for label, _, _ in marks)
    said = said if used + len(marks) - 1 + cell_len(said) <= width else ""
    used += cell_len(said)
    gap = Span(" " * min(4, max(1, (width - used) // max(1, len(marks) - 1))))
    spans: list[Span] = []
    for label, glyph, role in marks:
        spans += [Span(label, "muted"), Span(glyph, role), gap]
    return crop((*spans[:-1], Span(said, "muted")), width)
