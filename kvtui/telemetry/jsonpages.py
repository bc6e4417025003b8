"""The JSON pages of servers whose metrics page says too little, or that have none."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from types import MappingProxyType
from typing import Any, TypeVar

import msgspec

from kvtui.language import tr
from kvtui.telemetry.status import Draft, Kind, ServerStatus, Source, overlay
from kvtui.text import binary_size

_Page = TypeVar("_Page")
_MOST_ENTRIES = 10_000


class _Slot(msgspec.Struct):
    """llama.cpp's ``/slots``: one sequence's place; token counts only once it was used."""

    n_ctx: int
    is_processing: bool = False
    n_prompt_tokens: int | None = None
    next_token: Any = None

    @property
    def decoded(self) -> int:
        """Tokens generated so far for the request in this slot."""
        entries = self.next_token if isinstance(self.next_token, list) else [self.next_token]
        counts = [entry.get("n_decoded") for entry in entries if isinstance(entry, dict)]
        return sum(number for number in counts if isinstance(number, int) and number > 0)


class _Props(msgspec.Struct):
    """llama.cpp's ``/props``."""

    total_slots: int
    model_alias: str | None = None
    model_path: str | None = None
    is_sleeping: bool = False


class _Load(msgspec.Struct):
    """SGLang's ``/v1/loads``: one data-parallel rank."""

    num_running_reqs: int | None = None
    num_waiting_reqs: int | None = None
    num_used_tokens: int | None = None
    max_total_num_tokens: int | None = None
    token_usage: float | None = None
    gen_throughput: float | None = None
    cache_hit_rate: float | None = None


class _Loads(msgspec.Struct):
    loads: list[_Load]


class _OllamaModel(msgspec.Struct):
    name: str
    size: int
    size_vram: int = 0
    context_length: int | None = None


class _OllamaPs(msgspec.Struct):
    models: list[_OllamaModel]


class _LmConfig(msgspec.Struct):
    context_length: int | None = None


class _LmInstance(msgspec.Struct):
    id: str
    config: _LmConfig = msgspec.field(default_factory=_LmConfig)


class _LmModel(msgspec.Struct):
    key: str
    loaded_instances: list[_LmInstance]


class _LmModels(msgspec.Struct):
    models: list[_LmModel]


class _Entry(msgspec.Struct):
    """``/v1/models``: one model; some servers add ``max_model_len``, llama.cpp adds ``meta``."""

    id: str
    owned_by: Any = None
    max_model_len: Any = None
    meta: Any = None


class _Entries(msgspec.Struct):
    data: list[_Entry]


_OWNERS: dict[str, Kind] = {
    "vllm": "vllm",
    "sglang": "sglang",
    "llamacpp": "llamacpp",
    "library": "ollama",
    "organization_owner": "lmstudio",
    "kvtui": "kvtui",
}
"""What servers write into ``owned_by``."""


def _decode(body: bytes, schema: type[_Page]) -> _Page | None:
    try:
        return msgspec.json.decode(body, type=schema)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return None


def read_slots(body: bytes, url: str) -> ServerStatus | None:
    """llama.cpp's ``/slots``: KV in use as the tokens of the busy slots over all slots' context.

    An approximation: idle slots may keep a prompt for the next request, and ``n_ctx`` is capped at
    the length the model was trained for, while the cache may hold more cells.
    """
    slots = _decode(body, list[_Slot])
    if not slots:
        return None
    draft = Draft(url)
    busy = [slot for slot in slots if slot.is_processing]
    room = sum(slot.n_ctx for slot in slots)
    counted = [slot.n_prompt_tokens for slot in busy if slot.n_prompt_tokens is not None]
    draft.whole("running", len(busy), "is_processing")
    draft.whole("kv_tokens_total", room, "Σ n_ctx of all slots")
    draft.whole("context", slots[0].n_ctx, "n_ctx of a slot")
    if len(counted) == len(busy) and room > 0:
        metric = "Σ n_prompt_tokens of busy slots"
        draft.whole("kv_tokens_used", sum(counted), metric)
        draft.share("kv_usage", sum(counted) / room, f"{metric} / Σ n_ctx")
    draft.whole("generation_tokens", sum(slot.decoded for slot in busy), "n_decoded of busy slots")
    draft.note(
        tr("KV in use is worked out from the slots that are busy; idle ones may keep prompts.")
    )
    return draft.freeze("llamacpp")


def beside_metrics(metrics: ServerStatus | None, slots: ServerStatus) -> ServerStatus:
    """The slots' figures beside those of llama.cpp's metrics page, if it has one.

    ``tokens_predicted_total`` counts a request only when it ends (seen in the build of October
    2026), so the tokens of the busy slots are added to it: together they grow token by token.
    Without the counter the slots' tokens are no count of all.
    """
    if metrics is None or metrics.generation_tokens is None:
        slots = replace(slots, generation_tokens=None)
        return slots if metrics is None else overlay(metrics, slots)
    merged = overlay(metrics, slots)
    origin = metrics.sources["generation_tokens"]
    more = Source(f"{origin.metric} + n_decoded of busy slots", origin.url)
    return replace(
        merged,
        generation_tokens=metrics.generation_tokens + (slots.generation_tokens or 0),
        sources=MappingProxyType({**merged.sources, "generation_tokens": more}),
    )


def read_props(body: bytes, url: str) -> ServerStatus | None:
    """llama.cpp's ``/props``: the model's name."""
    props = _decode(body, _Props)
    if props is None:
        return None
    draft = Draft(url)
    if props.is_sleeping:
        draft.note(tr("The server sleeps: its model is not in memory."))
    path = (props.model_path or "").replace("\\", "/").rsplit("/", 1)[-1]
    name = props.model_alias or path
    return draft.freeze("llamacpp", (name,) if name else ())


def read_loads(body: bytes, url: str) -> ServerStatus | None:
    """SGLang's ``/v1/loads``: counts summed over data-parallel ranks, usage of the fullest."""
    page = _decode(body, _Loads)
    if page is None or not page.loads:
        return None
    draft = Draft(url)
    for name, field in (
        ("running", "num_running_reqs"),
        ("waiting", "num_waiting_reqs"),
        ("kv_tokens_used", "num_used_tokens"),
        ("kv_tokens_total", "max_total_num_tokens"),
    ):
        draft.whole(name, _sum(page.loads, field), field)
    usages = [load.token_usage for load in page.loads if load.token_usage is not None]
    draft.share("kv_usage", max(usages, default=None), "token_usage")
    draft.spread(usages)
    draft.put("generation_tps", _sum(page.loads, "gen_throughput"), "gen_throughput")
    rates = [load.cache_hit_rate for load in page.loads if load.cache_hit_rate is not None]
    draft.gauge_hits(max(rates, default=None), "cache_hit_rate")
    return draft.freeze("sglang")


def _sum(loads: list[_Load], field: str) -> float | None:
    values = [getattr(load, field) for load in loads]
    return None if None in values else sum(values)


def read_ollama(body: bytes, url: str) -> ServerStatus | None:
    """Ollama's ``/api/ps``: the loaded models, how much of each lies on the card."""
    page = _decode(body, _OllamaPs)
    if page is None:
        return None
    draft = Draft(url)
    for model in page.models[:20]:
        if model.size > 0:
            share = min(1.0, model.size_vram / model.size)
            draft.note(
                tr(
                    "{name}: {share:.0%} of its {size} (weights and cache) on the card.",
                    name=model.name,
                    share=share,
                    size=binary_size(model.size),
                )
            )
    if not page.models:
        draft.note(tr("No model is loaded; the first request loads one."))
    contexts = {model.context_length for model in page.models}
    if len(contexts) == 1:
        draft.whole("context", contexts.pop(), "context_length")
    draft.note(tr("Ollama publishes no KV usage."))
    return draft.freeze("ollama", tuple(model.name for model in page.models))


def read_lmstudio(body: bytes, url: str) -> ServerStatus | None:
    """LM Studio's ``/api/v1/models``: the loaded instances and the context reserved for them."""
    page = _decode(body, _LmModels)
    if page is None:
        return None
    draft = Draft(url)
    loaded = [instance for model in page.models for instance in model.loaded_instances]
    contexts = {instance.config.context_length for instance in loaded}
    if len(contexts) == 1:
        draft.whole("context", contexts.pop(), "context_length of the loaded instance")
    if not loaded:
        draft.note(tr("No model is loaded."))
    draft.note(tr("LM Studio publishes no KV usage."))
    return draft.freeze("lmstudio", tuple(instance.id for instance in loaded))


def read_models(body: bytes, url: str) -> ServerStatus | None:
    """``/v1/models``: names, often the server's kind (``owned_by``), sometimes the context."""
    page = _decode(body, _Entries)
    if page is None:
        return None
    draft = Draft(url)
    entries = page.data[:_MOST_ENTRIES]
    kinds = {_OWNERS.get(entry.owned_by) for entry in entries if isinstance(entry.owned_by, str)}
    kind = kinds.pop() if len(kinds) == 1 else None
    if len(entries) == 1:
        entry = entries[0]
        slot = entry.meta.get("n_ctx") if isinstance(entry.meta, dict) else None
        for size, metric in ((entry.max_model_len, "max_model_len"), (slot, "meta.n_ctx")):
            if isinstance(size, int) and not isinstance(size, bool):
                draft.whole("context", size, metric)
    return draft.freeze(kind or "unknown", tuple(entry.id for entry in entries))


def error_text(body: bytes) -> str:
    """The message of an error object, else an empty string."""
    page = _decode(body, dict[str, Any]) or {}
    error = page.get("error", page)
    message = error.get("message") if isinstance(error, dict) else error
    return message if isinstance(message, str) else ""


READERS: dict[str, Callable[[bytes, str], ServerStatus | None]] = {
    "/slots": read_slots,
    "/props": read_props,
    "/v1/loads": read_loads,
    "/api/ps": read_ollama,
    "/api/v1/models": read_lmstudio,
}
"""Pages below the server's root."""
