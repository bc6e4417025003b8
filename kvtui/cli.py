"""The ``kvtui`` command: the screen at once, everything else through the table of commands."""

from __future__ import annotations

import os
import sys

from kvtui.commands.screen import ScreenRefused, open_screen


def main() -> None:
    """Entry point of the ``kvtui`` command.

    A plain ``kvtui`` has no flags to parse, so it reaches its first frame without click.
    """
    if len(sys.argv) == 1 and "_KVTUI_COMPLETE" not in os.environ:
        try:
            sys.exit(open_screen({}))
        except ScreenRefused as refusal:
            sys.stderr.write(f"kvtui: {refusal}\n")
            sys.exit(2)
    from kvtui.commands.group import kvtui

    kvtui(prog_name="kvtui")
