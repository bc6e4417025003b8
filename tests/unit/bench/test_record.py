"""Records: what is in the file, what is not, what is left of one that was killed."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from kvtui.bench.figures.health import Health
from kvtui.bench.figures.sample import Sample
from kvtui.bench.records.record import RecordError, new_path, read_record, runs_path
from kvtui.bench.records.recorder import Recorder, header_of, secrets_of
from kvtui.bench.requests.prepared import Prepared
from kvtui.bench.running.progress import HealthTaken, Learned, RequestEnded, StageEnded
from kvtui.bench.work.prompts import Words
from kvtui.bench.work.workload import Spec, expand
from kvtui.config import Endpoint
from kvtui.stream.request import Request

KEY = "sk-test-Zx81Qa77Lm20Vb94"
WORKLOAD = expand(Spec(prompts=("Hi",), concurrency=(1, 2)), "own")


def written(path: Path, samples: int = 3) -> Recorder:
    endpoint = Endpoint(
        "http://u:pw12345@h/v1",
        "test",
        api_key=KEY,
        key_from="K",
        headers={"X-Api-Key": "another-secret"},
    )
    prepared = Prepared(endpoint, "m")
    request = Request(endpoint, "m", "", extra_body={"note": f"Bearer {KEY}"})
    recorder = Recorder(path, secrets_of(prepared, request))
    recorder.create(header_of(prepared, request, WORKLOAD, "n0"))
    recorder.take(Learned(Words(3.0, 1.5, measured=True), True))
    for index in range(samples):
        sample = Sample(stage=0, index=index, ttft_ms=1.5, model_answered=f"m {KEY}")
        recorder.take(RequestEnded(sample))
    return recorder


def test_what_is_written_is_read_again(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "r.jsonl"
    recorder = written(path)
    recorder.take(RequestEnded(Sample(stage=1, index=0, stopped=True)))  # will be run again
    health = Health(1.0, 2.0, 0.0, 0.1, None, False)
    recorder.take(HealthTaken(0, 0, health))
    recorder.take(StageEnded(0, "certain enough"))
    recorder.end()
    recorder.close()
    record = read_record(path)
    assert [(s.stage, s.index) for s in record.samples] == [(0, 0), (0, 1), (0, 2)]
    assert record.workload == WORKLOAD
    assert record.health == {(0, 0): health}
    assert record.ended_early == {0: "certain enough"}
    assert record.words == Words(3.0, 1.5, measured=True)
    assert (record.finished, record.ignore_eos, record.segments) == (True, True, 1)
    assert path.stat().st_mode & 0o077 == 0


def test_no_secret_is_in_it(tmp_path: Path) -> None:
    path = tmp_path / "r.jsonl"
    written(path).close()
    text = path.read_text()
    for secret in (KEY, "another-secret", "pw12345"):
        assert secret not in text
    header = json.loads(text.splitlines()[0])
    assert header["endpoint"]["key_from"] == "K"
    assert header["request"]["headers"] == ["X-Api-Key"]


def test_a_torn_line_is_left_out_and_the_next_begins_anew(tmp_path: Path) -> None:
    path = tmp_path / "r.jsonl"
    written(path).close()
    whole = path.read_bytes()
    path.write_bytes(whole[:-25])
    record = read_record(path)
    assert (len(record.samples), record.torn, record.finished) == (2, 1, False)
    again = Recorder(path)
    again.reopen()
    again.append(record.segments)
    again.take(RequestEnded(Sample(stage=0, index=2, segment=1)))
    again.close()
    record = read_record(path)
    assert (len(record.samples), record.segments) == (3, 2)


@pytest.mark.parametrize(
    "text",
    ["", "{}\n", "not json\n", '{"type":"run","schema":"kvtui.record/99"}\n', "[1]\n"],
)
def test_what_is_no_record_is_said(tmp_path: Path, text: str) -> None:
    path = tmp_path / "r.jsonl"
    path.write_text(text)
    with pytest.raises(RecordError) as error:
        read_record(path)
    assert str(path) in str(error.value)


def test_a_file_is_never_overwritten(tmp_path: Path) -> None:
    path = tmp_path / "r.jsonl"
    written(path).close()
    with pytest.raises(RecordError, match="there already"):
        written(path)


def test_later_lines_are_no_error(tmp_path: Path) -> None:
    path = tmp_path / "r.jsonl"
    written(path).close()
    with path.open("a") as file:
        file.write('{"type":"weather","sun":true}\n')
        file.write('{"type":"request","stage":0,"index":9,"new_figure":1}\n')
        file.write('{"type":"meta","tags":["a"],"note":"b"}\n')
    record = read_record(path)
    assert len(record.samples) == 4
    assert (record.tags, record.note) == (("a",), "b")


def test_where_records_go(tmp_path: Path) -> None:
    assert runs_path({"KVTUI_RUNS": str(tmp_path)}) == tmp_path
    assert runs_path({}).name == "runs"
    name = new_path("../odd name", tmp_path)
    assert name.parent == tmp_path
    assert "odd-name" in name.name


FIXTURES = Path(__file__).parents[2] / "fixtures" / "records"


def test_a_record_of_version_1_is_read_as_todays() -> None:
    record = read_record(FIXTURES / "v1-finished.jsonl")
    assert record.header["kind"] == "bench"
    assert record.header["clock"]["name"] == "perf_counter"
    assert record.header["clock"]["wall"] == "2026-11-29T22:35:16.093+00:00"
    assert "clock" not in record.header["machine"]
    assert (record.finished, record.tags, record.note) == (True, ("base",), "before the upgrade")
    measured = [s for s in record.samples if not s.warmup]
    assert len(measured) == 6
    assert len(record.samples) == 9
    assert all(s.completed and s.ttft_ms and s.tpot_ms for s in measured)


def test_a_record_of_version_1_that_was_killed_keeps_its_failures() -> None:
    record = read_record(FIXTURES / "v1-killed.jsonl")
    assert not record.finished
    assert record.torn == 1
    assert [f"{s.cls}.{s.subcode}" for s in record.samples] == ["auth.invalid_key"] * 2
    assert all(s.failure and s.failure["evidence"]["status"] == 401 for s in record.samples)


def test_a_record_of_a_later_kvtui_is_refused_in_one_sentence(tmp_path: Path) -> None:
    path = tmp_path / "later.jsonl"
    path.write_text('{"type":"run","schema":"kvtui.record/77","kvtui":"5.0"}\n')
    with pytest.raises(RecordError, match=r"kvtui\.record/77, written by kvtui 5\.0: this kvtui"):
        read_record(path)
