"""What reading and measuring costs, beside a bare client and the SDK's own ways, in one run.

    python -m tests.benchmarks.bench_wire [--pairs N] [--busy]

Prints ΔTTFT (the client's figure minus the server's own log) at 1 and 64 streams, the TPOT error,
and chunks a second and CPU a chunk on a firehose. Clients take turns, so that whatever else the
machine does meets all of them alike; ratios are medians of pairs. ``--busy`` keeps one core busy.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import subprocess
import sys
from statistics import median
from typing import Any

from tests.wire.timing import TimingServer, timing_server

CLIENTS = ("ours", "bare", "raw", "typed")
FIRE = 20_000


def client(name: str, server: TimingServer, model: str, streams: int) -> dict[str, Any]:
    command = [sys.executable, "-m", "tests.benchmarks.wire_clients"]
    command += [name, f"{server.url}/v1", model, str(streams)]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=300)
    table: dict[str, Any] = json.loads(done.stdout)
    table["log"] = server.log()
    return table


def delays(table: dict[str, Any]) -> list[float]:
    """ΔTTFT of each stream in ms, sorted."""
    found = []
    for prompt, ttft in table["ttft_ms"].items():
        if ttft is None:
            continue  # a client that gives no figure where its machine was too late to have one
        record = table["log"][prompt]
        found.append(ttft - (record["sent"][0] - record["t_request"]) * 1000)
    return sorted(found)


def tpot_errors(table: dict[str, Any]) -> list[float]:
    """|TPOT error| of each stream in percent, sorted."""
    found = []
    for prompt, tpot in table["tpot_ms"].items():
        if tpot is None:
            continue
        sent = table["log"][prompt]["sent"]
        own = (sent[-1] - sent[0]) * 1000 / (len(sent) - 1)
        found.append(abs(tpot / own - 1) * 100)
    return sorted(found)


def p99(values: list[float]) -> float:
    return values[min(len(values) - 1, int(0.99 * len(values)))]


def busy_loop() -> None:
    while True:
        pass


def streams_part(server: TimingServer, streams: int, pairs: int) -> None:
    print(f"\n{streams} stream(s), {pairs} rounds: ΔTTFT ms p50 / p99, TPOT error %, CPU s a round")
    seen: dict[str, list[dict[str, Any]]] = {name: [] for name in CLIENTS}
    for turn in range(pairs):
        for name in CLIENTS if turn % 2 == 0 else reversed(CLIENTS):
            seen[name].append(client(name, server, "plain", streams))
    for name, tables in seen.items():
        p50s = [median(delays(table)) for table in tables]
        p99s = [p99(delays(table)) for table in tables]
        errors = [median(tpot_errors(table)) for table in tables]
        cpu = [table["cpu_s"] for table in tables]
        print(
            f"  {name:<6} {median(p50s):+8.2f} / {median(p99s):+8.2f}   "
            f"{median(errors):6.3f}   {median(cpu):6.2f}"
        )
    ours, bare = ([median(delays(t)) for t in seen[n]] for n in ("ours", "bare"))
    tails = [[p99(delays(t)) for t in seen[n]] for n in ("ours", "bare")]
    allowed = 1.5 * median(bare) + 2, 1.5 * median(tails[1]) + 2
    verdict = "within" if median(ours) <= allowed[0] and median(tails[0]) <= allowed[1] else "OVER"
    print(f"  {verdict} 1.5 × bare + 2 ms: p50 ≤ {allowed[0]:.2f}, p99 ≤ {allowed[1]:.2f}")


def fire_part(server: TimingServer, pairs: int) -> None:
    print(f"\nfirehose of {FIRE:,} chunks, {pairs} rounds: chunks/s, µs of CPU a chunk")
    seen: dict[str, list[tuple[float, float]]] = {name: [] for name in CLIENTS}
    for turn in range(pairs):
        for name in CLIENTS if turn % 2 == 0 else reversed(CLIENTS):
            table = client(name, server, f"fire{FIRE}", 1)
            assert table["chunks"] == FIRE, (name, table["chunks"])
            seen[name].append((FIRE / table["wall_s"], table["cpu_s"] / FIRE * 1e6))
    for name, rounds in seen.items():
        speed, cost = (median(column) for column in zip(*rounds, strict=True))
        print(f"  {name:<6} {speed:10,.0f}   {cost:8.2f}")
    for other in ("bare", "raw", "typed"):
        pairs_of = zip(seen["ours"], seen[other], strict=True)
        ratio = median(one[1] / two[1] for one, two in pairs_of)
        print(f"  CPU a chunk, ours / {other}: {ratio:.3f}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pairs", type=int, default=7)
    parser.add_argument("--busy", action="store_true", help="keep one core busy meanwhile")
    given = parser.parse_args()
    burner = multiprocessing.Process(target=busy_loop, daemon=True)
    if given.busy:
        burner.start()
    try:
        with timing_server("-n", "128") as server:
            fire_part(server, given.pairs)
            streams_part(server, 1, given.pairs)
            streams_part(server, 64, given.pairs)
    finally:
        if given.busy:
            burner.terminate()


if __name__ == "__main__":
    main()
