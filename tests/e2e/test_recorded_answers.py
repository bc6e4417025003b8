"""Every recorded answer read and judged right, through the session as the commands use it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from kvtui.bench.options import RunOptions
from kvtui.bench.session import Session
from kvtui.config import Endpoint, Settings, config_path
from kvtui.stream.request import Request, Timeouts
from tests.wire.replay_server import ANSWERS, repeated, replay_server

KEY = "sk-fixture-0123456789abcdefghij"
TIMEOUTS = Timeouts(connect=10, headers=1.0, first_token=1.0, idle=1.0)


@pytest.fixture(scope="module")
def replay() -> Iterator[str]:
    with replay_server() as url:
        yield url


@pytest.fixture(scope="module")
def session(replay: str) -> Iterator[Session]:
    options = RunOptions(base_url=replay, model="m", settings=Settings(config_path()))
    with Session(options) as session:
        yield session


@pytest.mark.parametrize("number", range(len(ANSWERS)), ids=[case["name"] for case in ANSWERS])
def test_answer(number: int, replay: str, session: Session) -> None:
    case = ANSWERS[number]
    expect = case["expect"]
    endpoint = Endpoint(f"{replay}/{number}/v1", "test", api_key=KEY, key_from="TEST_KEY")
    body = {"stream": False} if case.get("stream") is False else {}
    request = Request(endpoint, "m", "Hi", extra_body=body, timeouts=TIMEOUTS)

    figures = session.start(request, keep_pieces=False).result(20)

    verdict = figures.verdict
    assert f"{verdict.cls}.{verdict.subcode}" == expect["outcome"]
    assert figures.finish_reason == expect.get("finish_reason")
    assert figures.content == repeated(expect.get("content", ""))
    assert figures.reasoning == expect.get("reasoning", "")
    assert figures.completion_tokens == expect.get("completion_tokens")
    assert figures.first_token == expect.get("first_token", "none")
    assert verdict.retryable == expect.get("retryable", False)
    assert figures.partial == verdict.is_failure
    assert KEY not in repr(figures)
    if expect.get("first_token", "none") == "none":
        assert figures.ttft_ms is None
        assert figures.decode_tps is None
