"""Which model to ask: the server's list read, its base URL put right where it is not one.

This module imports openai: only the session's own thread may import it.
"""

from __future__ import annotations

import asyncio

import httpx2
from openai import APIStatusError, OpenAIError

from kvtui.bench.requests.prepared import Prepared
from kvtui.config import Endpoint
from kvtui.failure import Evidence, classify
from kvtui.failure.evidence import Phase
from kvtui.language import tr
from kvtui.proxy import Proxy, ProxySettingError, proxy_for
from kvtui.stream.body import UnsendableError, unsendable_header
from kvtui.stream.client import Clients
from kvtui.stream.gather import Redactor, cannot_be_sent, key_facts, urlsplit_or_none
from kvtui.stream.models import (
    ModelList,
    NoModelListError,
    clean_base_url,
    find_base_url,
    list_models,
    wrong_path,
)
from kvtui.stream.patience import LIST_S, Patience
from kvtui.stream.quirks import Quirks, recognise
from kvtui.stream.request import Timeouts


async def discover(
    clients: Clients, endpoint: Endpoint, timeouts: Timeouts
) -> tuple[Prepared, Quirks]:
    """Ask an endpoint for its models; what that taught of it comes beside."""
    notes: list[str] = []
    base_url, note = clean_base_url(endpoint.base_url)
    if note is not None:
        notes.append(note)
    quirks = Quirks()
    try:
        listed = await _list(clients, endpoint, base_url, timeouts)
    except _NotListedError as failed:
        found = None
        if failed.wrong_path:
            found = await find_base_url(clients, endpoint, base_url)
        if found is None:
            return _failed(endpoint, failed.evidence, notes), quirks
        notes.append(
            tr(
                "{base_url} has no model list: using {found}, which answers.",
                base_url=base_url,
                found=found,
            )
        )
        base_url = found
        quirks = Quirks(base_url=found)
        try:
            listed = await _list(clients, endpoint, base_url, timeouts)
        except _NotListedError as again:
            return _failed(endpoint, again.evidence, notes), quirks
    if listed.note is not None:
        notes.append(listed.note)
    known = recognise(listed.owners, listed.server)
    quirks = Quirks(
        continuous_usage=known.continuous_usage,
        llamacpp=known.llamacpp,
        base_url=quirks.base_url,
        contexts=listed.contexts,
    )
    if len(listed.ids) == 1:
        model = listed.ids[0]
        notes.append(tr("The server has one model: {model}.", model=model))
        context = listed.contexts.get(model)
        return Prepared(endpoint, model, listed.ids, notes=tuple(notes), context=context), quirks
    return Prepared(endpoint, None, listed.ids, notes=tuple(notes)), quirks


async def open_connections(clients: Clients, endpoint: Endpoint, count: int) -> int:
    """Open ``count`` connections at once with a cheap request; how many of them answered."""
    base_url, _ = clean_base_url(endpoint.base_url)

    async def one() -> bool:
        try:
            async with asyncio.timeout(LIST_S):
                await list_models(clients, endpoint, base_url)
        except APIStatusError:
            return True  # an answer is an answer: the connection is there
        except (OpenAIError, httpx2.HTTPError, ValueError, TimeoutError):
            return False
        return True

    return sum(await asyncio.gather(*(one() for _ in range(count))))


class _NotListedError(Exception):
    """The list could not be had."""

    def __init__(self, evidence: Evidence, wrong_path: bool = False) -> None:
        super().__init__(evidence.url)
        self.evidence = evidence
        self.wrong_path = wrong_path


async def _list(
    clients: Clients, endpoint: Endpoint, base_url: str, timeouts: Timeouts
) -> ModelList:
    redactor = Redactor(endpoint, {}, ())
    proxy: Proxy | None = None
    patience: Patience | None = None
    if cannot_be_sent(endpoint, base_url, {}):
        raise _NotListedError(_evidence(endpoint, redactor, base_url, None, None, "settings"))
    try:
        proxy = proxy_for(base_url)
        await clients.transport.prepare(base_url)
        patience = Patience(proxy, timeouts)
        async with patience.limit:
            return await list_models(clients, endpoint, base_url, patience.flight)
    except APIStatusError as error:
        text = error.response.text
        evidence = _evidence(endpoint, redactor, base_url, proxy, error, "stream")
        kind = evidence.headers.get("content-type", "")
        raise _NotListedError(evidence, wrong_path(error.status_code, kind, text)) from error
    except TimeoutError as error:
        evidence = _evidence(endpoint, redactor, base_url, proxy, error, "headers", waited=patience)
        raise _NotListedError(evidence) from error
    except ProxySettingError as error:
        raise _NotListedError(
            _evidence(endpoint, redactor, base_url, error.proxy, error, "settings")
        ) from error
    except (OpenAIError, httpx2.HTTPError, httpx2.InvalidURL, OSError, TypeError) as error:
        raise _NotListedError(
            _evidence(endpoint, redactor, base_url, proxy, error, "connect")
        ) from error
    except NoModelListError as error:  # a web page, a portal, another API
        evidence = _evidence(endpoint, redactor, base_url, proxy, error, "done")
        raise _NotListedError(evidence, wrong_path=True) from error
    except ValueError as error:  # a key or a header that HTTP cannot carry
        fault = unsendable_header(endpoint.headers)
        cause = error if fault is None else UnsendableError(fault)
        evidence = _evidence(endpoint, redactor, base_url, proxy, cause, "settings")
        raise _NotListedError(evidence) from error


def _evidence(
    endpoint: Endpoint,
    redactor: Redactor,
    base_url: str,
    proxy: Proxy | None,
    error: BaseException | None,
    phase: Phase,
    waited: Patience | None = None,
) -> Evidence:
    page = isinstance(error, NoModelListError)
    response = error.response if isinstance(error, APIStatusError | NoModelListError) else None
    chain = () if page else redactor.chain(error)  # the answer itself says more
    if waited is not None:
        chain = (waited.fact(), *chain)
    return Evidence(
        phase=waited.phase if waited is not None else phase,
        method="GET",
        url=redactor.text(f"{base_url}/models"),
        host=_host(base_url),
        key=key_facts(endpoint),
        proxy=proxy.url if proxy else None,
        proxy_from=proxy.variable if proxy else None,
        status=response.status_code if response is not None else None,
        headers=redactor.headers(response.headers) if response is not None else {},
        body=redactor.body(response.text) if response is not None else None,
        exceptions=chain,
        streamed=not page,
        waiting_for=waited.waiting_for if waited is not None else None,
        waited_s=waited.waited_s if waited is not None else None,
        base_url=redactor.text(endpoint.base_url),
    )


def _failed(endpoint: Endpoint, evidence: Evidence, notes: list[str]) -> Prepared:
    return Prepared(
        endpoint, None, notes=tuple(notes), verdict=classify(evidence), evidence=evidence
    )


def _host(url: str) -> str:
    parts = urlsplit_or_none(url)
    return (parts.hostname or "") if parts is not None else ""
