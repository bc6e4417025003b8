"""``kvtui bench`` as a process: what it prints, where, its exit status, its record."""

from __future__ import annotations

import csv
import io
import json
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from kvtui.bench.records import store
from kvtui.bench.records.record import Record, RecordError, read_record
from kvtui.bench.work.asking import ask
from kvtui.bench.work.prompts import Words
from kvtui.config import Endpoint
from kvtui.stream.request import Request
from tests.processes import environment
from tests.wire.timing import TimingServer, timing_server

KEY = "sk-test-Zx81Qa77Lm20Vb94"


@pytest.fixture(scope="module")
def server() -> Iterator[TimingServer]:
    with timing_server("--ttft", "40", "--itl", "4", "-n", "40") as server:
        yield server


def command(server: TimingServer | None, *flags: str, model: str = "plain") -> list[str]:
    where = ["--base-url", f"{server.url}/v1", "--model", model] if server else []
    return [sys.executable, "-m", "kvtui", "bench", *flags, *where]


def bench(
    server: TimingServer | None, tmp_path: Path, *flags: str, model: str = "plain", **more: str
) -> subprocess.CompletedProcess[str]:
    done = subprocess.run(
        command(server, *flags, model=model),
        capture_output=True,
        text=True,
        encoding="utf-8",
        env=environment(tmp_path, **more),
        input="",
        timeout=50,
    )
    assert "Traceback" not in done.stderr, done.stderr
    return done


def assert_no_ttft_below_the_servers(server: TimingServer, record: Record) -> None:
    """Whatever else the machine does: sent before the server read it, read after it wrote."""
    log = server.records(len(record.samples))
    nonce, endpoint = record.header["nonce"], Endpoint(f"{server.url}/v1", "test")
    late = []
    for sample in record.samples:
        asked = ask(
            Request(endpoint, "plain", ""),
            record.workload.stages[sample.stage],
            sample.index,
            nonce=nonce,
            words=record.words or Words(),
            warmup=sample.warmup,
        )
        logged = log[asked.prompt]
        assert sample.ttft_ms is not None
        late.append(sample.ttft_ms - (logged["sent"][0] - logged["t_request"]) * 1000)
    assert len(late) == 18
    assert min(late) >= 0
    assert min(late) < 5  # the rest is what else the machine does


def test_a_sweep_as_json(server: TimingServer, tmp_path: Path) -> None:
    flags = ("sweep", "--concurrency", "1,4", "--requests", "8", "--max-tokens", "40", "--json")
    done = bench(server, tmp_path, *flags, "--slo", "ttft_ms<500")
    assert done.returncode == 0
    table = json.loads(done.stdout)
    assert (table["schema"], table["preset"]) == ("kvtui.bench/1", "sweep")
    assert table["endpoint"]["base_url"] == f"{server.url}/v1"
    assert [row["concurrency"] for row in table["levels"]] == [1, 4]
    for row in table["levels"]:
        assert (row["requests"], row["completed"], row["failed"]) == (8, 8, {})
        assert row["outcomes"] == {"truncated.max_tokens": 8}
        assert set(row["ttft_ms"]) >= {"p50", "p90", "p95", "p99", "mean", "n"}
        assert row["tpot_ms"]["p50"] == pytest.approx(4, rel=0.25)
        assert row["output_tokens"] == 320
        assert row["goodput_share"] == 1.0
        assert row["client"]["cpu_share"] > 0
    assert table["levels"][1]["output_tps"] > 2 * table["levels"][0]["output_tps"]
    record = read_record(Path(table["record"]))
    assert_no_ttft_below_the_servers(server, record)
    page = bench(None, tmp_path, "--open", table["record"], "--format", "html").stdout
    figures = [(s.ttft_ms, s.tpot_ms, s.e2e_ms) for s in record.samples if not s.warmup]
    told = sum(value is not None for three in figures for value in three)
    assert told > 40  # a busy machine may hold a stream back: then it has no decode rate
    assert page.count("<circle") == 2 + told  # a point a level, and those of each request
    assert {f["code"] for f in table["findings"]} >= {"slo", "approximate_prompts"}


def test_text_and_the_record_again(server: TimingServer, tmp_path: Path) -> None:
    record = tmp_path / "mine.jsonl"
    done = bench(server, tmp_path, "article", "--max-tokens", "20,40", "-o", str(record))
    assert done.returncode == 0
    assert "TTFT p50" in done.stdout
    assert "summarise 2,000 characters" in done.stdout
    assert "level 1 of 3" in done.stderr
    again = bench(None, tmp_path, "--open", str(record))
    assert again.stdout == done.stdout
    rows = list(csv.DictReader(io.StringIO(
        bench(None, tmp_path, "--open", str(record), "--format", "csv").stdout
    )))  # fmt: skip
    assert len(rows) == 12
    assert sum(row["warmup"] == "True" for row in rows) == 3
    assert (
        "| level |" in bench(None, tmp_path, "--open", str(record), "--format", "markdown").stdout
    )
    page = bench(None, tmp_path, "--open", str(record), "--format", "html").stdout
    assert page.startswith("<!doctype html>")
    assert page.count("<tr>") == 4
    assert "src=" not in page
    assert "href=" not in page
    refused = bench(server, tmp_path, "article", "-o", str(record))
    assert (refused.returncode, refused.stdout) == (2, "")
    assert "there already" in refused.stderr


def test_a_full_disk_is_said_and_the_results_are_whole(
    server: TimingServer, tmp_path: Path
) -> None:
    """The file may grow to 3,000 bytes: the run goes on without it."""
    resource = pytest.importorskip("resource")
    record = tmp_path / "r.jsonl"
    flags = ("sweep", "--concurrency", "1", "--requests", "9", "--max-tokens", "9", "--json")

    def limit() -> None:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (3000, 3000))

    done = subprocess.run(
        command(server, *flags, "-o", str(record)),
        capture_output=True,
        text=True,
        env=environment(tmp_path, PYTHONDONTWRITEBYTECODE="1"),
        stdin=subprocess.DEVNULL,
        preexec_fn=limit,
        timeout=50,
    )
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["levels"][0]["completed"] == 9
    assert "the record is not whole" in done.stderr


def test_failures_are_counted_and_the_status_says_so(server: TimingServer, tmp_path: Path) -> None:
    flags = ("sweep", "--concurrency", "2", "--requests", "6", "--warmup", "0", "--json")
    done = bench(server, tmp_path, *flags, model="sseerr", KVTUI_TEST_KEY=KEY)
    table = json.loads(done.stdout)
    assert done.returncode == 1
    (row,) = table["levels"]
    assert row["failed"] == {"server": row["requests"]}
    assert row["failed_subcodes"] == {"server.oom": row["requests"]}
    assert row["ttft_ms"] is row["tpot_ms"] is None
    assert table["failure"]["subcode"] == "oom"


def test_no_server_is_a_classified_failure(tmp_path: Path) -> None:
    done = bench(
        None, tmp_path, "article", "--base-url", "http://127.0.0.1:9/v1", "--model", "m", "--json"
    )
    table = json.loads(done.stdout)
    assert done.returncode == 1
    assert table["failure"]["class"] == "network"


def test_the_key_is_in_no_record(server: TimingServer, tmp_path: Path) -> None:
    flags = ("sweep", "--concurrency", "1", "--requests", "2", "--api-key-env", "KVTUI_TEST_KEY")
    done = bench(server, tmp_path, *flags, "--header", f"X-Token: {KEY}9", KVTUI_TEST_KEY=KEY)
    assert done.returncode == 0
    (record,) = (tmp_path / "runs").iterdir()
    assert KEY not in record.read_text() + done.stdout + done.stderr
    assert any(r["headers"].get("authorization") for r in server.log().values())


@pytest.mark.parametrize(
    ("flags", "said"),
    [
        (("swep",), "did you mean sweep"),
        ((), "bench --list"),
        (("sweep", "--concurrency", "1,x"), "whole numbers"),
        (("sweep", "--concurrency", "0"), "out of range"),
        (("sweep", "--slo", "ttft<5"), "ttft_ms"),
        (("nowhere.toml",), "cannot be read"),
        (("sweep", "--rate", "-1"), "out of range"),
    ],
)
def test_wrong_flags(tmp_path: Path, flags: tuple[str, ...], said: str) -> None:
    done = bench(None, tmp_path, *flags)
    assert (done.returncode, done.stdout) == (2, "")
    assert said in done.stderr


def test_the_presets_are_listed(tmp_path: Path) -> None:
    names = [line.split()[0] for line in bench(None, tmp_path, "--list").stdout.splitlines()]
    assert names == [
        "article", "sweep", "prefill", "kv-evidence", "quality-of-stream", "compare-endpoints",
        "precision", "FILE.toml",
    ]  # fmt: skip
    table = json.loads(bench(None, tmp_path, "--list", "--json").stdout)
    assert [preset["name"] for preset in table] == names[:-1]


def test_a_workload_of_ones_own(server: TimingServer, tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    path.write_text('name = "mine"\nprompts = ["a", "b"]\nmax_tokens = 9\nrequests = 4\n')
    done = bench(server, tmp_path, str(path), "--json")
    table = json.loads(done.stdout)
    assert (table["preset"], table["levels"][0]["requests"]) == ("mine", 4)


def half_done(server: TimingServer, tmp_path: Path, record: Path) -> subprocess.Popen[str]:
    """A run of 40 requests of which some have ended."""
    flags = ("sweep", "--concurrency", "2", "--requests", "40", "-o", str(record), "--json")
    process = subprocess.Popen(
        command(server, *flags),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        stdin=subprocess.DEVNULL,
        text=True,
        env=environment(tmp_path),
    )
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline and process.poll() is None:
        if record.exists() and record.read_text().count('"type":"request"') >= 6:
            return process
        time.sleep(0.02)
    process.kill()
    raise AssertionError(f"nothing was recorded: {process.communicate()}")


def completed(record: Path) -> list[dict[str, Any]]:
    lines = [json.loads(line) for line in record.read_text().splitlines() if line.endswith("}")]
    return [r for r in lines if r["type"] == "request" and not r.get("warmup")]


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGINT])
def test_a_run_that_was_ended_goes_on(
    server: TimingServer, tmp_path: Path, how: signal.Signals
) -> None:
    record = tmp_path / "r.jsonl"
    with half_done(server, tmp_path, record) as process:
        process.send_signal(how)
        if how is signal.SIGINT:
            time.sleep(0.02)
            process.send_signal(how)  # as a wrapper passes it on once more
        stdout, stderr = process.communicate(timeout=20)
    before = completed(record)
    assert 5 <= len(before) < 40
    if how is signal.SIGINT:
        assert process.returncode == 130
        assert "--resume" in stderr
        assert json.loads(stdout)["levels"][0]["completed"] == len(before)
    done = bench(None, tmp_path, "--resume", str(record), "--json")
    assert done.returncode == 0
    table = json.loads(done.stdout)
    (row,) = table["levels"]
    assert (row["requests"], row["completed"]) == (40, 40)
    assert table["finished"]
    assert table["settings"]["segments"] == 2
    after = completed(record)
    assert [r["index"] for r in before] == [r["index"] for r in after[: len(before)]]
    assert sorted(r["index"] for r in after) == list(range(40))


@pytest.mark.skipif(not hasattr(signal, "SIGSTOP"), reason="no process can be held here")
def test_a_run_under_way_is_left_alone(server: TimingServer, tmp_path: Path) -> None:
    """Held, a process keeps its lock; killed, it has none: the run can be resumed, once."""
    record = tmp_path / "r.jsonl"

    def refused() -> None:
        assert store.look(record).running
        assert not store.look(record).resumable
        with pytest.raises(RecordError, match="under way"):
            store.delete(record)
        again = bench(None, tmp_path, "--resume", str(record))
        assert (again.returncode, again.stdout) == (2, "")
        assert "a run is under way in it" in again.stderr

    with half_done(server, tmp_path, record) as process:
        process.send_signal(signal.SIGSTOP)
        refused()
        process.kill()
        process.communicate(timeout=20)
    assert store.look(record).resumable
    before = len(completed(record))
    first = subprocess.Popen(
        command(None, "--resume", str(record), "--json"),
        stdout=subprocess.PIPE,
        text=True,
        env=environment(tmp_path),
    )
    with first:
        deadline = time.monotonic() + 30
        while len(completed(record)) == before and time.monotonic() < deadline:
            time.sleep(0.02)
        first.send_signal(signal.SIGSTOP)
        refused()
        first.send_signal(signal.SIGCONT)
        stdout, _ = first.communicate(timeout=40)
    assert json.loads(stdout)["levels"][0]["completed"] == 40
    assert sorted(r["index"] for r in completed(record)) == list(range(40))
    entry = store.look(record)
    assert (entry.finished, entry.running) == (True, False)
