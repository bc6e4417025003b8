"""Themes on the screen: tried while they are looked at, remembered, the user's own among them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from fakes import Script, make_app
from test_screen import AUTH, AUTH_EVIDENCE, at, ready

from kvtui.commands.group import kvtui
from kvtui.state_file import load_state
from kvtui.ui.widgets.lines import LinesWidget

MARKS = {"faint", "free", "outside"}
"""Roles of marks: paler than text may be."""


@pytest.fixture
def own(tmp_path: Path) -> Path:
    folder = tmp_path / "themes"
    folder.mkdir()
    (folder / "mine.toml").write_text(
        'primary = "#123456"\nbackground = "#000011"\nforegroud = "#fff"\n', encoding="utf-8"
    )
    (folder / "worse.toml").write_text('primary = "no"\n', encoding="utf-8")
    return folder


def ground(app: Any) -> str:
    return str(app.main.background_colors[1].hex)


async def test_a_theme_is_seen_while_it_is_marked_and_esc_brings_the_old_one_back() -> None:
    app = make_app()
    async with app.run_test(size=(120, 40)) as pilot:
        await ready(pilot)
        before = app.theme, ground(app)
        await pilot.press("T", "down", "down")
        assert app.theme != before[0]
        await pilot.press(*"light")
        assert app.theme == "kvtui-light"
        assert ground(app) != before[1]
        await pilot.press("escape")
        assert (app.theme, ground(app)) == before
        assert load_state() == {}
        await pilot.press("T", *"light", "enter")
        await pilot.pause()
        assert app.theme == "kvtui-light"
    assert load_state()["theme"] == "kvtui-light"
    again = make_app()
    async with again.run_test(size=(120, 40)) as pilot:
        assert again.theme == "kvtui-light"


async def test_the_users_theme_is_there_at_once_and_its_mistakes_are_one_notice(own: Path) -> None:
    app = make_app(theme="mine")
    async with app.run_test(size=(120, 40)) as pilot:
        assert app.theme == "mine"
        await ready(pilot)
        assert ground(app) == "#000011"
        (notice,) = [note.message for note in app._notifications]
        assert str(own) in notice
        assert "mine.toml: unknown key 'foregroud' (did you mean 'foreground'?)" in notice
        assert "worse.toml: primary" in notice
        await pilot.press("T", *"worse")
        assert app.theme == "worse"
        await pilot.press("escape")


def test_the_command_lists_them_with_their_path(own: Path) -> None:
    done = CliRunner().invoke(kvtui, ["themes"])
    assert done.exit_code == 0
    line = next(line for line in done.stdout.splitlines() if line.startswith("mine "))
    assert line.split()[1:] == ["dark", "user", str(own / "mine.toml")]
    assert "worse.toml" in done.stderr
    assert "dracula" in done.stdout


async def test_the_roles_of_marks_hold_no_words() -> None:
    """They are paler than text may be."""
    for script in (Script(), Script(pieces=[], verdict=AUTH, evidence=AUTH_EVIDENCE)):
        app = make_app(script)
        async with app.run_test(size=(200, 50)) as pilot:
            main = await ready(pilot)
            for moment in (None, 0.3, 5):
                if moment == 0.3:
                    await pilot.press("enter")
                if moment is not None:
                    await at(pilot, moment)
                spans = [
                    span
                    for widget in main.query(LinesWidget)
                    for line in widget.rows
                    for span in line
                    if span.role in MARKS
                ]
                assert spans
                assert [span for span in spans if any(map(str.isalnum, span.text))] == []
