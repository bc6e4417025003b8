"""How a command says that its input cannot be used."""

from __future__ import annotations

from typing import IO, TYPE_CHECKING, Any

import click

from kvtui.commands.output import put

if TYPE_CHECKING:
    from kvtui.bench.requests.prepared import Prepared
    from kvtui.bench.requests.session import Session
    from kvtui.bench.requests.targets import Target
    from kvtui.commands.interrupts import Interrupts


class BadInput(click.ClickException):
    """Flags or files that cannot be used: one sentence on stderr, exit status 2."""

    exit_code = 2

    def show(self, file: IO[Any] | None = None) -> None:
        """Print the sentence, and nothing else."""
        put(f"kvtui: {self.format_message()}", err=True, file=file)


def prepared_or_refused(
    session: Session, stop: Interrupts, target: Target | None = None
) -> Prepared | None:
    """What there is to talk to; None where a signal came before that was known.

    Args:
        session: Where requests go through.
        stop: What came meanwhile.
        target: Another endpoint than the session's own.

    Raises:
        BadInput: A flag names a profile or a model file that cannot be used.
    """
    from kvtui.config import ConfigError

    try:
        prepared = stop.result_of(session.prepare(target=target))
    except ConfigError as error:
        raise BadInput(str(error)) from None
    if prepared is None:
        return None
    verdict = prepared.verdict
    if prepared.endpoint.embedded and verdict is not None and verdict.cls == "parameter":
        raise BadInput(verdict.message)
    return prepared
