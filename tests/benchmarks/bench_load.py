"""What ``kvtui bench`` adds to what it measures, beside a bare client, in one run.

    python -m tests.benchmarks.bench_load [--pairs N] [--busy] [--requests N]

Prints, for 1, 64 and 256 streams, ΔTTFT (the client's figure minus the server's own log; medians
and 99th percentiles over the requests), the TPOT error and CPU seconds; then chunks a second on a
firehose; the time from the command's start to its first request; and the resident memory over one
run of 10,000 requests. Clients take turns, so that whatever else the machine does meets both alike.
``--busy`` keeps one core busy meanwhile.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import resource
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from typing import Any

from tests.benchmarks.bench_wire import busy_loop, p99
from tests.wire.timing import TimingServer, timing_server

FIRE = 20_000
N = 128
Table = dict[str, Any]


@contextmanager
def bench(server: TimingServer, model: str, *flags: str) -> Iterator[subprocess.Popen[str]]:
    """``kvtui bench sweep`` as a user runs it, with a record in a folder of its own."""
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "kvtui", "bench", "sweep", "--json", "--prompt", "Hi"]
        command += ["--base-url", f"{server.url}/v1", "--model", model, *flags]
        command += ["-o", str(Path(folder) / "record.jsonl")]
        with subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        ) as process:
            yield process


def ours(server: TimingServer, model: str, streams: int, rounds: int) -> Table:
    count = str(streams * rounds)
    flags = ("--concurrency", str(streams), "--requests", count, "--warmup", str(streams))
    server.log()
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    with bench(server, model, *flags) as process:
        text, told = process.communicate(timeout=600)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    assert process.returncode == 0, told
    table = json.loads(text)
    (row,) = table["levels"]
    assert row["completed"] == streams * rounds, row["outcomes"]
    return {
        "ttft": (row["ttft_ms"]["p50"], row["ttft_ms"]["p99"]) if row["ttft_ms"] else None,
        "tpot": row["tpot_ms"]["p50"] if row["tpot_ms"] else None,
        "chunks_per_s": FIRE / row["e2e_ms"]["p50"] * 1000,
        "cpu_s": after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime,
        "bound": row["client"]["client_bound"],
    }


def bare(server: TimingServer, model: str, streams: int, rounds: int) -> Table:
    command = [sys.executable, "-m", "tests.benchmarks.wire_clients", "bare"]
    command += [f"{server.url}/v1", model, str(streams), str(rounds)]
    server.log()
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=600)
    table = json.loads(done.stdout)
    ttft = sorted(table["ttft_ms"].values())
    return {
        "ttft": (median(ttft), p99(ttft)),
        "tpot": median(table["tpot_ms"].values()),
        "chunks_per_s": table["chunks"] / table["wall_s"],
        "cpu_s": table["cpu_s"],
    }


def truth(server: TimingServer, streams: int) -> Table:
    """What the server itself logged of the requests after the warm-up."""
    log = sorted(server.log().values(), key=lambda record: record["t_request"])[streams:]
    ttft = sorted((r["sent"][0] - r["t_request"]) * 1000 for r in log)
    tpot = median((r["sent"][-1] - r["sent"][0]) * 1000 / (len(r["sent"]) - 1) for r in log)
    return {"ttft": (median(ttft), p99(ttft)), "tpot": tpot}


def streams_part(server: TimingServer, streams: int, pairs: int) -> None:
    rounds = 8 if streams == 1 else 2
    print(
        f"\n{streams} stream(s) × {rounds}, {pairs} pairs: ΔTTFT ms p50 / p99, TPOT error %, CPU s"
    )
    seen: dict[str, list[Table]] = {"ours": [], "bare": []}
    clients = {"ours": ours, "bare": bare}
    for turn in range(pairs):
        for name in clients if turn % 2 == 0 else reversed(clients):
            table = clients[name](server, "plain", streams, rounds)
            own = truth(server, streams)
            table["delta"] = [a - b for a, b in zip(table["ttft"], own["ttft"], strict=True)]
            table["error"] = abs(table["tpot"] / own["tpot"] - 1) * 100
            seen[name].append(table)
    middle: dict[str, tuple[float, float]] = {}
    for name, tables in seen.items():
        middle[name] = median(t["delta"][0] for t in tables), median(t["delta"][1] for t in tables)
        error, cpu = median(t["error"] for t in tables), median(t["cpu_s"] for t in tables)
        delta = f"{middle[name][0]:+8.2f} / {middle[name][1]:+8.2f}"
        print(f"  {name:<5} {delta}   {error:6.3f}   {cpu:6.2f}")
    allowed = [1.5 * value + 2 for value in middle["bare"]]
    within = all(value <= limit for value, limit in zip(middle["ours"], allowed, strict=True))
    print(
        f"  {'within' if within else 'OVER'} 1.5 × bare + 2 ms: {allowed[0]:.2f} / {allowed[1]:.2f}"
    )
    if any(t["bound"] for t in seen["ours"]):
        print("  (the tool called itself client-bound)")


def fire_part(server: TimingServer, pairs: int) -> None:
    print(f"\nfirehose of {FIRE:,} chunks, {pairs} pairs: chunks/s")
    ratios = []
    for turn in range(pairs):
        clients = (ours, bare) if turn % 2 == 0 else (bare, ours)
        speeds = {c.__name__: c(server, f"fire{FIRE}", 1, 1)["chunks_per_s"] for c in clients}
        ratios.append(speeds["ours"] / speeds["bare"])
        print(f"  ours {speeds['ours']:10,.0f}   bare {speeds['bare']:10,.0f}")
    print(f"  ours / bare: {median(ratios):.2f} (at least 0.50 wanted)")


def start_part(server: TimingServer, pairs: int) -> None:
    found = []
    for _ in range(pairs):
        server.log()
        begun = time.perf_counter()
        with bench(server, "plain", "--concurrency", "1", "--requests", "1") as process:
            process.communicate(timeout=60)
        found.append(min(r["t_request"] for r in server.log().values()) - begun)
    print(f"\nstart to first request, {pairs} times: {median(found):.2f} s (at most 2 wanted)")


def memory_part(server: TimingServer, requests: int) -> None:
    flags = ("--concurrency", "32", "--requests", str(requests), "--max-tokens", "4")
    seen: list[tuple[float, float]] = []
    with bench(server, "plain-4", *flags) as process:
        begun = time.perf_counter()
        reader = threading.Thread(target=process.communicate, daemon=True)
        reader.start()
        while process.poll() is None:
            try:
                fields = Path(f"/proc/{process.pid}/statm").read_text().split()
            except OSError:
                break
            if len(fields) > 1 and fields[1] != "0":
                size = int(fields[1]) * os.sysconf("SC_PAGE_SIZE") / 2**20
                seen.append((time.perf_counter() - begun, size))
            time.sleep(0.2)
        reader.join(10)
    sizes = [size for _, size in seen]
    quarter = sizes[len(sizes) // 4]
    print(
        f"\n{requests:,} requests in {seen[-1][0]:.0f} s: resident {quarter:.0f} MiB after a"
        f" quarter, {sizes[-5]:.0f} near the end, {max(sizes):.0f} at most (under 120 wanted)"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pairs", type=int, default=7)
    parser.add_argument("--busy", action="store_true", help="keep one core busy meanwhile")
    parser.add_argument("--requests", type=int, default=10_000, help="of the run for memory")
    parser.add_argument("--streams", default="1,64,256")
    given = parser.parse_args()
    burner = multiprocessing.Process(target=busy_loop, daemon=True)
    if given.busy:
        burner.start()
    try:
        with timing_server("-n", str(N)) as server:
            start_part(server, given.pairs)
            fire_part(server, given.pairs)
            for streams in map(int, given.streams.split(",")):
                streams_part(server, streams, given.pairs)
        with timing_server("--ttft", "5", "--itl", "1", "-n", "4") as server:
            if given.requests:
                memory_part(server, given.requests)
    finally:
        if given.busy:
            burner.terminate()


if __name__ == "__main__":
    main()
