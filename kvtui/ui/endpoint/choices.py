"""The endpoints that can be changed to while the screen is open, and what each means as options."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kvtui.config import EMBEDDED, ConfigError, chosen_url
from kvtui.language import tr
from kvtui.text import one_line, redact

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from kvtui.config import Settings
    from kvtui.ui.endpoint.typed import TypedEndpoint

STARTED = ""
"""The choice that means what the flags, the file and the environment said at the start."""
USE = "\0use "
"""Before a URL that was typed: not an endpoint yet, its key is to be asked for."""
ANOTHER = USE
"""No URL was typed yet."""
TYPED = "\0typed "
"""Before the number of an endpoint that was typed."""
_OWN = ("base_url", "api_key_env", "api_key", "model", "headers", "profile")
"""Options that belong to the endpoint they were given for: none of them goes to another."""


def endpoint_choices(
    settings: Settings,
    options: Mapping[str, Any],
    typed: Sequence[TypedEndpoint] = (),
    *,
    hidden: bool = False,
) -> list[tuple[str, str, str]]:
    """``(value, name, remark)`` for a picker: the start's, the profiles, those typed, the engine.

    Args:
        settings: The configuration file as it is now.
        options: The command line's.
        typed: What was typed since the start.
        hidden: An audience looks on: no host is named.
    """
    name, origin, embedded = started(settings, options)
    choices = [(STARTED, tr("as started") if hidden else name, origin)]
    for title, profile in settings.profiles.items():
        remark = " · ".join(part for part in (_host(profile.base_url), profile.model) if part)
        choices.append((title, one_line(title, 40), "" if hidden else one_line(remark, 60)))
    for at, each in enumerate(typed):
        said = tr("typed") if hidden else _host(each.base_url)
        choices.append((f"{TYPED}{at}", said, tr("typed")))
    if EMBEDDED not in settings.profiles and not embedded:
        remark = tr("kvtui's own engine, no key")
        if not choices[0][2].endswith(remark):
            choices.append((EMBEDDED, EMBEDDED, remark))
        else:  # as started, with another model than its own
            from kvtui.engine.models import TINY

            choices.append((EMBEDDED, EMBEDDED, f"{TINY} · {remark}"))
    keep = tr("kept as a profile, if you like")
    choices.append((ANOTHER, tr("another URL, key or model…"), keep))
    return choices


def with_typed(
    typed: Sequence[TypedEndpoint], endpoint: TypedEndpoint
) -> tuple[tuple[TypedEndpoint, ...], int]:
    """Those typed with one more, which takes the place of one with its URL; and its number."""
    urls = [each.base_url for each in typed]
    at = urls.index(endpoint.base_url) if endpoint.base_url in urls else len(urls)
    return (*typed[:at], endpoint, *typed[at + 1 :]), at


def started(settings: Settings, options: Mapping[str, Any]) -> tuple[str, str, bool]:
    """What flags, file and environment choose.

    Returns:
        Its name, where that was said, and whether it is the plain embedded engine.
    """
    try:
        url, by = chosen_url(
            settings, base_url=options.get("base_url"), profile=options.get("profile")
        )
    except ConfigError:
        return tr("as started"), tr("flags, file, environment"), False
    if url is None:
        engine, model = tr("kvtui's own engine, no key"), options.get("model")
        return EMBEDDED, f"{one_line(model, 30)} · {engine}" if model else engine, not model
    return _host(url) or tr("as started"), tr("from {origin}", origin=by), False


def _host(url: str) -> str:
    return one_line(redact(url).split("://", 1)[-1], 60)


def label_of(
    choice: str, settings: Settings, options: Mapping[str, Any], typed: Sequence[TypedEndpoint] = ()
) -> str:
    """What the header calls an endpoint before it is known who answers there."""
    if choice == STARTED:
        return started(settings, options)[0]
    each = _typed(choice, typed)
    return choice if each is None else _host(each.base_url)


def _typed(choice: str, typed: Sequence[TypedEndpoint]) -> TypedEndpoint | None:
    return typed[int(choice.removeprefix(TYPED))] if choice.startswith(TYPED) else None


def options_of(
    choice: str, options: Mapping[str, Any], typed: Sequence[TypedEndpoint] = ()
) -> dict[str, Any]:
    """The command line's options as they are for this endpoint."""
    if choice == STARTED:
        return dict(options)
    shared = {key: value for key, value in options.items() if key not in _OWN}
    each = _typed(choice, typed)
    return {**shared, "profile": choice} if each is None else {**shared, **each.options()}
