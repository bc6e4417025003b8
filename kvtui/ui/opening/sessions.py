"""The endpoint's session: begun, prepared again, exchanged for another, or for a recorded run."""

from __future__ import annotations

from threading import Thread
from typing import TYPE_CHECKING, Any

from kvtui.ui.endpoint.server import ServerWatch, server_kv
from kvtui.ui.messages import (
    ConductorReady,
    EndpointReady,
    OpeningFailed,
    ServerSaid,
    SessionReady,
)
from kvtui.ui.opening.settings import read_settings
from kvtui.ui.state import PromptForm

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from concurrent.futures import Future

    from textual.message import Message

    from kvtui.bench.records.replay import Replay
    from kvtui.config import Settings
    from kvtui.ui.endpoint.typed import TypedEndpoint
    from kvtui.ui.ports import SessionLike
    from kvtui.ui.stream.conductor import Conductor


class Sessions:
    """One session at a time, each prepared off the UI thread; the screen hears of it by message."""

    def __init__(
        self,
        conductor: Conductor,
        options: Mapping[str, Any],
        tell: Callable[[Message], object],
    ) -> None:
        """Nothing is begun yet.

        Args:
            conductor: Whose session it is.
            options: The command line's.
            tell: Posts a message to the screen; called on any thread.
        """
        self._conductor = conductor
        self._options = options
        self._tell = tell
        self._awaited: SessionLike | None = None
        """The session whose endpoint is being prepared: what another says comes too late."""

    def begin(self, settings: Settings) -> None:
        """The first session, which contacts no other machine before a key is pressed."""
        session = new_session(self._options, settings)
        server = ServerWatch(lambda status: self._tell(ServerSaid(server_kv(status))))
        self._tell(SessionReady(session, server))
        session.warm()
        self.prepare(session, unbidden=True)

    def prepare(self, session: SessionLike, *, unbidden: bool = False) -> None:
        """Have the endpoint prepared.

        Args:
            session: What prepares.
            unbidden: No key has been pressed: no other machine is contacted.
        """
        self._awaited = session
        session.prepare(unbidden=unbidden).add_done_callback(
            lambda done: self._prepared(session, done)
        )

    def _prepared(self, session: SessionLike, done: Future[Any]) -> None:
        """Tell the screen what the preparation came to; runs on the session's thread."""
        if done.cancelled() or self._awaited is not session:  # the user has gone on to another
            return
        error = done.exception()
        if error is None:
            self._tell(EndpointReady(done.result()))
        else:
            self._tell(OpeningFailed(str(error) or type(error).__name__))

    def change(self, choice: str, typed: Sequence[TypedEndpoint] = ()) -> None:
        """Leave the endpoint for another one; nothing runs any more.

        Args:
            choice: One of ``kvtui.ui.endpoint.choices.endpoint_choices``.
            typed: The endpoints that were typed since the start.
        """
        from kvtui.ui.endpoint.choices import label_of, options_of

        settings, _ = read_settings()
        old = self._conductor.session
        new = new_session(options_of(choice, self._options, typed), settings)
        self._conductor.change_session(new, label_of(choice, settings, self._options, typed))
        _close(old)
        new.warm()
        self.prepare(new)

    def replay(self, replay: Replay) -> None:
        """A recorded run in place of an endpoint; it begins by itself, and nothing is sent."""
        from kvtui.bench.records.replay import ReplaySession

        conductor = self._conductor
        asked = replay.request(replay.recordings[0])
        form = PromptForm(
            prompt=asked.prompt,
            system=asked.system or "",
            max_tokens=asked.max_tokens,
            temperature=asked.temperature,
            repeats=len(replay.recordings),
            kv_cache=asked.kv_cache is not False,
        )
        conductor.play(replay.mark, form)
        self._tell(ConductorReady(conductor, self))
        session = ReplaySession(replay)
        self._tell(SessionReady(session))
        self.prepare(session)

    def replay_instead(self, replay: Replay) -> None:
        """As ``replay``, in place of the endpoint that there was; nothing runs any more."""
        old = self._conductor.session
        self._conductor.prepare_again(run=False)
        self.replay(replay)
        _close(old)


def new_session(options: Mapping[str, Any], settings: Settings) -> SessionLike:
    """The session that these options ask for; its thread is not started yet."""
    from kvtui.bench.requests.session import Session

    flags = {"settings": settings, "remember": True, "record": settings.defaults.record}
    return Session({**options, **flags})


def _close(session: SessionLike | None) -> None:
    """Its thread and its engine's process take a moment to end."""
    if session is not None:
        Thread(target=session.close, name="kvtui-closing", daemon=True).start()
