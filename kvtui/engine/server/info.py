"""What the server says of itself: models, health, metrics."""

from __future__ import annotations

from typing import Any

import msgspec
from aiohttp import web

from kvtui.engine.engine import Engine
from kvtui.engine.generate import Finish
from kvtui.engine.precision import NAMES
from kvtui.engine.server.demo import DEMO_MODELS
from kvtui.engine.server.errors import ApiError, json_response
from kvtui.engine.server.schema import DEFAULT_MAX_TOKENS, DEFAULTS
from kvtui.engine.server.state import STATE, State


async def index(request: web.Request) -> web.Response:
    """`GET /`: one line for whoever opens it in a browser."""
    model = request.app[STATE].engine.model_id
    return web.Response(text=f"kvtui serves {model}; the OpenAI-compatible API is under /v1.\n")


async def health(request: web.Request) -> web.Response:
    """`GET /health`: 200 while requests are worked on."""
    if not request.app[STATE].engine.scheduler.alive:
        raise ApiError(503, "The engine has stopped.", type_="server_error")
    return json_response({"status": "ok"})


async def models(request: web.Request) -> web.Response:
    """`GET /v1/models`: the model; with `?demo=1` those that fail on purpose as well."""
    state = request.app[STATE]
    data = [model_entry(state)]
    if request.query.get("demo") == "1":
        data += [_entry(name, state) for name in DEMO_MODELS]
    return json_response({"object": "list", "data": data})


async def model(request: web.Request) -> web.Response:
    """`GET /v1/models/{model}`."""
    state = request.app[STATE]
    name = request.match_info["model"]
    if name == state.engine.model_id:
        return json_response(model_entry(state))
    if name in DEMO_MODELS:
        return json_response(_entry(name, state))
    raise unknown_model(name)


def unknown_model(name: str) -> ApiError:
    """404 for a model that is not served here."""
    return ApiError(
        404, f"The model `{name[:100]}` does not exist.", param="model", code="model_not_found"
    )


def model_entry(state: State) -> dict[str, Any]:
    """The served model: OpenAI's fields, vLLM's `max_model_len`, and its sizes in `meta`."""
    sizes = state.engine.geometry
    entry = _entry(state.engine.model_id, state)
    entry["max_model_len"] = sizes.context
    entry["meta"] = {
        "n_ctx": sizes.context,
        "n_ctx_train": sizes.context_train,
        "n_vocab": sizes.vocab,
        "size": sizes.file_bytes,
        **msgspec.to_builtins(sizes),
        "max_num_seqs": len(state.engine.cache.slots),
        "default_max_tokens": DEFAULT_MAX_TOKENS,
        "default_temperature": DEFAULTS.temperature,
        "default_top_p": DEFAULTS.top_p,
    }
    return entry


def _entry(name: str, state: State) -> dict[str, Any]:
    return {"id": name, "object": "model", "created": state.started, "owned_by": "kvtui"}


async def metrics(request: web.Request) -> web.Response:
    """`GET /metrics`: Prometheus text under vLLM's names, and the cache's bytes under our own."""
    return web.Response(
        text=_metrics_text(request.app[STATE].engine),
        headers={"Content-Type": "text/plain; version=0.0.4; charset=utf-8"},
    )


def _metrics_text(engine: Engine) -> str:
    cache, scheduler = engine.cache, engine.scheduler
    counters = scheduler.counters
    usage = cache.usage()
    label = f'model_name="{_escaped(engine.model_id)}"'
    # A block is one token here, so that blocks say exactly how many tokens are cached.
    dtype = NAMES[cache.precision]
    blocks = f'block_size="1",cache_dtype="{dtype}",num_gpu_blocks="{cache.tokens_total}"'
    reasons = {Finish.STOP, Finish.LENGTH, Finish.CANCELLED, Finish.ERROR}
    samples: list[tuple[str, str, list[tuple[str, float]]]] = [
        (
            "vllm:kv_cache_usage_perc",
            "gauge",
            [(label, usage.tokens / cache.tokens_total)],
        ),
        ("vllm:num_requests_running", "gauge", [(label, scheduler.running)]),
        ("vllm:num_requests_waiting", "gauge", [(label, scheduler.waiting)]),
        ("vllm:cache_config_info", "gauge", [(blocks, 1)]),
        ("vllm:prompt_tokens_total", "counter", [(label, counters.prompt_tokens)]),
        ("vllm:generation_tokens_total", "counter", [(label, counters.generation_tokens)]),
        (
            "vllm:request_success_total",
            "counter",
            [
                (f'finished_reason="{reason.value}",{label}', counters.finished[reason])
                for reason in sorted(reasons, key=lambda reason: reason.value)
            ],
        ),
        ("kvtui:kv_cache_bytes_in_use", "gauge", [(label, usage.nbytes)]),
        ("kvtui:kv_cache_bytes_total", "gauge", [(label, cache.nbytes_total)]),
        ("kvtui:kv_cache_tokens_in_use", "gauge", [(label, usage.tokens)]),
    ]
    lines = []
    for name, kind, values in samples:
        lines.append(f"# TYPE {name} {kind}")
        lines += [f"{name}{{{labels}}} {value!r}" for labels, value in values]
    return "\n".join(lines) + "\n"


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
