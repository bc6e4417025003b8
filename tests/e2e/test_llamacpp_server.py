"""kvtui against llama.cpp's own server, out of the package xllamacpp, on the shipped model."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from types import MappingProxyType
from typing import Any

import pytest

from kvtui.bench.requests.options import RunOptions
from kvtui.bench.requests.session import Session
from kvtui.config import Endpoint, Settings
from kvtui.stream.request import Request

pytestmark = [
    pytest.mark.skipif(find_spec("xllamacpp") is None, reason="xllamacpp is not installed"),
    pytest.mark.timeout(180),
]

MODEL = Path(__file__).parents[2] / "kvtui" / "engine" / "models" / "kvtui-tiny.gguf"
CONTEXT = 512
KEY = "a-key-of-the-test-0123456789"

SERVER = """
import sys, xllamacpp
p = xllamacpp.CommonParams()
p.model.path = sys.argv[1]
p.hostnames = ["127.0.0.1"]
p.port, p.n_ctx, p.n_parallel = 0, int(sys.argv[2]), 1
p.cpuparams.n_threads = p.cpuparams_batch.n_threads = 1
p.api_keys = [sys.argv[3]]
p.model_alias = {"tiny-alias"}
p.endpoint_metrics = p.endpoint_slots = p.endpoint_props = True
server = xllamacpp.Server(p)
print("READY", server.listening_address, flush=True)
sys.stdin.read()
"""


@pytest.fixture(scope="module")
def base_url() -> Iterator[str]:
    """The server, for as long as its stdin is open."""
    process = subprocess.Popen(
        [sys.executable, "-c", SERVER, str(MODEL), str(CONTEXT), KEY],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    assert process.stdout is not None
    try:
        for line in process.stdout:
            if line.startswith("READY"):
                yield f"{line.split()[1].rstrip('/')}/v1"
                break
        else:
            pytest.fail("llama.cpp's server did not start")
    finally:
        process.kill()
        process.wait()


def run(base_url: str, *arguments: str, key: str | None = KEY) -> tuple[int, dict[str, Any], str]:
    environ = {k: v for k, v in os.environ.items() if not k.startswith(("OPENAI_", "TAOTOKEN_"))}
    environ["KVTUI_CONFIG"] = os.devnull
    named = []
    if key is not None:
        environ["LLAMA_KEY"] = key
        named = ["--api-key-env", "LLAMA_KEY"]
    done = subprocess.run(
        [
            sys.executable,
            "-m",
            "kvtui",
            "run",
            "--json",
            "--base-url",
            base_url,
            *named,
            *arguments,
        ],
        env=environ,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    return done.returncode, json.loads(done.stdout), done.stdout + done.stderr


def test_it_is_measured_as_its_own_timings_say(base_url: str) -> None:
    status, document, _ = run(base_url, "--max-tokens", "96", "--prompt", "What is a cache?")
    assert status == 0
    assert document["endpoint"]["model"] == "tiny-alias"
    (result,) = document["runs"]
    assert result["outcome"]["class"] in {"ok", "truncated"}
    assert result["first_token"] == "content"
    assert result["token_source"] in {"usage", "continuous", "timings"}
    assert 1 < result["completion_tokens"] <= 96
    assert result["content"]
    assert result["prompt_tokens"] > 4
    assert 0 < result["ttft_ms"] < result["e2e_ms"]
    assert result["tpot_ms"] == pytest.approx(1000 / result["decode_tps"])


@pytest.mark.parametrize(
    ("key", "subcode"), [("wrong-key-9876543210", "invalid_key"), (None, "key_missing")]
)
def test_a_key_it_does_not_take(base_url: str, key: str | None, subcode: str) -> None:
    status, document, text = run(base_url, "--model", "tiny-alias", key=key)
    assert status == 1
    (result,) = document["runs"]
    assert (result["failure"]["class"], result["failure"]["subcode"]) == ("auth", subcode)
    assert result["failure"]["evidence"]["status"] == 401
    assert "wrong-key" not in text


def test_a_prompt_that_exceeds_its_context(base_url: str) -> None:
    prompt = "a cache keeps what was worked out before " * 200
    status, document, _ = run(base_url, "--model", "tiny-alias", "--prompt", prompt)
    assert status == 1
    failure = document["runs"][0]["failure"]
    assert (failure["class"], failure["subcode"]) == ("parameter", "context_length")
    assert str(CONTEXT) in failure["message"]


@pytest.mark.parametrize("wrong", ["/api", "/v1/v1", "/v1/chat/completions"])
def test_a_base_url_that_is_nearly_right_is_found_out(base_url: str, wrong: str) -> None:
    status, document, text = run(base_url.removesuffix("/v1") + wrong, "--max-tokens", "4")
    assert status == 0
    assert document["endpoint"]["base_url"] == base_url
    assert f"using {base_url}" in text


def test_its_process_is_killed_in_the_middle_of_a_stream() -> None:
    with subprocess.Popen(
        [sys.executable, "-c", SERVER, str(MODEL), "2048", KEY],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    ) as process:
        assert process.stdout is not None
        ready = next(line for line in process.stdout if line.startswith("READY"))
        base_url = f"{ready.split()[1].rstrip('/')}/v1"
        endpoint = Endpoint(base_url, "test", api_key=KEY, key_from="LLAMA_KEY")
        settings = Settings(Path(os.devnull))
        with Session(RunOptions(base_url=base_url, settings=settings)) as session:
            body = MappingProxyType({"ignore_eos": True})
            run = session.start(
                Request(
                    endpoint, "tiny-alias", "What is a cache?", max_tokens=1900, extra_body=body
                )
            )
            while not run.snapshot().tokens and not run.done.is_set():
                run.done.wait(0.0005)
            process.kill()
            figures = run.result(30)
            again = session.start(Request(endpoint, "tiny-alias", "Hi")).result(30)
    assert (figures.verdict.cls, figures.verdict.subcode) == ("network", "stream_interrupted")
    assert figures.partial
    assert figures.content
    assert figures.ttft_ms is not None
    assert (again.verdict.cls, again.verdict.subcode) == ("network", "connection_refused")
