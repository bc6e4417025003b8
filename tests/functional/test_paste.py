"""Pasting: text whatever it holds, as much as stays fluent, the rest refused in words."""

from __future__ import annotations

import sys
import time
from itertools import pairwise
from types import SimpleNamespace
from typing import Any

import pytest
from fakes import make_app
from hypothesis import given, settings
from hypothesis import strategies as st
from test_screen import at, ready
from textual import events
from textual._xterm_parser import XTermParser

from kvtui.ui.terminal import paste
from kvtui.ui.terminal.paste import LONGEST, gated, guard_pastes
from kvtui.ui.widgets.editor import PromptArea

MIXED = ("x\x1b[31m \u202e 漢字 " * 20 + "\n") * 2800
START, END = "\x1b[200~", "\x1b[201~"


async def editor(pilot: Any) -> PromptArea:
    await ready(pilot)
    await pilot.press("e")
    await pilot.pause()
    return pilot.app.screen.query_one(PromptArea)  # type: ignore[no-any-return]


def parsed(*parts: str) -> list[Any]:
    parser = gated(XTermParser)()
    return [event for part in parts for event in parser.feed(part)]


@pytest.mark.parametrize(
    "text",
    [MIXED, "word " * 200_000, "漢" * 300_000, "\n" * 300_000, "👩\u200d👩" * 90_000],
    ids=["mixed", "one line", "wide", "lines", "emoji"],
)
async def test_a_flood_is_cut_said_and_leaves_the_screen_fluent(text: str) -> None:
    app = make_app()
    async with app.run_test(size=(120, 40)) as pilot:
        area = await editor(pilot)
        began = time.process_time()
        for event in parsed(START + text + END):
            area.post_message(event)
        await pilot.pause()
        await pilot.press("z")
        assert time.process_time() - began < 3  # minutes, before
        assert len(area.text) == LONGEST + 1
        assert area.text.endswith("z")
        assert not set(area.text) & set("\x1b\u202e")
        assert any("--prompt-file" in note.message for note in app._notifications)
        await pilot.press("ctrl+v")
        assert len(area.text) == LONGEST + 1


async def test_a_short_paste_goes_where_the_cursor_is() -> None:
    app = make_app(prompt="ab")
    async with app.run_test(size=(120, 40)) as pilot:
        area = await editor(pilot)
        area.move_cursor((0, 1))
        area.post_message(events.Paste("1\r\n2"))
        await pilot.pause()
        assert area.text == "a1\n2b"
        assert area.cursor_location == (1, 1)
        assert not app._notifications


async def test_a_preset_prompt_too_long_to_edit_is_sent_whole() -> None:
    prompt = "漢字 " * 200_000
    app = make_app(prompt=prompt)
    async with app.run_test(size=(120, 40)) as pilot:
        area = await editor(pilot)
        assert area.read_only
        assert len(area.text) < 5000
        note = str(app.screen.query_one("#field-note").render())
        assert "600,000 characters, sent whole" in note
        area.post_message(events.Paste("more"))
        await pilot.press("x", "q", "enter")
        await at(pilot, 0.5)
        assert app.fake.session.started[0].request.prompt == prompt


TEXT = "quit, then K or q!\rmore\r\nand\tmore "


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    now = [100.0]
    monkeypatch.setattr(paste, "monotonic", lambda: now[0])
    return now


def test_a_paste_without_brackets_is_text_to_its_last_letter(clock: list[float]) -> None:
    parser = gated(XTermParser)()
    found = list(parser.feed(TEXT))
    for tail in ("q", "\r", "漢"):  # reads cut it anywhere
        clock[0] += 0.2
        found += parser.feed(tail)
    assert [event.text for event in found] == [TEXT.replace("\r\n", "\n").replace("\r", "\n"),
                                               "q", "\n", "漢"]  # fmt: skip
    clock[0] += 0.3
    assert [event.key for event in parser.feed("q")] == ["q"]


@pytest.mark.parametrize(
    "typed", ["q", "hello wor", "k" * 500, "jkjkjkjkjkjkjk", "\x1b[A" * 40, "\x03", "\r",
              "\x1b[<35;10;12M" * 30], ids=repr,
)  # fmt: skip
def test_typing_held_keys_and_sequences_are_keys(clock: list[float], typed: str) -> None:
    assert not any(isinstance(event, events.Paste) for event in parsed(typed))


def test_a_flood_without_brackets_is_cut_like_any_paste(clock: list[float]) -> None:
    parser = gated(XTermParser)()
    began = time.process_time()
    found = [event for _ in range(500) for event in parser.feed("word by word " * 300)]
    assert time.process_time() - began < 3
    assert all(isinstance(event, events.Paste) for event in found)
    assert sum(len(event.text) for event in found) == LONGEST + 1


async def test_pasted_where_no_field_is_nothing_is_run() -> None:
    app = make_app()
    async with app.run_test(size=(120, 40)) as pilot:
        main = await ready(pilot)
        for event in parsed(TEXT):
            main.stream.text.post_message(event)
        await pilot.pause()
        assert app.screen is main
        assert app.fake.session.started == []
        assert main.conductor.form.kv_cache
        assert any("e edits the prompt" in note.message for note in app._notifications)
        await pilot.press("e")
        area = app.screen.query_one(PromptArea)
        area.load_text("")
        for event in parsed(TEXT):
            area.post_message(event)
        await pilot.pause()
        assert area.text.startswith("quit, then K or q!\nmore\nand")
        assert len(app._notifications) == 1


def test_an_escape_in_a_paste_is_no_key() -> None:
    (event,) = parsed(START + "a\x1b[31mb\x1bc" + "\x1b" * 40 + "d" + END)
    assert event.text == "a␛[31mb␛c" + "␛" * 40 + "d"


def test_keys_before_and_after_a_paste_stay_keys() -> None:
    events_ = parsed("q" + START + "text" + END + "r")
    assert [getattr(e, "key", None) or e.text for e in events_] == ["q", "text", "r"]


_pasted = st.text(st.sampled_from("ab\x1b[20~1\r\n漢"), max_size=40).filter(
    lambda text: (text + END).find(END) == len(text)
)


@given(_pasted, st.lists(st.integers(0, 60), max_size=6))
@settings(deadline=None)
def test_wherever_the_reads_cut_the_paste_is_one_event(text: str, cuts: list[int]) -> None:
    whole = "q" + START + text + END + "r"
    edges = [0, *sorted(min(cut, len(whole)) for cut in cuts), len(whole)]
    parts = [whole[a:b] for a, b in pairwise(edges) if a < b]
    found = [getattr(e, "key", None) or e.text for e in parsed(*parts)]
    shown = text.replace("\x1b", "␛")
    assert found == ["q", shown, "r"]


@pytest.mark.parametrize("stock", [None, type("Fedless", (), {}), XTermParser])
def test_only_a_parser_that_is_known_gets_the_gate(
    stock: type | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    driver = SimpleNamespace() if stock is None else SimpleNamespace(XTermParser=stock)
    monkeypatch.setitem(sys.modules, "textual.drivers.linux_driver", driver)
    guard_pastes()
    guarded = getattr(driver, "XTermParser", None)
    assert (guarded is not stock) == (stock is XTermParser)
    guard_pastes()
    assert getattr(driver, "XTermParser", None) is guarded


@pytest.mark.parametrize(
    ("sent", "keys"),
    [
        (["\x1bt"], ["escape", "t"]),
        (["\x1b", "t"], ["escape", "t"]),
        (["\x1bT\x1b[B\r"], ["escape", "T", "down", "enter"]),
        (["\x1b", "T\x1b[B\r"], ["escape", "T", "down", "enter"]),
        (["e\x1b?"], ["e", "escape", "question_mark"]),
        (["\x1b "], ["escape", "space"]),
        (["^"], ["circumflex_accent"]),
        (["\x1b[A\x1bOP\x1b\x7f"], ["up", "f1", "ctrl+w"]),
    ],
)
def test_a_key_at_the_heels_of_esc_is_that_key(sent: list[str], keys: list[str]) -> None:
    assert [event.key for event in parsed(*sent, "")] == keys
