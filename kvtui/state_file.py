"""What the app remembers between starts: theme, splits, prompt history, an endpoint's quirks.

``state.toml`` lies in the platform's state folder (``KVTUI_STATE`` overrides). Losing it loses
nothing but comfort, so reading never fails; writing is atomic and for the owner's eyes only.
"""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from kvtui.language import tr
from kvtui.places import state_path as state_path  # where it lies
from kvtui.reading import read_at_most

_LIMIT = 4 << 20
"""Bytes of the state that are read."""


class State(NamedTuple):
    """What ``state.toml`` held, and why it could not be read (one sentence, or empty)."""

    content: dict[str, Any]
    problem: str = ""
    damaged: bool = False
    """The file is there, and is no state: it is put aside before another is written."""


def read_state(path: Path | None = None) -> State:
    """The remembered state, or an empty one with the reason; no file is no problem."""
    path = path or state_path()
    try:
        content = read_at_most(path, _LIMIT)
    except (FileNotFoundError, NotADirectoryError):
        return State({})
    except OSError as error:
        reason = error.strerror or str(error)
        return State(
            {},
            tr(
                "{path} cannot be read ({reason}): nothing is remembered.", path=path, reason=reason
            ),
        )
    if len(content) <= _LIMIT:
        try:
            return State(tomllib.loads(content.decode("utf-8")))
        except (ValueError, RecursionError):  # ValueError: not TOML, or not UTF-8
            pass
    problem = tr(
        "{path} is damaged: nothing in it is used. It becomes {aside} when kvtui has something to"
        " remember.",
        path=path,
        aside=_aside(path).name,
    )
    return State({}, problem, damaged=True)


def load_state(path: Path | None = None) -> dict[str, Any]:
    """The remembered state; empty where there is none or it cannot be read."""
    return read_state(path).content


def save_state(changes: Mapping[str, Any], path: Path | None = None) -> None:
    """Merge ``changes`` (top-level keys; None removes one) into the state and write it.

    Raises:
        OSError: The folder cannot be made or written, or the file cannot be read.
    """
    change_state(lambda _: changes, path)


def change_state(
    change: Callable[[Mapping[str, Any]], Mapping[str, Any]], path: Path | None = None
) -> None:
    """Write what ``change`` makes of the state.

    The screen, its session's thread and every other kvtui change the one file, each its own part.

    Args:
        change: Given the state as it is now, returns what is to be changed in it (see
            ``save_state``); nothing: nothing is written.
        path: The file, where it is another one.

    Raises:
        OSError: The folder cannot be made or written, or the file cannot be read.
    """
    import tomli_w

    from kvtui.writing import only_writer, write_atomically

    path = path or state_path()
    with only_writer(path):
        state = read_state(path)
        changes = change(state.content)
        if not changes:
            return
        if state.damaged:
            path.replace(_aside(path))
        elif state.problem:  # what cannot be read may be dear to somebody
            raise OSError(0, state.problem.removeprefix(f"{path} "))
        merged = state.content | dict(changes)
        kept = {key: value for key, value in merged.items() if value is not None}
        write_atomically(path, tomli_w.dumps(kept).encode("utf-8", "replace"))  # half a character


def _aside(path: Path) -> Path:
    return path.with_name(f"{path.name}.damaged")
