"""How much a workload sends: told before it starts, since a provider may charge for it."""

from __future__ import annotations

from dataclasses import dataclass

from kvtui.bench.work.prompts import PROBES
from kvtui.bench.work.workload import Workload

_CHARS_PER_TOKEN = 4
"""Of English, about: for prompts that are texts, whose tokens only the server counts."""


@dataclass(frozen=True, slots=True)
class Extent:
    """Requests and tokens of a whole run, warm-up and probes included."""

    levels: int
    requests: int
    warmup: int
    """Of the requests, those before the measured ones."""
    prompt_tokens: int
    """About: the server counts."""
    output_tokens: int
    """At most."""
    at_most: bool = False
    """Some rule may end it earlier."""
    seconds: float = 0.0
    """Of the levels that a duration ends, whose requests are not counted here."""

    @property
    def bounded(self) -> bool:
        """The number of requests is known."""
        return not self.seconds


def extent_of(workload: Workload) -> Extent:
    """What a workload sends from its start to its end."""
    requests = warmup = prompt = output = 0
    seconds = 0.0
    for stage in workload.stages:
        length = stage.prompt_tokens or _longest(stage.texts) // _CHARS_PER_TOKEN
        measured = stage.requests or 0
        if stage.duration_s is not None and stage.requests is None:
            seconds += stage.duration_s
        sent = measured + stage.warmup
        requests += sent
        warmup += stage.warmup
        prompt += sent * length
        output += sent * stage.max_tokens
    if any(not stage.texts for stage in workload.stages):
        requests += len(PROBES)
        warmup += len(PROBES)
        prompt += sum(PROBES)
        output += len(PROBES)
    rules = (workload.search, workload.certainty, workload.most_s)
    return Extent(
        levels=len(workload.stages),
        requests=requests,
        warmup=warmup,
        prompt_tokens=prompt,
        output_tokens=output,
        at_most=any(rule is not None for rule in rules),
        seconds=seconds,
    )


def _longest(texts: tuple[str, ...]) -> int:
    return max(map(len, texts), default=0)
