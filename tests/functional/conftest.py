"""The screen under test: no animation, no blinking, nobody's settings, no key of the shell."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from settling import settle_by_queues

for _name in ("OPENAI_API_KEY", "OPENAI_BASE_URL", "TAOTOKEN_API_KEY", "NO_COLOR"):
    os.environ.pop(_name, None)


@pytest.fixture(autouse=True)
def _own_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Configuration and state of this test alone."""
    monkeypatch.setenv("KVTUI_STATE", str(tmp_path / "state.toml"))
    monkeypatch.setenv("KVTUI_CONFIG", str(tmp_path / "config.toml"))
    monkeypatch.setenv("KVTUI_RUNS", str(tmp_path / "runs"))


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is animated, and a pilot waits only while there is something to do."""
    # The variable TEXTUAL_ANIMATIONS comes too late: a plugin of pytest has imported Textual.
    monkeypatch.setattr("textual.constants.TEXTUAL_ANIMATIONS", "none")
    settle_by_queues(monkeypatch)
