"""What belongs to no pane: colours, help, palette, tour."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kvtui.language import tr

if TYPE_CHECKING:
    from kvtui.ui.screens.main.dialogs import Dialogs
    from kvtui.ui.screens.main.opened import Opened
    from kvtui.ui.screens.main.shell import Say, Shell


class Overview:
    """Lists of themes, keys and commands, and the way out."""

    def __init__(self, opened: Opened, shell: Shell, dialogs: Dialogs, say: Say) -> None:
        """Nothing is open.

        Args:
            opened: Which commands make sense now.
            shell: Knows the themes, runs commands, ends.
            dialogs: Show the lists.
            say: Says why the tour cannot begin.
        """
        self._opened = opened
        self._shell = shell
        self._dialogs = dialogs
        self._say = say

    def theme(self) -> None:
        """Choose the colours."""
        from kvtui.ui.look.themes import theme_remark

        themes = self._shell.available_themes
        names = sorted(themes, key=lambda name: not name.startswith("kvtui"))
        choices = [(name, name, theme_remark(name, dark=themes[name].dark)) for name in names]
        self._dialogs.pick(
            tr("Theme"), choices, self._shell.theme, self._shell.choose_theme, self._show_theme
        )

    def _show_theme(self, name: str) -> None:
        """How it would look; nothing is remembered yet."""
        self._shell.theme = name

    def help(self) -> None:
        """Every key."""
        from kvtui.ui.screens.help import HelpScreen

        self._dialogs.open(HelpScreen(embedded=self._opened.embedded))

    def tour(self) -> None:
        """The tour, over the screen as it is, where it may run requests now."""
        if self._opened.conductor is None or self._opened.memory is None:
            self._say(tr("One moment: kvtui is still starting."))
        elif self._opened.running:
            self._say(tr("A stream is running, and the tour would disturb it: esc stops it."))
        else:
            self._shell.open_tour()

    def palette(self) -> None:
        """Find a command by typing."""
        from kvtui.ui.commands import offered, shown_key
        from kvtui.ui.look.rows import left

        choices = [
            (
                command.name,
                f"{left(tr(command.label), 13)} {tr(command.help)}",
                shown_key(command.keys[0]),
            )
            for command in offered(embedded=self._opened.embedded)
            if command.name != "palette"
        ]
        self._dialogs.pick(tr("Commands"), choices, "", self._run)

    async def _run(self, name: str) -> None:
        await self._shell.run_action(f"screen.{name}")

    def suspend(self) -> None:
        """Back to the shell, where there is one."""
        self._shell.action_suspend_process()

    def quit(self) -> None:
        """Leave."""
        self._shell.exit(0)
