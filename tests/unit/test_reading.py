"""Whoever reads a named file: a pipe that nobody fills and a device without an end are refused."""

from __future__ import annotations

import io
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from kvtui.bench.evaluation.imports import read_side
from kvtui.bench.evaluation.sides import SideError
from kvtui.bench.work.workload import WorkloadError, read_spec
from kvtui.config import ConfigError, load_settings
from kvtui.memory.errors import PlanError
from kvtui.memory.gguf_header import read_header
from kvtui.memory.hf_config import read_config
from kvtui.reading import lines_of, read_at_most
from kvtui.state_file import read_state
from kvtui.ui.look.themes import load_theme

READERS: dict[Callable[[Path], Any], type[Exception]] = {
    load_settings: ConfigError,
    load_theme: OSError,
    read_side: SideError,
    read_spec: WorkloadError,
    read_config: PlanError,
    read_header: PlanError,
}


@pytest.fixture
def pipe(tmp_path: Path) -> Path:
    if not hasattr(os, "mkfifo"):
        pytest.skip("no pipes by name here")
    path = tmp_path / "pipe.toml"
    os.mkfifo(path)
    return path


@pytest.mark.timeout(20)
@pytest.mark.parametrize("read", READERS, ids=lambda read: read.__name__)
def test_a_pipe_is_refused_and_named(read: Callable[[Path], Any], pipe: Path) -> None:
    with pytest.raises(READERS[read], match="it is a pipe: give a file"):
        read(pipe)


@pytest.mark.timeout(20)
@pytest.mark.parametrize(
    "read", [read for read in READERS if read is not load_theme], ids=lambda read: read.__name__
)
def test_a_device_without_an_end_is_refused(read: Callable[[Path], Any]) -> None:
    if not Path("/dev/zero").exists():
        pytest.skip("no such device here")
    with pytest.raises(READERS[read]):
        read(Path("/dev/zero"))


def test_a_pipe_is_no_state(pipe: Path) -> None:
    state = read_state(pipe)
    assert state.content == {}
    assert "it is a pipe" in state.problem


def test_a_shells_pipe_and_a_limit(tmp_path: Path) -> None:
    out, into = os.pipe()
    try:
        os.write(into, b"x" * 100)
        assert read_at_most(Path(f"/dev/fd/{out}"), 9) == b"x" * 10
    finally:
        os.close(out)
        os.close(into)
    (tmp_path / "file").write_bytes(b"abc")
    assert read_at_most(tmp_path / "file", 9) == b"abc"


def test_of_a_line_that_is_too_long_only_the_beginning_is_held() -> None:
    text = b"short\n" + b"x" * 25 + b"\n" + b"123456789\n" + b"1234567890\n" + b"torn"
    found = list(lines_of(io.BytesIO(text), 10))
    assert found == [b"short\n", b"x" * 10, b"123456789\n", b"1234567890", b"torn"]
    assert list(lines_of(io.BytesIO(b"x" * 20), 10)) == [b"x" * 10]
