"""The configuration file: what may stand in it, and what stands in it.

It is only read here (``kvtui config set`` edits it in place, the app never rewrites it); what the
app itself remembers is in ``kvtui.state_file``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Annotated, Any, TypeVar

import msgspec
from msgspec import Meta

from kvtui.config.variables import variable_problem
from kvtui.language import tr
from kvtui.places import config_path as config_path  # where it lies
from kvtui.reading import read_at_most
from kvtui.text import did_you_mean, one_line

FILE_LIMIT = 1 << 20
"""Bytes of a configuration file; more than this is something else."""


_Section = TypeVar("_Section", bound=msgspec.Struct)


class ConfigError(ValueError):
    """A setting that cannot be used. The text is one sentence: file or flag, key, what to do."""


# --- the file's schema: one table for reading, ``config show`` and the settings screen ------------


class Defaults(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """``[defaults]``: what holds where no flag says otherwise."""

    profile: Annotated[str | None, Meta(description="Profile used when none is named")] = None
    gpu: Annotated[str, Meta(description="Card of the Memory pane: 24GB, H100, ...")] = "24GB"
    arch: Annotated[str | None, Meta(description="Catalogue model of the Memory pane")] = None
    kv_dtype: Annotated[str, Meta(description="Precision of the KV cache, or auto")] = "auto"
    context: Annotated[int, Meta(ge=1, description="Tokens reserved per sequence")] | None = None
    concurrency: Annotated[int, Meta(ge=1, description="Sequences at once")] = 1
    prompt: Annotated[str | None, Meta(description="Prompt filled in at the start")] = None
    max_tokens: Annotated[int, Meta(ge=1, description="Most tokens of an answer")] = 512
    temperature: Annotated[float, Meta(ge=0, le=2, description="None: the server's")] | None = None
    theme: Annotated[str | None, Meta(description="Theme of the screen")] = None
    fps: Annotated[int, Meta(ge=1, le=120, description="Frames per second while streaming")] = 30
    lang: Annotated[str | None, Meta(description="Language of the texts")] = None
    threads: Annotated[int, Meta(ge=1, le=64, description="BLAS threads of the engine")] = 1
    record: Annotated[bool, Meta(description="Keep the screen's runs, the newest 200")] = True
    prompt_history: Annotated[bool, Meta(description="Remember the prompts sent")] = True


class Profile(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """``[profiles.NAME]``: one endpoint with its key's origin."""

    base_url: Annotated[str, Meta(min_length=1, description="URL up to and with /v1")]
    model: str | None = None
    api_key_env: Annotated[str | None, Meta(description="Variable that holds the key")] = None
    api_key_command: Annotated[
        list[str] | None, Meta(description="Program (and arguments) that prints the key")
    ] = None
    headers: dict[str, str] = {}
    architecture: Annotated[str | None, Meta(description="Catalogue model it serves")] = None
    gpu: Annotated[str | None, Meta(description="Card it runs on: H100, L4, ...")] = None


class OwnCard(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """``[cards.NAME]``: a card of the user's own."""

    memory_gib: Annotated[float, Meta(gt=0, le=100_000)]
    usable_gib: Annotated[float, Meta(gt=0)] | None = None
    bandwidth_gb_per_s: Annotated[float, Meta(gt=0)] | None = None


@dataclass(frozen=True, slots=True)
class Settings:
    """The file, validated."""

    path: Path
    defaults: Defaults = field(default_factory=Defaults)
    profiles: Mapping[str, Profile] = field(default_factory=lambda: MappingProxyType({}))
    cards: Mapping[str, OwnCard] = field(default_factory=lambda: MappingProxyType({}))


def load_settings(path: Path | None = None) -> Settings:
    """Read and validate the configuration file; a file that is not there means the defaults.

    Raises:
        ConfigError: It cannot be read or parsed, or a key in it is unknown or of the wrong type.
    """
    import tomllib

    path = path or config_path()
    try:
        data = tomllib.loads(_read(path).decode("utf-8-sig"))
    except FileNotFoundError:
        return Settings(path)
    except OSError as error:
        raise ConfigError(
            tr("{path} cannot be read: {error}.", path=path, error=error.strerror or error)
        ) from None
    except UnicodeDecodeError as error:
        raise ConfigError(
            tr("{path} is not UTF-8 text (byte {start}).", path=path, start=error.start)
        ) from None
    except ConfigError:
        raise
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(
            tr("{path} is not valid TOML: {error}.", path=path, error=one_line(str(error)))
        ) from None
    except (ValueError, RecursionError):  # a number of 5,000 digits, 500 brackets
        raise ConfigError(
            tr("{path} is not valid TOML: too deep, or a number too long.", path=path)
        ) from None
    return parse_settings(data, path)


def _read(path: Path) -> bytes:
    content = read_at_most(path, FILE_LIMIT)
    if len(content) > FILE_LIMIT:
        raise ConfigError(
            tr(
                "{path} is larger than {limit:,} bytes: no configuration.",
                path=path,
                limit=FILE_LIMIT,
            )
        )
    return content


def parse_settings(data: Mapping[str, Any], path: Path) -> Settings:
    """Validate the parsed content of a configuration file (see ``load_settings``)."""
    _known_keys(data, ("defaults", "profiles", "cards"), path, "")
    profiles = {
        name: _section(table, Profile, path, f"profiles.{name}")
        for name, table in _table(data.get("profiles", {}), path, "profiles").items()
    }
    cards = {
        name: _section(table, OwnCard, path, f"cards.{name}")
        for name, table in _table(data.get("cards", {}), path, "cards").items()
    }
    defaults = _section(data.get("defaults", {}), Defaults, path, "defaults")
    for name, profile in profiles.items():
        if profile.api_key_env is not None and (problem := variable_problem(profile.api_key_env)):
            raise ConfigError(f"{path}: profiles.{name}.api_key_env: {problem}{tr('.')}")
    if defaults.profile is not None and defaults.profile not in profiles:
        raise ConfigError(
            tr(
                "{path}: defaults.profile names {profile!r}, which is no profile in it{hint}.",
                path=path,
                profile=defaults.profile,
                hint=did_you_mean(defaults.profile, profiles),
            )
        )
    return Settings(path, defaults, MappingProxyType(profiles), MappingProxyType(cards))


def profile_taken(name: str) -> str:
    """That a profile's name cannot be had."""
    return tr("There is a profile {name} already: give another name.", name=name)


def _table(value: Any, path: Path, where: str) -> Mapping[str, Any]:
    if not isinstance(value, dict):
        raise ConfigError(
            tr(
                "{path}: {where} must be a table, not {kind}.",
                path=path,
                where=where,
                kind=type(value).__name__,
            )
        )
    return value


def _known_keys(table: Mapping[str, Any], known: tuple[str, ...], path: Path, where: str) -> None:
    for key in table:
        if key not in known:
            name = f"{where}.{key}" if where else key
            raise ConfigError(
                tr(
                    "{path}: unknown key {name}{hint}.",
                    path=path,
                    name=name,
                    hint=did_you_mean(key, known),
                )
            )


def _section(value: Any, schema: type[_Section], path: Path, where: str) -> _Section:
    table = _table(value, path, where)
    _known_keys(table, schema.__struct_fields__, path, where)
    try:
        return msgspec.convert(table, schema)
    except msgspec.ValidationError as error:
        text, _, at = str(error).partition(" - at `$")
        key = where + (at.rstrip("`") if at else "")
        raise ConfigError(f"{path}: {key}: {text}.") from None
