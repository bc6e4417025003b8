"""From logits to a token: greedy, or drawn by temperature and top-p from a seeded source."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float32]

_COLDEST = 1e-4
"""Below this temperature the largest logit is certain to win."""


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
        weights = np.exp((logits - logits.max()) / np.float32(self._params.temperature))
        if self._params.top_p < 1.0:
            weights[weights < _threshold(weights, self._params.top_p)] = 0.0
        mass = np.cumsum(weights, dtype=np.float64)
        drawn = int(np.searchsorted(mass, self._random.random() * mass[-1], side="right"))
        return min(drawn, len(mass) - 1)


def _threshold(weights: Floats, top_p: float) -> np.float32:
    """The weight of the last candidate kept by top-p, so that those kept hold that mass.

    They are the fewest that do, but for candidates that tie with the last.
    Source: Holtzman et al., arXiv:1904.09751, section 3.1.
    """
    descending = np.sort(weights)[::-1]
    mass = np.cumsum(descending, dtype=np.float64)
    last = int(np.searchsorted(mass, top_p * mass[-1]))
    threshold: np.float32 = descending[min(last, len(mass) - 1)]
    return threshold
