"""``kvtui themes``: the themes that ``--theme`` takes."""

from __future__ import annotations

from typing import Any

import click

from kvtui.commands.output import print_json, put
from kvtui.text import one_line


@click.command()
@click.option("--json", "as_json", is_flag=True, help="One JSON object on stdout.")
def themes(as_json: bool) -> None:
    """List kvtui's own themes, those of your themes folder and Textual's."""
    from textual.theme import BUILTIN_THEMES

    from kvtui.ui.look.themes import load_theme, shipped_names, theme_folder, user_themes

    files = [theme_folder() / f"{name}.toml" for name in shipped_names()]
    own = [(load_theme(path).theme, path) for path in files]
    users = user_themes()
    names = {theme.name for theme, _ in users.found}
    listed: list[dict[str, Any]] = [
        {
            "name": theme.name,
            "dark": theme.dark,
            "origin": origin,
            "path": None if path is None else str(path),
        }
        for origin, group in (
            ("user", users.found),
            ("kvtui", own),
            ("textual", [(theme, None) for theme in BUILTIN_THEMES.values()]),
        )
        for theme, path in group
        if origin == "user" or theme.name not in names
    ]
    for problem in users.problems:
        put(f"kvtui: {one_line(problem)}", err=True)
    if as_json:
        print_json({"schema": "kvtui.themes/1", "themes": listed})
        return
    for theme in listed:
        tone = "dark" if theme["dark"] else "light"
        where = f"  {theme['path']}" if theme["origin"] == "user" else ""
        put(one_line(f"{theme['name']:<24} {tone:<6} {theme['origin']}{where}", 400))
