"""What an endpoint refused, kept between starts in ``state.toml`` under its URL without secrets.

Servers are updated: what was refused is kept for a month, and forgotten as soon as the endpoint is
seen to take it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from datetime import UTC, date, datetime, timedelta
from typing import Any
from urllib.parse import urlsplit, urlunsplit

from kvtui.config import Endpoint
from kvtui.state_file import change_state, load_state
from kvtui.text import redact

KEPT = timedelta(days=30)
_MOST_ENDPOINTS = 200


def recall(endpoint: Endpoint, today: date | None = None) -> tuple[str, ...]:
    """The names of what the endpoint refused of late (see ``kvtui.stream.quirks.REFUSALS``)."""
    return tuple(_fresh(_table(load_state()).get(_place(endpoint)), today or _today()))


def remember(endpoint: Endpoint, names: Iterable[str], today: date | None = None) -> None:
    """Add names to what is known of the endpoint; a file that cannot be written is no failure."""
    today = today or _today()
    _change(endpoint, today, lambda kept: {**kept, **dict.fromkeys(names, today)})


def forget(endpoint: Endpoint, names: Iterable[str], today: date | None = None) -> None:
    """The endpoint was seen to take these."""
    taken = set(names)
    _change(
        endpoint,
        today or _today(),
        lambda kept: {name: day for name, day in kept.items() if name not in taken},
    )


def _change(
    endpoint: Endpoint, today: date, change: Callable[[dict[str, date]], dict[str, date]]
) -> None:
    place = _place(endpoint)
    if not place:
        return

    def changed(content: Mapping[str, Any]) -> dict[str, Any]:
        table = _table(content)
        before = _fresh(table.get(place), today)
        after = change(before)
        if after == before:
            return {}
        others = {key: _fresh(value, today) for key, value in table.items() if key != place}
        entries = [(key, value) for key, value in (*others.items(), (place, after)) if value]
        return {"quirks": dict(entries[-_MOST_ENDPOINTS:])}

    with suppress(OSError):
        change_state(changed)


def _fresh(entry: Any, today: date) -> dict[str, date]:
    """The names of an entry and the day each was refused on, those a month old left out."""
    days = entry.items() if isinstance(entry, dict) else ()
    return {
        name: day
        for name, day in days
        if isinstance(day, date)
        and not isinstance(day, datetime)
        and timedelta(0) <= today - day < KEPT
    }


def _today() -> date:
    return datetime.now(UTC).date()


def _table(content: Mapping[str, Any]) -> dict[str, Any]:
    table = content.get("quirks")
    return table if isinstance(table, dict) else {}


def _place(endpoint: Endpoint) -> str:
    """The base URL without login, query and anything like a key; empty where it is no URL."""
    try:
        parts = urlsplit(endpoint.base_url)
    except ValueError:
        return ""
    host = parts.netloc.rpartition("@")[2]
    url = urlunsplit((parts.scheme, host, parts.path.rstrip("/"), "", ""))
    return redact(url, endpoint.api_key)
