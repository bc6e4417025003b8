"""Prompts from before and from files, undone and redone, in the editor and in the state file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from fakes import REMOTE, make_app
from test_screen import at, ready, shown, until
from textual.geometry import Region
from textual.widgets import Input

from kvtui.state_file import load_state
from kvtui.ui.prompt.files import listing, split
from kvtui.ui.prompt.history import MOST, MOST_CHARACTERS, Browsing, PromptHistory
from kvtui.ui.screens.file_picker import FilePickerScreen
from kvtui.ui.terminal.paste import LONGEST
from kvtui.ui.widgets.editor import PromptArea


async def editing(pilot: Any) -> PromptArea:
    await pilot.press("e")
    await pilot.pause()
    return pilot.app.screen.query_one(PromptArea)  # type: ignore[no-any-return]


async def sent(pilot: Any, *prompts: str) -> None:
    for number, prompt in enumerate(prompts):
        area = await editing(pilot)
        area.load_text(prompt)
        await pilot.press("enter")
        await pilot.pause()
        await at(pilot, 10.0 * (number + 1))


async def test_earlier_prompts_come_back_and_the_draft_is_not_lost() -> None:
    app = make_app(prompt="first")
    async with app.run_test(size=(120, 40)) as pilot:
        await ready(pilot)
        await sent(pilot, "first", "second", "third", "second")
        area = await editing(pilot)
        await pilot.press(*"!?")
        seen = []
        for _ in range(4):
            await pilot.press("ctrl+up")
            seen.append(area.text)
        assert seen == ["second", "third", "first", "first"]
        assert "3 of 3 earlier prompts" in str(app.screen.query_one("#field-note").render())
        await pilot.press("ctrl+down", "ctrl+down", "ctrl+down", "ctrl+down")
        assert area.text == "second!?"
        await pilot.press("ctrl+up", "ctrl+up", "enter")
        await at(pilot, 60)
        assert app.fake.session.started[-1].request.prompt == "third"


async def test_a_theme_at_the_heels_of_a_closing_editor() -> None:
    app = make_app(prompt="first")
    async with app.run_test(size=(80, 24)) as pilot:
        await ready(pilot)
        area = await editing(pilot)
        fields = [area, *app.screen.query(Input)]
        assert len(fields) == 5
        await app.main.stream.close_editor()
        # A screen that came over the main one in that moment has it drawn as it was arranged.
        for field in fields:
            assert {strip.text for strip in field.render_lines(Region(0, 0, 20, 1))} == {" " * 20}
        area = await editing(pilot)
        assert "first" in area.render_lines(Region(0, 0, 20, 1))[0].text


async def test_they_are_there_after_the_next_start_without_the_key() -> None:
    key = REMOTE.endpoint.api_key
    assert key is not None
    app = make_app(prepared=REMOTE)
    async with app.run_test(size=(120, 40)) as pilot:
        await ready(pilot)
        await sent(pilot, "one", "my key is sk-abcdefghijklmnopqrstuvwxyz012345, why?")
    kept = load_state()["prompts"]
    assert kept[0] == "one"
    assert "abcdefghij" not in kept[1]
    again = make_app()
    async with again.run_test(size=(120, 40)) as pilot:
        await ready(pilot)
        area = await editing(pilot)
        await pilot.press("ctrl+up", "ctrl+up")
        assert area.text == "one"


async def test_not_kept_where_the_configuration_says_so() -> None:
    app = make_app()
    async with app.run_test(size=(120, 40)) as pilot:
        main = await ready(pilot)
        await sent(pilot, "kept")
        main.parts.prompts.let_be_kept(False)
        await sent(pilot, "not kept")
        area = await editing(pilot)
        await pilot.press(*"x", "ctrl+up")
        assert area.text == "not kept"  # until the end
    assert "prompts" not in load_state()


async def test_undo_and_redo_in_the_editor_also_over_an_earlier_prompt() -> None:
    app = make_app(prompt="ab")
    async with app.run_test(size=(120, 40)) as pilot:
        await ready(pilot)
        await sent(pilot, "earlier")
        area = await editing(pilot)
        area.load_text("ab")
        await pilot.press("end", "c", "ctrl+up")
        assert area.text == "earlier"
        await pilot.press("ctrl+z")
        assert area.text == "abc"
        await pilot.press("ctrl+z")
        assert area.text == "ab"
        await pilot.press("ctrl+y", "ctrl+y")
        assert area.text == "earlier"


def put(folder: Path, name: str, content: str) -> None:
    (folder / name).write_text(content, encoding="utf-8")


async def test_a_file_becomes_the_prompt(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "texts").mkdir()
    put(tmp_path / "texts", "article.txt", "漢字 and words\n")
    put(tmp_path / "texts", "long.txt", "w " * LONGEST)
    put(tmp_path / "texts", "empty.txt", " \n")
    app = make_app(prompt="before")
    async with app.run_test(size=(80, 24)) as pilot:
        await ready(pilot)
        area = await editing(pilot)
        await pilot.press("ctrl+o", *"tex", "tab")
        screen = app.screen
        assert isinstance(screen, FilePickerScreen)
        rows = shown(screen.query_one("#choices"))
        assert "article.txt" in rows
        assert "17 B" in rows
        await pilot.press(*"art", "enter")
        await until(pilot, lambda: app.screen is app.main)
        assert area.text == "漢字 and words"
        await pilot.press("ctrl+z")
        assert area.text == "before"
        await pilot.press("ctrl+o", *"texts/emp", "enter")
        await pilot.pause()
        assert area.text == "before"
        assert any("is empty" in note.message for note in app._notifications)
        await pilot.press("ctrl+o", *"texts/long", "enter")
        await pilot.pause()
        assert area.read_only
        await pilot.press("enter")
        await at(pilot, 1)
        assert app.fake.session.started[-1].request.prompt == ("w " * LONGEST).strip()


async def test_what_is_no_file_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    app = make_app(prompt="before")
    async with app.run_test(size=(120, 40)) as pilot:
        await ready(pilot)
        area = await editing(pilot)
        for typed, said in (("nowhere/x.txt", "No such file"), ("/dev/zero", "is no file")):
            await pilot.press("ctrl+o", *typed, "enter")
            await pilot.pause()
            assert app.screen is app.main
            assert any(said in note.message for note in app._notifications)
        assert area.text == "before"


def test_the_history_is_bounded_and_holds_each_once() -> None:
    history = PromptHistory([1, "", "a", None, "\x1b[31mb", "a"])
    assert history.entries == ["␛[31mb", "a"]
    for number in range(MOST + 50):
        history.add(f"prompt {number}")
    assert len(history.entries) == MOST
    assert not history.add("x" * (LONGEST + 1))
    for number in range(20):
        history.add(f"{number}" + "漢" * (LONGEST - 2))
    assert sum(map(len, history.entries)) <= MOST_CHARACTERS
    assert history.entries[-1].startswith("19")


def test_a_walk_ends_at_both_ends() -> None:
    walk = Browsing(["a", "b"], "b")
    assert [walk.step(1), walk.step(1), walk.step(-1), walk.step(-1)] == ["a", None, "b", None]


def test_a_typed_path_is_a_folder_and_a_rest(tmp_path: Path) -> None:
    assert split("a/b/c.t") == (Path("a/b"), "c.t")
    assert split("/etc") == (Path("/"), "etc")
    assert split("x") == (Path(), "x")
    put(tmp_path, ".hidden", "1")
    put(tmp_path, "b\x1b.txt", "2")
    (tmp_path / "z").mkdir()
    assert [each.name for each in listing(tmp_path)] == ["z/", "b␛.txt", ".hidden"]
    assert listing(tmp_path / "none") == []
