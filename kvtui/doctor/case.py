"""What a check-up looks at: an endpoint, its time limits, the request it streams."""

from __future__ import annotations

from dataclasses import dataclass, field

from kvtui.config import Endpoint
from kvtui.stream.request import Timeouts

PROMPT = "Count from one to twenty, in words, separated by spaces."
MAX_TOKENS = 32


@dataclass(frozen=True, slots=True)
class Case:
    """What is to be examined."""

    endpoint: Endpoint
    timeouts: Timeouts = field(default_factory=Timeouts)
    prompt: str = PROMPT
    max_tokens: int = MAX_TOKENS
    notes: tuple[str, ...] = ()
    """What was noticed while the settings were read."""
