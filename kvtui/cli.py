"""The ``kvtui`` command: the screen at once, everything else through the table of commands."""

from __future__ import annotations

import os
import signal
import sys


def main() -> None:
    """Entry point of the ``kvtui`` command."""
    screen = len(sys.argv) == 1 and "_KVTUI_COMPLETE" not in os.environ
    if screen:
        _end_silently()  # until the screen takes the signals
    try:
        status = _screen() if screen else _run()
    except KeyboardInterrupt:  # while modules still load
        status = 130
    _end_silently()
    sys.exit(status)


def _end_silently() -> None:
    """Ctrl+C ends the process as it does a program that is not Python's: no traceback."""
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, signal.SIG_DFL)


def _screen() -> int:
    """A plain ``kvtui`` has no flags to parse, so it reaches its first frame without click."""
    from kvtui.commands.screen import ScreenRefused, open_screen, say_refusal

    try:
        return open_screen({})
    except ScreenRefused as refusal:
        say_refusal(refusal)
        return 2


def _run() -> int:
    from kvtui.commands.group import kvtui
    from kvtui.commands.output import run_guarded

    return run_guarded(lambda: kvtui(prog_name="kvtui", standalone_mode=False))
