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
    return _folder("user_config_path") / "config.toml"


def themes_path(environ: Mapping[str, str] = os.environ) -> Path:
    """The folder of the user's own themes, beside the configuration."""
    return config_path(environ).parent / "themes"


def state_path(environ: Mapping[str, str] = os.environ) -> Path:
    """``state.toml``: where ``KVTUI_STATE`` says, else in the platform's state folder."""
    named = environ.get("KVTUI_STATE")
    if named:
        return user_path(named)
    return _folder("user_state_path") / "state.toml"


def data_folder() -> Path:
    """The platform's folder for what is recorded."""
    return _folder("user_data_path")


def _folder(kind: str) -> Path:
    """One of the platform's folders; in an unknown home where none is known (see below)."""
    import platformdirs

    try:
        folder: Path = getattr(platformdirs, kind)("kvtui", appauthor=False)
    except RuntimeError:  # no HOME, and nobody of this number among the users
        return Path("~") / "kvtui"
    return folder


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
