"""The ``kvtui`` command: the screen at once, everything else through the table of commands."""

from __future__ import annotations

import os
import sys


def main() -> None:
    """Entry point of the ``kvtui`` command."""
    try:
        sys.exit(
            _screen() if len(sys.argv) == 1 and "_KVTUI_COMPLETE" not in os.environ else _run()
        )
    except KeyboardInterrupt:  # while modules still load
        sys.exit(130)


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
