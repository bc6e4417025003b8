"""``kvtui config set``: one key changes and all else stays, or one sentence says why."""

from __future__ import annotations

import os
import stat
import tomllib
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from kvtui.commands.group import kvtui

BOX = '# mine\n[profiles.box]  # the box\nbase_url = "http://h/v1"\n'


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = tmp_path / "folder" / "config.toml"
    path.parent.mkdir()
    monkeypatch.setenv("KVTUI_CONFIG", str(path))
    return path


def config_set(key: str, value: str) -> Result:
    return CliRunner().invoke(kvtui, ["config", "set", key, value])


def held(path: Path, *parts: str) -> Any:
    value: Any = tomllib.loads(path.read_text(encoding="utf-8-sig"))
    for part in parts:
        value = value[part]
    return value


@pytest.mark.parametrize(
    ("key", "value", "parts", "kept"),
    [
        ("defaults.max_tokens", "64", ("defaults", "max_tokens"), 64),
        ("defaults.record", "false", ("defaults", "record"), False),
        ("profiles.box.model", "123", ("profiles", "box", "model"), "123"),
        ("profiles.box.model", '"123"', ("profiles", "box", "model"), "123"),
        ("profiles.box.headers.X-A", "1", ("profiles", "box", "headers", "X-A"), "1"),
        ("profiles.box.api_key_command", '["pass", "x"]',
         ("profiles", "box", "api_key_command"), ["pass", "x"]),
        ('profiles."a.b".base_url', "http://q", ("profiles", "a.b", "base_url"), "http://q"),
        ("cards.mine.memory_gib", "31.5", ("cards", "mine", "memory_gib"), 31.5),
        ("defaults.prompt", "line\nmore", ("defaults", "prompt"), "line\nmore"),
    ],
)  # fmt: skip
def test_a_key_is_set_and_the_rest_stays(
    file: Path, key: str, value: str, parts: tuple[str, ...], kept: Any
) -> None:
    file.write_text(BOX, encoding="utf-8")
    ran = config_set(key, value)
    assert ran.exit_code == 0, ran.stderr
    assert held(file, *parts) == kept
    assert file.read_text(encoding="utf-8").startswith(BOX)
    assert [path.name for path in file.parent.iterdir()] == ["config.toml"]
    if os.name == "posix":
        assert stat.S_IMODE(file.stat().st_mode) == 0o600


@pytest.mark.parametrize(
    ("key", "value", "said"),
    [
        ("gpu", "H100", "'gpu' is no key"),
        ("defaults.", "x", "is no key"),
        ("defaults.gpv", "H100", "did you mean gpu?"),
        ("cards.mine.memory_gb", "31", "did you mean memory_gib?"),
        ("defaults.max_tokens", "many", "defaults.max_tokens"),
        ("defaults.max_tokens", "1.5", "defaults.max_tokens"),
        ("defaults.record", "yes", "defaults.record"),
        ("defaults.gpu.name", "x", "defaults.gpu"),
        ("defaults.profile", "boks", "no profile"),
        ("profiles.box", '{base_url = "x"}', "one by one, as profiles.box.NAME"),
        ("profiles.new.model", "m", "base_url"),
        ("defaults.prompt", "\udcff", "no text"),
    ],
)
def test_what_cannot_be_is_one_sentence_and_nothing_is_written(
    file: Path, key: str, value: str, said: str
) -> None:
    file.write_text(BOX, encoding="utf-8")
    ran = config_set(key, value)
    assert ran.exit_code == 2
    assert said in ran.stderr
    assert len(ran.stderr.strip().splitlines()) == 1
    assert file.read_text(encoding="utf-8") == BOX


@pytest.mark.parametrize(
    "text",
    [
        "# top\r\n[defaults]\r\nfps = 9  # few\r\n",
        "defaults.gpu = 'L4'\n",
        "[profiles.a]\nbase_url = 'x'\n[defaults]\nfps = 9\n[profiles.b]\nbase_url = 'y'\n",
        "defaults = {fps = 9}  # in line\n",
        "\ufeff[defaults]\nfps = 9\n",
    ],
    ids=["crlf", "dotted", "apart", "inline", "mark"],
)
def test_every_way_to_write_a_table(file: Path, text: str) -> None:
    file.write_bytes(text.encode())
    assert config_set("defaults.fps", "12").exit_code == 0
    assert held(file, "defaults", "fps") == 12
    assert file.read_bytes().count(b"\r\n") == text.count("\r\n")
    assert file.read_text(encoding="utf-8").count("#") == text.count("#")
    assert file.read_bytes().decode().startswith("\ufeff") == text.startswith("\ufeff")


@pytest.mark.parametrize(
    "text",
    [
        "profiles = {x={base_url='http://h/v1'}}  # in line\n\n\n# the end\n",
        "defaults = {}\nprofiles = {}\n",
        "profiles.x.base_url = 'http://h/v1'  # dotted\n\n# the end\n",
        "[profiles]\nx.base_url = 'http://h/v1'  # dotted\n\n\n# the end\n",
        "[profiles]\nx = {base_url = 'http://h/v1'}  # half\n\n# the end\n",
        "[profiles.x]\nbase_url = 'h'\n[defaults]\nfps = 9\n[profiles.z]\nbase_url = 'y'\n",
        "\ufeff# top\n\n[profiles.x]\nbase_url = 'http://h/v1'  # x\n",
    ],
    ids=["inline", "empty", "dotted", "dotted below", "inline below", "apart", "mark"],
)
def test_a_new_profile_fits_every_way_to_write_the_others(file: Path, text: str) -> None:
    file.write_bytes(text.encode())
    before = tomllib.loads(text.removeprefix("\ufeff")).get("profiles", {})
    ran = config_set("profiles.y.base_url", "http://new/v1")
    assert ran.exit_code == 0, ran.stderr
    assert held(file, "profiles") == {**before, "y": {"base_url": "http://new/v1"}}
    for name in before:
        assert config_set(f"profiles.{name}.model", "m").exit_code == 0
        assert held(file, "profiles", name) == {**before[name], "model": "m"}
    after = file.read_bytes().decode()
    assert after.startswith("\ufeff") == text.startswith("\ufeff")
    comments = [line.partition("#")[2] for line in text.splitlines() if "#" in line]
    assert [line.partition("#")[2] for line in after.splitlines() if "#" in line] == comments
    assert after.count("\n\n") >= text.count("\n\n")


def test_a_list_of_tables_is_one_sentence(file: Path) -> None:
    text = "[[profiles]]\nbase_url = 'http://h/v1'\n"
    file.write_text(text, encoding="utf-8")
    ran = config_set("profiles.y.base_url", "http://new/v1")
    assert (ran.exit_code, ran.stderr.count("\n")) == (2, 1)
    assert "profiles must be a table" in ran.stderr
    assert file.read_text(encoding="utf-8") == text


def test_without_a_file_a_first_one_is_begun(file: Path) -> None:
    file.parent.rmdir()
    assert config_set("defaults.gpu", "H100").exit_code == 0
    assert held(file, "defaults", "gpu") == "H100"
    assert "kvtui config show" in file.read_text(encoding="utf-8")


def test_what_is_wrong_with_the_file_is_said_first(file: Path) -> None:
    file.write_text("[defaults]\nfps = 'x'\n", encoding="utf-8")
    ran = config_set("defaults.gpu", "H100")
    assert (ran.exit_code, "defaults.fps" in ran.stderr) == (2, True)
    file.unlink()
    file.mkdir()
    ran = config_set("defaults.gpu", "H100")
    assert (ran.exit_code, "cannot be read" in ran.stderr) == (2, True)


posix = pytest.mark.skipif(os.name != "posix", reason="POSIX modes and links")


@posix
def test_a_read_only_file_stays(file: Path) -> None:
    file.write_text(BOX, encoding="utf-8")
    file.chmod(0o444)
    ran = config_set("defaults.gpu", "H100")
    assert (ran.exit_code, "is read-only" in ran.stderr) == (2, True)
    assert file.read_text(encoding="utf-8") == BOX


@posix
@pytest.mark.parametrize("there", [True, False])
def test_a_link_stays_one(file: Path, tmp_path: Path, there: bool) -> None:
    real = tmp_path / "dotfiles.toml"
    if there:
        real.write_text(BOX, encoding="utf-8")
    file.symlink_to(real)
    assert config_set("defaults.gpu", "H100").exit_code == 0
    assert file.is_symlink()
    assert held(real, "defaults", "gpu") == "H100"


@posix
def test_links_in_a_circle_are_said(file: Path) -> None:
    file.symlink_to(file)
    ran = config_set("defaults.gpu", "H100")
    assert (ran.exit_code, "symbolic links" in ran.stderr) == (2, True)
    assert file.is_symlink()
