"""One look at a server: which of its pages tells something, and what."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import replace
from typing import NamedTuple
from urllib.parse import urlsplit

import aiohttp

from kvtui.language import tr
from kvtui.telemetry import jsonpages
from kvtui.telemetry.engines import read_metrics
from kvtui.telemetry.fetch import PAGE_LIMIT, Client, Reply, Unreached
from kvtui.telemetry.places import is_local, roots, without_userinfo
from kvtui.telemetry.prometheus import is_metrics
from kvtui.telemetry.status import ServerStatus, overlay

TIMEOUT_S = 2.0


class _Place(NamedTuple):
    """A page that may tell something: where, and how it is read."""

    url: str
    path: str


class Look:
    """Looks at one endpoint, and remembers which pages answered.

    The first look tries what the server may publish: ``/metrics``, then ``/v1/models``, then the
    pages of the kind that those two suggest (of every kind, on this machine or a private network).
    Later looks ask only the pages that told something. Where nothing is published, ``quiet`` holds
    and each further look tries a single page, in turn.
    """

    def __init__(
        self,
        base_url: str,
        api_key: str | None = None,
        headers: Mapping[str, str] | None = None,
        *,
        embedded: bool = False,
        timeout_s: float = TIMEOUT_S,
    ) -> None:
        """Remember the endpoint; nothing is sent.

        Raises:
            ValueError: ``base_url`` is no http(s) URL; one sentence.
        """
        self.client = Client(api_key, headers, timeout_s)
        self._sends_key = bool(api_key)
        self._base_url = base_url.strip().rstrip("/")
        self._roots = roots(base_url)
        self._local = embedded or is_local(base_url)
        self._known: tuple[_Place, ...] = ()
        self._identity: ServerStatus | None = None
        self._turn = 0
        self.quiet = False
        """Nothing is published here, as far as the last look could tell."""

    async def once(self, session: aiohttp.ClientSession) -> ServerStatus:
        """Look now. Never raises: a server that cannot be reached is a status that says so."""
        try:
            status = await self._look(session)
        except Unreached as error:
            self._known, self.quiet = (), False  # who comes back may be another server
            status = ServerStatus(answered=False, notes=(str(error),))
        return replace(
            status,
            at=time.monotonic(),
            models=self.client.names(status.models),
            notes=tuple(self.client.hide(note, 300) for note in status.notes),
        )

    async def _look(self, session: aiohttp.ClientSession) -> ServerStatus:
        if self._known:
            status = await self._again(session)
            return status if status is not None else await self._search(session)
        if self.quiet and self._identity is not None:
            places = self._candidates(self._identity)
            place = places[self._turn % len(places)]
            self._turn += 1
            if self._read(await self.client.get(session, place.url), place) is None:
                return self._identity
        return await self._search(session)

    async def _again(self, session: aiohttp.ClientSession) -> ServerStatus | None:
        """The pages that told something before; None where the first of them no longer does."""
        first, *others = self._known
        page = self._read(await self.client.get(session, first.url), first)
        if page is None:
            self._known = ()
            return None
        status = _merge(None, page)
        for place in others:
            reply = await self._try(session, place.url)
            if reply is not None and (more := self._read(reply, place)) is not None:
                status = _merge(status, more)
        return overlay(status, self._identity) if self._identity is not None else status

    async def _search(self, session: aiohttp.ClientSession) -> ServerStatus:
        """Try everything once.

        Raises:
            Unreached: The first page had no answer at all, or none but gateway errors.
        """
        self.quiet = False
        replies: list[Reply] = []
        status = await self._metrics(session, replies)
        known = []
        if status is not None and status.kind != "unknown":
            known = [_Place(replies[-1].url, "/metrics")]
        identity = await self._models(session, replies)
        _refuse_gateway_errors(self.client, replies)
        llamacpp = any(reply.status == 501 for reply in replies)
        if llamacpp and identity.kind == "unknown":
            identity = replace(identity, kind="llamacpp")
        seen = status if status is not None and status.kind != "unknown" else identity
        for place in self._further(seen, published=seen is status):
            reply = await self._try(session, place.url)
            more = self._read(reply, place) if reply is not None else None
            if more is None:
                continue
            if place.path == "/props":
                identity = overlay(more, identity)
                continue
            known.append(place)
            status = _merge(status, more)
            if more.kind != "llamacpp":
                break
        self._known = tuple(known)
        self._identity = identity
        self.quiet = not known
        if known and status is not None:
            return overlay(status, identity)
        why = (*(status.notes if status is not None else ()), *self._why_empty(replies, identity))
        self._identity = replace(identity, notes=why)
        return self._identity

    async def _metrics(
        self, session: aiohttp.ClientSession, replies: list[Reply]
    ) -> ServerStatus | None:
        for root in self._roots:
            place = _Place(f"{root}/metrics", "/metrics")
            if replies:
                reply = await self._try(session, place.url)
            else:
                reply = await self.client.get(session, place.url)
            if reply is None:
                continue
            replies.append(reply)
            if (status := self._read(reply, place)) is not None:
                return status
        return None

    async def _models(self, session: aiohttp.ClientSession, replies: list[Reply]) -> ServerStatus:
        reply = await self._try(session, f"{self._base_url}/models")
        if reply is None:
            return ServerStatus()
        replies.append(reply)
        found = None
        if reply.status == 200:
            found = jsonpages.read_models(reply.body, without_userinfo(reply.url))
        return found or ServerStatus()

    def _further(self, seen: ServerStatus, *, published: bool) -> list[_Place]:
        """The JSON pages worth asking after ``/metrics``, for the kind of server seen."""
        if seen.kind == "llamacpp":
            return self._places("/slots", "/props")
        if published:
            return []
        return self._candidates(seen)[len(self._roots) :]

    def _candidates(self, seen: ServerStatus) -> list[_Place]:
        paths: dict[str, tuple[str, ...]] = {
            "llamacpp": ("/slots",),
            "sglang": ("/v1/loads",),
            "ollama": ("/api/ps",),
            "lmstudio": ("/api/v1/models",),
            "unknown": ("/api/ps", "/api/v1/models", "/v1/loads") if self._local else (),
        }
        return self._places("/metrics", *paths.get(seen.kind, ()))

    def _places(self, *paths: str) -> list[_Place]:
        return [_Place(f"{root}{path}", path) for path in paths for root in self._roots]

    async def _try(self, session: aiohttp.ClientSession, url: str) -> Reply | None:
        """A page of a server that has answered already: none is not a failure."""
        try:
            return await self.client.get(session, url)
        except Unreached:
            return None

    def _read(self, reply: Reply, place: _Place) -> ServerStatus | None:
        if reply.status != 200 or reply.too_large:
            return None
        shown = without_userinfo(reply.url)
        if place.path == "/metrics":
            text = reply.text
            return read_metrics(text, shown) if is_metrics(reply.content_type, text) else None
        return jsonpages.READERS[place.path](reply.body, shown)

    def _why_empty(self, replies: list[Reply], identity: ServerStatus) -> tuple[str, ...]:
        """Sentences that say why there are no figures."""
        notes = [tr("No figures are published here: {replies}.", replies=_seen(replies))]
        if any(reply.status == 501 for reply in replies):
            notes.append(tr("llama-server tells more when started with --metrics and --slots."))
        elif identity.kind == "sglang":
            notes.append(tr("SGLang publishes /metrics when started with --enable-metrics."))
        if any(reply.status in (401, 403) for reply in replies):
            notes.append(
                tr("The server refused the key that was sent.")
                if self._sends_key
                else tr("The server asks for a key, and none was sent.")
            )
        return tuple(notes)


def _merge(first: ServerStatus | None, more: ServerStatus) -> ServerStatus:
    """One server's pages as one status."""
    if more.kind == "llamacpp" and more.urls[0].endswith("/slots"):
        return jsonpages.beside_metrics(first, more)
    return more if first is None else overlay(first, more)


def _seen(replies: list[Reply]) -> str:
    """``/metrics answers 404, /v1/models answers 401``."""
    parts = []
    for reply in replies:
        path = urlsplit(reply.url).path
        if reply.too_large:
            parts.append(tr("{path} is larger than {limit} MiB", path=path, limit=PAGE_LIMIT >> 20))
        elif reply.status == 200:
            parts.append(f"{path} holds none")
        else:
            parts.append(f"{path} answers {reply.status}")
    return ", ".join(parts)


def _refuse_gateway_errors(client: Client, replies: list[Reply]) -> None:
    """Nothing but 5xx is a server that does not work; 501 is llama.cpp without its pages."""
    if any(reply.status < 500 or reply.status == 501 for reply in replies):
        return
    last = replies[-1]
    text = client.hide(jsonpages.error_text(last.body) or last.text[:2000], 120).rstrip(".")
    raise Unreached(
        tr(
            "The server answers only with status {status}: {text}.",
            status=last.status,
            text=text or tr("no text"),
        )
    )
