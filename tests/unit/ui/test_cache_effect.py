"""The KV cache's effect: like with like, a stopped run up to where it was stopped."""

from __future__ import annotations

import pytest

from kvtui.measure.rate import Sample
from kvtui.ui.stream.cache_effect import CacheEffect

PROMPT = 20
MODEL = "kvtui-tiny"


def steady(tokens: int, tps: float) -> list[Sample]:
    """One token after the other: the first at 0 s, samples from the second on."""
    return [Sample(i / tps, i + 1, tps) for i in range(1, tokens)]


def slowing(tokens: int, step: float) -> list[Sample]:
    """Token n takes n × step seconds, as without a cache."""
    t, out = 0.0, []
    for n in range(2, tokens + 1):
        t += n * step
        out.append(Sample(t, n, 1 / (n * step)))
    return out


def test_a_run_stopped_halfway_counts_up_to_its_last_token() -> None:
    effect = CacheEffect()
    effect.add(MODEL, PROMPT, slowing(200, 0.001), cached=False)
    effect.add(MODEL, PROMPT, steady(500, 100.0), cached=True)
    compared = effect.of(MODEL)
    assert compared is not None
    # tokens 3 to 200 took 3 + 4 + … + 200 ms
    assert compared.off_tps == pytest.approx(198 / (0.001 * (200 * 201 / 2 - 3)))
    assert compared.on_tps == pytest.approx(100.0)
    assert compared.tokens == 200


def test_the_same_stretch_of_the_longer_one_counts_whichever_that_is() -> None:
    effect = CacheEffect()
    effect.add(MODEL, PROMPT, slowing(500, 0.001), cached=False)
    effect.add(MODEL, PROMPT, steady(200, 100.0), cached=True)
    compared = effect.of(MODEL)
    assert compared is not None
    assert compared.off_tps == pytest.approx(198 / (0.001 * (200 * 201 / 2 - 3)))


def test_between_samples_tokens_came_evenly() -> None:
    effect = CacheEffect()
    effect.add(MODEL, PROMPT, [Sample(0.5, 50, 100), Sample(2.5, 250, 100)], cached=True)
    effect.add(MODEL, PROMPT, [Sample(1.0, 50, 50), Sample(2.0, 100, 50)], cached=False)
    compared = effect.of(MODEL)
    assert compared is not None
    assert (compared.off_tps, compared.on_tps) == pytest.approx((50.0, 100.0))


@pytest.mark.parametrize(
    ("prompt", "samples"),
    [
        (PROMPT, steady(20, 10.0)),  # too few tokens
        (400, steady(300, 10.0)),  # another prompt: other steps
        (PROMPT, []),
        (None, steady(300, 10.0)),
        (PROMPT, [Sample(0.0, 2, 1.0), Sample(0.0, 300, 1.0)]),  # came all at once
    ],
)
def test_what_is_not_alike_is_not_compared(prompt: int | None, samples: list[Sample]) -> None:
    effect = CacheEffect()
    effect.add(MODEL, PROMPT, steady(300, 100.0), cached=True)
    effect.add(MODEL, prompt, samples, cached=False)
    assert effect.of(MODEL) is None


def test_two_with_the_cache_say_nothing_of_it() -> None:
    effect = CacheEffect()
    effect.add(MODEL, PROMPT, steady(300, 100.0), cached=True)
    effect.add(MODEL, PROMPT, steady(300, 90.0), cached=True)
    assert effect.of(MODEL) is None


def test_runs_of_two_models_are_not_compared() -> None:
    effect = CacheEffect()
    effect.add("other", PROMPT, steady(300, 10.0), cached=False)
    effect.add(MODEL, PROMPT, steady(300, 100.0), cached=True)
    assert effect.of(MODEL) is None
    effect.add(MODEL, PROMPT, steady(300, 50.0), cached=False)
    assert effect.of(MODEL) is not None
    assert effect.of("other") is None
