"""One request on the wire, from the settings to its one ``Ended`` event."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from functools import partial
from time import perf_counter

import httpx2
from openai import APIStatusError, OpenAIError

from kvtui.failure import Evidence
from kvtui.failure.transport import kind_of
from kvtui.language import tr
from kvtui.proxy import Proxy, ProxySettingError, proxy_for
from kvtui.stream.attempt import Attempt, evidence_of
from kvtui.stream.body import UnsendableError, unsendable, unsendable_header
from kvtui.stream.client import Clients, parameters_of
from kvtui.stream.events import Connected, Ended, Event, Headers, Sent, Sink
from kvtui.stream.gather import Redactor, cannot_be_sent, key_facts, server_ms
from kvtui.stream.models import clean_base_url, find_base_url, wrong_path
from kvtui.stream.quirks import Quirks, after_refusal, recognise
from kvtui.stream.request import Request
from kvtui.stream.sending import Flight, current_flight
from kvtui.stream.transport import ERROR_BODY_S, BodyStream
from kvtui.stream.watchdog import Watchdog

_AFTER_FINISH_S = 5.0
"""How long the usage chunk and ``[DONE]`` may take after a finish_reason."""
_AFTER_ERROR_S = 1.0
_DRAIN_S = 0.25
_MAX_CHANGES = 4


class Exchange:
    """Runs one request and hands its events to a sink, the last of them ``Ended``.

    Make it and ``run`` it inside the session's loop; ``stop`` may be called from there at any time.
    ``quirks`` holds afterwards what was learnt of the endpoint.
    """

    def __init__(self, clients: Clients, request: Request, quirks: Quirks, sink: Sink) -> None:
        self.quirks = quirks
        self.notes: list[str] = []
        self._clients = clients
        self._request = request
        self._sink = sink
        self._redactor = Redactor(request.endpoint, request.extra_headers, ())
        self._asked, note = clean_base_url(request.endpoint.base_url)
        if note is not None:
            self.notes.append(note)
        self.base_url = quirks.base_url or self._asked
        """The base URL in use: the endpoint's, or the one that was found to answer."""
        self._proxy: Proxy | None = None
        self._task: asyncio.Task[None] | None = None
        self._watch: Watchdog | None = None
        self._stopped = False
        self._finished = False
        self._state = Attempt()

    def stop(self) -> None:
        """The user stops the request: its connection closes at once."""
        self._stopped = True
        if self._task is not None and not self._finished:
            self._task.cancel()

    async def run(self) -> Evidence:
        """Run it to its end; never raises for what goes wrong on the wire."""
        self._task = asyncio.current_task()
        assert self._task is not None
        timeouts = self._request.timeouts
        self._watch = watch = Watchdog(self._task, timeouts.total)
        body: BodyStream | None = None
        try:
            if not self._stopped:
                body = await self._attempts()
                await self._clients.turns.take()
        except asyncio.CancelledError:
            if not (self._stopped or watch.fired):
                raise
            self._task.uncancel()
        finally:
            self._finished = True
            watch.close()
        evidence = evidence_of(
            self._request,
            self._state,
            watch,
            self._redactor,
            base_url=self.base_url,
            proxy=self._proxy,
            stopped=self._stopped,
            context_length=self.quirks.contexts.get(self._request.model),
        )
        if (odd := self._state.reader.decoder.choices.note()) is not None:
            self.notes.append(self._redactor.text(odd))
        ended = Ended(
            perf_counter(),
            evidence,
            stopped=self._stopped,
            streamed=self._state.reader.mode in ("sse", "unknown"),
            notes=tuple(self.notes),
        )
        self._sink([ended])
        if body is not None:
            await self._close(body)
        return evidence

    # --- attempts ---------------------------------------------------------------------------------

    async def _attempts(self) -> BodyStream | None:
        """Send the request, and again where a refusal or a wrong path can be put right."""
        for _ in range(_MAX_CHANGES):
            body = await self._attempt()
            if not await self._put_right():
                return body
            if body is not None:
                await body.aclose()
            self._state = Attempt()
        return await self._attempt()

    async def _put_right(self) -> bool:
        """Whether the failed attempt showed what to change; changes it and notes it."""
        state = self._state
        if state.error is None and state.reader.data_events:
            return False
        body = state.body or ""
        change = after_refusal(self.quirks, state.status, body)
        if change is not None and change[1] not in self.notes:
            self.quirks, note = change
            self.notes.append(note)
            return True
        if state.lost_its_connection:
            note = tr("The kept connection had been closed by the server: sent again on a new one.")
            if note not in self.notes:
                self.notes.append(note)
                return True
        if self._request.endpoint.embedded or self.quirks.base_url is not None:
            return False
        if not wrong_path(state.status, state.headers.get("content-type", ""), body):
            return False
        assert self._watch is not None
        self._watch.arm("headers", self._request.timeouts.headers)
        found = await find_base_url(self._clients, self._request.endpoint, self.base_url)
        if found is None:
            return False
        self.notes.append(
            tr(
                "{base_url} has no chat completions: using {found}, which answers.",
                base_url=self.base_url,
                found=found,
            )
        )
        self.base_url = found
        self.quirks = replace(self.quirks, base_url=found)
        return True

    async def _attempt(self) -> BodyStream | None:
        """One HTTP request and its whole answer; what went wrong is in its state."""
        assert self._watch is not None
        endpoint = self._request.endpoint
        if cannot_be_sent(endpoint, self.base_url, self._request.extra_headers):
            return None
        headers = {**endpoint.headers, **self._request.extra_headers}
        if (fault := unsendable_header(headers)) is not None:
            self._state.error = UnsendableError(fault)
            return None
        try:
            self._proxy = proxy_for(self.base_url)
        except ProxySettingError as error:
            self._proxy, self._state.error = error.proxy, error
            return None
        except ValueError as error:  # the URL cannot even be split
            self._state.error = httpx2.InvalidURL(str(error))
            return None
        flight = Flight(self._proxy, self._connecting, self._connected, self._sent)
        flight.shaking_hands = partial(self._watch.name, "tls")
        flight.failing = self._failing
        token = current_flight.set(flight)
        try:
            return await self._exchange()
        except APIStatusError as error:
            self._state.error = error
            self._answer(error.response)
            self._state.body = self._redactor.body(error.response.text)
        except (OpenAIError, httpx2.HTTPError, httpx2.InvalidURL, httpx2.StreamError) as error:
            self._state.error = error
        except (ValueError, TypeError, OSError, ImportError) as error:
            # A key or header that HTTP cannot carry, a URL the SDK cannot build.
            self._state.error = error
            if isinstance(error, ValueError | TypeError) and self._state.status is None:
                self._unsent(error)
        finally:
            current_flight.reset(token)
        return None

    def _unsent(self, error: ValueError | TypeError) -> None:
        """Nothing was sent: say which part of the request is at fault, unless it is the key."""
        fault = unsendable(self._request, self.quirks)
        known = kind_of(self._redactor.chain(error)) is not None
        if fault is None and (known or key_facts(self._request.endpoint).problem):
            return
        self._state.phase = "settings"
        self._state.error = UnsendableError(fault or str(error))

    async def _exchange(self) -> BodyStream:
        client = self._clients.of(self._request.endpoint, self.base_url)
        create = client.chat.completions.with_streaming_response.create
        await self._clients.turns.take()
        await self._clients.transport.prepare(self.base_url)
        self._connecting(perf_counter())
        manager = create(**parameters_of(self._request, self.quirks))
        # The response is closed through the body: the manager would drop the connection.
        response = await manager.__aenter__()
        body = response.http_response.extensions["body"]
        assert isinstance(body, BodyStream)
        self._answer(response.http_response)
        try:
            await self._read(body)
        except BaseException:  # stopped or timed out: an open connection keeps the server at work
            await body.aclose()
            raise
        return body

    # --- what the transport tells -----------------------------------------------------------------

    def _connecting(self, _: float) -> None:
        assert self._watch is not None
        self._state.phase = "connect"
        self._watch.arm("connect", self._request.timeouts.connect)

    def _connected(self, t: float, seconds: float, reused: bool) -> None:
        assert self._watch is not None
        self._state.phase = "send"
        self._state.reused = reused
        self._watch.arm("headers", self._request.timeouts.headers)
        self._sink([Connected(t, seconds, reused)])

    def _sent(self, t: float) -> None:
        self._state.phase = "headers"
        self._sink([Sent(t)])

    def _failing(self, status: int, headers: httpx2.Headers) -> None:
        """An error is being answered: whatever becomes of its body, its status is known."""
        assert self._watch is not None
        self._state.phase = "stream"
        self._state.status = status
        self._state.headers = self._redactor.headers(headers)
        self._watch.arm("end", 2 * ERROR_BODY_S)

    def _answer(self, response: httpx2.Response) -> None:
        """Status and headers are there."""
        assert self._watch is not None
        self._state.phase = "stream"
        self._state.status = response.status_code
        self._state.headers = self._redactor.headers(response.headers)
        self._watch.arm("first_token", self._request.timeouts.first_token)
        body = response.extensions.get("body")
        t = body.stamp if isinstance(body, BodyStream) else perf_counter()
        kind = self._state.headers.get("content-type", "")
        self._sink([Headers(t, response.status_code, kind, server_ms(self._state.headers))])
        self.quirks = _learn(self.quirks, self._state.headers.get("server"))

    # --- the body ---------------------------------------------------------------------------------

    async def _read(self, body: BodyStream) -> None:
        assert self._watch is not None
        watch, reader, sink = self._watch, self._state.reader, self._sink
        timeouts = self._request.timeouts
        decoder = reader.decoder
        seen = 0
        stage = (
            0  # 0: before the first token, 1: tokens flow, 2: after the finish, 3: after an error
        )
        try:
            while not reader.done and (data := await body.read()):
                events: list[Event] = []
                reader.feed(data, body.stamp, events)
                if events:
                    sink(events)
                if reader.data_events == seen:
                    continue
                seen = reader.data_events
                if stage < 3 and decoder.error is not None:
                    stage = 3
                    watch.arm("end", min(_AFTER_ERROR_S, timeouts.idle))
                elif stage < 2 and decoder.finish_reason:
                    stage = 2
                    watch.arm("end", min(_AFTER_FINISH_S, timeouts.idle))
                elif stage == 1:
                    watch.rearm(timeouts.idle)
                elif stage == 2:
                    watch.rearm(min(_AFTER_FINISH_S, timeouts.idle))
                elif stage == 0 and decoder.has_token:
                    stage = 1
                    watch.arm("data", timeouts.idle)
        except asyncio.CancelledError:
            if not (watch.fired and watch.waiting_for == "end") or self._stopped:
                raise
            # The answer is complete; the server only never closed the stream.
            assert self._task is not None
            self._task.uncancel()
            watch.fired = False
        finally:
            events = []
            reader.finish(body.stamp, events)
            if events:
                sink(events)
        self._state.phase = "done"

    async def _close(self, body: BodyStream) -> None:
        if self._state.reader.done and not self._stopped:
            await body.drain(_DRAIN_S)
        await body.aclose()


def _learn(quirks: Quirks, server: str | None) -> Quirks:
    """A ``Server`` header may name the engine; what was refused before stays refused."""
    if server is None or quirks.llamacpp or not quirks.stream_options:
        return quirks
    return replace(quirks, llamacpp=recognise((), server).llamacpp)
