"""Themes from TOML files: each colour is parsed before Textual sees it, each mistake is named."""

from __future__ import annotations

import tomllib
from dataclasses import fields
from pathlib import Path
from typing import Any, NamedTuple

from textual.color import Color, ColorParseError
from textual.theme import Theme

from kvtui.language import later, tr
from kvtui.places import themes_path
from kvtui.reading import read_at_most
from kvtui.text import one_line

DEFAULT_THEME = "kvtui-dark"
FILE_LIMIT = 1 << 16
"""Bytes of a theme file; more than this is something else."""
MOST_SAID = 12
MOST_FILES = 200
"""Files of the user's folder that are looked at."""

KV_VARIABLES = frozenset(
    f"kv-{name}"
    for name in ("muted", "faint", "reasoning", "weights", "overhead", "used", "free", "outside")
)
"""The variables that a theme may set for kvtui's own roles."""
_FIELDS = {item.name for item in fields(Theme)}
_COLORS = _FIELDS - {"name", "dark", "luminosity_spread", "text_alpha", "variables", "ansi"}
_NUMBERS = {"luminosity_spread", "text_alpha"}
_BOOLS = {"dark", "ansi"}
# Textual variables that are no colours; every other variable is parsed as one.
_PLAIN_VARIABLES = ("-style", "-modal", "block-cursor", "input-cursor-text-style")


_MEANT_FOR = {
    "kvtui-contrast": later("high contrast"),
    "kvtui-ember": later("warm and low"),
    "kvtui-light": later("bright rooms"),
    "kvtui-projector": later("a projector"),
    "kvtui-safe": later("colour blindness"),
}


def theme_remark(name: str, *, dark: bool) -> str:
    """Dark or light, and what a theme of ours is meant for."""
    meant = _MEANT_FOR.get(name)
    tone = tr("dark") if dark else tr("light")
    return f"{tr(meant)} · {tone}" if meant else tone


class LoadedTheme(NamedTuple):
    """A theme that is safe to register, and what was wrong with its file."""

    theme: Theme
    problems: tuple[str, ...] = ()


def theme_folder() -> Path:
    """The folder of the shipped themes: in the wheel, else beside the package in a checkout."""
    package = Path(__file__).parents[2]
    inside = package / "themes"
    return inside if inside.is_dir() else package.parent / "themes"


def shipped_names(folder: Path | None = None) -> list[str]:
    """Names of the shipped themes, the default first."""
    names = sorted(path.stem for path in (folder or theme_folder()).glob("*.toml"))
    return sorted(names, key=lambda name: name != DEFAULT_THEME)


def user_files() -> list[Path]:
    """The user's own theme files, beside the configuration; empty where there are none."""
    try:
        return sorted(themes_path().glob("*.toml"))[:MOST_FILES]
    except OSError:
        return []


class UserThemes(NamedTuple):
    """The user's themes that can be used, and all that is wrong with their files."""

    found: tuple[tuple[Theme, Path], ...]
    problems: tuple[str, ...]


def user_themes() -> UserThemes:
    """Read every file of the user's folder; a name of ours is the user's to take over."""
    found: dict[str, tuple[Theme, Path]] = {}
    problems: list[str] = []
    for path in user_files():
        try:
            loaded = load_theme(path)
        except OSError as error:
            problems.append(
                tr(
                    "{name}: cannot be read ({error})",
                    name=path.name,
                    error=error.strerror or error,
                )
            )
            continue
        problems += loaded.problems
        if loaded.theme.name in found:
            other = found[loaded.theme.name][1].name
            problems.append(
                tr(
                    "{name}: {other} is named {title!r} too",
                    name=path.name,
                    other=other,
                    title=loaded.theme.name,
                )
            )
            continue
        found[loaded.theme.name] = (loaded.theme, path)
    return UserThemes(tuple(found.values()), tuple(problems))


def one_notice(problems: tuple[str, ...]) -> str:
    """All mistakes as one text, a line each; of very many the first."""
    more = len(problems) - MOST_SAID
    lines = [one_line(problem, 120) for problem in problems[:MOST_SAID]]
    return "\n".join(
        [f"Themes in {themes_path()}:", *lines, *([f"and {more} more"] if more > 0 else [])]
    )


def all_names() -> list[str]:
    """Every theme's name: ours, the user's, Textual's."""
    from textual.theme import BUILTIN_THEMES

    own = (theme.name for theme, _ in user_themes().found)
    return list(dict.fromkeys((*shipped_names(), *own, *BUILTIN_THEMES)))


def suggest(name: str, known: list[str]) -> str:
    """One sentence for an unknown name, with the nearest known one."""
    near = _nearest(name, known)
    hint = tr("did you mean {near!r}?", near=near[0]) if near else f"known: {', '.join(known)}"
    return f"no theme {name!r}; {hint}"


def _nearest(word: str, known: list[str]) -> list[str]:
    from difflib import get_close_matches  # only a mistake needs it

    return get_close_matches(word, known, n=1, cutoff=0.5)


def load_theme(path: Path) -> LoadedTheme:
    """Read one theme file. A file that cannot be used at all gives the default colours.

    Raises:
        OSError: the file cannot be read.
    """
    content = read_at_most(path, FILE_LIMIT)
    if len(content) > FILE_LIMIT:
        why = tr("larger than {limit:,} bytes; default colours used", limit=FILE_LIMIT)
        return LoadedTheme(_fallback(path.stem), (f"{path.name}: {why}",))
    try:
        data = tomllib.loads(content.decode("utf-8-sig"))
    except (ValueError, RecursionError) as error:  # not TOML, not UTF-8, too deep
        why = one_line(str(error), 120)
        return LoadedTheme(
            _fallback(path.stem),
            (tr("{name}: {why}; default colours used", name=path.name, why=why),),
        )
    return build_theme(data, path.name, path.stem)


def build_theme(data: dict[str, Any], file: str, name: str) -> LoadedTheme:
    """Make a theme of parsed TOML; each wrong key or colour is named and left out."""
    problems: list[str] = []
    clean: dict[str, Any] = {}
    for key, value in data.items():
        if key not in _FIELDS:
            near = _nearest(key, sorted(_FIELDS))
            hint = tr(" (did you mean {near!r}?)", near=near[0]) if near else ""
            problems.append(f"{file}: unknown key {key!r}{hint}")
        elif key in _COLORS:
            if _is_color(value):
                clean[key] = value
            else:
                problems.append(
                    tr("{file}: {key} = {value!r} is no colour", file=file, key=key, value=value)
                )
        elif key in _NUMBERS:
            if isinstance(value, (int, float)) and not isinstance(value, bool):
                clean[key] = float(value)
            else:
                problems.append(
                    tr("{file}: {key} = {value!r} is no number", file=file, key=key, value=value)
                )
        elif key in _BOOLS:
            if isinstance(value, bool):
                clean[key] = value
            else:
                problems.append(
                    tr(
                        "{file}: {key} = {value!r} is neither true nor false",
                        file=file,
                        key=key,
                        value=value,
                    )
                )
        elif key == "variables":
            clean[key] = _variables(value, file, problems)
    muted = clean.get("variables", {}).get("kv-muted")
    for same in ("foreground-muted", "text-disabled") if muted else ():
        clean["variables"].setdefault(same, muted)  # Textual's are too pale to be read on paper
    stated = data.get("name", name)
    if isinstance(stated, str) and stated.strip() and stated.isprintable() and len(stated) <= 60:
        clean["name"] = stated.strip()
    else:
        problems.append(
            tr("{file}: name must be a short text; {name!r} is used", file=file, name=name)
        )
        clean["name"] = name
    if "primary" not in clean:
        problems.append(tr("{file}: primary is missing; the default's is used", file=file))
        clean["primary"] = _fallback(name).primary
    return LoadedTheme(Theme(**clean), tuple(problems))


def _variables(value: Any, file: str, problems: list[str]) -> dict[str, str]:
    if not isinstance(value, dict):
        problems.append(tr("{file}: variables must be a table", file=file))
        return {}
    kept: dict[str, str] = {}
    for key, color in value.items():
        if key.endswith(_PLAIN_VARIABLES) or _is_color(color):
            kept[key] = str(color)
            if key.startswith("kv-") and key not in KV_VARIABLES:
                near = _nearest(key, sorted(KV_VARIABLES))
                hint = tr(" (did you mean {near!r}?)", near=near[0]) if near else ""
                problems.append(
                    tr("{file}: unknown key variables.{key}{hint}", file=file, key=key, hint=hint)
                )
        else:
            problems.append(
                tr(
                    "{file}: variables.{key} = {color!r} is no colour",
                    file=file,
                    key=key,
                    color=color,
                )
            )
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
