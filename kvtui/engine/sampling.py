"""From logits to a token: greedy, or drawn by temperature and top-p from a seeded source."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float32]

_COLDEST = 1e-4
"""Below this temperature the largest logit is certain to win."""

_FIRST_GUESS = 256
"""Candidates looked at before all of them are sorted for top-p."""


@dataclass(frozen=True, slots=True)
class SamplingParams:
    """How tokens are drawn; temperature 0 is greedy.

    Attributes:
        temperature: divides the logits; 0 and above.
        top_p: probability mass of the candidates kept, above 0 and up to 1.
        seed: the same seed draws the same tokens; None draws anew each time.
    """

    temperature: float = 0.7
    top_p: float = 0.95
    seed: int | None = None


class Sampler:
    """Draws one sequence's tokens."""

    def __init__(self, params: SamplingParams) -> None:
        self._params = params
        self._random = np.random.default_rng(params.seed)

    def sample(self, logits: Floats, *, forbidden: frozenset[int] = frozenset()) -> int:
        """The next token's id.

        Args:
            logits: (vocabulary,).
            forbidden: ids that must not be drawn.
        """
        if forbidden:
            logits = logits.copy()
            logits[list(forbidden)] = -np.inf
        if self._params.temperature < _COLDEST:
            return int(logits.argmax())
        scaled = (logits - logits.max()) / np.float32(self._params.temperature)
        weights = np.exp(scaled, dtype=np.float64)
        ids = _nucleus(weights, self._params.top_p)
        mass = np.cumsum(weights if ids is None else weights[ids])
        drawn = int(np.searchsorted(mass, self._random.random() * mass[-1], side="right"))
        drawn = min(drawn, len(mass) - 1)
        return drawn if ids is None else int(ids[drawn])


def _nucleus(weights: NDArray[np.float64], top_p: float) -> NDArray[np.intp] | None:
    """The fewest ids, most probable first, that together hold `top_p` of the mass.

    Source: Holtzman et al., arXiv:1904.09751, section 3.1.

    Returns:
        None where all are kept.
    """
    if top_p >= 1.0:
        return None
    target = top_p * weights.sum()
    for guess in (_FIRST_GUESS, len(weights)):
        count = min(guess, len(weights))
        ids = np.argpartition(-weights, count - 1)[:count]
        ids = ids[np.argsort(-weights[ids], kind="stable")]
        mass = np.cumsum(weights[ids])
        if mass[-1] >= target or count == len(weights):
            break
    return ids[: int(np.searchsorted(mass, target)) + 1]
