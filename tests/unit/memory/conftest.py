"""What the tests of memory share."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from kvtui.commands.plan import plan

KV = Path(__file__).parents[2] / "fixtures" / "kv"


def facts(name: str) -> list[dict[str, Any]]:
    """The rows of a fixture."""
    return json.loads((KV / name).read_text())


def arguments(options: dict[str, Any]) -> list[str]:
    """Options as a user writes them."""
    words: list[str] = []
    for name, value in options.items():
        words.append(f"--{name}")
        if value is not True:
            words.append(str(value))
    return words


@pytest.fixture
def run_plan() -> Callable[..., Result]:
    """Runs `kvtui plan` with options."""

    def run(**options: Any) -> Result:
        named = {name.replace("_", "-"): value for name, value in options.items()}
        return CliRunner().invoke(plan, arguments(named))

    return run


@pytest.fixture
def plan_json(run_plan: Callable[..., Result]) -> Callable[..., dict[str, Any]]:
    """The JSON document of `kvtui plan` with options."""

    def run(**options: Any) -> dict[str, Any]:
        result = run_plan(**options, json=True)
        assert result.exit_code == 0, result.stderr
        return json.loads(result.stdout)

    return run


@pytest.fixture(autouse=True)
def _no_configuration(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """No configuration of the machine's own gets in."""
    monkeypatch.setenv("KVTUI_CONFIG", str(tmp_path / "none.toml"))
