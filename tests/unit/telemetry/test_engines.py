"""Metrics pages → figures. The expected numbers are worked out by hand from the fixtures."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kvtui.telemetry.engines import read_metrics
from kvtui.telemetry.prometheus import is_metrics
from kvtui.telemetry.status import FIGURES, ServerStatus

Read = Callable[[str], ServerStatus]
URL = "http://box:8000/metrics"


def test_vllm(read: Read) -> None:
    status = read("vllm.prom")
    assert (status.kind, status.models) == ("vllm", ("org/model-14b",))
    assert status.kv_usage == 0.25
    # 1001 blocks of 16, of which one is never given: 1000 x 16, a quarter of it in use.
    assert (status.kv_tokens_used, status.kv_tokens_total) == (4000, 16_000)
    assert (status.running, status.waiting, status.preemptions) == (7, 3, 11)
    assert status.prefix_hit_share == 5000 / 8000
    assert status.prefix_hit_basis == "totals"
    assert (status.prompt_tokens, status.generation_tokens) == (8100, 4200)
    assert (status.prompt_tps, status.generation_tps, status.kv_bytes_used) == (None, None, None)
    assert status.notes == ("2 of the waiting requests wait for capacity.",)


@pytest.mark.parametrize(
    "name",
    [
        "vllm.prom",
        "vllm_two_engines.prom",
        "kvtui.prom",
        "sglang.prom",
        "llamacpp.prom",
        "tgi.prom",
        "dynamo_frontend.prom",
        "dynamo_worker.prom",
        "litellm.prom",
    ],
)
def test_every_figure_names_its_source(read: Read, name: str) -> None:
    status = read(name)
    known = {figure for figure in FIGURES if getattr(status, figure) is not None}
    assert known == set(status.sources)
    assert known
    for source in status.sources.values():
        assert source.url == URL
        assert source.metric


def test_openmetrics_reads_like_the_text_format(read: Read) -> None:
    status = read("vllm_openmetrics.prom")
    assert (status.preemptions, status.generation_tokens, status.kv_usage) == (11, 4200, 0.25)
    assert status.sources["preemptions"].metric == "vllm:num_preemptions_total"
    assert status.notes == ()


def test_two_engines_sum_counts_and_show_the_fullest(read: Read) -> None:
    status = read("vllm_two_engines.prom")
    assert (status.running, status.waiting, status.kv_usage) == (8, 5, 0.9)
    # Each 100 x 32 = 3200 tokens: 0.9 and 0.1 of it make 3200 of 6400.
    assert (status.kv_tokens_used, status.kv_tokens_total) == (3200, 6400)
    (note,) = status.notes
    assert "2 engines" in note
    assert "90.0%" in note
    assert "50.0%" in note


def test_old_vllm(read: Read) -> None:
    status = read("vllm_before_v1.prom")
    assert (status.kv_usage, status.kv_tokens_total) == (0.375, None)
    assert status.sources["kv_usage"].metric == "vllm:gpu_cache_usage_perc"
    assert (status.prefix_hit_share, status.prefix_hit_basis) == (None, None)


def test_own_server_tells_bytes_and_exact_tokens(read: Read) -> None:
    status = read("kvtui.prom")
    assert (status.kind, status.models) == ("kvtui", ("kvtui-tiny",))
    assert (status.kv_usage, status.kv_tokens_used, status.kv_tokens_total) == (0.125, 1024, 8192)
    assert (status.kv_bytes_used, status.kv_bytes_total) == (2_621_440, 20_971_520)


def test_sglang_takes_one_rank_and_the_unrounded_usage(read: Read) -> None:
    status = read("sglang.prom")
    assert (status.kind, status.running, status.preemptions) == ("sglang", 5, 6)
    assert status.waiting == 4, "the empty priority is the total of the others"
    assert status.kv_usage == 0.3346
    assert status.sources["kv_usage"].metric == "sglang:full_token_usage"
    assert (status.kv_tokens_used, status.kv_tokens_total) == (3346, 10_000)
    assert status.prefix_hit_share == 600 / 2400, "counters before the gauge"
    assert status.generation_tps == 88.5


def test_sglang_data_parallel_ranks_are_summed() -> None:
    text = "\n".join(
        f'sglang:{name}{{dp_rank="{dp}",tp_rank="{tp}"}} {value}'
        for name, values in (("num_running_reqs", (3, 4)), ("token_usage", (0.2, 0.7)))
        for dp, value in enumerate(values)
        for tp in (0, 1)
    )
    status = read_metrics(text, URL)
    assert status is not None
    assert (status.running, status.kv_usage) == (7, 0.7)
    assert any("rounded" in note for note in status.notes)


def test_llamacpp_has_no_kv_on_its_metrics_page(read: Read) -> None:
    status = read("llamacpp.prom")
    assert (status.kind, status.running, status.waiting) == ("llamacpp", 1, 2)
    assert (status.kv_usage, status.kv_tokens_used) == (None, None)
    assert status.prefix_hit_share == 100 / 400, "the counter of prompt tokens leaves cached out"
    assert status.generation_tps is None, "its own averages are reset by every look"
    old = read("llamacpp_old_kv.prom")
    assert (old.kv_usage, old.kv_tokens_used) == (0.31, 2540)


def test_the_others(read: Read) -> None:
    tgi = read("tgi.prom")
    assert (tgi.kind, tgi.running, tgi.waiting, tgi.kv_usage) == ("tgi", 4, 2, None)
    assert "8,192 tokens" in tgi.notes[0]
    front = read("dynamo_frontend.prom")
    assert (front.kind, front.running, front.waiting) == ("dynamo", 4, 2)
    assert front.kv_usage == 0.8, "the fullest worker"
    assert (front.kv_tokens_used, front.kv_tokens_total) == (16_000, 32_000)
    worker = read("dynamo_worker.prom")
    assert (worker.kv_usage, worker.prefix_hit_share) == (0.412, 0.75)
    assert worker.prefix_hit_basis == "gauge"
    assert worker.preemptions == 9, "the engine's own metrics fill the gaps"
    assert worker.kind == "dynamo"


def test_litellm_points_at_the_servers_behind_it_without_their_passwords(read: Read) -> None:
    status = read("litellm.prom")
    assert (status.kind, status.running, status.kv_usage) == ("litellm", 3, None)
    (note,) = status.notes
    assert "http://10.0.0.1:8000/v1" in note
    assert "secretword" not in note


def test_what_is_no_number_is_unknown_and_costs_only_itself(read: Read) -> None:
    status = read("not_numbers.prom")
    assert (status.kv_usage, status.running, status.waiting) == (None, None, None)
    assert (status.preemptions, status.prompt_tokens) == (None, None)
    assert status.generation_tokens == 42
    assert 'a,b}"c\\d' in status.models
    assert status.notes == ("2 lines of the page could not be read.",)


def test_a_percentage_where_a_share_is_due_is_left_out_and_said() -> None:
    status = read_metrics("vllm:kv_cache_usage_perc 41.4\n", URL)
    assert status is not None
    assert status.kv_usage is None
    assert "no share" in status.notes[0]


def test_pages_that_hold_no_metrics(page: Callable[[str], str]) -> None:
    assert not is_metrics("text/html; charset=utf-8", "")
    assert not is_metrics("application/json", "vllm:x 1")
    assert not is_metrics("text/plain", "\ufeff <!doctype html>")
    assert not is_metrics("", page("llamacpp_no_metrics.json"))
    assert is_metrics("text/plain; version=0.0.4", page("vllm.prom"))
    assert is_metrics("application/openmetrics-text; version=1.0.0", page("vllm_openmetrics.prom"))
    assert read_metrics("404 page not found", URL) is None
    assert read_metrics("", URL) is None
    other = read_metrics(page("other_server.prom"), URL)
    assert other is not None
    assert other.kind == "unknown"
    assert "none of a server" in other.notes[0]


def test_names_from_outside_are_made_harmless() -> None:
    text = 'vllm:num_requests_running{model_name="\x1b[31mred sk-abcdef0123456789"} 1\n'
    status = read_metrics(text, URL)
    assert status is not None
    (name,) = status.models
    assert "\x1b" not in name
    assert "abcdef" not in name


@given(st.text(alphabet='vllm:kv_cache_usage_perc{}="\\,# \n\r\t0123456789.eNaInf+-', max_size=200))
def test_no_text_breaks_the_parser(text: str) -> None:
    read_metrics(f"vllm:num_requests_running 1\nvllm:kv_cache_usage_perc{text}", URL)
