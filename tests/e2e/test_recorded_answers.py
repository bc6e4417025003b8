"""Every recorded answer read and judged right, through the session as the commands use it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from kvtui.bench.figures.sample import sample_of
from kvtui.bench.records.playback import recordings
from kvtui.bench.records.recorder import Recorder, header_of, secrets_of
from kvtui.bench.requests.document import run_object
from kvtui.bench.requests.options import RunOptions
from kvtui.bench.requests.prepared import Prepared
from kvtui.bench.requests.run import Run
from kvtui.bench.requests.session import Session
from kvtui.bench.work.workload import Spec, expand
from kvtui.config import Endpoint, Settings, config_path
from kvtui.measure.buffering import LATE_S
from kvtui.measure.figures import RunFigures
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
def test_answer(number: int, replay: str, session: Session, tmp_path: Path) -> None:
    case = ANSWERS[number]
    expect = case["expect"]
    endpoint = Endpoint(f"{replay}/{number}/v1", "test", api_key=KEY, key_from="TEST_KEY")
    body = {"stream": False} if case.get("stream") is False else {}
    request = Request(endpoint, "m", "Hi", extra_body=body, timeouts=TIMEOUTS)

    run = session.start(request, keep_pieces=False, keep_events=True)
    figures = run.result(20)

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
    replayed(run, figures, tmp_path)


def replayed(run: Run, figures: RunFigures, folder: Path) -> None:
    """Written to a record and played again, the request gives the figures that it gave."""
    sample = sample_of(
        figures, run.stamps(), 0.0, stage=0, index=0, warmup=False, segment=0, late_ms=None
    )
    endpoint = run.request.endpoint
    prepared = Prepared(endpoint, "m")
    workload = expand(Spec(prompts=("Hi",), requests=1), "run")
    recorder = Recorder(folder / "r.jsonl", secrets_of(prepared, run.request))
    recorder.create(header_of(prepared, run.request, workload, "n", "run"))
    recorder.request(sample, run.kept())
    recorder.close()
    assert KEY not in recorder.path.read_text()
    (recording,) = recordings(recorder.path)
    before, after = run_object(figures), run_object(recording.figures())
    for table in (before, after):
        table.pop("formula")  # rounded numbers in words
        if (figures.loop_lag_ms or 0) / 1000 >= LATE_S:
            table.pop("hints")  # the machine was busy: what is said of that rests on single reads
    for name, value in before.items():  # stamps are kept to the microsecond
        if name.endswith("_tps") and value:
            before[name] = pytest.approx(value, rel=0.002 / (before["e2e_ms"] or 1) + 0.05)
        elif isinstance(value, float):
            step = 0.021 * value if name.startswith("itl_") else 0.0  # gaps are counted in steps
            before[name] = pytest.approx(value, abs=0.003 + step)
    assert after == before
