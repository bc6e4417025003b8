"""What a benchmark tells while it runs: events as they happen, a snapshot at any time."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from kvtui.bench.figures.health import Health
from kvtui.bench.figures.sample import Sample
from kvtui.bench.requests.targets import Target
from kvtui.bench.work.prompts import Words

if TYPE_CHECKING:
    from kvtui.bench.requests.run import Run
    from kvtui.measure.meter import Kept


@dataclass(frozen=True, slots=True)
class StageStarted:
    """A stage begins; its warm-up comes first."""

    stage: int
    label: str


@dataclass(frozen=True, slots=True)
class RequestStarted:
    """A request is on its way; ``run`` shows it live."""

    stage: int
    index: int
    warmup: bool
    run: Run


@dataclass(frozen=True, slots=True)
class RequestEnded:
    """A request has ended."""

    sample: Sample
    kept: Kept | None = None
    """Its events, for the record; nobody else holds them."""


@dataclass(frozen=True, slots=True)
class StageEnded:
    """A stage is done, or was ended early: ``why`` says by what."""

    stage: int
    why: str


@dataclass(frozen=True, slots=True)
class Note:
    """A sentence for the person who watches."""

    text: str


@dataclass(frozen=True, slots=True)
class Learned:
    """What was found out of the endpoint before the first request."""

    words: Words | None
    ignore_eos: bool
    targets: tuple[Target, ...] = ()
    """Where there are several: with their models, bytes and logits."""


@dataclass(frozen=True, slots=True)
class SegmentStarted:
    """The run goes on after a pause: times count anew from here."""

    segment: int


@dataclass(frozen=True, slots=True)
class HealthTaken:
    """How the client did over a stretch of a stage."""

    stage: int
    segment: int
    health: Health


BenchEvent: TypeAlias = (
    Learned
    | StageStarted
    | RequestStarted
    | RequestEnded
    | StageEnded
    | SegmentStarted
    | HealthTaken
    | Note
)


@dataclass(frozen=True, slots=True)
class Progress:
    """Where a run stands."""

    stage: int
    stages: int
    label: str
    in_flight: int
    done: int
    """Measured requests of this stage that have ended."""
    wanted: int | None
    failed: int
    elapsed_s: float
    left_s: float | None
    """None where nothing is known yet."""
    paused: bool
    searching: bool = False
    """What comes next hangs on the results: most of the stages are never run."""
