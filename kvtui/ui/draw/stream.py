"""The Stream pane above its text: phase, large rate, figures, sparkline."""

from __future__ import annotations

from dataclasses import replace

from rich.cells import cell_len

from kvtui.language import later, tr
from kvtui.text import UNKNOWN, count, milliseconds, rate
from kvtui.ui.draw.bars import gauge
from kvtui.ui.draw.digits import HEIGHT, big
from kvtui.ui.draw.spark import sparkline
from kvtui.ui.look.rows import BLANK, Row, Span, beside, between, crop, left, right, row, width_of
from kvtui.ui.state import StreamState

WIDE = 70
"""Inner width from which the roomier layout is used."""
ROOMY_HEIGHT = 9
LEAST_BAR = 6
_DIGITS, _ROOMY_DIGITS = 13, 15
"""Cells of the rate: three digits and a point, four digits."""

_SOURCES = {
    "usage": "usage",
    "continuous": later("usage, live"),
    "token_ids": later("token ids"),
    "timings": "timings",
    "estimate": later("estimate"),
    "none": UNKNOWN,
}
_STEPS = ("connect", "prefill", "decode")
_SHORT_STEPS = ("conn", "prefill", "decode")
_STEP_OF_PHASE = {
    "idle": -1,
    "connecting": 0,
    "sending": 1,
    "prefill": 1,
    "decode": 2,
}


def figures(state: StreamState, width: int, height: int) -> list[Row]:
    """All rows above the text for this size."""
    if width >= WIDE and height >= ROOMY_HEIGHT:
        return [
            phase_bar(state, width),
            BLANK,
            *_grid(state, width, roomy=True),
            _compared(state, width),
            spark_row(state, width),
            _rule_or_median(state, width),
        ]
    return [
        phase_bar(state, width),
        *_grid(state, width, roomy=False),
        spark_row(state, width),
        _rule_or_median(state, width),
    ][:height]


def phase_bar(state: StreamState, width: int) -> Row:
    """``● connect 0.6 ms ──● prefill 41.3 ms ──◉ decode 1.94 s``, with the end of the request."""
    snapshot = state.snapshot
    phase = snapshot.phase
    current = _STEP_OF_PHASE.get(phase, 3 if phase == "done" else _reached(state))
    roomy = width >= WIDE
    times = (
        _connect_time(snapshot.connect_ms) if roomy else "",
        _time(snapshot.prefill_ms, roomy),
        _time(None if snapshot.decode_s is None else snapshot.decode_s * 1000, roomy),
    )
    joint = " ── " if roomy else " ─"
    missing = "─" * (_TIME + 3)  # no time yet: the line takes its place, and nothing moves later
    names = _STEPS if roomy else _SHORT_STEPS
    spans: list[Span] = []
    for index, (name, time) in enumerate(zip(names, times, strict=True)):
        if index:
            line = joint if times[index - 1] or not roomy else f" {missing} "
            spans.append(Span(line, "faint" if index > current else "muted"))
        glyph, role = _step(index, current, phase)
        spans.append(Span(f"{glyph} ", role))
        spans.append(Span(tr(name), "muted" if index > current else "text"))
        if time:
            spans.append(Span(" " + time, "muted" if index > current else "strong"))
        if index == 1 and phase == "prefill" and snapshot.prefill_total:
            break  # its progress takes the place of what is still to come
    end = _end_mark(state, roomy)
    room = width - width_of(tuple(spans)) - 1
    if width_of(end) > room and state.repeats > 1:  # which run it was gives way, no figure does
        end = _end_mark(replace(state, repeats=1), roomy)
    if width_of(end) > room:
        end = _end_mark(replace(state, repeats=1), roomy=False)
    if width_of(end) > room:
        end = tuple(span._replace(text=span.text[:1]) for span in end[:1])  # its glyph says it
    spans += _progress(state, width - width_of(tuple(spans)) - width_of(end) - (2 if end else 0))
    return between(crop(tuple(spans), width), end, width)


def _progress(state: StreamState, room: int) -> Row:
    """How far the step is: prompt tokens of all, as the server reports them; tokens of the most."""
    snapshot = state.snapshot
    if snapshot.phase == "prefill" and snapshot.prefill_total:
        done, total = snapshot.prefill_done or 0, snapshot.prefill_total
        figures = f"{right(f'{done:,}', len(f'{total:,}'))} / {total:,}"
        figures += " tokens" if room >= 40 else ""
        bar = room - len(figures) - 2
        if bar < LEAST_BAR:
            figures = right(f"{done / total:.0%}", 4)
            bar = room - len(figures) - 2
        if bar < LEAST_BAR:
            return (Span(" " + figures, "strong"),)
        return (Span(" "), *gauge(done, total, bar), Span(" " + figures, "strong"))
    if snapshot.phase == "decode" and state.max_tokens and room > LEAST_BAR:
        bar = min(room - 2, 24)
        return (Span("  "), *gauge(snapshot.tokens or 0, state.max_tokens, bar))
    return ()


def _reached(state: StreamState) -> int:
    """The step in which a stopped or failed request ended."""
    snapshot = state.snapshot
    if snapshot.ttft_ms is not None:
        return 2
    return 1 if snapshot.connect_ms is not None else 0


def _step(index: int, current: int, phase: str) -> tuple[str, str]:
    if index < current:
        return "●", "good"
    if index > current:
        return "○", "faint"
    if phase == "failed":
        return "✕", "bad"
    if phase == "stopped":
        return "■", "warn"
    return "◉", "accent"


_TIME = 7
"""Cells of a duration."""


def _time(value: float | None, roomy: bool) -> str:
    if value is None:
        return ""
    return right(milliseconds(value), _TIME) if roomy else _short(value)


def _connect_time(value: float | None) -> str:
    """The connection's set-up; one that was there already had none."""
    return right(tr("reused"), _TIME) if value == 0 else _time(value, roomy=True)


def _short(value: float) -> str:
    """A duration in at most six cells that does not change its width too often."""
    return right(milliseconds(value).replace(" ", ""), 6)


def _end_mark(state: StreamState, roomy: bool) -> Row:
    phase = state.snapshot.phase
    run = (
        tr("run {run}/{repeats}", run=state.run, repeats=state.repeats)
        if state.repeats > 1 and state.run
        else ""
    )
    if phase == "done":
        if state.outcome and state.outcome != "ok":
            label = state.outcome.replace("_", " ") if roomy else "cut"
            mark = row(("✂ ", "good"), (tr(label), "muted"))  # an end like any other: no alarm
            return row((run + "  " if run and roomy else "", "muted"), *mark)
        return row(
            (run + "  " if run and roomy else "", "muted"),
            (f"✓ {tr('done')}" if roomy else "✓", "good"),
        )
    if phase == "stopped":
        return row((f"■ {tr('stopped')}" if roomy else "■", "warn"))
    if phase == "failed":
        return row((f"▲ {tr('failed')}" if roomy else "▲", "bad"))
    return row((run if roomy else run.removeprefix(tr("run ")), "muted"))


def big_rate(state: StreamState, *, roomy: bool) -> tuple[str, str]:
    """The figure and its unit; nothing but a dash where no rate is honest."""
    snapshot = state.snapshot
    value = snapshot.running_tps if state.running else snapshot.decode_tps
    if value is None:
        return UNKNOWN, "tok/s"
    if value >= (9_999.5 if roomy else 999.5):
        return rate(value / 1000), "ktok/s"
    return rate(value).replace(",", ""), "tok/s"


def _grid(state: StreamState, width: int, *, roomy: bool) -> list[Row]:
    snapshot = state.snapshot
    figure, unit = big_rate(state, roomy=roomy)
    digits = big(figure, _ROOMY_DIGITS if roomy else _DIGITS)
    mark = "~" if state.running and snapshot.running_tps_estimated else ""
    when = ""
    if state.running or snapshot.decode_tps is not None:
        when = tr("now") if state.running else tr("decode")
    if not roomy and width < WIDE:
        first = _column(_left_figures(state, short=True)[:3], 5, 7)
        rest = width - _DIGITS - 2 - 13 - 2
        second = [_fitting(name, forms, rest) for name, *forms in _short_figures(state)]
        return beside([(digits, _DIGITS), ([], 2), (first, 13), ([], 2), (second, rest)], HEIGHT)
    if not roomy:  # wide and low: a pane zoomed at 80x24
        times = _column(_left_figures(state)[:3], 8, 10)
        tokens, counted, _, finish = _right_figures(state)
        counts = _column([tokens, counted, finish], 8, 15)
        return beside([(digits, _DIGITS), ([], 3), (times, 19), ([], 4), (counts, 24)], HEIGHT)
    digits.append(row((right(f"{mark}{unit} {when}".rstrip(), _ROOMY_DIGITS), "muted")))
    blocks: list[tuple[list[Row], int]] = [([], 1), (digits, _ROOMY_DIGITS), ([], 4)]
    blocks += [(_column(_left_figures(state), 8, 10), 19), ([], 4)]
    blocks += [(_column(_right_figures(state), 8, 15), 24), ([], 4)]
    if width >= 96:
        blocks.append((_column(_extra_figures(state), 9, 10), 20))
    return beside(blocks, HEIGHT + 1)


def _column(pairs: list[tuple[str, str]], label: int, value: int) -> list[Row]:
    return [
        row(
            (left(tr(name), label), "muted"),
            " ",
            (right(text, value), "muted" if text == UNKNOWN else "strong"),
        )
        for name, text in pairs
    ]


def _left_figures(state: StreamState, *, short: bool = False) -> list[tuple[str, str]]:
    snapshot = state.snapshot
    per_chunk = snapshot.tokens_per_chunk
    return [
        ("TTFT", milliseconds(snapshot.ttft_ms)),
        ("TPOT", milliseconds(snapshot.tpot_ms)),
        ("ITL99" if short else "ITL p99", milliseconds(snapshot.itl_p99_ms)),
        ("chunks", UNKNOWN if per_chunk is None else f"{per_chunk:.1f} tok"),
    ]


def _fitting(name: str, forms: list[str], width: int) -> Row:
    """A figure under its name: the first form that has room, else the figure without its name."""
    name = tr(name)
    room = width - width_of(row(name)) - 1
    text = next((form for form in forms if width_of(row(form)) <= room), "")
    if not text:
        name, text = "", forms[-1]
    return between(
        row((name, "muted")), row((text, "muted" if text == UNKNOWN else "strong")), width
    )


def _short_figures(state: StreamState) -> list[tuple[str, ...]]:
    """Name and forms of each, the longest first."""
    snapshot = state.snapshot
    tokens = [_tokens(state, "/"), _tokens(state, None)]
    source = tr(_SOURCES.get(snapshot.token_source, UNKNOWN))
    live = (tr("live"),) if snapshot.token_source == "continuous" else ()
    return [
        ("tokens", *tokens),
        ("counted", tr(source), *live),
        ("finish", snapshot.finish_reason or UNKNOWN),
    ]


def _tokens(state: StreamState, of: str | None) -> str:
    """How many came, of how many at most."""
    snapshot = state.snapshot
    if snapshot.tokens is None:
        return UNKNOWN
    limit = "" if of is None or state.max_tokens is None else f"{of}{state.max_tokens}"
    return f"{'~' if snapshot.token_source == 'estimate' else ''}{snapshot.tokens}{limit}"


def _right_figures(state: StreamState) -> list[tuple[str, str]]:
    snapshot = state.snapshot
    tokens = _tokens(state, " / ")
    finish = snapshot.finish_reason or UNKNOWN
    source = tr(_SOURCES.get(snapshot.token_source, UNKNOWN))
    prompt = count(snapshot.prompt_tokens)
    if snapshot.cached_prompt_tokens is not None:
        prompt += " (" + tr("{n} cached", n=f"{snapshot.cached_prompt_tokens:,}") + ")"
    return [("tokens", tokens), ("counted", source), ("prompt", prompt), ("finish", finish)]


def _extra_figures(state: StreamState) -> list[tuple[str, str]]:
    snapshot = state.snapshot
    return [
        ("decode", UNKNOWN if snapshot.decode_tps is None else f"{rate(snapshot.decode_tps)}/s"),
        ("TTFA", milliseconds(snapshot.ttfa_ms)),
        ("ITL p50", milliseconds(snapshot.itl_p50_ms)),
        ("own lag", milliseconds(snapshot.loop_lag_ms)),
    ]


def spark_row(state: StreamState, width: int) -> Row:
    """The rate over the request, from zero, with min, max and now."""
    if not any(tps for _, tps in state.series):
        return row(("▁" * min(24, width // 2), "faint"), ("  " + tr("tokens per second"), "muted"))
    series = [tps for _, tps in state.series]
    start = next(at for at, tps in enumerate(series) if tps)
    series = series[start:]  # before the second stamp there is no rate, which is not a slow one
    if state.running and state.snapshot.running_tps is not None:
        series.append(state.snapshot.running_tps)  # one "now", here and in the large figures
    low, high, now = min(series), max(series), series[-1]
    now_word = tr("now") if state.running else tr("last")
    if width >= WIDE:
        said = row(
            (f"{tr('min')} ", "muted"),
            (rate(low), "text"),
            (f"  {tr('max')} ", "muted"),
            (rate(high), "text"),
            (f"  {now_word} ", "muted"),
            (right(rate(now), min(5, len(rate(high)))), "strong"),
        )
        field = (
            width_of(row(tr("min"), tr("max"), max(tr("now"), tr("last"), key=cell_len)))
            + 3
            + 4
            + 3 * 5
        )
        legend = (Span(" " * (2 + max(0, field - width_of(said)))), *said)
    else:
        legend = row(
            (right(rate(low), 6), "muted"),
            ("…", "muted"),
            (left(rate(high), 5), "muted"),
            (
                f" {'~' if state.running and state.snapshot.running_tps_estimated else ''}tok/s",
                "muted",
            ),
        )
    line = sparkline(series, width - width_of(legend), high)
    return between(row((line, "used")), legend, width, gap=0)


def _compared(state: StreamState, width: int) -> Row:
    """``cache off 4.1 tok/s · on 55.2 tok/s (13×)``, once both were measured."""
    both = state.compared
    if both is None:
        return BLANK
    ratio = both.on_tps / both.off_tps
    times = f"{ratio:.0f}×" if ratio >= 9.95 else f"{ratio:.1f}×"
    unit = " tok/s" if width >= WIDE - 4 else ""
    said = row(
        (tr("cache off") + " ", "muted"),
        (f"{rate(both.off_tps)}{unit}", "text"),
        (f" · {tr('on')} ", "muted"),
        (f"{rate(both.on_tps)} tok/s", "strong"),
        (f" ({times})", "muted"),
    )
    stretch = row((tr(", both to token {n}", n=count(both.tokens)), "muted"))
    whole = (*said, *stretch)
    return whole if width_of(whole) <= width else crop(said, width)


def _rule_or_median(state: StreamState, width: int) -> Row:
    median = state.median
    if median is None:
        compared = _compared(state, width - 4) if width < WIDE else BLANK
        if compared:
            start = row(("── ", "faint"), *compared, " ")
            return (*start, Span("─" * (width - width_of(start)), "faint"))
        return (Span("─" * width, "faint"),)
    spread = (
        f" ({rate(median.tps_low)}…{rate(median.tps_high)})"
        if median.tps_low is not None and median.n > 1
        else ""
    )
    text = row(
        ("── ", "faint"),
        (tr("median of {n}", n=median.n) + "  ", "muted"),
        (f"{rate(median.decode_tps)} tok/s", "strong"),
        (f"{spread} ", "muted"),
    )
    for name, value in (("TTFT", median.ttft_ms), ("TPOT", median.tpot_ms)):
        more = row((f" {name} ", "muted"), (f"{milliseconds(value)} ", "strong"))
        if width_of(text) + width_of(more) > width:
            break  # a figure is shown whole or not at all
        text = (*text, *more)
    text = crop(text, width)
    return (*text, Span("─" * (width - width_of(text)), "faint"))
