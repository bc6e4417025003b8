"""Themes: readable, complete, and a wrong one is said and never brings the app down."""

from __future__ import annotations

from pathlib import Path

import pytest
from textual.color import Color
from textual.theme import Theme

from kvtui.ui.themes import DEFAULT_THEME, build_theme, load_theme, shipped_names, theme_folder

NAMES = shipped_names()
TEXT_VARIABLES = ("kv-muted", "kv-reasoning", "kv-weights", "kv-overhead", "kv-used")
TEXT_COLORS = ("foreground", "accent", "success", "warning", "error", "primary")


def test_there_are_six_and_the_default_comes_first() -> None:
    assert len(NAMES) >= 6
    assert NAMES[0] == DEFAULT_THEME


@pytest.mark.parametrize("name", NAMES)
def test_a_shipped_theme_has_no_problem_and_readable_text(name: str) -> None:
    loaded = load_theme(theme_folder() / f"{name}.toml")
    assert loaded.problems == ()
    theme = loaded.theme
    assert theme.name == name
    ground = Color.parse(str(theme.background))
    colors = {key: str(getattr(theme, key)) for key in TEXT_COLORS}
    colors |= {key: theme.variables[key] for key in TEXT_VARIABLES}
    for key, value in colors.items():
        assert Color.parse(value).get_contrast_text  # parses
        assert contrast(Color.parse(value), ground) >= 4.5, (name, key)


def contrast(one: Color, other: Color) -> float:
    """WCAG 2's contrast ratio."""
    light, dark = sorted((luminance(one), luminance(other)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


def luminance(color: Color) -> float:
    parts = [
        value / 12.92 if value <= 0.03928 else ((value + 0.055) / 1.055) ** 2.4
        for value in color.normalized
    ]
    return 0.2126 * parts[0] + 0.7152 * parts[1] + 0.0722 * parts[2]


def test_each_mistake_is_named_with_file_and_key() -> None:
    loaded = build_theme(
        {
            "primary": "#zzz",
            "acent": "#fff",
            "dark": "yes",
            "luminosity_spread": "wide",
            "variables": {"kv-used": "blurple", "kv-free": "#123456", "footer-key-style": "bold"},
        },
        "mine.toml",
        "mine",
    )
    text = "\n".join(loaded.problems)
    for word in ("primary", "acent", "accent", "dark", "luminosity_spread", "kv-used"):
        assert word in text
    assert all(problem.startswith("mine.toml") for problem in loaded.problems)
    assert isinstance(loaded.theme, Theme)
    assert loaded.theme.variables == {"kv-free": "#123456", "footer-key-style": "bold"}


@pytest.mark.parametrize("content", ["name = ", "\x00", "variables = 3", "name = 3", ""])
def test_a_broken_file_gives_the_default_colours(tmp_path: Path, content: str) -> None:
    path = tmp_path / "broken.toml"
    path.write_text(content, encoding="utf-8")
    loaded = load_theme(path)
    assert loaded.problems
    assert loaded.theme.name == "broken"
    assert Color.parse(loaded.theme.primary)
