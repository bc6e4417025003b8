"""The preset quality-of-stream against streams whose make is known."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from kvtui.bench.evaluation.findings import findings_of
from kvtui.bench.figures.finding import Finding
from kvtui.bench.figures.summary import levels_of
from kvtui.bench.requests.options import RunOptions
from kvtui.bench.requests.session import Session
from kvtui.bench.running.presets import PRESETS
from kvtui.bench.running.runner import Runner
from kvtui.config import Endpoint, Settings, config_path
from kvtui.stream.request import Request
from tests.wire.timing import TimingServer, timing_server

TTFT, ITL, N = 60, 8, 40


@pytest.fixture(scope="module")
def server() -> Iterator[TimingServer]:
    with timing_server("--ttft", str(TTFT), "--itl", str(ITL), "-n", str(N)) as server:
        yield server


@pytest.fixture(scope="module")
def session() -> Iterator[Session]:
    with Session(RunOptions(base_url="http://127.0.0.1:1", settings=Settings(config_path()))) as s:
        yield s


def findings(session: Session, server: TimingServer, model: str, **more: Any) -> dict[str, Finding]:
    given = {"repeat": 3, "warmup": 0, "max_tokens": (N,), **more}
    workload = PRESETS["quality-of-stream"].build(given, False)
    request = Request(Endpoint(f"{server.url}/v1", "test"), model, "")
    outcome = Runner(session, request, workload).run()
    levels = levels_of(workload, outcome.samples, outcome.health)
    assert [row.completed for row in levels] == [3]
    found = findings_of(workload, levels, outcome.samples, words=None)
    return {finding.code: finding for finding in found}


def test_one_token_a_chunk(session: Session, server: TimingServer) -> None:
    found = findings(session, server, "continuous")
    assert found["tokens_per_chunk"].figures["counts"] == {"1": 3 * N}
    assert found["tokens_per_chunk"].holds
    assert found["gaps"].figures["p50_ms"] == pytest.approx(ITL, rel=0.25)
    assert found["gaps"].figures["n"] == 3 * (N - 1)
    assert found["first_byte"].figures["ttft_ms"] > TTFT - 5
    assert found["first_byte"].figures["headers_before_token_ms"] < 1
    assert found["keep_alives"].figures["keep_alives"] == 0


def test_drafts_that_are_taken_now_and_then(session: Session, server: TimingServer) -> None:
    finding = findings(session, server, "spec")["tokens_per_chunk"]
    assert finding.figures["counts"] == {"1": 12, "2": 12, "3": 12, "4": 12}
    assert finding.figures["mean"] == 2.5
    assert finding.holds is False
    assert "speculative" in finding.message


def test_always_as_many_are_gathered_tokens(session: Session, server: TimingServer) -> None:
    """Four a chunk: without a running count only the mean is known, and no more is said."""
    finding = findings(session, server, "multi")["tokens_per_chunk"]
    assert finding.figures == {"mean": 4.0}
    assert finding.holds is None
    assert "speculative" not in finding.message


def test_chunks_that_a_proxy_joins(session: Session, server: TimingServer) -> None:
    found = findings(session, server, "coalesce")
    assert found["buffering"].figures["counts"] == {"4": 3 * N // 4}
    assert found["buffering"].holds is False
    assert found["gaps"].figures["p50_ms"] == pytest.approx(4 * ITL, rel=0.25)


def test_a_stall_and_its_pings(session: Session, server: TimingServer) -> None:
    found = findings(session, server, "stalls")
    gaps = found["gaps"]
    assert gaps.figures["stalls"] == 3
    assert gaps.figures["longest_ms"] == pytest.approx(500 + ITL, abs=200)
    assert gaps.figures["longest_before_chunk"] == N // 2
    assert gaps.holds is False
    assert found["keep_alives"].figures["keep_alives"] == 6


def test_a_role_chunk_is_no_token(session: Session, server: TimingServer) -> None:
    finding = findings(session, server, "role")["first_byte"]
    figures = finding.figures
    assert TTFT / 4 - 5 < figures["first_event_ms"] < figures["ttft_ms"] - TTFT / 4
    assert "without a token" in finding.message


def test_an_answer_that_came_whole(session: Session, server: TimingServer) -> None:
    found = findings(session, server, "burst")
    assert found["buffering"].figures["buffered"] == 3
    assert found["buffering"].holds is False
    assert found["first_byte"].figures == {}
