"""Children that hear an interrupt."""

from __future__ import annotations

import signal


def hear_interrupts() -> None:
    """For ``preexec_fn``: where a shell runs the tests in its background, they are deaf to it."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGHUP, signal.SIG_DFL)
