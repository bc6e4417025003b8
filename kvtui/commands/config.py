"""``kvtui config``: where the configuration lies, what holds, and edits in place."""

from __future__ import annotations

import os

import click
import msgspec

from kvtui.commands.errors import BadInput
from kvtui.commands.output import put
from kvtui.config import (
    ConfigError,
    Defaults,
    OwnCard,
    Profile,
    config_path,
    load_settings,
)
from kvtui.config_edit import HEADER, edit, meaning, parse_value, toml, write
from kvtui.places import themes_path
from kvtui.state_file import state_path
from kvtui.text import one_line


@click.group()
def config() -> None:
    """Show or edit the configuration file."""


@config.command()
def path() -> None:
    """Print where the files are."""
    from kvtui.bench.records.record import runs_path

    put(f"config  {config_path()}")
    put(f"state   {state_path()}")
    put(f"runs    {runs_path()}")
    put(f"themes  {themes_path()}")


@config.command()
def show() -> None:
    """Print every default in force with its meaning, then profiles and cards."""
    try:
        settings = load_settings()
    except ConfigError as error:
        raise BadInput(str(error)) from None
    exists = settings.path.exists()
    put(f"# {settings.path}{'' if exists else ' (not there yet: kvtui config init)'}")
    put("[defaults]")
    unset = Defaults()
    for field in msgspec.structs.fields(Defaults):
        value = getattr(settings.defaults, field.name)
        origin = "default" if value == getattr(unset, field.name) else "file"
        shown = "—" if value is None else toml(value)
        put(f"{field.name:<12} = {shown:<16} # {origin}: {meaning(field.type)}")
    for name, profile in settings.profiles.items():
        _show_table(f"profiles.{name}", profile)
    for name, card in settings.cards.items():
        _show_table(f"cards.{name}", card)


@config.command()
def init() -> None:
    """Write a first configuration file with every line commented out."""
    target = config_path()
    if target.exists():
        raise BadInput(f"{target} is there already; `kvtui config set` edits it.")
    try:
        write(target, HEADER)
    except ConfigError as error:
        raise BadInput(str(error)) from None
    put(target)


@config.command(name="set")
@click.argument("key")
@click.argument("value")
def set_value(key: str, value: str) -> None:
    """Set KEY (as in defaults.gpu, profiles.NAME.base_url) to VALUE, keeping comments and order."""
    target = config_path()
    chosen = parse_value(value, key)
    try:
        edit(target, {key: chosen}, _themes() if key == "defaults.theme" else ())
    except ConfigError as error:
        raise BadInput(str(error)) from None
    put(one_line(f"{key} = {toml(chosen)}", 500), err=True)


def _themes() -> list[str]:
    from kvtui.ui.look.themes import all_names  # imports Textual

    return all_names()


def _show_table(name: str, table: Profile | OwnCard) -> None:
    put(f"\n[{name}]")
    for field in msgspec.structs.fields(table):
        value = getattr(table, field.name)
        if value is None or value == {}:
            continue
        # Header values may hold secrets: their names are enough here.
        shown = ", ".join(value) if field.name == "headers" else toml(value)
        put(f"{field.name:<16} = {shown}")
    if isinstance(table, Profile) and table.api_key_env:
        state = "set" if os.environ.get(table.api_key_env) else "not set"
        put(f"{'':<16} # {table.api_key_env} is {state}")
