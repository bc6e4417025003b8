"""What the header says of the endpoint, made from what its preparation found."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kvtui.bench.requests.curl import Sent
from kvtui.config import ConfigError, Settings, chosen_url
from kvtui.language import tr
from kvtui.text import one_line, redact
from kvtui.ui.ports import PreparedLike
from kvtui.ui.state import EndpointView, is_demo

DEMO_MODELS = tuple(
    f"demo-{name}"
    for name in ("auth", "network", "parameter", "filter", "ratelimit", "server", "truncated")
)
"""The embedded engine answers these as a provider would that fails so."""


def expected_view(options: Mapping[str, Any], settings: Settings) -> EndpointView:
    """What was chosen, before it is known who answers there."""
    if options.get("replay") is not None:
        return EndpointView(label="", key="", embedded=False)
    try:
        url, _ = chosen_url(
            settings, base_url=options.get("base_url"), profile=options.get("profile")
        )
    except ConfigError:  # said when the endpoint is prepared
        return EndpointView(label=one_line(str(options.get("profile")), 60), key="", embedded=False)
    if url is None:
        return EndpointView()
    label = one_line(redact(url).split("://", 1)[-1], 60)
    model = one_line(redact(str(options.get("model") or "")), 60)
    return EndpointView(label=label, model=model, key="", embedded=False)


def endpoint_view(prepared: PreparedLike, model: str) -> EndpointView:
    """Where requests to this endpoint go, with which key, and whether it can be used."""
    endpoint, verdict = prepared.endpoint, prepared.verdict
    usable = verdict is None or not verdict.is_failure
    if endpoint.embedded:
        label, key = "embedded", engine_key(model)
    else:
        shown = redact(endpoint.base_url, endpoint.api_key)
        label = one_line(shown.split("://", 1)[-1], 60)
        key = (
            tr("key from {key_from}", key_from=tr(endpoint.key_from))
            if endpoint.key_from
            else tr("no key sent")
        )
        if endpoint.key_wanted_from:
            key = tr(
                "no key in {key_wanted_from}",
                key_wanted_from=one_line(redact(endpoint.key_wanted_from), 40),
            )
    return EndpointView(
        label=label,
        model=one_line(model, 60),
        key=key,
        embedded=endpoint.embedded,
        note=engine_note(prepared, model)
        or one_line(redact(" · ".join(prepared.notes), endpoint.api_key), 120),
        ready=usable,
        problem="" if usable or verdict is None else one_line(verdict.message),
        models=(*prepared.models, *(DEMO_MODELS if endpoint.embedded else ())),
    )


def engine_key(model: str) -> str:
    """What the embedded engine wants of a key: its demo of a refused one is sent none."""
    return tr("no key sent") if model == "demo-auth" else tr("no key needed")


def engine_note(prepared: PreparedLike, model: str) -> str:
    """What the embedded model is: its size, and that a tiny one says nothing true."""
    geometry = prepared.engine_geometry
    if geometry is None:
        return ""
    if is_demo(model):
        return tr("a demo, answered by no model; M goes back to one")
    millions = geometry.n_params / 1e6
    size = f"{millions:,.1f}M" if millions < 10 else f"{millions:,.0f}M"
    if millions < 50:
        return tr("{size}, a real model that knows only texts on KV caches", size=size)
    return tr("{size} parameters", size=size)


def asked_for_models(prepared: PreparedLike) -> Sent | None:
    """The question for the models that failed; None where none was sent."""
    url = prepared.evidence.url if prepared.evidence is not None else ""
    if prepared.endpoint.embedded or not url.endswith("/models"):
        return None
    return Sent(prepared.endpoint, url.removesuffix("/models"))
