"""What the configuration file and the command line's options say, taken up by the screen."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from kvtui.language import tr

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from kvtui.config import Settings
    from kvtui.ui.memory import MemoryView
    from kvtui.ui.opening.ports import AppLike

MOST_FPS = 120


def read_settings() -> tuple[Settings, str]:
    """The configuration file; one that cannot be used gives the defaults and a sentence."""
    from kvtui.config import ConfigError, Settings, config_path, load_settings

    path = config_path()
    try:
        return load_settings(path), ""
    except ConfigError as error:
        return Settings(path), tr("{error} The defaults are used.", error=error)


def load_memory(options: Mapping[str, Any], settings: Settings) -> tuple[MemoryView, list[str]]:
    """Catalogue and cards, with the options' choices; a wrong one is a sentence, not an end."""
    from kvtui.ui.memory import MemoryView, own_cards

    defaults = settings.defaults
    view = MemoryView(own_cards(settings.cards))
    problems: list[str] = []
    choices: list[tuple[Any, Callable[[Any], None]]] = [
        (options.get("gpu") or defaults.gpu, view.choose_card),
        (options.get("arch") or defaults.arch, view.choose_model),
        (options.get("config_json"), view.read_config),
        (options.get("gguf"), view.read_gguf),
        (options.get("kv_dtype") or defaults.kv_dtype, view.choose_precision),
    ]
    for value, choose in choices:
        if value:
            try:
                choose(value)
            except ValueError as error:
                problems.append(str(error))
    view.context = options.get("context") or defaults.context
    view.users = options.get("concurrency") or defaults.concurrency
    return view, problems


def frames_per_second(
    options: Mapping[str, Any], settings: Settings, environ: Mapping[str, str] = os.environ
) -> tuple[int, str]:
    """How often the screen is drawn while it streams: ``--fps``, ``KVTUI_FPS``, the configuration.

    Returns:
        The rate, and a sentence where the variable holds none.
    """
    usual = settings.defaults.fps
    if options.get("fps"):
        return int(options["fps"]), ""
    text = environ.get("KVTUI_FPS", "").strip()
    if not text:
        return usual, ""
    if text.isascii() and text.isdigit() and len(text) < 4 and 1 <= int(text) <= MOST_FPS:
        return int(text), ""
    return usual, tr(
        "KVTUI_FPS must be a whole number from 1 to {most_fps}: {usual} is used.",
        most_fps=MOST_FPS,
        usual=usual,
    )


def take_language(app: AppLike, settings: Settings) -> list[str]:
    """Take the configuration's language where neither flag nor ``KVTUI_LANG`` named one.

    It goes before the locale's, which the first frame may have spoken.

    Returns:
        A sentence where there is none of that code.
    """
    from kvtui.language import ENGLISH, LanguageError, translated, use, wanted

    code = settings.defaults.lang
    spoken = code == ENGLISH and not translated()
    if not code or spoken or wanted(app.options.get("lang"), os.environ):
        return []
    try:
        use(code)
    except LanguageError as error:
        return [str(error)]
    app.call_later(app.main.refresh_language)
    return []


def take_theme(app: AppLike, settings: Settings) -> list[str]:
    """Take the configuration's theme where no flag and no choice made on the screen says otherwise.

    Returns:
        A sentence where there is none of that name.
    """
    from kvtui.ui.look.themes import suggest

    name = settings.defaults.theme
    if not name or app.options.get("theme") or app.remembered.get("theme", str):
        return []
    if name not in app.available_themes:
        return [suggest(name, list(app.available_themes))]
    app.call_later(setattr, app, "theme", name)
    return []
