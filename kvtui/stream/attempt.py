"""One attempt at a request: how far it came, and the evidence that it leaves."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import httpx2

from kvtui.failure import Evidence, ExceptionFact
from kvtui.failure.evidence import Phase
from kvtui.proxy import Proxy, proxy_unused
from kvtui.stream.body import streams
from kvtui.stream.gather import Redactor, key_facts, urlsplit_or_none
from kvtui.stream.reader import Reader
from kvtui.stream.request import Request
from kvtui.stream.watchdog import Watchdog


@dataclass(slots=True)
class Attempt:
    """One HTTP request and its answer so far."""

    phase: Phase = "settings"
    reader: Reader = field(default_factory=Reader)
    status: int | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
    body: str | None = None
    """Of an answer that was no stream."""
    error: BaseException | None = None
    reused: bool = False
    """It went over a connection that was kept from a request before."""

    @property
    def lost_its_connection(self) -> bool:
        """A kept connection was gone before anything was answered."""
        return self.reused and self.status is None and _was_closed(self.error)


def evidence_of(
    request: Request,
    attempt: Attempt,
    watch: Watchdog,
    redactor: Redactor,
    *,
    base_url: str,
    proxy: Proxy | None,
    stopped: bool,
    context_length: int | None,
) -> Evidence:
    """What the last attempt at a request leaves, free of secrets.

    Args:
        request: What was asked.
        attempt: How it went.
        watch: Which time limit ran out, if one did.
        redactor: Takes the request's secrets out of every text.
        base_url: The one in use in the end.
        proxy: The one in between, if there is one.
        stopped: The user stopped it.
        context_length: Tokens that the model's sequences may have, where that is known.
    """
    reader = attempt.reader
    decoder = reader.decoder
    endpoint = request.endpoint
    parts = urlsplit_or_none(base_url)
    unused = proxy_unused(base_url) if parts is not None and proxy is None else None
    cut = attempt.error is not None and attempt.phase not in ("settings", "done")
    chain = redactor.chain(attempt.error)
    if watch.fired:
        chain = (_timeout_fact(watch), *chain)
    whole = reader.mode in ("json", "other")
    body = attempt.body
    if body is None and (whole or not reader.data_events):
        body = redactor.body(reader.body)
    return Evidence(
        phase=attempt.phase,
        url=redactor.text(f"{base_url}/chat/completions"),
        host=(parts.hostname or "") if parts is not None else "",
        model=request.model,
        embedded=endpoint.embedded,
        key=key_facts(endpoint),
        proxy=proxy.url if proxy else None,
        proxy_from=proxy.variable if proxy else None,
        proxy_unused=unused,
        status=attempt.status,
        headers=attempt.headers,
        body=body,
        sse_error=None if whole else redactor.value(decoder.error),
        exceptions=chain,
        waiting_for=watch.waiting_for if watch.fired or cut else None,
        waited_s=watch.waited_s,
        capped=watch.fired and watch.capped,
        quiet_s=watch.quiet_s,
        finish_reason=decoder.finish_reason and redactor.text(decoder.finish_reason),
        done_seen=reader.done,
        streamed=not whole,
        data_events=reader.data_events,
        bad_events=reader.bad_events,
        bad_event=redactor.text(reader.bad_event) if reader.bad_event else None,
        bad_tail=reader.bad_tail,
        content_chars=decoder.content_chars,
        reasoning_chars=decoder.reasoning_chars,
        tool_calls=decoder.tool_calls,
        refusal=redactor.text(decoder.refusal),
        cumulative=decoder.cumulative,
        completion_tokens=decoder.completion_tokens,
        prompt_tokens=decoder.prompt_tokens,
        reasoning_tokens=decoder.reasoning_tokens,
        max_tokens=request.max_tokens,
        stream_asked=streams(request),
        stopped=stopped,
        base_url=redactor.text(endpoint.base_url),
        text_chunks=decoder.text_chunks,
        content_tail=redactor.text(decoder.content_tail),
        filter_categories=tuple(map(redactor.text, dict.fromkeys(decoder.filter_categories))),
        context_length=context_length,
    )


def _timeout_fact(watch: Watchdog) -> ExceptionFact:
    connecting = watch.waiting_for in ("connect", "tls")
    if watch.capped and not connecting:
        return ExceptionFact("ReadTimeout", f"stopped after --timeout {watch.waited_s or 0:.3g} s")
    what = {
        "connect": "no connection",
        "tls": "no TLS handshake",
        "headers": "no response headers",
        "first_token": "no first token",
        "data": "no further data event",
        "end": "no end of the stream",
    }[watch.waiting_for]
    kind = "ConnectTimeout" if connecting else "ReadTimeout"
    return ExceptionFact(kind, f"{what} within {watch.waited_s or 0:.1f} s")


def _was_closed(error: BaseException | None) -> bool:
    """Whether a request failed because its connection was gone before anything was answered."""
    cause = error.__cause__ if error is not None else None
    return isinstance(cause, httpx2.RemoteProtocolError | httpx2.ReadError | httpx2.WriteError)
