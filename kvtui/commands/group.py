"""The table of commands, each imported only when it runs, and the group that click reads."""

from __future__ import annotations

import sys
from importlib import import_module
from typing import Any, NamedTuple

import click

from kvtui import __version__
from kvtui.commands.options import endpoint_options, memory_options, request_options, screen_options


class _Lazy(NamedTuple):
    """Where a command lives, and the line that stands for it in ``--help``."""

    module: str
    attribute: str
    help: str


COMMANDS: dict[str, _Lazy] = {
    "run": _Lazy("kvtui.commands.run", "run", "One request, or --repeat N, measured."),
    "bench": _Lazy("kvtui.commands.bench", "bench", "Experiments and sweeps; bench --list."),
    "compare": _Lazy("kvtui.commands.compare", "compare", "Two records or more side by side."),
    "runs": _Lazy("kvtui.commands.runs", "runs", "What was recorded: list, tag, note, delete."),
    "replay": _Lazy("kvtui.commands.replay", "replay", "A recorded run again, on the screen."),
    "plan": _Lazy("kvtui.commands.plan", "plan", "What fits on the card."),
    "doctor": _Lazy("kvtui.commands.doctor", "doctor", "Check an endpoint step by step."),
    "status": _Lazy(
        "kvtui.commands.status", "status", "What the server and the card say of themselves."
    ),
    "serve": _Lazy(
        "kvtui.commands.serve", "serve", "The embedded engine as an OpenAI-compatible server."
    ),
    "models": _Lazy("kvtui.commands.catalogue", "models", "The models whose memory is known."),
    "gpus": _Lazy("kvtui.commands.catalogue", "gpus", "The cards and what they truly hold."),
    "themes": _Lazy("kvtui.commands.themes", "themes", "The screen's themes."),
    "config": _Lazy("kvtui.commands.config", "config", "Show or edit the configuration."),
}


_NAMES = ("gpu", "arch", "config_json", "gguf", "kv_dtype", "theme")
"""Options whose values are looked up before the screen opens."""


class LazyGroup(click.Group):
    """A group that imports a command's module when the command is called, not before."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """The commands in the order in which a newcomer meets them."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import and return the command, or None where there is none of that name."""
        lazy = COMMANDS.get(cmd_name)
        if lazy is None:
            return None
        command = getattr(import_module(lazy.module), lazy.attribute)
        assert isinstance(command, click.Command)
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """As click's, with the nearest name where the one given is unknown."""
        from kvtui.text import did_you_mean

        name = args[0]
        if name not in COMMANDS:
            raise click.UsageError(f"No such command {name!r}{did_you_mean(name, COMMANDS)}.", ctx)
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List the commands from the table, importing none of them."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, lazy.help) for name, lazy in COMMANDS.items()])


def _called(ctx: click.Context) -> click.Command:
    """The command that was named."""
    assert isinstance(ctx.command, LazyGroup)
    command = ctx.command.get_command(ctx, ctx.invoked_subcommand or "")
    assert command is not None
    return command


@click.group(
    cls=LazyGroup,
    invoke_without_command=True,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog="Shell completion: _KVTUI_COMPLETE=bash_source kvtui (or zsh_source, fish_source).",
)
@click.version_option(__version__, prog_name="kvtui")
@endpoint_options
@request_options
@memory_options
@screen_options
@click.pass_context
def kvtui(ctx: click.Context, /, **options: Any) -> None:
    """Show how fast an LLM endpoint streams, what its KV cache costs, and why it failed.

    Without a command the screen opens. With no endpoint configured it opens on the embedded
    engine: no key, no GPU, no network. The options below preset the screen.
    """
    if ctx.invoked_subcommand is not None:
        given = [
            name
            for name in options
            if ctx.get_parameter_source(name) is click.core.ParameterSource.COMMANDLINE
        ]
        if given:
            flag = "--" + given[0].replace("_", "-")
            command = _called(ctx)
            if all(param.name != given[0] for param in command.params):
                way = ": set KVTUI_LANG" if given[0] == "lang" else ""
                raise click.UsageError(f"kvtui {ctx.invoked_subcommand} takes no {flag}{way}.", ctx)
            raise click.UsageError(
                f"{flag} belongs after the command: kvtui {ctx.invoked_subcommand} {flag} …", ctx
            )
        return
    from kvtui.commands.screen import ScreenRefused, open_screen, say_refusal

    if any(options[name] for name in _NAMES):
        from kvtui.commands.names import refuse_wrong_names

        refuse_wrong_names(options)
    if options["web"]:
        from kvtui.commands.web import arguments, serve

        sys.exit(serve(arguments(ctx), options["port"]))
    try:
        sys.exit(open_screen(options))
    except ScreenRefused as refusal:
        say_refusal(refusal)
        sys.exit(2)
