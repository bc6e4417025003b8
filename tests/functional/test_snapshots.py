"""Pictures of the main states at the three sizes the screen is designed for."""

from __future__ import annotations

from typing import Any

import pytest
from fakes import WORDS, Script, make_app
from test_screen import AUTH, AUTH_EVIDENCE, at, ready, until

from kvtui.failure import Hint

SIZES = [(80, 24), (120, 40), (200, 50)]
IDS = [f"{width}x{height}" for width, height in SIZES]
sizes = pytest.mark.parametrize("size", SIZES, ids=IDS)


def failing() -> Script:
    return Script(
        pieces=[],
        verdict=AUTH,
        evidence=AUTH_EVIDENCE,
        finish=None,
        hints=(Hint("buffered", "The server sent the answer in one piece."),),
    )


def drawn(main: Any) -> bool:
    """The chart shows the series of this frame; another frame brings it nearer to that."""
    main.tick()
    chart = main.stream.chart
    return chart is not None and chart.shown is main.stream.figures.state


@sizes
def test_streaming(snap_compare: Any, size: tuple[int, int]) -> None:
    async def before(pilot: Any) -> None:
        await ready(pilot)
        await pilot.press("enter")
        await at(pilot, 0.9)
        pane = pilot.app.main.stream
        if pane.has_room:  # then a chart is drawn unasked, a few times a second
            await until(pilot, lambda: drawn(pilot.app.main))
        await pilot.pause()

    assert snap_compare(make_app(), terminal_size=size, run_before=before)


@sizes
def test_failed(snap_compare: Any, size: tuple[int, int]) -> None:
    async def before(pilot: Any) -> None:
        await ready(pilot)
        await pilot.press("enter")
        await at(pilot, 1)
        await pilot.pause()

    assert snap_compare(make_app(failing()), terminal_size=size, run_before=before)


@pytest.mark.parametrize("size", [(80, 24), (120, 40)], ids=IDS[:2])
def test_ready(snap_compare: Any, size: tuple[int, int]) -> None:
    async def before(pilot: Any) -> None:
        await ready(pilot)

    assert snap_compare(make_app(), terminal_size=size, run_before=before)


def test_done_with_repeats(snap_compare: Any) -> None:
    async def before(pilot: Any) -> None:
        await ready(pilot)
        await pilot.press("enter")
        for number in range(1, 4):
            await at(pilot, 5.0 * number)
        await pilot.pause()

    assert snap_compare(make_app(repeat=3), terminal_size=(120, 40), run_before=before)


def test_light_theme(snap_compare: Any) -> None:
    async def before(pilot: Any) -> None:
        await ready(pilot)
        await pilot.press("enter")
        await at(pilot, 0.9)
        await pilot.pause()

    app = make_app(theme="kvtui-light")
    assert snap_compare(app, terminal_size=(120, 40), run_before=before)


def test_zoomed_memory(snap_compare: Any) -> None:
    async def before(pilot: Any) -> None:
        await ready(pilot)
        await pilot.press("enter")
        await at(pilot, 5)
        await pilot.press("2")

    assert snap_compare(make_app(), terminal_size=(80, 24), run_before=before)


def test_one_pane_with_tabs(snap_compare: Any) -> None:
    async def before(pilot: Any) -> None:
        await ready(pilot)
        await pilot.press("enter")
        await at(pilot, 0.9)
        await pilot.pause()

    assert snap_compare(make_app(), terminal_size=(60, 18), run_before=before)


def test_too_small(snap_compare: Any) -> None:
    async def before(pilot: Any) -> None:
        await ready(pilot)

    assert snap_compare(make_app(), terminal_size=(50, 12), run_before=before)


def test_help(snap_compare: Any) -> None:
    async def before(pilot: Any) -> None:
        await ready(pilot)
        await pilot.press("question_mark")

    assert snap_compare(make_app(), terminal_size=(80, 24), run_before=before)


def uneven() -> Script:
    """Tokens of which some come late, and one after a stall."""
    pieces, t = [], 0.05
    for n in range(256):
        t += 0.0047 * (8 if n % 91 == 60 else 3 if n % 37 == 20 else 1 + (n % 5) / 20)
        pieces.append((t, "content", WORDS[n % len(WORDS)] + " "))
    return Script(pieces=pieces)


@pytest.mark.parametrize("keys", [["i"], ["t", "t"]], ids=["tinted", "gaps"])
@pytest.mark.parametrize("size", SIZES[:2], ids=IDS[:2])
def test_late_tokens(snap_compare: Any, size: tuple[int, int], keys: list[str]) -> None:
    async def before(pilot: Any) -> None:
        main = await ready(pilot)
        await pilot.press("enter")
        await at(pilot, 1.2)
        for key in keys:
            await pilot.press(key)
        if main.stream.chart is not None:
            await until(pilot, lambda: drawn(main))
        await pilot.pause()

    assert snap_compare(make_app(uneven()), terminal_size=size, run_before=before)


def test_search(snap_compare: Any) -> None:
    async def before(pilot: Any) -> None:
        await ready(pilot)
        await pilot.press("enter")
        await at(pilot, 9)
        await pilot.press("home", "slash", *"again", "enter", "n")
        await pilot.pause()

    assert snap_compare(make_app(), terminal_size=(80, 24), run_before=before)
