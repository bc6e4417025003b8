"""Which endpoint, which key, which settings: flags > environment > TOML file > defaults."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType


@dataclass(frozen=True, slots=True)
class Endpoint:
    """Where requests go. ``api_key`` is kept out of every repr, log and record."""

    base_url: str
    """As chosen, without a trailing slash; empty for the embedded engine until it has started."""
    chosen_by: str
    """What decided: ``--base-url``, ``profile NAME``, ``OPENAI_BASE_URL``, ..., ``embedded``."""
    api_key: str | None = field(default=None, repr=False)
    key_from: str | None = None
    """The key's origin, e.g. ``TAOTOKEN_API_KEY``; None when no key is sent."""
    headers: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    model: str | None = None
    architecture: str | None = None
    """A catalogue model for the Memory pane, from the profile or ``--arch``."""
    embedded: bool = False
    profile: str | None = None
