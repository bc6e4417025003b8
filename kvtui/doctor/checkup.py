"""The check-up itself: an async iterator of steps, each as soon as its result is there.

It runs in any event loop. openai is imported in a thread when the network has been seen to work.
"""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator
from time import perf_counter
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from kvtui.doctor import network
from kvtui.doctor.case import Case
from kvtui.doctor.failed import evidence_of, failed_step
from kvtui.doctor.steps import Step, not_reached
from kvtui.failure.evidence import Phase, WaitingFor
from kvtui.failure.urlform import url_problem
from kvtui.language import tr
from kvtui.proxy import Proxy, ProxySettingError, proxy_for
from kvtui.stream.gather import Redactor, cannot_be_sent, key_facts
from kvtui.text import one_line

if TYPE_CHECKING:
    from kvtui.doctor.api import Api

_SHOWN_ADDRESSES = 3


async def examine(case: Case) -> AsyncIterator[Step]:
    """Look at everything from the settings to a streamed answer.

    After a step that failed the ones that depend on it are not run; they are given as unknown, so
    that the list is always whole. A wrong base path is no end where another one answers.
    """
    done: list[Step] = []
    begun = Checkup(case)
    async for step in begun.steps():
        done.append(step)
        yield step
    for step in not_reached(done):
        yield step


class Checkup:
    """One run through the steps; its fields hold what has been learnt so far."""

    def __init__(self, case: Case) -> None:
        self._case = case
        self.endpoint = case.endpoint
        self._redactor = Redactor(case.endpoint, {}, ())
        self._proxy: Proxy | None = None
        self._base_url = case.endpoint.base_url.strip().rstrip("/")
        self._limit = case.timeouts.connect

    async def steps(self) -> AsyncIterator[Step]:
        """The steps until one ends the check-up."""
        for look in (self._settings, self._url, self._dns, self._tcp, self._tls):
            step = await look()
            yield step
            if step.state == "failed":
                return
        api = await asyncio.to_thread(self._api)
        async with api:
            async for step in api.steps():
                yield step

    def _api(self) -> Api:
        """The part of the check-up that needs openai."""
        from kvtui.doctor.api import Api

        return Api(self._case, self._base_url, self._proxy, self._redactor)

    # --- settings ---------------------------------------------------------------------------------

    async def _settings(self) -> Step:
        endpoint, begun, notes = self.endpoint, perf_counter(), self._case.notes
        proxy_error: ProxySettingError | None = None
        try:
            self._proxy = proxy_for(self._base_url)
        except ProxySettingError as error:
            self._proxy, proxy_error = error.proxy, error
        except ValueError:
            pass  # the URL's own step says so
        detail = ", ".join(
            (
                tr("the embedded engine")
                if endpoint.embedded
                else tr("URL from {chosen_by}", chosen_by=endpoint.chosen_by),
                self._key_text(),
                tr(
                    "proxy {url} from {variable}",
                    url=self._proxy.url,
                    variable=self._proxy.variable,
                )
                if self._proxy
                else tr("no proxy"),
            )
        )
        if proxy_error is not None:
            return self._failed("settings", begun, proxy_error, phase="settings", notes=notes)
        broken_url = url_problem(self._base_url) is not None
        if not broken_url and cannot_be_sent(endpoint, self._base_url, {}):
            return self._failed(
                "settings", begun, None, phase="settings", detail=detail, notes=notes
            )
        return Step("settings", "ok", one_line(detail, 300), _ms(begun), notes)

    def _key_text(self) -> str:
        facts = key_facts(self.endpoint)
        if facts.origin is None:
            wanted = facts.wanted_variable
            return tr("no key ({wanted} is not set)", wanted=wanted) if wanted else tr("no key")
        what = tr("login token") if facts.kind == "oauth" else tr("key")
        return tr(
            "{what} from {origin} ({length} characters)",
            what=what,
            origin=facts.origin,
            length=facts.length,
        )

    async def _url(self) -> Step:
        begun = perf_counter()
        if url_problem(self._base_url) is not None:
            return self._failed("url", begun, None, phase="settings")
        shown = self._redactor.text(self._base_url)
        return Step("url", "ok", one_line(shown, 200), _ms(begun))

    # --- the network ------------------------------------------------------------------------------

    def _target(self) -> network.Target:
        """The first hop: the proxy where one is in effect."""
        return network.target_of(urlsplit(self._proxy.url if self._proxy else self._base_url))

    async def _dns(self) -> Step:
        target, begun = self._target(), perf_counter()
        if network.is_address(target.host):
            return Step("dns", "unknown", tr("{host} is an address, not a name", host=target.host))
        try:
            addresses = await network.resolve(target, self._limit)
        except TimeoutError:
            slow = socket.gaierror(f"no answer from name resolution within {self._limit:.0f} s")
            return self._failed("dns", begun, slow, phase="connect")
        except (OSError, UnicodeError) as error:
            return self._failed("dns", begun, error, phase="connect")
        shown = ", ".join(addresses[:_SHOWN_ADDRESSES])
        more = len(addresses) - _SHOWN_ADDRESSES
        whose = tr("the proxy {host}", host=target.host) if self._proxy else target.host
        rest = tr(" and {more} more", more=more) if more > 0 else ""
        return Step(
            "dns",
            "ok",
            tr("{whose} is {shown}{rest}", whose=whose, shown=shown, rest=rest),
            _ms(begun),
        )

    async def _tcp(self) -> Step:
        target, begun = self._target(), perf_counter()
        try:
            peer = await network.connect(target, self._limit)
        except (OSError, UnicodeError) as error:
            return self._failed("tcp", begun, error, phase="connect")
        whose = tr(" (the proxy)") if self._proxy else ""
        return Step(
            "tcp",
            "ok",
            tr("{peer} port {port}{whose}", peer=peer, port=target.port, whose=whose),
            _ms(begun),
        )

    async def _tls(self) -> Step:
        target, begun = self._target(), perf_counter()
        if not self._base_url.lower().startswith("https:"):
            return Step("tls", "unknown", tr("plain HTTP"))
        if self._proxy is not None:
            return Step("tls", "unknown", tr("through the proxy: checked with the HTTP step"))
        context = await asyncio.to_thread(_trust)
        begun = perf_counter()
        try:
            version = await network.handshake(target, context, self._limit)
        except (OSError, UnicodeError) as error:
            return self._failed("tls", begun, error, phase="connect", waiting_for="tls")
        return Step("tls", "ok", tr("{version}, certificate trusted", version=version), _ms(begun))

    # --- failures ---------------------------------------------------------------------------------

    def _failed(
        self,
        name: str,
        begun: float,
        error: BaseException | None,
        *,
        phase: Phase,
        waiting_for: WaitingFor = "connect",
        detail: str = "",
        notes: tuple[str, ...] = (),
    ) -> Step:
        seconds = perf_counter() - begun
        late = isinstance(error, TimeoutError)
        evidence = evidence_of(
            self.endpoint,
            self._redactor,
            self._base_url,
            self._proxy,
            phase=phase,
            exceptions=self._redactor.chain(error),
            waiting_for=waiting_for if late or waiting_for == "tls" else None,
            waited_s=seconds if late else None,
        )
        return failed_step(name, evidence, seconds * 1000, detail, notes=notes)


def _ms(begun: float) -> float:
    return (perf_counter() - begun) * 1000


def _trust() -> Any:
    """The trust store that requests use: the operating system's."""
    import httpx2

    return httpx2.create_ssl_context()
