"""Where the user's files are: the platform's folders, or what a variable names.

Importing this is cheap: the screen needs it before its first frame.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path


def config_path(environ: Mapping[str, str] = os.environ) -> Path:
    """``config.toml``: where ``KVTUI_CONFIG`` says, else in the platform's config folder."""
    named = environ.get("KVTUI_CONFIG")
    if named:
        return user_path(named)
    from platformdirs import user_config_path

    return user_config_path("kvtui", appauthor=False) / "config.toml"


def themes_path(environ: Mapping[str, str] = os.environ) -> Path:
    """The folder of the user's own themes, beside the configuration."""
    return config_path(environ).parent / "themes"


def state_path(environ: Mapping[str, str] = os.environ) -> Path:
    """``state.toml``: where ``KVTUI_STATE`` says, else in the platform's state folder."""
    named = environ.get("KVTUI_STATE")
    if named:
        return user_path(named)
    from platformdirs import user_state_path

    return user_state_path("kvtui", appauthor=False) / "state.toml"


def user_path(text: str) -> Path:
    """A path with its ``~``; where no home folder is known it is left as it is written."""
    path = Path(text)
    try:
        return path.expanduser()
    except RuntimeError:
        return path


def is_homeless(path: Path) -> bool:
    """The path's home folder is not known: nothing may be written to a folder named ``~``."""
    return path.parts[:1] != () and path.parts[0].startswith("~")
