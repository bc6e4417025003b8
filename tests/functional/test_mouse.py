"""Everything that a key does can be clicked: footer, header, tabs, panes; the wheel scrolls."""

from __future__ import annotations

from typing import Any

import pytest
from fakes import REMOTE, Script, make_app
from rich.cells import cell_len
from test_screen import AUTH, AUTH_EVIDENCE, at, ready, shown
from textual import events

from kvtui.ui.commands import COMMANDS
from kvtui.ui.screens.help import HelpScreen
from kvtui.ui.screens.main.screen import MainScreen
from kvtui.ui.screens.picker import PickerScreen


def places(widget: Any) -> list[tuple[str, int, int]]:
    """Action, column and row of each button that the widget shows."""
    found = []
    for y, line in enumerate(widget.rows):
        x = 0
        for span in line:
            if span.action and span.text.strip():
                found.append((span.action, x + cell_len(span.text) - len(span.text.lstrip()), y))
            x += cell_len(span.text)
    return found


@pytest.fixture
def pressed(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Which commands of the main screen were given, none of them carried out."""
    seen: list[str] = []

    def noted(self: MainScreen) -> dict[str, Any]:
        def noting(name: str) -> Any:
            return lambda *given: seen.append(f"screen.{name}" + (f"({given[0]})" if given else ""))

        return {
            command.name.split("(")[0]: noting(command.name.split("(")[0]) for command in COMMANDS
        }

    monkeypatch.setattr(MainScreen, "actions", noted)
    return seen


@pytest.mark.parametrize("size", [(80, 24), (120, 40), (200, 50), (60, 18)])
async def test_every_button_shown_runs_its_command(
    size: tuple[int, int], pressed: list[str]
) -> None:
    failing = Script(pieces=[], verdict=AUTH, evidence=AUTH_EVIDENCE, finish=None)
    app = make_app(failing, prepared=REMOTE)
    async with app.run_test(size=size) as pilot:
        main = await ready(pilot)
        main.conductor.start()
        await at(pilot, 1)
        shown_ones = [main.footer, main.header, main.tabs, main.memory_pane, main.errors]
        for widget in (each for each in shown_ones if each.region.area):
            buttons = places(widget)
            assert buttons or widget in (main.memory_pane, main.errors)
            for action, x, y in buttons:
                pressed.clear()
                inset = widget.content_region.offset - widget.region.offset
                await pilot.click(widget, offset=(x + inset.x, y + inset.y))
                assert pressed == [action.replace("screen.zoom(", "screen.zoom(")], action


async def test_the_wheel_scrolls_what_is_longer_than_its_place() -> None:
    app = make_app(Script(pieces=[(0.1 + n / 1000, "content", f"line {n}\n") for n in range(300)]))
    async with app.run_test(size=(120, 40)) as pilot:
        main = await ready(pilot)
        await pilot.press("enter")
        await at(pilot, 5)
        bottom = main.stream.text.scroll_offset.y
        await pilot._post_mouse_events(
            [events.MouseScrollUp], widget=main.stream.text, offset=(5, 5)
        )
        await pilot.pause()
        assert main.stream.text.scroll_offset.y < bottom
        await pilot.press("question_mark")
        screen = app.screen
        assert isinstance(screen, HelpScreen)
        box = screen.query_one("#help")
        await pilot._post_mouse_events([events.MouseScrollDown], widget=box, offset=(5, 5))
        await pilot.pause()
        assert box.scroll_offset.y > 0
        await pilot.press("escape", "g")
        picker = app.screen
        assert isinstance(picker, PickerScreen)
        before = picker.list.marked
        await pilot._post_mouse_events([events.MouseScrollDown], widget=picker.list, offset=(5, 3))
        await pilot.pause()
        assert picker.list.marked == before + 1
        await pilot.click(picker.list, offset=(5, 0))
        await pilot.pause()
        assert app.screen is main


async def test_the_help_of_a_screen_names_its_keys() -> None:
    app = make_app()
    async with app.run_test(size=(120, 40)) as pilot:
        await ready(pilot)
        await pilot.press("p")
        await pilot.pause()
        await pilot.press("f1")
        await pilot.pause()
        text = shown(app.screen.query_one("HelpText"))
        assert "Copy the engine's flags" in text
        assert "Send the prompt" not in text
