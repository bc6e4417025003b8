"""``kvtui status``: text, JSON, exit status, and the product's own server as a process."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from fakeserver import FakeServer

from kvtui.commands import status as command
from tests.signals import hear_interrupts

KEY = "tt-4f9A/b+c=D7e8G1h2J3k4L5m6"
Page = Callable[[str], str]


def environment(tmp_path: Path, **more: str) -> dict[str, str]:
    """Without any endpoint or configuration of whoever runs the tests."""
    kept = {k: v for k, v in os.environ.items() if not k.endswith(("_API_KEY", "_BASE_URL"))}
    return {**kept, "KVTUI_CONFIG": str(tmp_path / "none.toml"), "PATH": str(tmp_path), **more}


def run(*args: str, env: dict[str, str]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "kvtui", "status", *args],
        capture_output=True,
        text=True,
        encoding="utf-8",
        env={**env, "PYTHONIOENCODING": "utf-8"},
        timeout=50,
        check=False,
    )


async def in_process(capsys: pytest.CaptureFixture[str], *args: str, **env: str) -> tuple[int, str]:
    """Run the command's own body on the test's loop, so that the fake server can answer."""
    from kvtui.config import Settings, resolve_endpoint

    base_url, *rest = args
    endpoint = resolve_endpoint(
        Settings(Path("none")), base_url=base_url, api_key_env="KEY" if env else None, environ=env
    )
    shown = command._Shown(endpoint, as_json="--json" in rest, watched=False)
    code = await command._looks(shown, {}, watch=None)
    captured = capsys.readouterr()
    return code, captured.out + captured.err


async def test_each_figure_has_its_source_beside_it(
    server: FakeServer, page: Page, capsys: pytest.CaptureFixture[str]
) -> None:
    server.text("/metrics", page("vllm.prom"))
    code, text = await in_process(capsys, f"{server.origin}/v1")
    assert code == 0
    lines = {line[:12].strip(): line[12:].split() for line in text.splitlines()}
    assert lines["server"] == ["vLLM"]
    assert lines["KV in use"] == ["25.0%", "vllm:kv_cache_usage_perc,", "/metrics"]
    assert lines["KV tokens"][:3] == ["4,000", "of", "16,000"]
    assert lines["running"] == ["7", "vllm:num_requests_running,", "/metrics"]
    assert lines["prefix hits"][:4] == ["62.5%", "since", "its", "start"]
    assert lines["KV memory"] == lines["decode"] == ["—"]


async def test_json(server: FakeServer, page: Page, capsys: pytest.CaptureFixture[str]) -> None:
    server.text("/metrics", page("vllm.prom"))
    code, text = await in_process(capsys, f"{server.origin}/v1", "--json", KEY=KEY)
    seen: dict[str, Any] = json.loads(text)
    assert (code, seen["schema"]) == (0, "kvtui.status/1")
    assert seen["endpoint"]["key_from"] == "KEY"
    told = seen["server"]
    assert (told["answered"], told["kind"], told["kv_usage"]) == (True, "vllm", 0.25)
    assert told["generation_tps"] is None
    assert told["sources"]["kv_usage"] == {
        "metric": "vllm:kv_cache_usage_perc",
        "url": f"{server.origin}/metrics",
    }
    assert isinstance(seen["cards"], list)
    assert KEY not in text


async def test_a_server_that_does_not_answer_is_one_sentence_and_status_1(
    server: FakeServer, capsys: pytest.CaptureFixture[str]
) -> None:
    for path in ("/metrics", "/v1/models"):
        server.text(path, f"upstream {KEY} is gone", 502)
    code, text = await in_process(capsys, f"{server.origin}/v1", KEY=KEY)
    assert code == 1
    assert "kvtui: The server answers only with status 502: upstream [redacted] is gone." in text
    assert KEY not in text


def test_with_no_endpoint_the_cards_remain(tmp_path: Path) -> None:
    done = run(env=environment(tmp_path))
    assert done.returncode == 0
    assert "kvtui serve" in done.stdout
    assert "nvidia-smi is not on the PATH" in done.stdout
    as_json = json.loads(run("--json", env=environment(tmp_path)).stdout)
    assert (as_json["endpoint"], as_json["server"], as_json["cards"]) == (None, None, [])
    assert as_json["cards_reason"]


@pytest.mark.parametrize("args", [["--watch", "0.1"], ["--nope"], ["--profile", "none"]])
def test_bad_flags(tmp_path: Path, args: list[str]) -> None:
    done = run(*args, env=environment(tmp_path))
    assert (done.returncode, done.stdout) == (2, "")
    assert "Traceback" not in done.stderr


def test_what_is_no_url_fails_in_json_too(tmp_path: Path) -> None:
    done = run("--json", "--base-url", "box:8000/v1", env=environment(tmp_path))
    assert done.returncode == 1
    assert json.loads(done.stdout)["server"]["answered"] is False
    assert "http://" in done.stderr


@pytest.mark.skipif(sys.platform == "win32", reason="SIGINT to one process")
def test_watch_prints_each_look_and_ends_with_130(tmp_path: Path) -> None:
    process = subprocess.Popen(
        [sys.executable, "-m", "kvtui", "status", "--json", "--watch", "1"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environment(tmp_path),
        preexec_fn=hear_interrupts,
    )
    assert process.stdout is not None
    looks = [json.loads(process.stdout.readline()) for _ in range(2)]
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=20)
    assert process.returncode == 130
    assert errors == b""
    assert looks[0]["at"] < looks[1]["at"]


# --- against kvtui serve, as a process of its own -------------------------------------------------


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The base URL of a server of the product, with a key; it ends with its stdin."""
    env = {**os.environ, "SERVE_KEY": KEY}
    options = ("--port", "0", "--api-key-env", "SERVE_KEY", "--exit-with-parent")
    process = subprocess.Popen(
        [sys.executable, "-m", "kvtui", "serve", *options],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env=env,
    )
    assert process.stdout is not None
    assert process.stdin is not None
    ready = json.loads(process.stdout.readline())
    yield ready["base_url"]
    process.stdin.close()
    process.wait(20)
    process.stdout.close()


def look(base_url: str, tmp_path: Path) -> dict[str, Any]:
    env = environment(tmp_path, SERVE_KEY=KEY)
    done = run("--json", "--base-url", base_url, "--api-key-env", "SERVE_KEY", env=env)
    assert done.returncode == 0, done.stderr
    assert KEY not in done.stdout + done.stderr
    seen: dict[str, Any] = json.loads(done.stdout)["server"]
    return seen


def test_the_own_server_tells_what_its_cache_holds(served: str, tmp_path: Path) -> None:
    before = look(served, tmp_path)
    assert before["kind"] == "kvtui"
    assert (before["kv_usage"], before["kv_tokens_used"], before["kv_bytes_used"]) == (0, 0, 0)
    assert before["kv_tokens_total"] > 0
    assert before["kv_bytes_total"] % before["kv_tokens_total"] == 0
    assert before["context"] > 0
    (model,) = before["models"]
    body = {"model": model, "max_tokens": 8, "messages": [{"role": "user", "content": "KV"}]}
    request = urllib.request.Request(
        f"{served}/chat/completions",
        json.dumps(body).encode(),
        {"Content-Type": "application/json", "Authorization": f"Bearer {KEY}"},
    )
    with urllib.request.urlopen(request, timeout=50) as response:
        usage = json.load(response)["usage"]
    after = look(served, tmp_path)
    generated = after["generation_tokens"] - before["generation_tokens"]
    assert generated == usage["completion_tokens"]
    assert after["running"] == 0
    assert after["sources"]["kv_bytes_used"]["metric"] == "kvtui:kv_cache_bytes_in_use"
