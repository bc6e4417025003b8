"""What a tour runs on: its own conductor and choices, and the embedded engine, never a server."""

from __future__ import annotations

from threading import Thread
from typing import TYPE_CHECKING, Any

from kvtui.ui.memory import MemoryView
from kvtui.ui.opening import build_request, prepare
from kvtui.ui.screens.tour import TourScreen
from kvtui.ui.state import PromptForm
from kvtui.ui.stream.conductor import Conductor

if TYPE_CHECKING:
    from kvtui.ui.ports import SessionLike
    from kvtui.ui.screens.main.screen import MainScreen


def tour_screen(under: MainScreen, make_session: Any = None) -> TourScreen:
    """The tour, to be pushed over the main screen.

    An engine that runs already is shared; else one is started for the tour, and ended with it.

    Args:
        under: The user's screen.
        make_session: Makes a session of the embedded engine; tests give a fake.
    """
    conductor = Conductor(build=build_request({}), form=PromptForm(temperature=0.0))
    memory = MemoryView(() if under.memory is None else under.memory.own_cards)
    theirs = under.conductor
    shared: SessionLike | None = None
    if theirs is not None and theirs.endpoint.embedded and theirs.endpoint.ready:
        shared = theirs.session
    session: SessionLike = shared if shared is not None else (make_session or _embedded_session)()
    conductor.session = session

    def close() -> None:
        conductor.stop()
        if shared is None:  # it waits for the engine's end: not on this thread, but to the end
            Thread(target=session.close, name="kvtui-tour-end").start()

    return TourScreen(
        conductor, memory, lambda screen: prepare(screen, session), close, fps=under.fps
    )


def _embedded_session() -> SessionLike:
    from kvtui.bench.requests.session import Session

    return Session({"embedded": True})
