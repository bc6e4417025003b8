"""What is said of a prefill's line and of the time per token over position: only what is so."""

from __future__ import annotations

from collections.abc import Callable
from random import Random

import pytest

from kvtui.bench.evaluation.evidence import kv_evidence
from kvtui.bench.evaluation.quality import quality
from kvtui.bench.evaluation.rates import queues
from kvtui.bench.evaluation.reading import article, prefill
from kvtui.bench.figures.finding import Finding
from kvtui.bench.figures.sample import Sample
from kvtui.bench.figures.summary import levels_of
from kvtui.bench.work.workload import Stage, Workload

LENGTHS = (64, 128, 256, 512, 1024)


def line_of(disturbed: int | None, rate: float = 120.0) -> Finding:
    """Five cold TTFTs of each length at 20 ms + n / ``rate``; those of one length thrice that."""
    stages = tuple(
        Stage(label=f"{n} prompt tokens, cold", prompt_tokens=n, max_tokens=4, requests=5)
        for n in LENGTHS
    )
    random = Random(7)
    samples = [
        Sample(
            stage=number,
            index=index,
            end_s=1.0,
            prompt_tokens=n,
            ttft_ms=(20 + 1000 * n / rate)
            * random.uniform(0.98, 1.02)
            * (3 if n == disturbed else 1),
        )
        for number, n in enumerate(LENGTHS)
        for index in range(5)
    ]  # fmt: skip
    workload = Workload(preset="prefill", stages=stages)
    found = prefill(workload, levels_of(workload, samples, {}), samples)
    (finding,) = [f for f in found if f.code == "prefill_rate"]
    return finding


def test_a_prefill_rate_is_that_of_the_server() -> None:
    finding = line_of(None)
    assert finding.holds is True, finding.message
    assert finding.figures["tokens_per_s"]["value"] == pytest.approx(120, rel=0.02)
    assert finding.figures["fixed_ms"]["low"] < 20 < finding.figures["fixed_ms"]["high"]


def test_a_line_that_the_medians_do_not_lie_on_is_no_rate() -> None:
    """Other work on the machine while one length was measured."""
    finding = line_of(256)
    assert finding.holds is None
    assert "something disturbed the" in finding.message


def article_of(rates: dict[int, tuple[float, ...]]) -> Finding:
    stages = tuple(
        Stage(
            label=f"question, {n} tokens", texts=("Q",), max_tokens=n, series=f"question/{n}",
            requests=len(values),
        )
        for n, values in rates.items()
    )  # fmt: skip
    samples = [
        Sample(stage=number, index=index, decode_tps=rate)
        for number, values in enumerate(rates.values())
        for index, rate in enumerate(values)
    ]
    (finding,) = article(Workload(preset="article", stages=stages), [], samples)
    return finding


@pytest.mark.parametrize(
    ("rates", "holds"),
    [
        ({64: (58.1, 57.9, 58.4), 512: (57.0, 57.2, 56.9)}, True),
        ({64: (58.1, 57.9, 58.4), 512: (40.0, 41.2, 40.9)}, False),
        ({64: (58.1, 30.9, 44.0), 512: (40.0, 25.2, 55.9)}, None),  # noisier than they differ
        ({64: (58.1,), 512: (40.0,)}, None),
        ({64: (50.0, 50.1, 50.2), 512: (51.0, 51, 50), 2048: (30.0, 31.0, 30.5)}, False),
    ],
)
def test_that_tps_stays_or_not_is_said_where_the_answers_tell_it(
    rates: dict[int, tuple[float, ...]], holds: bool | None
) -> None:
    finding = article_of(rates)
    assert finding.holds is holds, finding.message
    if holds is None:
        assert "cannot be told from" in finding.message


def evidence(
    growth: float, *, jitter: float = 0.02, jump: bool = False, requests: int = 3
) -> Finding:
    """20 ms a token at first, ``growth`` times that after 512; prefill at 8 ms a token."""
    prefills = (32, 128, 256, 512)
    stages = [
        Stage(label=f"prefill of {n}", prompt_tokens=n, max_tokens=2, requests=5) for n in prefills
    ]
    long = Stage(
        label="512 tokens", prompt_tokens=48, max_tokens=512, requests=requests, keep_reads=True
    )
    random = Random(3)
    samples = [
        Sample(
            stage=number, index=i, end_s=1.0, prompt_tokens=n,
            ttft_ms=(30 + 8 * n) * (1 + i / 100),
        )
        for number, n in enumerate(prefills)
        for i in range(5)
    ]  # fmt: skip
    for index in range(requests):
        at, reads = 400.0, []
        for token in range(1, 513):
            each = 20 * (1 + (growth - 1) * token / 512)
            if jump and index == 0 and token > 256:
                each *= 2.5  # this one met other work, half-way
            at += each * random.uniform(1 - jitter, 1 + jitter)
            reads.append((at, token))
        samples.append(
            Sample(
                stage=len(prefills), index=index, end_s=1.0, prompt_tokens=48,
                completion_tokens=512, reads=tuple(reads),
            )
        )  # fmt: skip
    workload = Workload(preset="kv-evidence", stages=(*stages, long))
    (finding,) = kv_evidence(workload, [], samples)
    assert finding.holds is True, finding.message
    assert finding.figures["ratio"]["value"] < 0.02
    return finding


def test_a_step_that_slows_with_the_cache_is_said_with_its_factor() -> None:
    finding = evidence(1.3)
    assert finding.figures["growth"]["holds"] is True
    assert finding.figures["growth"]["value"] == pytest.approx(1.3, rel=0.02)
    assert "The growth is attention" in finding.message


def test_a_flat_or_a_disturbed_run_shows_no_growth() -> None:
    for finding in (evidence(1.0), evidence(1.0, jump=True)):
        assert finding.figures["growth"]["holds"] is False
        assert "no growth stands out" in finding.message
        assert "attention" not in finding.message
    assert evidence(1.3, requests=2).figures["growth"]["holds"] is None


def at_a_rate(ttft: Callable[[int], float], n: int = 20) -> list[Finding]:
    stage = Stage(label="64 tokens, 4/s", texts=("Q",), rate=4.0, concurrency=0, requests=n)
    samples = [Sample(stage=0, index=i, start_s=i / 4, ttft_ms=ttft(i)) for i in range(n)]
    random = Random(1)
    random.shuffle(samples)  # they end in another order than they were sent in
    return queues(Workload(preset="sweep", stages=(stage,)), samples)


def test_a_rate_that_the_server_does_not_keep_up_with_is_named() -> None:
    (finding,) = at_a_rate(lambda i: 100 + 80.0 * i)  # each waits 80 ms longer than the one before
    assert (finding.code, finding.holds) == ("queue_grows", False)
    assert finding.figures["first_half_ms"] == pytest.approx(460)
    assert "does not keep up" in finding.message
    noise = Random(4)
    assert not at_a_rate(lambda i: noise.uniform(80, 160))
    assert not at_a_rate(lambda i: 100 + 1.0 * i)  # grown, and hardly
    assert not at_a_rate(lambda i: 100 + 80.0 * i, n=8)


def test_the_first_byte_is_told_of_the_answers_whose_first_token_is() -> None:
    """A buffered answer has no TTFT: its head, which came late, is no part of the comparison."""
    stage = Stage(label="256 tokens, c=1", texts=("Q",), max_tokens=256, requests=5)
    samples = [
        Sample(stage=0, index=i, headers_ms=h, first_event_ms=h, ttft_ms=t)
        for i, (h, t) in enumerate(
            [(200.0, 205.0), (201.0, 206.0), (290.0, None), (300.0, None), (310.0, None)]
        )
    ]
    found = quality(Workload(preset="quality-of-stream", stages=(stage,)), [], samples)
    (finding,) = [f for f in found if f.code == "first_byte"]
    assert finding.figures["headers_ms"] == pytest.approx(200.5)
    assert finding.figures["n"] == 2
