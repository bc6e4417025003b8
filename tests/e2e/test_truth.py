"""The figures against a server that logs when it sent what: its log is the truth, not the plan."""

from __future__ import annotations

import gc
import time
import weakref
from collections.abc import Iterator
from itertools import count
from typing import Any

import pytest

from kvtui.bench.requests.options import RunOptions
from kvtui.bench.requests.run import Run
from kvtui.bench.requests.session import Session
from kvtui.config import Endpoint, Settings, config_path
from kvtui.measure.figures import RunFigures
from kvtui.stream.request import Request, Timeouts
from tests.wire.timing import TimingServer, timing_server

_numbers = count()


@pytest.fixture(scope="module")
def server() -> Iterator[TimingServer]:
    with timing_server("--ttft", "120", "--itl", "10", "-n", "64") as server:
        yield server


@pytest.fixture(scope="module")
def session() -> Iterator[Session]:
    with Session(RunOptions(base_url="http://127.0.0.1:1", settings=Settings(config_path()))) as s:
        yield s


def ask(session: Session, server: TimingServer, model: str) -> Run:
    request = Request(Endpoint(f"{server.url}/v1", "test"), model, f"prompt {next(_numbers)}")
    return session.start(request)


def is_exact(figures: RunFigures, record: dict[str, Any], steps: int | None) -> bool:
    """TTFT within 5 ms and TPOT within 0.5 % of what the server logged of this request."""
    sent = record["sent"]
    ttft_ms = (sent[0] - record["t_request"]) * 1000
    tpot_ms = (sent[-1] - sent[0]) * 1000 / (steps or max(1, len(sent) - 1))
    return figures.ttft_ms == pytest.approx(ttft_ms, abs=5) and (
        figures.tpot_ms == pytest.approx(tpot_ms, rel=0.005)
    )


def measured(
    session: Session, server: TimingServer, model: str, steps: int | None = None
) -> RunFigures:
    """A run whose TTFT and TPOT are the server's record of it.

    ``steps`` is what the server's span is divided by (None: one a stamp). Other work on the machine
    may come between a stamp and its write, on either side, so of several runs at once, and several
    times of those, one must be exact: a wrong formula is never.
    """
    tries: list[tuple[RunFigures, dict[str, Any]]] = []
    while len(tries) < 32:
        server.log()
        runs = [ask(session, server, model) for _ in range(4)]
        by_prompt = {run.request.prompt: run.result(30) for run in runs}
        records = server.records(len(runs))
        tries += [(by_prompt[prompt], record) for prompt, record in records.items()]
        for figures, record in tries[-len(runs) :]:
            if is_exact(figures, record, steps):
                return figures
    pytest.fail(f"no run is exact: {[(f.ttft_ms, f.tpot_ms, r) for f, r in tries[-2:]]}")


@pytest.mark.parametrize("model", ["plain", "role", "think", "continuous", "endtoken"])
def test_ttft_and_tpot(session: Session, server: TimingServer, model: str) -> None:
    figures = measured(session, server, model)
    assert figures.completion_tokens == (65 if model == "endtoken" else 64)
    assert figures.token_source == "usage"
    assert figures.first_token == ("reasoning" if model == "think" else "content")
    assert not figures.partial
    if model == "think":
        assert figures.ttfa_ms is not None
        assert figures.ttft_ms is not None
        assert figures.ttfa_ms > figures.ttft_ms + 300


@pytest.mark.parametrize("model", ["multi", "coalesce"])
def test_four_tokens_a_step(session: Session, server: TimingServer, model: str) -> None:
    figures = measured(session, server, model, steps=60)
    assert figures.tokens_per_chunk == (4 if model == "multi" else 1)


def test_no_count_is_an_estimate(session: Session, server: TimingServer) -> None:
    figures = measured(session, server, "nousage")
    assert figures.completion_tokens is None
    assert (figures.estimated_tokens, figures.token_source) == (64, "estimate")


def test_one_burst_is_no_stream(session: Session, server: TimingServer) -> None:
    figures = ask(session, server, "burst").result(30)
    assert figures.verdict.subcode == "buffered_transport"
    assert figures.ttft_ms is figures.decode_tps is None


def test_a_web_page_is_no_answer(session: Session, server: TimingServer) -> None:
    figures = ask(session, server, "html").result(30)
    assert (figures.verdict.cls, figures.verdict.subcode) == ("parameter", "base_url_path")
    assert figures.decode_tps is None


@pytest.mark.parametrize(
    ("model", "cls", "subcode"),
    [("drop", "network", "stream_interrupted"), ("sseerr", "server", "oom")],
)
def test_a_failure_in_the_middle(
    session: Session, server: TimingServer, model: str, cls: str, subcode: str
) -> None:
    figures = measured(session, server, model)
    assert (figures.verdict.cls, figures.verdict.subcode) == (cls, subcode)
    assert figures.partial
    assert figures.chunks == 32
    assert figures.e2e_tps is None


def test_a_firehose_loses_nothing(session: Session, server: TimingServer) -> None:
    figures = ask(session, server, "fire20000").result(60)
    assert figures.chunks == figures.completion_tokens == 20_000
    assert len(figures.content) == 20_000 * len(" hello")


def test_a_request_that_is_over_leaves_nothing(session: Session, server: TimingServer) -> None:
    """No circle of references: while streams are read, nobody looks for those, and they add up."""
    ask(session, server, "plain").result(30)  # what is made once is made
    gc.collect()
    gc.disable()
    try:
        meters = []
        for _ in range(3):
            runs = [ask(session, server, "think") for _ in range(4)]
            meters += [weakref.ref(run._meter) for run in runs]
            assert all(run.result(30) for run in runs)
            del runs
        deadline = time.monotonic() + 20
        while sum(meter() is not None for meter in meters) > 4 and time.monotonic() < deadline:
            time.sleep(0.01)  # the session's thread lets go of them after it has told
        assert sum(meter() is not None for meter in meters) <= 4  # the last one of a connection
    finally:
        gc.enable()


def assert_gone(server: TimingServer) -> None:
    """The server has seen the client of its one request leave: it goes on for nobody."""
    (record,) = server.records(1).values()
    assert "gone" in record, "the connection was not closed"


def test_a_stall_shows_at_once_and_a_stop_ends_it(session: Session, server: TimingServer) -> None:
    server.log()
    run = ask(session, server, "stall")
    text = ""
    deadline = time.monotonic() + 20
    while run.snapshot().chunks < 32 and time.monotonic() < deadline:
        time.sleep(0.02)
    stalled = time.monotonic()
    while (run.snapshot().running_tps or 0) > 0 and time.monotonic() < deadline:
        time.sleep(0.02)
    assert run.snapshot().running_tps == 0
    assert time.monotonic() - stalled < 3
    text += "".join(piece.text for piece in run.drain())
    assert text == " hello" * 32

    asked = time.monotonic()
    run.stop()
    assert run.done.wait(5)
    took = time.monotonic() - asked
    figures = run.result(1)
    assert figures.stopped
    assert figures.partial
    assert took < 1, "a busy machine takes its time, but not that much"
    assert_gone(server)


def test_comments_are_no_life(session: Session, server: TimingServer) -> None:
    endpoint = Endpoint(f"{server.url}/v1", "test")
    request = Request(endpoint, "stall", "comments", timeouts=Timeouts(idle=0.5))
    server.log()
    figures = session.start(request).result(30)
    assert (figures.verdict.cls, figures.verdict.subcode) == ("network", "read_timeout")
    assert figures.evidence.waiting_for == "data"
    assert 0.5 <= figures.evidence.waited_s < 2
    assert figures.partial
    assert figures.chunks == 32
    assert figures.ttft_ms is not None
    assert figures.decode_tps is not None
    assert_gone(server)


def test_many_at_once_are_all_measured(session: Session, server: TimingServer) -> None:
    runs = [ask(session, server, "plain") for _ in range(16)]
    figures = [run.result(60) for run in runs]
    assert {one.completion_tokens for one in figures} == {64}
    assert len({one.content for one in figures}) == 1
