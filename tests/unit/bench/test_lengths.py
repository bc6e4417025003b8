"""Prompts of exact length: which words are one token, how a server is asked, what is said of it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec
import pytest

from kvtui.bench.evaluation.lengths import prompt_lengths
from kvtui.bench.evaluation.reading import prefill
from kvtui.bench.figures.sample import Sample
from kvtui.bench.figures.summary import levels_of
from kvtui.bench.requests.vocabulary import one_token_words
from kvtui.bench.work.prompts import WORDS, Words, fit_words, synthetic
from kvtui.bench.work.workload import Stage, Workload
from kvtui.stream.tokenize import counted


class Tokenizer:
    """Each word a token, but those in ``long`` two; one of ``bad`` is two at the beginning."""

    def __init__(self, long: Sequence[str] = (), bad: Sequence[str] = ()) -> None:
        self.long, self.bad = set(long), set(bad)
        self.texts = 0

    def __call__(self, texts: Sequence[str]) -> list[int]:
        self.texts += len(texts)
        return [self.of(text.split()) for text in texts]

    def of(self, words: list[str]) -> int:
        return 1 + len(words) + sum(w in self.long for w in words) + (words[0] in self.bad)


def test_words_of_one_token_are_found_with_few_questions() -> None:
    plain = Tokenizer()
    known = one_token_words(WORDS, plain)
    assert known == (tuple(WORDS), tuple(WORDS[:24]))
    assert plain.texts < 30
    some = Tokenizer(long=WORDS[5:60:7], bad=WORDS[1:3])
    found = one_token_words(WORDS, some)
    assert found is not None
    words, firsts = found
    assert words == tuple(w for w in WORDS if w not in some.long)
    assert firsts
    assert not set(firsts) & (some.long | some.bad)
    assert some.texts < 2 * len(WORDS)


def test_a_prompt_of_such_words_has_the_length_that_was_asked_for() -> None:
    tokenizer = Tokenizer(long=WORDS[::3], bad=WORDS[1::5])
    found = one_token_words(WORDS, tokenizer)
    assert found is not None
    words = Words(1.0, 1.0, True, "tokenizer", *found)
    assert words.exact
    for wanted in (4, 17, 300):
        for key in ("a", "b"):
            text = synthetic(words.needed(wanted), key, words)
            assert tokenizer.of(text.split()) == wanted
    assert synthetic(9, "a", words) != synthetic(9, "b", words)


def test_no_tokenizer_no_words() -> None:
    assert one_token_words(WORDS, lambda _: None) is None
    assert one_token_words(WORDS, Tokenizer(long=WORDS)) == ((), ())
    assert not fit_words([(64, 70), (320, 326)]).exact  # measured, and still only by probes


@pytest.mark.parametrize(
    ("answer", "count"),
    [
        ({"count": 3, "max_model_len": 9, "tokens": [1, 2, 3]}, 3),  # vLLM, SGLang
        ({"tokens": [5, 6]}, 2),  # llama.cpp
        ([{"id": 1, "text": "a", "start": 0, "stop": 1}], 1),  # TGI
        ({"tokens": []}, None),  # llama.cpp asked in another form
        ({"error": {"message": "no"}}, None),
        ({"count": True}, None),
        ("tokens", None),
        (None, None),
    ],
)
def test_counts_in_each_servers_form(answer: Any, count: int | None) -> None:
    assert counted(answer) == count


def test_the_shortest_prompts_differ_too() -> None:
    """A template longer than the prompt asked for leaves no room, and one word is soon the same."""
    words = Words(30.0, 1.0, True, "tokenizer", tuple(WORDS), tuple(WORDS[:24]))
    texts = {synthetic(words.needed(24), f"run {n}", words) for n in range(200)}
    assert len(texts) == 200
    assert {len(text.split()) for text in texts} == {3}
    assert words.shortest == 33


def workload(*labels: str, requests: int = 6) -> Workload:
    stages = [
        Stage(label=f"64 prompt tokens, {label}", prompt_tokens=64, series="p", requests=requests)
        for label in labels
    ]
    return Workload(preset="prefill", stages=tuple(stages))


def test_what_is_said_of_the_lengths() -> None:
    asked = workload("cold")
    right = [Sample(stage=0, index=i, prompt_tokens=64) for i in range(3)]
    exact = Words(4.0, 1.0, True, "tokenizer")
    (finding,) = prompt_lengths(asked, right, exact)
    assert finding.holds is True
    assert "own tokenizer" in finding.message
    off = [*right, Sample(stage=0, index=3, prompt_tokens=66)]
    (finding,) = prompt_lengths(asked, off, Words(4.0, 1.3, True, "probes"))
    assert (finding.holds, finding.figures["off_most"]) == (False, 2)
    assert "two probe requests" in finding.message
    (finding,) = prompt_lengths(asked, right, Words())
    assert finding.code == "approximate_prompts"
    short = Words(62.0, 1.0, True, "tokenizer")  # the template and three words make 65
    (finding,) = prompt_lengths(asked, [Sample(stage=0, index=0, prompt_tokens=65)], short)
    assert finding.holds is False
    assert "longer than asked for, by up to 1" in finding.message
    assert "make 65" in finding.message
    own = msgspec.structs.replace(asked.stages[0], texts=("Hi",))
    assert prompt_lengths(Workload(preset="x", stages=(own,)), right, exact) == []


@pytest.mark.parametrize(
    ("again", "cached", "requests", "holds"),
    [
        (20.0, 60, 6, True),  # half the time, and the server says why
        (20.0, None, 6, True),
        (20.0, 0, 6, None),  # faster, and the server says that no cache was it
        (20.0, 60, 3, None),  # three requests tell nothing
        (40.0, None, 6, False),
    ],
)
def test_a_prefix_cache_is_claimed_where_a_test_tells_it(
    again: float, cached: int | None, requests: int, holds: bool | None
) -> None:
    asked = workload("cold", "again", requests=requests)
    samples = [
        Sample(
            stage=stage,
            index=i,
            ttft_ms=ttft + 0.1 * i + 0.01 * stage,
            end_s=1.0,
            prompt_tokens=64,
            cached_prompt_tokens=cached if stage else None,
        )
        for stage, ttft in enumerate((40.0, again))
        for i in range(requests)
    ]
    found = prefill(asked, levels_of(asked, samples, {}), samples)
    (finding,) = [f for f in found if f.code == "prefix_cache"]
    assert finding.holds is holds, finding.message
