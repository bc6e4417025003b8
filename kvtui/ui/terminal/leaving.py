"""The end of the process: it comes, whatever hangs, and the terminal is given back before.

A signal leaves in an orderly way. A second one, or an orderly way that takes too long, ends the
process at once. So does a terminal that has gone: nobody is there to send a second signal.
"""

from __future__ import annotations

import faulthandler
import os
import select
import signal
import sys
import threading
from contextlib import suppress
from typing import TYPE_CHECKING, Any, NoReturn

if TYPE_CHECKING:
    from collections.abc import Callable

LEAVE_S = 10.0
"""For leaving in an orderly way: runs are written, the engine's process is ended."""
SIGNALLED_S = 5.0
"""For the same after a signal, or where the terminal has gone."""
_HARD_S = 3.0
"""Behind either: then the process ends even where no Python code can run any more."""
_SIGNALS = ("SIGINT", "SIGTERM", "SIGHUP", "SIGQUIT")
_RESTORED = (
    "\x1b[?1000l\x1b[?1003l\x1b[?1015l\x1b[?1006l\x1b[?2004l\x1b[?2048l\x1b[?1004l\x1b[<u"
    "\x1b[?7h\x1b[?1049l\x1b[?25h"
)
"""No mouse, no bracketed paste, no reports; lines wrap; the main buffer with its cursor."""


class Leaving:
    """How this process ends while the screen is open."""

    def __init__(self, end: Callable[[int], object] = os._exit) -> None:
        """Nothing is taken over yet.

        Args:
            end: Ends the process with a status, at once.
        """
        self._end = end
        self._leave: Callable[[int], object] | None = None
        self._asked = False
        self._timer: threading.Timer | None = None
        self._attributes: list[Any] | None = None
        self._drawn = False

    def take_signals(self) -> None:
        """From the first moment: until the screen is there, a signal ends the process in silence.

        What was ignored before stays so (``nohup``), and nothing happens off the main thread.
        """
        if threading.current_thread() is not threading.main_thread():
            return
        for name in _SIGNALS:
            number = getattr(signal, name, None)
            if number is not None and signal.getsignal(number) is not signal.SIG_IGN:
                signal.signal(number, self.signalled)
        with suppress(ImportError, OSError, ValueError):  # Windows; no terminal
            import termios

            with suppress(termios.error):
                self._attributes = termios.tcgetattr(0)

    def screen_begins(self) -> None:
        """From now on the terminal is drawn on; there is nothing yet to be left in order."""
        self._drawn = True

    def screen_stands(self, leave: Callable[[int], object]) -> None:
        """The first frame is drawn.

        Args:
            leave: Leaves in an orderly way with a status; called on any thread.
        """
        self._leave = leave

    def watch_terminal(self) -> None:
        """Leave when the terminal goes; a thread that sleeps until then."""
        threading.Thread(target=self._await_hangup, name="kvtui-terminal", daemon=True).start()

    def signalled(self, number: int, _frame: object = None) -> None:
        """What a signal does."""
        self.leave(128 + number)

    def leave(self, status: int) -> None:
        """Leave in an orderly way, but soon; asked a second time, at once."""
        if self._asked or self._leave is None:
            self.now(status)
            return
        self._asked = True
        with suppress(RuntimeError):  # its loop has ended: the rest is on its way
            self._leave(status)
        self.within(SIGNALLED_S, status)

    def within(self, seconds: float, status: int) -> None:
        """End with ``status`` in ``seconds`` at the latest; the nearest end counts."""
        if self._timer is not None:
            self._timer.cancel()
        self._timer = threading.Timer(seconds, self.now, (status,))
        self._timer.daemon = True
        self._timer.start()
        with suppress(OSError, ValueError, RuntimeError):
            # Its own thread, below Python's: nothing that hangs inside a library holds it up.
            nowhere = os.open(os.devnull, os.O_WRONLY)
            faulthandler.dump_traceback_later(seconds + _HARD_S, exit=True, file=nowhere)

    def now(self, status: int) -> None:
        """Give the terminal back and end."""
        if self._drawn:
            self._restore()
        self._end(status)

    def done(self, status: int) -> NoReturn:
        """The orderly end: nothing is joined, no thread's lock is waited for."""
        self.within(SIGNALLED_S, status)  # a pipe that nobody reads
        for stream in (sys.stdout, sys.stderr):
            with suppress(AttributeError, OSError, ValueError):
                stream.flush()
        self._end(status)
        raise SystemExit(status)  # where the end is a test's

    def _restore(self) -> None:
        with suppress(OSError):
            os.write(2, _RESTORED.encode())
        if self._attributes is not None:
            import termios

            with suppress(OSError, ValueError, termios.error):
                termios.tcsetattr(0, termios.TCSANOW, self._attributes)

    def _await_hangup(self) -> None:
        with suppress(OSError, AttributeError, ValueError):  # no poll, as on Windows
            poll = select.poll()
            poll.register(0, 0)  # asked for nothing, it tells of a hang-up alone
            if any(happened & select.POLLHUP for _, happened in poll.poll()):
                hangup = getattr(signal, "SIGHUP", 1)
                self.leave(128 + hangup)


def lasting(stock: type[Any]) -> type[Any]:
    """A terminal's writing thread that outlasts the terminal.

    Textual's ends with the first write that fails, and whoever hands it the next thirty pieces
    waits for ever.
    """

    class LastingWriter(stock):  # type: ignore[misc]  # a class only known when the driver is
        """Writes, and throws away what can no longer be written."""

        def write(self, text: str) -> None:
            """Hand a piece over; to a thread that has ended, nothing."""
            if self.is_alive():
                super().write(text)

        def run(self) -> None:
            """Write until told to stop."""
            try:
                super().run()
            except (OSError, ValueError):  # the terminal has gone
                while self._queue.get() is not None:
                    pass

        def stop(self) -> None:
            """Stop it and wait, where it runs."""
            if self.is_alive():
                super().stop()

    return LastingWriter


def keep_writing() -> None:
    """Have the terminal's driver (imported already) write by a thread that lasts."""
    module = sys.modules.get("textual.drivers.linux_driver")
    stock = getattr(module, "WriterThread", None)
    if isinstance(stock, type) and hasattr(stock, "run") and stock.__name__ != "LastingWriter":
        setattr(module, "WriterThread", lasting(stock))  # noqa: B010 - not exported by its stub
