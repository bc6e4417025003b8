"""Fixtures shared by the telemetry tests."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest
from fakeserver import FakeServer

from kvtui.telemetry.engines import read_metrics
from kvtui.telemetry.status import ServerStatus

PAGES = Path(__file__).parents[2] / "fixtures" / "metrics"
URL = "http://box:8000/metrics"


@pytest.fixture
def page() -> Callable[[str], str]:
    """The text of a recorded page."""
    return lambda name: (PAGES / name).read_text(encoding="utf-8")


@pytest.fixture
def read(page: Callable[[str], str]) -> Callable[[str], ServerStatus]:
    """A recorded metrics page, read."""

    def reader(name: str) -> ServerStatus:
        status = read_metrics(page(name), URL)
        assert status is not None
        return status

    return reader


@pytest.fixture
async def server() -> AsyncIterator[FakeServer]:
    """A server on a free port of this machine."""
    fake = FakeServer()
    await fake.start()
    yield fake
    await fake.stop()
