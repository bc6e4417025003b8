"""Files that cannot be used: the screen starts with the defaults, and says so once."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from fakes import Clock, FakeSession, make_app
from test_screen import ready, until

from kvtui.places import config_path, state_path
from kvtui.state_file import load_state, read_state, save_state
from kvtui.ui.app import KvtuiApp
from kvtui.ui.opening import sessions


def spoil(path: Path, how: str) -> None:
    match how:
        case "toml":
            path.write_text("x = [", encoding="utf-8")
        case "bytes":
            path.write_bytes(b"\xff\x00\xfe" * 1000)
        case "depth":
            path.write_text("x = " + "[" * 5000, encoding="utf-8")
        case "folder":
            path.mkdir()
        case "types":
            path.write_text('theme = 3\nsplits = "wide"\nprompts = {a = 1}\n', encoding="utf-8")


async def moved(pilot: Any) -> None:
    await ready(pilot)
    await pilot.press("ctrl+left", "enter")
    await pilot.pause()


@pytest.mark.parametrize("how", ["toml", "bytes", "depth"])
async def test_a_damaged_state_is_said_once_and_put_aside_before_another_is_written(
    tmp_path: Path, how: str
) -> None:
    spoil(tmp_path / "state.toml", how)
    app = make_app()
    async with app.run_test(size=(120, 40)) as pilot:
        await moved(pilot)
        said = [note.message for note in app._notifications]
        assert len(said) == 1
        assert "state.toml is damaged" in said[0]
    assert "splits" in load_state()
    assert (tmp_path / "state.toml.damaged").exists()


async def test_a_folder_in_the_place_of_the_state_is_said_and_left_alone(tmp_path: Path) -> None:
    spoil(tmp_path / "state.toml", "folder")
    app = make_app()
    async with app.run_test(size=(120, 40)) as pilot:
        await moved(pilot)
        app.remembered.write()
        await pilot.press("ctrl+left")
        app.remembered.write()
        await pilot.pause()
        said = [note.message for note in app._notifications]
        assert len(said) == 2  # that it cannot be read, and once that nothing can be written
        assert all("Is a directory" in each for each in said)
    assert list((tmp_path / "state.toml").iterdir()) == []


def test_half_a_surrogate_pair_keeps_nothing_from_being_remembered() -> None:
    save_state({"prompts": ["a\ud800b", "c\x00\x7f\u202e"], "theme": "x"})
    kept = load_state()
    assert kept["prompts"] == ["a?b", "c\x00\x7f\u202e"]
    assert kept["theme"] == "x"


async def test_values_of_other_types_count_as_not_there(tmp_path: Path) -> None:
    spoil(tmp_path / "state.toml", "types")
    app = make_app()
    async with app.run_test(size=(120, 40)) as pilot:
        await moved(pilot)
        assert app.theme == "kvtui-dark"
        assert not app._notifications


@pytest.mark.parametrize("how", ["toml", "bytes", "depth", "folder"])
async def test_a_bad_configuration_starts_the_screen_with_one_notice(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, how: str
) -> None:
    spoil(tmp_path / "config.toml", how)
    monkeypatch.setattr(sessions, "new_session", lambda options, settings: FakeSession(Clock()))
    app = KvtuiApp({})
    async with app.run_test(size=(120, 40)) as pilot:
        await until(pilot, lambda: app.main.memory is not None)
        await pilot.pause()
        said = [note.message for note in app._notifications]
        assert len(said) == 1
        assert "config.toml" in said[0]
        assert "The defaults are used." in said[0]
        assert app.main.memory.card.name == "24 GB"


def test_without_a_home_nothing_is_written_into_a_folder_named_tilde(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("HOME", "KVTUI_STATE", "KVTUI_CONFIG", "XDG_STATE_HOME", "XDG_CONFIG_HOME"):
        monkeypatch.delenv(name, raising=False)

    def nobody(uid: int) -> None:
        raise KeyError(uid)

    monkeypatch.setattr("pwd.getpwuid", nobody)
    assert read_state().problem == ""
    assert not config_path().exists()
    with pytest.raises(OSError, match="home"):
        save_state({"theme": "x"})
    monkeypatch.setenv("KVTUI_STATE", "~/state.toml")
    with pytest.raises(OSError, match="home"):
        save_state({"theme": "x"}, state_path())
    assert list(tmp_path.iterdir()) == []
