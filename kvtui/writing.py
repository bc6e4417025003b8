"""Writing a file that others read and write too: whole or not at all, and one after the other."""

from __future__ import annotations

import errno
import os
import stat
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from kvtui.places import is_homeless

_PATIENCE_S = 2.0
"""Seconds to wait for another program that writes in the same folder."""
_LOOK_S = 0.01
_threads = threading.RLock()


@contextmanager
def only_writer(path: Path) -> Iterator[None]:
    """Read, change and write ``path`` within this: no other thread or kvtui does so meanwhile.

    The folder is what is locked, so that nothing is left lying beside the file. Where the system
    or the file's place know no such lock, or another program keeps it, writing goes on without:
    then the last one's changes stay.
    """
    with _threads:
        handle = _locked(path)
        try:
            yield
        finally:
            if handle is not None:
                os.close(handle)  # which unlocks


def _locked(path: Path) -> int | None:
    try:
        import fcntl

        with suppress(RuntimeError):
            path = path.resolve()
        handle = os.open(path.parent, os.O_RDONLY)
    except (ImportError, OSError):  # Windows; no such folder
        return None
    end = time.monotonic() + _PATIENCE_S
    while True:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() < end:
                time.sleep(_LOOK_S)
                continue
        except OSError:  # a file system without locks
            pass
        return handle


def write_new(path: Path, content: bytes) -> None:
    """Make the file; where there is no room for all of it, none of it stays.

    Raises:
        FileExistsError: There is one.
        OSError: It cannot be made or written.
    """
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
    except BaseException:
        path.unlink(missing_ok=True)
        raise


def write_atomically(path: Path, content: bytes, *, private: bool = True) -> None:
    """Replace ``path`` in one step, so that no reader sees half of it.

    A link stays one: what it leads to is replaced. On a full disk the file stays as it was.

    Args:
        path: The file.
        content: All of it.
        private: For its owner's eyes (mode 0600); else as the file that is replaced.

    Raises:
        OSError: The folder cannot be made or written, or the link leads nowhere.
    """
    if is_homeless(path):
        raise OSError(0, "no home folder is known")
    with suppress(RuntimeError):  # so Python 3.11 and 3.12 say that links lead in a circle
        path = path.resolve()
    if path.is_symlink():
        raise OSError(errno.ELOOP, os.strerror(errno.ELOOP))
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(handle)  # some file systems tell only here that there was no room
        if not private:
            Path(temporary).chmod(stat.S_IMODE(path.stat().st_mode))
        Path(temporary).replace(path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise
