"""What was stopped is told of, and is in no figure."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from kvtui.bench.evaluation.results import results_of
from kvtui.bench.records.entries import entry_of
from kvtui.bench.records.record import read_record
from kvtui.bench.records.store import search
from tests.unit.bench.recorded import Done, asked, single


def said(path: Path) -> list[str]:
    return [f.message for f in results_of(read_record(path)).findings if f.code == "stopped"]


def test_one_that_was_stopped_says_what_it_came_to(tmp_path: Path) -> None:
    # sent at 10.1 s, tokens at 10.3, 10.4 … 10.7 s
    path = single(tmp_path, Done(asked(), tokens=5, stopped=True))
    [text] = said(path)
    assert "after 5 tokens" in text
    assert "TTFT 200 ms, TPOT 100 ms, 10.0 tok/s" in text
    [level] = results_of(read_record(path)).levels
    assert (level.requests, level.ttft_ms) == (0, None)


def test_one_stopped_before_its_first_token_has_no_figures(tmp_path: Path) -> None:
    path = single(tmp_path, Done(asked(), tokens=0, stopped=True))
    assert said(path) == ["1 request was stopped and is in no figure."]


def test_nothing_stopped_nothing_said(tmp_path: Path) -> None:
    assert said(single(tmp_path, Done(asked()))) == []


def test_a_list_of_runs_shows_how_far_it_came(tmp_path: Path) -> None:
    entry = entry_of(single(tmp_path, Done(asked("Why is it slow?"), tokens=5, stopped=True)))
    assert entry.cut_short
    assert (entry.requests, entry.stopped) == (0, 1)
    assert (entry.ttft_ms, entry.tpot_ms, entry.decode_tps) == (200.0, 100.0, 10.0)
    assert entry.prompt == "Why is it slow?"
    assert search([entry], "stopped slow") == [entry]


def test_one_that_was_stopped_is_in_no_median_of_others(tmp_path: Path) -> None:
    runs = [Done(asked()), Done(asked(index=1), tokens=3, stopped=True)]
    entry = entry_of(single(tmp_path, *runs))
    assert not entry.cut_short
    assert (entry.requests, entry.stopped) == (1, 1)
    assert entry.tpot_ms == 100.0


def test_a_run_without_the_cache_says_so(tmp_path: Path) -> None:
    entry = entry_of(single(tmp_path, Done(replace(asked(), kv_cache=False))))
    assert entry.cache_off
    assert search([entry], "cache off") == [entry]
    assert not entry_of(single(tmp_path / "on", Done(asked()))).cache_off
