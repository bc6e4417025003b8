"""How a command says that its input cannot be used."""

from __future__ import annotations

from typing import IO, Any

import click


class BadInput(click.ClickException):
    """Flags or files that cannot be used: one sentence on stderr, exit status 2."""

    exit_code = 2

    def show(self, file: IO[Any] | None = None) -> None:
        """Print the sentence, and nothing else."""
        click.echo(f"kvtui: {self.format_message()}", file=file, err=True)
