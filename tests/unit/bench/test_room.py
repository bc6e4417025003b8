"""What the memory model says of a workload's sequences, and how it is set beside the knee."""

from __future__ import annotations

import pytest

from kvtui.bench.evaluation.findings import findings_of
from kvtui.bench.figures.sample import Sample
from kvtui.bench.figures.summary import levels_of
from kvtui.bench.work.room import rooms_of
from kvtui.bench.work.workload import Spec, Workload, as_table, expand, from_table
from kvtui.memory.errors import PlanError

GIB = 2**30
WANTED = {"arch": "Llama-3.1-8B", "gpu": "24GB"}


def sweep(*streams: int) -> Workload:
    spec = Spec(prompt_tokens=(960,), max_tokens=(64,), concurrency=streams, requests=4)
    return expand(spec, "sweep")


def lengths(workload: Workload) -> list[int]:
    return [stage.tokens for stage in workload.stages]


def test_the_room_by_hand() -> None:
    """8,030,261,248 weights in 2 bytes; 1,024 tokens take 2 · 32 · 8 · 128 · 2 bytes each."""
    (room,) = rooms_of(lengths(sweep(1)), WANTED, ())
    each = 1024 * 2 * 32 * 8 * 128 * 2
    assert (room.tokens, room.bytes_per_sequence) == (1024, each)
    assert room.sequences == (24 * GIB - 2 * 8_030_261_248) // each
    kept = Workload(preset="x", stages=sweep(1).stages, rooms=(room,))
    assert from_table(as_table(kept)).rooms == (room,)


def test_each_length_has_its_room() -> None:
    spec = Spec(prompt_tokens=(448, 960), max_tokens=(64,), concurrency=(1, 2), requests=4)
    short, long = rooms_of(lengths(expand(spec, "sweep")), WANTED, ())
    assert (short.tokens, long.tokens) == (512, 1024)
    assert short.sequences >= 2 * long.sequences
    own = expand(Spec(prompts=("abcd" * 100,), max_tokens=(28,), requests=1), "own")
    assert own.stages[0].tokens == 128
    with pytest.raises(PlanError):
        rooms_of(lengths(own), {**WANTED, "gpu": "no such card"}, ())


@pytest.mark.parametrize(
    ("rates", "said"),
    [
        ({1: 100, 2: 190, 4: 200}, "it is not memory that ends the growth"),
        ({1: 100, 2: 190, 4: 370}, "never came near"),
        ({20: 100, 80: 390, 160: 395}, "the knee at 80 streams lies where memory ends"),
        ({20: 100, 80: 390, 160: 790}, "at 160 streams some wait for memory"),
    ],
)
def test_beside_the_knee(rates: dict[int, float], said: str) -> None:
    workload = sweep(*rates)
    rooms = rooms_of(lengths(workload), WANTED, ())
    assert 60 < rooms[0].sequences < 80
    workload = Workload(preset="sweep", stages=workload.stages, rooms=rooms)
    samples = [
        Sample(stage=stage, index=i, send_s=0.0, end_s=tokens / rate, completion_tokens=tokens)
        for stage, rate in enumerate(rates.values())
        for i, tokens in enumerate([64])
    ]
    levels = levels_of(workload, samples, {})
    (finding,) = [f for f in findings_of(workload, levels, samples, words=None) if f.code == "room"]
    assert said in finding.message
    assert finding.figures["sequences"] == rooms[0].sequences
