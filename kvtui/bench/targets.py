"""The endpoints of a workload that has several: which they are, and what they are called."""

from __future__ import annotations

import msgspec


class Target(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One endpoint of several. What names no place is the embedded engine."""

    name: str
    """What its rows and findings call it."""
    base_url: str | None = None
    profile: str | None = None
    model: str | None = None
    weights: str = ""
    """Precision of the embedded engine's weights; empty: as it loads them."""
    kv_dtype: str = ""
    """Precision of its cache; empty: float32."""
