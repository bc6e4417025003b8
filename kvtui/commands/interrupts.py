"""Ctrl+C, SIGTERM, SIGHUP while a command works: noted, and what there is by then is printed."""

from __future__ import annotations

import asyncio
import os
import signal
import threading
from collections.abc import Callable, Coroutine, Iterator
from concurrent.futures import Future, wait
from contextlib import contextmanager, suppress
from time import monotonic
from typing import Any, TypeVar

_SIGNALS = tuple(
    number
    for name in ("SIGINT", "SIGTERM", "SIGHUP")  # the last where a terminal or a login goes
    if (number := getattr(signal, name, None)) is not None
)
_SAME_S = 1.0
_LOOK_S = 0.05

T = TypeVar("T")


class Interrupts:
    """What came while a command worked."""

    def __init__(self) -> None:
        self.number = 0
        """The signal that came first; 0 while none has."""
        self._first_s = 0.0
        self._before: dict[int, Any] = {}
        self._then: list[Callable[[], object]] = []

    @property
    def came(self) -> bool:
        """Whether the command is to end."""
        return self.number != 0

    @property
    def status(self) -> int:
        """The exit status of a command that was ended so: 130 after Ctrl+C, else 128 and more."""
        return 128 + self.number

    def then(self, stop: Callable[[], object]) -> None:
        """Call ``stop``, in a thread of its own, as soon as a signal comes; now if one has."""
        self._then.append(stop)
        if self.came:
            _call([stop])

    def result_of(self, future: Future[T]) -> T | None:
        """The future's result; None where a signal came before it was there."""
        while not self.came:
            if wait([future], timeout=_LOOK_S).done:
                return future.result()
        return None

    def run(self, work: Coroutine[Any, Any, T]) -> T | None:
        """What ``work`` gives, run in an event loop; None where a signal came and cancelled it."""

        async def cancellable() -> T:
            loop, task = asyncio.get_running_loop(), asyncio.current_task()
            assert task is not None

            def end() -> None:
                with suppress(RuntimeError):  # the loop is closed: the work is done
                    loop.call_soon_threadsafe(task.cancel)

            self.then(end)
            return await work

        try:
            return asyncio.run(cancellable())
        except asyncio.CancelledError:
            if not self.came:
                raise
            return None

    def take(self, number: int, _frame: object) -> None:
        """A signal: the first is noted, one that comes much later is the usual end.

        Within a second of the first it is the same one: what wraps a command (timeout, uv run)
        passes on what the terminal has sent to the whole group already.
        """
        if not self.came:
            self.number, self._first_s = number, monotonic()
            _call(self._then)
        elif monotonic() - self._first_s > _SAME_S:
            signal.signal(number, self._before[number])
            os.kill(os.getpid(), number)

    def listen(self) -> None:
        """Begin to note. One that the parent made deaf to a signal (a shell's job) stays so."""
        for number in _SIGNALS:
            if (before := signal.getsignal(number)) is not signal.SIG_IGN:
                self._before[number] = before
                signal.signal(number, self.take)

    def end(self, handler: Any = None) -> None:
        """Give every signal that was listened to this handler, or the one it had before."""
        for number, before in self._before.items():
            signal.signal(number, before if handler is None else handler)


def _call(stops: list[Callable[[], object]]) -> None:
    """In a thread: what they lock may be held by the code that the signal has interrupted."""
    for stop in stops:
        threading.Thread(target=stop, daemon=True).start()


@contextmanager
def interrupts_noted() -> Iterator[Interrupts]:
    """Within it a signal breaks nothing off. It goes around all that a command does, printing too.

    After it the command has nothing left to do but to end: signals no longer count, so that one
    that is passed on late changes neither the output nor the status. Where it is left by an
    exception they mean again what they meant before.
    """
    noted = Interrupts()
    if threading.current_thread() is not threading.main_thread():
        yield noted
        return
    noted.listen()
    try:
        yield noted
    except BaseException:
        noted.end()
        raise
    noted.end(signal.SIG_IGN)
