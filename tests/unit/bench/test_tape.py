"""Tapes: what was kept of a request comes back as it was, small and without a key."""

from __future__ import annotations

import json
import random

import pytest

from kvtui.bench.records.tape import MOST_CHARS, TapeError, pack, unpack
from kvtui.failure import Evidence, ExceptionFact, KeyFacts
from kvtui.measure import meter
from kvtui.measure.meter import Kept, Meter
from kvtui.stream.events import (
    Connected,
    Delta,
    Ended,
    Event,
    Finish,
    Headers,
    KeepAlive,
    ModelName,
    PromptProgress,
    Replaced,
    Role,
    Sent,
    Timings,
    Usage,
)
from kvtui.text import REDACTED

START = 1000.5
KEY = "sk-test-Zx81Qa77Lm20Vb94"


def batches(seed: int) -> list[list[Event]]:
    """A stream as odd as streams get, with stamps of whole microseconds."""
    rng = random.Random(seed)
    t = START
    made: list[list[Event]] = [[Connected(t, 0.001, rng.random() < 0.5)], [Sent(t)]]

    def one() -> Event:
        text = rng.choice(["a", " Wörter", "\n", "日本", '"', "\u2028", "\ud83d", ""])
        kinds = ("content", "content", "reasoning", "tool_call", "refusal")
        return rng.choice(
            [
                Delta(t, rng.choice(kinds), text, rng.choice([None, 1, 3]), 0, rng.random() < 0.2),
                Delta(t, "content", text, None, rng.randrange(2)),
                Usage(t, 5, rng.randrange(9), None, rng.choice([None, 2]), rng.random() < 0.8),
                Usage(t, None, rng.choice([None, 1])),
                Role(t),
                KeepAlive(t),
                Timings(t, 1, 2, 3.5, None),
                PromptProgress(t, 9, 0, 4),
                Replaced(t, "content", text),
                Finish(t, "stop"),
                ModelName(t, "m"),
                Headers(t, 200, "text/event-stream", 12.5),
            ]
        )

    for _ in range(rng.randrange(40)):
        if rng.random() < 0.8:
            t = START + round((t - START) * 1e6 + rng.choice([1, 30, 5_000, 3_000_000])) / 1e6
        made.append([one() for _ in range(rng.randrange(1, 5))])
    evidence = Evidence(
        status=rng.choice([None, 200, 429]),
        headers={"retry-after": "3"},
        key=KeyFacts("K", 9, other_variables=("A",)),
        exceptions=(ExceptionFact("OSError", "x"),),
        sse_error={"code": [1, None]},
        waited_s=0.25,
    )
    made.append([Ended(t, evidence, stopped=rng.random() < 0.3, notes=("n",))])
    return made


def again(kept: Kept, **options: object) -> list[list[Event]]:
    tape = pack(kept, **options)  # type: ignore[arg-type]
    text = json.dumps(tape, ensure_ascii=False)
    return unpack(json.loads(text), kept.start)


def told(event: Event) -> str:
    return repr(event).replace(repr(event.t), "T")


@pytest.mark.parametrize("seed", range(200))
def test_every_event_comes_back_as_it_was_fed(seed: int) -> None:
    made = batches(seed)
    back = again(Kept(START, None, made))
    assert [len(batch) for batch in back] == [len(batch) for batch in made]
    for before, after in zip(made, back, strict=True):
        for one, two in zip(before, after, strict=True):
            assert two.t == pytest.approx(one.t, abs=6e-7)
            assert told(two) == told(one)


def test_a_token_takes_few_bytes() -> None:
    made: list[list[Event]] = [[Sent(START)]]
    for n in range(1000):
        t = START + 0.2 + n * 0.00471
        made.append([Delta(t, "content", " word"), Usage(t, 30, n + 1, continuous=True)])
    made.append([Ended(START + 6, Evidence(status=200))])
    size = len(json.dumps(pack(Kept(START, None, made)), separators=(",", ":")))
    assert size / 1000 < 25


def test_a_key_in_the_answer_is_masked_however_it_is_cut() -> None:
    made: list[list[Event]] = [
        [Delta(START, "content", "it is " + KEY[:3]), Delta(START, "reasoning", "no")],
        [Delta(START + 1, "content", KEY[3:11])],
        [Delta(START + 2, "content", KEY[11:] + " end"), Ended(START + 2, Evidence())],
    ]
    back = again(Kept(START, None, made), secrets=(KEY,))
    said = "".join(e.text for b in back for e in b if isinstance(e, Delta) and e.kind == "content")
    assert said == f"it is {REDACTED} end"


def test_without_text_only_its_length_is_kept() -> None:
    made: list[list[Event]] = [
        [Delta(START, "content", "secret thing"), Replaced(START, "content", "secret")],
        [Ended(START + 1, Evidence(body="secret", content_tail="secret"))],
    ]
    tape = pack(Kept(START, None, made), text=False)
    assert "secret" not in json.dumps(tape)
    (first, second), _ = unpack(tape, START)
    assert isinstance(first, Delta)
    assert isinstance(second, Replaced)
    assert (len(first.text), len(second.text)) == (12, 6)


def test_what_is_too_much_is_cut_and_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    big = "x" * (MOST_CHARS // 2)
    made: list[list[Event]] = [[Delta(START + n, "content", big)] for n in range(4)]
    tape = pack(Kept(START, None, [*made, [Ended(START + 9, Evidence())]]))
    assert tape["cut"] == 2
    assert len(unpack(tape, START)) == 5

    monkeypatch.setattr(meter, "MOST_KEPT", 10)
    kept = Meter(keep_events=True)
    for n in range(50):
        kept.feed([Delta(float(n), "content", "x")])
    kept.feed([Ended(60.0, Evidence())])
    found = kept.kept()
    assert found is not None
    assert (len(found.batches), found.cut) == (11, 40)
    assert isinstance(found.batches[-1][-1], Ended)


@pytest.mark.parametrize(
    "tape",
    [
        {},
        {"ops": "c", "us": [1], "more": []},
        {"ops": "x", "us": [1], "more": [{"is": "nothing"}]},
        {"ops": "x", "us": [1], "more": [{"is": "finish", "reason": 7}]},
        {"ops": "u", "us": [1], "more": [], "counts": [1]},
        {"ops": "c|c", "us": [1], "text": ["a", "b"], "more": []},
        {"ops": "?", "us": [1], "more": []},
        {"ops": 5, "us": 5, "more": 5},
    ],
)
def test_a_damaged_tape_is_named_so(tape: dict[str, object]) -> None:
    with pytest.raises(TapeError, match="tape"):
        unpack(tape)
