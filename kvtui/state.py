"""What the app remembers between starts: theme, prompt history, an endpoint's quirks.

``state.toml`` lies in the platform's state folder (``KVTUI_STATE`` overrides). Losing it loses
nothing but comfort, so reading never fails; writing is atomic and for the owner's eyes only.
"""

from __future__ import annotations

import os
import tempfile
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

_LIMIT = 4 << 20
"""Bytes of the state that are read."""


def state_path(environ: Mapping[str, str] = os.environ) -> Path:
    """``state.toml``: where ``KVTUI_STATE`` says, else in the platform's state folder."""
    named = environ.get("KVTUI_STATE")
    if named:
        return Path(named).expanduser()
    from platformdirs import user_state_path

    return user_state_path("kvtui", appauthor=False) / "state.toml"


def load_state(path: Path | None = None) -> dict[str, Any]:
    """The remembered state; empty where there is none or it cannot be read."""
    try:
        with (path or state_path()).open("rb") as file:
            return tomllib.loads(file.read(_LIMIT).decode("utf-8"))
    except (OSError, ValueError, RecursionError):  # ValueError: not TOML, or not UTF-8
        return {}


def save_state(changes: Mapping[str, Any], path: Path | None = None) -> None:
    """Merge ``changes`` (top-level keys; None removes one) into the state and write it.

    Raises:
        OSError: The folder cannot be made or written.
    """
    import tomli_w

    path = path or state_path()
    state = load_state(path) | dict(changes)
    kept = {key: value for key, value in state.items() if value is not None}
    write_atomically(path, tomli_w.dumps(kept).encode("utf-8"))


def write_atomically(path: Path, content: bytes) -> None:
    """Replace ``path`` in one step by a file of mode 0600, so that no reader sees half of it.

    Raises:
        OSError: The folder cannot be made or written.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
        Path(temporary).replace(path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise
