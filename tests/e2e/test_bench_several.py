"""Several endpoints in one run: servers of known timing, and the embedded engine's precisions."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from statistics import median
from typing import Any

import msgspec
import pytest

from kvtui.bench.evaluation.findings import findings_of
from kvtui.bench.figures.summary import levels_of
from kvtui.bench.requests.options import RunOptions
from kvtui.bench.requests.session import Session
from kvtui.bench.running.presets import PRESETS
from kvtui.bench.running.presets_several import PAIRS
from kvtui.bench.running.runner import Runner
from kvtui.config import Settings, config_path
from kvtui.stream.request import Request
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
def test_a_slower_endpoint_stands_out(tmp_path: Path) -> None:
    """TPOT 12 ms over 8 ms: 1.5, in pairs that are taken in turn."""
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
    own = [[(r["sent"][-1] - r["sent"][0]) / (N - 1) for r in log.values()] for log in logs]
    assert tpot["figures"]["ratio"] == pytest.approx(median(own[1]) / median(own[0]), rel=0.1)
    assert tpot["figures"]["pairs"] == 8
    low, high = tpot["figures"]["ci95"]
    assert 1 < low <= tpot["figures"]["ratio"] <= high
    for row in table["levels"]:  # throughput over its own turns only
        e2e = row["e2e_ms"]["mean"] / 1000
        assert row["request_rate"] == pytest.approx(1 / e2e, rel=0.02)
        assert row["output_tps"] == pytest.approx(N / e2e, rel=0.02)


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
@pytest.mark.timeout(150)
def test_precisions_of_the_embedded_engine() -> None:
    """Bytes by the model's sizes: 24 key-value vectors of 32 numbers, twice; a scale each in int8.

    The first and the last of the preset's pairs: each is a process of its own.
    """
    whole = PRESETS["precision"].build({"requests": 1, "warmup": 0, "max_tokens": (4,)}, True)
    assert [(t.weights, t.kv_dtype) for t in whole.targets] == list(PAIRS)
    workload = msgspec.structs.replace(
        whole,
        targets=(whole.targets[0], whole.targets[-1]),
        stages=(whole.stages[0], msgspec.structs.replace(whole.stages[-1], target=1)),
    ).check()
    with Session(RunOptions(embedded=True, settings=Settings(config_path()))) as session:
        prepared = session.prepare().result()
        request = Request(prepared.endpoint, prepared.model or "", "")
        outcome = Runner(session, request, workload).run()
    levels = levels_of(workload, outcome.samples, outcome.health)
    assert [(row.target, row.completed) for row in levels] == [
        ("weights f32, KV f32", 1),
        ("weights int8, KV int8", 1),
    ]
    found = findings_of(workload, levels, outcome.samples, words=None, targets=outcome.targets)
    exact, short = (f.figures for f in found if f.code == "precision")
    assert exact["kv_bytes_per_token"] == 2 * 24 * 32 * 4
    assert short["kv_bytes_per_token"] == 2 * 24 * (32 + 4)
    assert short["weights_ratio"] == pytest.approx(0.25, abs=0.01)
    assert (exact["kl_mean"], exact["top1"], exact["max_abs"]) == (0.0, 1.0, 0.0)
    assert 0 < short["kl_mean"] < 0.05
    assert 0.9 < short["top1"] <= 1
