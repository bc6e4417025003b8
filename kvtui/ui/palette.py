"""The palette: the table of commands, found by typing."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from textual.command import DiscoveryHit, Hit, Provider

from kvtui.ui.commands import Command, offered, shown_key

if TYPE_CHECKING:
    from textual.command import Hits


class TableProvider(Provider):
    """Offers every command that makes sense for the endpoint."""

    def _commands(self) -> list[Command]:
        conductor = getattr(self.screen, "conductor", None)
        embedded = conductor is None or conductor.endpoint.embedded
        return [item for item in offered(embedded=embedded) if item.name != "palette"]

    async def discover(self) -> Hits:
        """All commands, in the table's order."""
        for command in self._commands():
            yield DiscoveryHit(
                _title(command),
                partial(self._do, command.name),
                text=_title(command),
                help=command.help,
            )

    async def search(self, query: str) -> Hits:
        """The commands that match."""
        matcher = self.matcher(query)
        for command in self._commands():
            text = f"{_title(command)} {command.help}"
            score = matcher.match(text)
            if score > 0:
                yield Hit(
                    score,
                    matcher.highlight(_title(command)),
                    partial(self._do, command.name),
                    text=_title(command),
                    help=command.help,
                )

    async def _do(self, name: str) -> None:
        await self.screen.run_action(name)


def _title(command: Command) -> str:
    return f"{command.group}: {command.label} ({shown_key(command.keys[0])})"
