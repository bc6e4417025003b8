"""``--lang``: the screen and the commands speak another language; machines read English."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from fakes import SETTINGS, Script, make_app
from rich.cells import cell_len
from test_inert import on_screen
from test_screen import AUTH, AUTH_EVIDENCE, at, ready, until

from kvtui import language
from kvtui.config import Defaults
from kvtui.failure import Evidence, classify
from kvtui.ui.opening.settings import take_language


@pytest.fixture(autouse=True)
def _english_afterwards() -> Iterator[None]:
    yield
    language.use("en")


def lines(app: Any) -> list[str]:
    """The screen's rows."""
    app.screen.refresh()
    return [
        "".join(segment.text for segment in strip if not segment.control)
        for strip in app.screen._compositor.render_strips()
    ]


@pytest.mark.parametrize("size", [(80, 24), (120, 40), (200, 50)])
async def test_the_screen_in_chinese_keeps_its_grid(size: tuple[int, int]) -> None:
    language.use("zh")
    script = Script(pieces=[], verdict=AUTH, evidence=AUTH_EVIDENCE, finish=None)
    app = make_app(Script(), script)
    async with app.run_test(size=size) as pilot:
        await ready(pilot)
        for step in (None, "enter", "enter", "w", "2", "3", "question_mark"):
            if step is not None:
                await pilot.press(step)
                await at(pilot, pilot.app.fake.clock.now + 5)
                await pilot.pause()
            drawn = lines(app)
            assert {cell_len(line) for line in drawn} == {size[0]}, step
        await pilot.press("escape", "escape")
        await pilot.pause()
        shown = on_screen(app)
        for word in ("流式输出", "显存", "错误", "退出"):
            assert word in shown


async def test_the_settings_language_is_taken_after_the_first_frame() -> None:
    app = make_app()
    async with app.run_test(size=(80, 24)) as pilot:
        await ready(pilot)
        settings = replace(SETTINGS, defaults=Defaults(lang="zh"))
        assert take_language(app, settings) == []
        await until(pilot, lambda: "显存" in on_screen(app) and "退出" in on_screen(app))
        wrong = replace(SETTINGS, defaults=Defaults(lang="xx"))
        (problem,) = take_language(app, wrong)
        assert "en, zh" in problem


def kvtui(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    import os

    return subprocess.run(
        [sys.executable, "-m", "kvtui", *arguments],
        capture_output=True,
        text=True,
        timeout=60,
        env={**os.environ, **environment},
        stdin=subprocess.DEVNULL,
    )


@pytest.mark.parametrize(
    ("arguments", "environment"),
    [
        (["--lang", "xx"], {}),
        ([], {"KVTUI_LANG": "xx"}),
        (["run", "--lang", "xx"], {}),
        (["doctor"], {"KVTUI_LANG": "xx"}),
    ],
)
def test_an_unknown_code_is_one_sentence(arguments: list[str], environment: dict[str, str]) -> None:
    ran = kvtui(*arguments, **environment)
    assert ran.returncode == 2
    assert ran.stderr == "kvtui: There is no language 'xx': there are en, zh.\n"


def test_the_locale_speaks_and_the_setting_goes_before_it(tmp_path: Path) -> None:
    refused = ["run", "--base-url", "http://127.0.0.1:1/v1", "--model", "m"]
    chinese = kvtui(*refused, LC_ALL="zh_CN.UTF-8")
    assert "127.0.0.1:1" in chinese.stderr + chinese.stdout
    assert not (chinese.stderr + chinese.stdout).isascii()
    config = tmp_path / "config.toml"
    config.write_text('[defaults]\nlang = "en"\n', encoding="utf-8")
    english = kvtui(*refused, LC_ALL="zh_CN.UTF-8", KVTUI_CONFIG=str(config))
    assert "Nothing listens" in english.stderr + english.stdout
    assert kvtui(*refused, LC_ALL="xx_YY.UTF-8").returncode == 1


def test_a_plan_in_chinese_keeps_its_columns() -> None:
    question = ["plan", "--arch", "LLaMA-7B", "--context", "2048", "--concurrency", "10"]
    text = kvtui(*question, "--lang", "zh").stdout
    for label in ("KV 合计", "每序列"):  # figures begin in the 19th cell
        (row,) = (line for line in text.splitlines() if line.startswith(label))
        assert cell_len(row[: row.index("1")]) == 18, row
    assert "10.00 GiB（10 × 2,048 token）" in text
    wrong = kvtui("plan", "--arch", "LLaMA-7", "--context", "0", "--lang", "zh")
    assert wrong.returncode == 2
    assert "--context 至少为 1" in wrong.stderr
    machine = kvtui(*question, "--lang", "zh", "--json").stdout
    assert "32 layers × 2,048 tokens" in machine


def test_bench_tells_of_its_presets_in_chinese() -> None:
    listed = kvtui("bench", "--list", "--lang", "zh").stdout
    assert all(not line.isascii() for line in listed.splitlines()[:3])
    assert kvtui("bench", "--list", "--json", "--lang", "zh").stdout.isascii()


def test_what_machines_read_is_english(tmp_path: Path) -> None:
    import json

    refused = ["run", "--base-url", "http://127.0.0.1:1/v1", "--model", "m", "--lang", "zh"]
    text = kvtui(*refused)
    assert text.returncode == 1
    plain = json.loads(kvtui(*refused, "--json").stdout)
    failure = plain["runs"][0]["failure"]
    assert failure["class"] == "network"
    assert failure["message"].isascii()
    assert all(fix.isascii() for fix in failure["fixes"])


def test_class_and_subcode_are_the_same_in_every_language() -> None:
    evidence = Evidence(status=401, host="h", body='{"error": {"code": "invalid_api_key"}}')
    english = classify(evidence)
    language.use("zh")
    chinese = classify(evidence)
    assert (english.cls, english.subcode) == (chinese.cls, chinese.subcode)
    assert len(english.fixes) == len(chinese.fixes)


def test_a_fix_names_its_key_once_in_every_language() -> None:
    from kvtui.ui.draw.errors import with_key

    language.use("zh")
    named = "提高 max_tokens（当前 96）：--max-tokens，或在屏幕上按 e。"
    assert with_key(named) == named
    assert with_key("提高 --max-tokens。") == "提高 --max-tokens （按键 e）。"
