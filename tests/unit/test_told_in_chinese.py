"""What is said of files and flags is in the language in use; what machines read is English."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from kvtui import language
from kvtui.bench.records.record import RecordError, read_record
from kvtui.bench.requests.document import failure_object
from kvtui.bench.requests.preparing import _MODEL_FIXES
from kvtui.bench.running.presets import PRESETS
from kvtui.config import ConfigError, load_settings
from kvtui.config_edit import edited
from kvtui.failure import Evidence, Verdict
from kvtui.language import tr
from kvtui.state_file import read_state


@pytest.fixture(autouse=True)
def _chinese() -> Iterator[None]:
    language.use("zh")
    yield
    language.use("en")


def chinese(text: str) -> bool:
    """Its sentence ends as a Chinese one does, and holds no English words in a row."""
    import re

    return text.endswith("。") and not re.search(r"[a-z]{2,} [a-z]{2,} [a-z]{2,}", text)


def _empty_record(folder: Path) -> None:
    (folder / "r.jsonl").write_bytes(b"")
    read_record(folder / "r.jsonl")


def _config(text: str) -> Callable[[Path], object]:
    def read(folder: Path) -> object:
        path = folder / "c.toml"
        path.write_text(text, encoding="utf-8")
        return load_settings(path)

    return read


def _written(folder: Path) -> object:
    return edited(folder / "c.toml", {"profiles.a.api_key_env": "$A"})


@pytest.mark.parametrize(
    "wrong",
    [
        _empty_record,
        _config("[defaults]\nmodle = 1\n"),
        _config('[profiles.a]\nbase_url = "http://h/v1"\napi_key_env = "$A"\n'),
        _written,
    ],
)
def test_what_is_wrong_with_a_file_is_told(wrong: Callable[[Path], object], tmp_path: Path) -> None:
    with pytest.raises((RecordError, ConfigError)) as told:
        wrong(tmp_path)
    assert chinese(str(told.value)), told.value


def test_a_damaged_state_and_an_unfit_preset_are_told(tmp_path: Path) -> None:
    (tmp_path / "s.toml").write_bytes(b"\xff=")
    assert chinese(read_state(tmp_path / "s.toml").problem)
    assert chinese(read_state(tmp_path).problem)
    assert chinese(PRESETS["compare-endpoints"].build({}, False).unfit)


def test_fixes_that_no_rule_makes_are_english_for_machines() -> None:
    verdict = Verdict("parameter", "model_not_found", "m", tuple(map(tr, _MODEL_FIXES)))
    assert verdict.fixes != _MODEL_FIXES
    evidence = Evidence(phase="settings", embedded=True, model="m")
    assert tuple(failure_object(verdict, evidence)["fixes"]) == _MODEL_FIXES


def test_where_a_models_geometry_was_recalled_from_is_told() -> None:
    from kvtui.memory import catalogue

    recalled = [model for model in catalogue.catalogue() if "recalled" in model.source[:8]]
    assert recalled
    assert not [model.source for model in recalled if tr(model.source) == model.source]


def test_the_doctors_steps_are_named(capsys: pytest.CaptureFixture[str]) -> None:
    from kvtui.commands.doctor import _print
    from kvtui.doctor.steps import Step

    _print(Step("key", "ok", "—", ms=1.0), advise=False)
    _print(Step("models", "ok", "—", ms=1.0), advise=False)
    key, models = capsys.readouterr().out.splitlines()
    assert "密钥" in key
    assert "模型" in models
    assert key.index("ms") == models.index("ms")
