"""The terminal after kvtui, and under it: suspended, crashed, Ctrl+C, short of colours."""

from __future__ import annotations

import os
import re
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest
from test_terminal import Terminal, pytestmark

__all__ = ["pytestmark"]

CRASH = """
from kvtui.ui.app import KvtuiApp
from kvtui.ui.widgets.bars import FooterBar

def boom(self):
    raise RuntimeError("boom [bold]x[/bold] \\x1b]0;pwned\\x07")

KvtuiApp._after_first_frame = boom
raise SystemExit(KvtuiApp({}).run() or 1)
"""


@pytest.fixture
def shell(tmp_path: Path) -> Iterator[Terminal]:
    """A shell in a terminal, as a user has one."""
    pane = Terminal(tmp_path, 100, 30, "bash --norc -i")
    pane.wait(lambda text: re.search(r"[$#]$", text.strip()))
    yield pane
    with suppress(subprocess.CalledProcessError):  # a test has closed it
        pane.close()


def restored(pane: Terminal) -> None:
    """The main buffer, a cursor, no mouse reports, and what is typed is echoed."""
    flags = "#{alternate_on} #{cursor_flag} #{mouse_any_flag}"
    for _ in range(100):
        if pane.tmux("display-message", "-p", flags).strip() == "0 1 0":
            break
    assert pane.tmux("display-message", "-p", flags).strip() == "0 1 0"
    pane.press("echo back$((6 * 7))", "Enter")
    pane.wait(lambda text: "echo back$((6 * 7))" in text and "\nback42" in text)


def run(pane: Terminal, *arguments: str) -> None:
    """Type a command line."""
    pane.press("-l", " ".join([sys.executable, "-m", "kvtui", *arguments]))
    pane.press("Enter")


def test_suspended_it_gives_the_terminal_back_and_fg_returns(shell: Terminal) -> None:
    run(shell)
    shell.wait(lambda text: "○ ready" in text)
    shell.press("C-z")
    shell.wait(lambda text: "Stopped" in text)
    restored(shell)
    shell.press("fg", "Enter")
    shell.wait(lambda text: "3 Errors" in text and "○ ready" in text)
    shell.press("Enter")
    shell.wait(lambda text: "decode" in text)
    shell.press("q")
    shell.wait(lambda text: "3 Errors" not in text)
    restored(shell)


def kvtui_of(pane: Terminal) -> int:
    """The process that the shell in the pane runs."""
    rows = [
        line.split(None, 2)
        for line in subprocess.run(
            ["ps", "-eo", "pid=,ppid=,args="], capture_output=True, text=True, check=True
        ).stdout.splitlines()
    ]
    below = {pane.tmux("display-message", "-p", "#{pane_pid}").strip()}
    while more := {pid for pid, parent, *_ in rows if parent in below} - below:
        below |= more
    return next(int(pid) for pid, _, args in rows if pid in below and args.endswith("-m kvtui"))


def alive(process: int) -> bool:
    """It runs still."""
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    return True


@pytest.mark.parametrize("leave", [False, True], ids=["while it streams", "while it leaves"])
def test_it_does_not_outlive_its_terminal(shell: Terminal, leave: bool) -> None:
    run(shell)
    shell.wait(lambda text: "○ ready" in text)
    process = kvtui_of(shell)
    os.kill(process, signal.SIGCONT)  # without a stop: nothing is to be resumed
    shell.press("Enter")
    shell.wait(lambda text: "decode" in text)
    if leave:
        shell.press("q")
        shell.wait(lambda text: "3 Errors" not in text)
    shell.close()
    deadline = time.monotonic() + 30
    while alive(process):
        if time.monotonic() > deadline:
            os.kill(process, signal.SIGKILL)
            pytest.fail("it is still there")
        time.sleep(0.05)


def test_a_crash_gives_the_terminal_back_and_says_why(shell: Terminal, tmp_path: Path) -> None:
    program = tmp_path / "crash.py"
    program.write_text(CRASH, encoding="utf-8")
    title = shell.tmux("display-message", "-p", "#{pane_title}")
    shell.press("-l", f"{sys.executable} {shlex.quote(str(program))}; echo ended $?")
    shell.press("Enter")
    text = shell.wait(lambda text: re.search(r"^ended \d+", text, re.MULTILINE))
    assert "ended 0" not in text
    restored(shell)
    assert shell.tmux("display-message", "-p", "#{pane_title}") == title


def test_ctrl_c_says_how_to_leave_and_breaks_nothing(shell: Terminal) -> None:
    run(shell)
    shell.wait(lambda text: "○ ready" in text)
    shell.press("C-c")
    shell.wait(lambda text: "once more leaves" in text)
    shell.press("C-q")
    shell.wait(lambda text: "3 Errors" not in text)
    restored(shell)


@pytest.mark.parametrize(
    ("environment", "wanted", "unwanted"),
    [
        ("COLORTERM=truecolor TERM=xterm-256color", r"\x1b\[[0-9;]*38;2;", None),
        ("COLORTERM= TERM=xterm-256color", r"\x1b\[[0-9;]*38;5;", r"38;2;"),
        ("COLORTERM= TERM=xterm", r"\x1b\[[0-9;]*[39][0-7]m", r"38;[25];"),
        ("NO_COLOR=1 COLORTERM=truecolor TERM=xterm-256color", r"Stream", None),
    ],
)
def test_colours_are_those_the_terminal_has(
    shell: Terminal, environment: str, wanted: str, unwanted: str | None
) -> None:
    shell.tmux("set-option", "-g", "default-terminal", "tmux-256color")
    shell.tmux("set-option", "-sa", "terminal-overrides", ",*:Tc")
    shell.press("-l", f"{environment} {sys.executable} -m kvtui")
    shell.press("Enter")
    shell.wait(lambda text: "○ ready" in text)
    cells = shell.tmux("capture-pane", "-p", "-e")
    assert re.search(wanted, cells)
    if unwanted is not None:
        assert not re.search(unwanted, cells)
    if "NO_COLOR" in environment:
        hues = re.findall(r"[34]8;2;(\d+);(\d+);(\d+)", cells)
        assert all(len(set(hue)) == 1 for hue in hues), "greys only"
    shell.press("q")
    shell.wait(lambda text: "3 Errors" not in text)


ODD = (
    "[bold red]x[/] [@click=app.quit]y[/]",
    "\u202egnp.exe\u2066",
    "a" + "\u200b\u200d\u0301" * 400,
    "\x9b2J\x9d0;pwned\x9c",
)
"""Markup, bidi overrides, a flood of marks, C1 controls."""


def test_a_prompt_and_a_file_name_are_shown_as_text(shell: Terminal, tmp_path: Path) -> None:
    title = shell.tmux("display-message", "-p", "#{pane_title}")
    prompt = tmp_path / "prompt.txt"
    prompt.write_text(" ".join(ODD), encoding="utf-8")
    odd = tmp_path / "od\x1b]0;pwned\x07d.json"
    odd.write_text("no json", encoding="utf-8")
    script = tmp_path / "go.sh"
    command = [sys.executable, "-m", "kvtui", "--prompt-file", str(prompt), "--messages", str(odd)]
    script.write_text(shlex.join(command), encoding="utf-8")
    shell.press("-l", f"sh {shlex.quote(str(script))}; echo ended $?")
    shell.press("Enter")
    seen = shell.wait(lambda text: "○ ready" in text or re.search(r"^ended \d", text, re.M))
    assert "3 Errors" in seen
    assert "[bold red]x[/]" in seen
    for line in seen.splitlines():
        assert line.startswith((" ", "╭", "│", "╰", "▌")), line  # the grid stands, a notice on it
        assert not line.startswith("│") or line.endswith(("│", "╮", "╯")) or "▌" in line, line
    assert shell.tmux("display-message", "-p", "#{pane_title}") == title
    shell.press("C-q")
    shell.wait(lambda text: "ended 0" in text)
    assert shell.tmux("display-message", "-p", "#{pane_title}") == title
