"""Whether this machine is a part of what was measured: only where it changed a figure."""

from __future__ import annotations

import pytest

from kvtui.bench.figures.health import Lateness
from kvtui.bench.figures.sample import Sample


def decoded(**more: float | None) -> Sample:
    """First token after 200 ms, the last 1.3 s later."""
    usual: dict[str, float | None] = {"first_s": 0.2, "last_s": 1.5, "ttft_ms": 200.0}
    return Sample(stage=0, index=0, **{**usual, **more})  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("sample", "late"),
    [
        (decoded(loop_lag_ms=60.0, stamp_lag_ms=0.0), False),  # between the two: moves neither
        (decoded(loop_lag_ms=60.0, stamp_lag_ms=60.0), True),
        (decoded(loop_lag_ms=60.0, stamp_lag_ms=19.0), False),  # as much as DESIGN lets pass
        (decoded(loop_lag_ms=60.0), True),  # a record from before: where it fell is not known
        (decoded(loop_lag_ms=60.0, stamp_lag_ms=30.0, last_s=60.2, ttft_ms=2000.0), False),
        (decoded(loop_lag_ms=60.0, stamp_lag_ms=30.0, last_s=60.2), True),  # 15 % of its TTFT
        (decoded(), False),
    ],
)
def test_late_is_what_changed_a_figure(sample: Sample, late: bool) -> None:
    lateness = Lateness()
    for one in (decoded(loop_lag_ms=0.0), sample):
        lateness.add(one)
    assert lateness.health(0.1).late_share == late / (1 + (sample.loop_lag_ms is not None))


def test_where_nothing_was_answered_no_figure_is_this_machines_doing() -> None:
    """A server that is gone refuses ten requests within a moment, in which a core is busy."""
    lateness = Lateness()
    lateness.add(Sample(stage=0, index=0, cls="network", subcode="refused", failed=True))
    assert not lateness.health(1.0).client_bound
    lateness.add(decoded(loop_lag_ms=0.0))
    assert lateness.health(1.0).client_bound
