"""Which endpoint, which key; and mistakes in the file named with file and key."""

from __future__ import annotations

import random
import stat
import string
import sys
from pathlib import Path

import pytest

from kvtui.config import (
    ConfigError,
    Endpoint,
    load_settings,
    resolve_endpoint,
    variable_problem,
)
from kvtui.state_file import load_state, save_state
from kvtui.text import redact

PROFILES = """
[profiles.box]
base_url = "http://10.0.0.5:8000/v1/"
model = "Qwen/Qwen3-8B"
api_key_env = "BOX_KEY"
architecture = "Qwen3-8B"
headers = { X-Team = "inference" }

[profiles.gateway]
base_url = "https://taotoken.net/api/v1"
"""


def resolve(tmp_path: Path, environ: dict[str, str], **flags: str) -> Endpoint:
    path = tmp_path / "config.toml"
    path.write_text(PROFILES, encoding="utf-8")
    return resolve_endpoint(load_settings(path), environ=environ, **flags)  # type: ignore[arg-type]


ALL = {
    "OPENAI_BASE_URL": "http://localhost:9000/v1",
    "OPENAI_API_KEY": "openai-key",
    "TAOTOKEN_API_KEY": "tao-key",
    "BOX_KEY": "box-key",
}


@pytest.mark.parametrize(
    ("environ", "flags", "url", "chosen_by", "key_from"),
    [
        ({}, {}, "", "embedded", None),
        (ALL, {"base_url": "http://h:1/v1"}, "http://h:1/v1", "--base-url", None),
        (
            ALL,
            {"base_url": "http://h:1/v1", "profile": "box"},
            "http://h:1/v1",
            "--base-url",
            None,
        ),
        (ALL, {"profile": "box"}, "http://10.0.0.5:8000/v1", "profile box", "BOX_KEY"),
        (ALL, {}, "http://localhost:9000/v1", "OPENAI_BASE_URL", "OPENAI_API_KEY"),
        (
            {"TAOTOKEN_API_KEY": "t", "OPENAI_API_KEY": "o"},
            {},
            "https://taotoken.net/api/v1",
            "TAOTOKEN_API_KEY",
            "TAOTOKEN_API_KEY",
        ),
        (
            {"OPENAI_API_KEY": "o"},
            {},
            "https://api.openai.com/v1",
            "OPENAI_API_KEY",
            "OPENAI_API_KEY",
        ),
        (
            ALL,
            {"base_url": "https://taotoken.net/api"},
            "https://taotoken.net/api",
            "--base-url",
            "TAOTOKEN_API_KEY",
        ),
        (
            ALL,
            {"base_url": "https://api.openai.com/v1"},
            "https://api.openai.com/v1",
            "--base-url",
            "OPENAI_API_KEY",
        ),
        (
            ALL,
            {"base_url": "http://h:1/v1", "api_key_env": "OPENAI_API_KEY"},
            "http://h:1/v1",
            "--base-url",
            "OPENAI_API_KEY",
        ),
    ],
)
def test_choice_of_endpoint_and_key(
    tmp_path: Path,
    environ: dict[str, str],
    flags: dict[str, str],
    url: str,
    chosen_by: str,
    key_from: str | None,
) -> None:
    endpoint = resolve(tmp_path, environ, **flags)
    assert (endpoint.base_url, endpoint.chosen_by, endpoint.key_from) == (url, chosen_by, key_from)
    assert endpoint.api_key == (environ[key_from] if key_from else None)


@pytest.mark.parametrize(
    "url",
    [
        "https://taotoken.net.evil.example/api/v1",
        "https://eviltaotoken.net/api/v1",
        "http://localhost:9001/v1",
        "https://user@taotoken.net@evil.example/v1",
        "http://[::1",
        "https://taotoken.net:port/v1",
        "taotoken.net/api/v1",
        "",
    ],
)
def test_a_key_goes_to_no_other_host(tmp_path: Path, url: str) -> None:
    endpoint = resolve(tmp_path, ALL, base_url=url)
    assert endpoint.api_key is None
    assert endpoint.headers == {}


def test_a_profile_that_names_no_key_sends_only_what_belongs_to_its_host(tmp_path: Path) -> None:
    assert resolve(tmp_path, ALL, profile="gateway").key_from == "TAOTOKEN_API_KEY"
    environ = {name: key for name, key in ALL.items() if name != "TAOTOKEN_API_KEY"}
    assert resolve(tmp_path, environ, profile="gateway").api_key is None


def test_the_key_is_in_no_repr(tmp_path: Path) -> None:
    assert "box-key" not in repr(resolve(tmp_path, ALL, profile="box"))


def test_a_variable_that_is_not_set_is_remembered(tmp_path: Path) -> None:
    endpoint = resolve(
        tmp_path, {"TAOTOKEN_API_KEY": "t"}, base_url="http://h/v1", api_key_env="OPENAI_API_KEY"
    )
    assert endpoint.api_key is None
    assert endpoint.key_wanted_from == "OPENAI_API_KEY"
    assert endpoint.other_key_variables == ("TAOTOKEN_API_KEY",)


def test_a_key_command(tmp_path: Path) -> None:
    path = tmp_path / "config.toml"
    command = [sys.executable, "-c", "print('from-command')"]
    path.write_text(
        f'[profiles.p]\nbase_url = "http://h/v1"\napi_key_command = {command!r}\n', encoding="utf-8"
    )
    endpoint = resolve_endpoint(load_settings(path), profile="p", environ={})
    assert endpoint.api_key == "from-command"
    assert endpoint.key_from == "api_key_command of profile p"


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ('[profiles.a]\nbase_ulr = "x"', "profiles.a.base_ulr (did you mean base_url?)"),
        ("[profiles.a]\nbase_url = 5", "profiles.a.base_url: Expected `str`, got `int`"),
        ("[default]\ngpu = 1", "unknown key default (did you mean defaults?)"),
        ("[defaults]\nfps = 0", "defaults.fps: Expected `int` >= 1"),
        ("[defaults]\nprofile = 'b'\n[profiles.bo]\nbase_url='x'", "defaults.profile names 'b'"),
        ("profiles = 3", "profiles must be a table, not int"),
        ("[cards.mine]\nmemory_gib = -1", "cards.mine.memory_gib: Expected `float` > 0"),
        ("not toml at all", "is not valid TOML"),
        (b"\xff\xfe", "is not UTF-8"),
    ],
)
def test_a_mistake_is_named_with_file_and_key(
    tmp_path: Path, content: str | bytes, said: str
) -> None:
    path = tmp_path / "config.toml"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    with pytest.raises(ConfigError) as caught:
        load_settings(path)
    assert said in str(caught.value)
    assert str(path) in str(caught.value)
    assert "\n" not in str(caught.value)


def test_an_unknown_profile_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"no profile 'bocks'.*profiles: box, gateway"):
        resolve(tmp_path, {}, profile="bocks")


def test_state_survives_and_is_private(tmp_path: Path) -> None:
    path = tmp_path / "folder" / "state.toml"
    assert load_state(path) == {}
    save_state({"theme": "kvtui-light", "prompts": ["a", "b"]}, path)
    save_state({"theme": None, "splits": [2, 1]}, path)
    assert load_state(path) == {"prompts": ["a", "b"], "splits": [2, 1]}
    if sys.platform != "win32":
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
    path.write_text("broken [", encoding="utf-8")
    assert load_state(path) == {}


PASTED = (
    "sk-right-123456",
    "sk_live_4eC39HqLyjWDarjtT1zdp7dc",
    "hf_AbCdEfGhIjKlMnOpQrStUvWxYz",
    "gsk_0123456789abcdefABCDEF",
    "AIzaSyA1234567890abcdefghij",
    "9f8e7d6c5b4a39281706f5e4d3c2b1a0",
    "QmFzZUtleVdpdGhvdXREaWdpdHNYeXo",
    "$BOX_KEY",
    "BOX-KEY",
    "2ND_KEY",
    "BOX_KEY=abc",
    "Bearer abcdefgh",
    " BOX_KEY",
    " ",
)


@pytest.mark.parametrize("pasted", PASTED)
def test_what_is_no_variable_s_name_is_refused_and_not_repeated(
    pasted: str, tmp_path: Path
) -> None:
    path = tmp_path / "config.toml"
    path.write_text(
        f'[profiles.box]\nbase_url = "http://h:1/v1"\napi_key_env = "{pasted}"\n', encoding="utf-8"
    )
    with pytest.raises(ConfigError, match=r"profiles\.box\.api_key_env") as raised:
        load_settings(path)
    assert pasted.strip(" $") not in str(raised.value) or not pasted.strip()


NAMES = [
    "HF_API_KEY",
    "XAI_API_KEY",
    "PPLX_API_KEY",
    "my_key",
    "_K",
    "AZURE_OPENAI_API_KEY_2",
    "HF_TOKEN_PRODUCTION",
    "HF_PASSWORD",
    "XAI_CREDENTIALS",
    "NVAPI_SECRET",
    "GSK_API_KEY_PRODUCTION",
    "hf_api_key",
    "sk_test_key",
    "R8_TOKEN",
    "GHP_TOKEN_2024",
    "MyAzureOpenAiKeyForEastUs2",
    "openrouterApiKeyForTeamTwo",
    "HUGGINGFACEHUBAPITOKENPRODUCTION",
    "H100X8_KEY",
    "VLLM_B200_KEY2",
    "key",
    "OPENAI_API_KEY",
]


@pytest.mark.parametrize("name", NAMES)
def test_the_name_of_a_variable_is_taken_and_shown(name: str, tmp_path: Path) -> None:
    assert variable_problem(name) == ""
    assert redact(f"{name} is not set") == f"{name} is not set"
    path = tmp_path / "config.toml"
    path.write_text(
        f'[profiles.box]\nbase_url = "http://h:1/v1"\napi_key_env = "{name}"\n', encoding="utf-8"
    )
    assert load_settings(path).profiles["box"].api_key_env == name


LETTERS = string.ascii_letters
ANY = LETTERS + string.digits


@pytest.mark.parametrize(
    ("prefix", "count", "of"),
    [
        ("sk-", 48, ANY),
        ("sk-proj-", 64, ANY + "-_"),
        ("sk-ant-api03-", 80, ANY + "-_"),
        ("sk_live_", 24, ANY),
        ("gsk_", 52, ANY),
        ("hf_", 34, ANY),
        ("hf_", 34, LETTERS),
        ("hf_", 34, string.ascii_lowercase),
        ("ghp_", 36, ANY),
        ("xai-", 80, ANY),
        ("nvapi-", 64, ANY + "-_"),
        ("AIzaSy", 33, ANY),
        ("eyJhbGciOi", 60, ANY),
        ("f", 31, string.digits + "abcdef"),
    ],
)
def test_keys_made_at_random_are_no_names(prefix: str, count: int, of: str) -> None:
    made = random.Random(prefix + of)
    for _ in range(50):
        key = prefix + "".join(made.choice(of) for _ in range(count))
        problem = variable_problem(key)
        assert "looks like a key" in problem
        assert key[:10] not in problem
