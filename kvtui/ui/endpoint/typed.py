"""An endpoint that is typed on the screen: its fields parsed, its key's origin, its profile."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from kvtui.config import (
    EMBEDDED,
    ConfigError,
    config_path,
    profile_name,
    profile_taken,
    variable_problem,
)
from kvtui.config.keys import choose_key, origin
from kvtui.failure.keyform import inspect_key, problem_shown
from kvtui.failure.urlform import mended, url_problem
from kvtui.language import tr
from kvtui.text import has_key_form, looks_like_key, one_line

if TYPE_CHECKING:
    from collections.abc import Mapping

    from kvtui.config import Settings

_URL = re.compile(r"[a-z][a-z0-9+.-]*:|[^\s/]+[.:/]|localhost$|//", re.IGNORECASE)
"""How what is typed begins where it is to be a URL, not the name of a profile."""
_PROFILE = re.compile(r"[A-Za-z0-9_-]{1,40}")


@dataclass(frozen=True, slots=True)
class TypedEndpoint:
    """Where requests shall go, as typed. The key is in memory only, and in no repr."""

    base_url: str
    api_key_env: str = ""
    """The variable that holds the key; empty: none is named."""
    api_key: str = field(default="", repr=False)
    """Typed itself, for as long as the screen is open."""
    model: str = ""
    """Empty: the server is asked."""
    keep_as: str = ""
    """The profile that it is kept as; empty: it is not."""

    def options(self) -> dict[str, Any]:
        """As the command line's options."""
        return {
            "base_url": self.base_url,
            "api_key_env": self.api_key_env or None,
            "api_key": self.api_key or None,
            "model": self.model or None,
        }

    def profile(self) -> dict[str, Any]:
        """What a profile of it has in the configuration; a key that was typed is not in it."""
        values = {
            "base_url": self.base_url,
            "model": self.model,
            "api_key_env": self.api_key_env,
        }
        return {key: value for key, value in values.items() if value}


class TypedError(ValueError):
    """A field that cannot be used."""

    def __init__(self, field_name: str, sentence: str) -> None:
        super().__init__(sentence)
        self.field = field_name


def is_url(text: str) -> bool:
    """Whether what is typed is to be a URL."""
    return bool(_URL.match(text.strip()))


def read_url(text: str) -> tuple[str, str]:
    """The URL that is meant, as ``--base-url`` is judged.

    Returns:
        The URL, and a sentence where it is not as typed.

    Raises:
        TypedError: It cannot be used.
    """
    text = text.strip()
    problem = url_problem(text)
    beyond = re.split(r"[/?#&=]", (mended(text) or text).partition("://")[2])[1:]
    if any(map(has_key_form, beyond)):  # it would be shown and kept with the URL
        raise TypedError("base_url", tr("The URL {problem}.", problem=tr("has a key in it")))
    if problem is None:
        return text.rstrip("/"), ""
    better = mended(text)
    if better is None:
        raise TypedError("base_url", tr("The URL {problem}.", problem=problem))
    return better.rstrip("/"), tr(
        "The URL {problem}: {better} is used.", problem=problem, better=better
    )


def parse(
    settings: Settings, *, base_url: str, api_key_env: str, api_key: str, model: str, keep_as: str
) -> TypedEndpoint:
    """The endpoint that the fields say.

    Raises:
        TypedError: The first field that cannot be used; no key is repeated.
    """
    url, _ = read_url(base_url)
    variable, key, name = api_key_env.strip(), api_key.strip(), keep_as.strip()
    if variable and (problem := variable_problem(variable)):
        raise TypedError("api_key_env", one_line(problem[0].upper() + problem[1:], 300) + tr("."))
    if key and (wrong := inspect_key(key).problem):
        raise TypedError("api_key", tr("The key {problem}.", problem=problem_shown(wrong)))
    random = bool(name) and looks_like_key(name.replace("-", "_"))
    for field_name, said in (("model", model.strip()), ("keep_as", name)):
        if has_key_form(said) or (random and field_name == "keep_as"):
            raise TypedError(
                field_name, tr("This looks like a key: it is typed into the field of the key.")
            )
    if name and (name == EMBEDDED or not _PROFILE.fullmatch(name)):
        raise TypedError("keep_as", tr("A profile's name has letters, digits, - and _ only."))
    if name in settings.profiles:
        raise TypedError("keep_as", profile_taken(name))
    return TypedEndpoint(url, variable, key, one_line(model.strip(), 200), name)


def key_note(
    typed: TypedEndpoint, settings: Settings, environ: Mapping[str, str] = os.environ
) -> str:
    """Which key will be sent, in one sentence."""
    if typed.api_key:
        return tr("The key typed goes to this host only and is kept nowhere.")
    name = profile_name(settings, None)
    profile = settings.profiles.get(name) if name else None
    if profile is not None and origin(profile.base_url) == origin(typed.base_url):
        if profile.api_key_command and not typed.api_key_env:
            return tr("The key of the profile {name} is sent.", name=name)
    else:
        profile = None
    key, key_from, wanted = choose_key(
        typed.base_url, profile, name, typed.api_key_env or None, environ
    )
    if key:
        return tr("The key in {name} is sent ({count} characters).", name=key_from, count=len(key))
    if wanted:
        return tr("{name} is not set: no key is sent.", name=wanted)
    return tr("No key is sent.")


def keep(typed: TypedEndpoint) -> str:
    """Write it into the configuration as a profile.

    Returns:
        A sentence that says so.

    Raises:
        TypedError: It cannot be written, or there is a profile of that name by now.
    """
    from kvtui.config_edit import add_profile

    target = config_path()
    try:
        add_profile(target, typed.keep_as, typed.profile())
    except ConfigError as error:
        raise TypedError("keep_as", one_line(str(error), 300)) from None
    said = tr("Kept as the profile {name} in {path}.", name=typed.keep_as, path=target)
    if typed.api_key:
        said += " " + tr("The key typed is not in it.")
    return said
