"""Which endpoint, which key, which settings: flags > environment > TOML file > defaults.

The file is only read here (``kvtui config set`` edits it in place, the app never rewrites it);
what the app itself remembers is in ``kvtui.state``.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import msgspec
from msgspec import Meta

from kvtui.places import config_path as config_path  # where it lies
from kvtui.text import did_you_mean, one_line

OPENAI_URL = "https://api.openai.com/v1"
TAOTOKEN_URL = "https://taotoken.net/api/v1"
EMBEDDED = "embedded"
"""The profile that every configuration has: the engine of one's own, whatever variables are set."""
KEY_VARIABLES = ("OPENAI_API_KEY", "TAOTOKEN_API_KEY")
_KEY_COMMAND_SECONDS = 15.0
_KEY_LIMIT = 64 << 10
FILE_LIMIT = 1 << 20
"""Bytes of a configuration file; more than this is something else."""


if TYPE_CHECKING:
    import subprocess

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
        raise ConfigError(f"{path} cannot be read: {error.strerror or error}.") from None
    except UnicodeDecodeError as error:
        raise ConfigError(f"{path} is not UTF-8 text (byte {error.start}).") from None
    except ConfigError:
        raise
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(f"{path} is not valid TOML: {one_line(str(error))}.") from None
    except (ValueError, RecursionError):  # a number of 5,000 digits, 500 brackets
        raise ConfigError(f"{path} is not valid TOML: too deep, or a number too long.") from None
    return parse_settings(data, path)


def _read(path: Path) -> bytes:
    with path.open("rb") as file:  # bounded by reading: a device has no size to ask for
        content = file.read(FILE_LIMIT + 1)
    if len(content) > FILE_LIMIT:
        raise ConfigError(f"{path} is larger than {FILE_LIMIT:,} bytes: no configuration.")
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
    if defaults.profile is not None and defaults.profile not in profiles:
        raise ConfigError(
            f"{path}: defaults.profile names {defaults.profile!r}, which is no profile in it"
            f"{did_you_mean(defaults.profile, profiles)}."
        )
    return Settings(path, defaults, MappingProxyType(profiles), MappingProxyType(cards))


def _table(value: Any, path: Path, where: str) -> Mapping[str, Any]:
    if not isinstance(value, dict):
        raise ConfigError(f"{path}: {where} must be a table, not {type(value).__name__}.")
    return value


def _known_keys(table: Mapping[str, Any], known: tuple[str, ...], path: Path, where: str) -> None:
    for key in table:
        if key not in known:
            name = f"{where}.{key}" if where else key
            raise ConfigError(f"{path}: unknown key {name}{did_you_mean(key, known)}.")


def _section(value: Any, schema: type[_Section], path: Path, where: str) -> _Section:
    table = _table(value, path, where)
    _known_keys(table, schema.__struct_fields__, path, where)
    try:
        return msgspec.convert(table, schema)
    except msgspec.ValidationError as error:
        text, _, at = str(error).partition(" - at `$")
        key = where + (at.rstrip("`") if at else "")
        raise ConfigError(f"{path}: {key}: {text}.") from None


# --- the endpoint ---------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Endpoint:
    """Where requests go. ``api_key`` is kept out of every repr, log and record."""

    base_url: str
    """As chosen, without a trailing slash; empty for the embedded engine until it has started."""
    chosen_by: str
    """What decided: ``--base-url``, ``profile NAME``, ``OPENAI_BASE_URL``, ..., ``embedded``."""
    api_key: str | None = field(default=None, repr=False)
    key_from: str | None = None
    """The key's origin, e.g. ``TAOTOKEN_API_KEY``; None when no key is sent."""
    headers: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}), repr=False)
    model: str | None = None
    architecture: str | None = None
    """A catalogue model for the Memory pane, from the profile or ``--arch``."""
    gpu: str | None = None
    """The card that the server runs on, from the profile."""
    embedded: bool = False
    profile: str | None = None
    key_wanted_from: str | None = None
    """Where a key was looked for and not found: a variable that is not set, a failing command."""
    other_key_variables: tuple[str, ...] = ()
    """Key variables that are set but were not used for this host."""


def resolve_endpoint(
    settings: Settings,
    *,
    base_url: str | None = None,
    profile: str | None = None,
    api_key_env: str | None = None,
    model: str | None = None,
    environ: Mapping[str, str] = os.environ,
) -> Endpoint:
    """Choose the endpoint and its key: ``--base-url`` > profile > environment > embedded.

    A key goes only to the host it belongs to; for any other host it must be named
    (``api_key_env``). A key command of a profile is run here, so call this off the UI thread.

    Raises:
        ConfigError: The named profile does not exist.
    """
    if base_url is None and profile == EMBEDDED and EMBEDDED not in settings.profiles:
        return Endpoint("", "embedded", model=model, embedded=True)
    named = _profile(settings, profile)
    url, chosen_by = _choose_url(base_url, named, settings, profile, environ)
    if url is None:
        return Endpoint("", "embedded", model=model, embedded=True)
    url = url.strip().rstrip("/")
    own = named if named is not None and _origin(named.base_url) == _origin(url) else None
    name = profile_name(settings, profile)
    key, key_from, wanted = _choose_key(url, own, name, api_key_env, environ)
    return Endpoint(
        base_url=url,
        chosen_by=chosen_by,
        api_key=key,
        key_from=key_from,
        headers=MappingProxyType(dict(own.headers) if own else {}),
        model=model or (own.model if own else None),
        architecture=own.architecture if own else None,
        gpu=own.gpu if own else None,
        profile=name if own else None,
        key_wanted_from=wanted,
        other_key_variables=tuple(
            name for name in KEY_VARIABLES if environ.get(name) and name != key_from
        ),
    )


def profile_name(settings: Settings, profile: str | None) -> str | None:
    """The profile in force: the one named, else the file's default."""
    return profile or settings.defaults.profile


def _profile(settings: Settings, profile: str | None) -> Profile | None:
    name = profile_name(settings, profile)
    if name is None:
        return None
    if name not in settings.profiles:
        known = ", ".join(settings.profiles) or "none is defined"
        raise ConfigError(
            f"There is no profile {name!r} in {settings.path}"
            f"{did_you_mean(name, settings.profiles)}; profiles: {known}."
        )
    return settings.profiles[name]


def _choose_url(
    base_url: str | None,
    named: Profile | None,
    settings: Settings,
    profile: str | None,
    environ: Mapping[str, str],
) -> tuple[str | None, str]:
    if base_url is not None:  # an empty one is a mistake to be named, not a wish for another
        return base_url, "--base-url"
    if named is not None:
        return named.base_url, f"profile {profile_name(settings, profile)}"
    if environ.get("OPENAI_BASE_URL", "").strip():
        return environ["OPENAI_BASE_URL"], "OPENAI_BASE_URL"
    if environ.get("TAOTOKEN_API_KEY"):
        return TAOTOKEN_URL, "TAOTOKEN_API_KEY"
    if environ.get("OPENAI_API_KEY"):
        return OPENAI_URL, "OPENAI_API_KEY"
    return None, "embedded"


def _choose_key(
    url: str,
    own: Profile | None,
    name: str | None,
    api_key_env: str | None,
    environ: Mapping[str, str],
) -> tuple[str | None, str | None, str | None]:
    """The key, where it came from, and where one was looked for in vain."""
    variable = api_key_env or (own.api_key_env if own else None)
    if variable is None and own is not None and own.api_key_command:
        return _run_key_command(own.api_key_command, name)
    if variable is None:
        variable = _variable_of_host(url, environ)
    if variable is None:
        return None, None, None
    key = environ.get(variable)
    return (key, variable, None) if key else (None, None, variable)


def _variable_of_host(url: str, environ: Mapping[str, str]) -> str | None:
    """The variable whose key belongs to this URL's host, where it is set."""
    scheme, host, _ = _origin(url)
    if scheme and host == "taotoken.net" and environ.get("TAOTOKEN_API_KEY"):
        return "TAOTOKEN_API_KEY"
    openai_base = environ.get("OPENAI_BASE_URL", "").strip() or OPENAI_URL
    belongs = _origin(url) in (_origin(openai_base), _origin(OPENAI_URL))
    return "OPENAI_API_KEY" if belongs and environ.get("OPENAI_API_KEY") else None


def _origin(url: str) -> tuple[str, str, int | None]:
    """Scheme, host and port, so that two URLs of one server compare equal."""
    from urllib.parse import urlsplit

    try:
        parts = urlsplit(url.strip())
        port = parts.port
    except ValueError:
        return ("", url, None)
    scheme = parts.scheme.lower()
    return scheme, (parts.hostname or "").lower(), port or {"http": 80, "https": 443}.get(scheme)


def _run_key_command(
    command: list[str], name: str | None
) -> tuple[str | None, str | None, str | None]:
    """Run a profile's key command (no shell); its output's first line is the key."""
    import subprocess

    origin = f"api_key_command of profile {name}"
    try:
        with subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
        ) as process:
            said = _first_bytes(process)
            status = process.returncode
    except (OSError, ValueError):
        return None, None, origin
    key = said.decode("utf-8", "replace").split("\n", 1)[0].rstrip("\r")
    return (key, origin, None) if status == 0 and key else (None, None, origin)


def _first_bytes(process: subprocess.Popen[bytes]) -> bytes:
    """What a key command prints: bounded in size and time, and the process is over afterwards."""
    from threading import Timer

    assert process.stdout is not None
    watchdog = Timer(_KEY_COMMAND_SECONDS, process.kill)
    watchdog.start()
    try:
        said = process.stdout.read(_KEY_LIMIT)
        if len(said) == _KEY_LIMIT:
            process.kill()  # no key is this long
        process.wait()
    finally:
        watchdog.cancel()
    return said
