"""Runs that were paused, stopped and gone on with: no two stretches lie over each other."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from kvtui.bench.figures.levels import Level
from kvtui.bench.figures.summary import levels_of
from kvtui.bench.records.begin import begin
from kvtui.bench.records.entries import entry_of
from kvtui.bench.records.record import Record, read_record
from kvtui.bench.requests.options import RunOptions
from kvtui.bench.requests.prepared import Prepared
from kvtui.bench.requests.session import Session
from kvtui.bench.running.progress import BenchEvent, HealthTaken, Learned, RequestEnded
from kvtui.bench.work.workload import Spec, Workload, expand
from kvtui.config import Endpoint, Settings, config_path
from kvtui.stream.request import Request
from tests.wire.timing import TimingServer, timing_server

STREAMS = 2


@pytest.fixture(scope="module")
def server() -> Iterator[TimingServer]:
    with timing_server("--ttft", "20", "--itl", "2", "-n", "16") as server:
        yield server


@pytest.fixture(scope="module")
def session() -> Iterator[Session]:
    with Session(RunOptions(base_url="http://127.0.0.1:1", settings=Settings(config_path()))) as s:
        yield s


def part(
    session: Session,
    prepared: Prepared,
    work: Workload | Record,
    path: Path,
    *,
    pause: int | None = None,
    stop: int | None = None,
) -> list[BenchEvent]:
    """Run it, paused and gone on with, and stopped, after so many requests; what was told."""
    request = Request(prepared.endpoint, prepared.model or "", "")
    begun = begin(session, prepared, request, work, path)
    told: list[BenchEvent] = []
    runner, ended = begun.runner, 0

    def take(event: BenchEvent) -> None:
        nonlocal ended
        told.append(event)
        begun.recorder.take(event)
        if isinstance(event, RequestEnded) and event.sample.completed and not event.sample.warmup:
            ended += 1
            if ended == pause:
                runner.pause()
            if ended == stop:
                runner.stop()
        elif isinstance(event, HealthTaken):
            runner.resume()

    if stop == 0:
        runner.stop()
    runner.listen(take)
    begun.conclude(runner.run())
    return told


def stretches(path: Path) -> tuple[list[int], list[int]]:
    """The numbers of a record's ``segment`` lines; those of its requests, each once."""
    lines: list[dict[str, Any]] = [json.loads(line) for line in path.read_text().splitlines()]
    begun = [line["segment"] for line in lines if line["type"] == "segment"]
    seen = {line.get("segment", 0) for line in lines if line["type"] == "request"}
    return begun, sorted(seen)


def level_of(path: Path) -> Level:
    record = read_record(path)
    (row,) = levels_of(record.workload, record.samples, record.health)
    busy = sum(
        sample.last_s - sample.send_s
        for sample in record.samples
        if not sample.warmup and sample.last_s is not None and sample.send_s is not None
    )
    assert row.peak_in_flight <= STREAMS
    assert row.output_tps is not None
    assert row.output_tps <= row.output_tokens * STREAMS / busy * 1.000001
    return row


def test_a_run_that_was_paused_and_stopped_goes_on_with_a_stretch_of_its_own(
    session: Session, server: TimingServer, tmp_path: Path
) -> None:
    path = tmp_path / "r.jsonl"
    prepared = Prepared(Endpoint(f"{server.url}/v1", "test"), "plain")
    work = expand(
        Spec(prompts=("Hi",), requests=20, concurrency=(STREAMS,), max_tokens=(16,)), "own"
    )
    part(session, prepared, work, path, pause=3, stop=7)
    assert stretches(path)[0] == [0, 1]
    part(session, prepared, read_record(path), path, pause=2, stop=4)
    part(session, prepared, read_record(path), path)
    begun, seen = stretches(path)
    assert begun == list(range(len(begun)))
    assert set(seen) == {0, 1, 2, 3, 4} == set(begun)
    row = level_of(path)
    assert (row.completed, row.output_tokens) == (20, 320)
    assert read_record(path).segments == 5
    assert entry_of(path).peak_tps == pytest.approx(row.output_tps, abs=1e-5)


def test_what_was_not_learned_before_the_interruption_is_learned_by_who_goes_on(
    tmp_path: Path,
) -> None:
    path = tmp_path / "r.jsonl"
    work = expand(Spec(prompt_tokens=(64,), requests=1, warmup=0, max_tokens=(4,)), "own")
    with Session(RunOptions(embedded=True, settings=Settings(config_path()))) as session:
        prepared = session.prepare().result(60)
        told = part(session, prepared, work, path, stop=0)
        assert not any(isinstance(event, Learned) for event in told)
        assert b'"learned"' not in path.read_bytes()
        with path.open("a") as file:  # an older kvtui wrote it
            file.write('{"type":"learned","words":{"per_word":1.0},"ignore_eos":false}\n')
        told = part(session, prepared, read_record(path), path)
    (learned,) = (event for event in told if isinstance(event, Learned))
    assert learned.words is not None
    assert learned.words.measured
    (sample,) = read_record(path).samples
    assert sample.prompt_tokens == pytest.approx(64, abs=3)
