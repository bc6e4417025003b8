"""``kvtui config``: where the configuration lies, what holds, and edits in place."""

from __future__ import annotations

import os
import tomllib
from pathlib import Path
from typing import Any, get_args

import click
import msgspec

from kvtui.commands.errors import BadInput
from kvtui.config import (
    ConfigError,
    Defaults,
    OwnCard,
    Profile,
    config_path,
    load_settings,
    parse_settings,
)
from kvtui.state import state_path, write_atomically
from kvtui.text import one_line

_HEADER = """\
# kvtui's configuration. Flags and environment variables win over what stands here.
# Every setting with its meaning: kvtui config show

# [profiles.vllm-box]
# base_url = "http://127.0.0.1:8000/v1"
# model = "Qwen/Qwen3-8B"
# api_key_env = "VLLM_API_KEY"       # the variable's name, never the key itself
# architecture = "Qwen3-8B"          # for the Memory pane

# [cards.my-card]
# memory_gib = 31.5

[defaults]
# gpu = "24GB"
# max_tokens = 512
# theme = "kvtui-dark"
# record = false                     # keep no record of the screen's runs
"""


@click.group()
def config() -> None:
    """Show or edit the configuration file."""


@config.command()
def path() -> None:
    """Print where the files are."""
    from kvtui.bench.record import runs_path

    click.echo(f"config  {config_path()}")
    click.echo(f"state   {state_path()}")
    click.echo(f"runs    {runs_path()}")


@config.command()
def show() -> None:
    """Print every default in force with its meaning, then profiles and cards."""
    try:
        settings = load_settings()
    except ConfigError as error:
        raise BadInput(str(error)) from None
    exists = settings.path.exists()
    click.echo(f"# {settings.path}{'' if exists else ' (not there yet: kvtui config init)'}")
    click.echo("[defaults]")
    unset = Defaults()
    for field in msgspec.structs.fields(Defaults):
        value = getattr(settings.defaults, field.name)
        origin = "default" if value == getattr(unset, field.name) else "file"
        shown = "—" if value is None else _toml(value)
        click.echo(f"{field.name:<12} = {shown:<16} # {origin}: {_meaning(field.type)}")
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
    _write(target, _HEADER)
    click.echo(target)


@config.command(name="set")
@click.argument("key")
@click.argument("value")
def set_value(key: str, value: str) -> None:
    """Set KEY (as in defaults.gpu, profiles.NAME.base_url) to VALUE, keeping comments and order."""
    import tomlkit
    from tomlkit.exceptions import ParseError

    target = config_path()
    parts = key.split(".")
    if len(parts) < 2 or not all(parts):
        raise BadInput(f"{key!r} is no key; it reads like defaults.gpu.")
    try:
        if target.exists():
            load_settings(target)  # says what is wrong with it, where anything is
        text = target.read_text(encoding="utf-8") if target.exists() else _HEADER
        document = tomlkit.parse(text)
    except ConfigError as error:
        raise BadInput(f"{error} Mend the file first.") from None
    except (OSError, ValueError, ParseError, RecursionError) as error:
        raise BadInput(f"{target} cannot be read: {one_line(str(error))}") from None
    table: Any = document
    for part in parts[:-1]:
        table = table.setdefault(part, tomlkit.table())
        if not isinstance(table, dict):
            raise BadInput(f"{key}: {part} is not a table in {target}.")
    table[parts[-1]] = _value(value)
    new = tomlkit.dumps(document)
    try:
        new.encode()
        settings = parse_settings(tomllib.loads(new), target)
    except (ConfigError, RecursionError) as error:
        raise BadInput(f"Not written: {error}") from None
    except ValueError:
        raise BadInput(
            f"Not written: {one_line(value, 60)!r} is no text that TOML can hold."
        ) from None
    if parts[0] == "defaults":
        from kvtui.commands.names import refuse_wrong_default

        refuse_wrong_default(parts[1], _value(value), settings.cards)
    _write(target, new)
    click.echo(one_line(f"{key} = {_toml(_value(value))}", 500), err=True)


def _write(target: Path, text: str) -> None:
    try:
        write_atomically(target, text.encode("utf-8"))
    except OSError as error:
        raise BadInput(f"{target} cannot be written: {error.strerror or error}") from None


def _value(text: str) -> Any:
    """``text`` as TOML where it is a value of TOML, else as a string."""
    try:
        return tomllib.loads(f"v = {text}")["v"]
    except (ValueError, RecursionError):
        return text


def _toml(value: Any) -> str:
    import tomli_w

    return tomli_w.dumps({"v": value}).removeprefix("v = ").strip()


def _meaning(annotation: Any) -> str:
    for part in get_args(annotation):
        if isinstance(part, msgspec.Meta) and part.description:
            return part.description
        if get_args(part) and (meaning := _meaning(part)):
            return meaning
    return ""


def _show_table(name: str, table: Profile | OwnCard) -> None:
    click.echo(f"\n[{name}]")
    for field in msgspec.structs.fields(table):
        value = getattr(table, field.name)
        if value is None or value == {}:
            continue
        # Header values may hold secrets: their names are enough here.
        shown = ", ".join(value) if field.name == "headers" else _toml(value)
        click.echo(f"{field.name:<16} = {shown}")
    if isinstance(table, Profile) and table.api_key_env:
        state = "set" if os.environ.get(table.api_key_env) else "not set"
        click.echo(f"{'':<16} # {table.api_key_env} is {state}")
