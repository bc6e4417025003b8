"""What an endpoint refused, kept between starts in ``state.toml`` under its URL without secrets."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from typing import Any
from urllib.parse import urlsplit, urlunsplit

from kvtui.config import Endpoint
from kvtui.state import load_state, save_state
from kvtui.text import redact

_MOST_ENDPOINTS = 200


def recall(endpoint: Endpoint) -> tuple[str, ...]:
    """The names of what the endpoint refused (see ``kvtui.stream.quirks.REFUSALS``)."""
    names = _table().get(_place(endpoint))
    if not isinstance(names, list):
        return ()
    return tuple(name for name in names if isinstance(name, str))


def remember(endpoint: Endpoint, names: Iterable[str]) -> None:
    """Add names to what is known of the endpoint; a file that cannot be written is no failure."""
    place = _place(endpoint)
    if not place:
        return
    merged = list(dict.fromkeys((*recall(endpoint), *names)))
    table = {key: value for key, value in _table().items() if key != place}
    kept = dict([*table.items(), (place, merged)][-_MOST_ENDPOINTS:])
    with suppress(OSError):
        save_state({"quirks": kept})


def _table() -> dict[str, Any]:
    table = load_state().get("quirks")
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
