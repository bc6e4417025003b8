"""How long to wait before the next try, in seconds, where an answer says it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any

from kvtui.failure.errorobject import ErrorObject

_LONGEST_S = 40 * 86_400.0
"""Waits beyond this are no waits but mistakes (an epoch read as seconds)."""

_UNITS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3_600.0, "d": 86_400.0}
_PIECE = re.compile(r"(\d{1,9}(?:\.\d{1,6})?)\s*(ms|s|m|h|d)(?![a-z])")
_WORDED = re.compile(
    r"(?:(?:re)?try (?:again )?(?:in|after)|available (?:again )?in|wait(?: for)?"
    r"|resets? (?:in|after)|retry[-_ ]after\W{0,4}|reset after|retrydelay\W{0,5})\s*"
    r"(?:about |approximately )?((?:\d{1,9}(?:\.\d{1,6})?\s*[a-z]{0,12}\.?(?:\s|,|and)*){1,4})",
)
_CHINESE = re.compile(r"(\d{1,6}(?:\.\d{1,3})?)\s*(毫秒|秒|分钟|小时)(?:后|之后|内)")
_CHINESE_UNITS = {"毫秒": 0.001, "秒": 1.0, "分钟": 60.0, "小时": 3_600.0}
_LONG_UNITS = (
    (re.compile(r"milliseconds?|msecs?"), "ms"),
    (re.compile(r"seconds?|secs?"), "s"),
    (re.compile(r"minutes?|mins?"), "m"),
    (re.compile(r"hours?|hrs?"), "h"),
    (re.compile(r"days?"), "d"),
)


def retry_after(headers: Mapping[str, str], error: ErrorObject) -> float | None:
    """Seconds to wait: from ``retry-after-ms``, ``Retry-After``, a rate limit's reset, or the text.

    A date is counted from the answer's own ``Date`` header, so that a wrong clock here does no
    harm; without that header a date says nothing.
    """
    found = (
        _scaled(headers.get("retry-after-ms"), 0.001),
        _header(headers),
        _field(error.data),
        _text(error.words),
        _reset(headers),
    )
    return next((seconds for seconds in found if seconds is not None), None)


def _scaled(text: Any, factor: float) -> float | None:
    """A plain number times a factor, where it makes a sensible wait."""
    if isinstance(text, bool) or not isinstance(text, str | int | float):
        return None
    if isinstance(text, str):
        text = text.strip()
        if not re.fullmatch(r"\d{1,15}(?:\.\d{1,9})?", text):
            return None
    seconds = float(text) * factor if abs(float(text)) < 1e15 else -1.0
    return seconds if 0.0 <= seconds <= _LONGEST_S else None


def _header(headers: Mapping[str, str]) -> float | None:
    value = headers.get("retry-after")
    if value is None:
        return None
    seconds = _scaled(value, 1.0)
    if seconds is not None:
        return seconds
    duration = duration_s(value)
    if duration is not None:
        return duration
    then, now = _date(value), _date(headers.get("date"))
    if then is None or now is None:
        return None
    return _scaled(max(0.0, (then - now).total_seconds()), 1.0)


def _date(text: str | None) -> datetime | None:
    try:
        date = parsedate_to_datetime(text or "")
    except (ValueError, TypeError, IndexError, OverflowError):
        return None
    return date if date.tzinfo is not None else date.replace(tzinfo=UTC)


def _field(data: Mapping[str, Any]) -> float | None:
    """Numbers in the error object: ``retry_after``, Google's RetryInfo, HF's ``estimated_time``."""
    for key in ("retry_after", "retry_after_seconds", "retryafter", "estimated_time"):
        seconds = _scaled(data.get(key), 1.0)
        if seconds is not None:
            return seconds
    details = data.get("details")
    for entry in details[:10] if isinstance(details, list) else ():
        delay = entry.get("retryDelay") if isinstance(entry, dict) else None
        seconds = duration_s(delay) if isinstance(delay, str) else None
        if seconds is not None:
            return seconds
    metadata = data.get("metadata")
    return _field(metadata) if isinstance(metadata, dict) and metadata is not data else None


def _text(words: str) -> float | None:
    match = _WORDED.search(words)
    if match:
        seconds = duration_s(match[1])
        if seconds is not None:
            return seconds
    chinese = _CHINESE.search(words)
    return float(chinese[1]) * _CHINESE_UNITS[chinese[2]] if chinese else None


def _reset(headers: Mapping[str, str]) -> float | None:
    """The longest reset among the limits that have nothing left (``6m0s``, ``1s``)."""
    waits = [
        duration_s(headers.get(f"x-ratelimit-reset-{kind}", ""))
        for kind in ("requests", "tokens")
        if headers.get(f"x-ratelimit-remaining-{kind}", "").strip() == "0"
    ]
    return max((wait for wait in waits if wait is not None), default=None)


def duration_s(text: str) -> float | None:
    """``6m0s``, ``20ms``, ``1.5 seconds``, ``2 minutes 3 s``, ``35`` in seconds, or None."""
    text = text.strip().lower()[:80]
    for pattern, unit in _LONG_UNITS:
        text = pattern.sub(unit, text)
    pieces = _PIECE.findall(text)
    if not pieces:
        plain = re.match(r"(\d{1,9}(?:\.\d{1,6})?)\W*$", text)
        return _scaled(float(plain[1]), 1.0) if plain else None
    return _scaled(sum(float(number) * _UNITS[unit] for number, unit in pieces), 1.0)
