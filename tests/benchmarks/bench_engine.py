"""The embedded engine's speeds: `python -m tests.benchmarks.bench_engine [MODEL]`.

Each figure is the best of several: other programs on the machine only ever slow a run down. What
to trust between machines are the ratios, taken within one run. Targets are the project's own.
"""

from __future__ import annotations

import argparse
import http.client
import json
import os
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from kvtui.engine import models
from kvtui.engine.child import EngineChild

if TYPE_CHECKING:
    from kvtui.engine.engine import Engine

POSITIONS = (64, 256, 512, 1024)
TINY_TARGETS = {"on at 64": 150.0, "on/off at 1024": 50.0, "load": 0.5, "four/one": 1.5, "rss": 200}
SMOLLM2_TARGETS = {"on at 64": 15.0}


def best(action: Callable[[], object], count: int) -> float:
    """Seconds of the fastest of `count` runs."""
    times = []
    for _ in range(count):
        start = time.perf_counter()
        action()
        times.append(time.perf_counter() - start)
    return min(times)


class Table:
    """Lines of name, figure, unit and, where there is one, the target."""

    def __init__(self, targets: dict[str, float]) -> None:
        self.targets = targets

    def add(self, name: str, value: float, unit: str, *, at_most: bool = False) -> None:
        line = f"{name:<28}{value:>12.4g} {unit:<10}"
        target = self.targets.get(name)
        if target is not None:
            met = value <= target if at_most else value >= target
            sign = "≤" if at_most else "≥"
            line += f"{sign} {target:g}: {'met' if met else 'MISSED'}"
        print(line.rstrip(), flush=True)


def in_process(path: Path, table: Table) -> None:
    """Load, decode with and without cache, prefill, batches."""
    from kvtui.engine.engine import Engine

    table.add("load", best(lambda: Engine(path, "bench"), 3), "s", at_most=True)
    engine = Engine(path, "bench", max_num_seqs=8)
    positions(engine, table)
    batches(engine, table)


def positions(engine: Engine, table: Table) -> None:
    model = engine.scheduler._model
    slot = engine.cache.take()
    assert slot is not None
    ids = [5 + n % 200 for n in range(max(POSITIONS) + 1)]
    small = model.n_params < 20_000_000
    for position in POSITIONS if small else POSITIONS[:2]:

        def prefill(position: int = position) -> None:
            slot.length = 0
            for begin in range(0, position, 128):
                list(model.extend(ids[begin : min(begin + 128, position)], slot))

        def step(position: int = position) -> None:
            slot.length = position
            list(model.step(7, slot))

        def recompute(position: int = position) -> None:
            list(model.recompute(ids[: position + 1]))

        filled = best(prefill, 2)
        on, off = best(step, 20), best(recompute, 4 if small else 2)
        table.add(f"on at {position}", 1 / on, "tok/s")
        table.add(f"off at {position}", 1 / off, "tok/s")
        table.add(f"on/off at {position}", off / on, "times")
        table.add(f"prefill to {position}", position / filled, "tok/s")
    engine.cache.release(slot)


def batches(engine: Engine, table: Table) -> None:
    model, cache = engine.scheduler._model, engine.cache
    for count in (1, 2, 4, 8):
        slots = [slot for slot in (cache.take() for _ in range(count)) if slot is not None]

        def step(slots: list = slots) -> None:
            for slot in slots:
                slot.length = 100
            list(model.step_batch([7] * len(slots), slots, cache))

        table.add(f"batch of {count}", count / best(step, 12), "tok/s")
        for slot in slots:
            cache.release(slot)


def stream(child: EngineChild, count: int, **fields: object) -> float:
    """Seconds of one streamed request."""
    connection = http.client.HTTPConnection(urlsplit(child.base_url).netloc, timeout=300)
    body = {"messages": [{"role": "user", "content": "What is a KV cache?"}], "stream": True}
    body |= {"max_tokens": count, "ignore_eos": True} | fields
    start = time.perf_counter()
    connection.request("POST", "/v1/chat/completions", json.dumps(body))
    response = connection.getresponse()
    while response.read1(65536):
        pass
    connection.close()
    return time.perf_counter() - start


def through_serve(path: Path, table: Table) -> None:
    """One and four requests through `kvtui serve`, and what its process takes."""
    start = time.perf_counter()
    child = EngineChild.start(str(path))
    table.add("start to ready", time.perf_counter() - start, "s")
    count = 128 if child.geometry.n_params < 20_000_000 else 24

    def together(clients: int) -> float:
        threads = [threading.Thread(target=stream, args=(child, count)) for _ in range(clients)]
        start = time.perf_counter()
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        return clients * count / (time.perf_counter() - start)

    together(4)
    pairs = sorted((together(4) / together(1)) for _ in range(7))
    table.add("one through serve", max(together(1) for _ in range(3)), "tok/s")
    table.add("four through serve", max(together(4) for _ in range(3)), "tok/s")
    table.add("four/one", pairs[3], "times")
    if count == 128:
        table.add("512 tokens of one request", stream(child, 512), "s")
        stream(child, 2, kv_cache=False)
    status = Path(f"/proc/{child.pid}/status")
    if status.exists():
        peak = next(row for row in status.read_text().splitlines() if row.startswith("VmHWM"))
        table.add("rss", int(peak.split()[1]) / 1024, "MiB", at_most=True)
    child.stop()


def main() -> int:
    for variable in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
        os.environ[variable] = "1"  # before anything imports NumPy
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("model", nargs="?", help="a model's name or a GGUF's path")
    choice = models.resolve(parser.parse_args().model)
    table = Table(
        {models.TINY: TINY_TARGETS, models.SMOLLM2: SMOLLM2_TARGETS}.get(choice.model_id, {})
    )
    print(f"{choice.model_id} ({choice.path.stat().st_size / 1e6:.1f} MB), one BLAS thread")
    in_process(choice.path, table)
    through_serve(choice.path, table)
    return 0


if __name__ == "__main__":
    sys.exit(main())
