"""When a pilot goes on: as soon as the app has nothing left to do, told by its queues.

Textual's own measure is the CPU time of the process, looked at every 20 ms, twice a key. That is
slow (most of a test was such waiting), up to a second a key while a thread works, and wrong on a
busy machine, where a process that was not scheduled looks as if it rested.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from time import monotonic
from typing import Any

import pytest
from textual._context import active_app
from textual.message_pump import MessagePump
from textual.screen import Screen

_LOOK_S = 0.001
_LOOKS = 2
"""So many looks in a row must find nothing: a callback of the loop may post between two."""


def _pumps(app: Any) -> Iterator[MessagePump]:
    yield app
    for screen in app.screen_stack:
        yield from screen.walk_children(with_self=True)


def _to_draw(screen: Screen[Any]) -> bool:
    return bool(
        screen._layout_required
        or screen._scroll_required
        or screen._repaint_required
        or screen._recompose_required
        or screen._dirty_widgets
        or screen._callbacks
    )


def _at_work(app: Any) -> bool:
    if app._resize_event is not None:  # taken up once the queues are empty
        return True
    screen = app.screen
    if _to_draw(screen) and screen.is_current and not app._batch_count:
        screen._on_timer_update()  # the frame that its timer would draw within 1/60 s
        return True
    if (keys := getattr(app, "keys", None)) is not None and keys.busy:
        return True
    return any(pump._next_callbacks or pump.message_queue_size for pump in _pumps(app))


async def settled(min_sleep: float = 0.0, max_sleep: float = 1.0) -> None:
    """In place of Textual's ``wait_for_idle``: until every queue is empty and all is drawn."""
    app = active_app.get()
    deadline = monotonic() + max_sleep
    calm = 0
    while calm < _LOOKS and app.is_running and monotonic() < deadline:
        await asyncio.sleep(_LOOK_S)
        calm = 0 if not app.is_running or _at_work(app) else calm + 1


def settle_by_queues(patch: pytest.MonkeyPatch) -> None:
    """Let every pilot wait so."""
    patch.setattr("textual.pilot.wait_for_idle", settled)
    patch.setattr("textual.app.wait_for_idle", settled)
