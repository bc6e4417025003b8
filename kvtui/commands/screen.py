"""``kvtui`` without a command: the terminal made ready, then the screen."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from typing import Any

PROMPT_LIMIT = 1 << 20
"""Bytes of a prompt that are read from a pipe or a file."""


class ScreenRefused(Exception):  # noqa: N818 - a refusal, said in one sentence
    """There is nothing to draw on. The text is one sentence: why, and what to do."""


def open_screen(options: Mapping[str, Any]) -> int:
    """Read a piped prompt, see to the terminal, open the screen; returns the exit status.

    Raises:
        ScreenRefused: There is no terminal to draw on, or the piped prompt is too large.
    """
    options = dict(options)
    other_driver = bool(os.environ.get("TEXTUAL_DRIVER"))
    piped = None if other_driver else _piped_prompt()
    if piped is not None and not options.get("prompt"):
        options["prompt"] = piped
    if not other_driver:
        _require_terminal()
    os.environ.setdefault("ESCDELAY", "25")  # Textual reads it when it is imported
    from kvtui.ui.app import run

    return run(options)


def _piped_prompt() -> str | None:
    """The text on a piped stdin, after which the terminal takes stdin's place; None without one."""
    if sys.stdin is None or sys.stdin.isatty():
        return None
    data = sys.stdin.buffer.read(PROMPT_LIMIT + 1)
    if len(data) > PROMPT_LIMIT:
        raise ScreenRefused(f"The prompt on stdin is larger than {PROMPT_LIMIT:,} bytes.")
    _stdin_from_terminal()
    return data.decode("utf-8", "replace").strip() or None


def _stdin_from_terminal() -> None:
    device = "CONIN$" if sys.platform == "win32" else "/dev/tty"
    try:
        terminal = os.open(device, os.O_RDWR)
    except OSError:
        raise ScreenRefused(
            "There is no terminal for the screen's keys; `kvtui run` works without one."
        ) from None
    os.dup2(terminal, 0)
    os.close(terminal)
    sys.stdin = os.fdopen(0)


def _require_terminal() -> None:
    if os.environ.get("TERM") == "dumb":
        raise ScreenRefused("TERM=dumb cannot show a screen; `kvtui run` prints the same figures.")
    # Textual draws on stderr, so that is what must be a terminal.
    if sys.__stderr__ is None or not sys.__stderr__.isatty():
        raise ScreenRefused(
            "stderr is no terminal, and the screen is drawn there; `kvtui run` works without one."
        )
