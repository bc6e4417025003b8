"""A replay is the recorded run: same text, same figures, at the pace asked for."""

from __future__ import annotations

import json
import shutil
import time
from pathlib import Path

import pytest

from kvtui.bench.evaluation.compare import compare
from kvtui.bench.evaluation.imports import read_side
from kvtui.bench.figures.sample import Sample, sample_of
from kvtui.bench.records import store
from kvtui.bench.records.record import SCHEMA, RecordError, read_record
from kvtui.bench.records.recorder import Recorder
from kvtui.bench.records.replay import Pace, Replay, ReplaySession
from kvtui.bench.requests.document import run_object
from kvtui.bench.running.progress import RequestEnded
from tests.unit.bench.recorded import Done, asked, bench_of, single

FIXTURES = Path(__file__).parents[2] / "fixtures" / "records"
FAST = 100.0


def test_all_repeats_of_a_single_run_come_one_after_another(tmp_path: Path) -> None:
    runs = [Done(asked(index=0), tokens=3), Done(asked(index=1), tokens=5)]
    replay = Replay.read(single(tmp_path, *runs), speed=FAST)
    session = ReplaySession(replay)
    prepared = session.prepare().result()
    assert (prepared.model, prepared.endpoint.base_url) == ("m", "https://gpu.example/v1")
    assert prepared.endpoint.api_key is None
    for index, live in enumerate(runs):
        run = session.start(asked("something else"), index)
        assert run.request.prompt == "Why?"
        figures = run.result(5)
        assert run.done.wait(5)
        assert "".join(piece.text for piece in run.drain()) == live.figures.content
        assert figures.ttft_ms == pytest.approx(live.figures.ttft_ms)
        assert figures.tpot_ms == pytest.approx(live.figures.tpot_ms)
        assert figures.completion_tokens == live.figures.completion_tokens
        assert run.snapshot().phase == "done"
        assert run.kept() is None
    assert replay.mark == "replay ×100"


def test_it_takes_the_time_that_it_took_by_the_speed(tmp_path: Path) -> None:
    path = single(tmp_path, Done(asked()))  # one second in the record
    begun = time.perf_counter()
    ReplaySession(Replay.read(path, speed=5.0)).start(asked()).result(5)
    assert 0.19 < time.perf_counter() - begun < 1.0


def test_a_stop_ends_it_as_a_stop_ends_a_stream(tmp_path: Path) -> None:
    session = ReplaySession(Replay.read(single(tmp_path, Done(asked())), speed=0.01))
    run = session.start(asked())
    run.stop()
    figures = run.result(5)
    assert (figures.stopped, figures.partial, figures.verdict.is_failure) == (True, True, False)
    assert run.snapshot().phase == "stopped"


def test_held_it_waits_and_goes_on_from_there() -> None:
    now = [10.0]
    pace = Pace(2.0, lambda: now[0])
    now[0] = 11.0
    assert pace() == 12.0
    assert pace.left(14.0) == 1.0
    pace.hold(True)
    now[0] = 50.0
    assert (pace(), pace.held) == (12.0, True)
    pace.hold(False)
    now[0] = 50.5
    assert pace() == 13.0


@pytest.mark.parametrize(
    ("tpots", "number"),
    [([9.0, 1.0, 5.0], 3), ([None, 4.0], 2), ([None, None], 1), ([3.0, 1.0], 2)],
)
def test_of_a_benchmark_the_middle_request_is_taken(
    tmp_path: Path, tpots: list[float | None], number: int
) -> None:
    replay = Replay.read(bench_of(tmp_path / "b.jsonl", tpots))
    assert [recording.number for recording in replay.recordings] == [number]
    assert replay.note == f"request {number} of {len(tpots)} in b.jsonl"


def test_a_request_is_chosen_by_number(tmp_path: Path) -> None:
    path = bench_of(tmp_path / "b.jsonl", [1.0, 2.0])
    assert Replay.read(path, 1).recordings[0].number == 1
    with pytest.raises(RecordError, match="has 2 requests: there is no number 3"):
        Replay.read(path, 3)


def test_the_document_is_the_one_of_the_run(tmp_path: Path) -> None:
    run = Done(asked())
    table = Replay.read(single(tmp_path, run)).document()
    live = run_object(run.figures)
    (again,) = table["runs"]
    assert table["schema"] == "kvtui.run/1"
    assert table["endpoint"]["base_url"] == "https://gpu.example/v1"
    for name in ("outcome", "content", "finish_reason", "chunks", "started_at", "hints"):
        assert again[name] == live[name]
    assert again["e2e_ms"] == pytest.approx(live["e2e_ms"])
    assert table["median"]["n"] == 1


@pytest.mark.parametrize("name", ["v1-finished.jsonl", "v1-killed.jsonl"])
def test_what_was_recorded_without_stamps_says_so(name: str) -> None:
    with pytest.raises(
        RecordError, match=r"without the stamps of their tokens \(by kvtui 0\.1\.0\)"
    ):
        Replay.read(FIXTURES / name)


def test_an_old_record_that_goes_on_is_replayed_as_far_as_it_can_be(tmp_path: Path) -> None:
    """Version 1's requests keep their figures, today's beside them have their stamps, too."""
    path = tmp_path / "r.jsonl"
    shutil.copy(FIXTURES / "v1-killed.jsonl", path)
    before = read_record(path)
    assert (before.finished, len(before.done)) == (False, 0)
    recorder = Recorder(path)
    recorder.reopen()
    recorder.append(before.segments)
    for index in range(2):
        sample = Sample(stage=0, index=index, segment=1, tpot_ms=100.0)
        recorder.take(RequestEnded(sample, Done(asked()).kept()))
    recorder.end()
    recorder.close()
    after = read_record(path)
    assert (after.finished, after.segments, after.header["schema"]) == (True, 2, SCHEMA)
    assert [(s.index, s.failed) for s in after.samples] == [(0, False), (1, False)]
    replay = Replay.read(path)
    assert replay.recordings[0].figures().decode_tps == pytest.approx(10.0)
    with pytest.raises(RecordError, match="Request 1 was recorded without the stamps"):
        Replay.read(path, 1)
    assert store.look(path).requests == 2


def test_version_1_is_compared_with_today(tmp_path: Path) -> None:
    old = read_side(FIXTURES / "v1-finished.jsonl")
    assert [level.max_tokens for level in old.levels] == [16, 24, 24]
    assert all(len(level.values["tpot_ms"]) == 2 for level in old.levels)
    new = read_side(bench_of(tmp_path / "r.jsonl", [100.0] * 3))
    assert {f.says for p in compare(old, old).pairs for f in p.figures} == {"too few"}
    assert compare(old, new).pairs == ()  # other lengths


def test_a_verdict_that_was_given_stands(tmp_path: Path) -> None:
    """Another kvtui may think otherwise of the same evidence; the record is what was said."""
    path = single(tmp_path, Done(asked()))
    lines = path.read_text().splitlines()
    table = json.loads(lines[2])
    told = {"class": "server", "subcode": "overloaded", "message": "Said then.", "fixes": ["Wait."]}
    table.update(cls="server", subcode="overloaded", failed=True, failure=told)
    lines[2] = json.dumps(table, separators=(",", ":"))
    path.write_text("\n".join(lines) + "\n")
    (run,) = Replay.read(path).document()["runs"]
    assert run["failure"]["message"] == "Said then."
    assert (run["failure"]["class"], run["failure"]["fixes"]) == ("server", ["Wait."])


def test_a_tape_that_was_cut_keeps_the_figures_of_then(tmp_path: Path) -> None:
    run = Done(asked())
    sample = sample_of(
        run.figures, run.stamps(), 0.0, stage=0, index=0, warmup=False, segment=0, late_ms=None
    )
    path = single(tmp_path, run)
    lines = path.read_text().splitlines()
    table = json.loads(lines[2])
    table["tape"].update(cut=3, ops=table["tape"]["ops"].replace("|c|c|c", "|c", 1))
    del table["tape"]["us"][3:5], table["tape"]["text"][1:3]
    lines[2] = json.dumps(table, separators=(",", ":"))
    path.write_text("\n".join(lines) + "\n")
    (told,) = Replay.read(path).document()["runs"]
    assert (told["chunks"], told["tpot_ms"]) == (sample.chunks, pytest.approx(sample.tpot_ms))
