"""What the app does when the shell stops it and lets it go on (signals that end: ``leaving``)."""

from __future__ import annotations

import signal
from contextlib import suppress
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

    from textual.app import App


def resume_once(app: App[int], repaint: Callable[[], None]) -> None:
    """Let the driver resume only what it has suspended.

    It takes every SIGCONT for a resumption and starts another reader of the terminal. A terminal
    that closes sends one too: the reader then keeps the process from ending.

    Args:
        app: The app, whose driver has just been made.
        repaint: Called where another program may have drawn on the terminal meanwhile.
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
