"""Two kvtui on one file: each keeps what the other wrote, and the file is whole at any time."""

from __future__ import annotations

import os
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from kvtui import writing
from kvtui.bench.records.recorder import Recorder
from kvtui.bench.records.schema import RecordError
from kvtui.bench.requests.remembered import recall, remember
from kvtui.config import Endpoint
from kvtui.state_file import load_state, save_state
from kvtui.ui.remembered import Remembered
from kvtui.ui.screens import save
from kvtui.writing import only_writer, write_atomically

ROUNDS = 40
WRITERS = """
import sys
from pathlib import Path
from kvtui.state_file import save_state
who, path = sys.argv[1], Path(sys.argv[2])
sys.stdin.readline()
for number in range(40):
    save_state({f"{who}{number}": number}, path)
"""
SETTERS = """
import sys
from pathlib import Path
from kvtui.config_edit import edit
who, path = sys.argv[1], Path(sys.argv[2])
sys.stdin.readline()
for number in range(12):
    edit(path, {f"profiles.{who}{number}.base_url": "http://x.test/v1"})
"""


@pytest.fixture(autouse=True)
def _own_state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KVTUI_STATE", str(tmp_path / "own" / "state.toml"))


def race(code: str, path: Path) -> None:
    """Two processes that begin together."""
    both = [
        subprocess.Popen(
            [sys.executable, "-c", code, who, str(path)], stdin=subprocess.PIPE, text=True
        )
        for who in ("a", "b")
    ]
    for one in both:
        assert one.stdin is not None
        one.stdin.write("go\n")
        one.stdin.flush()
    for one in both:
        one.communicate()
        assert one.returncode == 0


def test_neither_loses_the_others_keys(tmp_path: Path) -> None:
    path = tmp_path / "state.toml"
    race(WRITERS, path)
    expected = {f"{who}{number}" for who in "ab" for number in range(ROUNDS)}
    assert set(load_state(path)) == expected
    assert os.listdir(tmp_path) == ["state.toml"]  # noqa: PTH208 - hidden ones too


def test_nor_the_others_settings(tmp_path: Path) -> None:
    path = tmp_path / "config.toml"
    race(SETTERS, path)
    profiles = tomllib.loads(path.read_text("utf-8"))["profiles"]
    assert len(profiles) == 24


def test_who_keeps_the_lock_for_good_is_not_waited_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fcntl = pytest.importorskip("fcntl")
    monkeypatch.setattr(writing, "_PATIENCE_S", 0.0)
    other = os.open(tmp_path, os.O_RDONLY)
    fcntl.flock(other, fcntl.LOCK_EX)
    with only_writer(tmp_path / "state.toml"):
        write_atomically(tmp_path / "state.toml", b"x = 1\n")
    os.close(other)
    assert load_state(tmp_path / "state.toml") == {"x": 1}


def test_two_screens_prompts_are_joined_and_what_was_cleared_stays_so() -> None:
    save_state({"prompts": ["old", "older"], "theme": "x"})
    one, two = Remembered(), Remembered()
    one.put("prompts", ["old", "older", "mine"])
    two.put("prompts", ["older", "theirs"])
    one.write()
    two.write()
    assert load_state()["prompts"] == ["mine", "older", "theirs"]
    one.put("splits", {"a": 1})
    one.write()
    assert load_state()["theme"] == "x"


def test_what_two_learn_of_endpoints_is_kept() -> None:
    one, two = (Endpoint(f"http://{name}.test/v1", "test") for name in ("a", "b"))
    remember(one, ["stream_options"])
    remember(two, ["temperature"])
    assert (recall(one), recall(two)) == (("stream_options",), ("temperature",))


def test_a_full_disk_leaves_the_file_as_it_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "state.toml"
    save_state({"theme": "x"}, path)

    def full(handle: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space left"):
        save_state({"theme": "y"}, path)
    assert load_state(path) == {"theme": "x"}
    assert os.listdir(tmp_path) == ["state.toml"]  # noqa: PTH208


@contextmanager
def room_for(size: int) -> Iterator[None]:
    """Within it a file takes no more bytes than that, as on a disk that is full."""
    resource = pytest.importorskip("resource")
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


def test_an_answer_that_finds_no_room_leaves_the_one_before_it(tmp_path: Path) -> None:
    path = tmp_path / "answer.md"
    save.write(path, "the first", overwrite=False)
    path.chmod(0o640)
    with room_for(100), pytest.raises(OSError, match="too large"):
        save.write(path, "a longer one " * 1000, overwrite=True)
    assert path.read_text("utf-8") == "the first\n"
    save.write(path, "the second", overwrite=True)
    assert path.read_text("utf-8") == "the second\n"
    assert path.stat().st_mode & 0o777 == 0o640


def test_a_new_file_that_finds_no_room_does_not_stay(tmp_path: Path) -> None:
    with room_for(100), pytest.raises(OSError, match="too large"):
        save.write(tmp_path / "new.md", "word " * 1000, overwrite=False)
    recorder = Recorder(tmp_path / "run.jsonl")
    with room_for(100), pytest.raises(RecordError, match="cannot be written"):
        recorder.create({"kind": "run", "text": "word " * 1000})
    assert os.listdir(tmp_path) == []  # noqa: PTH208
