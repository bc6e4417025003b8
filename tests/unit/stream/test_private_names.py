"""Under an aiohttp without the private names that are used here, all goes on as aiohttp has it."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import aiohttp
import pytest
from aiohttp.http_writer import StreamWriter

from kvtui.bench.requests.options import RunOptions
from kvtui.bench.requests.session import Session
from kvtui.config import Endpoint, Settings, config_path
from kvtui.measure.figures import RunFigures
from kvtui.stream import transport
from kvtui.stream.request import Request
from tests.wire.scripted import scripted, sse


def hide(owner: type, name: str, patch: pytest.MonkeyPatch) -> None:
    """Take the name from our own code, and leave it to the library's."""
    real = owner.__getattribute__

    def look(self: Any, wanted: str) -> Any:
        caller = sys._getframe(1).f_globals.get("__name__", "")
        if wanted == name and caller.startswith("kvtui."):
            raise AttributeError(wanted)
        return real(self, wanted)

    patch.setattr(owner, "__getattribute__", look)


def answer() -> RunFigures:
    settings = Settings(config_path())
    with (
        scripted(lambda asked: sse("Hel", "lo")) as server,
        Session(RunOptions(base_url="http://127.0.0.1:1", settings=settings)) as session,
    ):
        request = Request(Endpoint(f"{server.url}/v1", "test"), "m", "Hi")
        figures = session.start(request).result(20)
        assert server.asked[0].body["messages"][0]["content"] == "Hi"
    return figures


@pytest.mark.parametrize(
    ("owner", "name"),
    [
        (transport._Handler, "_payload"),
        (aiohttp.TCPConnector, "_factory"),
        (aiohttp.StreamReader, "_buffer"),
        (aiohttp.StreamReader, "total_bytes"),
        (StreamWriter, "transport"),
        (aiohttp.payload.BytesPayload, "_value"),
    ],
)
def test_a_name_that_is_gone_costs_nothing_but_exactness(
    owner: type, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    hide(owner, name, monkeypatch)
    figures = answer()
    assert (figures.verdict.cls, figures.content) == ("ok", "Hello")
    assert figures.e2e_ms is not None


def test_a_writer_that_takes_no_word_about_draining(monkeypatch: pytest.MonkeyPatch) -> None:
    real: Callable[..., Any] = StreamWriter.write

    async def write(self: Any, chunk: bytes) -> None:
        await real(self, chunk)

    monkeypatch.setattr(StreamWriter, "write", write)
    assert answer().content == "Hello"
