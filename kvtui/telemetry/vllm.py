"""vLLM's metrics page, and that of `kvtui serve`, which uses vLLM's names.

One label set per data-parallel engine: counts are summed, the KV usage is that of the fullest.
"""

from __future__ import annotations

from kvtui.language import tr
from kvtui.telemetry.prometheus import Page, known, total
from kvtui.telemetry.status import Draft, ServerStatus

_OWN = (
    "vllm:kv_cache_usage_perc",
    "vllm:gpu_cache_usage_perc",
    "vllm:num_requests_running",
    "vllm:num_requests_waiting",
    "vllm:num_requests_waiting_by_reason",
    "vllm:num_preemptions",
    "vllm:prefix_cache_queries",
    "vllm:prefix_cache_hits",
    "vllm:gpu_prefix_cache_queries",
    "vllm:gpu_prefix_cache_hits",
    "vllm:gpu_prefix_cache_hit_rate",
    "vllm:prompt_tokens",
    "vllm:generation_tokens",
    "vllm:cache_config_info",
    "vllm:engine_sleep_state",
)
_KVTUI = (
    "kvtui:kv_cache_bytes_in_use",
    "kvtui:kv_cache_bytes_total",
    "kvtui:kv_cache_tokens_in_use",
)
NAMES = (*_OWN, *_KVTUI)
"""What is read of the page, counters without their ``_total``."""


def read(page: Page, draft: Draft) -> ServerStatus:
    """Read the page of vLLM, of any version, or of `kvtui serve`."""
    own = "kvtui:" in page.prefixes
    usage = "vllm:kv_cache_usage_perc"
    if not page.get(usage):
        usage = "vllm:gpu_cache_usage_perc"  # before 0.10 or so
    draft.share("kv_usage", page.most(usage), usage)
    draft.spread(known(page.get(usage)))
    if own:
        draft.whole("kv_bytes_used", page.total(_KVTUI[0]), _KVTUI[0])
        draft.whole("kv_bytes_total", page.total(_KVTUI[1]), _KVTUI[1])
        draft.whole("kv_tokens_used", page.total(_KVTUI[2]), _KVTUI[2])
    _blocks(page, draft, usage, null_blocks=0 if own else 1)
    draft.whole("running", page.total("vllm:num_requests_running"), "vllm:num_requests_running")
    draft.whole("waiting", page.total("vllm:num_requests_waiting"), "vllm:num_requests_waiting")
    draft.whole("preemptions", page.total("vllm:num_preemptions"), "vllm:num_preemptions_total")
    for name in ("vllm:prefix_cache", "vllm:gpu_prefix_cache"):
        draft.hits(
            page.total(f"{name}_hits"), page.total(f"{name}_queries"), f"{name}_hits / _queries"
        )
    rate = "vllm:gpu_prefix_cache_hit_rate"
    draft.gauge_hits(page.most(rate), rate)
    draft.whole("prompt_tokens", page.total("vllm:prompt_tokens"), "vllm:prompt_tokens_total")
    name = "vllm:generation_tokens"
    draft.whole("generation_tokens", page.total(name), f"{name}_total")
    if not own:
        _remarks(page, draft)
    return draft.freeze("kvtui" if own else "vllm", page.label_values("model_name"))


def _blocks(page: Page, draft: Draft, usage: str, null_blocks: int) -> None:
    """Tokens from the block pool. vLLM's usage is 1 − free / (blocks − 1): one is never given."""
    sizes: dict[str, int] = {}
    for sample in page.get("vllm:cache_config_info"):
        blocks, size = sample.labels.get("num_gpu_blocks", ""), sample.labels.get("block_size", "")
        if blocks.isdecimal() and size.isdecimal() and len(blocks) < 16 and len(size) < 16:
            engine = sample.labels.get("engine", "")
            sizes[engine] = max(0, int(blocks) - null_blocks) * int(size)
    if not sizes:
        return
    metric = "num_gpu_blocks × block_size of vllm:cache_config_info"
    draft.whole("kv_tokens_total", sum(sizes.values()), metric)
    used = 0.0
    for sample in page.get(usage):
        own = sizes.get(sample.labels.get("engine", ""))
        if own is None and len(sizes) == 1:
            own = next(iter(sizes.values()))
        if own is None or sample.value is None:
            return
        used += own * sample.value
    if page.get(usage):
        draft.whole("kv_tokens_used", used, f"{usage} × {metric}")


def _remarks(page: Page, draft: Draft) -> None:
    states = page.get("vllm:engine_sleep_state")
    asleep = [s for s in states if s.labels.get("sleep_state") != "awake" and s.value == 1]
    if asleep:
        draft.note(tr("The engine is asleep: its weights or its cache are not on the card."))
    short = total(
        [
            sample
            for sample in page.get("vllm:num_requests_waiting_by_reason")
            if sample.labels.get("reason") == "capacity"
        ]
    )
    if short:
        draft.note(tr("{short:.0f} of the waiting requests wait for capacity.", short=short))
    if draft.values.get("running") == 0 and draft.values.get("kv_usage", 1) < 0.001:
        draft.note(tr("Blocks that only the prefix cache still holds count as free."))
