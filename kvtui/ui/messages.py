"""Messages that cross from the opening thread to the screen, and between widgets and screens."""

from __future__ import annotations

from typing import TYPE_CHECKING

from textual.message import Message

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from kvtui.config import Endpoint
    from kvtui.ui.adviser.card import ServersCard
    from kvtui.ui.endpoint.server import ServerWatch
    from kvtui.ui.memory import MemoryView
    from kvtui.ui.ports import PreparedLike, SessionLike, SessionsLike
    from kvtui.ui.state import PromptForm, ServerKV
    from kvtui.ui.stream.conductor import Conductor


class ConductorReady(Message):
    """The machinery behind the screen is imported.

    ``fps`` and ``keeps_prompts`` are what the settings say; None where they have said it before.
    """

    def __init__(
        self,
        conductor: Conductor,
        sessions: SessionsLike,
        fps: int | None = None,
        keeps_prompts: bool | None = None,
    ) -> None:
        super().__init__()
        self.conductor = conductor
        self.sessions = sessions
        self.fps = fps
        self.keeps_prompts = keeps_prompts


class MemoryReady(Message):
    """Catalogue and cards are loaded; ``problems`` are sentences about options that were wrong."""

    def __init__(self, view: MemoryView, problems: Sequence[str]) -> None:
        super().__init__()
        self.view = view
        self.problems = tuple(problems)


class SessionReady(Message):
    """The session's thread runs; the endpoint is being prepared.

    ``server`` asks the server about itself; None where no server answers.
    """

    def __init__(self, session: SessionLike, server: ServerWatch | None = None) -> None:
        super().__init__()
        self.session = session
        self.server = server


class EndpointReady(Message):
    """The endpoint is known: usable, or with the verdict that says why not."""

    def __init__(self, prepared: PreparedLike) -> None:
        super().__init__()
        self.prepared = prepared


class OpeningFailed(Message):
    """Something on the way to the endpoint was wrong, in one sentence."""

    def __init__(self, sentence: str) -> None:
        super().__init__()
        self.sentence = sentence


class ServerSaid(Message):
    """The server was asked about its own KV cache; None: it says nothing of it."""

    def __init__(self, kv: ServerKV | None) -> None:
        super().__init__()
        self.kv = kv

    def can_replace(self, message: Message) -> bool:
        """Only the newest counts."""
        return isinstance(message, ServerSaid)


class ServersCardFound(Message):
    """The server's card was looked for; ``problem`` says what the profile has wrong."""

    def __init__(self, endpoint: Endpoint, found: ServersCard | None, problem: str = "") -> None:
        super().__init__()
        self.endpoint = endpoint
        self.found = found
        self.problem = problem


class ExperimentOver(Message):
    """An experiment has come to its end, whichever screen is shown."""


class FileWanted(Message):
    """A widget asks for a text file; ``take`` is called with its path, or with None."""

    def __init__(self, take: Callable[[str | None], None]) -> None:
        super().__init__()
        self.take = take


class FormSubmitted(Message):
    """The prompt editor was left with Enter (``run``) or Esc."""

    def __init__(self, form: PromptForm, *, run: bool, problem: str = "") -> None:
        """Hand it over.

        Args:
            form: What was right in it.
            run: Whether to run it.
            problem: What was wrong in a field, and so was not taken.
        """
        super().__init__()
        self.form = form
        self.run = run
        self.problem = problem
