"""The endpoints that can be changed to while the screen is open, and what each means as options."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kvtui.config import EMBEDDED, ConfigError
from kvtui.config.endpoint import chosen_url
from kvtui.language import tr
from kvtui.text import one_line, redact

if TYPE_CHECKING:
    from collections.abc import Mapping

    from kvtui.config import Settings

STARTED = ""
"""The choice that means what the flags, the file and the environment said at the start."""
_OWN = ("base_url", "api_key_env", "model", "headers", "profile")
"""Options that belong to the endpoint they were given for: none of them goes to another."""


def endpoint_choices(
    settings: Settings, options: Mapping[str, Any], *, hidden: bool = False
) -> list[tuple[str, str, str]]:
    """``(value, name, remark)`` for a picker: as started, every profile, the embedded engine.

    Args:
        settings: The configuration file as it is now.
        options: Those of the command line.
        hidden: An audience looks on: no host is named.
    """
    choices = [(STARTED, tr("as started"), _started(settings, options, hidden))]
    for name, profile in settings.profiles.items():
        url = _without_scheme(profile.base_url)
        remark = " · ".join(part for part in (url, profile.model) if part)
        choices.append((name, one_line(name, 40), "" if hidden else one_line(remark, 60)))
    if EMBEDDED not in settings.profiles:
        choices.append((EMBEDDED, EMBEDDED, tr("kvtui's own engine, no key")))
    return choices


def _without_scheme(url: str) -> str:
    return redact(url).split("://", 1)[-1]


def _started(settings: Settings, options: Mapping[str, Any], hidden: bool) -> str:
    """What the start meant, and which of flags, file and environment said so."""
    try:
        url, chosen_by = chosen_url(
            settings, base_url=options.get("base_url"), profile=options.get("profile")
        )
    except ConfigError:  # the file has changed since
        return tr("flags, file, environment")
    if url is None:
        return tr("kvtui's own engine: no endpoint was named")
    return one_line(chosen_by if hidden else f"{_without_scheme(url)} · {chosen_by}", 60)


def options_of(choice: str, options: Mapping[str, Any]) -> dict[str, Any]:
    """The command line's options as they are for this endpoint."""
    if choice == STARTED:
        return dict(options)
    return {**{key: value for key, value in options.items() if key not in _OWN}, "profile": choice}
