"""Records whose stretches were given one number twice: none lies over another."""

from __future__ import annotations

from pathlib import Path

import pytest

from kvtui.bench.figures.health import Health
from kvtui.bench.figures.sample import Sample
from kvtui.bench.figures.summary import levels_of
from kvtui.bench.records.axes import Axes
from kvtui.bench.records.entries import entry_of
from kvtui.bench.records.record import read_record
from kvtui.bench.records.recorder import Recorder, header_of
from kvtui.bench.requests.prepared import Prepared
from kvtui.bench.running.progress import HealthTaken, RequestEnded
from kvtui.bench.work.workload import Spec, expand
from kvtui.config import Endpoint
from kvtui.stream.request import Request


def test_a_number_that_was_given_begins_a_new_axis() -> None:
    axes = Axes()
    assert [axes.begin(0), axes.of(0), axes.of(1)] == [0, 0, 1]  # a pause that wrote no line
    assert [axes.begin(1), axes.of(1), axes.of(2)] == [2, 2, 3]
    assert [axes.begin(1), axes.of(1)] == [4, 4]
    assert [axes.begin(5), axes.of(5), axes.count] == [5, 5, 6]


@pytest.mark.parametrize("ended", [True, False])
def test_a_record_with_two_stretches_of_one_number(tmp_path: Path, ended: bool) -> None:
    """Three stretches of a second, two streams of 10 tokens in each: 20 tokens a second."""
    path = tmp_path / "r.jsonl"
    endpoint = Endpoint("https://gpu.example/v1", "test")
    work = expand(Spec(prompts=("Hi",), requests=6, concurrency=(2,), max_tokens=(10,)), "own")
    recorder = Recorder(path)
    recorder.create(header_of(Prepared(endpoint, "m"), Request(endpoint, "m", ""), work, "n"))

    def two(first: int, segment: int) -> None:
        for index in (first, first + 1):
            sample = Sample(
                stage=0, index=index, segment=segment, completion_tokens=10, token_source="usage",
                start_s=0.0, send_s=0.0, first_s=0.1, last_s=1.0, end_s=1.0,
            )  # fmt: skip
            recorder.take(RequestEnded(sample))
        recorder.take(HealthTaken(0, segment, Health(1.0, 2.0, 0.0, first / 10, None, False)))

    two(0, 0)
    two(2, 1)
    recorder.write("segment", {"segment": 1})
    two(4, 1)
    if ended:
        recorder.end()
    recorder.close()
    record = read_record(path)
    (row,) = levels_of(record.workload, record.samples, record.health)
    assert (row.duration_s, row.output_tps, row.peak_in_flight) == (3.0, 20.0, 2)
    assert record.segments == 3
    assert row.client is not None
    assert {part.cpu_share for part in record.health.values()} == {0.0, 0.2, 0.4}
    assert entry_of(path).peak_tps == 20.0
