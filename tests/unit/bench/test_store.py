"""The folder of runs: listed, searched, tagged, deleted, whatever lies in it."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import msgspec
import pytest

from kvtui.bench.evaluation.results import results_of
from kvtui.bench.figures.sample import Sample
from kvtui.bench.records import entries, store
from kvtui.bench.records.begin import begin
from kvtui.bench.records.entries import Entry, entry_of
from kvtui.bench.records.record import read_record
from kvtui.bench.records.recorder import Recorder, header_of
from kvtui.bench.records.schema import VERSION, RecordError
from kvtui.bench.requests.prepared import Prepared
from kvtui.bench.running.progress import RequestEnded
from kvtui.bench.work.workload import Spec, Stage, Workload, expand
from kvtui.config import Endpoint
from kvtui.stream.request import Request
from kvtui.ui.draw.runs import entry_row

ENDPOINT = Endpoint("http://gpu-box:8000/v1", "test")


def made(path: Path, *, end: bool = True, model: str = "llama-8b", requests: int = 4) -> Path:
    workload = expand(Spec(prompts=("Hi",), requests=4), "sweep")
    recorder = Recorder(path)
    prepared = Prepared(ENDPOINT, model)
    recorder.create(header_of(prepared, Request(ENDPOINT, model, ""), workload, "n"))
    for index in range(requests):
        ttft = (10.0, 20.0, 40.0, 9999.0)[index % 4]
        recorder.take(
            RequestEnded(
                Sample(
                    stage=0,
                    index=index,
                    ttft_ms=ttft,
                    tpot_ms=5.0,
                    decode_tps=200.0,
                    failed=index == 3,
                    partial=index == 3,
                )
            )
        )
    recorder.take(RequestEnded(Sample(stage=0, index=0, warmup=True, ttft_ms=9999.0)))
    if end:
        recorder.end()
    recorder.close()
    return path


def test_an_entry_tells_what_was_asked_and_what_came_of_it(tmp_path: Path) -> None:
    entry = entry_of(made(tmp_path / "r.jsonl"))
    assert (entry.preset, entry.endpoint, entry.model) == ("sweep", "gpu-box:8000", "llama-8b")
    assert (entry.requests, entry.failed, entry.wanted) == (4, 1, 4)
    assert (entry.ttft_ms, entry.tpot_ms, entry.decode_tps) == (20.0, 5.0, 200.0)
    assert entry.finished
    assert (entry.resumable, entry.broken) == (False, "")


def test_a_killed_run_is_read_through_and_can_be_resumed(tmp_path: Path) -> None:
    path = made(tmp_path / "r.jsonl", end=False)
    with path.open("ab") as file:
        file.write(b'{"type":"request","stage":0,"ind')
    entry = entry_of(path)
    assert (entry.requests, entry.failed, entry.ttft_ms) == (4, 1, 20.0)
    assert entry.resumable


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (b"", "is empty"),
        (b"\x00\xff\xfe not json\n", "is no record of kvtui"),
        (b"[1, 2]\n", "is no record of kvtui"),
        (b'{"type":"run","schema":"other/1"}\n', "is no record of kvtui"),
        (b'{"type":"run","schema":"kvtui.record/99","kvtui":"9.1"}\n', "written by kvtui 9.1"),
    ],
)
def test_a_broken_file_is_listed_with_the_reason(tmp_path: Path, content: bytes, why: str) -> None:
    path = tmp_path / "b.jsonl"
    path.write_bytes(content)
    made(tmp_path / "good.jsonl")
    runs = {entry.path.name: entry for entry in store.list_runs(tmp_path)}
    assert why in runs["b.jsonl"].broken
    assert not runs["good.jsonl"].broken
    with pytest.raises(RecordError, match="takes neither"):
        store.tag(path, ["x"])
    store.delete(path)
    assert len(store.list_runs(tmp_path)) == 1


def test_odd_headers_never_raise(tmp_path: Path) -> None:
    path = tmp_path / "o.jsonl"
    head = {"type": "run", "schema": f"kvtui.record/{VERSION}", "endpoint": 3, "workload": [1]}
    path.write_text(json.dumps(head) + '\n{"type":"request","ttft_ms":"x"}\n{"type":7}\n[]\n')
    entry = entry_of(path)
    assert (entry.broken, entry.model, entry.preset, entry.wanted) == ("", None, "", None)


def test_a_finished_run_is_not_read_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = made(tmp_path / "r.jsonl", requests=2000)
    assert path.stat().st_size > 2 * entries._TAIL
    taken: list[object] = []
    look = "kvtui.bench.records.entries.Glance.take"
    monkeypatch.setattr(look, lambda _, line: taken.append(line))
    entry = entry_of(path)
    assert (entry.requests, entry.failed) == (2000, 1)
    assert taken == []


def test_tags_and_a_note_are_lines_of_the_record(tmp_path: Path) -> None:
    path = made(tmp_path / "r.jsonl", end=False)
    with path.open("ab") as file:
        file.write(b'{"torn')
    store.tag(path, ["#base", "slow", "base"])
    store.note(path, "before the \x1b[31mupgrade")
    entry = store.tag(path, ["new"], remove=["slow"])
    assert entry.tags == ("base", "new")
    assert "\x1b" not in entry.note
    assert "upgrade" in entry.note
    record = read_record(path)
    assert (record.tags, record.note) == (entry.tags, entry.note)
    assert len(record.samples) == 5
    for bad in ("two words", "", "a,b", "#", "x" * 41):
        with pytest.raises(RecordError, match="is no tag"):
            store.tag(path, [bad])


def test_tags_given_early_in_a_long_run_are_found(tmp_path: Path) -> None:
    path = made(tmp_path / "r.jsonl", end=False)
    store.tag(path, ["early"])
    recorder = Recorder(path)
    recorder.reopen()
    recorder.append(1)
    for index in range(1000):
        recorder.take(RequestEnded(Sample(stage=0, index=index, ttft_ms=1.0)))
    recorder.end()
    recorder.close()
    assert entry_of(path).tags == ("early",)


def test_search_wants_every_word_anywhere(tmp_path: Path) -> None:
    store.tag(made(tmp_path / "a.jsonl", model="Llama-70B"), ["base"])
    made(tmp_path / "b.jsonl", end=False)
    runs = store.list_runs(tmp_path)

    def names(words: str) -> list[str]:
        return sorted(entry.path.stem for entry in store.search(runs, words))

    assert names("") == ["a", "b"]
    assert names("SWEEP llama") == ["a", "b"]
    assert names("70b #base") == ["a"]
    assert names("resumable") == ["b"]
    assert names("sweep nowhere") == []


def test_a_run_is_found_by_name_id_or_beginning(tmp_path: Path) -> None:
    first, second = made(tmp_path / "one-a.jsonl"), made(tmp_path / "one-b.jsonl")
    assert store.find(str(first)).path == first
    assert store.find("one-b", tmp_path).path == second
    assert store.find(entry_of(second).id, tmp_path).path == second
    assert store.find("last", tmp_path).path == second
    with pytest.raises(RecordError, match="could be 2 runs"):
        store.find("one", tmp_path)
    with pytest.raises(RecordError, match="There is no run 'two'"):
        store.find("two", tmp_path)


def test_a_changed_file_is_read_again_and_an_unchanged_one_is_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = made(tmp_path / "r.jsonl")
    reads: list[Path] = []

    def counted(place: Path) -> Entry:
        reads.append(place)
        return entry_of(place)

    monkeypatch.setattr(store, "entry_of", counted)
    store.list_runs(tmp_path)
    store.list_runs(tmp_path)
    assert len(reads) == 1
    assert store.note(path, "new").note == "new"
    assert store.list_runs(tmp_path)[0].note == "new"
    assert len(reads) == 2


def test_no_folder_is_no_runs_and_what_is_no_file_is_left_out(tmp_path: Path) -> None:
    assert store.list_runs(tmp_path / "none") == []
    (tmp_path / "folder.jsonl").mkdir()
    (tmp_path / "notes.txt").write_text("x")
    assert store.list_runs(tmp_path) == []


def test_who_writes_a_benchmark_has_it_alone(tmp_path: Path) -> None:
    path = made(tmp_path / "r.jsonl", end=False)
    assert store.look(path).resumable
    recorder = Recorder(path)
    recorder.reopen()
    entry = store.look(path)
    assert (entry.running, entry.resumable, entry.unfinished) == (True, False, True)
    assert store.search([entry], "running") == [entry]
    with pytest.raises(RecordError, match="a run is under way in it"):
        Recorder(path).reopen()
    with pytest.raises(RecordError, match="stop it, or wait for its end"):
        store.delete(path)
    store.tag(path, ["mine"])  # a line of its own
    recorder.append(1)
    recorder.end()
    recorder.close()
    entry = store.look(path)
    assert (entry.running, entry.finished, entry.tags) == (False, True, ("mine",))
    store.delete(path)


def test_a_single_run_may_be_deleted_while_the_screen_has_its_file(tmp_path: Path) -> None:
    path = tmp_path / "r.jsonl"
    workload = expand(Spec(prompts=("Hi",), requests=1), "run")
    recorder = Recorder(path)
    header = header_of(
        Prepared(ENDPOINT, "m"), Request(ENDPOINT, "m", ""), workload, "n", kind="run"
    )
    recorder.create(header)
    assert not store.look(path).running
    store.delete(path)
    recorder.close()


def test_what_was_deleted_or_ended_meanwhile_is_not_gone_on_with(tmp_path: Path) -> None:
    path = made(tmp_path / "r.jsonl", end=False)
    read = read_record(path)
    made_whole = Recorder(path)
    made_whole.reopen()
    made_whole.append(1)
    made_whole.end()
    made_whole.close()
    session: Any = None
    prepared = Prepared(ENDPOINT, "llama-8b")
    with pytest.raises(RecordError, match="has come to its end meanwhile"):
        begin(session, prepared, Request(ENDPOINT, "llama-8b", ""), read)
    assert not store.look(path).running
    gone = Recorder(path)
    path.unlink()
    with pytest.raises(RecordError, match="cannot be written"):
        gone.reopen()


class Counted(io.FileIO):
    """A file that tells how much of it was read."""

    total = 0

    def readinto(self, buffer: Any) -> int | None:
        n = super().readinto(buffer)
        Counted.total += n or 0
        return n


@pytest.mark.parametrize("state", ["finished", "tagged early", "tagged late", "killed", "resumed"])
def test_a_list_reads_the_head_and_the_tail_of_a_giant(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, state: str
) -> None:
    path = made(tmp_path / "r.jsonl", end=False)
    if state == "tagged early":
        store.tag(path, ["mine"])
    recorder = Recorder(path)
    recorder.reopen()
    if state == "resumed":
        recorder.end()
    recorder.append(1)
    for index in range(6000):
        recorder.take(RequestEnded(Sample(stage=0, index=index, ttft_ms=1.0, tpot_ms=2.0)))
    if state not in ("killed", "resumed"):
        recorder.end()
    recorder.close()
    if state == "tagged late":
        store.tag(path, ["mine"])
    monkeypatch.setattr(entries, "MOST_READ", 32 << 10)
    monkeypatch.setattr(Path, "open", lambda self, _: io.BufferedReader(Counted(self)))
    Counted.total = 0
    entry = entry_of(path)
    assert entry.size > 400_000
    assert Counted.total < 100_000
    if state in ("killed", "resumed"):
        assert (entry.requests, entry.ttft_ms, entry.resumable) == (None, None, True)
    else:
        assert (entry.requests, entry.ttft_ms, entry.finished) == (6000, 1.0, True)
    assert entry.tags == (("mine",) if state.startswith("tagged") else ())


def test_a_sweep_s_peak_is_its_levels_best_throughput(tmp_path: Path) -> None:
    path = tmp_path / "sweep.jsonl"
    lines = Path("tests/fixtures/records/v1-finished.jsonl").read_text(encoding="utf-8")
    header, *rest = lines.splitlines()
    told = json.loads(header)
    for stage in told["workload"]["stages"]:
        stage["concurrency"] = 4
    path.write_text("\n".join([json.dumps(told), *rest]) + "\n", encoding="utf-8")
    levels = results_of(read_record(path)).levels
    best = max(level.output_tps for level in levels if level.output_tps is not None)
    entry = entry_of(path)
    assert entry.peak_tps == pytest.approx(best)
    assert "≤" in "".join(span.text for span in entry_row(entry, 90))
    alone = entry_of(Path("tests/fixtures/records/v1-finished.jsonl"))
    assert alone.peak_tps is None


def test_the_end_of_a_giant_is_found_under_long_notes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = made(tmp_path / "r.jsonl")
    plain = path.stat().st_size
    note = "长" * 2000
    for _ in range(12):
        store.note(path, note)
    assert path.stat().st_size - plain < 12 * (3 * 2000 + 100)  # three bytes a letter, not six
    monkeypatch.setattr(entries, "_TAIL", 1 << 10)
    monkeypatch.setattr(entries, "MOST_READ", path.stat().st_size - plain + 512)
    head, rest = path.read_bytes().split(b"\n", 1)
    path.write_bytes(head + b"\n" + rest.replace(b"\n", b" " * (256 << 10) + b"\n", 1))
    entry = entry_of(path)
    assert (entry.finished, entry.requests, entry.note) == (True, 4, note)


def listed_as_its_levels(path: Path, workload: Workload, samples: list[Sample]) -> Entry:
    """The list's figures, which are the best, or the only, level's; read through and by its end."""
    recorder = Recorder(path)
    recorder.create(header_of(Prepared(ENDPOINT, "m"), Request(ENDPOINT, "m", ""), workload, "n"))
    for sample in samples:
        recorder.take(RequestEnded(sample))
    through = entry_of(path)
    recorder.end()
    recorder.close()
    entry = entry_of(path)
    levels = results_of(read_record(path)).levels
    best = max(level.output_tps or 0 for level in levels)
    for told in (through, entry):
        assert told.peak_tps == pytest.approx(best)
        if len(levels) == 1:
            cold = levels[0].ttft_ms or levels[0].ttft_warm_ms
            assert cold is not None
            assert told.ttft_ms == pytest.approx(cold.p50)
    return entry


def test_a_list_s_peak_leaves_out_the_others_turns_as_levels_do(tmp_path: Path) -> None:
    stages = tuple(
        Stage(label=name, texts=("Hi",), concurrency=2, requests=4, max_tokens=10, warmup=0)
        for name in ("one", "two")
    )
    workload = Workload(preset="own", stages=stages, interleave=True)
    samples = [
        Sample(
            stage=stage, index=index, start_s=begin, send_s=begin, first_s=begin + 0.1,
            last_s=begin + 1, end_s=begin + 1, completion_tokens=10,
        )
        for stage in range(2)
        for index in range(4)
        for begin in [(index // 2) * 2.0 + stage]
    ]  # fmt: skip
    entry = listed_as_its_levels(tmp_path / "r.jsonl", workload, samples)
    assert entry.peak_tps == pytest.approx(20)  # 2 × 10 tokens in each second of its own


def test_a_list_s_ttft_takes_the_template_from_a_cache_for_cold_as_levels_do(
    tmp_path: Path,
) -> None:
    stage = Stage(label="a", prompt_tokens=100, concurrency=2, requests=6, max_tokens=4, warmup=0)
    cached = [20, 24, 20, 90, 90, 90]  # the template's, by chance four more; most of a prompt
    samples = [
        Sample(
            stage=0, index=index, start_s=1.0 * index, end_s=index + 1.0, completion_tokens=4,
            ttft_ms=100.0 if tokens < 50 else 5.0, prompt_tokens=100, cached_prompt_tokens=tokens,
        )
        for index, tokens in enumerate(cached)
    ]  # fmt: skip
    workload = Workload(preset="own", stages=(stage,))
    assert listed_as_its_levels(tmp_path / "r.jsonl", workload, samples).ttft_ms == 100.0


def test_of_a_request_sent_again_a_list_counts_the_later(tmp_path: Path) -> None:
    stage = Stage(label="a", texts=("Hi",), concurrency=2, requests=2, max_tokens=4, warmup=0)
    one = Sample(stage=0, index=0, end_s=1.0, completion_tokens=4, ttft_ms=9.0)
    lost = Sample(stage=0, index=1, end_s=60.0, failed=True, cls="transport", subcode="reset")
    again = msgspec.structs.replace(one, index=1, segment=1)
    workload = Workload(preset="own", stages=(stage,))
    entry = listed_as_its_levels(tmp_path / "r.jsonl", workload, [one, lost, again])
    assert (entry.requests, entry.failed, entry.peak_tps) == (2, 0, 4.0)


def test_a_full_disk_is_said_where_a_run_would_go_on_and_its_lock_is_let_go(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = made(tmp_path / "r.jsonl", end=False)
    with path.open("ab") as file:
        file.write(b'{"type":"request","stage":0,"ind')
    session: Any = None
    request, prepared = Request(ENDPOINT, "llama-8b", ""), Prepared(ENDPOINT, "llama-8b")

    def full(*_: object) -> int:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr("kvtui.bench.records.recorder.os.write", full)
        with pytest.raises(RecordError, match="No space left on device"):
            begin(session, prepared, request, read_record(path))
    assert not store.look(path).running
    with monkeypatch.context() as patch:
        patch.setattr("kvtui.bench.records.recorder.ends_torn", full)
        with pytest.raises(RecordError, match="No space left on device"):
            begin(session, prepared, request, read_record(path))
    assert not store.look(path).running
