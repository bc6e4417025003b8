"""The part of the check-up that speaks HTTP: path, key, models, a streamed request.

This module imports openai; import it in a thread.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass, replace
from time import perf_counter

import httpx2
from openai import APIStatusError, OpenAIError

from kvtui.doctor.case import Case
from kvtui.doctor.failed import evidence_of, failed_step
from kvtui.doctor.steps import Step
from kvtui.failure import Evidence, ExceptionFact, Verdict, classify
from kvtui.language import later, tr
from kvtui.measure.figures import RunFigures
from kvtui.measure.meter import Meter
from kvtui.proxy import Proxy
from kvtui.stream.client import Clients, request_headers
from kvtui.stream.exchange import Exchange
from kvtui.stream.gather import Redactor, secrets_of
from kvtui.stream.models import (
    ModelList,
    clean_base_url,
    find_base_url,
    parse_models,
    wrong_path,
)
from kvtui.stream.patience import LIST_S, Patience
from kvtui.stream.quirks import Quirks, recognise, refused
from kvtui.stream.request import Request
from kvtui.stream.sending import Flight, current_flight
from kvtui.text import count, did_you_mean, milliseconds, one_line, rate

_SHOWN_MODELS = 5
_NOT_FOR_CHAT = ("embed", "whisper", "tts", "dall-e", "rerank", "moderation", "image", "audio")
_NO_LIST = ExceptionFact("ValueError", "it answered with something that is no model list")
_COUNTED = {
    "usage": later("usage at the end of the stream"),
    "continuous": later("usage on every chunk"),
    "token_ids": later("token ids"),
    "timings": later("the server's timings"),
}


@dataclass(frozen=True, slots=True)
class Answer:
    """What came back when the model list was asked for."""

    evidence: Evidence
    ms: float
    models: ModelList | None = None

    @property
    def status(self) -> int | None:
        """The HTTP status; None where no answer came."""
        return self.evidence.status


class Api:
    """Use it as an async context manager, inside one loop."""

    def __init__(self, case: Case, base_url: str, proxy: Proxy | None, redactor: Redactor) -> None:
        self._case = case
        self._endpoint = case.endpoint
        self._proxy = proxy
        self._redactor = redactor
        self._base_url, self._note = clean_base_url(base_url)
        self._clients: Clients | None = None
        self._quirks = Quirks()

    async def __aenter__(self) -> Api:
        self._clients = Clients()
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._clients is not None:
            await self._clients.aclose()

    async def steps(self) -> AsyncIterator[Step]:
        """From the first HTTP answer to the token count."""
        answer = await self._ask(self._base_url)
        verdict = classify(answer.evidence) if answer.models is None else None
        step = self._http(answer, verdict)
        yield step
        if step.state == "failed":
            return
        begun = perf_counter()
        path, answer, verdict = await self._path(answer, verdict)
        yield _timed(path, begun)
        if path.state == "failed" and answer.models is None and not _behind_key(verdict):
            return
        begun = perf_counter()
        key = self._key(answer, verdict)
        yield _timed(key, begun)
        if key.state == "failed":
            return
        begun = perf_counter()
        yield _timed(self._models(answer), begun)
        model = self._endpoint.model or _first_chat_model(answer.models)
        if model is None:
            yield Step("stream", "unknown", tr("no model to ask: name one with --model"))
            return
        async for step in self._stream(model, answer.models):
            yield step

    # --- the model list ---------------------------------------------------------------------------

    async def _ask(self, base_url: str) -> Answer:
        """``GET /models``, whatever comes of it."""
        assert self._clients is not None
        begun = perf_counter()
        await self._clients.transport.prepare(base_url)
        patience = Patience(self._proxy, self._case.timeouts)
        token = current_flight.set(patience.flight)
        try:
            async with patience.limit:
                response = await self._clients.of(self._endpoint, base_url).get(
                    "/models",
                    cast_to=httpx2.Response,
                    options={"headers": request_headers(self._endpoint, {})},
                )
                text = response.text
        except APIStatusError as error:
            return self._answer(base_url, begun, error.response, error)
        except TimeoutError:
            evidence = self._evidence(
                base_url,
                phase=patience.phase,
                exceptions=(patience.fact(),),
                waiting_for=patience.waiting_for,
                waited_s=patience.waited_s,
            )
            return Answer(evidence, _ms(begun))
        except (OpenAIError, httpx2.HTTPError, httpx2.InvalidURL, OSError, ValueError) as error:
            evidence = self._evidence(
                base_url, phase="connect", exceptions=self._redactor.chain(error)
            )
            return Answer(evidence, _ms(begun))
        finally:
            current_flight.reset(token)
        answer = self._answer(base_url, begun, response, None)
        secrets = secrets_of(self._endpoint, {})
        return replace(answer, models=parse_models(text, response.headers.get("server"), secrets))

    def _answer(
        self,
        base_url: str,
        begun: float,
        response: httpx2.Response,
        error: BaseException | None,
    ) -> Answer:
        evidence = self._evidence(
            base_url,
            phase="done",
            status=response.status_code,
            headers=self._redactor.headers(response.headers),
            body=self._redactor.body(response.text),
            exceptions=self._redactor.chain(error),
            streamed=False,
        )
        return Answer(evidence, _ms(begun))

    def _evidence(self, base_url: str, **fields: object) -> Evidence:
        return evidence_of(self._endpoint, self._redactor, base_url, self._proxy, **fields)

    def _http(self, answer: Answer, verdict: Verdict | None) -> Step:
        """Whether HTTP is spoken at all, and whether what answered is the server."""
        if verdict is not None and _ends_at_http(verdict, answer):
            return failed_step("http", answer.evidence, answer.ms, verdict=verdict)
        server = answer.evidence.headers.get("server")
        by = f" from {server}" if server else ""
        return Step("http", "ok", one_line(f"{answer.status}{by}", 120), answer.ms)

    # --- path and key -----------------------------------------------------------------------------

    async def _path(
        self, answer: Answer, verdict: Verdict | None
    ) -> tuple[Step, Answer, Verdict | None]:
        """Whether the API is at this path; else the answer of the path that is right."""
        notes = (self._shown(self._note),) if self._note else ()
        begun = perf_counter()
        body = answer.evidence.body or ""
        kind = answer.evidence.headers.get("content-type", "")
        astray = answer.models is None and (
            wrong_path(answer.status, kind, body) or (answer.status or 0) < 300
        )
        if _behind_key(verdict) and answer.models is None:
            # Some servers ask for the key first, whatever the path.
            detail = tr(
                "{base_url}: {status} came first",
                base_url=self._shown(self._base_url),
                status=answer.status,
            )
            return Step("path", "unknown", detail, None, notes), answer, verdict
        if not astray:
            return Step("path", "ok", self._shown(self._base_url), None, notes), answer, verdict
        if await self._takes_chat():
            detail = tr("chat is served here, a model list is not")
            return Step("path", "ok", detail, _ms(begun), notes), answer, None
        assert self._clients is not None
        found = await find_base_url(self._clients, self._endpoint, self._base_url)
        if found is not None:
            wrong = replace(answer.evidence, base_url_answers=self._redactor.text(found))
            if classify(wrong).subcode != "base_url_path":
                wrong = replace(wrong, status=None, exceptions=(_NO_LIST,))
            self._base_url = found
            right = await self._ask(found)
            step = failed_step(
                "path",
                wrong,
                _ms(begun),
                tr("{found} answers", found=self._shown(found)),
                notes=notes,
            )
            return step, right, classify(right.evidence) if right.models is None else None
        return failed_step("path", answer.evidence, _ms(begun), notes=notes), answer, verdict

    async def _takes_chat(self) -> bool:
        """Whether ``POST /chat/completions`` is known here; an empty request costs nothing."""
        assert self._clients is not None
        token = current_flight.set(Flight(self._proxy))
        try:
            async with asyncio.timeout(LIST_S):
                response = await self._clients.of(self._endpoint, self._base_url).post(
                    "/chat/completions",
                    cast_to=httpx2.Response,
                    body={},
                    options={"headers": request_headers(self._endpoint, {})},
                )
        except APIStatusError as error:
            response = error.response
        except (OpenAIError, httpx2.HTTPError, OSError, ValueError):
            return False
        finally:
            current_flight.reset(token)
        kind = response.headers.get("content-type", "")
        return not wrong_path(response.status_code, kind, response.text)

    def _shown(self, url: str) -> str:
        return one_line(self._redactor.text(url), 200)

    def _key(self, answer: Answer, verdict: Verdict | None) -> Step:
        """Whether the key is accepted, as far as the model list tells."""
        origin = self._endpoint.key_from if self._endpoint.api_key else None
        if verdict is not None and verdict.cls == "auth" and verdict.subcode != "permission":
            return failed_step("key", answer.evidence, answer.ms, verdict=verdict)
        if answer.models is None:
            return Step("key", "unknown", tr("the model list does not tell: the request decides"))
        if origin is None:
            return Step("key", "unknown", tr("none sent, none asked for"))
        return Step(
            "key",
            "ok",
            one_line(tr("the model list takes the one from {origin}", origin=origin), 120),
        )

    def _models(self, answer: Answer) -> Step:
        """The models on offer, and whether the one asked for is among them."""
        models, asked = answer.models, self._endpoint.model
        if models is None:
            return Step("models", "unknown", tr("the server lists none"))
        self._quirks = replace(
            recognise(models.owners, models.server), base_url=self._quirks.base_url
        )
        notes = (models.note,) if models.note else ()
        number = len(models.ids)
        shown = ", ".join(models.ids[:_SHOWN_MODELS])
        more = (
            tr(" and {number:,} more", number=number - _SHOWN_MODELS)
            if number > _SHOWN_MODELS
            else ""
        )
        if not number:
            return Step("models", "unknown", tr("the list is empty"), None, notes)
        if asked is None or asked in models.ids:
            found = (
                tr("{asked} is one of {number:,}", asked=asked, number=number)
                if asked
                else f"{shown}{more}"
            )
            return Step("models", "ok", one_line(found, 300), None, notes)
        detail = tr(
            "{asked} is not in the list{asked2}: {shown}{more}",
            asked=asked,
            asked2=did_you_mean(asked, models.ids),
            shown=shown,
            more=more,
        )
        return Step("models", "unknown", one_line(detail, 300), None, notes)

    # --- a streamed request -----------------------------------------------------------------------

    async def _stream(self, model: str, models: ModelList | None) -> AsyncIterator[Step]:
        begun = perf_counter()
        assert self._clients is not None
        request = Request(
            endpoint=replace(self._endpoint, base_url=self._base_url),
            model=model,
            prompt=self._case.prompt,
            max_tokens=self._case.max_tokens,
            timeouts=self._case.timeouts,
        )
        meter = Meter(secrets=secrets_of(self._endpoint, {}))
        exchange = Exchange(self._clients, request, self._quirks, meter.feed)
        await exchange.run()
        figures = meter.conclude(classify)
        said = (*exchange.notes, *(hint.message for hint in figures.verdict.hints))
        notes = tuple(one_line(self._redactor.text(note), 300) for note in said)
        if figures.verdict.is_failure:
            offered = tuple(self._redactor.text(name, 200) for name in models.ids) if models else ()
            evidence = replace(figures.evidence, models_offered=offered)
            yield failed_step("stream", evidence, _ms(begun), notes=notes)
            return
        yield Step(
            "stream",
            "ok",
            one_line(_told(model, figures), 300),
            _ms(begun),
            notes,
            refused=refused(self._quirks, exchange.quirks),
        )
        begun = perf_counter()
        yield _timed(_usage(figures), begun)


def _told(model: str, figures: RunFigures) -> str:
    """``qwen3: TTFT 83 ms, 20 chunks, 74.2 tok/s, finish_reason stop``."""
    parts = [
        f"{model}: TTFT {milliseconds(figures.ttft_ms)}",
        tr("{chunks:,} chunks", chunks=figures.chunks),
    ]
    if figures.decode_tps is not None:
        parts.append(f"{rate(figures.decode_tps)} tok/s")
    parts.append(f"finish_reason {figures.finish_reason or 'none'}")
    return ", ".join(parts)


def _usage(figures: RunFigures) -> Step:
    """Whether the server counts its tokens."""
    how = _COUNTED.get(figures.token_source)
    if how is None:
        detail = tr("the server counts no tokens: rates are estimates, marked ~")
        return Step("usage", "unknown", detail)
    return Step(
        "usage",
        "ok",
        tr(
            "{completion_tokens} tokens, by {how}",
            completion_tokens=count(figures.completion_tokens),
            how=tr(how),
        ),
    )


def _ends_at_http(verdict: Verdict, answer: Answer) -> bool:
    """Whether an answer to ``GET /models`` means that no request would get through either."""
    if answer.status is None:
        return True
    name = f"{verdict.cls}.{verdict.subcode}"
    if verdict.cls == "network":
        return verdict.subcode != "empty_stream"
    return name in ("parameter.base_url_redirect", "auth.proxy_login") or (
        verdict.cls == "server" and answer.status >= 400
    )


def _behind_key(verdict: Verdict | None) -> bool:
    return verdict is not None and verdict.cls == "auth"


def _first_chat_model(models: ModelList | None) -> str | None:
    """The first model of a list that is not plainly made for something else than chat."""
    if models is None or not models.ids:
        return None
    chat = (name for name in models.ids if not any(w in name.lower() for w in _NOT_FOR_CHAT))
    return next(chat, models.ids[0])


def _timed(step: Step, begun: float) -> Step:
    """A step that looked at an answer which had come already, with the time that took."""
    return step if step.ms is not None or step.state == "unknown" else replace(step, ms=_ms(begun))


def _ms(begun: float) -> float:
    return (perf_counter() - begun) * 1000
