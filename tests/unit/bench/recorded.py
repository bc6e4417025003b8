"""Runs that have ended, made of events, and records of them."""

from __future__ import annotations

from pathlib import Path

from kvtui.bench.figures.sample import Sample
from kvtui.bench.records.history import RunHistory
from kvtui.bench.records.recorder import Recorder, header_of
from kvtui.bench.requests.curl import Sent as Asked
from kvtui.bench.requests.prepared import Prepared
from kvtui.bench.running.progress import RequestEnded
from kvtui.bench.work.workload import Spec, expand
from kvtui.config import Endpoint
from kvtui.failure import Evidence, classify
from kvtui.measure.figures import RunFigures
from kvtui.measure.meter import Kept, Meter, Stamps
from kvtui.stream.events import Connected, Delta, Ended, Sent, Usage
from kvtui.stream.request import Request, repeat_prefix, with_prefix

KEY = "sk-test-Zx81Qa77Lm20Vb94"
ENDPOINT = Endpoint("https://gpu.example/v1", "test", api_key=KEY, key_from="K")


class Done:
    """A run that has ended, made of events."""

    def __init__(self, request: Request, *, tokens: int = 5, stopped: bool = False) -> None:
        self.request = request
        self.meter = Meter(clock=lambda: 10.0, keep_events=True)
        self.meter.feed([Connected(10.0, 0.01, False)])
        self.meter.feed([Sent(10.1)])
        for n in range(tokens):
            self.meter.feed([Delta(10.3 + n / 10, "content", f" w{n}")])
        self.meter.feed([Usage(11.0, 9, tokens)])
        evidence = Evidence(
            status=200, data_events=9, content_chars=9, text_chunks=9, done_seen=not stopped,
            finish_reason=None if stopped else "stop", stopped=stopped,
        )  # fmt: skip
        self.meter.feed([Ended(11.0, evidence, stopped=stopped)])
        self.figures: RunFigures = self.meter.conclude(classify)

    def sent(self) -> Asked:
        return Asked(ENDPOINT, ENDPOINT.base_url, self.request)

    def stamps(self) -> Stamps:
        return self.meter.stamps()

    def kept(self) -> Kept | None:
        return self.meter.kept()


def asked(prompt: str = "Why?", index: int | None = None) -> Request:
    request = Request(ENDPOINT, "m", prompt, system=None, max_tokens=32, temperature=0.5)
    return request if index is None else with_prefix(request, repeat_prefix(index))


def single(folder: Path, *runs: Done) -> Path:
    history = RunHistory(folder)
    for index, run in enumerate(runs, 1):
        history.add(run, run.figures, index, len(runs))
    history.close()
    (path,) = folder.iterdir()
    return path


def bench_of(path: Path, tpots: list[float | None]) -> Path:
    """A benchmark whose requests have these TPOTs; None failed."""
    endpoint = Endpoint("https://gpu.example/v1", "test")
    request = Request(endpoint, "m", "")
    recorder = Recorder(path)
    workload = expand(Spec(prompts=("Hi",), requests=len(tpots)), "own")
    recorder.create(header_of(Prepared(endpoint, "m"), request, workload, "n"))
    for index, tpot in enumerate(tpots):
        run = Done(asked())
        sample = Sample(stage=0, index=index, tpot_ms=tpot, failed=tpot is None)
        recorder.take(RequestEnded(sample, run.kept()))
    recorder.end()
    recorder.close()
    return path
