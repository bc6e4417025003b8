"""Panes at the places that the user gives them: keys, mouse, bounds, memory, resizes."""

from __future__ import annotations

import random
from typing import Any

import pytest
from fakes import Script, make_app
from test_screen import AUTH, AUTH_EVIDENCE, at, ready, shown, until
from textual.geometry import Size

from kvtui.state_file import load_state
from kvtui.ui.layout.splits import LEAST_ERRORS, LEAST_MEMORY, LEAST_SIDE, LEAST_STREAM, Splits

ALL_KEYS = ("ctrl+left", "ctrl+right", "ctrl+up", "ctrl+down")


def widths(main: Any) -> tuple[int, int, int, int]:
    """Columns of Stream and side, rows of Memory and Errors."""
    return (
        main.stream.outer_size.width,
        main.errors.outer_size.width,
        main.memory_pane.outer_size.height,
        main.errors.outer_size.height,
    )


async def test_keys_move_both_borders_and_zero_brings_them_back() -> None:
    app = make_app()
    async with app.run_test(size=(120, 40)) as pilot:
        main = await ready(pilot)
        before = widths(main)
        await pilot.press("ctrl+left", "ctrl+left", "ctrl+down")
        stream, side, memory, errors = widths(main)
        assert (stream, side) == (before[0] - 4, before[1] + 4)
        assert (memory, errors) == (before[2] + 1, before[3] - 1)
        await pilot.press("ctrl+right", "ctrl+up")
        assert widths(main) == (before[0] - 2, before[1] + 2, before[2], before[3])
        await pilot.press("0")
        assert widths(main) == before


@pytest.mark.parametrize("size", [(80, 24), (120, 40), (200, 50)])
async def test_no_move_makes_a_pane_too_small_to_use(size: tuple[int, int]) -> None:
    failing = Script(pieces=[], verdict=AUTH, evidence=AUTH_EVIDENCE, finish=None)
    app = make_app(failing)
    async with app.run_test(size=size) as pilot:
        main = await ready(pilot)
        await pilot.press("enter")
        await at(pilot, 1)
        for across, along in ((-90, -40), (90, 40)):
            main.action_split(across, along)  # as many presses at once
            await pilot.pause()
            stream, side, memory, errors = widths(main)
            assert stream + side == size[0]
            assert memory + errors == size[1] - 2
            assert stream >= LEAST_STREAM
            assert side >= LEAST_SIDE
            assert memory >= LEAST_MEMORY
            assert errors >= LEAST_ERRORS
            text = shown(main.errors)
            assert "AUTH" in text
            assert "1 It ends with a space" in " ".join(text.split())
            assert "▓" in shown(main.memory_pane)
            assert "…" not in shown(main.memory_pane)  # no figure is cut
            assert "more ▸ 2" in shown(main.memory_pane) or memory >= 22


@pytest.mark.parametrize("grip", [-1, 0])
async def test_the_mouse_drags_the_borders(grip: int) -> None:
    app = make_app()
    async with app.run_test(size=(120, 40)) as pilot:
        main = await ready(pilot)
        before = widths(main)
        edge = main.errors.region.x + grip
        await pilot.mouse_down(offset=(edge, 10))
        await pilot.hover(offset=(edge - 7, 12))
        await pilot.hover(offset=(edge - 9, 30))
        await pilot.mouse_up(offset=(edge - 9, 30))
        assert widths(main) == (before[0] - 9, before[1] + 9, before[2], before[3])
        below = main.errors.region.y + grip
        await pilot.mouse_down(offset=(edge + 5, below))
        await pilot.hover(offset=(edge + 5, below + 3))
        await pilot.mouse_up(offset=(edge + 5, below + 3))
        assert widths(main)[2:] == (before[2] + 3, before[3] - 3)
        await pilot.hover(offset=(20, 5))  # let go: nothing follows any more
        assert widths(main)[2:] == (before[2] + 3, before[3] - 3)
        assert app.mouse_captured is None


async def test_borders_are_remembered_for_each_size_alone() -> None:
    app = make_app()
    async with app.run_test(size=(120, 40)) as pilot:
        main = await ready(pilot)
        await pilot.press("ctrl+left", "ctrl+up")
        moved = widths(main)
        await pilot.resize_terminal(80, 24)
        # This size was not touched:
        await until(pilot, lambda: main.errors.outer_size.width == 32)
        await pilot.resize_terminal(120, 40)
        await until(pilot, lambda: widths(main) == moved)
    assert set(load_state()["splits"]) == {"w-120", "h-40"}
    again = make_app()
    async with again.run_test(size=(120, 40)) as pilot:
        assert widths(await ready(pilot)) == moved


async def test_a_zoom_takes_the_whole_room_whatever_was_moved() -> None:
    app = make_app()
    async with app.run_test(size=(120, 40)) as pilot:
        main = await ready(pilot)
        await pilot.press("ctrl+left", "ctrl+up")
        moved = widths(main)
        for key, pane in (("1", main.stream), ("2", main.memory_pane), ("3", main.errors)):
            await pilot.press(key)
            assert pane.outer_size == (120, 38)
            await pilot.press("ctrl+left", key)
            assert widths(main) == moved


async def test_a_double_click_zooms_and_brings_back_and_one_on_a_button_only_presses() -> None:
    app = make_app()
    async with app.run_test(size=(120, 40)) as pilot:
        main = await ready(pilot)
        await pilot.press("enter")
        await at(pilot, 5)
        for number, widget in enumerate((main.stream.text, main.memory_pane, main.errors), 1):
            await pilot.double_click(widget, offset=(3, 3))
            assert main.parts.places.zoomed == number
            await pilot.double_click(widget, offset=(3, 3))
            assert main.parts.places.zoomed == 0
        assert not main.selections
        await pilot.press("e")
        await pilot.double_click(main.stream.editor, offset=(3, 1))
        assert main.parts.places.zoomed == 0


@pytest.mark.parametrize(
    "kept",
    [
        {"w-120": "wide"},
        {"w-120": -4, "h-40": 0},
        {"w-120": 1e9},
        {"h-40": True},
        {"w-120": 10**400},
    ],
    ids=str,
)
def test_what_is_no_sensible_place_is_none(kept: dict[str, object]) -> None:
    assert Splits(kept).kept == {}


async def test_resizes_at_random_never_break_a_stream() -> None:
    pick = random.Random(1)
    pieces = [
        (0.05 + 0.005 * n, "content", f"漢字 word{n}" + ("\n" if n % 40 == 39 else " "))
        for n in range(1500)
    ]
    app = make_app(Script(pieces=pieces))
    async with app.run_test(size=(120, 40)) as pilot:
        main = await ready(pilot)
        await pilot.press("enter")
        for step in range(14):
            size = Size(
                pick.choice([1, 30, 59, 60, 79, 80, 109, 110, 160, 240]), pick.randint(1, 60)
            )
            await pilot.resize_terminal(*size)
            await pilot.press(pick.choice([*ALL_KEYS, "1", "2", "3", "0", "t", "pageup", "end"]))
            await at(pilot, 0.05 + step * 0.5)
            rows = main._compositor.render_strips()
            assert len(rows) == size.height
            assert all(strip.cell_length == size.width for strip in rows), size
        await pilot.resize_terminal(120, 40)
        await at(pilot, 60)
        await pilot.press("0", "end")
        assert main.header.phase == "done"
        assert main.stream.text.history.text() == "".join(text for _, _, text in pieces).strip("\n")
