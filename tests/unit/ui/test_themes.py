"""Themes: readable, complete, and a wrong one is said and never brings the app down."""

from __future__ import annotations

from pathlib import Path

import pytest
from rich.color import ColorSystem
from rich.terminal_theme import DEFAULT_TERMINAL_THEME
from textual.color import Color
from textual.theme import Theme

from kvtui.ui.look.roles import ROLE_NAMES, Palette
from kvtui.ui.look.themes import (
    DEFAULT_THEME,
    build_theme,
    load_theme,
    one_notice,
    shipped_names,
    theme_folder,
    user_themes,
)

NAMES = shipped_names()
MARKS = {"faint", "free", "outside"}
"""Rules, joints and the segments of bars, each told apart by its glyph: no words."""
STYLED = ("foreground", "foreground-muted", "text-disabled", "error", "border")
"""Variables that the style sheets give to text, placeholders and the border in use."""


def test_there_are_six_and_the_default_comes_first() -> None:
    assert len(NAMES) >= 6
    assert NAMES[0] == DEFAULT_THEME


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("ground", ["background", "panel"])
def test_every_role_that_is_text_can_be_read(name: str, ground: str) -> None:
    loaded = load_theme(theme_folder() / f"{name}.toml")
    assert loaded.problems == ()
    assert loaded.theme.name == name
    variables = loaded.theme.to_color_system().generate() | loaded.theme.variables
    below = Color.parse(variables[ground])
    palette = Palette(variables, below)
    ratios = {}
    for role in ROLE_NAMES - MARKS:
        style = palette.style(role)
        assert style.color is not None
        assert style.bgcolor is not None
        pair = Color.from_rich_color(style.color), Color.from_rich_color(style.bgcolor)
        ratios[role] = contrast(*pair)
    for variable in STYLED:
        ratios[variable] = contrast(below + Color.parse(variables[variable]), below)
    assert {key: ratio for key, ratio in ratios.items() if ratio < 4.5} == {}
    if ground == "background":
        free = palette.style("free").color
        assert free is not None
        assert contrast(Color.from_rich_color(free), below) >= 3  # WCAG's for what is no text


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


def test_the_users_themes_are_read_with_every_mistake_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KVTUI_CONFIG", str(tmp_path / "config.toml"))
    assert user_themes() == ((), ())
    folder = tmp_path / "themes"
    folder.mkdir()
    (folder / "mine.toml").write_text('primary = "#abcdef"\nacent = "red"\n', encoding="utf-8")
    (folder / "other.toml").write_text('name = "mine"\nprimary = "red"\n', encoding="utf-8")
    (folder / "evil.toml").write_text('name = "\x1b]0;x\x07"\nprimary = "red"\n', encoding="utf-8")
    (folder / "large.toml").write_text("#" * 100_000, encoding="utf-8")
    (folder / "folder.toml").mkdir()
    (folder / "bytes.toml").write_bytes(b"\xff\xfe\x00")
    (folder / "kv.toml").write_text(
        'primary = "red"\n[variables]\nkv-usd = "#fff"\n', encoding="utf-8"
    )
    found, problems = user_themes()
    assert {"mine", "evil", "large", "bytes", "kv"} == {theme.name for theme, _ in found}
    said = one_notice(problems)
    assert str(folder) in said.splitlines()[0]
    for name in ("mine", "other", "evil", "large", "folder", "bytes", "kv"):
        assert f"{name}.toml" in said
    assert "did you mean 'accent'" in said
    assert "did you mean 'kv-used'" in said
    assert "\x1b" not in said


def test_very_many_mistakes_are_counted() -> None:
    said = one_notice(tuple(f"{n}.toml: wrong" for n in range(100)))
    assert "and 88 more" in said


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("system", [ColorSystem.STANDARD, ColorSystem.EIGHT_BIT], ids=str)
def test_with_few_colours_no_text_vanishes_in_its_ground(name: str, system: ColorSystem) -> None:
    theme = load_theme(theme_folder() / f"{name}.toml").theme
    variables = theme.to_color_system().generate() | theme.variables
    ratios = {}
    for ground in ("background", "panel"):
        palette = Palette(variables, Color.parse(variables[ground]))
        for role in ROLE_NAMES - MARKS:
            style = palette.style(role)
            assert style.color is not None
            assert style.bgcolor is not None
            drawn = [
                Color(*each.downgrade(system).get_truecolor(DEFAULT_TERMINAL_THEME))
                for each in (style.color, style.bgcolor)
            ]
            ratios[role, ground] = contrast(*drawn)
    assert {key: ratio for key, ratio in ratios.items() if ratio < 3} == {}
