"""Reading a file that somebody names: bounded, and never a wait for what may not come.

Importing this is cheap: the screen needs it before its first frame.
"""

from __future__ import annotations

import stat
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from kvtui.language import tr


def read_at_most(path: Path, limit: int) -> bytes:
    """The file's bytes, at most ``limit`` and one more: a device has no size to ask for.

    Raises:
        OSError: It cannot be read, or is a named pipe (see ``refuse_pipe``).
    """
    refuse_pipe(path)
    with path.open("rb") as file:
        return file.read(limit + 1)


def refuse_pipe(path: Path) -> None:
    """Opening a named pipe waits until somebody writes to it, and mostly nobody will.

    A shell's own pipes (``<(command)``) have their writer, and are let through.

    Raises:
        OSError: It is one, or is not there.
    """
    if stat.S_ISFIFO(path.stat().st_mode) and not str(path).startswith(("/dev/fd/", "/proc/")):
        raise OSError(0, tr("it is a pipe: give a file"))


def lines_of(file: BinaryIO, most: int) -> Iterator[bytes]:
    """The lines from here on; of one that is longer than ``most`` bytes only its beginning."""
    while line := file.readline(most):
        yield line
        while len(line) == most and not line.endswith(b"\n"):
            line = file.readline(most)
