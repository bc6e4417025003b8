"""What the screen costs at rest with this or that open: CPU and bytes to the terminal.

    python -m tests.benchmarks.bench_idle [STATE …] [--seconds 10] [--size 120x40]

The limits are 0.5 % of one core and not a byte. CPU is of kvtui's process alone (Linux only); the
embedded engine answers, and has been asked once, so that there is text behind what is opened.
"""

from __future__ import annotations

import argparse
import os
import tempfile
import time

from tests.benchmarks.bench_screen import KVTUI, cpu_seconds, drain, start, stop

ESC = "\x1b"
STATES: dict[str, list[str]] = {
    "the main screen": [],
    "the prompt editor": ["e"],
    "the command palette": ["\x10"],
    "the formulas": ["F"],
    "the chart": ["t"],
    "the search": ["/"],
    "the settings": [","],
    "the help": ["?"],
    "the tour's first step": [f"{ESC}OQ"],
    "the Experiments screen": ["x"],
    "the Runs screen": ["h"],
    "the planner": ["p"],
}


def settle(terminal: int) -> None:
    """Wait until nothing has been drawn for three seconds: no answer, no notice."""
    end = time.monotonic() + 90
    while drain(terminal, 3) and time.monotonic() < end:
        pass


def measure(keys: list[str], seconds: float, size: tuple[int, int]) -> tuple[float, int]:
    """Per cent of a core, and bytes, once these keys have been pressed and all is drawn."""
    started = start(KVTUI, size)
    try:
        drain(started.terminal, 6)  # engine started, imports done
        for key in ["\r", *keys]:
            os.write(started.terminal, key.encode())
            drain(started.terminal, 1)
            settle(started.terminal)
        drain(started.terminal, 5)  # the last looks at the server after the answer
        before = cpu_seconds(started.pid)
        written = drain(started.terminal, seconds)
        return 100 * (cpu_seconds(started.pid) - before) / seconds, written
    finally:
        stop(started)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("states", nargs="*", help="a part of their names; all where none is given")
    parser.add_argument("--seconds", type=float, default=10.0)
    parser.add_argument("--size", default="120x40")
    arguments = parser.parse_args()
    width, height = map(int, arguments.size.split("x"))
    with tempfile.TemporaryDirectory() as folder:
        os.environ["KVTUI_RUNS"] = folder
        for name, keys in STATES.items():
            if not arguments.states or any(part in name for part in arguments.states):
                cpu, written = measure(keys, arguments.seconds, (width, height))
                print(f"{name:24} {cpu:5.2f} % CPU, {written} bytes", flush=True)


if __name__ == "__main__":
    main()
