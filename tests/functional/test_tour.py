"""The tour: it plays on the embedded engine alone, says what was measured, and changes nothing."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from fakes import CUT, EMBEDDED, REMOTE, Clock, FakeRun, FakeSession, Script, make_app
from rich.cells import cell_len
from test_inert import on_screen
from test_screen import AUTH, AUTH_EVIDENCE, at, ready, until

from kvtui.failure import Verdict
from kvtui.stream.request import Request
from kvtui.ui.messages import EndpointReady
from kvtui.ui.screens.tour import begin
from kvtui.ui.screens.tour.screen import TourScreen
from kvtui.ui.tour.facts import Facts
from kvtui.ui.tour.script import TourError, parse_steps, steps


def answer(first: float, gap: float, prompt: int = 19) -> Script:
    pieces = [(first + gap * n, "content", "word ") for n in range(96)]
    return Script(pieces=pieces, prompt_tokens=prompt, verdict=CUT)


def failing(verdict: Verdict) -> Script:
    return Script(pieces=[], verdict=verdict, evidence=AUTH_EVIDENCE, finish=None)


SCRIPTS = (answer(0.04, 0.005), answer(0.04, 0.05), answer(0.4, 0.0052, 900), failing(AUTH))


async def begun(pilot: Any, session: Any) -> TourScreen:
    """The tour's screen, its engine ready."""
    app = pilot.app
    await until(pilot, lambda: isinstance(app.screen, TourScreen))
    app.screen.post_message(EndpointReady(EMBEDDED))
    await until(pilot, lambda: app.screen.conductor.endpoint.ready and bool(session.started))
    await pilot.pause()
    screen = app.screen
    assert isinstance(screen, TourScreen)
    return screen


async def over(pilot: Any, screen: TourScreen) -> None:
    """The run of this step has ended."""
    clock = pilot.app.fake.clock
    clock.now += 60
    screen.parts.frames.tick()
    await pilot.pause()


@pytest.mark.parametrize("size", [(80, 24), (120, 40), (200, 50)])
async def test_it_runs_says_what_was_measured_and_leaves_no_trace(size: tuple[int, int]) -> None:
    app = make_app(*SCRIPTS)
    async with app.run_test(size=size) as pilot:
        main = await ready(pilot)
        await pilot.press("k", "d", "b")
        form, users, text = main.conductor.form, main.memory.users, len(main.stream.text.history)
        await pilot.press("f2")
        screen = await begun(pilot, app.fake.session)
        assert screen.conductor is not main.conductor
        assert "Tour 1/15" in on_screen(app)
        await over(pilot, screen)
        assert "19 prompt tokens in 40.0 ms" in screen.panel.shown[3]
        await pilot.press("enter")
        assert app.fake.session.started[-1].request.kv_cache is False
        await over(pilot, screen)
        assert "20.0 tok/s without the cache, 200 with it: 10× as fast" in screen.panel.shown[3]
        await pilot.press("right")
        await over(pilot, screen)
        assert "47× as long: TTFT went from 40.0 ms to 400 ms" in screen.panel.shown[3]
        assert "about the same" in screen.panel.shown[3]
        await pilot.press("right")
        assert "1.00 GiB for one sequence" in screen.panel.shown[3]
        await pilot.press("right")
        assert "10.00 GiB" in screen.panel.shown[3]
        assert screen.memory_pane.state.users == 10
        await pilot.press("right")
        for figure in ("10.00 GiB with MHA", "1.25 GiB", "160.00 MiB with MQA"):
            assert figure in screen.panel.shown[3]
        await pilot.press("right")
        assert "Were 8 GiB left, 8 would fit" in screen.panel.shown[3]
        await pilot.press("right")
        assert app.fake.session.started[-1].request.model == "demo-auth"
        await over(pilot, screen)
        assert screen.panel.shown[3].startswith("AUTH")
        assert len(screen.panel.draw(screen.size.width, 9)) <= screen.panel.size.height
        await pilot.press("left")
        assert screen.step.title == "Sizing a card"
        await pilot.press("escape")
        await pilot.pause()
        assert app.screen is main
        assert (main.conductor.form, main.memory.users) == (form, users)
        assert len(main.stream.text.history) == text
        assert not main.conductor.errors.failures
        assert not app.fake.session.closed  # it is the user's


async def test_over_a_paid_endpoint_only_the_embedded_engine_is_asked(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    app = make_app(prepared=REMOTE)
    own = FakeSession(app.fake.clock, *SCRIPTS)
    monkeypatch.setattr(begin, "_embedded_session", lambda: own)
    async with app.run_test(size=(120, 40)) as pilot:
        await ready(pilot)
        await pilot.press("f2")
        screen = await begun(pilot, own)
        for _ in steps():
            await over(pilot, screen)
            await pilot.press("enter")
            await pilot.pause()
        await until(pilot, lambda: app.screen is app.main)
        assert not app.fake.session.started
        assert len(own.started) == sum(step.run is not None for step in steps())
        assert all(run.request.endpoint.embedded for run in own.started)
        await until(pilot, lambda: own.closed)


async def test_going_on_while_a_run_is_on_its_way_stops_it_first() -> None:
    app = make_app(*SCRIPTS)
    async with app.run_test(size=(120, 40)) as pilot:
        await ready(pilot)
        await pilot.press("f2")
        screen = await begun(pilot, app.fake.session)
        await at(pilot, 0.2)
        await pilot.press("enter")
        screen.parts.frames.tick()
        await pilot.pause()
        assert app.fake.session.started[0].stopped_at is not None
        assert len(app.fake.session.started) == 2
        assert screen.panel.shown[0] == 2
        await over(pilot, screen)
        assert "with it" not in screen.panel.shown[3]  # the run before was not finished


async def test_the_flag_begins_it_and_a_running_stream_does_not() -> None:
    app = make_app(*SCRIPTS, tour=True)
    async with app.run_test(size=(80, 24)) as pilot:
        await until(pilot, lambda: isinstance(app.screen, TourScreen))
        await pilot.press("escape")
        await pilot.pause()
        assert app.screen is app.main
        await pilot.press("enter", "f2")
        await pilot.pause()
        assert app.screen is app.main
        assert app._notifications


# --- the script -----------------------------------------------------------------------------------


def test_every_text_fits_under_the_panes_at_80_columns() -> None:
    for step in steps():
        for text in (step.watch, *(each.template for each in step.say)):
            assert cell_len(text) <= 3 * 72, text


def test_without_any_figure_every_step_says_something() -> None:
    for step in steps():
        assert "{" not in step.said(Facts())
        assert step.said(Facts()) or step.say[-1].names()


def test_every_kind_of_failure_of_the_engine_is_shown() -> None:
    from kvtui.engine.server.demo import DEMO_MODELS

    asked = [step.run.model for step in steps() if step.run is not None and step.run.model]
    assert sorted(asked) == sorted(DEMO_MODELS)


GOOD: dict[str, Any] = {"title": "t", "say": ["always"]}


@pytest.mark.parametrize(
    "wrong",
    [
        {"sya": []},
        {"say": []},
        {"say": [{"text": "x", "if": ["cache_pays"]}]},
        {"say": ["{nonsense}", "x"]},
        {"say": [{"text": "x", "if": ["nonsense"]}, "x"]},
        {"say": [{"txt": "x"}]},
        {"run": {"label": "on", "prompt": "p"}},
        {"run": {"label": "nope", "prompt": "p", "max_tokens": 1}},
        {"memory": {"model": "m", "colour": "red"}},
    ],
)
def test_a_wrong_step_is_refused_by_name(wrong: dict[str, Any]) -> None:
    with pytest.raises(TourError, match="t"):
        parse_steps({"step": [{**GOOD, **wrong}]})


def test_figures_of_a_failed_or_stopped_run_are_none() -> None:
    facts = Facts()
    clock = Clock()
    request = Request(endpoint=EMBEDDED.endpoint, model="kvtui-tiny", prompt="p")
    run = FakeRun(answer(0.04, 0.005), clock, request)
    clock.now = 60
    facts.ran("on", replace(run.result(), stopped=True))
    assert facts.figures() == {}
    facts.ran("on", run.result())
    assert facts.figures()["on_tps"] == "200"
    assert not facts.holds("cache_pays")


@pytest.mark.parametrize(
    ("before", "after", "said", "unsaid"),
    [(0.02, 0.03, "each step reads a longer cache", "rose"), (0.03, 0.02, "rose", "longer cache")],
)
def test_a_rate_that_rose_is_not_explained_by_a_longer_cache(
    before: float, after: float, said: str, unsaid: str
) -> None:
    facts = Facts()
    for label, first, gap, prompt in (("on", 0.04, before, 19), ("long", 0.4, after, 700)):
        clock = Clock()
        request = Request(endpoint=EMBEDDED.endpoint, model="kvtui-tiny", prompt="p")
        run = FakeRun(answer(first, gap, prompt), clock, request)
        clock.now = 60
        facts.ran(label, run.result())
    step = next(step for step in steps() if step.run is not None and step.run.label == "long")
    assert said in step.said(facts)
    assert unsaid not in step.said(facts)


@pytest.mark.parametrize(("limit", "said"), [(4096, "the model has 4,096"), (32768, "or one")])
def test_the_longest_context_is_told_with_the_models_own_limit(limit: int, said: str) -> None:
    from kvtui.ui.memory import MemoryView

    view = MemoryView()
    view.choose_model("Llama-2-7B")
    view.choose_card("24GB")
    facts = Facts()
    facts.shows(replace(view.state(), model_context=limit))
    step = next(step for step in steps() if step.title == "Sizing a card")
    assert said in step.said(facts)
