"""SGLang's metrics page (there only with ``--enable-metrics``)."""

from __future__ import annotations

from kvtui.language import tr
from kvtui.telemetry.prometheus import Page, Sample, known, total
from kvtui.telemetry.status import Draft, ServerStatus

NAMES = (
    "sglang:full_token_usage",
    "sglang:token_usage",
    "sglang:num_used_tokens",
    "sglang:max_total_num_tokens",
    "sglang:num_running_reqs",
    "sglang:num_queue_reqs",
    "sglang:num_retracted_requests",
    "sglang:cache_hit_rate",
    "sglang:cached_tokens",
    "sglang:prompt_tokens",
    "sglang:generation_tokens",
    "sglang:gen_throughput",
)
"""What is read of the page, counters without their ``_total``."""

_RANKS = ("tp_rank", "pp_rank", "moe_ep_rank")


def read(page: Page, draft: Draft) -> ServerStatus:
    """Read the page; every tensor-parallel rank repeats it, so one is taken."""

    def ranks(name: str) -> tuple[Sample, ...]:
        return _one_rank(page.get(name))

    def put_total(name: str, metric: str) -> None:
        draft.whole(name, total(ranks(metric)), metric)

    put_total("kv_tokens_used", "sglang:num_used_tokens")
    put_total("kv_tokens_total", "sglang:max_total_num_tokens")
    for usage in ("sglang:full_token_usage", "sglang:token_usage"):
        values = known(ranks(usage))
        if values and draft.share("kv_usage", max(values), usage):
            draft.spread(values)
            if usage == "sglang:token_usage":
                draft.note(tr("sglang:token_usage is rounded to whole percents by the server."))
            break
    put_total("running", "sglang:num_running_reqs")
    put_total("waiting", "sglang:num_queue_reqs")
    put_total("preemptions", "sglang:num_retracted_requests_total")
    put_total("prompt_tokens", "sglang:prompt_tokens_total")
    put_total("generation_tokens", "sglang:generation_tokens_total")
    draft.hits(
        total(ranks("sglang:cached_tokens")),
        total(ranks("sglang:prompt_tokens")),
        "sglang:cached_tokens_total / prompt_tokens_total",
    )
    rates = known(ranks("sglang:cache_hit_rate"))
    draft.gauge_hits(max(rates, default=None), "sglang:cache_hit_rate")
    speed = total(ranks("sglang:gen_throughput"))
    draft.put("generation_tps", speed, "sglang:gen_throughput")
    return draft.freeze("sglang", page.label_values("model_name"))


def _one_rank(samples: tuple[Sample, ...]) -> tuple[Sample, ...]:
    """Tensor, pipeline and expert ranks each report the same: keep one of each.

    Data-parallel ranks and engine types remain. Where priorities are counted too, the label set
    with an empty priority is the total of the others.
    """
    kept: dict[tuple[tuple[str, str], ...], Sample] = {}
    whole = [s for s in samples if not s.labels.get("priority")] or list(samples)
    for sample in sorted(whole, key=lambda s: tuple(s.labels.get(rank, "") for rank in _RANKS)):
        rest = sorted((k, v) for k, v in sample.labels.items() if k not in _RANKS)
        kept.setdefault(tuple(rest), sample)
    return tuple(kept.values())
