"""Redaction, sanitising and units: what every text passes before anyone sees it."""

from __future__ import annotations
