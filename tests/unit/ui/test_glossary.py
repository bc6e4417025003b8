"""Every label of the panes has its sentence, and every sentence a label that is drawn."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import pairwise

import pytest

from kvtui import language
from kvtui.language import tr
from kvtui.measure.figures import Snapshot
from kvtui.ui.draw.glossary import FIGURES, MEMORY, explained
from kvtui.ui.draw.memory import memory_rows
from kvtui.ui.draw.stream import figures
from kvtui.ui.look.rows import Row, plain, width_of
from kvtui.ui.state import BarPart, MemoryState, ServerKV, StreamState, VariantRow

GIB = 1 << 30
SERVER = ServerKV(share=0.25, tokens_used=100, tokens_total=400, source="m", running=1, waiting=0)
PARTS = tuple(
    BarPart(name, size * GIB, role, "█")
    for name, size, role in (
        ("weights", 14, "weights"), ("overhead", 1, "overhead"), ("KV in use", 1, "used"),
        ("KV free", 6, "free"), ("unused", 2, "outside"),
    )
)  # fmt: skip
MEMORIES = [
    MemoryState(
        ready=True, model="m", parts=PARTS, card_bytes=24 * GIB, server=SERVER,
        constant_bytes=1 << 20, live_tokens=5, reserved_tokens=50, free_tokens=9, context=50,
        variants=tuple(VariantRow(name, heads, (1, 2)) for name, heads in
                       (("MHA", 8), ("GQA", 2), ("MQA", 1))),
    )
]  # fmt: skip
MEMORIES += [
    replace(MEMORIES[0], server=replace(SERVER, stale=True), as_if=True, users=2),
    replace(MEMORIES[0], card_bytes=8 * GIB),
]
SNAPSHOT = Snapshot(
    phase="done", connect_ms=1.0, prefill_ms=9.0, decode_s=2.0, decode_tps=64.0, ttft_ms=9.0,
    tpot_ms=4.6, itl_p99_ms=20.0, itl_p50_ms=4.0, tokens=9, token_source="usage",
    prompt_tokens=3, finish_reason="stop", running_tps=60.0, loop_lag_ms=0.1, ttfa_ms=10.0,
    tokens_per_chunk=1.0,
)  # fmt: skip
STREAMS = [
    StreamState(replace(SNAPSHOT, phase=phase), series=((1.0, 60.0), (2.0, 80.0)))
    for phase in ("done", "decode")
]
WIDTHS = (36, 44, 60, 76, 100, 140)


def drawn(pane: str) -> Iterator[Row]:
    for width in WIDTHS:
        if pane == "memory":
            for memory in MEMORIES:
                yield from memory_rows(memory, width, 60)
        else:
            for stream in STREAMS:
                yield from figures(stream, width, 6)
                yield from figures(stream, width, 20)


def labels(line: Row) -> Iterator[tuple[int, str]]:
    """The muted words before a figure, and the cell where each begins."""
    spans = [span for span in line if span.text.strip()]
    cell, starts = 0, {}
    for span in line:
        starts[id(span)] = cell + len(span.text) - len(span.text.lstrip())
        cell += width_of((span,))
    for span, after in pairwise(spans):
        word = span.text.strip()
        told = after.role == "strong" and re.search(r"\d|—", after.text)
        if told and span.role in ("muted", "text") and re.match(r"[^\W\d]{3}", word):
            yield starts[id(span)], word


def found(name: str, text: str) -> bool:
    return re.search(rf"(?<!\w){re.escape(name)}(?!\w)", text, re.ASCII) is not None


@pytest.fixture(params=["en", "zh"])
def code(request: pytest.FixtureRequest) -> Iterator[str]:
    language.use(request.param)
    yield request.param
    language.use("en")


@pytest.mark.parametrize(("pane", "glossary"), [("memory", MEMORY), ("stream", FIGURES)])
def test_a_name_that_is_drawn_nowhere_is_in_no_glossary(
    pane: str, glossary: Mapping[str, str], code: str
) -> None:
    text = "\n".join(plain(line) for line in drawn(pane))
    lost = [name for name in glossary if not found(tr(name), text)]
    assert lost == [], code


@pytest.mark.parametrize(("pane", "glossary"), [("memory", MEMORY), ("stream", FIGURES)])
def test_no_label_before_a_figure_is_without_its_sentence(
    pane: str, glossary: Mapping[str, str], code: str
) -> None:
    dumb = {
        word
        for line in drawn(pane)
        for cell, word in labels(line)
        if not explained(plain(line), cell, glossary)
    }
    assert dumb == set(), code


def test_the_longest_name_at_a_place_is_the_one_that_is_meant() -> None:
    assert explained("server said  1 MiB", 1, MEMORY) == MEMORY["server said"]
    assert MEMORY["server said"] != MEMORY["server"]
