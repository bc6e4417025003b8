"""What the command line presets, and what is said of options that cannot be used."""

from __future__ import annotations

import ast
import json
from pathlib import Path
from typing import Any

import pytest
from fakes import REMOTE, SETTINGS, make_app
from test_screen import ready, shown

import kvtui
from kvtui.config import Defaults, Settings
from kvtui.ui.messages import ConductorReady
from kvtui.ui.opening.prompt import initial_form, read_files
from kvtui.ui.opening.settings import frames_per_second, load_memory, read_settings
from kvtui.ui.prompt.form import FormError, parse_form
from kvtui.ui.state import PromptForm


def test_flags_come_before_the_file_before_the_defaults() -> None:
    defaults = Defaults(prompt="from the file", max_tokens=99, temperature=0.2)
    form = initial_form({"prompt": "from the flag", "repeat": 3}, defaults)
    assert (form.prompt, form.max_tokens, form.temperature, form.repeats) == (
        "from the flag", 99, 0.2, 3,
    )  # fmt: skip
    assert initial_form({"temperature": 0.0}, defaults).temperature == 0.0
    assert initial_form({}, Defaults()).prompt


def test_a_prompt_file_is_read(tmp_path: Path) -> None:
    path = tmp_path / "prompt.txt"
    path.write_text("  What is a page table?\n", encoding="utf-8")
    options = {"prompt_file": path}
    assert read_files(options) == []
    assert options["prompt"] == "What is a page table?"


@pytest.mark.parametrize("content", [b"", b"   \n", b"x" * ((1 << 20) + 1), b"a\xff"])
def test_a_prompt_file_that_cannot_be_used_is_a_sentence(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "prompt.txt"
    path.write_bytes(content)
    (problem,) = read_files({"prompt_file": path})
    assert str(path) in problem
    assert problem.endswith(".")


@pytest.mark.parametrize(
    ("content", "good"),
    [
        ([{"role": "user", "content": "hi"}], True),
        ({"messages": [{"role": "user", "content": "hi"}]}, True),
        ([{"content": "hi"}], False),
        ("hi", False),
        ({}, False),
    ],
)
def test_messages_are_a_list_of_roles(tmp_path: Path, content: object, good: bool) -> None:
    path = tmp_path / "messages.json"
    path.write_text(json.dumps(content), encoding="utf-8")
    options = {"messages_file": path}
    problems = read_files(options)
    assert bool(problems) is not good
    assert ("messages" in options) is good


@pytest.mark.parametrize("content", [b"[" * 100_000, b"[" + b"9" * 9_000 + b"]", b"\xff", b"\x00"])
def test_messages_that_nothing_can_read_are_a_sentence(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "messages.json"
    path.write_bytes(content)
    (problem,) = read_files({"messages_file": path})
    assert str(path) in problem
    assert problem.endswith(".")


def test_a_broken_settings_file_gives_the_defaults_and_a_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "config.toml"
    path.write_text("[defaults]\ngpuu = 3\n", encoding="utf-8")
    monkeypatch.setenv("KVTUI_CONFIG", str(path))
    settings, problem = read_settings()
    assert settings == Settings(path)
    assert "gpuu" in problem
    assert str(path) in problem


def test_a_model_file_that_is_none_is_a_sentence(tmp_path: Path) -> None:
    path = tmp_path / "model.gguf"
    path.write_bytes(b"not a model")
    view, problems = load_memory({"gguf": path, "config_json": path}, SETTINGS)
    assert len(problems) == 2
    assert view.state().ready


async def test_the_users_model_stays_whatever_the_endpoint_serves() -> None:
    app = make_app(prepared=REMOTE, arch="Qwen3-8B", context=4096, concurrency=2)
    async with app.run_test(size=(120, 40)) as pilot:
        main = await ready(pilot)
        state = main.memory_pane.state
        assert (state.model, state.context, state.users) == ("Qwen3-8B", 4096, 2)
        assert "as if" not in shown(main.memory_pane)


FIELDS = {"prompt": "p", "system": "", "max_tokens": "8", "temperature": "", "repeats": "1"}


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("max_tokens", "0"), ("max_tokens", "1.5"), ("max_tokens", "²"), ("max_tokens", "9" * 30),
        ("temperature", "hot"), ("temperature", "nan"), ("temperature", "2.1"),
        ("repeats", "-1"), ("repeats", "10001"),
    ],
)  # fmt: skip
def test_a_wrong_field_is_named_and_the_others_are_kept(field: str, value: str) -> None:
    with pytest.raises(FormError) as caught:
        parse_form(PromptForm(), **{**FIELDS, field: value})
    assert caught.value.kept.prompt == "p"
    assert str(caught.value).startswith(field.replace("_", " "))


def test_empty_numbers_are_the_servers() -> None:
    form = parse_form(PromptForm(), **{**FIELDS, "max_tokens": "", "repeats": ""})
    assert (form.max_tokens, form.temperature, form.repeats) == (None, None, 1)


def settings(**defaults: Any) -> Settings:
    return Settings(Path("config.toml"), Defaults(**defaults))


@pytest.mark.parametrize(
    ("flag", "variable", "file", "fps"),
    [
        (None, "", None, 30),
        (None, "", 12, 12),
        (None, "15", 12, 15),
        (20, "15", 12, 20),
        (None, "121", 12, 12),
        (None, "many", 12, 12),
    ],
)
def test_the_frame_rate_is_the_flags_the_variables_the_files(
    flag: int | None, variable: str, file: int | None, fps: int
) -> None:
    held = settings() if file is None else settings(fps=file)
    found, problem = frames_per_second({"fps": flag}, held, {"KVTUI_FPS": variable})
    assert found == fps
    assert ("KVTUI_FPS" in problem) == (variable in ("121", "many"))


async def test_the_configurations_frame_rate_is_the_timers() -> None:
    app = make_app()
    async with app.run_test(size=(80, 24)) as pilot:
        main = await ready(pilot)
        main.post_message(ConductorReady(main.conductor, main.opened.sessions, 12))
        await pilot.pause()
        assert main.parts.frames.timer._interval == pytest.approx(1 / 12)
        assert not main.parts.frames.timer._active.is_set()
        await pilot.press("enter")
        assert main.parts.frames.timer._active.is_set()


def test_every_default_of_the_configuration_is_read_somewhere() -> None:
    package = Path(kvtui.__file__).parent
    read = {
        node.attr
        for path in package.rglob("*.py")
        if "config" not in path.parts and path.name != "config_edit.py"
        for node in ast.walk(ast.parse(path.read_bytes()))
        if isinstance(node, ast.Attribute) and ast.unparse(node.value).endswith("defaults")
    }
    # The profile is read where the endpoint is chosen, beside the file's schema.
    assert set(Defaults.__struct_fields__) - read == {"profile"}
