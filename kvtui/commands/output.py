"""What commands print: JSON that a terminal cannot obey, and an end that loses nothing."""

from __future__ import annotations

import errno
import json
import os
import re
import signal
import sys
from collections.abc import Callable
from contextlib import suppress
from io import StringIO
from typing import IO, Any

import click

from kvtui.text import sanitise

_ACTIVE = re.compile(
    "[\x7f-\x9f\u00ad\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2064\u2066-\u2069\ufeff\ud800-\udfff]"
)
"""What JSON may hold as it is and a terminal would obey or hide."""

_CANNOT_WRITE = (errno.ENOSPC, errno.EIO, errno.EBADF, errno.EFBIG)


def json_text(value: Any, *, indent: int | None = 2) -> str:
    """``value`` as JSON, readable in every script, with nothing in it that moves a cursor."""
    text = json.dumps(value, ensure_ascii=False, indent=indent, allow_nan=False)
    return _ACTIVE.sub(lambda match: f"\\u{ord(match[0]):04x}", text)


def print_json(value: Any, *, indent: int | None = 2) -> None:
    """Print ``value`` as JSON on stdout, in UTF-8 whatever the terminal's encoding."""
    click.echo(json_text(value, indent=indent).encode())


def print_document(text: str) -> None:
    """Print ``text`` on stdout as it is to be in a file, in UTF-8; no terminal obeys any of it."""
    click.echo(sanitise(text).encode(), nl=False)


def put(
    text: object = "",
    *,
    err: bool = False,
    nl: bool = True,
    file: IO[Any] | None = None,
    **style: Any,
) -> None:
    """Print a text, whoever wrote it: what a terminal would obey is shown and not done.

    All that a command prints goes through here, ``print_document`` or ``print_json``.

    Args:
        text: Any; its lines stay lines.
        err: On stderr.
        nl: With an end of the line.
        file: Elsewhere.
        style: As ``click.style`` takes it.
    """
    harmless = sanitise(str(text))
    shown = click.style(harmless, **style) if any(style.values()) else harmless
    click.echo(shown, file=file, err=err, nl=nl)


def run_guarded(command: Callable[[], Any]) -> int:
    """Run a click command and return its exit status, whatever ends it.

    An interrupt is 130, also while modules still load; an output that cannot be written is 2 and
    one sentence; characters that the output's encoding lacks are escaped instead of failing.
    """
    # Closed ones (`>&-`) are None: what is written to them goes nowhere, and fails nothing.
    sys.stdout = sys.stdout or open(os.devnull, "w", encoding="utf-8")  # noqa: PTH123, SIM115
    sys.stderr = sys.stderr or open(os.devnull, "w", encoding="utf-8")  # noqa: PTH123, SIM115
    for stream in (sys.stdout, sys.stderr):
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is not None:
            reconfigure(errors="backslashreplace")
    try:
        status = _status_of(command)
        sys.stdout.flush()
    except BrokenPipeError:  # the reader had enough, as in `| head -1`
        return _drop_stdout(0)
    except OSError as error:
        if error.errno not in _CANNOT_WRITE:
            raise
        _say(f"the output cannot be written: {error.strerror}.")
        return _drop_stdout(2)
    return status


def _status_of(command: Callable[[], Any]) -> int:
    try:
        status = command()
    except (click.exceptions.Abort, KeyboardInterrupt):
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # it may be passed on once more
        return 130
    except click.ClickException as error:
        told = StringIO()
        error.show(told)
        put(told.getvalue(), err=True, nl=False)
        return error.exit_code
    except SystemExit as end:
        status = end.code
    return status if isinstance(status, int) else 0


def _say(sentence: str) -> None:
    with suppress(OSError):  # the terminal that went took both
        sys.stderr.write(f"kvtui: {sentence}\n")


def _drop_stdout(status: int) -> int:
    """Keep Python from trying to write the rest once more when it ends."""
    with open(os.devnull, "wb") as nowhere:  # noqa: PTH123 - devnull is no path
        os.dup2(nowhere.fileno(), 1)
    return status
