"""Themes from TOML files: each colour is parsed before Textual sees it, each mistake is named."""

from __future__ import annotations

import tomllib
from dataclasses import fields
from pathlib import Path
from typing import Any, NamedTuple

from textual.color import Color, ColorParseError
from textual.theme import Theme

DEFAULT_THEME = "kvtui-dark"

_FIELDS = {item.name for item in fields(Theme)}
_COLORS = _FIELDS - {"name", "dark", "luminosity_spread", "text_alpha", "variables", "ansi"}
_NUMBERS = {"luminosity_spread", "text_alpha"}
_BOOLS = {"dark", "ansi"}
# Textual variables that are no colours; every other variable is parsed as one.
_PLAIN_VARIABLES = ("-style", "-modal", "block-cursor", "input-cursor-text-style")


class LoadedTheme(NamedTuple):
    """A theme that is safe to register, and what was wrong with its file."""

    theme: Theme
    problems: tuple[str, ...] = ()


def theme_folder() -> Path:
    """The folder of the shipped themes: in the wheel, else beside the package in a checkout."""
    package = Path(__file__).parents[1]
    inside = package / "themes"
    return inside if inside.is_dir() else package.parent / "themes"


def shipped_names(folder: Path | None = None) -> list[str]:
    """Names of the shipped themes, the default first."""
    names = sorted(path.stem for path in (folder or theme_folder()).glob("*.toml"))
    return sorted(names, key=lambda name: name != DEFAULT_THEME)


def suggest(name: str, known: list[str]) -> str:
    """One sentence for an unknown name, with the nearest known one."""
    near = _nearest(name, known)
    hint = f"did you mean {near[0]!r}?" if near else f"known: {', '.join(known)}"
    return f"no theme {name!r}; {hint}"


def _nearest(word: str, known: list[str]) -> list[str]:
    from difflib import get_close_matches  # only a mistake needs it

    return get_close_matches(word, known, n=1, cutoff=0.5)


def load_theme(path: Path) -> LoadedTheme:
    """Read one theme file. A file that cannot be used at all gives the default colours.

    Raises:
        OSError: the file cannot be read.
    """
    try:
        data = tomllib.loads(path.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        return LoadedTheme(_fallback(path.stem), (f"{path.name}: {error}; default colours used",))
    return build_theme(data, path.name, path.stem)


def build_theme(data: dict[str, Any], file: str, name: str) -> LoadedTheme:
    """Make a theme of parsed TOML; each wrong key or colour is named and left out."""
    problems: list[str] = []
    clean: dict[str, Any] = {}
    for key, value in data.items():
        if key not in _FIELDS:
            near = _nearest(key, sorted(_FIELDS))
            hint = f" (did you mean {near[0]!r}?)" if near else ""
            problems.append(f"{file}: unknown key {key!r}{hint}")
        elif key in _COLORS:
            if _is_color(value):
                clean[key] = value
            else:
                problems.append(f"{file}: {key} = {value!r} is no colour")
        elif key in _NUMBERS:
            if isinstance(value, (int, float)) and not isinstance(value, bool):
                clean[key] = float(value)
            else:
                problems.append(f"{file}: {key} = {value!r} is no number")
        elif key in _BOOLS:
            if isinstance(value, bool):
                clean[key] = value
            else:
                problems.append(f"{file}: {key} = {value!r} is neither true nor false")
        elif key == "variables":
            clean[key] = _variables(value, file, problems)
    stated = data.get("name")
    clean["name"] = stated if isinstance(stated, str) and stated else name
    if "primary" not in clean:
        problems.append(f"{file}: primary is missing; the default's is used")
        clean["primary"] = _fallback(name).primary
    return LoadedTheme(Theme(**clean), tuple(problems))


def _variables(value: Any, file: str, problems: list[str]) -> dict[str, str]:
    if not isinstance(value, dict):
        problems.append(f"{file}: variables must be a table")
        return {}
    kept: dict[str, str] = {}
    for key, color in value.items():
        if key.endswith(_PLAIN_VARIABLES) or _is_color(color):
            kept[key] = str(color)
        else:
            problems.append(f"{file}: variables.{key} = {color!r} is no colour")
    return kept


def _is_color(value: Any) -> bool:
    if not isinstance(value, str):
        return False
    try:
        Color.parse(value)
    except ColorParseError:
        return False
    return True


def _fallback(name: str) -> Theme:
    return Theme(name=name, primary="#56c2b6", background="#0f1318", foreground="#d7dee7")
