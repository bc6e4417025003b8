"""Every figure's formula with its numbers filled in, as a text to read and copy."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kvtui.language import later, retold, tr
from kvtui.text import UNKNOWN, milliseconds, rate

if TYPE_CHECKING:
    from kvtui.measure.figures import RunFigures
    from kvtui.ui.state import MemoryState, StreamState

_OPENINGS = (later("end-to-end TPS = {rest}"),)
_NAMES = {
    "ttft_ms": "TTFT",
    "ttfa_ms": "TTFA",
    "tpot_ms": "TPOT",
    "decode_tps": later("decode TPS"),
    "e2e_ms": later("end to end"),
    "e2e_tps": later("end-to-end TPS"),
}


def formulas_text(
    stream: StreamState, figures: RunFigures | None, memory: MemoryState | None
) -> str:
    """Of the latest run, finished or under way, and of the memory shown.

    Args:
        stream: The run as the pane shows it.
        figures: Its figures when it is done; None while it runs, or before the first.
        memory: What the Memory pane shows.
    """
    parts: list[str] = []
    if figures is not None:
        parts.append(tr("The latest run"))
        for name, label in _NAMES.items():
            told = retold(figures.formulas.get(name, ""), _OPENINGS)
            parts.append(f"  {told or f'{tr(label)} = {UNKNOWN}'}")
        parts.append(f"  {_count(stream)}")
    elif stream.running:
        parts += [tr("The run under way"), *(f"  {line}" for line in _live(stream))]
    else:
        parts.append(tr("No run yet: the times of the next one stand here, each with its formula."))
    parts.append(_gaps(stream))
    if memory is not None and memory.formula:
        parts += ["", tr("KV cache"), f"  {memory.formula}"]
    return "\n".join(part for part in parts if part is not None)


def _live(stream: StreamState) -> list[str]:
    snapshot = stream.snapshot
    lines = []
    if snapshot.ttft_ms is None:
        lines.append(
            tr(
                "TTFT = t_first − t_send: {time} and counting",
                time=milliseconds(snapshot.prefill_ms),
            )
        )
    else:
        lines.append(f"TTFT = t_first − t_send = {milliseconds(snapshot.ttft_ms)}")
    guessed = tr(" (chunks × tokens per chunk until usage corrects it)")
    lines.append(
        tr("running TPS = tokens of the last 1.0 s / 1.0 s, to now = ")
        + (UNKNOWN if snapshot.running_tps is None else f"{rate(snapshot.running_tps)} tok/s")
        + (guessed if snapshot.running_tps_estimated else "")
    )
    if snapshot.tpot_ms is not None:
        lines.append(
            tr(
                "TPOT = (t_last − t_first) / (N − n_first) = {tpot_ms:.3f} ms so far",
                tpot_ms=snapshot.tpot_ms,
            )
        )
        lines.append(tr("TPS = 1 / TPOT = {tps:.2f} tok/s so far", tps=1000 / snapshot.tpot_ms))
    return [*lines, _count(stream)]


def _count(stream: StreamState) -> str:
    snapshot = stream.snapshot
    if snapshot.tokens is None:
        return f"N = {UNKNOWN}"
    return tr(
        "N = {tokens:,} tokens, counted by: {token_source}",
        tokens=snapshot.tokens,
        token_source=tr(snapshot.token_source),
    )


def _gaps(stream: StreamState) -> str:
    snapshot = stream.snapshot
    if snapshot.itl_p50_ms is None:
        return ""
    return tr(
        "  ITL = time from chunk to chunk, a read of k chunks counted as k: p50 {p50}, p99 {p99}",
        p50=milliseconds(snapshot.itl_p50_ms),
        p99=milliseconds(snapshot.itl_p99_ms),
    )
