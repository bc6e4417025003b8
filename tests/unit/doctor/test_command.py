"""``kvtui doctor`` as a command: text, JSON, exit status."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from kvtui.commands.doctor import doctor


@pytest.fixture
def runner(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> CliRunner:
    monkeypatch.setenv("KVTUI_CONFIG", str(tmp_path / "config.toml"))
    for name in ("http_proxy", "https_proxy", "all_proxy", "OPENAI_BASE_URL", "OPENAI_API_KEY"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)
    return CliRunner()


def test_failure_as_text(runner: CliRunner) -> None:
    result = runner.invoke(doctor, ["--base-url", "http://127.0.0.1:1/v1"])
    assert result.exit_code == 1
    assert "✓ Settings" in result.output
    assert "✗ TCP" in result.output
    assert "NETWORK connection_refused: Nothing listens at 127.0.0.1:1" in result.output
    assert "  1. " in result.output
    assert "– Stream" in result.output


def test_failure_as_json(runner: CliRunner) -> None:
    result = runner.invoke(doctor, ["--base-url", "http://127.0.0.1:1/v1", "--json"])
    table = json.loads(result.stdout)
    assert result.exit_code == 1
    assert (table["schema"], table["ok"]) == ("kvtui.doctor/1", False)
    assert table["failure"]["subcode"] == "connection_refused"
    assert table["failure"]["fixes"]
    states = {step["name"]: step["state"] for step in table["steps"]}
    assert (states["settings"], states["tcp"], states["usage"]) == ("ok", "failed", "unknown")


def test_env_file(runner: CliRunner, tmp_path: Path) -> None:
    path = tmp_path / ".env"
    secret = "sk-0123456789abcdefghij"
    path.write_text(f'A_BASE_URL=http://127.0.0.1:1/v1\nA_API_KEY="{secret}"\n')
    result = runner.invoke(doctor, ["--env-file", str(path)])
    assert result.exit_code == 1
    assert "key from A_API_KEY in .env (23 characters)" in result.output
    assert "docker --env-file keeps them" in result.output
    assert secret not in result.output
    assert secret in path.read_text()


def test_wrong_flags_and_files(runner: CliRunner, tmp_path: Path) -> None:
    path = tmp_path / "settings.json"
    path.write_text("{}")
    for arguments in (
        ["--settings", str(path)],
        ["--settings", str(path), "--env-file", str(path)],
        ["--settings", str(path), "--api-key-env", "X"],
        ["--settings", str(tmp_path / "none.json")],
        ["--profile", "nobody"],
    ):
        result = runner.invoke(doctor, arguments)
        assert result.exit_code == 2, arguments
        assert result.stdout == ""
