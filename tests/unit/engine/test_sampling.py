"""What is drawn, and how often."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kvtui.engine.sampling import Sampler, SamplingParams

LOGITS = np.log(np.array([0.05, 0.5, 0.1, 0.3, 0.05], np.float32))


def draws(params: SamplingParams, count: int = 4000, logits: np.ndarray = LOGITS) -> np.ndarray:
    sampler = Sampler(params)
    found = np.bincount([sampler.sample(logits) for _ in range(count)], minlength=len(logits))
    return found / count


def test_temperature_zero_is_greedy() -> None:
    assert draws(SamplingParams(temperature=0.0, top_p=1.0), 20)[1] == 1.0


def test_temperature_one_draws_the_distribution() -> None:
    shares = draws(SamplingParams(temperature=1.0, top_p=1.0, seed=1))
    np.testing.assert_allclose(shares, np.exp(LOGITS), atol=0.03)


def test_temperature_sharpens() -> None:
    shares = draws(SamplingParams(temperature=0.5, top_p=1.0, seed=1))
    squared = np.exp(LOGITS) ** 2
    np.testing.assert_allclose(shares, squared / squared.sum(), atol=0.03)


@pytest.mark.parametrize(
    ("top_p", "kept"), [(0.0, {1}), (0.4, {1}), (0.6, {1, 3}), (0.85, {1, 2, 3})]
)
def test_top_p_keeps_the_fewest_that_hold_the_mass(top_p: float, kept: set[int]) -> None:
    shares = draws(SamplingParams(temperature=1.0, top_p=top_p, seed=2))
    assert set(np.flatnonzero(shares)) == kept
    expected = np.array([np.exp(LOGITS[i]) if i in kept else 0 for i in range(5)])
    np.testing.assert_allclose(shares, expected / expected.sum(), atol=0.03)


def test_a_seed_repeats_and_none_does_not() -> None:
    def some(seed: int | None) -> list[int]:
        sampler = Sampler(SamplingParams(temperature=1.0, top_p=1.0, seed=seed))
        return [sampler.sample(LOGITS) for _ in range(60)]

    assert some(7) == some(7)
    assert some(7) != some(8)
    assert some(None) != some(None)


def test_forbidden_ids_are_not_drawn() -> None:
    for temperature in (0.0, 1.0):
        sampler = Sampler(SamplingParams(temperature=temperature, top_p=1.0))
        drawn = {sampler.sample(LOGITS, forbidden=frozenset({1, 3})) for _ in range(200)}
        assert not drawn & {1, 3}


@given(
    st.lists(st.floats(-200, 200, width=32), min_size=1, max_size=50),
    st.floats(0, 2),
    st.floats(0, 1),
    st.integers(0, 2**64 - 1),
)
def test_any_logits_give_an_id(
    logits: list[float], temperature: float, top_p: float, seed: int
) -> None:
    with np.errstate(over="raise", invalid="raise", divide="raise"):
        sampler = Sampler(SamplingParams(temperature, top_p, seed))
        assert 0 <= sampler.sample(np.array(logits, np.float32)) < len(logits)
