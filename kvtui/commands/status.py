"""``kvtui status``: what the server and the card say of themselves."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Iterator
from contextlib import suppress
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import click

from kvtui.commands.errors import BadInput
from kvtui.commands.interrupts import interrupts_noted
from kvtui.commands.options import Number, endpoint_options
from kvtui.commands.output import print_json, put
from kvtui.config import ConfigError, Endpoint, load_settings, resolve_endpoint
from kvtui.text import UNKNOWN, binary_size, count, gib, one_line, rate, redact

if TYPE_CHECKING:
    from kvtui.telemetry.gpu import Cards
    from kvtui.telemetry.look import Look
    from kvtui.telemetry.status import ServerStatus

SCHEMA = "kvtui.status/1"
_TIMEOUT_S = 5.0
_MOST_MODELS = 8
"""Model names in the text; ``--json`` has all."""

_NAMES = {
    "vllm": "vLLM",
    "sglang": "SGLang",
    "llamacpp": "llama.cpp",
    "tgi": "TGI",
    "dynamo": "Dynamo",
    "litellm": "LiteLLM (a proxy)",
    "ollama": "Ollama",
    "lmstudio": "LM Studio",
    "kvtui": "kvtui serve",
    "unknown": "kind not recognised",
}
_HIT_BASIS = {"interval": "", "totals": " since its start", "gauge": " by its own gauge", None: ""}


@click.command()
@endpoint_options
@click.option("--json", "as_json", is_flag=True, help="One JSON object on stdout for each look.")
@click.option(
    "--watch", type=Number(min=1), metavar="SECONDS", help="Look again, at most once a second."
)
def status(
    base_url: str | None,
    model: str | None,
    api_key_env: str | None,
    profile: str | None,
    headers: tuple[tuple[str, str], ...],
    as_json: bool,
    watch: float | None,
) -> None:
    """Say what the server and this machine's cards tell of themselves.

    A look at the server's metrics page and its list of models; nothing is generated. Each figure
    has its source beside it. Tokens per second and the recent hit share need two looks: --watch.
    Exit status: 0 done, 1 the server did not answer, 2 wrong flags or files, 130 interrupted,
    143 terminated.
    """
    try:
        endpoint = resolve_endpoint(
            load_settings(),
            base_url=base_url,
            profile=profile,
            api_key_env=api_key_env,
            model=model,
        )
    except ConfigError as error:
        raise BadInput(str(error)) from None
    with interrupts_noted() as stop:
        shown = _Shown(endpoint, as_json=as_json, watched=watch is not None)
        code = stop.run(_looks(shown, dict(headers), watch=watch))
        if code is None and not shown.looks:
            shown.unfinished()
    sys.exit(stop.status if code is None else code)


class _Shown:
    """Where looks are printed."""

    def __init__(self, endpoint: Endpoint, *, as_json: bool, watched: bool) -> None:
        self.endpoint = endpoint
        self._as_json = as_json
        self._watched = watched
        self.looks = 0

    def unfinished(self) -> None:
        """What there is when the first look was interrupted: which endpoint, and that."""
        from kvtui.telemetry.gpu import Cards
        from kvtui.telemetry.status import ServerStatus

        said = "Interrupted before it was known."
        server = None if self.endpoint.embedded else ServerStatus(answered=False, notes=(said,))
        self.show(server, Cards(reason=said))

    def show(self, server: ServerStatus | None, cards: Cards) -> None:
        """Print one look."""
        self.looks += 1
        if self._as_json:
            print_json(_object(self.endpoint, server, cards), indent=None)
        else:
            if self._watched:
                put(f"-- {datetime.now().astimezone():%H:%M:%S}")
            for line in (*_server_lines(self.endpoint, server), "", *_card_lines(cards)):
                put(line)
            if self._watched:
                put()
        if server is not None and not server.answered:
            put(f"kvtui: {' '.join(server.notes)}", err=True)


async def _looks(shown: _Shown, headers: dict[str, str], *, watch: float | None) -> int:
    """Look once, or again and again; the exit status of the last look."""
    from kvtui.telemetry.gpu import read_cards
    from kvtui.telemetry.look import Look
    from kvtui.telemetry.status import ServerStatus

    endpoint = shown.endpoint
    if endpoint.embedded:
        return await _repeat(shown, None, watch=watch)
    try:
        look = Look(
            endpoint.base_url,
            endpoint.api_key,
            {**endpoint.headers, **headers},
            timeout_s=_TIMEOUT_S,
        )
    except ValueError as error:
        unusable = ServerStatus(answered=False, notes=(str(error),))
        shown.show(unusable, await asyncio.to_thread(read_cards))
        return 1
    return await _repeat(shown, look, watch=watch)


async def _repeat(shown: _Shown, look: Look | None, *, watch: float | None) -> int:
    from kvtui.telemetry.gpu import read_cards
    from kvtui.telemetry.status import with_rates

    session = look.client.session() if look is not None else None
    earlier: ServerStatus | None = None
    try:
        while True:
            cards_task = asyncio.create_task(asyncio.to_thread(read_cards))
            server = None
            if look is not None and session is not None:
                seen = await look.once(session)
                server = with_rates(seen, earlier)
                earlier = seen if seen.answered else None
            shown.show(server, await cards_task)
            if watch is None:
                return 0 if server is None or server.answered else 1
            await asyncio.sleep(watch)
    finally:
        if session is not None:
            with suppress(OSError):
                await session.close()


# --- text -----------------------------------------------------------------------------------------


def _server_lines(endpoint: Endpoint, server: ServerStatus | None) -> Iterator[str]:
    if server is None:
        yield "No endpoint is configured, so the embedded engine would answer. It runs only while"
        yield "the screen is open (kvtui) or as a server: kvtui serve, then in another terminal"
        yield "kvtui status --base-url http://127.0.0.1:8000/v1"
        return
    key = f"key from {endpoint.key_from}" if endpoint.key_from else "no key sent"
    yield f"endpoint     {_shown_url(endpoint)} ({endpoint.chosen_by}, {key})"
    if not server.answered:
        return
    names = ", ".join(server.models[:_MOST_MODELS])
    rest = len(server.models) - _MOST_MODELS
    yield f"server       {_NAMES[server.kind]}"
    yield f"models       {names or UNKNOWN}{f' and {rest:,} more' if rest > 0 else ''}"
    for label, value, *fields in _figures(server):
        source = next((server.sources[name] for name in fields if name in server.sources), None)
        where = f"{source.metric}, {urlsplit(source.url).path}" if source is not None else ""
        yield f"{label:<12} {value:<26} {where}".rstrip()
    for note in (*server.notes, *_remarks(endpoint, server)):
        yield f"note: {note}"


def _figures(server: ServerStatus) -> Iterator[tuple[str, ...]]:
    """Label, value with its unit, and the fields whose source stands beside it, best first."""
    used, whole = count(server.kv_tokens_used), count(server.kv_tokens_total)
    size = f"{binary_size(server.kv_bytes_used)} of {binary_size(server.kv_bytes_total)}"
    yield "KV in use", _percent(server.kv_usage), "kv_usage"
    yield "KV tokens", _known(f"{used} of {whole}"), "kv_tokens_used", "kv_tokens_total"
    yield "KV memory", _known(size), "kv_bytes_used", "kv_bytes_total"
    yield "context", _with(count(server.context), " tokens a sequence"), "context"
    yield "running", count(server.running), "running"
    yield "waiting", count(server.waiting), "waiting"
    yield "preemptions", count(server.preemptions), "preemptions"
    hits = _with(_percent(server.prefix_hit_share), _HIT_BASIS[server.prefix_hit_basis])
    yield "prefix hits", hits, "prefix_hit_share"
    yield "prompt", _with(count(server.prompt_tokens), " tokens in all"), "prompt_tokens"
    yield "generated", _with(count(server.generation_tokens), " tokens in all"), "generation_tokens"
    yield "prefill", _with(rate(server.prompt_tps), " tok/s"), "prompt_tps"
    yield "decode", _with(rate(server.generation_tps), " tok/s"), "generation_tps"


def _remarks(endpoint: Endpoint, server: ServerStatus) -> Iterator[str]:
    if endpoint.key_wanted_from is not None:
        yield f"No key was sent: {endpoint.key_wanted_from} gave none."
    asked = endpoint.model
    if asked is not None and server.models and asked not in server.models:
        yield f"The model {one_line(asked, 80)} is not among those named here."


def _card_lines(cards: Cards) -> Iterator[str]:
    if not cards.cards:
        yield f"cards        {cards.reason}"
        return
    for card in cards.cards:
        memory = _known(f"{gib(card.memory_used)} of {gib(card.memory_total)} GiB")
        busy = _with(_percent(card.utilization), " busy")
        yield f"card {card.index:<7} {card.name}: {memory}, {busy}   {cards.source}"


def _percent(share: float | None) -> str:
    return UNKNOWN if share is None else f"{share:.1%}"


def _with(value: str, unit: str) -> str:
    return value if value == UNKNOWN else value + unit


def _known(pair: str) -> str:
    """One dash for a pair of which nothing is known."""
    return UNKNOWN if pair.startswith(f"{UNKNOWN} of {UNKNOWN}") else pair


def _shown_url(endpoint: Endpoint) -> str:
    from kvtui.telemetry.places import without_userinfo

    url = endpoint.base_url
    with suppress(ValueError):  # no URL: redaction alone must do
        url = without_userinfo(url)
    return one_line(redact(url, endpoint.api_key))


# --- JSON -----------------------------------------------------------------------------------------


def _object(endpoint: Endpoint, server: ServerStatus | None, cards: Cards) -> dict[str, Any]:
    from kvtui.telemetry.gpu import as_json as cards_json
    from kvtui.telemetry.status import FIGURES

    told = None
    if server is not None:
        told = {
            "answered": server.answered,
            "kind": server.kind,
            "models": list(server.models),
            **{name: getattr(server, name) for name in FIGURES},
            "prefix_hit_basis": server.prefix_hit_basis,
            "sources": {
                name: {"metric": source.metric, "url": source.url}
                for name, source in server.sources.items()
            },
            "urls": list(server.urls),
            "notes": [*server.notes, *_remarks(endpoint, server)],
        }
    return {
        "schema": SCHEMA,
        "at": datetime.now(UTC).isoformat(timespec="milliseconds"),
        "endpoint": None
        if endpoint.embedded
        else {
            "base_url": _shown_url(endpoint),
            "chosen_by": endpoint.chosen_by,
            "key_from": endpoint.key_from,
        },
        "server": told,
        "cards": cards_json(cards),
        "cards_reason": cards.reason or None,
    }
