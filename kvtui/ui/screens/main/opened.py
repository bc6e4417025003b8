"""What the opening has brought so far, and how things stand behind the panes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from kvtui.ui.endpoint.server import ServerWatch
    from kvtui.ui.experiments.lab import Lab
    from kvtui.ui.memory import MemoryView
    from kvtui.ui.ports import PreparedLike, SessionsLike
    from kvtui.ui.state import ServerKV
    from kvtui.ui.stream.conductor import Conductor


@dataclass
class Opened:
    """All None at the first frame; shared by the screen's collaborators."""

    conductor: Conductor | None = None
    """What runs requests."""
    sessions: SessionsLike | None = None
    """What prepares and exchanges the endpoint's session; there from the conductor on."""
    memory: MemoryView | None = None
    """Catalogue, cards and the choices of the Memory pane."""
    server: ServerWatch | None = None
    """Asks the server about itself; stays None where a record is played, and in tests."""
    server_kv: ServerKV | None = None
    """What the server says of its KV cache."""
    lab: Lab | None = None
    """What experiments are there; made when they are first asked for."""
    endpoint_known: bool = False
    """Who answers is known, or that nobody does: the Memory pane has a model to show."""

    @property
    def prepared(self) -> PreparedLike | None:
        """The endpoint, where it is prepared."""
        return None if self.conductor is None else self.conductor.prepared

    @property
    def api_key(self) -> str | None:
        """The endpoint's key, which must not be shown."""
        return None if self.prepared is None else self.prepared.endpoint.api_key

    @property
    def running(self) -> bool:
        """A request is on its way."""
        return self.conductor is not None and self.conductor.running

    @property
    def experimenting(self) -> bool:
        """An experiment is under way, or about to begin."""
        return self.lab is not None and self.lab.busy

    @property
    def embedded(self) -> bool:
        """The embedded engine answers, as far as is known."""
        return self.conductor is None or self.conductor.endpoint.embedded

    def leave_endpoint(self) -> None:
        """Another is going to answer: what this one said counts no more."""
        self.endpoint_known = False
        self.server_kv = None
        if self.server is not None:
            self.server.stop()
        if self.memory is not None:
            self.memory.forget_endpoint()
