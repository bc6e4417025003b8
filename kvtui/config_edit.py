"""Edits of the configuration file in its place: ``kvtui config set`` and the settings screen.

Comments and order stay (tomlkit); what comes out is validated as reading it would be, names are
looked up where they have a table, and nothing is written that could not be read again.
"""

from __future__ import annotations

import stat
import tomllib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple, get_args, get_type_hints

import msgspec

from kvtui.config import (
    ConfigError,
    Defaults,
    OwnCard,
    Profile,
    Settings,
    load_settings,
    parse_settings,
    profile_taken,
    variable_problem,
)
from kvtui.language import tr
from kvtui.text import did_you_mean, one_line
from kvtui.writing import only_writer, write_atomically

HEADER = """\
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


_BOM = "\ufeff"
"""What some editors put before a text; it stays where it was."""


class Setting(NamedTuple):
    """One key of a section's schema."""

    name: str
    meaning: str
    default: Any
    takes_text: bool
    """A text is a valid value of it."""


def settings_of(schema: type[msgspec.Struct]) -> list[Setting]:
    """The keys of a section with what they mean, from its schema."""
    hints = get_type_hints(schema, include_extras=True)
    return [
        Setting(
            field.name,
            meaning(hints[field.name]),
            _default(field),
            _takes_text(hints[field.name]),
        )
        for field in msgspec.structs.fields(schema)
    ]


def _default(field: msgspec.structs.FieldInfo) -> Any:
    if field.default is not msgspec.NODEFAULT:
        return field.default
    factory: Any = field.default_factory
    return None if factory is msgspec.NODEFAULT else factory()


def meaning(annotation: Any) -> str:
    """The description in a type's annotation; empty where it has none."""
    for part in get_args(annotation):
        if isinstance(part, msgspec.Meta) and part.description:
            return part.description
        if get_args(part) and (found := meaning(part)):
            return found
    return ""


def _takes_text(annotation: Any) -> bool:
    return annotation is str or any(map(_takes_text, get_args(annotation)))


def parse_value(text: str, key: str = "") -> Any:
    """``text`` as TOML where it is a value of TOML that ``key`` may have, else as a string.

    A model that is called 123 needs no quotes.
    """
    try:
        value = tomllib.loads(f"v = {text}")["v"]
    except (ValueError, RecursionError):
        return text
    wants_text = not isinstance(value, str | list | dict) and _is_text(_parts(key))
    return text if wants_text else value


def _is_text(parts: list[str]) -> bool:
    """Whether a key's value is a text."""
    if parts[:1] == ["profiles"] and len(parts) == 4 and parts[2] == "headers":
        return True
    schemas: dict[tuple[str, int], type[msgspec.Struct]] = {
        ("defaults", 2): Defaults,
        ("profiles", 3): Profile,
        ("cards", 3): OwnCard,
    }
    schema = schemas.get((parts[0], len(parts))) if parts else None
    return schema is not None and any(
        setting.takes_text and setting.name == parts[-1] for setting in settings_of(schema)
    )


def toml(value: Any) -> str:
    """A value as it is written in the file."""
    import tomli_w

    return tomli_w.dumps({"v": value}).removeprefix("v = ").strip()


def edited(
    target: Path, changes: Mapping[str, Any], themes: Iterable[str] = ()
) -> tuple[str, Settings]:
    """The file's new text with ``changes``, and the settings that it then holds.

    Args:
        target: The file; where it is not there, a first one is begun.
        changes: Dotted keys (``defaults.gpu``) and their values; None takes a key out.
        themes: The names that a theme may have; empty leaves its name unchecked.

    Raises:
        ConfigError: The file cannot be used as it is, or could not with the changes; one sentence.
    """
    import tomlkit
    from tomlkit.exceptions import ParseError, TOMLKitError

    try:
        if target.exists():
            load_settings(target)  # says what is wrong with it, where anything is
        # As bytes, so that every line keeps its ending.
        text = target.read_bytes().decode() if target.exists() else HEADER
        mark = _BOM if text.startswith(_BOM) else ""
        document = tomlkit.parse(text.removeprefix(_BOM))
    except ConfigError as error:
        raise ConfigError(tr("{error} Mend the file first.", error=error)) from None
    except (OSError, ValueError, ParseError, RecursionError) as error:
        raise ConfigError(
            tr("{target} cannot be read: {error}", target=target, error=one_line(str(error)))
        ) from None
    for key, value in changes.items():
        _no_key_itself(key, value)
        try:
            _put(document, key, value, target)
        except (TOMLKitError, ValueError, TypeError) as error:  # a form of table unforeseen here
            raise ConfigError(tr("Not written: {why}", why=f"{key}: {error}.")) from None
    new = tomlkit.dumps(document)
    try:
        new.encode()
        settings = parse_settings(tomllib.loads(new), target)
    except (ConfigError, RecursionError, tomllib.TOMLDecodeError) as error:
        raise ConfigError(tr("Not written: {why}", why=error)) from None
    except ValueError:
        shown = ", ".join(one_line(str(value), 60) for value in changes.values())
        why = tr("{shown!r} is no text that TOML can hold.", shown=shown)
        raise ConfigError(tr("Not written: {why}", why=why)) from None
    for key, value in changes.items():
        section, _, name = key.partition(".")
        if section == "defaults" and value is not None:
            try:
                check_name(name, value, settings, themes)
            except ValueError as error:
                text = str(error)
                end = "" if text.endswith((".", "?", "。", "？")) else tr(".")
                raise ConfigError(tr("Not written: {why}", why=f"{text}{end}")) from None
    return mark + new, settings


def _no_key_itself(key: str, value: object) -> None:
    """Refuse what should name a variable and does not, before anything could repeat it."""
    named = _parts(key)[-1] == "api_key_env" and isinstance(value, str)
    if named and (problem := variable_problem(str(value))):
        raise ConfigError(tr("Not written: {why}", why=f"{key}: {problem}{tr('.')}"))


def add_profile(target: Path, name: str, values: Mapping[str, Any]) -> Settings:
    """Write a new profile, whatever another kvtui writes into the file meanwhile.

    Raises:
        ConfigError: There is one of that name; and as ``edited`` and ``write`` do.
    """
    with only_writer(target):
        if name in load_settings(target).profiles:
            raise ConfigError(profile_taken(name))
        text, settings = edited(target, {f"profiles.{name}.{key}": values[key] for key in values})
        write(target, text)
    return settings


def edit(target: Path, changes: Mapping[str, Any], themes: Iterable[str] = ()) -> Settings:
    """Change the file (see ``edited``), whatever another kvtui writes into it meanwhile.

    Raises:
        ConfigError: As ``edited`` and ``write`` do.
    """
    with only_writer(target):
        text, settings = edited(target, changes, themes)
        write(target, text)
    return settings


def write(target: Path, text: str) -> None:
    """Put the text in the file's place.

    Raises:
        ConfigError: It cannot be written.
    """
    try:
        # Replacing a file asks only its folder: that it may not be changed is heeded here.
        if target.exists() and not target.stat().st_mode & stat.S_IWUSR:
            raise ConfigError(tr("{target} is read-only: nothing was written.", target=target))
        write_atomically(target, text.encode("utf-8"))
    except OSError as error:
        raise ConfigError(
            tr("{target} cannot be written: {error}.", target=target, error=error.strerror or error)
        ) from None


def _parts(key: str) -> list[str]:
    """The names in a dotted key, of which some may be quoted as in the file."""
    try:
        table: Any = tomllib.loads(f"{key} = 0")
    except (ValueError, RecursionError):
        return key.split(".")
    parts: list[str] = []
    while isinstance(table, dict) and len(table) == 1:
        ((part, table),) = table.items()
        parts.append(part)
    return parts


def _put(document: Any, key: str, value: Any, target: Path) -> None:
    import tomlkit
    from tomlkit.items import InlineTable

    parts = _parts(key)
    if len(parts) < 2 or not all(parts):
        raise ConfigError(tr("{key!r} is no key; it reads like defaults.gpu.", key=key))
    if isinstance(value, dict):
        raise ConfigError(
            tr("{key} would be a table: set its keys one by one, as {key}.NAME.", key=key)
        )
    table: Any = document
    for part in parts[:-1]:
        # A table written in one line holds others written so alone.
        inline = isinstance(table, InlineTable)
        table = table.setdefault(part, tomlkit.inline_table() if inline else tomlkit.table())
        if not isinstance(table, dict):
            raise ConfigError(
                tr("{key}: {part} is not a table in {target}.", key=key, part=part, target=target)
            )
    if value is None:
        table.pop(parts[-1], None)
    else:
        table[parts[-1]] = value


def check_name(key: str, value: object, settings: Settings, themes: Iterable[str] = ()) -> None:
    """Look a value of ``[defaults]`` up, where it is a name.

    Raises:
        ValueError: It is a name that nothing has; one sentence with the nearest one.
    """
    text = str(value)
    if key == "gpu":
        from kvtui.memory import cards

        own = [cards.own(name, card.memory_gib) for name, card in settings.cards.items()]
        cards.find(text, own)
    elif key == "arch":
        from kvtui.memory import catalogue

        catalogue.find(text)
    elif key == "kv_dtype":
        check_precision(text)
    elif key == "theme" and (known := list(themes)) and text not in known:
        raise ValueError(f"no theme {text!r}{did_you_mean(text, known)}")
    elif key == "lang":
        from kvtui.language import codes

        if text not in codes():
            raise ValueError(
                tr(
                    "there is no language {text!r}: there are {codes}",
                    text=text,
                    codes=", ".join(codes()),
                )
            )


def check_precision(name: str) -> None:
    """Look the precision of a KV cache up.

    Raises:
        ValueError: There is none of that name, or it is one of weights only.
    """
    from kvtui.memory import precision

    if name.strip().casefold() == "auto":
        return
    found = precision.parse(name)
    if not found.kv:
        raise ValueError(
            tr("{name} is a precision of weights: no KV cache is stored in it", name=found.name)
        )
