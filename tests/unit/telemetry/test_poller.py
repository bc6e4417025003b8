"""The poller: its thread, its pauses, and that it says nothing before it is started."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable

import pytest
from fakeserver import FakeServer

from kvtui.telemetry.poller import TelemetryPoller, pause_s
from kvtui.telemetry.status import ServerStatus

Page = Callable[[str], str]


class Statuses:
    """What a poller reported, handed over to the test's loop."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._queue: asyncio.Queue[ServerStatus] = asyncio.Queue()
        self.threads: set[str] = set()

    def __call__(self, status: ServerStatus) -> None:
        self.threads.add(threading.current_thread().name)
        self._loop.call_soon_threadsafe(self._queue.put_nowait, status)

    async def next(self) -> ServerStatus:
        return await asyncio.wait_for(self._queue.get(), 20)


@pytest.fixture
async def statuses() -> Statuses:
    return Statuses()


async def test_nothing_is_sent_before_start_and_nothing_after_stop(
    server: FakeServer, page: Page, statuses: Statuses
) -> None:
    server.text("/metrics", page("vllm.prom"))
    poller = TelemetryPoller(f"{server.origin}/v1", on_status=statuses)
    assert poller.latest() is None
    assert server.asked == []
    assert poller.start() is poller
    poller.start()
    status = await statuses.next()
    assert status == poller.latest()
    assert status.kv_usage == 0.25
    assert statuses.threads == {"kvtui-telemetry"}
    poller.stop()
    assert await asyncio.to_thread(poller.join, 20)
    server.asked.clear()
    poller.wake()
    poller.start()
    poller.stop()
    assert server.asked == []


async def test_rates_come_with_the_second_look(
    server: FakeServer, page: Page, statuses: Statuses
) -> None:
    text = page("vllm.prom")
    server.text("/metrics", text)
    poller = TelemetryPoller(f"{server.origin}/v1", period_s=60, on_status=statuses).start()
    first = await statuses.next()
    assert first.generation_tps is None
    server.text("/metrics", text.replace(" 4200.0", " 4300.0"))
    poller.wake()
    second = await statuses.next()
    assert second.generation_tps == pytest.approx(100 / (second.at - first.at))
    assert second.at - first.at >= 1.0, "woken, but never twice a second"
    poller.stop()
    assert await asyncio.to_thread(poller.join, 20)


async def test_stop_ends_a_look_under_way(server: FakeServer) -> None:
    server.hang("/metrics")
    poller = TelemetryPoller(f"{server.origin}/v1", timeout_s=300).start()
    await server.reached.wait()
    poller.stop()
    assert await asyncio.to_thread(poller.join, 20)


async def test_a_poller_stopped_before_its_thread_runs_sends_nothing(server: FakeServer) -> None:
    poller = TelemetryPoller(f"{server.origin}/v1")
    poller.stop()
    poller.start()
    assert poller.join(1)
    assert server.asked == []


def test_no_url_is_refused_at_once() -> None:
    with pytest.raises(ValueError, match="http"):
        TelemetryPoller("localhost:8000/v1")


@pytest.mark.parametrize(
    ("status", "failures", "quiet", "expected"),
    [
        (ServerStatus("vllm"), 0, False, 1.0),
        (ServerStatus("ollama"), 0, False, 10.0),
        (ServerStatus(), 0, True, 60.0),
        (ServerStatus(answered=False), 1, False, 1.0),
        (ServerStatus(answered=False), 4, False, 8.0),
        (ServerStatus(answered=False), 900, True, 60.0),
    ],
)
def test_pauses(status: ServerStatus, failures: int, quiet: bool, expected: float) -> None:
    assert pause_s(status, failures, quiet=quiet, period_s=1.0, longest_s=60.0) == expected
