"""Translations: none is missing, none is left over, no placeholder is lost."""

from __future__ import annotations

import ast
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import kvtui
from kvtui import language
from kvtui.language import LanguageError, placeholders, tr

PACKAGE = Path(kvtui.__file__).parent


@pytest.fixture(autouse=True)
def _english_afterwards() -> Iterator[None]:
    yield
    language.use("en")


def literal(node: ast.expr) -> str | None:
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else None


def marked() -> set[str]:
    """Every text that the code passes to ``tr`` or ``later`` as it stands."""
    found: set[str] = set()
    for path in PACKAGE.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_bytes())):
            named = isinstance(node, ast.Call) and isinstance(node.func, ast.Name)
            if named and node.func.id in ("tr", "later") and (text := literal(node.args[0])):
                found.add(text)
    return found


def tables() -> set[str]:
    """The texts of the tables: commands, advice, the tour."""
    from kvtui.ui.commands import COMMANDS, GROUPS

    found = {text for command in COMMANDS for text in (command.label, command.help)} | {*GROUPS}
    for path in (PACKAGE / "failure" / "advice.toml", PACKAGE / "ui" / "tour" / "steps.toml"):
        found |= set(texts_in(tomllib.loads(path.read_text(encoding="utf-8"))))
    return found


def texts_in(data: Any, key: str = "") -> Iterator[str]:
    """The sentences in a table of texts."""
    if isinstance(data, dict):
        for name, value in data.items():
            if name not in ("if", "run", "memory", "retry"):
                yield from texts_in(value, name)
    elif isinstance(data, list):
        for value in data:
            yield from texts_in(value, key)
    elif isinstance(data, str) and data:
        yield data


def constants() -> set[str]:
    """Every string of the code: a table's words are among them."""
    return {
        node.value
        for path in PACKAGE.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_bytes()))
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    }


LANGUAGES = [code for code in language.codes() if code != "en"]


@pytest.mark.parametrize("code", LANGUAGES)
def test_nothing_is_missing(code: str) -> None:
    assert sorted((marked() | tables()) - language.load(code).keys()) == []


@pytest.mark.parametrize("code", LANGUAGES)
def test_nothing_is_left_over(code: str) -> None:
    known = constants() | tables() | {text.rstrip() for text in constants()}
    assert sorted(language.load(code).keys() - known) == []


@pytest.mark.parametrize("code", LANGUAGES)
def test_placeholders_are_those_of_the_english(code: str) -> None:
    for english, text in language.load(code).items():
        assert placeholders(text) == placeholders(english), english


def test_there_is_chinese_and_it_is_taken() -> None:
    assert language.codes()[0] == "en"
    assert "zh" in language.codes()
    language.use("zh")
    assert tr("quit") == "退出"
    assert tr("no such text") == "no such text"
    language.use("en")
    assert tr("quit") == "quit"


def test_an_unknown_code_names_those_there_are() -> None:
    with pytest.raises(LanguageError, match="'xx': there are en, zh"):
        language.use("xx")


@pytest.mark.parametrize("text", ['"a" = 3', '"a {n}" = "b {m}"', '"a" = ', "[a]\nb = 'c'"])
def test_a_wrong_file_is_refused(
    text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "yy").mkdir()
    (tmp_path / "yy" / "t.toml").write_text(text, encoding="utf-8")
    monkeypatch.setattr(language, "_folder", lambda: tmp_path)
    with pytest.raises(LanguageError, match=r"t\.toml"):
        language.use("yy")


def test_values_are_filled_in_and_braces_of_no_template_stay() -> None:
    assert tr("{n} of {all}", n=1, all=2) == "1 of 2"
    assert tr('{"a": 1}') == '{"a": 1}'
    assert placeholders('{"a": 1') == frozenset()


def test_a_flag_goes_before_the_environment_and_that_before_the_settings() -> None:
    assert language.wanted("a", {"KVTUI_LANG": "b"}, "c") == "a"
    assert language.wanted(None, {"KVTUI_LANG": "b"}, "c") == "b"
    assert language.wanted(None, {}, "c") == "c"
    assert language.wanted(None, {}) is None
