"""What the screen costs while it streams: CPU by thread, bytes to the terminal, memory.

    python -m tests.benchmarks.bench_stream [RATE:FPS …] [--seconds 10] [--size 120x40] [--keys i]

The tokens come from a server of known timing in a process of its own, with a count in each chunk,
as vLLM and the embedded engine send it. CPU is of kvtui's process alone, in per cent of one core,
after it has streamed for three seconds; ``drawing`` is the main thread, ``rest`` the reading thread
and all others (Linux only).
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from pathlib import Path

from tests.benchmarks.bench_screen import KVTUI, drain, rss_mb, start, stop

WARM_S = 3.0


def cpu_by_thread(pid: int) -> tuple[float, float]:
    """CPU seconds so far: the main thread's, and all others'."""
    main = rest = 0.0
    for task in Path(f"/proc/{pid}/task").iterdir():
        try:
            fields = (task / "stat").read_text().rsplit(")", 1)[1].split()
        except OSError:
            continue
        used = (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
        if task.name == str(pid):
            main += used
        else:
            rest += used
    return main, rest


def measure(rate: float, fps: int, seconds: float, size: tuple[int, int], keys: str) -> str:
    count = int(rate * (seconds + WARM_S + 8))
    command = [sys.executable, "-m", "tests.wire.timing_server"]
    server = subprocess.Popen(
        [*command, "--ttft", "50", "--itl", str(1000 / rate), "-n", str(count)],
        cwd=Path(__file__).parents[2],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert server.stdout is not None
    port = int(server.stdout.readline())
    flags = ["--base-url", f"http://127.0.0.1:{port}/v1", "--model", "continuous"]
    started = start([*KVTUI, *flags, "--fps", str(fps), "--max-tokens", str(count)], size)
    try:
        drain(started.terminal, 4)
        os.write(started.terminal, b"\r")
        drain(started.terminal, 1)
        for key in keys:
            os.write(started.terminal, key.encode())
            drain(started.terminal, 0.3)
        drain(started.terminal, WARM_S)
        before = cpu_by_thread(started.pid)
        written = drain(started.terminal, seconds)
        main, rest = (
            now - then for now, then in zip(cpu_by_thread(started.pid), before, strict=True)
        )
        memory = rss_mb(started.pid)
    finally:
        stop(started)
        server.kill()
        server.wait()
    return (
        f"{rate:6,.0f} tok/s at {fps:2} fps: {100 * (main + rest) / seconds:5.1f} % CPU "
        f"(drawing {100 * main / seconds:.1f}, rest {100 * rest / seconds:.1f}), "
        f"{written / seconds / 1000:.1f} kB/s, RSS {memory:.0f} MB"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("cases", nargs="*", default=["1000:30", "100:30", "100:10"])
    parser.add_argument("--seconds", type=float, default=10.0)
    parser.add_argument("--size", default="120x40")
    parser.add_argument("--keys", default="", help="pressed once the stream runs")
    arguments = parser.parse_args()
    width, height = map(int, arguments.size.split("x"))
    for case in arguments.cases:
        rate, fps = case.split(":")
        print(
            measure(float(rate), int(fps), arguments.seconds, (width, height), arguments.keys),
            flush=True,
        )


if __name__ == "__main__":
    main()
