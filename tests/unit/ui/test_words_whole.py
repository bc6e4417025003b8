"""Names, words and figures of lists and of the Errors pane are whole, or not there at all."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from rich.cells import cell_len

from kvtui import language
from kvtui.bench.records.entries import Entry
from kvtui.failure import Evidence, Verdict
from kvtui.ui.draw.errors import errors_rows
from kvtui.ui.draw.runs import entry_row, name_cells, recent_rows
from kvtui.ui.look.rows import clip_words, plain, width_of
from kvtui.ui.state import ErrorsState, Failure

CUT = Verdict("truncated", "max_tokens", "The answer was cut at max_tokens = 128.", fixes=())
WHEN = "2026-11-29T12:04:00.000Z"


def run(**fields: object) -> Entry:
    known: dict[str, object] = {
        "preset": "sweep", "endpoint": "embedded engine", "model": "kvtui-tiny",
        "finished": True, "requests": 3, "ttft_ms": 12.0, "tpot_ms": 4.2, "decode_tps": 237.0,
    }  # fmt: skip
    return Entry(Path("r.jsonl"), 1000, WHEN, **{**known, **fields})  # type: ignore[arg-type]


@pytest.fixture(params=["en", "zh"])
def lang(request: pytest.FixtureRequest) -> Iterator[str]:
    language.use(request.param)
    yield request.param
    language.use("en")


# --- the list of runs -----------------------------------------------------------------------------


@pytest.mark.parametrize("preset", ["compare-endpoints", "quality-of-stream"])
@pytest.mark.parametrize("width", [70, 76, 100, 116, 196])
def test_a_name_is_whole_where_there_is_room_and_never_runs_into_the_next(
    preset: str, width: int
) -> None:
    entries = [run(preset=preset), run()]
    rows = [plain(line) for line in recent_rows(entries, width)]
    assert {line.index("embedded") for line in rows} == {rows[0].index("embedded")}
    assert rows[0][rows[0].index("embedded") - 1] == " "
    assert (preset in rows[0]) == (width >= 100)


@pytest.mark.usefixtures("lang")
@pytest.mark.parametrize("width", range(70, 200, 7))
@pytest.mark.parametrize("fields", [
    {"finished": False, "requests": 28, "wanted": 36, "failed": 3, "tags": ("before", "after")},
    {"cache_off": True, "requests": 0, "stopped": 1},
    {"peak_tps": 1234.0},
])  # fmt: skip
def test_figures_of_a_row_are_whole_or_not_there(fields: dict[str, object], width: int) -> None:
    entry = run(**fields)
    line = entry_row(entry, width, cells=name_cells([entry], width))
    text = plain(line)
    assert width_of(line) <= width
    assert text.endswith("tok/s")
    for before in ("of 3", "28 o", "28/3", "#bef", "▲", "缓存", "cache o"):
        if before in text:
            whole = {"of 3": "of 36", "28 o": "28 of 36", "28/3": "28/36", "#bef": "#after",
                     "▲": "▲3", "缓存": "缓存关", "cache o": "cache off"}[before]  # fmt: skip
            assert whole in text


def test_of_two_words_chinese_has_its_own_comma(lang: str) -> None:
    text = plain(entry_row(run(cache_off=True, requests=0, stopped=1), 190))
    assert ("，" in text) == (lang == "zh")
    assert ("," in text) == (lang == "en")


# --- the Errors pane ------------------------------------------------------------------------------


@pytest.mark.parametrize(("status", "shown"), [(200, False), (400, True)])
@pytest.mark.parametrize("width", [30, 40, 70, 120])
def test_a_status_of_200_is_not_taken_for_a_limit(status: int, shown: bool, width: int) -> None:
    failure = Failure("12:04:11", CUT, Evidence(status=status))
    head = " ".join(plain(line) for line in errors_rows(ErrorsState((failure,)), width, 8)[:2])
    head = re.sub(r"status +\d+", "", head)  # in the evidence, named
    assert "max_tokens" in head
    assert (str(status) in head) == shown


@pytest.mark.parametrize("width", range(26, 40))
def test_the_end_of_a_wait_is_said_whole(width: int) -> None:
    busy = Verdict("rate_or_quota", "rate_limited", "Too many requests.", fixes=("Wait.",))
    state = ErrorsState((Failure("12:04:11", busy),), wait_s=0)
    text = " ".join(plain(line).strip() for line in errors_rows(state, width, 12))
    assert "the wait is over: r asks again" in text


@pytest.mark.parametrize("width", range(10, 44))
def test_what_has_no_room_ends_after_a_word(width: int) -> None:
    said = "The model stopped at the limit (finish_reason length)."
    short = clip_words(said, width)
    assert cell_len(short) <= width
    assert short.endswith(" …")
    assert all(word in said.split() for word in short[:-2].split())
