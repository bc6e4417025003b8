"""What a user installs holds everything that runs, and nothing that only trains."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]

hatch_wheel = pytest.importorskip("hatchling.builders.wheel", reason="needs hatchling (extra dev)")
hatch_sdist = pytest.importorskip("hatchling.builders.sdist", reason="needs hatchling (extra dev)")


def build_wheel(root: Path, target: Path) -> Path:
    return Path(next(iter(hatch_wheel.WheelBuilder(str(root)).build(directory=str(target)))))


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build_wheel(ROOT, tmp_path_factory.mktemp("wheel"))


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel's content in a folder of its own, outside the source tree."""
    folder = tmp_path_factory.mktemp("site")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(folder)
    return folder


def run_installed(installed: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run the installed package, in front of whatever else the interpreter would find."""
    environ = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("OPENAI_", "TAOTOKEN_", "KVTUI_"))
    }
    environ["PYTHONPATH"] = str(installed)
    environ["KVTUI_CONFIG"] = str(installed / "no-config.toml")
    return subprocess.run(
        [sys.executable, *arguments],
        cwd=installed,
        env=environ,
        capture_output=True,
        text=True,
        timeout=50,
        check=False,
    )


def names(wheel: Path) -> set[str]:
    with zipfile.ZipFile(wheel) as archive:
        return set(archive.namelist())


def test_the_wheel_holds_what_runs_and_not_what_trains(wheel: Path) -> None:
    found = names(wheel)
    here = {
        path.relative_to(ROOT).as_posix()
        for path in (ROOT / "kvtui").rglob("*")
        if path.suffix in {".py", ".toml", ".tcss", ".gguf"}
        and "train" not in path.parts
        and "__pycache__" not in path.parts
    }
    assert here <= found
    assert {f"kvtui/themes/{path.name}" for path in (ROOT / "themes").glob("*.toml")} <= found
    assert "kvtui/engine/models/kvtui-tiny.gguf" in found
    assert not {name for name in found if name.startswith("kvtui/engine/train")}
    assert not {name for name in found if name.startswith(("tests/", "screenshots/"))}


def test_a_wheel_built_from_the_sdist_is_the_same(wheel: Path, tmp_path: Path) -> None:
    sdist = next(iter(hatch_sdist.SdistBuilder(str(ROOT)).build(directory=str(tmp_path))))
    with tarfile.open(sdist) as archive:
        archive.extractall(tmp_path / "source", filter="data")
    (source,) = (tmp_path / "source").iterdir()
    assert names(build_wheel(source, tmp_path / "again")) == names(wheel)


def test_the_installed_wheel_streams_from_the_embedded_engine(installed: Path) -> None:
    where = run_installed(installed, "-c", "import kvtui; print(kvtui.__file__)")
    assert where.stdout.startswith(str(installed)), where
    ran = run_installed(
        installed,
        "-m",
        "kvtui",
        "run",
        "--json",
        "--max-tokens",
        "8",
        "--prompt",
        "What is a cache?",
    )
    assert ran.returncode == 0, ran.stderr
    document: dict[str, Any] = json.loads(ran.stdout)
    (run,) = document["runs"]
    assert run["content"]
    assert run["completion_tokens"] <= 8
    assert run["token_source"] in {"usage", "continuous"}


def test_the_installed_wheel_finds_its_themes(installed: Path) -> None:
    listed = run_installed(installed, "-m", "kvtui", "themes")
    assert listed.returncode == 0, listed.stderr
    for path in (ROOT / "themes").glob("*.toml"):
        assert path.stem in listed.stdout
