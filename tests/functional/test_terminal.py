"""kvtui in a real terminal: tmux draws it, types the keys and reads the cells."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from kvtui.ui.terminal.paste import HEELS_S

pytestmark = [
    pytest.mark.terminal,
    pytest.mark.timeout(180),
    pytest.mark.skipif(shutil.which("tmux") is None, reason="tmux is not installed"),
]


class Terminal:
    """One tmux server with one pane that runs kvtui."""

    def __init__(self, folder: Path, width: int, height: int, command: str) -> None:
        self.socket = f"kvtui-{os.getpid()}-{time.monotonic_ns()}"
        environment = [
            "-e", f"KVTUI_STATE={folder / 'state.toml'}",
            "-e", f"KVTUI_RUNS={folder / 'runs'}",
            "-e", f"KVTUI_CONFIG={folder / 'config.toml'}",
        ]  # fmt: skip
        self.tmux(
            "-f", "/dev/null", "new-session", "-d", "-x", str(width), "-y", str(height),
            *environment, f"env -u COLUMNS -u LINES {command}; echo status $?; sleep 60",
        )  # fmt: skip

    def tmux(self, *arguments: str) -> str:
        done = subprocess.run(
            ["tmux", "-L", self.socket, *arguments],
            capture_output=True,
            text=True,
            timeout=20,
            check=True,
        )
        return done.stdout

    def screen(self) -> str:
        return self.tmux("capture-pane", "-p")

    def press(self, *keys: str) -> None:
        self.tmux("send-keys", *keys)

    def wait(self, condition: Callable[[str], object], seconds: float = 60) -> str:
        deadline = time.monotonic() + seconds
        while True:
            text = self.screen()
            if condition(text):
                return text
            assert time.monotonic() < deadline, text
            time.sleep(0.1)

    def close(self) -> None:
        self.tmux("kill-server")


@pytest.fixture
def terminal(tmp_path: Path) -> Iterator[Callable[..., Terminal]]:
    opened: list[Terminal] = []

    def start(width: int, height: int, *arguments: str) -> Terminal:
        command = " ".join([sys.executable, "-m", "kvtui", *arguments])
        opened.append(Terminal(tmp_path, width, height, command))
        return opened[-1]

    yield start
    for each in opened:
        each.close()


def test_it_starts_streams_stops_and_quits(terminal: Callable[..., Terminal]) -> None:
    pane = terminal(120, 40, "--max-tokens", "400")
    first = pane.wait(lambda text: "3 Errors" in text)
    assert "1 Stream" in first
    assert "2 Memory" in first
    pane.wait(lambda text: "○ ready" in text)
    pane.press("Enter")
    streaming = pane.wait(lambda text: re.search(r"tokens +\d+ / 400", text))
    assert "◉ decode" in streaming
    pane.wait(lambda text: re.search(r"now +[\d.]+ ", text))
    grown = pane.wait(lambda text: int((re.search(r"(\d+) / 2,048", text) or ["", "0"])[1]) > 20)
    assert re.search(r"TTFT +[\d.]+ m?s", grown)
    pane.press("Escape")
    stopped = pane.wait(lambda text: "■ stopped" in text)
    assert re.search(r"│ [A-Za-z]", stopped)
    pane.press("q")
    pane.wait(lambda text: "status 0" in text)


def test_a_demo_failure_shows_class_and_fix_at_80x24(terminal: Callable[..., Terminal]) -> None:
    pane = terminal(80, 24, "--model", "demo-auth")
    pane.wait(lambda text: "○ ready" in text)
    pane.press("Enter")
    failed = pane.wait(lambda text: "▲ AUTH" in text)
    assert re.search(r"│ 1 \w", failed)
    assert "more ▸ 3" in failed
    pane.press("q")
    pane.wait(lambda text: "status 0" in text)


def test_a_refused_port_is_a_network_failure(terminal: Callable[..., Terminal]) -> None:
    pane = terminal(80, 24, "--base-url", "http://127.0.0.1:9/v1", "--model", "x")
    pane.wait(lambda text: "○ ready" in text or "NETWORK" in text)
    pane.press("Enter")
    pane.wait(lambda text: "↯ NETWORK" in text)
    pane.press("C-q")
    pane.wait(lambda text: "status 0" in text)


def test_resizing_and_a_terminal_too_small(terminal: Callable[..., Terminal]) -> None:
    pane = terminal(120, 40)
    pane.wait(lambda text: "3 Errors" in text)
    pane.tmux("resize-window", "-x", "50", "-y", "12")
    pane.wait(lambda text: "terminal too small: have 50x12, need 60x18" in text)
    pane.tmux("resize-window", "-x", "70", "-y", "20")
    pane.wait(lambda text: "2 Memory" in text and "1 Stream" in text)
    pane.tmux("resize-window", "-x", "80", "-y", "24")
    pane.wait(lambda text: "3 Errors" in text)
    pane.press("q")
    pane.wait(lambda text: "status 0" in text)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT])
def test_a_signal_leaves_as_q_does(terminal: Callable[..., Terminal], number: int) -> None:
    pane = terminal(80, 24)
    pane.wait(lambda text: "○ ready" in text)
    shell = pane.tmux("display-message", "-p", "#{pane_pid}").strip()
    children = subprocess.run(
        ["ps", "-o", "pid=", "--ppid", shell], capture_output=True, text=True, check=True
    )
    os.kill(int(children.stdout.split()[0]), number)
    text = pane.wait(lambda text: f"status {128 + number}" in text)
    assert "1 Stream" not in text  # the terminal is as it was


TITLE = "\x1b]0;pwned\x07"


class Hostile(BaseHTTPRequestHandler):
    """A server each of whose texts would rename the terminal's window."""

    def do_GET(self) -> None:
        self._send(200, "application/json", json.dumps({"data": [{"id": f"m{TITLE}odel"}]}))

    def do_POST(self) -> None:
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if "fail" in asked["messages"][-1]["content"]:
            error = {"error": {"message": f"no{TITLE}!", "type": TITLE, "code": f"c{TITLE}"}}
            self._send(500, "application/json", json.dumps(error) + TITLE)
            return
        chunks = []
        for delta, finish in (({"content": f"Hel{TITLE}lo"}, None), ({}, f"stop{TITLE}")):
            choice = {"index": 0, "delta": delta, "finish_reason": finish}
            chunks.append({"id": TITLE, "model": TITLE, "choices": [choice]})
        body = "".join(f"data: {json.dumps(chunk)}\n\n" for chunk in chunks)
        self._send(200, "text/event-stream", f"{body}data: [DONE]\n\n")

    def _send(self, status: int, kind: str, text: str) -> None:
        data = text.encode()
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@pytest.fixture
def hostile() -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Hostile)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}/v1"
    server.shutdown()
    server.server_close()


@pytest.mark.parametrize(("prompt", "shown"), [("hello", "Hel"), ("fail", "▲ failed")])
def test_a_server_cannot_rename_the_window(
    terminal: Callable[..., Terminal], hostile: str, prompt: str, shown: str
) -> None:
    pane = terminal(120, 40, "--base-url", hostile, "--prompt", prompt)
    title = pane.tmux("display-message", "-p", "#{pane_title}")
    pane.wait(lambda text: "○ ready" in text and "odel (" in text.replace("  ", " "))
    pane.press("Enter")
    text = pane.wait(lambda text: shown in text)
    assert "pwned" in text  # it is shown, not obeyed
    assert pane.tmux("display-message", "-p", "#{pane_title}") == title
    pane.press("q")
    pane.wait(lambda text: "status 0" in text)


def test_a_megabyte_pasted_into_the_editor_leaves_the_screen_alive(
    terminal: Callable[..., Terminal], tmp_path: Path
) -> None:
    pane = terminal(120, 40)
    pane.wait(lambda text: "○ ready" in text)
    pane.press("e")
    pane.wait(lambda text: "esc keep" in text)
    flood = tmp_path / "flood"
    flood.write_text("\x1b[200~" + ("x\x1b[31m \u202e 漢字 " * 20 + "\n") * 2800 + "\x1b[201~")
    pane.tmux("load-buffer", str(flood))
    pane.tmux("paste-buffer", "-r")
    pane.wait(lambda text: "--prompt-file" in text)
    pane.press("Escape")
    pane.wait(lambda text: "esc keep" not in text)
    pane.press("q")
    pane.wait(lambda text: "status 0" in text)


def test_a_piped_prompt_and_a_paste_without_brackets_leave_the_keyboard_alive(
    tmp_path: Path,
) -> None:
    (tmp_path / "article.txt").write_text("Ein Artikel: 漢字", encoding="utf-8")
    command = f"cat {tmp_path / 'article.txt'} | {sys.executable} -m kvtui"
    pane = Terminal(tmp_path, 80, 24, f"sh -c '{command}'")
    try:
        assert "Ein Artikel: 漢字" in pane.wait(lambda text: "○ ready" in text)
        pane.press("-l", "quit? then K or q!, more words with q")  # no brackets around them
        said = pane.wait(lambda text: "Pasted text goes into a field" in text)
        assert "status" not in said
        time.sleep(2 * HEELS_S)  # a key at the heels of a paste is a part of it
        pane.press("e")
        pane.wait(lambda text: "esc keep" in text)
        pane.press("-l", " pasted into the editor, q")
        pane.wait(lambda text: "pasted into the" in text)
        pane.press("Escape")
        pane.wait(lambda text: "esc keep" not in text)
        pane.press("q")
        pane.wait(lambda text: "status 0" in text, seconds=30)
    finally:
        pane.close()


@pytest.mark.parametrize("closed", ["<&-", ">&-", "</dev/null"])
def test_without_stdin_or_stdout_the_screen_works_on_the_terminal(
    tmp_path: Path, closed: str
) -> None:
    command = f"{sys.executable} -m kvtui --max-tokens 20 {closed}"
    pane = Terminal(tmp_path, 80, 24, f"sh -c '{command}'")
    try:
        pane.wait(lambda text: "○ ready" in text)
        pane.press("Enter")
        pane.wait(lambda text: "max_tokens" in text)
        pane.press("q")
        pane.wait(lambda text: "status 0" in text, seconds=30)
    finally:
        pane.close()
