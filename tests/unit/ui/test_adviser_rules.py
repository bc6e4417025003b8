"""The adviser: tables of situations, what is said of each, and where it keeps silent."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from kvtui.config import Endpoint
from kvtui.memory import budget, cards, catalogue
from kvtui.telemetry.gpu import CardReading, Cards
from kvtui.text import GIB
from kvtui.ui.adviser.card import servers_card
from kvtui.ui.adviser.memory import asked_of, step_bound
from kvtui.ui.adviser.rules import advise
from kvtui.ui.adviser.situation import Asked, Ran, Situation, Smaller, StepBound
from kvtui.ui.state import CacheCompared

RUN = Ran(
    model="m",
    prompt_tokens=40,
    cached_tokens=0,
    tokens=512,
    max_tokens=512,
    connect_ms=0.5,
    ttft_ms=40.0,
    tpot_ms=5.0,
    tps=200.0,
    e2e_ms=2600.0,
    lag_ms=1.0,
)
LONG = replace(RUN, prompt_tokens=400, ttft_ms=400.0, tps=190.0)
WARM = replace(RUN, prompt_tokens=40, cached_tokens=32)
OFF = replace(RUN, kv_cache=False, tps=10.0)
BOUND = StepBound("RTX 4090", "profile", "Llama-3.1-8B", 16 * 10**9, 10**9, 59.3)
FULL = Asked("24 GB", "m", "fp16", 8192, 4, GIB, 4 * GIB, 4, Smaller("fp8", 8))


def of(*runs: Ran, **more: Any) -> Situation:
    return Situation(runs=runs, **more)


SAID = [
    (of(replace(RUN, lag_ms=40.0)), ("40.0 ms", "kvtui itself")),
    (of(replace(RUN, lag_ms=303.0, ttft_ms=285.0, client_bound=True)), ("303 ms", "TTFT")),
    (of(WARM), ("32 of 40", "warm")),
    (of(OFF, RUN, compared=CacheCompared(10.0, 200.0, 300)), ("20.0×", "cache")),
    (of(RUN, OFF, compared=CacheCompared(10.0, 200.0, 300)), ("20.0×", "cache")),
    (of(LONG, RUN), ("10.0×", "prefill")),
    (of(replace(RUN, tps=36.2), bound=BOUND), ("61%", "RTX 4090", "59.3", "KV reads are 6%")),
    (of(replace(RUN, tps=80.0), bound=BOUND), ("135%", "several tokens a step")),
    (of(replace(RUN, ttft_ms=2000.0)), ("77%", "40 prompt tokens")),
    (of(replace(RUN, connect_ms=310.0)), ("310 ms", "40.0 ms", "open")),
    (of(replace(RUN, tokens=64, max_tokens=64)), ("max_tokens 64", "256", "noisy")),
    (of(replace(RUN, tokens=64)), ("64 tokens", "256", "noisy")),
    (
        Situation(asked=replace(FULL, users=5, most=4)),
        ("8,192 tokens × 5", "4 do", "8 with KV fp8"),
    ),
    (Situation(asked=replace(FULL, users=5, smaller=None)), ("do not fit", "4 do")),
    (Situation(asked=replace(FULL, budget_bytes=0, most=0)), ("no room", "24 GB")),
    (Situation(asked=FULL, asked_last=True), ("fill 24 GB", "8 would fit with KV fp8")),
]


@pytest.mark.parametrize(("situation", "words"), SAID)
def test_what_is_said(situation: Situation, words: tuple[str, ...]) -> None:
    said = advise(situation)
    assert said is not None
    for word in words:
        assert word in said.say
    assert any(char.isdigit() for char in said.why)
    assert "{" not in said.say + said.why


SILENT = [
    Situation(),
    of(replace(RUN, lag_ms=40.0, tpot_ms=150.0, tps=6.7)),  # shorter than any gap
    of(RUN),
    of(RUN, LONG),  # the prompt became shorter
    of(LONG, replace(RUN, model="other")),
    of(LONG, replace(RUN, tps=None)),
    of(replace(LONG, tps=100.0), RUN),  # decode became slower too: that is not prefill alone
    of(replace(LONG, ttft_ms=50.0), RUN),
    of(replace(LONG, cached_tokens=None), replace(RUN, kv_cache=False)),
    of(RUN, RUN, compared=CacheCompared(10.0, 200.0, 300)),  # said when it was news
    of(replace(RUN, tokens=None, tps=None, ttft_ms=None, e2e_ms=None, connect_ms=None)),
    of(Ran()),
    Situation(asked=FULL),  # full is full, but nobody asked just now
    Situation(asked=replace(FULL, users=3), asked_last=True),
]


@pytest.mark.parametrize("situation", SILENT)
def test_where_nothing_is_said(situation: Situation) -> None:
    assert advise(situation) is None


def test_what_happened_last_comes_first() -> None:
    both = of(WARM, asked=replace(FULL, users=5))
    run, memory = advise(both), advise(replace(both, asked_last=True))
    assert run is not None
    assert memory is not None
    assert "warm" in run.say
    assert "do not fit" in memory.say


def test_rules_rank_by_what_spoils_the_others() -> None:
    said = advise(of(replace(WARM, lag_ms=30.0, tokens=10), bound=BOUND))
    assert said is not None
    assert "kvtui itself" in said.say


# --- figures of memory ----------------------------------------------------------------------------


def question(**more: Any) -> budget.Question:
    return budget.Question(
        catalogue.find("Llama-3.1-8B"), cards.find("24GB"), engine="vllm", **more
    )


def test_what_is_asked_of_a_card_is_what_the_answer_says() -> None:
    told = budget.answer(question(context=8192, concurrency=9))
    asked = asked_of(question(context=8192, concurrency=9))
    assert asked is not None
    assert (asked.most, asked.sequence_bytes) == (told.max_concurrency, told.bytes_per_sequence)
    assert not asked.fits
    half = budget.answer(question(context=8192, concurrency=9, k="fp8", v="fp8"))
    assert asked.smaller == Smaller("fp8", half.max_concurrency)
    assert half.max_concurrency > told.max_concurrency
    roomy = asked_of(question(context=2048))
    assert roomy is not None
    assert roomy.smaller is None


def test_the_bound_is_of_the_servers_card_not_of_the_one_looked_at() -> None:
    card = cards.find("RTX 4090")
    bound = step_bound(question(), card, "profile", 2048)
    assert bound is not None
    assert card.bandwidth_bytes_per_s is not None
    read = bound.weights_bytes + bound.kv_bytes
    assert bound.tokens_per_s == pytest.approx(card.bandwidth_bytes_per_s / read)
    assert bound.kv_bytes == 131_072 * 2048
    assert bound.card == card.name
    assert step_bound(question(), cards.find("24GB"), "profile", 2048) is None  # no bandwidth known


def test_no_card_is_taken_for_a_server_elsewhere() -> None:
    def read(used: int = 20 * GIB, *names: str) -> Cards:
        shown = names or ("NVIDIA GeForce RTX 4090",)
        return Cards(tuple(CardReading(n, name, None, used, None) for n, name in enumerate(shown)))

    def unasked() -> Cards:
        raise AssertionError("no driver is asked about a server elsewhere")

    local = Endpoint("http://127.0.0.1:8000/v1", "--base-url")
    away = Endpoint("http://10.0.0.5:8000/v1", "--base-url")
    weights = 15 * GIB
    found = servers_card(local, (), weights, read)
    assert found is not None
    assert (found.card.name, found.where) == ("RTX 4090", "local")
    assert servers_card(away, (), weights, unasked) is None
    assert servers_card(replace(local, embedded=True), (), weights, unasked) is None
    assert servers_card(local, (), weights, lambda: read(GIB)) is None  # a tunnel: nothing is on it
    assert servers_card(local, (), weights, lambda: read(20 * GIB, "RTX 4090", "L4")) is None
    assert servers_card(local, (), weights, lambda: read(20 * GIB, "Voodoo 2")) is None
    assert servers_card(local, (), 0, read) is None
    named = servers_card(replace(away, gpu="H100"), (), 0, unasked)
    assert named is not None
    assert named.where == "profile"
    with pytest.raises(ValueError, match="H999"):
        servers_card(replace(away, gpu="H999"), (), 0, unasked)
