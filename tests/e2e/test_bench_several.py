"""Several endpoints in one run: servers of known timing, and the embedded engine's precisions."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.test_bench_command import bench
from tests.wire.timing import timing_server

N = 32


def findings(done: subprocess.CompletedProcess[str]) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    assert done.returncode == 0, done.stderr
    table = json.loads(done.stdout)
    return table, table["findings"]


def ratios(found: list[dict[str, Any]]) -> dict[str, dict[str, Any]]:
    return {f["figures"]["figure"]: f for f in found if f["code"] == "ratio"}


@pytest.mark.slow
def test_a_slower_endpoint_stands_out_and_an_equal_one_does_not(tmp_path: Path) -> None:
    """TPOT 12 ms over 8 ms, TTFT 40 ms both: 1.5 and nothing, in pairs taken in turn."""
    shared = ("--ttft", "40", "-n", str(N))
    with (
        timing_server(*shared, "--itl", "8") as one,
        timing_server(*shared, "--itl", "12") as other,
    ):
        urls = [f"{server.url}/v1" for server in (one, other)]
        flags = [word for url in urls for word in ("--endpoint", f"plain@{url}")]
        flags += ["--requests", "8", "--max-tokens", str(N), "--json"]
        done = bench(None, tmp_path, "compare-endpoints", *flags)
        logs = [server.log() for server in (one, other)]
    table, found = findings(done)
    assert [t["base_url"] for t in table["targets"]] == urls
    assert [row["target"] for row in table["levels"]] == [f"plain@{url}" for url in urls]
    assert [row["completed"] for row in table["levels"]] == [8, 8]
    assert logs[0].keys() == logs[1].keys()  # the same prompts
    times = sorted((r["t_request"], n) for n, log in enumerate(logs) for r in log.values())
    order = "".join(str(n) for _, n in times)[2:]
    assert order == "0110" * 4  # after a warm-up of each: in turn, every other turn backwards
    tpot = ratios(found)["tpot_ms"]
    assert tpot["holds"] is True
    assert tpot["figures"]["ratio"] == pytest.approx(1.5, rel=0.05)
    low, high = tpot["figures"]["ci95"]
    assert low <= 1.5 * 1.03
    assert high >= 1.5 * 0.97
    assert tpot["figures"]["pairs"] == 8
    for row in table["levels"]:  # throughput over its own turns only
        own = 8 * N / sum(1 / row["request_rate"] for _ in range(8))
        assert row["output_tps"] == pytest.approx(own, rel=0.01)
        e2e = row["e2e_ms"]["mean"] / 1000
        assert row["request_rate"] == pytest.approx(1 / e2e, rel=0.05)


@pytest.mark.parametrize(
    ("flags", "said"),
    [
        (("compare-endpoints",), "two endpoints or more"),
        (("compare-endpoints", "--endpoint", "embedded"), "two endpoints or more"),
        (("compare-endpoints", "--endpoint", "embeded", "--endpoint", "x"), "embedded"),
        (("precision", "--base-url", "http://127.0.0.1:9/v1"), "embedded engine only"),
    ],
)
def test_what_cannot_be_compared_is_said(tmp_path: Path, flags: tuple[str, ...], said: str) -> None:
    done = bench(None, tmp_path, *flags)
    assert done.returncode == 2
    assert said in done.stderr


@pytest.mark.slow
def test_precisions_of_the_embedded_engine(tmp_path: Path) -> None:
    """Bytes by the model's sizes: 7.7 M weights, 24 key-value vectors of 32 numbers twice."""
    flags = ("precision", "--requests", "1", "--warmup", "0", "--max-tokens", "4", "--json")
    table, found = findings(bench(None, tmp_path, *flags))
    rows = {f["message"].partition(":")[0]: f["figures"] for f in found if f["code"] == "precision"}
    assert len(rows) == len(table["levels"]) == 6
    assert all(row["completed"] == 1 for row in table["levels"])
    kv = {row["kv_dtype"]: row["kv_bytes_per_token"] for row in rows.values()}
    assert kv == {"f32": 2 * 24 * 32 * 4, "f16": 2 * 24 * 32 * 2, "int8": 2 * 24 * (32 + 4)}
    exact = rows["weights f32, KV f32"]
    assert (exact["kl_mean"], exact["top1"], exact["max_abs"]) == (0.0, 1.0, 0.0)
    half, eight = rows["weights f16, KV f32"], rows["weights int8, KV f32"]
    assert half["weights_ratio"] == pytest.approx(0.5, abs=0.01)
    assert eight["weights_ratio"] == pytest.approx(0.25, abs=0.01)
    assert 0 < half["kl_mean"] < eight["kl_mean"] < 0.05
    again = bench(None, tmp_path, "--open", table["record"], "--json")
    assert json.loads(again.stdout)["findings"] == table["findings"]
