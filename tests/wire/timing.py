"""The server of known timing as a process, for tests and benchmarks."""

from __future__ import annotations

import json
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

_ROOT = Path(__file__).parent.parent.parent


class TimingServer:
    """Where it listens, and what it logged."""

    def __init__(self, url: str) -> None:
        self.url = url

    def log(self) -> dict[str, dict[str, Any]]:
        """The records since the last call, by prompt."""
        with urllib.request.urlopen(f"{self.url}/log") as answer:
            return {record["prompt"]: record for record in json.load(answer)}

    def records(self, n: int, seconds: float = 20.0) -> dict[str, dict[str, Any]]:
        """The records since the last call, once there are ``n``: one is made after its answer."""
        found = self.log()
        deadline = time.monotonic() + seconds
        while len(found) < n and time.monotonic() < deadline:
            time.sleep(0.01)
            found |= self.log()
        return found


@contextmanager
def timing_server(*flags: str) -> Iterator[TimingServer]:
    """Start it with its flags (``--ttft MS --itl MS -n TOKENS``); ends with the context."""
    command = [sys.executable, "-m", "tests.wire.timing_server", *flags]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=_ROOT
    ) as server:
        assert server.stdout is not None
        assert server.stdin is not None
        yield TimingServer(f"http://127.0.0.1:{int(server.stdout.readline())}")
        server.stdin.close()
