"""What was stopped is told of, and is in no figure."""

from __future__ import annotations

from pathlib import Path

from kvtui.bench.evaluation.results import results_of
from kvtui.bench.records.record import read_record
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
