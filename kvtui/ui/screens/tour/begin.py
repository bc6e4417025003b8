"""What a tour runs on: its own conductor and choices, and the embedded engine, never a server."""

from __future__ import annotations

from threading import Thread
from typing import TYPE_CHECKING

from kvtui.ui.memory import MemoryView
from kvtui.ui.opening.prompt import build_request
from kvtui.ui.opening.sessions import Sessions
from kvtui.ui.screens.tour.screen import TourScreen
from kvtui.ui.state import PromptForm
from kvtui.ui.stream.conductor import Conductor

if TYPE_CHECKING:
    from kvtui.ui.ports import SessionLike
    from kvtui.ui.screens.main.screen import MainScreen


def tour_over(under: MainScreen) -> TourScreen:
    """The tour, to be pushed over the user's screen.

    An engine that runs already is shared; else one is started for the tour, and ended with it.
    """
    conductor = Conductor(build=build_request({}), form=PromptForm(temperature=0.0))
    memory = MemoryView(() if under.memory is None else under.memory.own_cards)
    theirs = under.conductor
    shared: SessionLike | None = None
    if theirs is not None and theirs.endpoint.embedded and theirs.endpoint.ready:
        shared = theirs.session
    session = _embedded_session() if shared is None else shared
    conductor.session = session

    def close() -> None:
        conductor.stop()
        if shared is None:  # it waits for the engine's end: not on this thread, but to the end
            Thread(target=session.close, name="kvtui-tour-end").start()

    screen = TourScreen(under.shell, conductor, memory, close, fps=under.parts.frames.fps)
    screen.opened.sessions = Sessions(conductor, {}, screen.post_message)
    return screen


def _embedded_session() -> SessionLike:
    from kvtui.bench.requests.session import Session

    return Session({"embedded": True})
