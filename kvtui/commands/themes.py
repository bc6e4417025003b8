"""``kvtui themes``: the themes that ``--theme`` takes."""

from __future__ import annotations

import click

from kvtui.commands.output import print_json


@click.command()
@click.option("--json", "as_json", is_flag=True, help="One JSON object on stdout.")
def themes(as_json: bool) -> None:
    """List kvtui's own themes; Textual's are taken too."""
    from textual.theme import BUILTIN_THEMES

    from kvtui.ui.themes import load_theme, shipped_names, theme_folder

    own = [load_theme(theme_folder() / f"{name}.toml").theme for name in shipped_names()]
    listed = [
        {"name": theme.name, "dark": theme.dark, "origin": origin}
        for origin, group in (("kvtui", own), ("textual", BUILTIN_THEMES.values()))
        for theme in group
    ]
    if as_json:
        print_json({"schema": "kvtui.themes/1", "themes": listed})
        return
    for theme in listed:
        tone = "dark" if theme["dark"] else "light"
        click.echo(f"{theme['name']:<24} {tone:<6} {theme['origin']}")
