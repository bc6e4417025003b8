"""The Experiments screen's rows: presets, what would be sent, how far a run is."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from kvtui.bench.work.labels import label_shown
from kvtui.language import counted, later, tr
from kvtui.text import UNKNOWN, clock_time, milliseconds, one_line, rate
from kvtui.ui.draw.bars import gauge
from kvtui.ui.experiments.form import Asked, sends
from kvtui.ui.look.rows import Row, Span, between, clip, crop, left, right, row, width_of, wrap

if TYPE_CHECKING:
    from kvtui.bench.running.presets import Preset
    from kvtui.ui.experiments.experiment import LiveState
    from kvtui.ui.experiments.knobs import Knob

_LABEL, _TAIL = 30, 28
"""Cells of what stands before and behind a bar: those of both rows begin and end alike."""
PHASES = {
    "running": ("◉", later("running"), "accent"),
    "paused": ("‖", later("paused"), "warn"),
    "stopping": ("■", later("stopping"), "warn"),
    "stopped": ("■", later("stopped"), "warn"),
    "done": ("●", later("done"), "good"),
    "lost": ("▲", later("lost"), "bad"),
}


def preset_rows(presets: Sequence[Preset], chosen: str, width: int, *, focused: bool) -> list[Row]:
    """A line for each preset; a click chooses it."""
    name_width = max(len(preset.name) for preset in presets) + 2
    lines: list[Row] = []
    for preset in presets:
        here = preset.name == chosen
        action = f"screen.choose('{preset.name}')"
        mark = "▸ " if here else "  "
        role = ("digits" if focused else "strong") if here else "text"
        lines.append(
            row(
                Span(mark, "accent", action),
                Span(left(preset.name, name_width), role, action),
                Span(
                    clip(tr(preset.about), width - name_width - 2),
                    "text" if here else "muted",
                    action,
                ),
            )
        )
    return lines


def asked_rows(asked: Asked, knob: Knob | None, where: str, width: int, height: int) -> list[Row]:
    """What is wrong, else what the field with the cursor means; then what would be sent."""
    lines: list[Row] = []
    for name, sentence in asked.problems:
        del name
        for at, line in enumerate(wrap(sentence, width - 2)):
            lines.append(row(("▲ " if not at else "  ", "bad"), (line, "warn")))
    if knob is not None and not asked.problem(knob.name):
        default = asked.fields.defaults.get(knob.name)
        empty = tr(" Empty: {default}.", default=default) if default else ""
        lines += [row((line, "muted")) for line in wrap(f"{tr(knob.hint)}{empty}", width)]
    if asked.extent is None:
        return lines[:height]
    told: list[Row] = []
    for at, line in enumerate(wrap(f"{sends(asked.extent)}", width - 7)):
        told.append(row((left(tr("sends"), 7) if not at else " " * 7, "muted"), (line, "strong")))
    told.append(row((left(tr("to"), 7), "muted"), (clip(where, width - 7), "text")))
    notes = asked.notes
    room = height - len(lines) - len(told)
    for at, note in enumerate(notes):
        wrapped = wrap(note, width - 2)
        more = len(notes) - at
        if room < len(wrapped) + (1 if more > 1 else 0):
            if room > 0:
                told.append(
                    row(
                        (
                            tr("· {more} more notes", more=more)
                            if at
                            else "· " + clip(note, width - 2),
                            "muted",
                        )
                    )
                )
            break
        told += [
            row(("· " if not i else "  ", "faint"), (line, "muted"))
            for i, line in enumerate(wrapped)
        ]
        room -= len(wrapped)
    return [*lines, *told][:height]


def progress_rows(live: LiveState, width: int) -> list[Row]:
    """Level by level and the whole, each with a bar; then the figures now."""
    progress = live.progress
    if progress is None:
        return []
    glyph, word, role = PHASES[live.phase]
    word = tr(word)
    return [
        _whole_row(live, width, (f"{glyph} {word}", role)),
        _level_row(live, width),
        _now_row(live, width),
    ]


def _bar_row(label: Row, done: float, total: float, tail: str, width: int, role: str) -> Row:
    space = max(14, min(_LABEL, width - _TAIL - 8))
    room = max(4, width - space - _TAIL - 4)
    bar = gauge(done, total, room, role=role)
    head = crop(label, space)
    pad = Span(" " * (space - width_of(head) + 2))
    return between((*head, pad, *bar), row((tail, "text")), width)


def _whole_row(live: LiveState, width: int, state: tuple[str, str]) -> Row:
    progress = live.progress
    assert progress is not None
    stage = progress.stage + (progress.done / progress.wanted if progress.wanted else 0.0)
    done = float(progress.stages) if live.phase == "done" else min(stage, progress.stages)
    tail = tr("{time} gone", time=clock_time(progress.elapsed_s))
    if live.running and progress.left_s is not None:
        tail += tr(", about {time} left", time=clock_time(progress.left_s))
    elif live.running:
        tail += tr(", time left —")
    label = row(
        (left(state[0], 11), state[1]),
        (
            tr(
                " level {number} of {stages}",
                number=min(progress.stage + 1, progress.stages),
                stages=progress.stages,
            ),
            "text",
        ),
    )
    return _bar_row(label, done, progress.stages, tail, width, "accent")


def _level_row(live: LiveState, width: int) -> Row:
    progress = live.progress
    assert progress is not None
    wanted = progress.wanted
    of = tr("{done} of ", done=f"{progress.done:,}") if wanted else ""
    count = of + counted(wanted or progress.done, later("{n} request"), later("{n} requests"))
    words = tr("getting ready") if live.preparing else one_line(label_shown(progress.label), 60)
    label = row((words, "strong"))
    return _bar_row(label, progress.done, wanted or max(1, progress.done), count, width, "used")


def _now_row(live: LiveState, width: int) -> Row:
    progress = live.progress
    assert progress is not None
    failed = progress.failed
    share = UNKNOWN if live.cpu_share is None else f"{100 * live.cpu_share:.0f} %"
    lag = milliseconds(live.lag_ms)
    parts = [
        row(("TTFT ", "muted"), (right(milliseconds(live.ttft_ms), 8), "strong")),
        row(("TPOT ", "muted"), (right(milliseconds(live.tpot_ms), 8), "strong")),
        row((tr("now "), "muted"), (right(rate(live.tps), 6), "strong"), (" tok/s", "muted")),
        row((tr("{in_flight} in flight", in_flight=progress.in_flight), "text")),
        row(
            (
                tr("▲ {failed} failed", failed=failed) if failed else tr("0 failed"),
                "bad" if failed else "muted",
            )
        ),
        row(
            (
                tr("▲ client-bound ") if live.client_bound else tr("client "),
                "bad" if live.client_bound else "muted",
            ),
            (tr("lag {lag}, {share} of a core", lag=lag, share=share), "text"),
        ),
    ]
    line: list[Span] = []
    for part in parts:
        if width_of(tuple(line)) + width_of(part) + 3 > width:
            break
        line += [*([Span("   ")] if line else []), *part]
    return tuple(line)


def note_rows(notes: Sequence[str], width: int) -> list[Row]:
    """What the run has to say meanwhile."""
    if not notes:
        return [row((tr("what the figures say comes when the run is over"), "muted"))]
    lines: list[Row] = []
    for note in notes:
        for at, line in enumerate(wrap(note, max(10, width - 2))):
            lines.append(row(("· " if not at else "  ", "faint"), (line, "muted")))
    return lines


def mark_of(live: LiveState, preset: str) -> str:
    """A run in a word or two, for the main screen's header."""
    progress = live.progress
    if progress is None or not progress.stages:
        return preset
    part = progress.done / progress.wanted if progress.wanted else 0.0
    share = min(1.0, (progress.stage + part) / progress.stages)
    word = "" if live.phase == "running" else f" {tr(live.phase)}"
    return f"{preset} {100 * share:.0f} %{word}"
