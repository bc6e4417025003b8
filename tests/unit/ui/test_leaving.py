"""The process ends: in order after one signal, at once after two, in time where the order hangs."""

from __future__ import annotations

import faulthandler
import os
import queue
import signal
import threading
from collections.abc import Iterator
from typing import Any

import pytest

from kvtui.ui.terminal import leaving as module
from kvtui.ui.terminal.leaving import Leaving, lasting


@pytest.fixture
def ended() -> Iterator[queue.Queue[int]]:
    """The statuses with which the process would have ended."""
    yield queue.Queue()
    faulthandler.cancel_dump_traceback_later()


@pytest.fixture
def leaving(ended: queue.Queue[int], monkeypatch: pytest.MonkeyPatch) -> Iterator[Leaving]:
    monkeypatch.setattr(Leaving, "_restore", lambda self: None)  # the terminal is the tests'
    made = Leaving(ended.put)
    yield made
    for thread in threading.enumerate():
        if thread.name == "kvtui-terminal":  # it may be about to set a time for this process
            thread.join(30)
    if made._timer is not None:
        made._timer.cancel()


def test_before_there_is_a_screen_a_signal_ends_it(
    leaving: Leaving, ended: queue.Queue[int]
) -> None:
    leaving.signalled(signal.SIGTERM)
    assert ended.get_nowait() == 143


def test_one_signal_leaves_in_order_and_a_second_at_once(
    leaving: Leaving, ended: queue.Queue[int]
) -> None:
    left: list[int] = []
    leaving.screen_stands(left.append)
    leaving.signalled(signal.SIGTERM)
    assert (left, ended.empty()) == ([143], True)
    leaving.signalled(signal.SIGTERM)
    assert (left, ended.get_nowait()) == ([143], 143)


def test_an_orderly_way_that_hangs_has_an_end(
    leaving: Leaving, ended: queue.Queue[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "SIGNALLED_S", 0.01)
    leaving.screen_stands(lambda status: None)
    leaving.signalled(signal.SIGHUP)
    assert ended.get(timeout=30) == 129


def test_a_terminal_that_goes_is_left(leaving: Leaving, monkeypatch: pytest.MonkeyPatch) -> None:
    openpty = getattr(os, "openpty", None)
    if openpty is None:
        pytest.skip("no pty")
    ours, theirs = openpty()
    poll = module.select.poll

    class Polled:
        def __init__(self) -> None:
            self.real = poll()

        def register(self, _: int, events: int) -> None:
            self.real.register(theirs, events)

        def poll(self) -> Any:
            return self.real.poll(30_000)

    monkeypatch.setattr(module.select, "poll", Polled)
    left: queue.Queue[int] = queue.Queue()
    leaving.screen_stands(left.put)
    leaving.watch_terminal()
    os.write(ours, b"a key is no hang-up\n")
    os.close(ours)
    assert left.get(timeout=30) == 129
    os.close(theirs)


def test_writing_outlasts_the_terminal() -> None:
    from textual.drivers._writer_thread import MAX_QUEUED_WRITES, WriterThread

    class Gone:
        def write(self, text: str) -> None:
            raise OSError(5, "gone")

        def flush(self) -> None:
            raise OSError(5, "gone")

    def use() -> None:
        writer = lasting(WriterThread)(Gone())
        writer.start()
        for _ in range(3 * MAX_QUEUED_WRITES):
            writer.write("x")
        writer.stop()
        for _ in range(3 * MAX_QUEUED_WRITES):
            writer.write("x")
        writer.stop()

    user = threading.Thread(target=use, daemon=True)
    user.start()
    user.join(30)
    assert not user.is_alive(), "it waits for ever"
