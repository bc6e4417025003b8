"""An endpoint made ready: its model, what its server listed, or why it cannot be used."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from kvtui.config import Endpoint
from kvtui.failure import Evidence, Verdict

if TYPE_CHECKING:
    from kvtui.engine.geometry import EngineGeometry


@dataclass(frozen=True, slots=True)
class Prepared:
    """What there is to talk to. ``verdict`` is set where it cannot be used."""

    endpoint: Endpoint
    model: str | None
    """The model that is asked: the one named, the only one listed, the engine's; else None."""
    models: tuple[str, ...] = ()
    """What the server listed; empty where it was not asked."""
    engine_geometry: EngineGeometry | None = None
    notes: tuple[str, ...] = ()
    verdict: Verdict | None = None
    evidence: Evidence | None = None
    context: int | None = None
    """Tokens one sequence may have, where the server says so."""
    engine_pid: int | None = None
