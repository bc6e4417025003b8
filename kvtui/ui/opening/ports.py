"""What is needed of the app and of its screen while everything behind them is opened."""

# ruff: noqa: D102 - each is described where it is written

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from textual.message import Message

    from kvtui.ui.remembered import Remembered
    from kvtui.ui.stream.conductor import Conductor


class ScreenLike(Protocol):
    """Hears what was opened."""

    def post_message(self, message: Message) -> bool: ...
    def refresh_language(self) -> None: ...


class AppLike(Protocol):
    """Whose options count, and who has to know what is to be closed at the end."""

    options: dict[str, Any]
    remembered: Remembered
    conductor: Conductor | None

    @property
    def main(self) -> ScreenLike: ...
    @property
    def available_themes(self) -> Mapping[str, object]: ...
    def call_later(self, callback: Callable[..., Any], *args: Any) -> bool: ...
    def warn(self, sentence: str) -> None: ...
