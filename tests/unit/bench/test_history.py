"""The screen's runs as records: whole after each, partial ones too, and never too many."""

from __future__ import annotations

from pathlib import Path

import pytest

from kvtui.bench import store
from kvtui.bench.curl import Sent as Asked
from kvtui.bench.history import RunHistory, prune
from kvtui.bench.playback import recordings
from kvtui.bench.record import read_record
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


def test_repeats_become_one_record_with_what_was_asked(tmp_path: Path) -> None:
    history = RunHistory(tmp_path)
    for index in range(3):
        run = Done(asked(index=index))
        history.add(run, run.figures, index + 1, 3)
    history.close()
    (entry,) = store.list_runs(tmp_path)
    assert (entry.kind, entry.requests, entry.failed, entry.finished) == ("run", 3, 0, True)
    assert entry.ttft_ms == pytest.approx(200.0)
    record = read_record(entry.path)
    (stage,) = record.workload.stages
    assert (stage.texts, stage.max_tokens, stage.requests) == (("Why?",), 32, 3)
    assert record.workload.temperature == 0.5
    assert [r.figures().content for r in recordings(entry.path)] == [" w0 w1 w2 w3 w4"] * 3
    assert KEY not in entry.path.read_text()
    assert entry.path.stat().st_mode & 0o077 == 0


def test_a_stopped_run_is_kept_as_partial(tmp_path: Path) -> None:
    history = RunHistory(tmp_path)
    run = Done(asked(), tokens=2, stopped=True)
    history.add(run, run.figures, 1, 1)
    history.close()
    (entry,) = store.list_runs(tmp_path)
    (sample,) = read_record(entry.path).samples
    assert (sample.partial, sample.stopped, sample.ttft_ms is not None) == (True, True, True)
    (recording,) = recordings(entry.path)
    assert recording.figures().content == " w0 w1"


def test_each_first_run_begins_a_record(tmp_path: Path) -> None:
    history = RunHistory(tmp_path)
    for _ in range(2):
        run = Done(asked())
        history.add(run, run.figures, 1, 1)
    history.close()
    assert len(store.list_runs(tmp_path)) == 2


def test_a_folder_that_cannot_be_written_is_said_and_nothing_raised(tmp_path: Path) -> None:
    place = tmp_path / "file"
    place.write_text("")
    history = RunHistory(place / "runs")
    run = Done(asked())
    history.add(run, run.figures, 1, 1)
    history.close()
    assert "cannot be written" in history.error


def test_only_the_newest_single_runs_stay(tmp_path: Path) -> None:
    history = RunHistory(tmp_path, keep=100)
    for _ in range(5):
        run = Done(asked())
        history.add(run, run.figures, 1, 1)
    history.close()
    paths = sorted(tmp_path.iterdir())
    store.tag(paths[0], ["keep"])
    bench = tmp_path / "20200101-000000-run-abcd.jsonl"  # named as a single run, but none
    bench.write_text(paths[1].read_text().replace('"kind":"run"', '"kind":"bench"'))
    prune(tmp_path, 2)
    assert sorted(tmp_path.iterdir()) == sorted([bench, paths[0], *paths[3:]])


def test_the_prompt_is_told_without_the_repeats_prefix(tmp_path: Path) -> None:
    own = "[12] is a list"
    history = RunHistory(tmp_path)
    run = Done(asked(own))
    history.add(run, run.figures, 1, 1)
    history.close()
    (entry,) = store.list_runs(tmp_path)
    assert read_record(entry.path).workload.stages[0].texts == (own,)
