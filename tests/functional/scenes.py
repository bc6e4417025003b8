"""Scenes for pictures: an app of a size, its states taken one after another in both themes."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any
from unittest.mock import patch

import pytest
from fakes import Script, make_app
from pictures import Album
from test_screen import ready, until

from kvtui.ui.screens.tour.screen import TourScreen

SIZES = [(80, 24), (120, 40), (200, 50)]
sizes = pytest.mark.parametrize("size", SIZES, ids=[f"{w}x{h}" for w, h in SIZES])


async def drawn(pilot: Any) -> None:
    """A chart shows this frame, as soon as its library is there."""
    screen = pilot.app.screen
    if screen is pilot.app.main or isinstance(screen, TourScreen):
        chart = screen.stream.chart
        await until(pilot, lambda: chart is None or chart.can_plot)
        screen.parts.frames.tick()
        await pilot.pause()


@asynccontextmanager
async def scene(
    name: str, size: tuple[int, int], *scripts: Script, **options: Any
) -> AsyncIterator[tuple[Any, Album]]:
    """An app of this size, ready unless ``late``, and its pictures, compared at the end."""
    album = Album(name, size, drawn)
    app = make_app(*scripts, **options)
    with patch("kvtui.ui.widgets.chart.REDRAW_S", 0.0):
        async with app.run_test(size=size) as pilot:
            if not options.get("late"):
                await ready(pilot)
            yield pilot, album
    album.compare()


async def look(pilot: Any, album: Album, state: str, *keys: str) -> None:
    """Press these, take the picture."""
    await pilot.press(*keys)
    await pilot.pause()
    await album.take(pilot, state)
