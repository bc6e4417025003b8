"""The settings screen: values and their origins, edits said wrong while typed, written on a key."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest
from fakes import make_app
from test_screen import ready, shown

from kvtui.config import Defaults, config_path
from kvtui.ui.screens.settings import SettingsScreen

CONFIG = """\
# mine
[defaults]
gpu = "80GB" # the big one
temperature = 0.5

[profiles.box]
base_url = "http://user:secret-of-mine@10.0.0.5:8000/v1"
headers = { "X-Key" = "sk-very-secret-header-value-123456" }
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "config.toml"
    path.write_text(CONFIG, encoding="utf-8")
    return path


def content(file: Path) -> str:
    return file.read_text(encoding="utf-8")


def spoil(file: Path) -> None:
    file.write_text("[defaults\n", encoding="utf-8")


async def opened(pilot: Any) -> SettingsScreen:
    await ready(pilot)
    await pilot.press("comma")
    await pilot.pause()
    screen = pilot.app.screen
    assert isinstance(screen, SettingsScreen)
    return screen


async def choose(pilot: Any, screen: SettingsScreen, key: str) -> None:
    keys = [each.key for each in screen.rows]
    screen._mark(keys.index(key))
    await pilot.pause()


def line(screen: SettingsScreen, name: str) -> list[str]:
    rows = shown(screen.list).splitlines()
    return next(row for row in rows if name in row.split()).replace("▸", " ").split()


async def test_every_key_is_there_with_value_origin_and_meaning(file: Path) -> None:
    app = make_app(max_tokens=64)
    async with app.run_test(size=(120, 40)) as pilot:
        screen = await opened(pilot)
        names = [each.key for each in screen.rows]
        for field in msgspec.structs.fields(Defaults):
            assert f"defaults.{field.name}" in names
        assert line(screen, "gpu") == ["gpu", "80GB", "file"]
        assert line(screen, "max_tokens") == ["max_tokens", "64", "--max-tokens"]
        assert line(screen, "concurrency") == ["concurrency", "1", "default"]
        everything = shown(screen.list) + shown(screen.places)
        assert "secret" not in everything
        assert "10.0.0.5:8000" in everything
        for place in ("config.toml", "state.toml", "runs", "themes"):
            assert place in everything
        for each in screen.rows:
            if each.key.startswith("defaults."):
                assert each.setting.meaning, each.key


async def test_what_is_wrong_is_said_while_typing_and_not_kept(file: Path) -> None:
    app = make_app()
    async with app.run_test(size=(120, 40)) as pilot:
        screen = await opened(pilot)
        await choose(pilot, screen, "defaults.fps")
        await pilot.press("enter", *"900")
        assert "▲" in shown(screen.detail)
        assert "120" in shown(screen.detail)
        await pilot.press("enter", "ctrl+s", "down")
        assert screen.field.display  # nothing moves on with a wrong value
        await pilot.press("backspace", "backspace", "0")
        assert "▲" not in shown(screen.detail)
        await pilot.press("escape")
        await choose(pilot, screen, "defaults.gpu")
        await pilot.press("enter", "ctrl+u", *"h1000")
        assert "H100" in shown(screen.detail)
        assert content(file) == CONFIG


async def test_only_the_key_for_it_writes_and_the_file_keeps_its_comments(file: Path) -> None:
    app = make_app()
    async with app.run_test(size=(120, 40)) as pilot:
        screen = await opened(pilot)
        main = app.main
        await choose(pilot, screen, "defaults.gpu")
        await pilot.press("enter", "ctrl+u", *"H100", "enter")
        await choose(pilot, screen, "defaults.max_tokens")
        await pilot.press("enter", *"99", "enter")
        assert content(file) == CONFIG
        assert "not written" in shown(screen.list)
        await pilot.press("ctrl+s")
        text = content(file)
        assert text.startswith("# mine")
        assert 'gpu = "H100" # the big one' in text
        assert "max_tokens = 99" in text
        assert "not written" not in shown(screen.list)
        await pilot.press("escape")
        await pilot.pause()
        assert main.memory.card.id != "80GB"
        assert "H100" in main.memory_pane.state.card
        assert main.conductor.form.max_tokens == 99


async def test_an_empty_field_takes_the_key_out(file: Path) -> None:
    app = make_app()
    async with app.run_test(size=(120, 40)) as pilot:
        screen = await opened(pilot)
        await choose(pilot, screen, "defaults.temperature")
        await pilot.press("enter", "ctrl+u", "ctrl+s")
        assert "temperature" not in content(file)
        assert line(screen, "temperature") == ["temperature", "—", "default"]


async def test_a_flag_goes_before_what_is_written(file: Path) -> None:
    app = make_app(gpu="24GB")
    async with app.run_test(size=(80, 24)) as pilot:
        screen = await opened(pilot)
        await choose(pilot, screen, "defaults.gpu")
        assert "--gpu holds" in shown(screen.detail)
        await pilot.press("enter", "ctrl+u", *"H100", "ctrl+s", "escape")
        await pilot.pause()
        assert app.main.memory_pane.state.card == "24 GB"


async def test_a_variable_goes_before_the_file(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KVTUI_FPS", "10")
    app = make_app()
    async with app.run_test(size=(120, 40)) as pilot:
        screen = await opened(pilot)
        assert line(screen, "fps") == ["fps", "10", "KVTUI_FPS"]
        await choose(pilot, screen, "defaults.fps")
        assert "KVTUI_FPS holds" in shown(screen.detail)
        before = app.main.parts.frames.fps
        await pilot.press("enter", *"60", "ctrl+s", "escape")
        await pilot.pause()
        assert app.main.parts.frames.fps == before


async def test_leaving_with_changes_is_said_once(file: Path) -> None:
    app = make_app()
    async with app.run_test(size=(120, 40)) as pilot:
        screen = await opened(pilot)
        await choose(pilot, screen, "defaults.record")
        await pilot.press("enter", "escape")
        assert app.screen is screen
        assert "1 change is not written" in shown(screen.detail)
        await pilot.press("escape")
        assert app.screen is app.main
        assert content(file) == CONFIG


async def test_a_damaged_file_is_not_written_over(file: Path) -> None:
    spoil(file)
    app = make_app()
    async with app.run_test(size=(120, 40)) as pilot:
        await ready(pilot)
        await pilot.press("comma")
        assert app.screen is app.main
        assert any("Mend the file first" in note.message for note in app._notifications)


async def test_the_first_file_is_begun_where_there_is_none() -> None:
    app = make_app()
    async with app.run_test(size=(120, 40)) as pilot:
        screen = await opened(pilot)
        await choose(pilot, screen, "defaults.theme")
        await pilot.press("enter", *"kvtui-light", "ctrl+s", "escape")
        await pilot.pause()
        assert 'theme = "kvtui-light"' in content(config_path())
        assert app.theme == "kvtui-light"
