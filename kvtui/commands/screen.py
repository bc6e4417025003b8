"""``kvtui`` without a command: the terminal made ready, then the screen."""

from __future__ import annotations

import codecs
import os
import sys
from collections.abc import Mapping
from typing import Any


class ScreenRefused(Exception):  # noqa: N818 - a refusal, said in one sentence
    """There is nothing to draw on. The text is one sentence: why, and what to do."""


def open_screen(options: Mapping[str, Any]) -> int:
    """Read a piped prompt, see to the terminal, open the screen; returns the exit status.

    Raises:
        ScreenRefused: There is no terminal to draw on, or the piped prompt cannot be used.
    """
    options = dict(options)
    _take_language(options.get("lang"))
    if not os.environ.get("TEXTUAL_DRIVER"):
        _take_stdin(options)
        _require_terminal()
        _speak_utf8()
        _measure_terminal()
    os.environ.setdefault("ESCDELAY", "25")  # Textual reads it when it is imported
    from kvtui.ui.app import run

    return run(options)


def say_refusal(refusal: ScreenRefused) -> None:
    """On stderr; where that is closed, to whoever sits at the terminal."""
    from kvtui.text import sanitise

    sentence = f"kvtui: {sanitise(str(refusal))}\n"
    if sys.__stderr__ is not None:
        sys.__stderr__.write(sentence)
        return
    device = "CONOUT$" if sys.platform == "win32" else "/dev/tty"
    try:
        with open(device, "w", encoding="utf-8", errors="replace") as terminal:  # noqa: PTH123
            terminal.write(sentence)
    except OSError:  # nobody sits there
        if sys.__stdout__ is not None:
            sys.__stdout__.write(sentence)


def _take_language(flag: str | None) -> None:
    """The one that a flag or the environment asks for; the settings are read after the frame."""
    from kvtui.language import LanguageError, of_locale, use, wanted

    code = wanted(flag, os.environ) or of_locale(os.environ)
    if code:
        try:
            use(code)
        except LanguageError as error:
            raise ScreenRefused(str(error)) from None


def _take_stdin(options: dict[str, Any]) -> None:
    """A piped stdin gives the prompt, unless a flag does; then the terminal takes its place."""
    if sys.stdin is not None and sys.stdin.isatty():
        return
    if not any(options.get(name) for name in ("prompt", "prompt_file", "messages_file")):
        from kvtui.commands.piped import piped_prompt
        from kvtui.prompt import PromptError

        try:
            piped = piped_prompt()
        except PromptError as error:
            raise ScreenRefused(str(error)) from None
        if piped is not None:
            options["prompt"] = piped
    _stdin_from_terminal()


def _stdin_from_terminal() -> None:
    device = "CONIN$" if sys.platform == "win32" else "/dev/tty"
    try:
        terminal = os.open(device, os.O_RDWR)
    except OSError:
        raise ScreenRefused(
            "There is no terminal for the screen's keys; `kvtui run` works without one."
        ) from None
    if terminal:  # where stdin was closed, the device has its number already
        os.dup2(terminal, 0)
        os.close(terminal)
    # What reads keys asks the original, which is None where the number was closed at the start.
    sys.stdin = sys.__stdin__ = os.fdopen(0)  # type: ignore[misc]


def _require_terminal() -> None:
    if os.environ.get("TERM") == "dumb":
        raise ScreenRefused("TERM=dumb cannot show a screen; `kvtui run` prints the same figures.")
    # Textual draws on stderr, so that is what must be a terminal.
    if sys.__stderr__ is None or not sys.__stderr__.isatty():
        raise ScreenRefused(
            "stderr is no terminal, and the screen is drawn there; `kvtui run` works without one."
        )


def _speak_utf8() -> None:
    """Where no language is set (LANG=C) Python takes the terminal for one that knows ASCII only.

    Raises:
        ScreenRefused: The locale names another encoding: then what is drawn would be in ruins.
    """
    stderr = sys.__stderr__
    encoding = codecs.lookup(getattr(stderr, "encoding", None) or "utf-8").name
    if encoding == "ascii":
        stderr.reconfigure(encoding="utf-8")  # type: ignore[union-attr]
    elif encoding != "utf-8":
        raise ScreenRefused(
            f"This locale's encoding is {encoding}, and the screen is drawn in UTF-8: "
            "LC_ALL=C.UTF-8 kvtui opens it where the terminal shows that."
        )


def _measure_terminal() -> None:
    """The terminal knows its size; COLUMNS and LINES, which would win, may be another one's."""
    try:
        width, height = os.get_terminal_size(2)
    except OSError:
        return
    if width and height:
        for name in ("COLUMNS", "LINES"):
            os.environ.pop(name, None)
