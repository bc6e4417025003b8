"""Two looks → tokens per second and the hit share of the time between."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from kvtui.telemetry.status import ServerStatus, overlay, with_rates

Read = Callable[[str], ServerStatus]


def test_rates_between_two_looks(read: Read) -> None:
    first = replace(read("vllm.prom"), at=100.0)
    second = replace(
        first,
        at=102.0,
        generation_tokens=4500,
        prompt_tokens=8200,
        prefix_queries=8100,
        prefix_hits=5010,
    )
    status = with_rates(second, first)
    assert status.generation_tps == 150.0
    assert status.prompt_tps == 50.0
    assert status.prefix_hit_share == 10 / 100
    assert status.prefix_hit_basis == "interval"
    assert "Δ vllm:generation_tokens_total / 2.0 s" in str(status.sources["generation_tps"])
    assert "last 2 s" in status.sources["prefix_hit_share"].metric


def test_the_hit_share_may_look_further_back(read: Read) -> None:
    oldest = replace(read("vllm.prom"), at=50.0, prefix_queries=7000, prefix_hits=4500)
    before = replace(oldest, at=99.0, prefix_queries=8000, prefix_hits=5000)
    now = replace(before, at=100.0)
    status = with_rates(now, before, oldest)
    assert status.prefix_hit_share == 500 / 1000
    assert status.generation_tps == 0.0


def test_without_prompts_in_between_the_totals_stay(read: Read) -> None:
    first = replace(read("vllm.prom"), at=1.0)
    status = with_rates(replace(first, at=2.0), first)
    assert (status.prefix_hit_share, status.prefix_hit_basis) == (0.625, "totals")


def test_a_restarted_server_gives_no_rate(read: Read) -> None:
    first = replace(read("vllm.prom"), at=1.0)
    second = replace(first, at=2.0, generation_tokens=3, prefix_queries=5, prefix_hits=1)
    status = with_rates(second, first)
    assert status.generation_tps is None
    assert status.prefix_hit_basis == "totals"


def test_nothing_to_compare_with(read: Read) -> None:
    status = replace(read("vllm.prom"), at=1.0)
    assert with_rates(status, None) is status
    assert with_rates(status, replace(status, kind="sglang", at=0.0)) is status
    assert with_rates(status, status) is status


def test_a_second_page_fills_gaps_only(read: Read) -> None:
    first = read("vllm_before_v1.prom")
    second = read("sglang.prom")
    both = overlay(first, second)
    assert (both.kv_usage, both.running, both.kind) == (0.375, 1, "vllm")
    assert (both.kv_tokens_used, both.prefix_hit_basis) == (3346, "totals")
    assert both.sources["kv_usage"].metric == "vllm:gpu_cache_usage_perc"
    assert both.sources["kv_tokens_used"].metric == "sglang:num_used_tokens"
