"""The prompt line under the text: what Enter sends."""

from __future__ import annotations

from rich.cells import cell_len

from kvtui.language import tr
from kvtui.text import one_line
from kvtui.ui.look.rows import Row, Span, between, clip, row
from kvtui.ui.state import PromptForm


def prompt_rows(form: PromptForm, width: int, *, embedded: bool, paused: bool) -> list[Row]:
    """The rule (which says when the text is not followed), the prompt, its parameters."""
    rows: list[Row] = []
    if paused:
        note = f" ▼ {tr('not following · f returns')} "
        rows.append(
            row(
                ("──", "faint"),
                Span(note, "badge-accent", "screen.follow"),
                ("─" * max(0, width - cell_len(note) - 2), "faint"),
            )
        )
    else:
        rows.append((Span("─" * width, "faint"),))
    text = one_line(form.prompt, 400)
    shown = (
        (clip(text, width - 2), "text") if text else (tr("no prompt yet: e writes one"), "muted")
    )
    rows.append(row(("❯ ", "accent"), Span(*shown, "screen.edit")))
    rows.append(_parameters(form, width, embedded))
    return rows


def _parameters(form: PromptForm, width: int, embedded: bool) -> Row:
    limit = "auto" if form.max_tokens is None else str(form.max_tokens)
    temperature = "auto" if form.temperature is None else f"{form.temperature:g}"
    unique = (
        ""
        if form.repeats == 1
        else (tr(" same prompt") if form.same_prompt else tr(" unique prefix"))
    )
    repeats = f" · ×{form.repeats}" + (unique if width >= 60 else "")
    cache = ""
    if embedded:
        cache = f" · {tr('cache on')}" if form.kv_cache else ""
    off = f" · {tr('cache OFF')}" if embedded and not form.kv_cache else ""
    edit = "screen.edit"
    start = row(
        Span(tr("  max "), "muted", edit),
        Span(limit, "text", edit),
        Span(tr(" · temp "), "muted", edit),
        Span(temperature, "text", edit),
        Span(repeats, "muted", edit),
        Span(cache, "muted", "screen.cache"),
        Span(off, "warn", "screen.cache"),
    )
    system = tr("system set") if form.system else ""
    return between(start, row((system if width >= 60 else "", "muted")), width)
