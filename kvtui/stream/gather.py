"""What happened on the wire → ``Evidence``, with every secret taken out on the way."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any
from urllib.parse import urlsplit

from kvtui.config import Endpoint
from kvtui.failure import ExceptionFact, KeyFacts
from kvtui.failure.keyform import PLACEHOLDER, inspect_key
from kvtui.failure.providers import provider_of_host
from kvtui.failure.urlform import url_problem
from kvtui.text import REDACTED, redact

_MAX_BODY = 64 << 10
_MAX_TEXT = 4_000
_MAX_CHAIN = 12
_SECRET_HEADERS = re.compile(r"cookie|authoriz|api[-_]?key|token|secret", re.IGNORECASE)
_TOKEN_COUNTS = re.compile(r"ratelimit|remaining|limit|reset|count", re.IGNORECASE)

SERVER_TIME_HEADERS = (
    "openai-processing-ms",
    "x-litellm-response-duration-ms",
    "x-inference-time",
    "x-processing-ms",
    "x-response-time-ms",
    "x-envoy-upstream-service-time",
)
"""Response headers in which a server states its own time, in milliseconds; nearest first."""


def is_secret_header(name: str) -> bool:
    """True where a request header of this name holds a secret."""
    return _SECRET_HEADERS.search(name) is not None


def secrets_of(endpoint: Endpoint, headers: Mapping[str, str]) -> tuple[str, ...]:
    """Every secret that a request carries: its key, those in its headers and in its URL."""
    secrets = [endpoint.api_key or ""]
    for name, value in (*endpoint.headers.items(), *headers.items()):
        if is_secret_header(name):
            secrets.append(value)
            secrets.append(value.partition(" ")[2])
    parts = urlsplit_or_none(endpoint.base_url)
    if parts is not None and parts.password:
        secrets.append(parts.password)
    return tuple(dict.fromkeys(secret for secret in secrets if secret))


class Redactor:
    """Takes the secrets of one request out of any text or JSON value."""

    def __init__(
        self, endpoint: Endpoint, headers: Mapping[str, str], extra: Iterable[str]
    ) -> None:
        self._secrets = (*secrets_of(endpoint, headers), *filter(None, extra))

    def text(self, text: str, limit: int = _MAX_TEXT) -> str:
        """``text`` redacted, then cut to ``limit`` characters."""
        return redact(text[: limit + 512], *self._secrets)[:limit]

    def body(self, body: bytes | str | None) -> str | None:
        """A body as text, redacted and cut to 64 KiB."""
        if body is None:
            return None
        if isinstance(body, bytes):
            body = body[: _MAX_BODY + 4].decode("utf-8", "replace")
        return self.text(body, _MAX_BODY)

    def value(self, value: Any, depth: int = 0) -> Any:
        """A parsed JSON value with every string in it redacted."""
        if isinstance(value, str):
            return self.text(value)
        if depth > 8:
            return None
        if isinstance(value, dict):
            return {
                self.text(str(key), 200): self.value(item, depth + 1)
                for key, item in list(value.items())[:100]
            }
        if isinstance(value, list):
            return [self.value(item, depth + 1) for item in value[:100]]
        return value

    def headers(self, headers: Mapping[str, str]) -> dict[str, str]:
        """Response headers: lower-case names, no cookies."""
        clean: dict[str, str] = {}
        for name, value in headers.items():
            low = name.lower()
            hidden = _SECRET_HEADERS.search(low) and not _TOKEN_COUNTS.search(low)
            clean[low] = REDACTED if hidden else self.text(value, 500)
        return clean

    def chain(self, error: BaseException | None) -> tuple[ExceptionFact, ...]:
        """An exception and what caused it, outermost first."""
        facts: list[ExceptionFact] = []
        seen: set[int] = set()
        while error is not None and id(error) not in seen and len(facts) < _MAX_CHAIN:
            seen.add(id(error))
            facts.append(ExceptionFact(type(error).__name__, self.text(_words(error))))
            error = error.__cause__ or (None if error.__suppress_context__ else error.__context__)
        return tuple(facts)


def _words(error: BaseException) -> str:
    try:
        return str(error)
    except Exception:  # noqa: BLE001 - a broken __str__ must not hide the failure it belongs to
        return ""


def key_facts(endpoint: Endpoint) -> KeyFacts:
    """What may be said of the endpoint's key."""
    key = endpoint.api_key
    form = inspect_key(key) if key else None
    return KeyFacts(
        origin=endpoint.key_from if key else None,
        length=len(key or ""),
        problem=form.problem if form else None,
        other_variables=endpoint.other_key_variables,
        kind=form.kind if form else None,
        wanted_variable=endpoint.key_wanted_from,
        belongs_to=form.belongs_to if form else None,
    )


def cannot_be_sent(endpoint: Endpoint, base_url: str, headers: Mapping[str, str]) -> bool:
    """Whether URL or key are such that a request is not even tried.

    The URL is none, the key holds what no header can carry, or the provider is known to want a key
    and there is none (or a placeholder). Local servers take any key, and none.
    """
    if url_problem(base_url) is not None:
        return True
    facts = key_facts(endpoint)
    if facts.problem is not None and facts.kind is None:
        return True
    provider = provider_of_host(urlsplit(base_url).hostname or "")
    if provider is None or not provider.needs_key:
        return False
    if endpoint.api_key:
        return facts.kind == PLACEHOLDER
    return not any(_SECRET_HEADERS.search(name) for name in (*endpoint.headers, *headers))


def server_ms(headers: Mapping[str, str]) -> float | None:
    """The server's own time from its response headers, in milliseconds."""
    for name in SERVER_TIME_HEADERS:
        value = headers.get(name, "").strip().lower().removesuffix("ms").strip()
        if re.fullmatch(r"\d{1,9}(\.\d+)?", value):
            return float(value)
    return None


def urlsplit_or_none(url: str) -> Any:
    """``urlsplit``, or None where the URL cannot be split."""
    try:
        parts = urlsplit(url)
        _ = parts.port
    except ValueError:
        return None
    return parts
