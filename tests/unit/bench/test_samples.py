"""Requests packed: the same again, in a tenth of the memory, while others read."""

from __future__ import annotations

import threading
import tracemalloc

import pytest

from kvtui.bench.figures.levels import LevelSums
from kvtui.bench.figures.sample import Sample
from kvtui.bench.figures.samples import Samples
from kvtui.bench.work.workload import Stage


def made(index: int) -> Sample:
    """As a request is that was measured."""
    at = index / 7
    figures = {
        name: at * weight + 1 / 3
        for weight, name in enumerate(
            ("start_s", "send_s", "first_s", "last_s", "end_s", "ttft_ms", "ttfa_ms", "tpot_ms",
             "decode_tps", "e2e_ms", "e2e_tps", "headers_ms", "first_event_ms", "itl_p50_ms",
             "itl_p99_ms", "gap_max_ms", "loop_lag_ms"),
        )
    }  # fmt: skip
    return Sample(
        stage=0,
        index=index,
        started_at=f"2026-11-30T01:47:{index % 60:02}.099+00:00",
        cls="truncated",
        subcode="max_tokens",
        prompt_tokens=7,
        completion_tokens=64,
        token_source="usage",
        finish_reason="length",
        hints=("few_samples",),
        **figures,  # type: ignore[arg-type]
    )


def test_all_of_a_request_comes_back() -> None:
    odd = Sample(
        stage=1,
        index=0,
        failed=True,
        cls="server",
        failure={"fixes": ["wait"], "evidence": {"status": 503, "body": None}},
        reads=((0.125, 1), (8.5, 3)),
        read_tokens=(1, 4),
    )
    for count in (0, 1, 31, 32, 33, 100):
        wanted = [*(made(i) for i in range(count)), odd]
        samples = Samples(wanted)
        assert list(samples) == wanted
        assert (len(samples), samples[-1], samples[0]) == (count + 1, odd, wanted[0])
        assert samples[1:3] == wanted[1:3]
        assert list(samples.only(lambda s: s.failed)) == [odd]
        with pytest.raises(IndexError):
            samples[count + 1]


def test_a_copy_goes_its_own_way() -> None:
    first = Samples(made(i) for i in range(40))
    second = first.copy()
    second.append(made(99))
    assert (len(first), len(second), len(list(first))) == (40, 41, 40)


def test_one_thread_appends_while_another_reads() -> None:
    samples, over = Samples(), threading.Event()
    wrong: list[list[int]] = []

    def read() -> None:
        while not over.is_set():
            seen = [sample.index for sample in samples]
            if seen != list(range(len(seen))):
                wrong.append(seen)

    reader = threading.Thread(target=read)
    reader.start()
    for index in range(3000):
        samples.append(made(index))
    over.set()
    reader.join()
    assert not wrong


def test_ten_thousand_take_little_and_so_does_their_level() -> None:
    """As objects they take 11 MB: a run of a million would not fit."""
    tracemalloc.start()
    try:
        samples = Samples(made(i) for i in range(10_000))
        kept, _ = tracemalloc.get_traced_memory()
        sums = LevelSums(Stage(label="x", texts=("x",), max_tokens=64))
        for sample in samples:
            sums.add(sample)
        row = sums.level()
        _, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert row.completed == 10_000
    assert kept < 2.5e6
    assert most < 6e6
