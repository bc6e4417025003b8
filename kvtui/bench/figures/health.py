"""How the client itself did: was it the server that was slow, or this process?"""

from __future__ import annotations

import time
from array import array
from time import perf_counter

import msgspec

from kvtui.bench.figures.sample import Sample
from kvtui.measure.lateness import matters

_BUSY = 0.9
_SHARE = 0.1


class Health(msgspec.Struct, frozen=True):
    """Of this process over one stage."""

    loop_lag_ms_p50: float | None
    loop_lag_ms_max: float | None
    """Own lateness in reading, the worst of each request."""
    late_share: float
    """Requests whose first or last token was read 20 ms late or more, and late enough to change
    their figures, of all."""
    cpu_share: float
    """CPU seconds of this process a second: 1.0 is a whole core."""
    start_late_ms_p99: float | None
    """At a set rate: how long after their time requests were started."""
    client_bound: bool
    """It mattered: the figures tell of this machine as much as of the server."""


def _late(sample: Sample) -> bool:
    """Whether own lateness changed its TTFT or its decode time: not where it fell in between."""
    lag = sample.loop_lag_ms if sample.stamp_lag_ms is None else sample.stamp_lag_ms
    first, last = sample.first_s, sample.last_s
    span = (last - first) * 1000 if first is not None and last is not None else 0.0
    return matters(lag, span, sample.ttft_ms or span)


class Lateness:
    """How late this client was, request by request."""

    def __init__(self) -> None:
        self._lags, self._starts = array("d"), array("d")
        self._mattered = self._answers = 0

    def add(self, sample: Sample) -> None:
        """A request that has ended."""
        if sample.loop_lag_ms is not None:
            self._lags.append(sample.loop_lag_ms)
        if sample.late_ms is not None:
            self._starts.append(sample.late_ms)
        self._mattered += _late(sample)
        self._answers += sample.completed

    def health(self, cpu: float) -> Health:
        """The health at a share ``cpu`` of a core."""
        lags, late = sorted(self._lags), sorted(self._starts)
        share = self._mattered / len(lags) if lags else 0.0
        return Health(
            loop_lag_ms_p50=round(lags[len(lags) // 2], 3) if lags else None,
            loop_lag_ms_max=round(lags[-1], 3) if lags else None,
            late_share=round(share, 4),
            cpu_share=round(cpu, 4),
            start_late_ms_p99=round(late[min(len(late) - 1, int(0.99 * len(late)))], 3)
            if late
            else None,
            # Where nothing was answered there is no figure that this machine could have touched.
            client_bound=bool(self._answers) and (share > _SHARE or cpu >= _BUSY),
        )


class HealthWatch:
    """Made when the stage begins."""

    def __init__(self) -> None:
        self._t = perf_counter()
        self._cpu = time.process_time()

    def end(self, lateness: Lateness) -> Health:
        """The health over the time since it was made, in which the requests were taken."""
        span = max(perf_counter() - self._t, 1e-9)
        return lateness.health((time.process_time() - self._cpu) / span)
