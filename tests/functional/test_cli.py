"""The command line: status 2 and one sentence for what cannot be used, stdout for data only."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.signals import hear_interrupts

Here = Callable[..., subprocess.CompletedProcess[str]]


def kvtui(
    *arguments: str, stdin: str | None = None, **environ: str
) -> subprocess.CompletedProcess[str]:
    clean = {k: v for k, v in os.environ.items() if not k.startswith(("OPENAI_", "TAOTOKEN_"))}
    return subprocess.run(
        [sys.executable, "-m", "kvtui", *arguments],
        env=clean | environ,
        input=stdin,
        stdin=None if stdin is not None else subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=30,
        check=False,
    )


@pytest.fixture
def config(tmp_path: Path) -> dict[str, str]:
    return {"KVTUI_CONFIG": str(tmp_path / "config.toml"), "KVTUI_STATE": str(tmp_path / "s.toml")}


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["confg"], "No such command 'confg' (did you mean config?)"),
        (["--gpu", "H100", "run"], "kvtui run takes no --gpu"),
        (["--no-such-flag"], "--no-such-flag"),
        (["run", "--max-tokens", "0"], "--max-tokens"),
        (["run", "--temperature", "nan"], "nan"),
        (["run", "--timeout", "inf"], "not a finite number"),
        (["run", "--extra-body", "[1]"], "must be a JSON object"),
        (["run", "--extra-body", "{"], "not valid JSON"),
        (["run", "--header", "no colon"], "must read 'Name: value'"),
        (["run", "--header", "a b: c"], "must read 'Name: value'"),
        (["run", "--base-url", ""], "is empty"),
        (["run", "--model", " "], "is empty"),
        (["run", "--prompt-file", "/no/such/file"], "/no/such/file"),
        (["run", "--profile", "nowhere"], "no profile 'nowhere'"),
        (["run", "--model", "nonesuch"], "no model 'nonesuch'"),
        (["run", "--model", __file__], "no GGUF model"),
        (["serve", "--model", __file__], "no GGUF model"),
        (["serve", "--port", "70000"], "70000"),
        (["serve", "--api-key-env", "NOT_SET_ANYWHERE"], "NOT_SET_ANYWHERE, which is not set"),
        (["config", "set", "gpu", "H100"], "'gpu' is no key"),
        (["config", "set", "defaults.fps", "0"], "defaults.fps"),
        (["config", "set", "defaults.fsp", "9"], "did you mean fps?"),
    ],
)
def test_what_cannot_be_used_is_named(
    kvtui_here: Here, config: dict[str, str], arguments: list[str], said: str
) -> None:
    ran = kvtui_here(*arguments, env=config)
    assert ran.returncode == 2, ran
    assert said in ran.stderr
    assert ran.stdout == ""
    assert "Traceback" not in ran.stderr


def test_a_screen_without_a_terminal_is_refused(config: dict[str, str]) -> None:
    ran = kvtui(stdin="a prompt", **config)
    assert ran.returncode == 2
    assert "kvtui run" in ran.stderr


@pytest.mark.skipif(sys.platform == "win32", reason="POSIX descriptors")
@pytest.mark.parametrize("flags", ["", "--gpu L4"])
def test_a_screen_without_stderr_is_refused_in_words(config: dict[str, str], flags: str) -> None:
    ran = subprocess.run(
        ["bash", "-c", f"{sys.executable} -m kvtui {flags} 2>&-"],
        env=dict(os.environ) | config,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=30,
        check=False,
        start_new_session=True,  # no terminal to say it to either
    )
    assert ran.returncode == 2
    assert "`kvtui run`" in ran.stdout


def test_config_is_edited_in_place(config: dict[str, str]) -> None:
    path = Path(config["KVTUI_CONFIG"])
    assert kvtui("config", "init", **config).stdout.strip() == str(path)
    assert kvtui("config", "set", "defaults.gpu", "H100", **config).returncode == 0
    assert kvtui("config", "set", "profiles.box.base_url", "http://h/v1", **config).returncode == 0
    text = path.read_text(encoding="utf-8")
    assert '# api_key_env = "VLLM_API_KEY"' in text
    shown = kvtui("config", "show", **config).stdout
    assert 'gpu          = "H100"' in shown
    assert "[profiles.box]" in shown
    assert kvtui("config", "init", **config).returncode == 2


def test_a_broken_config_file_is_named(config: dict[str, str]) -> None:
    Path(config["KVTUI_CONFIG"]).write_text("[defaults]\ngpv = 1\n", encoding="utf-8")
    ran = kvtui("config", "show", **config)
    assert ran.returncode == 2
    assert config["KVTUI_CONFIG"] in ran.stderr
    assert "gpv (did you mean gpu?)" in ran.stderr


def test_help_lists_every_command_and_imports_none() -> None:
    code = (
        "import sys; from click.testing import CliRunner\n"
        "from kvtui.commands.group import kvtui, COMMANDS\n"
        "out = CliRunner().invoke(kvtui, ['--help']).output\n"
        "assert all(name in out for name in COMMANDS)\n"
        "heavy = {'textual', 'openai', 'numpy', 'plotext', 'aiohttp', 'msgspec'}\n"
        "print(sorted(heavy & set(sys.modules)))"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ran.stdout.strip() == "[]"


def test_every_command_of_the_table_has_help() -> None:
    code = (
        "from click.testing import CliRunner; from kvtui.commands.group import kvtui, COMMANDS\n"
        "import json; print(json.dumps({n: CliRunner().invoke(kvtui, [n, '--help']).exit_code "
        "for n in COMMANDS}))"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert set(json.loads(ran.stdout).values()) == {0}


def test_completion_knows_the_commands() -> None:
    ran = kvtui(_KVTUI_COMPLETE="bash_complete", COMP_WORDS="kvtui pl", COMP_CWORD="1")
    assert "plan" in ran.stdout


@pytest.mark.parametrize(
    ("words", "offered"),
    [
        ("kvtui plan --gpu h1", "H100"),
        ("kvtui --gpu 24", "24GB"),
        ("kvtui plan --arch llama-2-7", "Llama-2-7B"),
        ("kvtui --arch llama-2-7", "Llama-2-7B"),
        ("kvtui bench --arch llama-2-7", "Llama-2-7B"),
        ("kvtui bench comp", "compare-endpoints"),
        ("kvtui bench ", "quality-of-stream"),
    ],
)
def test_completion_knows_cards_models_and_presets(
    words: str, offered: str, config: dict[str, str]
) -> None:
    at = str(len(words.split(" ")) - 1)
    ran = kvtui(_KVTUI_COMPLETE="bash_complete", COMP_WORDS=words, COMP_CWORD=at, **config)
    names = [line.partition(",")[2] for line in ran.stdout.splitlines()]
    assert any(name.startswith(offered) for name in names)
    begun = words.split(" ")[-1].casefold()
    assert all(name.casefold().startswith(begun) for name in names)


def test_a_language_is_asked_for_where_the_command_takes_it(config: dict[str, str]) -> None:
    shown = kvtui("models", "--lang", "zh", "qwen3-8", **config)
    assert (shown.returncode, "上下文" in shown.stdout) == (0, True)
    refused = kvtui("--lang", "zh", "models", "qwen", **config)
    assert (refused.returncode, "kvtui models --lang" in refused.stderr) == (2, True)
    refused = kvtui("--lang", "zh", "themes", **config)  # no way is named that there is not
    assert refused.returncode == 2
    assert "takes no --lang" in refused.stderr
    assert "after the command" not in refused.stderr


def test_files_are_bounded_and_deep_ones_are_named(tmp_path: Path, config: dict[str, str]) -> None:
    deep = tmp_path / "deep.json"
    deep.write_text("[" * 100_000, encoding="utf-8")
    ran = kvtui("run", "--messages", str(deep), **config)
    assert (ran.returncode, "nested too deeply" in ran.stderr) == (2, True)
    ran = kvtui("run", "--extra-body", '{"a":' * 15_000 + "1" + "}" * 15_000, **config)
    assert (ran.returncode, "nested too deeply" in ran.stderr) == (2, True)
    ran = kvtui("run", "--prompt", "a", "--prompt-file", str(deep), **config)
    assert "--prompt and --prompt-file both" in ran.stderr


@pytest.mark.skipif(not Path("/dev/zero").exists(), reason="needs /dev/zero and /dev/full")
def test_devices_have_no_end(config: dict[str, str]) -> None:
    ran = kvtui("run", "--prompt-file", "/dev/zero", **config)
    assert (ran.returncode, "is larger than" in ran.stderr) == (2, True)
    ran = kvtui("config", "show", KVTUI_CONFIG="/dev/zero")
    assert (ran.returncode, "is larger than" in ran.stderr) == (2, True)
    with Path("/dev/full").open("w", encoding="utf-8") as full:
        ran = subprocess.run(
            [sys.executable, "-m", "kvtui", "models"],
            stdout=full,
            stderr=subprocess.PIPE,
            check=False,
        )
    assert ran.returncode == 2
    assert ran.stderr.decode() == "kvtui: the output cannot be written: No space left on device.\n"


@pytest.mark.parametrize("content", ["a=" + "[" * 500 + "]" * 500, "x=" + "9" * 9_000])
def test_toml_that_python_cannot_hold(config: dict[str, str], content: str) -> None:
    Path(config["KVTUI_CONFIG"]).write_text(content, encoding="utf-8")
    Path(config["KVTUI_STATE"]).write_text(content, encoding="utf-8")
    ran = kvtui("config", "show", **config)
    assert (ran.returncode, "is not valid TOML" in ran.stderr) == (2, True)
    code = "from kvtui.state_file import load_state; print(load_state())"
    ran = subprocess.run(
        [sys.executable, "-c", code],
        env=os.environ | config,
        capture_output=True,
        text=True,
        check=True,
    )
    assert ran.stdout.strip() == "{}"


def test_an_encoding_that_lacks_characters_loses_nothing(config: dict[str, str]) -> None:
    ran = kvtui("gpus", **config, PYTHONIOENCODING="latin1")
    assert ran.returncode == 0
    assert r"\u2014" in ran.stdout


def test_json_holds_nothing_a_terminal_obeys() -> None:
    from kvtui.commands.output import json_text

    value = {"a": "\x9b31m \x7f \u202e \u200b \u2028 \x1b 缓存 é"}
    text = json_text(value)
    assert json.loads(text) == value
    assert "缓存 é" in text
    assert not any(char in text for char in "\x9b\x7f\u202e\u200b\u2028\x1b")


@pytest.mark.skipif(sys.platform == "win32", reason="POSIX signals")
def test_two_interrupts_keep_what_was_measured(config: dict[str, str]) -> None:
    process = subprocess.Popen(
        [sys.executable, "-m", "kvtui", "run", "--json", "--repeat", "1000", "--max-tokens", "20"],
        env={k: v for k, v in os.environ.items() if not k.startswith(("OPENAI_", "TAO"))} | config,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=hear_interrupts,
    )
    assert process.stderr is not None
    for line in process.stderr:
        if "run 3 of" in line:
            break
    process.send_signal(signal.SIGINT)
    process.send_signal(signal.SIGINT)
    out, _ = process.communicate(timeout=40)
    assert process.returncode == 130
    assert len(json.loads(out)["runs"]) >= 2


def test_a_key_in_the_place_of_its_variable_s_name_is_refused_and_not_repeated(
    config: dict[str, str],
) -> None:
    key = "sk-right-123456"
    for command in (
        ("--api-key-env", key),
        ("run", "--base-url", "http://127.0.0.1:1/v1", "--api-key-env", key),
        ("doctor", "--base-url", "http://127.0.0.1:1/v1", "--api-key-env", key),
        ("serve", "--api-key-env", key),
        ("config", "set", "profiles.box.api_key_env", key),
    ):
        refused = kvtui(*command, **config)
        assert refused.returncode == 2, command
        assert "looks like a key" in refused.stderr
        assert key not in refused.stdout + refused.stderr
        assert not Path(config["KVTUI_CONFIG"]).exists()
