"""The screen under test: no animation, no blinking, nobody's settings, no key of the shell."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

os.environ["TEXTUAL_ANIMATIONS"] = "none"  # read when Textual is imported
for _name in ("OPENAI_API_KEY", "OPENAI_BASE_URL", "TAOTOKEN_API_KEY", "NO_COLOR"):
    os.environ.pop(_name, None)


@pytest.fixture(autouse=True)
def _own_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Configuration and state of this test alone."""
    monkeypatch.setenv("KVTUI_STATE", str(tmp_path / "state.toml"))
    monkeypatch.setenv("KVTUI_CONFIG", str(tmp_path / "config.toml"))
