"""The screen's runs as records: whole after each, partial ones too, and never too many."""

from __future__ import annotations

from pathlib import Path

import pytest

from kvtui.bench.records import store
from kvtui.bench.records.history import RunHistory, prune
from kvtui.bench.records.playback import recordings
from kvtui.bench.records.record import read_record
from kvtui.stream.request import repeat_prefix, with_prefix
from tests.unit.bench.recorded import KEY, Done, asked


def test_repeats_become_one_record_with_what_was_asked(tmp_path: Path) -> None:
    history = RunHistory(tmp_path)
    for index in range(3):
        run = Done(asked(index=index))
        history.add(run, run.figures, index + 1, 3)
    history.close()
    (entry,) = store.list_runs(tmp_path)
    assert (entry.kind, entry.requests, entry.failed, entry.finished) == ("run", 3, 0, True)
    assert entry.ttft_ms == pytest.approx(200.0)
    record = read_record(entry.path)
    (stage,) = record.workload.stages
    assert (stage.texts, stage.max_tokens, stage.requests) == (("Why?",), 32, 3)
    assert record.workload.temperature == 0.5
    assert [r.figures().content for r in recordings(entry.path)] == [" w0 w1 w2 w3 w4"] * 3
    assert KEY not in entry.path.read_text()
    assert entry.path.stat().st_mode & 0o077 == 0


def test_a_stopped_run_is_kept_as_partial(tmp_path: Path) -> None:
    history = RunHistory(tmp_path)
    run = Done(asked(), tokens=2, stopped=True)
    history.add(run, run.figures, 1, 1)
    history.close()
    (entry,) = store.list_runs(tmp_path)
    (sample,) = read_record(entry.path).samples
    assert (sample.partial, sample.stopped, sample.ttft_ms is not None) == (True, True, True)
    (recording,) = recordings(entry.path)
    assert recording.figures().content == " w0 w1"


def test_each_first_run_begins_a_record(tmp_path: Path) -> None:
    history = RunHistory(tmp_path)
    for _ in range(2):
        run = Done(asked())
        history.add(run, run.figures, 1, 1)
    history.close()
    assert len(store.list_runs(tmp_path)) == 2


def test_a_folder_that_cannot_be_written_is_said_and_nothing_raised(tmp_path: Path) -> None:
    place = tmp_path / "file"
    place.write_text("")
    history = RunHistory(place / "runs")
    run = Done(asked())
    history.add(run, run.figures, 1, 1)
    history.close()
    assert "cannot be written" in history.error


def test_only_the_newest_single_runs_stay(tmp_path: Path) -> None:
    history = RunHistory(tmp_path, keep=100)
    for _ in range(5):
        run = Done(asked())
        history.add(run, run.figures, 1, 1)
    history.close()
    paths = sorted(tmp_path.iterdir())
    store.tag(paths[0], ["keep"])
    bench = tmp_path / "20200101-000000-run-abcd.jsonl"  # named as a single run, but none
    bench.write_text(paths[1].read_text().replace('"kind":"run"', '"kind":"bench"'))
    prune(tmp_path, 2)
    assert sorted(tmp_path.iterdir()) == sorted([bench, paths[0], *paths[3:]])


def test_the_prompt_is_told_without_the_repeats_prefix(tmp_path: Path) -> None:
    own = "[12] is a list"
    history = RunHistory(tmp_path)
    run = Done(asked(own))
    history.add(run, run.figures, 1, 1)
    history.close()
    (entry,) = store.list_runs(tmp_path)
    (stage,) = read_record(entry.path).workload.stages
    assert stage.texts == (own,)
    assert stage.same_prompt


def test_a_prefix_of_repeats_is_told_where_there_was_one(tmp_path: Path) -> None:
    history = RunHistory(tmp_path)
    run = Done(with_prefix(asked("Why?"), repeat_prefix(0)))
    history.add(run, run.figures, 1, 3)
    history.close()
    (entry,) = store.list_runs(tmp_path)
    (stage,) = read_record(entry.path).workload.stages
    assert (stage.texts, stage.same_prompt) == (("Why?",), False)
