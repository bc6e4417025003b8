"""Who writes a record holds a lock on its file, which ends with the process, however it ends.

Advisory where the system has ``flock``; on Windows a byte far beyond any file's end is locked. A
file system that knows no locks holds nobody up: its runs are taken for interrupted ones, as before.
"""

from __future__ import annotations

import errno
import os
import sys
import time
from pathlib import Path

_TRIES = 10
_TRY_S = 0.02
"""Who only looks whether a file is locked holds its lock for an instant, too."""
_FAR = 1 << 40
_TAKEN = (errno.EACCES, errno.EAGAIN, errno.EDEADLK)

if sys.platform == "win32":
    import msvcrt

    def _take(file: int, *, shared: bool) -> None:  # noqa: ARG001 - it knows no shared ones
        os.lseek(file, _FAR, os.SEEK_SET)
        msvcrt.locking(file, msvcrt.LK_NBLCK, 1)
else:
    import fcntl

    def _take(file: int, *, shared: bool) -> None:
        fcntl.flock(file, (fcntl.LOCK_SH if shared else fcntl.LOCK_EX) | fcntl.LOCK_NB)


def lock(file: int) -> bool:
    """Take the lock of an open file until it is closed; False where another process has it."""
    for left in reversed(range(_TRIES)):
        if _taken(file, shared=False):
            return True
        if left:
            time.sleep(_TRY_S)
    return False


def is_locked(path: Path) -> bool:
    """Whether a run writes this file now."""
    try:
        file = os.open(path, os.O_RDONLY)
    except OSError:
        return False
    try:
        return not _taken(file, shared=True)
    finally:
        os.close(file)


def _taken(file: int, *, shared: bool) -> bool:
    """Whether the lock is ours now, or there are no locks on this file system."""
    try:
        _take(file, shared=shared)
    except OSError as error:
        return error.errno not in _TAKEN
    return True
