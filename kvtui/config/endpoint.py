"""Which endpoint: flags > environment > configuration file > the embedded engine."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from kvtui.config.file import ConfigError, Profile, Settings
from kvtui.config.keys import KEY_VARIABLES, OPENAI_URL, TAOTOKEN_URL, choose_key, origin
from kvtui.language import tr
from kvtui.text import did_you_mean

TYPED = "what was typed"
"""The origin of a key that was typed on the screen: kept in memory, and nowhere else."""
EMBEDDED = "embedded"
"""The profile that every configuration has: the engine of one's own, whatever variables are set."""


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
    api_key: str | None = None,
    model: str | None = None,
    environ: Mapping[str, str] = os.environ,
) -> Endpoint:
    """Choose the endpoint and its key: ``--base-url`` > profile > environment > embedded.

    A key goes only to the host it belongs to; for any other host it must be named
    (``api_key_env``), or typed for the ``base_url`` given with it (``api_key``). A key command of
    a profile is run here, so call this off the UI thread.

    Raises:
        ConfigError: The named profile does not exist.
    """
    url, chosen_by = chosen_url(settings, base_url=base_url, profile=profile, environ=environ)
    if url is None:
        return Endpoint("", "embedded", model=model, embedded=True)
    named = _profile(settings, profile)
    url = url.strip().rstrip("/")
    own = named if named is not None and origin(named.base_url) == origin(url) else None
    name = profile_name(settings, profile)
    key, key_from, wanted = (
        (api_key, TYPED, None)
        if api_key and base_url is not None
        else choose_key(url, own, name, api_key_env, environ)
    )
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


def chosen_url(
    settings: Settings,
    *,
    base_url: str | None = None,
    profile: str | None = None,
    environ: Mapping[str, str] = os.environ,
) -> tuple[str | None, str]:
    """The URL that ``resolve_endpoint`` would choose, and what decides; None: the embedded engine.

    No key is looked for.

    Raises:
        ConfigError: The named profile does not exist.
    """
    if base_url is None and profile == EMBEDDED and EMBEDDED not in settings.profiles:
        return None, "embedded"
    return _choose_url(base_url, _profile(settings, profile), settings, profile, environ)


def profile_name(settings: Settings, profile: str | None) -> str | None:
    """The profile in force: the one named, else the file's default."""
    return profile or settings.defaults.profile


def _profile(settings: Settings, profile: str | None) -> Profile | None:
    name = profile_name(settings, profile)
    if name is None:
        return None
    if name not in settings.profiles:
        known = ", ".join(settings.profiles) or tr("none is defined")
        raise ConfigError(
            tr(
                "There is no profile {name!r} in {path}{hint}; profiles: {known}.",
                name=name,
                path=settings.path,
                hint=did_you_mean(name, settings.profiles),
                known=known,
            )
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
