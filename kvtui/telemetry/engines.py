"""A metrics page → ``ServerStatus``, for each server that publishes one.

Names after the servers' sources of 2026 (vLLM 0.33, SGLang 0.5.23, llama.cpp of October,
Dynamo 1.6, LiteLLM 1.110) and TGI's documentation; older names are taken where they differ.
"""

from __future__ import annotations

from collections.abc import Callable

from kvtui.language import tr
from kvtui.telemetry import sglang, vllm
from kvtui.telemetry.prometheus import Page, known, read_page
from kvtui.telemetry.status import Draft, ServerStatus, overlay

_LLAMACPP = (
    "llamacpp:kv_cache_usage_ratio",
    "llamacpp:kv_cache_tokens",
    "llamacpp:requests_processing",
    "llamacpp:requests_deferred",
    "llamacpp:prompt_tokens",
    "llamacpp:prompt_tokens_cached",
    "llamacpp:tokens_predicted",
)
_OTHERS = (
    "tgi_queue_size",
    "tgi_batch_current_size",
    "tgi_batch_current_max_tokens",
    "dynamo_frontend_active_requests",
    "dynamo_frontend_inflight_requests",
    "dynamo_frontend_queued_requests",
    "dynamo_frontend_output_tokens",
    "dynamo_frontend_model_total_kv_blocks",
    "dynamo_frontend_model_kv_cache_block_size",
    "dynamo_frontend_worker_active_decode_blocks",
    "dynamo_frontend_kv_hit_rate",
    "dynamo_component_gpu_cache_usage_percent",
    "dynamo_component_total_blocks",
    "dynamo_component_kv_cache_hit_rate",
    "litellm_in_flight_requests",
    "litellm_deployment_state",
    "litellm_proxy_total_requests_metric",
)
WANTED = frozenset((*vllm.NAMES, *sglang.NAMES, *_LLAMACPP, *_OTHERS))
"""Every name that is read here, counters without their ``_total``."""


def read_metrics(text: str, url: str) -> ServerStatus | None:
    """Read a metrics page.

    Args:
        text: The page, already known to be neither HTML nor JSON (``prometheus.is_metrics``).
        url: Where it was found, for the sources.

    Returns:
        The status; of kind "unknown" for a page of metrics that no known server has; None for a
        text that holds no metrics.
    """
    page = read_page(text, WANTED)
    if not page.lines:
        return None
    readers = [reader for prefix, reader in _READERS if prefix in page.prefixes]
    if not readers:
        if not _looks_like_metrics(text):
            return None
        draft = Draft(url)
        draft.note(tr("This page holds metrics, but none of a server that kvtui knows."))
        return draft.freeze("unknown")
    first, *others = readers
    draft = Draft(url)
    if page.bad_lines:
        draft.note(tr("{bad_lines} lines of the page could not be read.", bad_lines=page.bad_lines))
    status = first(page, draft)
    for reader in others:  # Dynamo and the like republish their engine's own metrics
        status = overlay(status, reader(page, Draft(url)))
    return status


def _looks_like_metrics(text: str) -> bool:
    """``# TYPE`` near the start, or an OpenMetrics end: a plain "not found" has neither."""
    return "# TYPE " in text[:65536] or text.rstrip().endswith("# EOF")


def _llamacpp(page: Page, draft: Draft) -> ServerStatus:
    ratio = "llamacpp:kv_cache_usage_ratio"  # in old builds only; /slots tells it today
    draft.share("kv_usage", page.most(ratio), ratio)
    tokens = "llamacpp:kv_cache_tokens"
    draft.whole("kv_tokens_used", page.total(tokens), tokens)
    for name, metric in (
        ("running", "llamacpp:requests_processing"),
        ("waiting", "llamacpp:requests_deferred"),
        ("generation_tokens", "llamacpp:tokens_predicted_total"),
        ("prompt_tokens", "llamacpp:prompt_tokens_total"),
    ):
        draft.whole(name, page.total(metric), metric)
    cached, fresh = (page.total(f"llamacpp:prompt_tokens{end}") for end in ("_cached", ""))
    if cached is not None and fresh is not None:
        metric = "llamacpp:prompt_tokens_cached_total / (it + prompt_tokens_total)"
        draft.hits(cached, cached + fresh, metric)
    return draft.freeze("llamacpp")


def _tgi(page: Page, draft: Draft) -> ServerStatus:
    size, queue = "tgi_batch_current_size", "tgi_queue_size"
    draft.whole("running", page.total(size), size)
    draft.whole("waiting", page.total(queue), queue)
    room = page.total("tgi_batch_current_max_tokens")
    if room is not None:
        draft.note(
            tr(
                "The running batch may grow to {room:,.0f} tokens; TGI tells no KV usage.",
                room=room,
            )
        )
    return draft.freeze("tgi")


def _litellm(page: Page, draft: Draft) -> ServerStatus:
    name = "litellm_in_flight_requests"
    draft.whole("running", page.total(name), name)
    backends = [s.labels.get("api_base", "") for s in page.get("litellm_deployment_state")]
    behind = ", ".join(dict.fromkeys(base for base in backends if base))
    draft.note(
        tr("A proxy holds no KV cache: look at the servers behind it")
        + (f", {behind}." if behind else ".")
    )
    return draft.freeze("litellm", page.label_values("requested_model"))


def _dynamo(page: Page, draft: Draft) -> ServerStatus:
    front, worker = "dynamo_frontend_", "dynamo_component_"
    for name in ("active_requests", "inflight_requests"):
        draft.whole("running", page.total(front + name), front + name)
    draft.whole("waiting", page.total(f"{front}queued_requests"), f"{front}queued_requests")
    tokens = f"{front}output_tokens"
    draft.whole("generation_tokens", page.total(tokens), f"{tokens}_total")
    usage = f"{worker}gpu_cache_usage_percent"  # a share of 1 in spite of its name
    if draft.share("kv_usage", page.most(usage), usage):
        draft.spread(known(page.get(usage)))
    active = page.get(f"{front}worker_active_decode_blocks")
    blocks, size = (
        page.most(front + n) for n in ("model_total_kv_blocks", "model_kv_cache_block_size")
    )
    held = known(active)
    if held and blocks:
        metric = f"{front}worker_active_decode_blocks / model_total_kv_blocks"
        draft.share("kv_usage", max(held) / blocks, metric)
        if size:
            draft.whole("kv_tokens_used", sum(held) * size, f"{metric} × block size")
            draft.whole("kv_tokens_total", len(held) * blocks * size, f"{metric} × block size")
    for rate in (f"{worker}kv_cache_hit_rate", f"{front}kv_hit_rate"):
        draft.gauge_hits(page.most(rate), rate)
    return draft.freeze("dynamo", page.label_values("model"))


_READERS: tuple[tuple[str, Callable[[Page, Draft], ServerStatus]], ...] = (
    ("dynamo_", _dynamo),
    ("litellm_", _litellm),
    ("vllm:", vllm.read),
    ("sglang:", sglang.read),
    ("llamacpp:", _llamacpp),
    ("tgi_", _tgi),
)
