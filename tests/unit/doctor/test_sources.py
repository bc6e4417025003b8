"""What a ``.env`` and a ``settings.json`` are understood to say."""

from __future__ import annotations

import json
import os
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kvtui.config import ConfigError
from kvtui.doctor.env_file import UnreadLineError, parse_env, read_env_file
from kvtui.doctor.sources import Found, read_settings_file

KEY = "sk-0123456789abcdef"


@pytest.fixture
def env(tmp_path: Path) -> Any:
    def write(text: str, environ: dict[str, str] | None = None) -> Found:
        path = tmp_path / ".env"
        path.write_bytes(text.encode())
        return read_env_file(path, environ or {})

    return write


@pytest.fixture
def settings(tmp_path: Path) -> Any:
    def write(value: Any, environ: dict[str, str] | None = None) -> Found:
        path = tmp_path / "settings.json"
        path.write_text(value if isinstance(value, str) else json.dumps(value))
        return read_settings_file(path, environ or {})

    return write


def facts(found: Found) -> tuple[str, str | None, str | None]:
    endpoint = found.endpoint
    return endpoint.base_url, endpoint.api_key, endpoint.model


def test_plain_env(env: Any) -> None:
    found = env(f"# mine\nOPENAI_BASE_URL=https://a/v1\nexport OPENAI_API_KEY={KEY}\nMODEL=m\n")
    assert facts(found) == ("https://a/v1", KEY, "m")
    assert found.notes == ()
    assert found.endpoint.key_from == "OPENAI_API_KEY in .env"
    assert found.endpoint.chosen_by == "OPENAI_BASE_URL in .env"
    assert KEY not in repr(found)


@pytest.mark.parametrize(
    ("text", "url"),
    [
        (f"TAOTOKEN_API_KEY={KEY}", "https://taotoken.net/api/v1"),
        (f"OPENAI_API_KEY={KEY}", "https://api.openai.com/v1"),
        (f"DEEPSEEK_API_KEY={KEY}", "https://api.deepseek.com/v1"),
        (f"MOONSHOT_API_KEY={KEY}", "https://api.moonshot.cn/v1"),
        (f"LLM_API_BASE=http://a/v1\nLLM_API_KEY={KEY}", "http://a/v1"),
        (f"BASE_URL=http://a/v1/\nAPI_KEY={KEY}", "http://a/v1"),
    ],
)
def test_where_a_key_belongs(env: Any, text: str, url: str) -> None:
    assert facts(env(text))[:2] == (url, KEY)


def test_the_most_complete_group_wins(env: Any) -> None:
    found = env(f"OPENAI_API_KEY=other-key\nX_BASE_URL=http://x/v1\nX_API_KEY={KEY}\nX_MODEL=m\n")
    assert facts(found) == ("http://x/v1", KEY, "m")


@pytest.mark.parametrize(
    ("text", "note"),
    [
        ('A_BASE_URL="http://a/v1"', "docker --env-file keeps them"),
        ("A_BASE_URL = http://a/v1", "shells refuse it"),
        ("A_BASE_URL=http://a/v1   # mine", "some readers keep that"),
        ("A_BASE_URL=http://a/v1\r\n", "CR LF"),
        ("\ufeffA_BASE_URL=http://a/v1", "byte order mark"),
        ("A_BASE_URL=http://b\nA_BASE_URL=http://a/v1", "lines 1 and 2"),
        ("A_BASE_URL=http://a/v1\nwhat is this", "no NAME=value"),
    ],
)
def test_oddities_are_said_and_read_as_meant(env: Any, text: str, note: str) -> None:
    found = env(text)
    assert found.endpoint.base_url == "http://a/v1"
    assert any(note in said for said in found.notes)


def test_environment_that_says_something_else(env: Any) -> None:
    found = env(f"OPENAI_API_KEY={KEY}", {"OPENAI_API_KEY": "another"})
    assert any("OPENAI_API_KEY is set in the environment too" in note for note in found.notes)
    assert "another" not in str(found.notes)


@pytest.mark.parametrize("text", ["", "# nothing", "FOO=1", "MODEL=m"])
def test_env_without_an_endpoint(env: Any, text: str) -> None:
    with pytest.raises(ConfigError):
        env(text)


def test_key_without_a_known_home(env: Any) -> None:
    with pytest.raises(ConfigError, match="--base-url"):
        env(f"SOMEBODY_API_KEY={KEY}")


def test_base_url_given_beside_the_file(tmp_path: Path) -> None:
    path = tmp_path / ".env"
    path.write_text(f"SOMEBODY_API_KEY={KEY}")
    found = read_env_file(path, {}, base_url="http://a/v1")
    assert facts(found)[:2] == ("http://a/v1", KEY)
    assert found.endpoint.chosen_by == "--base-url"


def test_assistant_with_env_block(settings: Any) -> None:
    found = settings(
        {
            "model": "opus",
            "env": {
                "ANTHROPIC_BASE_URL": "https://taotoken.net/api",
                "ANTHROPIC_AUTH_TOKEN": KEY,
                "ANTHROPIC_MODEL": "claude-x",
            },
        }
    )
    assert facts(found) == ("https://taotoken.net/api/v1", KEY, "claude-x")
    assert "/v1/messages" in found.notes[0]
    assert found.endpoint.key_from == "ANTHROPIC_AUTH_TOKEN in settings.json"


def test_list_of_models(settings: Any) -> None:
    found = settings(
        {
            "models": [
                {"title": "A", "model": "m1", "apiBase": "http://a/v1", "apiKey": KEY},
                {"title": "B", "apiBase": "http://b/v1"},
            ]
        }
    )
    assert facts(found) == ("http://a/v1", KEY, "m1")
    assert found.notes == ("The file holds 1 more base URL.",)


def test_comments_and_trailing_commas(settings: Any) -> None:
    found = settings(
        '{ // mine\n "openai.baseUrl": "http://a/v1", /* x */ "openai.apiKey": "' + KEY + '",\n}'
    )
    assert facts(found)[:2] == ("http://a/v1", KEY)


@pytest.mark.parametrize("reference", ["$MY_KEY", "${MY_KEY}", "${env:MY_KEY}", "{env:MY_KEY}"])
def test_reference_to_a_variable(settings: Any, reference: str) -> None:
    table = {"baseURL": "http://a/v1", "apiKey": reference}
    found = settings(table, {"MY_KEY": KEY})
    assert found.endpoint.api_key == KEY
    assert found.endpoint.key_from == "MY_KEY (named in settings.json)"
    missing = settings(table).endpoint
    assert (missing.api_key, missing.key_wanted_from) == (None, "MY_KEY")


def test_settings_that_cannot_be_used(settings: Any) -> None:
    with pytest.raises(ConfigError, match="line 1, column 3"):
        settings("{ oops }")
    with pytest.raises(ConfigError, match="neither"):
        settings({"editor.fontSize": 12})
    with pytest.raises(ConfigError):
        settings("[" * 100_000)


def test_hashes_inside_values_stay() -> None:
    values, notes = parse_env("A_API_KEY=abc#def")
    assert (values[0].text, notes) == ("abc#def", [])


def test_a_variable_inside_a_value_is_put_in_and_said(env: Any) -> None:
    text = f"HOST=a.test:8000\nX_BASE_URL=http://${{HOST}}/v1\nX_API_KEY={KEY}\n"
    found = env(text)
    assert facts(found)[:2] == ("http://a.test:8000/v1", KEY)
    assert any("X_BASE_URL has a variable in it" in note for note in found.notes)
    found = env(f"X_BASE_URL=http://${{HOST}}/v1\nX_API_KEY={KEY}\n", {"HOST": "b.test"})
    assert facts(found)[0] == "http://b.test/v1"
    found = env(f"X_BASE_URL=http://${{NOWHERE}}/v1\nX_API_KEY={KEY}\n")
    assert facts(found)[0] == "http://${NOWHERE}/v1"


@pytest.mark.parametrize("sign", ["\uff1d", ":", " : ", " -> "])
def test_no_key_is_tried_elsewhere_when_the_url_s_line_cannot_be_read(env: Any, sign: str) -> None:
    with pytest.raises(ConfigError, match="line 2 was to set OPENAI_BASE_URL, but no = follows"):
        env(f"OPENAI_API_KEY={KEY}\nOPENAI_BASE_URL{sign}http://gpu.test/v1\n")


@pytest.mark.parametrize("read", [read_env_file, read_settings_file])
@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("A=1".encode("utf-16"), "is UTF-16, which hardly any program reads: save it as UTF-8"),
        (b"A=1\nB=\xc4\xe3", r"is not UTF-8 text \(byte 7\): save it as UTF-8"),
        (b"x" * (1 << 20) + b"x", "larger than 1 MiB"),
    ],
)
def test_files_of_another_kind(tmp_path: Path, read: Any, content: bytes, said: str) -> None:
    path = tmp_path / "file"
    path.write_bytes(content)
    with pytest.raises(ConfigError, match=said):
        read(path, {})


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes by name here")
def test_a_pipe_that_nobody_fills_does_not_hang(tmp_path: Path) -> None:
    path = tmp_path / "pipe"
    os.mkfifo(path)
    with pytest.raises(ConfigError, match="is a pipe: give a file"):
        read_env_file(path, {})


@given(st.text(alphabet="ABK_= :#'\"$}{\n\r\t\uff1d\x00\x1b\u4e2dhttp/v1.KEYURL", max_size=120))
def test_no_env_file_raises_anything_else(text: str) -> None:
    with suppress(UnreadLineError):
        parse_env(text)
