"""The figures, by DESIGN's definitions, from events with stamps of our own."""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable, Sequence

import pytest

from kvtui.failure import Evidence, Verdict, classify
from kvtui.measure.figures import RunFigures
from kvtui.measure.meter import Meter
from kvtui.stream.events import (
    Connected,
    Delta,
    Ended,
    Event,
    Finish,
    PromptProgress,
    Replaced,
    Role,
    Sent,
    Timings,
    Usage,
)

SEND = 100.0


class Clock:
    """Seconds that only the test moves."""

    def __init__(self) -> None:
        self.now = SEND - 0.02

    def __call__(self) -> float:
        return self.now


class Bench:
    """A meter under a clock of its own, and the shorthand to feed it."""

    def __init__(self, **options: object) -> None:
        self.clock = Clock()
        self.meter = Meter(clock=self.clock, **options)  # type: ignore[arg-type]
        self.text = ""
        self.feed(Connected(SEND - 0.01, 0.005, False), Sent(SEND))

    def feed(self, *events: Event) -> None:
        self.meter.feed(events)

    def tokens(self, count: int, first: float = 0.2, gap: float = 0.01, **more: object) -> None:
        for k in range(count):
            self.clock.now = SEND + first + gap * k
            self.feed(Delta(self.clock.now, "content", " a", **more))  # type: ignore[arg-type]

    def end(self, evidence: Evidence | None = None, **more: object) -> RunFigures:
        known = evidence or Evidence(
            status=200, data_events=9, content_chars=9, text_chunks=9, finish_reason="stop",
            done_seen=True,
        )  # fmt: skip
        self.feed(Ended(self.clock.now, known, **more))  # type: ignore[arg-type]
        return self.meter.conclude(classify)


def final(count: int, prompt: int = 7, **more: int) -> Usage:
    return Usage(SEND + 9, prompt, count, more.get("reasoning"), more.get("cached"))


def test_the_definitions() -> None:
    bench = Bench()
    bench.feed(Role(SEND + 0.05))
    bench.tokens(128)
    bench.feed(Finish(SEND + 1.47, "length"), final(128))
    figures = bench.end()
    assert figures.connect_ms == pytest.approx(5)
    assert figures.ttft_ms == pytest.approx(200)
    assert figures.tpot_ms == pytest.approx(10)
    assert figures.decode_tps == pytest.approx(100)
    assert figures.e2e_ms == pytest.approx(1470)
    assert figures.e2e_tps == pytest.approx(128 / 1.47)
    assert figures.token_source == "usage"
    assert figures.completion_tokens == 128
    assert figures.first_token == "content"
    assert "(1470.00 − 200.00) ms / (128 − 1) = 10.000 ms" in figures.formulas["tpot_ms"]
    assert [hint.subcode for hint in figures.hints] == ["few_samples"]


def test_reasoning_is_the_first_token_and_the_answer_has_its_own_time() -> None:
    bench = Bench()
    for k in range(300):
        t = SEND + 0.2 + 0.01 * k
        bench.feed(Delta(t, "reasoning" if k < 64 else "content", "x"))
    bench.feed(Finish(SEND + 3.19, "stop"), final(300))
    figures = bench.end()
    assert figures.first_token == "reasoning"
    assert figures.ttft_ms == pytest.approx(200)
    assert figures.ttfa_ms == pytest.approx(840)
    assert figures.hints == ()


def test_four_tokens_a_chunk() -> None:
    bench = Bench()
    bench.tokens(32, gap=0.04)
    bench.feed(final(128))
    figures = bench.end()
    assert figures.tpot_ms == pytest.approx(10)
    assert figures.tokens_per_chunk == 4


def test_four_chunks_a_read() -> None:
    bench = Bench()
    for k in range(32):
        t = SEND + 0.2 + 0.04 * k
        bench.feed(*[Delta(t, "content", "a")] * 4)
    bench.feed(final(128))
    figures = bench.end()
    assert figures.tpot_ms == pytest.approx(10)
    assert figures.itl_p50_ms == pytest.approx(10, rel=0.03)


def test_an_end_token_that_comes_with_the_finish() -> None:
    bench = Bench()
    bench.tokens(128)
    bench.feed(Finish(SEND + 1.48, "stop"), final(129))
    assert bench.end().tpot_ms == pytest.approx(10)


def test_a_late_finish_whose_token_nobody_counts_is_no_token() -> None:
    bench = Bench()
    bench.tokens(128)
    bench.feed(Finish(SEND + 2.5, "stop"), final(128))
    assert bench.end().tpot_ms == pytest.approx(10)


def test_counts_on_every_chunk_give_the_first_tokens() -> None:
    bench = Bench()
    count = 0
    for k in range(50):
        count += 3 if k % 2 else 1
        t = SEND + 0.2 + 0.02 * k
        bench.feed(Delta(t, "content", "a"), Usage(t, 7, count, continuous=True))
    figures = bench.end()
    assert (figures.completion_tokens, figures.token_source) == (100, "continuous")
    assert figures.tpot_ms == pytest.approx(0.02 * 49 * 1000 / 99)


def test_the_first_token_may_show_only_in_the_count() -> None:
    bench = Bench()
    for k in range(4):
        t = SEND + 0.1 + 0.1 * k
        usage = Usage(t, 7, 3 * k, continuous=True)
        bench.feed(usage, *([Delta(t, "content", "a")] if k == 3 else []))
    bench.feed(Finish(SEND + 0.5, "stop"), final(10))
    figures = bench.end()
    assert figures.first_token == "usage"
    assert figures.ttft_ms == pytest.approx(200)
    assert figures.ttfa_ms == pytest.approx(400)


@pytest.mark.parametrize(
    ("events", "source", "count"),
    [
        ([Timings(SEND + 9, 7, 40, 10.0, 390.0, 2)], "timings", 40),
        ([], "estimate", None),
        ([final(0)], "estimate", None),
    ],
)
def test_who_counted(events: Sequence[Event], source: str, count: int | None) -> None:
    bench = Bench()
    bench.tokens(40)
    bench.feed(*events)
    figures = bench.end()
    assert (figures.token_source, figures.completion_tokens) == (source, count)
    assert figures.estimated_tokens == (40 if count is None else None)
    assert figures.tpot_ms == pytest.approx(10)


def test_an_estimate_uses_what_this_endpoint_sent_before() -> None:
    bench = Bench(per_chunk=4.0)
    bench.tokens(32, gap=0.04)
    figures = bench.end()
    assert figures.completion_tokens is None
    assert figures.estimated_tokens == 128
    assert figures.tpot_ms == pytest.approx(40 / 4)
    assert "estimated_count" in {hint.subcode for hint in figures.hints}


def test_the_running_rate_falls_to_zero_in_a_stall() -> None:
    bench = Bench()
    assert bench.meter.snapshot().phase == "prefill"
    bench.tokens(1)
    assert bench.meter.snapshot().running_tps is None
    bench.tokens(300)
    snapshot = bench.meter.snapshot()
    assert snapshot.phase == "decode"
    assert snapshot.running_tps == pytest.approx(100, abs=2)
    assert snapshot.running_tps_estimated
    bench.clock.now += 0.5
    assert bench.meter.snapshot().running_tps == pytest.approx(50, abs=2)
    bench.clock.now += 0.51
    assert bench.meter.snapshot().running_tps == 0
    bench.feed(final(300))
    figures = bench.end()
    assert bench.meter.snapshot().running_tps == figures.decode_tps
    assert bench.meter.snapshot().phase == "done"


def test_the_running_rate_counts_tokens_where_the_wire_does() -> None:
    bench = Bench()
    for k in range(100):
        bench.clock.now = t = SEND + 0.2 + 0.02 * k
        bench.feed(Delta(t, "content", "a"), Usage(t, 7, 4 * (k + 1), continuous=True))
    snapshot = bench.meter.snapshot()
    assert snapshot.running_tps == pytest.approx(200, abs=4)
    assert not snapshot.running_tps_estimated
    assert (snapshot.tokens, snapshot.token_source) == (400, "continuous")


def test_prefill_progress() -> None:
    bench = Bench()
    bench.feed(PromptProgress(SEND + 0.1, 200, 0, 50))
    bench.clock.now = SEND + 0.1
    snapshot = bench.meter.snapshot()
    assert (snapshot.prefill_done, snapshot.prefill_total) == (50, 200)
    assert snapshot.prefill_ms == pytest.approx(100)


def burst(bench: Bench, reads: Sequence[tuple[float, int]]) -> None:
    for at, events in reads:
        bench.clock.now = SEND + at
        bench.feed(*[Delta(SEND + at, "content", "ab ")] * events)
    bench.feed(final(sum(events for _, events in reads)))


@pytest.mark.parametrize(
    "reads",
    [
        [(0.5, 40)],
        [(0.5, 2)],
        [(0.5, 40), (0.58, 40)],
        [(2.0 * k, 65) for k in range(1, 5)],
    ],
)
def test_no_figure_of_a_stream_that_was_held_back(reads: list[tuple[float, int]]) -> None:
    bench = Bench()
    burst(bench, reads)
    figures = bench.end()
    assert (figures.verdict.cls, figures.verdict.subcode) == ("ok", "buffered_transport")
    assert figures.first_token == "none"
    assert figures.ttft_ms is figures.tpot_ms is figures.decode_tps is figures.itl_p50_ms is None
    assert figures.e2e_tps is not None
    assert "buffered_transport" in {hint.subcode for hint in figures.hints}


@pytest.mark.parametrize(
    "reads",
    [
        [(0.2, 1), (0.2, 1)],  # two events at once, each in an HTTP chunk of its own
        [(0.2 + 0.04 * k, 4) for k in range(30)],  # four tokens a step
        [(0.2 + 0.001 * k, 60) for k in range(30)],  # a very fast server
    ],
)
def test_a_pace_that_is_the_servers_own_is_measured(reads: list[tuple[float, int]]) -> None:
    bench = Bench()
    burst(bench, reads)
    figures = bench.end()
    assert figures.verdict.subcode == "complete"
    assert figures.ttft_ms == pytest.approx(200)


def test_bursts_of_our_own_making_are_told_apart() -> None:
    bench = Bench(lag=lambda begin, end: 0.05)
    burst(bench, [(0.5, 40), (0.58, 40)])
    figures = bench.end()
    assert figures.verdict.subcode == "complete"
    assert figures.ttft_ms is not None
    assert figures.decode_tps is None
    assert "client_bound" in {hint.subcode for hint in figures.hints}


def test_no_lateness_of_ours_puts_events_into_one_chunk() -> None:
    bench = Bench(lag=lambda begin, end: 0.05)
    burst(bench, [(0.5, 40)])
    known = Evidence(
        status=200, data_events=40, content_chars=120, text_chunks=40, finish_reason="stop",
        done_seen=True, headers={"transfer-encoding": "chunked"},
    )  # fmt: skip
    figures = bench.end(known)
    assert figures.verdict.subcode == "buffered_transport"
    assert "client_bound" not in {hint.subcode for hint in figures.hints}


def test_hidden_reasoning_leaves_no_decode_rate() -> None:
    bench = Bench()
    bench.tokens(3)
    bench.feed(final(203, reasoning=200))
    figures = bench.end()
    assert figures.ttft_ms is figures.decode_tps is None
    assert figures.ttfa_ms == pytest.approx(200)
    assert "hidden_reasoning" in {hint.subcode for hint in figures.hints}


def test_one_token_has_a_ttft_and_no_rate() -> None:
    bench = Bench()
    bench.tokens(1)
    bench.feed(final(1))
    figures = bench.end()
    assert figures.ttft_ms == pytest.approx(200)
    assert figures.tpot_ms is None


def test_an_answer_in_one_chunk_has_no_first_token() -> None:
    bench = Bench()
    bench.tokens(1)
    bench.feed(final(120))
    known = Evidence(
        status=200, data_events=3, content_chars=200, text_chunks=1, finish_reason="stop",
        done_seen=True, completion_tokens=120,
    )  # fmt: skip
    figures = bench.end(known)
    assert figures.ttft_ms is figures.decode_tps is None
    assert figures.e2e_tps is not None


def test_a_cut_stream_keeps_its_figures_marked_partial() -> None:
    bench = Bench()
    bench.tokens(64)
    known = Evidence(phase="stream", status=200, data_events=64, text_chunks=64, stopped=True)
    figures = bench.end(known, stopped=True)
    assert figures.partial
    assert figures.stopped
    assert figures.ttft_ms == pytest.approx(200)
    assert figures.tpot_ms == pytest.approx(10)
    assert figures.e2e_ms is figures.e2e_tps is None
    assert bench.meter.snapshot().phase == "stopped"


def test_a_think_block_without_its_opening_tag() -> None:
    bench = Bench()
    bench.feed(Delta(SEND + 1, "content", "so hm</th"), Delta(SEND + 1.1, "content", "ink>Yes"))
    figures = bench.end()
    assert (figures.reasoning, figures.content) == ("so hm", "Yes")


def test_pieces_for_the_screen() -> None:
    bench = Bench(keep_pieces=True)
    bench.feed(Delta(SEND + 1, "reasoning", "a"), Delta(SEND + 1, "content", "b"))
    bench.feed(Delta(SEND + 1.5, "content", "c"), Delta(SEND + 1.5, "content", "X", choice=1))
    bench.feed(Replaced(SEND + 2, "content", "bcd"))
    pieces = bench.meter.drain()
    assert [(p.kind, p.text, p.replaces) for p in pieces] == [
        ("reasoning", "a", False),
        ("content", "b", False),
        ("content", "c", False),
        ("content", "bcd", True),
    ]
    assert [p.gap_s for p in pieces] == [0.0, 0.0, 0.5, 0.5]
    assert bench.meter.drain() == []
    assert bench.end().content == "bcd"


def test_a_million_tokens_in_flat_memory() -> None:
    bench = Bench()
    batch = [Delta(SEND + 1, "content", "") for _ in range(100)]

    def feed(reads: int, start: int) -> None:
        for k in range(start, start + reads):
            t = SEND + 1 + 0.001 * k
            bench.meter.feed([Delta(t, "content", "") for _ in batch])

    feed(2_000, 0)
    tracemalloc.start()
    before, _ = tracemalloc.get_traced_memory()
    feed(8_000, 2_000)
    after, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert bench.meter.snapshot().chunks == 1_000_000
    assert after - before < 1_500_000
    series = bench.meter.series(80)
    assert len(series) == 80
    assert series[-1].tps == pytest.approx(100_000, rel=0.02)


def test_a_verdict_may_come_from_anywhere() -> None:
    bench = Bench()
    known: Callable[[Evidence], Verdict] = lambda evidence: Verdict("server", "oom", "No room.")  # noqa: E731
    bench.feed(Ended(SEND, Evidence(status=500)))
    figures = bench.meter.conclude(known)
    assert figures.partial
    assert figures.completion_tokens is None
    assert figures.token_source == "none"
    assert bench.meter.snapshot().phase == "failed"


@pytest.mark.parametrize(("late_at", "stamped"), [(0.2, 50.0), (0.7, 0.0), (1.19, 50.0)])
def test_a_lag_counts_for_the_stamps_it_touched(late_at: float, stamped: float) -> None:
    """Late by 50 ms until then: between the first token and the last it moves neither."""
    until = SEND + late_at + 0.001
    bench = Bench(lag=lambda begin, end: 0.05 * (begin <= until and until - 0.05 <= end))
    bench.tokens(100)
    bench.feed(final(100))
    figures = bench.end()
    assert figures.loop_lag_ms == 50.0
    assert figures.stamp_lag_ms == stamped
    bound = [hint for hint in figures.hints if hint.subcode == "client_bound"]
    assert len(bound) == bool(stamped)  # TTFT is 200 ms: a quarter of it
    assert all("50 ms" in hint.message and "TTFT" in hint.message for hint in bound)


def test_a_lag_that_is_small_beside_the_figures_is_no_hint() -> None:
    bench = Bench(lag=lambda begin, end: 0.019)
    bench.tokens(100)
    bench.feed(final(100))
    assert "client_bound" not in {hint.subcode for hint in bench.end().hints}
