"""The prompt on stdin: read to its end, bounded in size and in silence, else one sentence."""

from __future__ import annotations

import contextlib
import io
import os
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from kvtui.commands import piped
from kvtui.commands.piped import piped_prompt
from kvtui.prompt import PROMPT_LIMIT, PromptError


@pytest.fixture(autouse=True)
def _no_patience(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(piped, "_SILENCE_S", 0.05)
    monkeypatch.setattr(piped, "_LOOKS", 3)


@pytest.fixture
def writer(monkeypatch: pytest.MonkeyPatch) -> Iterator[io.FileIO]:
    """The end to write to of a pipe that is stdin."""
    reading, writing = os.pipe()
    with os.fdopen(reading, encoding="utf-8") as stdin, io.FileIO(writing, "w") as file:
        monkeypatch.setattr(sys, "stdin", stdin)
        yield file


@pytest.fixture
def given(writer: io.FileIO) -> Callable[[bytes], str | None]:
    """What becomes of the bytes on stdin."""

    def read(data: bytes) -> str | None:
        def write() -> None:
            with contextlib.suppress(BrokenPipeError), io.BufferedWriter(writer) as file:
                file.write(data)

        threading.Thread(target=write, daemon=True).start()
        return piped_prompt()

    return read


@pytest.mark.parametrize(
    ("data", "prompt"),
    [
        (b"From a pipe\n", "From a pipe"),
        (b"\xef\xbb\xbfwith a mark", "with a mark"),
        ("缓存 é\n\nmore".encode(), "缓存 é\n\nmore"),
        (b"x" * PROMPT_LIMIT, "x" * PROMPT_LIMIT),
        (b" \n", None),
        (b"", None),
    ],
    ids=["text", "mark", "scripts", "largest", "blank", "empty"],
)
def test_it_is_the_prompt(
    given: Callable[[bytes], str | None], data: bytes, prompt: str | None
) -> None:
    assert given(data) == prompt


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"abc\xff\xfe", r"not UTF-8 text \(byte 3\)"),
        (b"\x7fELF\x02\x01\x01\x00", r"not UTF-8 text \(byte 7\)"),
        (b"x" * (PROMPT_LIMIT + 1), "larger than 1,048,576 bytes"),
    ],
    ids=["latin", "binary", "huge"],
)
def test_what_is_no_prompt_is_said(
    given: Callable[[bytes], str | None], data: bytes, said: str
) -> None:
    with pytest.raises(PromptError, match=said):
        given(data)


def test_a_pipe_that_nobody_writes_to_hangs_nothing(
    writer: io.FileIO, capsys: pytest.CaptureFixture[str]
) -> None:
    assert piped_prompt() is None
    assert "nothing came on stdin; --prompt" in capsys.readouterr().err


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="POSIX named pipes")
def test_neither_does_a_fifo_without_a_writer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    os.mkfifo(tmp_path / "fifo")
    with (tmp_path / "fifo").open("r+b", buffering=0) as stdin:
        monkeypatch.setattr(sys, "stdin", stdin)
        assert piped_prompt() is None


def test_one_that_never_ends_is_given_up_and_said(
    writer: io.FileIO, capsys: pytest.CaptureFixture[str]
) -> None:
    writer.write(b"begun")
    with pytest.raises(PromptError, match="does not end: 5 bytes"):
        piped_prompt()
    assert capsys.readouterr().err.count("waiting for the end of the prompt on stdin") == 1


def test_what_comes_late_is_not_taken_from_the_terminal(writer: io.FileIO) -> None:
    """The reader has a descriptor of its own, so that stdin may become another file."""
    assert piped_prompt() is None
    stdin = sys.stdin.fileno()
    other, keys = os.pipe()
    os.dup2(other, stdin)
    writer.write(b"late")
    os.write(keys, b"q")
    assert os.read(stdin, 9) == b"q"
    os.close(other)
    os.close(keys)


def test_a_folder_is_no_prompt(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Folder:
        closed = False
        number = os.open(tmp_path, os.O_RDONLY)

        def isatty(self) -> bool:
            return False

        def fileno(self) -> int:
            return self.number

    monkeypatch.setattr(sys, "stdin", Folder())
    assert piped_prompt() is None
    os.close(Folder.number)
