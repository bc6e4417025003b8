"""Failures on the screen: copies, reports, history, the wait a server asks for, the doctor."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator
from concurrent.futures import Future
from dataclasses import replace
from types import MappingProxyType
from typing import Any

import pytest
from fakes import EMBEDDED, REMOTE, Script, make_app
from test_screen import AUTH, AUTH_EVIDENCE, at, ready, shown, until
from textual.geometry import Size

from kvtui.config import Endpoint
from kvtui.doctor.steps import TITLES, Step
from kvtui.failure import Evidence, Verdict
from kvtui.ui.look.rows import plain
from kvtui.ui.messages import ServerSaid
from kvtui.ui.screens.doctor import DoctorScreen
from kvtui.ui.screens.picker import PickerScreen
from kvtui.ui.state import ServerKV

KEY = "recognisable-Kq81Zx77Lm20Vb94"
BUSY = Verdict(
    "rate_or_quota",
    "rate_limit",
    "gpu.example allows no more now.",
    ("Wait, then ask again.",),
    retryable=True,
    retry_after_s=75.0,
)
BUSY_EVIDENCE = replace(AUTH_EVIDENCE, status=429, headers={"retry-after": "75"})
SECRET = replace(
    REMOTE,
    endpoint=Endpoint(
        f"https://me:{KEY}@gpu.example/v1",
        "--base-url",
        KEY,
        "VLLM_KEY",
        headers=MappingProxyType({"X-Api-Key": KEY}),
    ),
    notes=(f"The base URL ends before /models: using https://me:{KEY}@gpu.example/v1.",),
)


def failing(verdict: Verdict = AUTH, evidence: Evidence = AUTH_EVIDENCE) -> Script:
    return Script(pieces=[], verdict=verdict, evidence=evidence, finish=None)


def clipboard(app: Any) -> str:
    text: str = app.clipboard
    return text


async def fail(pilot: Any, seconds: float) -> None:
    """Run, and be at the moment when it has failed."""
    await pilot.press("r")
    await at(pilot, seconds)


# --- copies ---------------------------------------------------------------------------------------


async def test_the_request_is_copied_as_curl_with_its_key_as_a_variable() -> None:
    app = make_app(failing(), prepared=SECRET, max_tokens=77)
    async with app.run_test(size=(120, 40)) as pilot:
        await ready(pilot)
        await fail(pilot, 1)
        await pilot.press("u")
        copied = clipboard(app)
    assert copied.startswith("curl -sS -N https://gpu.example/v1/chat/completions")
    assert '"Authorization: Bearer $VLLM_KEY"' in copied
    assert '"X-Api-Key: $X_API_KEY"' in copied
    assert '"max_tokens": 77' in copied


async def test_before_any_run_the_next_request_is_copied() -> None:
    app = make_app(prompt="Say hello.")
    async with app.run_test(size=(80, 24)) as pilot:
        await ready(pilot)
        await pilot.press("u")
        assert '"content": "Say hello."' in clipboard(app)
        assert "Authorization" not in clipboard(app)


async def test_a_report_has_the_evidence_and_the_times() -> None:
    app = make_app(failing(BUSY, BUSY_EVIDENCE), prepared=REMOTE, prompt="a private matter")
    async with app.run_test(size=(80, 24)) as pilot:
        await ready(pilot)
        await pilot.press("R")
        assert clipboard(app) == ""
        await fail(pilot, 1)
        await pilot.press("R")
        copied = clipboard(app)
    for part in ("rate_or_quota.rate_limit", "2026-11-29T12:00:00Z", "kvtui 0.", "retry-after: 75"):
        assert part in copied
    assert "private matter" not in copied


@pytest.mark.parametrize("size", [(80, 24), (200, 50)])
async def test_the_key_is_nowhere_on_the_screen_nor_in_what_is_copied(
    size: tuple[int, int],
) -> None:
    verdict = replace(AUTH, message="gpu.example refused the key.")
    app = make_app(failing(verdict), prepared=SECRET, prompt=f"is {KEY} good?")
    copies = []
    seen = []

    async def look(pilot: Any) -> None:
        await pilot.pause()
        seen.append("\n".join(s.text for s in app.screen._compositor.render_strips()))

    async with app.run_test(size=size) as pilot:
        main = await ready(pilot)
        main.stream.prompt.display = False  # the prompt is the user's own text, shown as typed
        await fail(pilot, 1)
        for key in ("u", "Y", "R"):
            await pilot.press(key)
            copies.append(clipboard(app))
            await look(pilot)
        await pilot.press("o")
        await look(pilot)
        await pilot.press("y")
        copies.append(clipboard(app))
        await pilot.press("escape", "3")
        await look(pilot)
    for text in (*copies, *seen, repr(main.conductor.errors)):
        assert KEY not in text
        assert KEY[:14] not in text


# --- history --------------------------------------------------------------------------------------


async def test_older_failures_can_be_looked_at_and_repeats_are_folded() -> None:
    busy = [
        failing(replace(BUSY, message=f"gpu.example allows no more for {s} s."), BUSY_EVIDENCE)
        for s in (20, 15)
    ]
    app = make_app(failing(), *busy, prepared=REMOTE)
    async with app.run_test(size=(120, 40)) as pilot:
        main = await ready(pilot)
        for number in (1, 2, 3):
            await fail(pilot, number * 100)
        assert [f.times for f in main.conductor.errors.failures] == [2, 1]
        assert "for 15 s" in shown(main.errors)
        assert "[ older" in shown(main.errors)
        await pilot.press("left_square_bracket")
        assert "AUTH" in shown(main.errors)
        assert "2 of 2" in shown(main.errors)
        assert "It ends with a space" in shown(main.errors)
        await pilot.press("Y")
        assert "refused the key" in clipboard(app)
        await pilot.press("left_square_bracket")  # there is none before
        assert "2 of 2" in shown(main.errors)
        await pilot.press("right_square_bracket")
        assert "for 15 s" in shown(main.errors)
        await pilot.press("left_square_bracket")
        await fail(pilot, 400)  # a new one is shown at once
        assert "2 of 2" not in shown(main.errors)
        assert main.conductor.errors.selected.times == 3


# --- the wait -------------------------------------------------------------------------------------


async def test_the_wait_counts_down_on_the_one_timer_and_lets_it_rest() -> None:
    app = make_app(failing(BUSY, BUSY_EVIDENCE), Script(), prepared=REMOTE)
    async with app.run_test(size=(120, 40)) as pilot:
        main = await ready(pilot)
        await fail(pilot, 10)
        assert "1:15 to wait" in shown(main.errors)
        assert main.parts.frames.timer._active.is_set()
        await at(pilot, 75.5)
        assert "0:10 to wait" in shown(main.errors)
        assert not main.conductor.running  # nothing asks again by itself
        await at(pilot, 86)
        assert "the wait is over" in shown(main.errors)
        assert not main.parts.frames.timer._active.is_set()
        assert len(app.fake.session.started) == 1


async def test_r_need_not_wait() -> None:
    app = make_app(failing(BUSY, BUSY_EVIDENCE), Script(), prepared=REMOTE)
    async with app.run_test(size=(80, 24)) as pilot:
        main = await ready(pilot)
        await fail(pilot, 1)
        assert "1:15 to wait" in shown(main.errors)
        await pilot.press("r")
        assert main.conductor.running
        assert "to wait" not in shown(main.errors)
        await at(pilot, 20)
        assert main.conductor.errors.last_ok or main.conductor.errors.counts
        assert "to wait" not in shown(main.errors)
        assert not main.parts.frames.timer._active.is_set()


async def test_a_wait_of_days_is_not_counted_down() -> None:
    app = make_app(failing(replace(BUSY, retry_after_s=86_400.0), BUSY_EVIDENCE), prepared=REMOTE)
    async with app.run_test(size=(80, 24)) as pilot:
        main = await ready(pilot)
        await fail(pilot, 1)
        assert "to wait" not in shown(main.errors)
        assert not main.parts.frames.timer._active.is_set()


async def test_what_was_changed_on_the_way_is_said_once() -> None:
    app = make_app(prepared=REMOTE)
    said: list[str] = []
    async with app.run_test(size=(120, 40)) as pilot:
        main = await ready(pilot)
        main.notify = lambda sentence, **_: said.append(sentence)
        for number in (1, 2):
            await pilot.press("enter")
            app.fake.session.started[-1].notes = ("The server refused stream_options.",)
            await at(pilot, number * 20)
        assert said == ["The server refused stream_options."]
        assert "hint: The server refused" in shown(main.errors)


async def test_r_asks_a_server_again_that_would_not_name_its_models() -> None:
    refused = replace(REMOTE, model=None, verdict=AUTH, evidence=AUTH_EVIDENCE)
    app = make_app(prepared=refused)
    answers: list[Future[Any]] = []

    def prepare(*, unbidden: bool = False) -> Future[Any]:
        assert not unbidden
        answers.append(Future())
        return answers[-1]

    async with app.run_test(size=(120, 40)) as pilot:
        main = await ready(pilot)
        app.fake.session.prepare = prepare
        assert main.conductor.errors.failed == 1
        await pilot.press("r", "r")
        assert len(answers) == 1
        assert main.conductor.waiting
        answers[0].set_result(refused)
        await until(pilot, lambda: main.conductor.errors.latest.times == 2)
        await pilot.pause()
        assert len(answers) == 1  # nothing asks again by itself
        assert not main.conductor.running
        await pilot.press("r")
        answers[1].set_result(REMOTE)
        await until(pilot, lambda: main.conductor.running)
        assert app.fake.session.started[0].request.model == REMOTE.model


async def test_the_first_enter_asks_another_machine_for_its_models() -> None:
    app = make_app(prepared=replace(REMOTE, model=None, models=()))
    answers: list[Future[Any]] = []

    def prepare(*, unbidden: bool = False) -> Future[Any]:
        answers.append(Future())
        return answers[-1]

    async with app.run_test(size=(120, 40)) as pilot:
        main = await ready(pilot)
        app.fake.session.prepare = prepare
        assert main.conductor.endpoint.ready
        await pilot.press("enter")
        answers[0].set_result(replace(REMOTE, model=None, models=()))  # it names none
        await until(pilot, lambda: main.conductor.prepared is not None)
        await pilot.pause()
        assert not main.conductor.waiting
        assert len(answers) == 1
        await pilot.press("M")
        answers[1].set_result(replace(REMOTE, model=None, models=("a", "b")))
        await until(pilot, lambda: isinstance(app.screen, PickerScreen))
        assert not main.conductor.running


# --- the doctor -----------------------------------------------------------------------------------


def steps(*failed: str) -> list[Step]:
    return [
        Step(name, "failed", "401", 12.0, (), AUTH, AUTH_EVIDENCE)
        if name in failed
        else Step(name, "ok", f"{name} is well", 3.4)
        for name in TITLES
    ]


async def test_the_doctor_is_a_checklist_that_fills_in(monkeypatch: pytest.MonkeyPatch) -> None:
    go = threading.Event()

    async def examine(case: Any) -> AsyncIterator[Step]:
        assert case.endpoint.model == REMOTE.model
        for index, step in enumerate(steps("key")):
            if index == 3:
                while not go.wait(0.001):
                    pass
            yield step

    monkeypatch.setattr("kvtui.doctor.checkup.examine", examine)
    app = make_app(prepared=REMOTE)
    async with app.run_test(size=(120, 40)) as pilot:
        await ready(pilot)
        await pilot.press("D")
        screen = app.screen
        assert isinstance(screen, DoctorScreen)
        await until(pilot, lambda: len(screen.steps) == 3)
        await pilot.pause()
        text = shown(screen.list)
        assert "✓ Base URL" in text
        assert "◉ TCP" in text
        assert "○ Stream" in text
        go.set()
        await until(pilot, lambda: screen.over)
        await pilot.pause()
        text = shown(screen.list)
        assert "✗ Key" in text
        assert text.count("refused the key in VLLM_KEY") == 1
        assert "1 It ends with a space" in text
        assert "1 of 11 failed" in str(screen.query_one("#doctor").border_subtitle)
        await pilot.press("y")
        assert "✗ Key" in clipboard(app)
        assert "1 It ends with a space" in clipboard(app)
        await pilot.press("escape")
        await until(pilot, lambda: app.screen is app.main)


async def test_a_step_told_after_a_layout_that_the_list_still_waits_for_is_laid_out(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The order of a busy moment: told, measured since the screen opens, told again, no more."""

    async def examine(case: Any) -> AsyncIterator[Step]:
        for step in steps()[:1]:
            yield step
        await asyncio.Event().wait()

    monkeypatch.setattr("kvtui.doctor.checkup.examine", examine)
    app = make_app(prepared=REMOTE)
    async with app.run_test(size=(120, 60)) as pilot:
        await ready(pilot)
        await pilot.press("D")
        screen = app.screen
        assert isinstance(screen, DoctorScreen)
        await until(pilot, lambda: len(screen.steps) == 1)
        await pilot.pause()
        told = [replace(step, notes=("a note of its own",) * 3) for step in steps()[1:3]]
        screen.on_doctor_screen_told(screen.Told(told[0]))
        screen._refresh_layout(Size(110, 60))
        screen.on_doctor_screen_told(screen.Told(told[1]))
        await pilot.pause()
        await until(pilot, lambda: screen.list.size.height == len(TITLES) + 6)


async def test_the_first_failure_is_in_sight_on_a_small_screen(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    long = tuple(f"note {number} of a step that has much to say " * 4 for number in range(9))

    async def examine(case: Any) -> AsyncIterator[Step]:
        for step in steps("key", "stream"):
            yield replace(step, notes=long) if step.name == "settings" else step

    monkeypatch.setattr("kvtui.doctor.checkup.examine", examine)
    app = make_app(prepared=REMOTE)
    async with app.run_test(size=(80, 24)) as pilot:
        await ready(pilot)
        await pilot.press("D")
        screen = app.screen
        assert isinstance(screen, DoctorScreen)
        await until(pilot, lambda: screen.over)
        await pilot.pause()

        def seen() -> str:
            strips = screen._compositor.render_strips()
            return "\n".join(strip.text for strip in strips)

        await until(pilot, lambda: "✗ Key" in seen(), seconds=30)
        assert "1 It ends with a space" in seen()
        assert "✓ Settings" not in seen()
        await pilot.press("home")
        await until(pilot, lambda: "✓ Settings" in seen(), seconds=30)
        await pilot.press("end")
        await until(pilot, lambda: "✓ Token count" in seen(), seconds=30)
        assert app.fake.session.settled == []  # the stream failed: nothing was learnt


async def test_what_the_doctor_was_not_refused_is_learnt(monkeypatch: pytest.MonkeyPatch) -> None:
    async def examine(case: Any) -> AsyncIterator[Step]:
        for step in steps():
            yield replace(step, refused=("stream_options",)) if step.name == "stream" else step

    monkeypatch.setattr("kvtui.doctor.checkup.examine", examine)
    app = make_app(prepared=REMOTE)
    async with app.run_test(size=(80, 24)) as pilot:
        await ready(pilot)
        await pilot.press("D")
        await until(pilot, lambda: app.screen.over)
    assert app.fake.session.settled == [(REMOTE.endpoint.base_url, ("stream_options",))]


async def test_leaving_the_doctor_ends_it(monkeypatch: pytest.MonkeyPatch) -> None:
    import asyncio

    ended = threading.Event()

    async def examine(case: Any) -> AsyncIterator[Step]:
        yield steps()[0]
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()

    monkeypatch.setattr("kvtui.doctor.checkup.examine", examine)
    app = make_app(prepared=REMOTE)
    async with app.run_test(size=(80, 24)) as pilot:
        await ready(pilot)
        await pilot.press("D")
        screen = app.screen
        assert isinstance(screen, DoctorScreen)
        await until(pilot, lambda: len(screen.steps) == 1)
        await pilot.press("escape")
        await until(pilot, lambda: app.screen is app.main)
        await until(pilot, ended.is_set)
        screen.examination.thread.join(5)
        assert not screen.examination.thread.is_alive()


async def test_the_doctor_does_not_disturb_a_stream() -> None:
    app = make_app(prepared=REMOTE)
    async with app.run_test(size=(80, 24)) as pilot:
        main = await ready(pilot)
        await pilot.press("enter", "D")
        assert app.screen is main


# --- the server's own figure ----------------------------------------------------------------------

VLLM = ServerKV(0.123, 2_345, 19_072, None, 3, 1, "vllm:kv_cache_usage_perc")


@pytest.mark.parametrize("size", [(80, 24), (120, 40), (200, 50)])
async def test_the_servers_own_figure_stands_beside_the_estimate(size: tuple[int, int]) -> None:
    app = make_app(prepared=REMOTE)
    async with app.run_test(size=size) as pilot:
        main = await ready(pilot)
        before = shown(main.memory_pane)
        assert "server" not in before
        main.post_message(ServerSaid(VLLM))
        await pilot.pause()
        text = shown(main.memory_pane)
        assert "12.3 %" in text
        assert "2,345" in text
        if size[0] >= 120:
            assert "server now" in text
            assert "2,345 / 19,072 tok" in text
            assert "vllm:kv_cache_usage_perc" in text
            assert "3 run" in text
            assert "1 wait" in text
        main.post_message(ServerSaid(None))
        await pilot.pause()
        assert shown(main.memory_pane) == before


async def test_beside_an_as_if_of_the_engine_it_is_left_out() -> None:
    app = make_app(prepared=EMBEDDED)
    async with app.run_test(size=(120, 40)) as pilot:
        main = await ready(pilot)
        main.post_message(ServerSaid(ServerKV(0.1, 100, 2048, 409_600, 1, 0, "kvtui:x")))
        await pilot.pause()
        assert "400.00 KiB" in shown(main.memory_pane) or "0.39 MiB" in shown(main.memory_pane)
        await pilot.press("w")
        assert "server now" not in shown(main.memory_pane)


class FakeWatch:
    """Keeps what it was asked to do."""

    def __init__(self) -> None:
        self.calls: list[str] = []

    def watch(self, endpoint: Endpoint) -> None:
        self.calls.append(f"watch {endpoint.base_url}")

    def wake(self, now: float, *, soon: bool = False) -> None:
        self.calls.append("wake")

    def stop(self) -> None:
        self.calls.append("stop")


@pytest.mark.parametrize(
    ("prepared", "at_once"),
    [
        (REMOTE, False),
        (EMBEDDED, True),
        (replace(REMOTE, endpoint=Endpoint("http://localhost:8000/v1", "test")), True),
    ],
)
async def test_no_other_machine_is_asked_before_a_key(prepared: Any, at_once: bool) -> None:
    app = make_app(prepared=prepared, late=True)
    watch = FakeWatch()
    async with app.run_test(size=(80, 24)) as pilot:
        main = app.main
        await until(pilot, lambda: main.conductor is not None and main.memory is not None)
        main.opened.server = watch
        app.fake.arrive()
        await ready(pilot)
        asked = f"watch {prepared.endpoint.base_url}"
        assert watch.calls == ([asked] if at_once else [])
        await pilot.press("enter")
        assert watch.calls[-1 if not at_once else 0].startswith("w")
        assert asked in watch.calls
        await at(pilot, 0.5)
        assert "wake" in watch.calls
    assert watch.calls[-1] == "stop"


def test_rows_are_plain_for_the_doctor_whatever_a_server_says() -> None:
    from kvtui.ui.draw.doctor import doctor_rows

    hostile = replace(steps()[0], detail="\x1b]0;title\x07 [bold]x[/] \x9b31m")
    text = "\n".join(plain(line) for line in doctor_rows([hostile], 80))
    assert not any(ord(char) < 32 and char != "\n" for char in text)
    assert "\x9b" not in text
