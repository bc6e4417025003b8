"""What the main screen's collaborators need of the app around it."""

# ruff: noqa: D102 - each is described where it is written

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from textual.screen import Screen
    from textual.theme import Theme
    from textual.timer import Timer

    from kvtui.ui.look.veil import Veil
    from kvtui.ui.remembered import Remembered

Severity: TypeAlias = Literal["information", "warning", "error"]


class Say(Protocol):
    """Shows one sentence as a notice: never markup, with nothing secret in it."""

    def __call__(self, sentence: str, severity: Severity = "information") -> None: ...


class Shell(Protocol):
    """The app: options, what is remembered, themes, and the screens over this one."""

    options: dict[str, Any]
    remembered: Remembered
    usual_theme: str
    theme: Any

    @property
    def available_themes(self) -> Mapping[str, Theme]: ...
    @property
    def screen(self) -> Screen[Any]: ...
    @property
    def screen_stack(self) -> Sequence[Screen[Any]]: ...
    def push_screen(self, screen: Any, callback: Any = None) -> Any: ...
    def pop_screen(self) -> Any: ...
    def copy_to_clipboard(self, text: str) -> None: ...
    def set_interval(self, interval: float, callback: Callable[[], Any]) -> Timer: ...
    def choose_theme(self, name: str) -> None: ...
    def hide_names(self, veil: Veil | None) -> None: ...
    def open_tour(self) -> None: ...
    async def run_action(self, action: str) -> bool: ...
    def action_suspend_process(self) -> None: ...
    def exit(self, result: int | None = None) -> None: ...
