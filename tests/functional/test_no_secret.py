"""A recognisable key, echoed by a server wherever it can, is nowhere on the screen or in a copy."""

from __future__ import annotations

import base64
import json
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from test_screen import until

from kvtui.ui.app import KvtuiApp
from kvtui.ui.screens.doctor import DoctorScreen
from kvtui.ui.stream.conductor import Conductor
from tests.wire.scripted import Asked, error, models, scripted, sse

pytestmark = pytest.mark.timeout(120)

KEY = "recognisable+Kq81/Zx77=Lm20Vb94"
DRESSES = (KEY, quote(KEY, safe=""), base64.b64encode(KEY.encode()).decode(), KEY[:14], KEY[-14:])


def echoing(asked: Asked) -> Any:
    """An answer with the key in every dress; what it is depends on the request."""
    told = " ".join(DRESSES)
    if asked.path.endswith("/models"):
        return models("m1", f"m-{KEY}")
    if not asked.path.endswith("/chat/completions"):
        return 404, "text/plain", told.encode()
    if "stream_options" in asked.body:
        return error(400, f"Unsupported parameter: stream_options {told}")
    if asked.body["messages"][-1]["content"] == "inside":
        event = {"error": {"message": f"bad key {told}", "code": "invalid_api_key"}}
        status, kind, body = sse("Hello", finish=None, done=False)
        return status, kind, body + f"data: {json.dumps(event)}\n\n".encode()
    return error(401, f"Incorrect API key provided: {told}", code="invalid_api_key", param=KEY)


def finished(conductor: Conductor, requests: int) -> bool:
    """So many requests have ended."""
    return conductor.errors.requests == requests


async def test_the_key_is_nowhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SECRET_KEY", KEY)
    texts: list[str] = []

    def look() -> None:
        strips = app.screen._compositor.render_strips()
        texts.append("\n".join(strip.text for strip in strips))
        texts.append(app.clipboard)
        texts.append("\n".join(str(notice) for notice in app._notifications))

    with scripted(echoing) as server:
        options = {"base_url": f"{server.url}/v1", "api_key_env": "SECRET_KEY", "model": "m1"}
        app = KvtuiApp(options)
        async with app.run_test(size=(200, 50)) as pilot:
            main = app.main
            await until(
                pilot,
                lambda: main.conductor is not None and main.conductor.prepared is not None,
                seconds=60,
            )
            assert main.conductor is not None
            for number, prompt in enumerate(("outside", "inside"), 1):
                main.conductor.form = replace(main.conductor.form, prompt=prompt)
                await pilot.press("enter")
                await until(pilot, partial(finished, main.conductor, number), seconds=30)
                await pilot.pause()
                look()
                for key in ("u", "Y", "R"):
                    await pilot.press(key)
                    await pilot.pause()
                    look()
                await pilot.press("o")
                await pilot.pause()
                look()
                await pilot.press("y", "escape")
                look()
            assert [f.verdict.subcode for f in main.conductor.errors.failures]
            main.conductor.endpoint = replace(main.conductor.endpoint, models=("m1", f"m-{KEY}"))
            await pilot.press("M")
            look()
            await pilot.press("escape", "left_square_bracket")
            look()
            await pilot.press("D")
            doctor = app.screen
            assert isinstance(doctor, DoctorScreen)
            await until(pilot, lambda: doctor.over, seconds=60)
            await pilot.press("y")
            await pilot.pause()
            look()
            texts.append(repr(doctor.steps))
            texts.append(repr(main.conductor.errors))
        sent = [asked.headers.get("authorization") for asked in server.posts()]
    assert f"Bearer {KEY}" in sent  # it did go out
    texts.append((tmp_path / "state.toml").read_text())
    assert any("Authorization: Bearer $SECRET_KEY" in text for text in texts)
    assert any("stream_options" in text for text in texts)
    for text in texts:
        for dress in DRESSES:
            assert dress not in text, text[max(0, text.index(dress) - 200) :][:400]
