"""Translations: none is missing, none is left over, no placeholder is lost."""

from __future__ import annotations

import ast
import re
import tomllib
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, get_args

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
    """The texts of the tables: commands, presets, fields, settings, steps, advice, the tour."""
    from kvtui.bench.running.presets import PRESETS
    from kvtui.config.file import Defaults, Profile
    from kvtui.config_edit import settings_of
    from kvtui.doctor.steps import TITLES
    from kvtui.failure.evidence import WaitingFor
    from kvtui.memory import catalogue
    from kvtui.ui.commands import COMMANDS, GROUPS
    from kvtui.ui.experiments.keys import EXPERIMENTS, LEGEND, RECORD, RUNS
    from kvtui.ui.experiments.knobs import KNOBS
    from kvtui.ui.planner import form, keys, presets

    found = {text for _, _, _, *said in keys.KEYS for text in said}
    found |= {text for offer in (*EXPERIMENTS, *RUNS, *RECORD) for text in offer.command[2:4]}
    found |= {text for knob in KNOBS for text in (knob.label, knob.hint)}
    found |= {text for field in form.FIELDS.values() for text in (field.label, field.hint)}
    found |= {name.replace("_", " ") for name in get_args(WaitingFor)}
    found |= {m.source for m in catalogue.catalogue() if m.source.startswith("recalled")}
    found |= {"max tokens", "context full", "repetition", "reasoning exhausted"}  # outcomes
    found |= {preset.about for preset in PRESETS.values()} | {*TITLES.values(), LEGEND}
    found |= {text for preset in presets.PRESETS for text in (preset.title, preset.short)}
    found |= {row.meaning for table in (Defaults, Profile) for row in settings_of(table)} - {""}
    found |= {text for command in COMMANDS for text in (command.label, command.help)} | {*GROUPS}
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
def test_no_text_stands_in_two_files(code: str) -> None:
    files = (PACKAGE / "languages" / code).glob("*.toml")
    texts = Counter(text for path in files for text in tomllib.loads(path.read_text("utf-8")))
    assert [text for text, times in texts.items() if times > 1] == []


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


def test_a_locale_speaks_where_nobody_asked_for_a_language() -> None:
    assert language.of_locale({"LANG": "zh_CN.UTF-8"}) == "zh"
    assert language.of_locale({"LANG": "zh_CN.UTF-8", "LC_ALL": "C"}) is None
    assert language.of_locale({"LANG": "C", "LC_MESSAGES": "zh"}) == "zh"
    assert language.of_locale({"LANG": "", "LC_ALL": ""}) is None
    assert language.of_locale({"LANG": "de_DE.UTF-8"}) is None  # there is none, and none was asked
    assert language.of_locale({"LANG": "../../x"}) is None


# --- no text reaches the screen past the table ----------------------------------------------------

SAYS = {"say", "_say", "notify"}
"""Methods that show a sentence."""
BORDERS = {"border_title", "border_subtitle", "placeholder"}
WIDGETS = {"PickerScreen", "AskScreen", "ConfirmScreen", "BodyScreen", "ScrolledRows", "BenchBar"}
WIDGETS |= {"Label", "Static", "Span"}
"""Classes whose first argument is shown."""
NAMES = {
    *("kvtui", "llama.cpp", "vLLM", "SGLang", "TTFT", "TTFA", "TPOT", "TPS", "ITL", "ITL99", "E2E"),
    *("auto", "KV", "p50", "p99", "tok", "tok/s", "ktok/s", "req/s", "GiB", "MiB", "KiB", "ms"),
}
"""Names and units, which are the same in every language."""


def untranslated(path: Path) -> Iterator[tuple[int, str]]:
    """(line, text) of every literal of a module of the screen that is shown as it stands."""
    for node in ast.walk(ast.parse(path.read_bytes())):
        for shown in shown_by(node):
            yield from ((shown.lineno, text) for text in spoken(shown))


def shown_by(node: ast.AST) -> Iterator[ast.expr]:
    """The expressions whose text a statement or a call puts onto the screen."""
    if isinstance(node, ast.Call):
        name = getattr(node.func, "attr", getattr(node.func, "id", ""))
        if name in SAYS | WIDGETS and node.args:
            yield node.args[0]
        for keyword in node.keywords:
            if keyword.arg in BORDERS:
                yield keyword.value
        if name == "row":
            yield from (arg.elts[0] for arg in node.args if isinstance(arg, ast.Tuple))
            yield from (arg for arg in node.args if not isinstance(arg, ast.Tuple))
    elif isinstance(node, ast.Assign) and getattr(node.targets[0], "attr", "") in BORDERS:
        yield node.value


def spoken(shown: ast.expr) -> Iterator[str]:
    """The literals of an expression that hold words; what is passed on to a call is its own."""
    if isinstance(shown, ast.Constant) and isinstance(shown.value, str):
        words = re.findall(r"[A-Za-z][\w./']+", shown.value)
        if any(word not in NAMES for word in words):
            yield shown.value
    elif isinstance(shown, ast.JoinedStr):
        for part in shown.values:
            yield from spoken(part)
    elif isinstance(shown, ast.IfExp):
        yield from (*spoken(shown.body), *spoken(shown.orelse))
    elif isinstance(shown, ast.BinOp):
        yield from (*spoken(shown.left), *spoken(shown.right))
    elif isinstance(shown, ast.BoolOp):
        for value in shown.values:
            yield from spoken(value)
    elif isinstance(shown, ast.FormattedValue):
        yield from spoken(shown.value)
    elif isinstance(shown, ast.Call) and getattr(shown.func, "id", "") in ("left", "right", "clip"):
        yield from spoken(shown.args[0])


def test_every_sentence_of_the_screen_goes_through_the_table() -> None:
    found = {
        f"{path.relative_to(PACKAGE)}:{line}: {text}"
        for path in (PACKAGE / "ui").rglob("*.py")
        for line, text in untranslated(path)
    }
    assert sorted(found) == []


@pytest.mark.parametrize(
    "code",
    [
        "self.say('No prompt yet.')",
        "self.say(f'{n} files')",
        "self.notify(tr('a') if x else 'No prompt.')",
        "box.border_title = 'Models'",
        "row(('steps ', 'muted'))",
        "Span(left('steps', 8), 'muted')",
    ],
)
def test_what_passes_the_table_by_is_found(code: str, tmp_path: Path) -> None:
    path = tmp_path / "module.py"
    path.write_text(code)
    assert list(untranslated(path))


def test_no_name_of_a_field_is_translated() -> None:
    for path in sorted(PACKAGE.rglob("*.py")):
        source = path.read_text(encoding="utf-8")
        assert not re.search(r"\.get\(tr\(|\w\[tr\(", source), path
