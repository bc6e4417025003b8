"""How long the rest of a run takes: told from servers whose times are known."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import pytest

from kvtui.bench.figures.sample import Sample
from kvtui.bench.running.pace import Pace
from kvtui.bench.work.workload import Goal, Stage, Workload


def seconds_of(stage: Stage, crowd: float = 0.0) -> float:
    """One request of a server: 0.1 s, 8 ms a prompt token, 20 ms a token; ``crowd`` of streams."""
    alone = 0.1 + 0.008 * (stage.prompt_tokens or 0) + 0.020 * stage.max_tokens
    return float(alone * stage.concurrency**crowd)


def served(stage: Stage, number: int, index: int, *, warmup: bool, crowd: float) -> Sample:
    whole = seconds_of(stage, crowd)
    longer = whole / seconds_of(stage)
    return Sample(
        stage=number,
        index=index,
        warmup=warmup,
        start_s=5.0,
        end_s=5.0 + whole,
        ttft_ms=1000 * longer * (0.1 + 0.008 * (stage.prompt_tokens or 0)),
        tpot_ms=20 * longer,
    )


def run(stages: list[Stage], crowd: float = 0.0) -> list[tuple[float | None, float]]:
    """(what the pace says is left, what is) as each request ends."""
    pace = Pace(Workload(preset="x", stages=tuple(stages)))
    todo = [
        (number, stage, index, index < stage.warmup)
        for number, stage in enumerate(stages)
        for index in range(stage.warmup + (stage.requests or 0))
    ]
    told = []
    for at, (number, stage, index, warmup) in enumerate(todo):
        pace.add(served(stage, number, index, warmup=warmup, crowd=crowd))
        rest = sum(seconds_of(s, crowd) / s.concurrency for _, s, _, _ in todo[at + 1 :])
        told.append((pace.left(number, {}), rest))
    return told


def test_short_answers_after_long_prompts_are_not_taken_for_slow_tokens() -> None:
    prefills = [Stage(label=str(n), prompt_tokens=n, max_tokens=2, requests=5) for n in (128, 512)]
    long = Stage(label="long", prompt_tokens=24, max_tokens=512, requests=3)
    told = run([*prefills, long])
    assert told[0][1] > 60  # seconds, of which the long answers are the most
    for left, rest in told[6:-1]:  # two lengths have been seen
        assert left == pytest.approx(rest, rel=0.05, abs=1)
    assert told[-1] == (0, 0)


def test_a_first_length_alone_says_nothing_of_longer_prompts() -> None:
    """A far endpoint's TTFT is mostly the way there: it is not stretched in proportion."""
    stages = [Stage(label=str(n), prompt_tokens=n, max_tokens=4, requests=5) for n in (64, 4096)]
    left, _ = run(stages)[0]
    assert left is not None
    assert left == pytest.approx(11 * seconds_of(stages[0]), rel=0.05)


@pytest.mark.parametrize("crowd", [0.0, 1.0])
def test_more_streams_lengthen_what_comes_as_they_did_before(crowd: float) -> None:
    stages = [
        Stage(label=str(c), prompt_tokens=64, concurrency=c, requests=8 * c, warmup=c)
        for c in (1, 2, 4, 8)
    ]
    for left, rest in run(stages, crowd)[20:-8]:
        one = seconds_of(stages[-1], crowd)  # requests end together, which the sum here does not
        assert left == pytest.approx(rest, rel=0.05, abs=1.5 * one)


def test_what_hangs_on_the_results_or_on_nothing_yet_has_no_end() -> None:
    stage = Stage(label="a", prompt_tokens=8)
    assert Pace(Workload(preset="x", stages=(stage,))).left(0, {}) is None
    search = Pace(Workload(preset="x", stages=(stage,), search=Goal()))
    search.add(served(stage, 0, 0, warmup=False, crowd=0))
    assert search.left(0, {}) is None
    failing = Pace(Workload(preset="x", stages=(stage,)))
    failing.add(Sample(stage=0, index=0, failed=True))
    assert failing.left(0, {}) is None
    assert (failing.total, failing.failed) == (1, 1)


def test_a_rate_and_a_duration_take_what_they_say() -> None:
    stages = (
        Stage(label="a", prompt_tokens=8, rate=2.0, requests=20),
        Stage(label="b", prompt_tokens=8, rate=2.0, requests=None, duration_s=30.0),
    )
    pace = Pace(Workload(preset="x", stages=stages))
    pace.add(served(stages[0], 0, 0, warmup=False, crowd=0))
    assert pace.left(0, {}) == pytest.approx(19 / 2 + 30)
    assert pace.left(1, {0: "stopped"}) == pytest.approx(30)


def test_stages_in_turn_are_all_counted() -> None:
    stages = tuple(Stage(label=str(n), prompt_tokens=8, requests=4, warmup=0) for n in range(2))
    pace = Pace(Workload(preset="x", stages=stages, interleave=True))
    pace.add(served(stages[1], 1, 0, warmup=False, crowd=0))
    assert pace.left(1, {}) == pytest.approx(7 * seconds_of(stages[0]))


class Interrupting(tuple[Stage, ...]):
    """Stages; each look at one of them lets another thread have its turn, to its end."""

    meanwhile: Callable[[], object]

    def __getitem__(self, place: Any) -> Any:
        other = threading.Thread(target=self.meanwhile)
        other.start()
        other.join()
        return super().__getitem__(place)


def test_requests_end_on_another_thread_while_the_rest_is_told() -> None:
    stages = Interrupting(
        Stage(label=str(n), prompt_tokens=n, concurrency=n, requests=40) for n in range(1, 30)
    )
    pace = Pace(Workload(preset="x", stages=stages))
    ended = iter(range(len(stages)))

    def one_more() -> None:
        if (number := next(ended, None)) is not None:
            stage = Stage(label="", prompt_tokens=number)
            pace.add(served(stage, number, 0, warmup=False, crowd=0))

    stages.meanwhile = one_more
    for _ in range(3):
        one_more()
    assert pace.left(2, {}) is not None
    assert pace.total > 3  # it was interrupted
