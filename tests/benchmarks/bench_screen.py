"""What the screen costs: first frame against a bare app, and CPU, bytes and RSS at rest.

    python -m tests.benchmarks.bench_screen [--pairs 7] [--idle 20]

Each start runs in a pseudo-terminal of 120x40. The first frame is the moment when the titles of
all three panes have been written. Ratios come from interleaved pairs of one run (POSIX only).
"""

from __future__ import annotations

import argparse
import fcntl
import os
import pty
import re
import select
import signal
import statistics
import struct
import sys
import termios
import time
from dataclasses import dataclass
from pathlib import Path

TITLES = (b"Stream", b"Memory", b"Errors")
BARE = [sys.executable, str(Path(__file__).with_name("bare_app.py"))]
KVTUI = [sys.executable, "-m", "kvtui"]
ESCAPES = re.compile(rb"\x1b\[[0-9;?]*[ -/]*[@-~]")


@dataclass
class Started:
    """A process on a pseudo-terminal."""

    pid: int
    terminal: int
    seconds: float
    """From before the process existed until all titles were on the screen."""


def start(command: list[str], size: tuple[int, int] = (120, 40)) -> Started:
    begun = time.perf_counter()
    pid, terminal = pty.fork()
    if pid == 0:
        os.environ |= {"TERM": "xterm-256color", "COLORTERM": "truecolor"}
        for name in ("LINES", "COLUMNS", "OPENAI_API_KEY", "OPENAI_BASE_URL", "TAOTOKEN_API_KEY"):
            os.environ.pop(name, None)
        os.execv(command[0], command)
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", size[1], size[0], 0, 0))
    seen = b""
    while not all(title in ESCAPES.sub(b"", seen) for title in TITLES):
        if not select.select([terminal], [], [], 30)[0]:
            raise SystemExit(f"{command} showed no panes within 30 s: {seen[-500:]!r}")
        seen += os.read(terminal, 65536)
    return Started(pid, terminal, time.perf_counter() - begun)


def stop(started: Started) -> None:
    os.kill(started.pid, signal.SIGTERM)
    deadline = time.monotonic() + 5
    while os.waitpid(started.pid, os.WNOHANG) == (0, 0):
        drain(started.terminal, 0.05)
        if time.monotonic() > deadline:
            os.kill(started.pid, signal.SIGKILL)
    os.close(started.terminal)


def drain(terminal: int, seconds: float) -> int:
    """Read what is written for a while; returns the number of bytes."""
    total, end = 0, time.monotonic() + seconds
    while (left := end - time.monotonic()) > 0:
        if select.select([terminal], [], [], left)[0]:
            try:
                total += len(os.read(terminal, 65536))
            except OSError:
                break
    return total


def cpu_seconds(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def rss_mb(pid: int) -> float:
    status = Path(f"/proc/{pid}/status").read_text()
    found = re.search(r"VmRSS:\s+(\d+) kB", status)
    return int(found[1]) / 1000 if found else 0.0


def children(pid: int) -> list[int]:
    found = []
    for entry in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = entry.read_text().rsplit(")", 1)[1].split()
        except OSError:
            continue
        if int(fields[1]) == pid:
            found.append(int(entry.parent.name))
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pairs", type=int, default=7)
    parser.add_argument("--idle", type=float, default=20.0)
    arguments = parser.parse_args()

    pairs = []
    for _ in range(arguments.pairs):
        bare = start(BARE)
        stop(bare)
        full = start(KVTUI)
        stop(full)
        pairs.append((bare.seconds, full.seconds))
        print(f"bare {bare.seconds:.3f} s   kvtui {full.seconds:.3f} s", flush=True)
    ratio = statistics.median(full / bare for bare, full in pairs)
    print(f"first frame: {ratio:.3f} times the bare app's (median of {len(pairs)} pairs; aim 1.2)")

    for name, command in (("bare", BARE), ("kvtui", KVTUI)):
        started = start(command)
        drain(started.terminal, 8)  # engine started, imports done
        before = cpu_seconds(started.pid)
        written = drain(started.terminal, arguments.idle)
        used = cpu_seconds(started.pid) - before
        print(
            f"{name}: idle {100 * used / arguments.idle:.2f} % CPU, {written} bytes in "
            f"{arguments.idle:.0f} s, RSS {rss_mb(started.pid):.0f} MB"
            + "".join(f", child RSS {rss_mb(pid):.0f} MB" for pid in children(started.pid))
        )
        stop(started)


if __name__ == "__main__":
    main()
