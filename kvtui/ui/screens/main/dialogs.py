"""The screens that are opened over the main one, and the clipboard."""

from __future__ import annotations

from inspect import isawaitable
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable

    from textual.screen import Screen

    from kvtui.ui.screens.main.shell import Shell
    from kvtui.ui.screens.picker import Choice

_S = TypeVar("_S", bound="Screen[Any]")


class Dialogs:
    """Opens and closes what lies over the main screen."""

    def __init__(self, shell: Shell, under: Screen[Any]) -> None:
        """Nothing is open yet.

        Args:
            shell: The app, which holds the screens.
            under: The screen that they lie over.
        """
        self._shell = shell
        self._under = under

    def open(self, screen: Screen[Any], then: Callable[[Any], object] | None = None) -> None:
        """Put a screen on top; ``then`` is called with what it returns."""
        self._shell.push_screen(screen, then)

    def text(self, title: str, text: str) -> None:
        """Show a longer text."""
        from kvtui.ui.screens.body import BodyScreen

        self.open(BodyScreen(title, text))

    def pick(
        self,
        title: str,
        choices: list[Choice],
        current: str,
        then: Callable[[str], Any],
        preview: Callable[[str], Any] | None = None,
    ) -> None:
        """Let one of the choices be taken.

        Args:
            title: What is chosen.
            choices: ``(value, name, remark)`` each.
            current: The value in force, which is marked.
            then: Called with the value taken; what it returns is awaited, if it can be.
            preview: Called with each value that the cursor comes to.
        """
        from kvtui.ui.screens.picker import PickerScreen

        async def chosen(value: str | None) -> None:
            if value is not None:
                done = then(value)
                if isawaitable(done):
                    await done

        self._shell.push_screen(PickerScreen(title, choices, current, preview), chosen)

    def opened(self, kind: type[_S]) -> list[_S]:
        """The screens of a kind that are open, the lowest first."""
        return [screen for screen in self._shell.screen_stack if isinstance(screen, kind)]

    def lay_open(self, screen: Screen[Any] | None = None) -> None:
        """Close what lies over a screen; over the main one where none is named."""
        below = self._under if screen is None else screen
        while self._shell.screen is not below:
            self._shell.pop_screen()

    def copy(self, text: str) -> None:
        """Put a text on the clipboard."""
        self._shell.copy_to_clipboard(text)
