"""What the screen keeps between starts: read once, written a moment after the last change.

Nothing read from the file is trusted to have its type: what has another one counts as not there.
"""

from __future__ import annotations

from threading import Lock, Timer
from typing import TYPE_CHECKING, Any, TypeGuard, TypeVar

from kvtui.language import tr
from kvtui.state_file import change_state, read_state

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

_T = TypeVar("_T")
PAUSE_S = 0.5
"""Dragging a split changes it many times a second; it is written once."""


def _is_texts(value: object) -> TypeGuard[list[str]]:
    return isinstance(value, list) and all(isinstance(each, str) for each in value)


class Remembered:
    """The state file's content as the screen uses it."""

    def __init__(self, say: Callable[[str], None] | None = None) -> None:
        """Read the file.

        Args:
            say: told once, from another thread, why nothing can be written.
        """
        state = read_state()
        self.problem = state.problem
        """Why nothing is remembered, one sentence; empty where all is well."""
        self._content = state.content
        self._seen = {key: set(value) for key, value in state.content.items() if _is_texts(value)}
        """Texts of each list that were there, or are this screen's own."""
        self._say = say
        self._changes: dict[str, Any] = {}
        self._lock = Lock()
        self._writing = Lock()
        self._timer: Timer | None = None

    def get(self, key: str, kind: type[_T]) -> _T | None:
        """The value of ``key``, where it is of that type."""
        value = self._content.get(key)
        return value if isinstance(value, kind) else None

    def put(self, key: str, value: Any) -> None:
        """Remember a value (None: forget it); the file follows after a moment."""
        self._content[key] = value
        with self._lock:
            self._changes[key] = value
            if self._timer is None:
                self._timer = Timer(PAUSE_S, self.write)
                self._timer.daemon = True
                self._timer.start()

    def _joined(self, key: str, value: Any, now: Mapping[str, Any]) -> Any:
        """A list of texts with those before it that another screen has put into the file."""
        if not _is_texts(value):
            return value
        seen = self._seen.setdefault(key, set())
        seen.update(value)
        others = now.get(key)
        new = [text for text in others if text not in seen] if _is_texts(others) else []
        return [*new, *value]

    def write(self) -> None:
        """Write what has changed, and return when it is written; why it cannot be is said once."""
        with self._writing:  # whoever comes while another writes waits for that, too
            with self._lock:
                changes, self._changes = self._changes, {}
                timer, self._timer = self._timer, None
            if timer is not None:
                timer.cancel()
            try:
                if changes:
                    change_state(
                        lambda now: {k: self._joined(k, v, now) for k, v in changes.items()}
                    )
            except OSError as error:
                say, self._say = self._say, None
                if say is not None:
                    say(
                        tr(
                            "Choices cannot be remembered: {strerror}.",
                            strerror=error.strerror or error,
                        )
                    )
