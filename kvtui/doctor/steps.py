"""One step of a check-up: what was looked at, how it went, how long it took."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from kvtui.failure import Evidence, Verdict
from kvtui.language import tr

State: TypeAlias = Literal["ok", "failed", "unknown"]

GLYPHS: dict[State, str] = {"ok": "✓", "failed": "✗", "unknown": "–"}

TITLES = {
    "settings": "Settings",
    "url": "Base URL",
    "dns": "DNS",
    "tcp": "TCP",
    "tls": "TLS",
    "http": "HTTP",
    "path": "Base path",
    "key": "Key",
    "models": "Models",
    "stream": "Stream",
    "usage": "Token count",
}
"""All steps in their order, with the title each is shown under."""


@dataclass(frozen=True, slots=True)
class Step:
    """The result of one step; texts are sanitised and free of secrets."""

    name: str
    """A key of ``TITLES``."""
    state: State
    """``unknown``: it does not apply, could not be told, or was not reached."""
    detail: str = ""
    ms: float | None = None
    notes: tuple[str, ...] = ()
    verdict: Verdict | None = None
    """Set where the step failed."""
    evidence: Evidence | None = None
    refused: tuple[str, ...] = ()
    """What the endpoint refused on the way (``kvtui.stream.quirks.REFUSALS``)."""

    @property
    def title(self) -> str:
        """What the step is called on the screen."""
        return TITLES[self.name]

    @property
    def glyph(self) -> str:
        """✓, ✗ or –."""
        return GLYPHS[self.state]


def not_reached(done: Sequence[Step]) -> Iterator[Step]:
    """The steps that a check-up did not come to, as unknown."""
    names = {step.name for step in done}
    for name in TITLES:
        if name not in names:
            yield Step(name, "unknown", tr("not reached"))
