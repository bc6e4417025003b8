"""What the screen needs of a session: ``kvtui.bench.session`` provides it, tests fake it.

Protocols, so that the first frame imports none of it.
"""

# ruff: noqa: D102 - each is described where it is written

from __future__ import annotations

from collections.abc import Iterable, Sequence
from concurrent.futures import Future
from threading import Event
from typing import Any, Protocol

from kvtui.bench.curl import Sent
from kvtui.config import Endpoint
from kvtui.failure import Evidence, Verdict
from kvtui.measure.figures import RunFigures, Snapshot
from kvtui.measure.gaps import Gaps
from kvtui.stream.request import Request


class PieceLike(Protocol):
    """A piece of streamed text with its stamps."""

    @property
    def kind(self) -> str: ...
    @property
    def text(self) -> str: ...
    @property
    def gap_s(self) -> float | None: ...
    @property
    def replaces(self) -> bool: ...


class SampleLike(Protocol):
    """The running rate at one moment."""

    @property
    def tokens(self) -> float: ...
    @property
    def tps(self) -> float: ...


class PreparedLike(Protocol):
    """The endpoint, looked at: what it is, which model, what stands in the way."""

    @property
    def endpoint(self) -> Endpoint: ...
    @property
    def model(self) -> str | None: ...
    @property
    def models(self) -> Sequence[str]: ...
    @property
    def engine_geometry(self) -> Any: ...
    @property
    def notes(self) -> Sequence[str]: ...
    @property
    def verdict(self) -> Verdict | None: ...
    @property
    def evidence(self) -> Evidence | None: ...
    @property
    def context(self) -> int | None: ...


class RunLike(Protocol):
    """One request on its way; every method may be called from the UI thread."""

    @property
    def done(self) -> Event: ...
    @property
    def notes(self) -> Sequence[str]: ...
    def sent(self) -> Sent: ...
    def snapshot(self) -> Snapshot: ...
    def drain(self) -> Sequence[PieceLike]: ...
    def samples(self, n: int) -> Sequence[SampleLike]: ...
    def gaps(self) -> Gaps: ...
    def stop(self) -> None: ...
    def result(self, timeout: float | None = None) -> RunFigures: ...


class SessionLike(Protocol):
    """A thread with an event loop and an endpoint."""

    def warm(self) -> None: ...
    def prepare(self, *, unbidden: bool = False) -> Future[Any]: ...
    def start(
        self, request: Request, *, run_index: int = 0, unique_prefix: bool = False
    ) -> RunLike: ...
    def settle(self, endpoint: Endpoint, refused: Iterable[str]) -> None: ...
    def close(self) -> None: ...


class HistoryLike(Protocol):
    """Where the runs of the screen are recorded."""

    def add(
        self, run: Any, figures: RunFigures, index: int, repeats: int, prepared: Any = None
    ) -> None: ...
    def close(self) -> None: ...
