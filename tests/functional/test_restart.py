"""The embedded engine's process is killed: one restart, a run that waits for it, fit advice."""

from __future__ import annotations

import threading
from concurrent.futures import Future
from types import SimpleNamespace
from typing import Any

import pytest
from fakes import GEOMETRY, SETTINGS, Script, make_app
from test_screen import at, ready

from kvtui.bench.requests.options import RunOptions
from kvtui.bench.requests.session import Session
from kvtui.engine.child import EngineChild
from kvtui.failure import Evidence, ExceptionFact, Verdict, classify

LOST = Verdict("network", "stream_interrupted", "The connection broke.")
CUT_OFF = Script(
    pieces=[(0.05, "content", "half")], verdict=LOST, evidence=Evidence(embedded=True), finish=None
)


async def test_a_run_during_the_restart_waits_for_it(monkeypatch: pytest.MonkeyPatch) -> None:
    app = make_app(CUT_OFF, Script())
    async with app.run_test(size=(120, 40)) as pilot:
        main = await ready(pilot)
        session = app.fake.session
        asked: list[Future[Any]] = []

        def prepare(*, unbidden: bool = False) -> Future[Any]:
            asked.append(Future())
            return asked[-1]

        monkeypatch.setattr(session, "prepare", prepare)
        await pilot.press("enter")
        await at(pilot, 1)
        assert len(asked) == 1
        await pilot.press("enter", "enter", "r")
        await at(pilot, 2)
        assert len(asked) == 1
        assert len(session.started) == 1  # nothing was sent to the process that is gone
        assert main.conductor is not None
        assert main.conductor.waiting
        app.fake.arrive()
        await pilot.pause()
        await at(pilot, 3)
        assert len(session.started) == 2
        assert len(asked) == 1


def test_two_that_ask_at_once_get_one_engine(monkeypatch: pytest.MonkeyPatch) -> None:
    go, begun = threading.Event(), threading.Event()
    started: list[Any] = []

    def start(*_: object, **__: object) -> Any:
        begun.set()
        assert go.wait(20)
        started.append(
            SimpleNamespace(
                alive=True,
                base_url="http://127.0.0.1:1/v1",
                model_id="kvtui-tiny",
                geometry=GEOMETRY,
                pid=len(started),
                stop=lambda: None,
            )
        )
        return started[-1]

    monkeypatch.setattr(EngineChild, "start", start)
    with Session(RunOptions(settings=SETTINGS)) as session:
        both = [session.prepare(), session.prepare()]
        assert begun.wait(20)
        both.append(session.prepare())
        go.set()
        assert {prepared.result(20).engine_pid for prepared in both} == {0}
    assert len(started) == 1


@pytest.mark.parametrize("port", [8000, 8080, 11434, 1234, 40123])
def test_nobody_is_told_to_start_the_embedded_engine(port: int) -> None:
    host = f"127.0.0.1:{port}"
    evidence = Evidence(
        phase="connect",
        url=f"http://{host}/v1/chat/completions",
        host=host,
        base_url=f"http://{host}/v1",
        embedded=True,
        exceptions=(ExceptionFact("ConnectionRefusedError", "[Errno 111] Connection refused"),),
        waiting_for="connect",
    )
    verdict = classify(evidence)
    assert verdict.subcode == "connection_refused"
    said = " ".join((verdict.message, *verdict.fixes))
    assert "start the server" not in said.lower()
    assert "Start" not in said
    assert "by itself" in verdict.fixes[0]
