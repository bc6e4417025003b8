"""A key that a hostile server echoes in every spelling is in nothing that a command prints."""

from __future__ import annotations

import base64
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from tests.wire.scripted import Asked, Scripted, models, scripted

KEY = "recognisable+Kq81/Zx77=Lm20Vb94"
DRESSES = (
    KEY,
    KEY.upper(),
    quote(KEY, safe=""),
    base64.b64encode(KEY.encode()).decode().rstrip("="),
    KEY[3:-3],
    KEY[::-1],
)


def echoing(asked: Asked) -> Any:
    """The key as model names, in metrics, as finish_reason, as answer and as reasoning."""
    if asked.path.endswith("/models"):
        return models(f"m-{KEY}", *DRESSES)
    if not asked.path.endswith("/chat/completions"):
        metrics = f'vllm:kv_cache_usage_perc{{model_name="{KEY}"}} 0.5\n'
        return 200, "text/plain", metrics.encode()
    chunks: list[dict[str, Any]] = [
        {"model": KEY, "choices": [{"index": 0, "delta": {"content": d, "reasoning_content": d}}]}
        for d in DRESSES
    ]
    chunks.append({"choices": [{"index": 0, "delta": {}, "finish_reason": KEY}]})
    body = "".join(f"data: {json.dumps(chunk)}\n\n" for chunk in chunks)
    headers = {"X-Request-Id": KEY, "Server": KEY}
    return 200, "text/event-stream", f"{body}data: [DONE]\n\n".encode(), headers


@pytest.fixture(scope="module")
def server() -> Iterator[Scripted]:
    with scripted(echoing) as server:
        yield server


@pytest.mark.parametrize(
    ("command", "needed"),
    [
        (["run", "--json"], "names that hold the key: left out"),
        (["run", "--json", "--model", "m1"], "[redacted]"),
        (["run", "--model", "m1"], "[redacted]"),
        (["doctor", "--json"], "names that hold the key: left out"),
        (["doctor", "--model", "m1"], "[redacted]"),
        (["status", "--json"], '"kv_usage": 0.5'),
        (["bench", "article", "--json", "--model", "m1", "--repeat", "1"], '"completed": 1'),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else None,
)
def test_nothing_printed_or_recorded_has_it(
    command: list[str], needed: str, server: Scripted, tmp_path: Path
) -> None:
    environ = {
        "PATH": "", "HOME": str(tmp_path), "PYTHONUTF8": "1", "SECRET_KEY": KEY,
        "KVTUI_STATE": str(tmp_path / "state.toml"), "KVTUI_CONFIG": str(tmp_path / "config.toml"),
        "KVTUI_RUNS": str(tmp_path / "runs"), "PYTHONPATH": str(Path(__file__).parents[2]),
    }  # fmt: skip
    place = ["--base-url", f"{server.url}/v1", "--api-key-env", "SECRET_KEY"]
    done = subprocess.run(
        [sys.executable, "-m", "kvtui", *command, *place],
        capture_output=True, text=True, encoding="utf-8", env=environ, timeout=100,
    )  # fmt: skip
    written = [path.read_text("utf-8") for path in tmp_path.rglob("*") if path.is_file()]
    texts = (done.stdout, done.stderr, *written)
    assert any(needed in text for text in texts), done.stderr
    assert f"Bearer {KEY}" in {asked.headers.get("authorization") for asked in server.asked}
    for text in texts:
        for dress in DRESSES:
            assert dress not in text, text[max(0, text.index(dress) - 200) :][:400]
