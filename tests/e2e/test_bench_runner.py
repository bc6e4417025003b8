"""The runner against a server of known timing: its log is the truth."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Iterator
from statistics import median
from typing import Any

import pytest

from kvtui.bench.figures.sample import Sample
from kvtui.bench.figures.summary import levels_of
from kvtui.bench.requests.options import RunOptions
from kvtui.bench.requests.session import Session
from kvtui.bench.running.progress import BenchEvent, RequestEnded, RequestStarted, StageEnded
from kvtui.bench.running.runner import Outcome, Runner
from kvtui.bench.work.workload import Spec, Workload, expand
from kvtui.config import Endpoint, Settings, config_path
from kvtui.stream.request import Request
from tests.wire.timing import TimingServer, timing_server


@pytest.fixture(scope="module")
def server() -> Iterator[TimingServer]:
    with timing_server("--ttft", "60", "--itl", "5", "-n", "64") as server:
        yield server


@pytest.fixture(scope="module")
def session() -> Iterator[Session]:
    with Session(RunOptions(base_url="http://127.0.0.1:1", settings=Settings(config_path()))) as s:
        yield s


def runner(
    session: Session, server: TimingServer, workload: Workload, model: str = "plain", **more: Any
) -> Runner:
    request = Request(Endpoint(f"{server.url}/v1", "test"), model, "")
    return Runner(session, request, workload, **more)


def own(**more: Any) -> Workload:
    return expand(Spec(**{"prompts": ("Hi",), "max_tokens": (64,), "requests": 8, **more}), "own")


def exact(sample: Sample, record: dict[str, Any]) -> bool:
    """TPOT within 0.5 % and TTFT within 5 ms of what the server logged of this request."""
    sent = record["sent"]
    tpot_ms = (sent[-1] - sent[0]) * 1000 / 63
    return sample.tpot_ms == pytest.approx(tpot_ms, rel=0.005) and (
        sample.ttft_ms == pytest.approx((sent[0] - record["t_request"]) * 1000, abs=5)
    )


def test_known_timing(session: Session, server: TimingServer) -> None:
    """At 1 and at 8 streams the figures are the server's log, and a level's are their medians.

    Other work on the machine may come between a stamp and its write. So a run may be repeated, and
    a quarter of its requests must be exact: with a wrong formula none would be.
    """
    workload = own(concurrency=(1, 8), requests=16)
    for _ in range(5):
        server.log()
        outcome = runner(session, server, workload).run()
        log = server.records(16 + 16 + 2)
        assert len(log) == 16 + 16 + 2  # each prompt was one of its own
        one, eight = levels_of(workload, outcome.samples, outcome.health)
        records = sorted(log.values(), key=lambda record: record["t_request"])
        share = []
        for stage, (row, part) in enumerate(((one, records[1:17]), (eight, records[18:]))):
            samples = [s for s in outcome.samples if s.stage == stage and not s.warmup]
            samples.sort(key=lambda s: (s.segment, s.send_s or 0.0))
            assert row.tpot_ms is not None
            assert row.ttft_ms is not None
            for figure, name in ((row.tpot_ms, "tpot_ms"), (row.ttft_ms, "ttft_ms")):
                told = [value for s in samples if (value := getattr(s, name)) is not None]
                assert figure.p50 == pytest.approx(median(told))
            pairs = zip(samples, part, strict=True)
            share.append(sum(exact(*pair) for pair in pairs) / len(samples))
        if min(share) >= 0.25:
            break
    assert min(share) >= 0.25, share
    assert one.outcomes == eight.outcomes == {"truncated.max_tokens": 16}
    assert (one.completed, one.failed, one.short_outputs) == (16, {}, 0)
    assert (one.peak_in_flight, eight.peak_in_flight) == (1, 8)
    assert eight.steady_output_tps is not None
    assert one.output_tps is not None
    assert eight.steady_output_tps > 5 * one.output_tps


def test_what_is_sent(session: Session, server: TimingServer) -> None:
    server.log()
    runner(session, server, own(requests=2, seed=7, ignore_eos=True)).run()
    for record in server.log().values():
        body = record["body"]
        assert body["ignore_eos"] is True
        assert (body["seed"], body["temperature"], body["max_tokens"]) == (7, 0.0, 64)
    outcome = runner(session, server, own(requests=2, same_prompt=True)).run()
    (prompt,) = server.log()
    assert prompt == "Hi"
    assert not outcome.ignore_eos


def test_failures_end_a_hopeless_run(session: Session, server: TimingServer) -> None:
    workload = own(requests=50, concurrency=(1, 2), warmup=0)
    outcome = runner(session, server, workload, "html").run()
    (row,) = levels_of(workload, outcome.samples, outcome.health, outcome.ended_early)
    assert row.failed == {"parameter": 3}
    assert row.ttft_ms is row.output_tps is None
    assert "parameter.base_url_path" in row.ended_early


def test_a_cut_stream_is_a_failure_with_partial_figures(
    session: Session, server: TimingServer
) -> None:
    workload = own(requests=3, warmup=0)
    outcome = runner(session, server, workload, "drop").run()
    (row,) = levels_of(workload, outcome.samples, outcome.health)
    assert row.failed_subcodes == {"network.stream_interrupted": 3}
    assert row.tpot_ms is None
    assert all(s.partial and s.failure for s in outcome.samples)


def test_a_rate_and_its_duration(session: Session, server: TimingServer) -> None:
    workload = own(rate=(20.0,), requests=None, duration=1.0)
    outcome = runner(session, server, workload).run()
    (row,) = levels_of(workload, outcome.samples, outcome.health)
    assert 17 <= row.requests <= 21
    assert row.peak_in_flight > 4


def test_stop_keeps_what_is_done_and_a_second_part_does_the_rest(
    session: Session, server: TimingServer
) -> None:
    workload = own(requests=10, concurrency=(2,))
    ended = threading.Semaphore(0)

    def told(event: BenchEvent) -> None:
        if isinstance(event, RequestEnded) and event.sample.completed and not event.sample.warmup:
            ended.release()

    first = runner(session, server, workload, on_event=told)
    parts: list[Outcome] = []
    thread = threading.Thread(target=lambda: parts.append(first.run()))
    thread.start()
    for _ in range(3):
        assert ended.acquire(timeout=20)
    progress = first.progress()
    assert progress.done >= 3
    assert progress.left_s is not None
    first.stop()
    thread.join(20)
    (half,) = parts
    assert half.stopped
    done = [s for s in half.samples if s.completed and not s.warmup]
    assert 3 <= len(done) < 10
    second = runner(session, server, workload, done=done, nonce=first.nonce, segment=1)
    whole = second.run()
    indexes = Counter(s.index for s in whole.samples if s.completed and not s.warmup)
    assert indexes == Counter(range(10))
    (row,) = levels_of(workload, whole.samples, whole.health)
    assert (row.requests, row.completed) == (10, 10)
    assert row.duration_s < 6  # the time between the parts is no part of it


def test_pause_starts_a_new_segment(session: Session, server: TimingServer) -> None:
    made: list[Runner] = []

    def told(event: BenchEvent) -> None:
        if isinstance(event, RequestEnded) and event.sample.index == 1 and not event.sample.warmup:
            made[0].pause()
            threading.Timer(0.5, made[0].resume).start()

    made.append(runner(session, server, own(requests=4), on_event=told))
    outcome = made[0].run()
    assert {s.segment for s in outcome.samples} == {0, 1}
    (row,) = levels_of(own(requests=4), outcome.samples, outcome.health)
    assert row.duration_s < 4 * 0.45


def test_every_event_is_told(session: Session, server: TimingServer) -> None:
    events: list[BenchEvent] = []
    runner(session, server, own(requests=3), on_event=events.append).run()
    kinds = Counter(type(e) for e in events)
    assert kinds[RequestStarted] == kinds[RequestEnded] == 4
    assert kinds[StageEnded] == 1
