"""``kvtui --web`` in a real browser: it shows, streams, answers keys, and only this machine."""

from __future__ import annotations

import asyncio
import base64
import importlib.util
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from itertools import count
from pathlib import Path
from typing import Any

import aiohttp
import pytest
from click.testing import CliRunner

from kvtui.commands import web
from kvtui.commands.errors import BadInput
from kvtui.commands.group import kvtui

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "chrome"))), "")
SERVER = importlib.util.find_spec("textual_serve") is not None
PICTURE = os.environ.get("KVTUI_WEB_PICTURE")
"""Where to leave a picture of the page, for eyes."""

needs_server = pytest.mark.skipif(not SERVER, reason="the extra web is not installed")
needs_browser = pytest.mark.skipif(not (SERVER and CHROMIUM), reason="no extra web, or no Chromium")


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@pytest.fixture
def served(tmp_path: Path) -> Iterator[tuple[int, subprocess.Popen[str]]]:
    """A server, and its port."""
    port = free_port()
    environment = {**os.environ, "KVTUI_STATE": str(tmp_path / "s"), "MY_KEY": "sk-very-secret-1"}
    command = [sys.executable, "-m", "kvtui", "--web", "--port", str(port)]
    command += ["--max-tokens", "48", "--header", "X-Api-Key: sk-header-secret-2"]
    process = subprocess.Popen(
        command, stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment
    )
    assert process.stderr is not None
    line = process.stderr.readline()
    assert f"http://127.0.0.1:{port}" in line, line
    for _ in range(200):
        with socket.socket() as probe:
            if not probe.connect_ex(("127.0.0.1", port)):
                break
        time.sleep(0.05)
    yield port, process
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=20)
    assert "secret" not in line + out + err
    assert "Traceback" not in out + err


@pytest.fixture
def chromium(tmp_path: Path) -> Iterator[int]:
    """A browser; the port of its DevTools."""
    folder = tmp_path / "chromium"
    browser = subprocess.Popen(
        [CHROMIUM, "--headless", "--no-sandbox", "--disable-gpu", "--remote-debugging-port=0",
         "--window-size=1300,900", f"--user-data-dir={folder}", "--disable-dev-shm-usage",
         "about:blank"],
        stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
    )  # fmt: skip
    place = folder / "DevToolsActivePort"
    for _ in range(600):
        if place.exists() and place.read_text().strip():
            break
        time.sleep(0.05)
    yield int(place.read_text().splitlines()[0])
    browser.terminate()
    browser.wait(10)


class Page:
    """The browser's page, through the DevTools protocol."""

    def __init__(self, socket_: aiohttp.ClientWebSocketResponse) -> None:
        self._socket = socket_
        self._numbers = count(1)
        self.asked: list[str] = []
        """Every URL that it asked for."""

    async def send(self, method: str, **params: Any) -> Any:
        """Send a command; its answer."""
        number = next(self._numbers)
        await self._socket.send_json({"id": number, "method": method, "params": params})
        while True:
            said = json.loads((await self._socket.receive()).data)
            if said.get("method") == "Network.requestWillBeSent":
                self.asked.append(said["params"]["request"]["url"])
            if said.get("id") == number:
                assert "error" not in said, said
                return said["result"]

    async def drawn(self) -> bytes:
        """The page as it is drawn."""
        return base64.b64decode((await self.send("Page.captureScreenshot", format="png"))["data"])

    async def run(self, expression: str) -> Any:
        """The value of a JavaScript expression."""
        answer = await self.send("Runtime.evaluate", expression=expression)
        return answer["result"].get("value")

    async def key(self, text: str, name: str = "", code: int = 0) -> None:
        """A key of the keyboard."""
        named = {"key": name or text, "text": text, "windowsVirtualKeyCode": code}
        await self.send("Input.dispatchKeyEvent", type="keyDown", **named)
        await self.send("Input.dispatchKeyEvent", type="keyUp", key=name or text)

    async def until(self, expression: str) -> None:
        """Wait until a JavaScript expression holds."""
        for _ in range(600):
            if await self.run(expression):
                return
            await asyncio.sleep(0.1)
        raise AssertionError(expression, await self.run("window.seen.slice(-2000)"))


@asynccontextmanager
async def page(port: int) -> AsyncIterator[Page]:
    """The page of the browser whose DevTools are there."""
    async with aiohttp.ClientSession() as session:
        async with session.get(f"http://127.0.0.1:{port}/json/list") as answer:
            target = next(each for each in await answer.json() if each["type"] == "page")
        url = target["webSocketDebuggerUrl"]
        async with session.ws_connect(url, max_msg_size=1 << 26) as socket_:
            made = Page(socket_)
            await made.send("Network.enable")
            await made.send("Page.enable")
            yield made


def children_of(process: subprocess.Popen[str]) -> str:
    """The command lines of a process's children."""
    command = ["ps", "-o", "args=", "--ppid", str(process.pid)]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


SEEN = """
window.seen = ''; const Real = WebSocket;
window.WebSocket = class extends Real {
  constructor(...given) {
    super(...given);
    this.addEventListener('message', async (event) => {
      if (typeof event.data === 'string') return;
      window.seen += new TextDecoder().decode(await new Response(event.data).arrayBuffer());
    });
  }
};
"""
"""Keeps what the app draws, where the page's own terminal paints it on a canvas."""


@needs_browser
@pytest.mark.timeout(150)
async def test_a_browser_shows_it_streams_and_sends_keys(
    served: tuple[int, subprocess.Popen[str]], chromium: int
) -> None:
    port, process = served
    async with page(chromium) as shown:
        await shown.send("Page.addScriptToEvaluateOnNewDocument", source=SEEN)
        await shown.send("Page.navigate", url=f"http://127.0.0.1:{port}/")
        await shown.until("(window.seen || '').includes('kvtui-tiny')")
        await shown.run("document.querySelector('textarea').focus()")
        before = await shown.drawn()
        await shown.run("window.seen = ''")
        await shown.key("\r", "Enter", 13)
        await shown.until("/max tokens|✓ done/.test(window.seen)")
        after = await shown.drawn()
        assert before != after
        if PICTURE:
            await asyncio.to_thread(Path(PICTURE).write_bytes, after)
        await shown.run("window.seen = ''")
        await shown.key("?")
        await shown.until("window.seen.includes('Help')")
        own = (f"http://127.0.0.1:{port}", f"ws://127.0.0.1:{port}", "about:", "data:", "blob:")
        assert [url for url in shown.asked if not url.startswith(own)] == []
        children = children_of(process)
        assert "kvtui.commands.served" in children
        assert "secret" not in children
        await shown.run("window.seen = ''")
        await shown.key("\x1b", "Escape", 27)
        await shown.until("window.seen.includes('1 Stream')")  # the help is closed
        await shown.key("q")
        await shown.until("document.body.classList.contains('-closed')")


@needs_server
async def test_only_pages_of_this_server_are_answered(
    served: tuple[int, subprocess.Popen[str]],
) -> None:
    port, _ = served
    url = f"http://127.0.0.1:{port}/"
    async with aiohttp.ClientSession() as session:
        async with session.get(url) as answer:
            assert answer.status == 200
            assert "googleapis" not in await answer.text()
        for headers in ({"Host": "evil.example"}, {"Origin": "https://evil.example"}):
            async with session.get(url, headers=headers) as answer:
                assert answer.status == 403
            with pytest.raises(aiohttp.WSServerHandshakeError):
                await session.ws_connect(f"{url}ws", headers=headers)
    with pytest.raises(OSError, match="refused"):
        socket.create_connection((_other_address(), port), timeout=2)


def _other_address() -> str:
    """This machine's address on its network; a loopback one beside ours where it has none."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(("192.0.2.1", 9))
            return str(probe.getsockname()[0])
        except OSError:
            return "127.0.0.2"


# --- without a server -----------------------------------------------------------------------------


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> list[tuple[list[str], int]]:
    """What would be served."""
    found: list[tuple[list[str], int]] = []

    def serve(given: list[str], port: int) -> int:
        found.append((given, port))
        return 0

    monkeypatch.setattr(web, "serve", serve)
    return found


def test_the_apps_options_are_passed_on_and_the_servers_own_are_not(
    started: list[tuple[list[str], int]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    prompt = tmp_path / "p.txt"
    prompt.write_text("hello", encoding="utf-8")
    given = ["--base-url", "http://127.0.0.1:1/v1", "--header", "X-A: b: c", "--max-tokens", "7"]
    given += ["--extra-body", '{"a": {"b": 1}}', "--stop", "x", "--stop", "-y", "--same-prompt"]
    given += ["--prompt-file", str(prompt), "--temperature", "0.5", "--presenter"]
    ran = CliRunner().invoke(kvtui, ["--web", *given, "--port", "8123"])
    assert ran.exit_code == 0, ran.output
    (passed, port), *_ = started
    assert port == 8123
    assert not {"--web", "--port", "8123"} & set(passed)
    opened: list[Any] = []
    monkeypatch.setattr("kvtui.commands.screen.open_screen", lambda options: opened.append(options))
    direct, again = CliRunner().invoke(kvtui, given), CliRunner().invoke(kvtui, passed)
    assert (direct.exit_code, again.exit_code) == (0, 0), again.output
    assert opened[0] == opened[1]


def test_without_the_extra_one_sentence_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "textual_serve.server", None)
    ran = CliRunner().invoke(kvtui, ["--web"])
    assert ran.exit_code == 2
    assert "pip install textual-serve" in ran.stderr
    assert len(ran.stderr.strip().splitlines()) == 1


def test_a_taken_port_is_said() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        with pytest.raises(BadInput, match="--port"):
            web._require_port(taken.getsockname()[1])


def test_the_page_asks_no_other_machine() -> None:
    html = '<link\n rel="stylesheet"\n href="https://fonts.googleapis.com/css?family=X"\n/><p>'
    assert "https://" not in web.local_page(html)
    assert web.local_page(html).endswith("<p>")
