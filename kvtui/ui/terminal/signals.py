"""What the app does when it is signalled: leave as ``q`` does, stop as the shell asks, go on."""

from __future__ import annotations

import asyncio
import signal
from contextlib import suppress
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

    from textual.app import App


def obey_signals(app: App[int], repaint: Callable[[], None]) -> None:
    """Take the signals from Textual's driver; to be called once it draws.

    SIGTERM, SIGHUP and SIGQUIT leave with 128 and their number: terminal restored, stream and
    child ended.

    Args:
        app: The app, mounted in the running loop.
        repaint: Called where another program may have drawn on the terminal meanwhile.
    """
    for name in ("SIGTERM", "SIGHUP", "SIGQUIT"):
        number = getattr(signal, name, None)
        if number is not None:
            with suppress(NotImplementedError, ValueError, RuntimeError):  # Windows, a thread
                loop = asyncio.get_running_loop()
                loop.add_signal_handler(number, app.exit, 128 + number)
    if hasattr(signal, "SIGCONT"):
        _resume_once(app, repaint)


def _resume_once(app: App[int], repaint: Callable[[], None]) -> None:
    """Let the driver resume only what it has suspended.

    It takes every SIGCONT for a resumption and starts another reader of the terminal. A terminal
    that closes sends one too: the reader then keeps the process from ending.
    """
    suspend, resume = signal.getsignal(signal.SIGTSTP), signal.getsignal(signal.SIGCONT)
    if not (callable(suspend) and callable(resume)):
        return  # another driver: a test, the browser
    suspended = False

    def stop(number: int, frame: Any) -> None:
        nonlocal suspended
        suspended = True
        suspend(number, frame)

    def go_on(number: int, frame: Any) -> None:
        nonlocal suspended
        if suspended:
            suspended = False
            resume(number, frame)
        elif app.is_running:  # SIGSTOP, which no program hears
            app.call_later(repaint)

    with suppress(ValueError):  # not in the main thread
        signal.signal(signal.SIGTSTP, stop)
        signal.signal(signal.SIGCONT, go_on)
