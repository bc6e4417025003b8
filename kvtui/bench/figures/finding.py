"""One sentence that the figures of a run support, with the numbers behind it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any


@dataclass(frozen=True, slots=True)
class Finding:
    """One sentence. ``holds`` is None where the figures do not decide it, or nothing was asked."""

    code: str
    message: str
    holds: bool | None = None
    figures: Mapping[str, Any] = field(default_factory=lambda: MappingProxyType({}))

    def table(self) -> dict[str, Any]:
        """For JSON."""
        return {
            "code": self.code,
            "message": self.message,
            "holds": self.holds,
            "figures": dict(self.figures),
        }
