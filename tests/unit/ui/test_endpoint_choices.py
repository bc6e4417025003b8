"""The rows of the endpoint list tell themselves apart."""

from __future__ import annotations

from pathlib import Path

import pytest

from kvtui.config import Settings
from kvtui.engine.models import TINY
from kvtui.ui.endpoint.choices import STARTED, endpoint_choices


@pytest.mark.parametrize("model", [None, "smollm2", "/models/of mine/a.gguf"])
def test_no_two_rows_are_alike(monkeypatch: pytest.MonkeyPatch, model: str | None) -> None:
    for name in ("OPENAI_BASE_URL", "KVTUI_BASE_URL"):
        monkeypatch.delenv(name, raising=False)
    rows = endpoint_choices(Settings(Path("config.toml")), {"model": model})
    shown = [row[1:] for row in rows]
    assert len(set(shown)) == len(shown)
    assert (rows[0][0], model is None or model in rows[0][2]) == (STARTED, True)
    engine = [remark for _, name, remark in rows if name == "embedded"]
    assert len(engine) == (1 if model is None else 2)
    assert model is None or TINY in engine[1]
