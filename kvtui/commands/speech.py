"""The language of a command: ``--lang``, ``KVTUI_LANG``, ``defaults.lang``, the locale, English."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any, TypeVar

import click

from kvtui.commands.errors import BadInput
from kvtui.language import ENGLISH, LanguageError, of_locale, use, wanted

_Command = TypeVar("_Command", bound=Callable[..., Any])


def lang_option(command: _Command) -> _Command:
    """``--lang CODE``, of a command that prints texts."""
    option = click.option(
        "--lang", metavar="CODE", help="Language of the texts: en, zh [the locale's]."
    )
    decorated: _Command = option(command)
    return decorated


def speak_as_configured(flag: str | None) -> None:
    """Take the language asked for; the configuration is read only where there is a file of it.

    Raises:
        BadInput: There is none of that code, or the file cannot be used.
    """
    from kvtui.places import config_path

    setting = None
    if wanted(flag, os.environ) is None and config_path().is_file():
        from kvtui.config import ConfigError, load_settings

        try:
            setting = load_settings().defaults.lang
        except ConfigError as error:
            raise BadInput(str(error)) from None
    speak(flag, setting)


def speak(flag: str | None, setting: str | None) -> None:
    """Take the language asked for.

    Raises:
        BadInput: There is none of that code.
    """
    try:
        use(wanted(flag, os.environ, setting) or of_locale(os.environ) or ENGLISH)
    except LanguageError as error:
        raise BadInput(str(error)) from None
