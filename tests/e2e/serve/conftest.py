"""A small random model and a server of its own process, shared by a module's tests."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from tinygguf import random_llama

from kvtui.engine.child import EngineChild


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return random_llama(tmp_path_factory.mktemp("serve") / "random.gguf", layers=4, context=512)


@pytest.fixture(scope="module")
def child(model: Path) -> Iterator[EngineChild]:
    child = EngineChild.start(str(model), max_num_seqs=2)
    yield child
    child.stop()
    assert not child.alive
    assert "Traceback" not in "\n".join(child.log)
