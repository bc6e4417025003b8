"""What the environment says of the terminal is heeded where it can be true, and not beyond."""

from __future__ import annotations

import io
import os
import sys

import pytest

from kvtui.commands import screen
from kvtui.commands.screen import ScreenRefused


class Stderr(io.TextIOWrapper):
    def isatty(self) -> bool:
        return True


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """How often the screen came to be opened, by the encoding it was drawn in."""
    seen: list[str] = []

    def run(options: object) -> int:
        assert sys.__stderr__ is not None
        sys.__stderr__.write("╭─▸")
        seen.append(sys.__stderr__.encoding)
        return 0

    monkeypatch.setattr("kvtui.ui.app.run", run)
    monkeypatch.setattr(screen, "_take_stdin", lambda options: None)
    monkeypatch.delenv("TEXTUAL_DRIVER", raising=False)
    monkeypatch.setenv("TERM", "xterm-256color")
    return seen


@pytest.mark.parametrize("encoding", ["utf-8", "UTF8", "ascii", "ANSI_X3.4-1968"])
def test_where_no_language_is_set_the_screen_is_drawn_all_the_same(
    opened: list[str], monkeypatch: pytest.MonkeyPatch, encoding: str
) -> None:
    drawn = io.BytesIO()
    monkeypatch.setattr(sys, "__stderr__", Stderr(drawn, encoding=encoding, errors="strict"))
    assert screen.open_screen({}) == 0
    assert len(opened) == 1
    sys.__stderr__.flush()  # type: ignore[union-attr]
    assert drawn.getvalue().decode() == "╭─▸"


@pytest.mark.parametrize("encoding", ["gbk", "iso8859-1", "cp1252"])
def test_another_encoding_is_named_and_not_drawn_over(
    opened: list[str], monkeypatch: pytest.MonkeyPatch, encoding: str
) -> None:
    monkeypatch.setattr(sys, "__stderr__", Stderr(io.BytesIO(), encoding=encoding))
    with pytest.raises(ScreenRefused, match=rf"{encoding}.* LC_ALL=C\.UTF-8 kvtui"):
        screen.open_screen({})
    assert opened == []


@pytest.mark.parametrize(("size", "stays"), [((120, 40), False), ((0, 0), True), (None, True)])
def test_the_terminal_knows_its_size_better_than_the_environment(
    opened: list[str],
    monkeypatch: pytest.MonkeyPatch,
    size: tuple[int, int] | None,
    stays: bool,
) -> None:
    def measured(descriptor: int) -> os.terminal_size:
        if size is None:
            raise OSError
        return os.terminal_size(size)

    monkeypatch.setattr(os, "get_terminal_size", measured)
    monkeypatch.setattr(sys, "__stderr__", Stderr(io.BytesIO(), encoding="utf-8"))
    monkeypatch.setenv("COLUMNS", "10")
    monkeypatch.setenv("LINES", "5")
    screen.open_screen({})
    assert ("COLUMNS" in os.environ, "LINES" in os.environ) == (stays, stays)
