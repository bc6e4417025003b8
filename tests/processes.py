"""The environment of commands that tests start as processes."""

from __future__ import annotations

import os
from pathlib import Path

_KEPT = ("PATH", "SYSTEMROOT", "HOME", "LANG", "VIRTUAL_ENV", "PYTHONPATH")


def environment(tmp_path: Path, **more: str) -> dict[str, str]:
    """Without keys, endpoints, settings or records of whoever runs the tests."""
    kept = {name: os.environ[name] for name in _KEPT if name in os.environ}
    places = {
        "KVTUI_CONFIG": str(tmp_path / "c.toml"),
        "KVTUI_STATE": str(tmp_path / "s.toml"),
        "KVTUI_RUNS": str(tmp_path / "runs"),
    }
    return {**kept, **places, "PYTHONUTF8": "1", **more}
