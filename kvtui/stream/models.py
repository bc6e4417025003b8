"""The server's list of models, and the search for the base URL where it answers."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

import httpx2
from openai import APIStatusError, OpenAIError

from kvtui.config import Endpoint
from kvtui.failure.urlform import path_candidates
from kvtui.language import tr
from kvtui.proxy import proxy_for
from kvtui.redaction import holds, is_telling
from kvtui.stream.client import Clients, request_headers
from kvtui.stream.gather import secrets_of
from kvtui.stream.sending import Flight, current_flight

_PASTED = ("/chat/completions", "/completions", "/responses", "/models", "/embeddings")
PROBE_SECONDS = 5.0
_MOST_MODELS = 100_000
_NAMES_A_MODEL = re.compile(r"(?<![/\w])(?:model|deployment|engine)")
"""Not in a path: ``Did you mean /v1/models?`` names no model."""


@dataclass(frozen=True, slots=True)
class ModelList:
    """What ``GET /models`` says. ``owners`` tell which engine serves."""

    ids: tuple[str, ...]
    owners: tuple[str, ...] = ()
    server: str | None = None
    contexts: Mapping[str, int] = field(default_factory=lambda: MappingProxyType({}))
    """Tokens one sequence may have, where the list says so."""
    secret: int = 0
    """Names that were left out because they hold the key (a server that echoes it)."""

    @property
    def note(self) -> str | None:
        """What is to be said of the list."""
        if not self.secret:
            return None
        names = (
            tr("one name that holds")
            if self.secret == 1
            else tr("{secret} names that hold", secret=self.secret)
        )
        return tr("The server's list of models has {names} the key: left out.", names=names)


class NoModelListError(ValueError):
    """An answer that is no model list; ``response`` is what came instead."""

    def __init__(self, sentence: str, response: httpx2.Response) -> None:
        super().__init__(sentence)
        self.response = response


def clean_base_url(base_url: str) -> tuple[str, str | None]:
    """A base URL without a pasted endpoint path; the sentence that says so where one was cut."""
    url = base_url.strip().rstrip("/")
    for suffix in _PASTED:
        if url.lower().endswith(suffix):
            cut = url[: -len(suffix)].rstrip("/")
            return cut, tr(
                "The base URL ends before {suffix}: using {cut}.", suffix=suffix, cut=cut
            )
    return url, None


def wrong_path(status: int | None, content_type: str, body: str) -> bool:
    """Whether an answer looks like that of a path where no API is, rather than of a failure."""
    head = body[:2000].lstrip().lower()
    html = "text/html" in content_type or head.startswith(("<!doctype html", "<html"))
    if status == 200:
        return html or "unexpected endpoint" in head
    if status not in (404, 405):
        return False
    return html or _NAMES_A_MODEL.search(head) is None


async def list_models(
    clients: Clients, endpoint: Endpoint, base_url: str, flight: Flight | None = None
) -> ModelList:
    """Ask the server which models it serves; ``flight`` hears how far the request has come.

    Raises:
        openai.OpenAIError, httpx2.HTTPError: It did not answer, or with an error.
        NoModelListError: It answered with something else.
    """
    token = current_flight.set(flight or Flight(proxy_for(base_url)))
    try:
        response = await clients.of(endpoint, base_url).get(
            "/models", cast_to=httpx2.Response, options={"headers": request_headers(endpoint, {})}
        )
    finally:
        current_flight.reset(token)
    secrets = secrets_of(endpoint, {})
    listed = parse_models(response.text, response.headers.get("server"), secrets)
    if listed is None:
        raise NoModelListError(
            f"GET {base_url}/models answered with something that is no model list", response
        )
    return listed


def parse_models(
    body: str, server: str | None = None, secrets: Iterable[str] = ()
) -> ModelList | None:
    """A model list in any of its shapes; None where it is none.

    Args:
        body: The answer's text.
        server: Its ``Server`` header.
        secrets: The keys in use. A name that holds one is no model's, and is left out: it would be
            shown, noted and recorded wherever models are.
    """
    telling = tuple(secret for secret in secrets if is_telling(secret.strip()))
    try:
        table = json.loads(body)
    except (ValueError, RecursionError):
        return None
    entries: Any = table
    if isinstance(table, dict):
        entries = table.get("data")
        if not isinstance(entries, list):
            entries = table.get("models")
    if not isinstance(entries, list):
        return None
    ids: dict[str, None] = {}
    owners: list[str] = []
    secret = 0
    contexts: dict[str, int] = {}
    for entry in entries[:_MOST_MODELS]:
        name = entry if isinstance(entry, str) else _name(entry)
        if not name or name in ids:
            continue
        if telling and holds(name, *telling):
            secret += 1
            continue
        ids[name] = None
        if isinstance(entry, dict):
            if isinstance(owner := entry.get("owned_by"), str):
                owners.append(owner)
            if (context := _context(entry)) is not None:
                contexts[name] = context
    owned = tuple(dict.fromkeys(owners))
    return ModelList(tuple(ids), owned, server, MappingProxyType(contexts), secret)


def _name(entry: Any) -> str:
    if not isinstance(entry, dict):
        return ""
    name = entry.get("id") or entry.get("name") or entry.get("model")
    return name if isinstance(name, str) else ""


def _context(entry: Mapping[str, Any]) -> int | None:
    meta = entry.get("meta")
    tables = [entry, meta if isinstance(meta, dict) else {}]
    for table in tables:
        for field_name in ("max_model_len", "context_length", "context_window", "n_ctx"):
            value = table.get(field_name)
            if isinstance(value, int) and not isinstance(value, bool) and value > 0:
                return value
    return None


async def find_base_url(clients: Clients, endpoint: Endpoint, base_url: str) -> str | None:
    """The first candidate whose ``/models`` answers as an API would; None where none does."""
    behind_key: str | None = None
    for candidate in path_candidates(base_url):
        try:
            async with asyncio.timeout(PROBE_SECONDS):
                await list_models(clients, endpoint, candidate)
        except APIStatusError as error:
            if error.status_code in (401, 403) and _is_json(error.response.text):
                behind_key = behind_key or candidate
        except (OpenAIError, httpx2.HTTPError, ValueError, TimeoutError):
            continue
        else:
            return candidate
    return behind_key


def _is_json(text: str) -> bool:
    try:
        return isinstance(json.loads(text), dict)
    except (ValueError, RecursionError):
        return False
