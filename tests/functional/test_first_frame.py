"""What the screen does not import before its first frame, proved in a process of its own."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

HEAVY = (
    "openai", "numpy", "plotext", "aiohttp", "httpx2", "pydantic", "msgspec", "tomlkit",
    "kvtui.bench", "kvtui.stream", "kvtui.measure", "kvtui.failure", "kvtui.memory",
    "kvtui.engine", "kvtui.telemetry", "kvtui.config", "kvtui.ui.stream.conductor",
    "kvtui.ui.opening", "kvtui.ui.state", "kvtui.ui.planner", "kvtui.ui.screens.planner",
)  # fmt: skip

PROBE = """
import json, sys
from kvtui.ui.app import KvtuiApp

def opener(app):
    print(json.dumps(sorted(sys.modules)))
    app.exit()

KvtuiApp({}, opener=opener).run(headless=True, size=(120, 40))
"""


@pytest.fixture(scope="module")
def modules() -> set[str]:
    done = subprocess.run(
        [sys.executable, "-c", PROBE], capture_output=True, text=True, timeout=60, check=True
    )
    found: list[str] = json.loads(done.stdout.strip().splitlines()[-1])
    return set(found)


@pytest.mark.parametrize("name", HEAVY)
def test_not_imported_before_the_first_frame(modules: set[str], name: str) -> None:
    assert name not in modules


def test_the_main_screen_was_there(modules: set[str]) -> None:
    assert "kvtui.ui.screens.main.screen" in modules
