"""Errors in OpenAI's shape, the key, and failures on demand."""

from __future__ import annotations

import http.client
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from serving import CHAT, DEADLINE, USER, call, chat, connect, idle, metric, until

from kvtui.engine.child import EngineChild


@pytest.mark.parametrize(
    ("fields", "param"),
    [
        ({"max_tokens": 0}, "max_tokens"),
        ({"max_tokens": "5"}, "max_tokens"),
        ({"max_tokens": 10**30}, "max_tokens"),
        ({"temperature": -1}, "temperature"),
        ({"temperature": 2.5}, "temperature"),
        ({"top_p": 1.5}, "top_p"),
        ({"stop": ["a", "b", "c", "d", "e"]}, "stop"),
        ({"stop": ""}, "stop"),
        ({"n": 2}, "n"),
        ({"seed": "x"}, "seed"),
        ({"stream": "yes"}, "stream"),
        ({"stream_options": {"include_usage": True}}, "stream_options"),
        ({"messages": []}, "messages"),
        ({"messages": None}, "messages"),
        ({"messages": [{"role": "wizard", "content": "x"}]}, "messages[0].role"),
        ({"messages": [{"role": "user", "content": 5}]}, "messages[0].content"),
        ({"messages": "hello"}, "messages"),
        ({"logprobs": True}, "logprobs"),
        ({"frequency_penalty": 1}, "frequency_penalty"),
        ({"tools": [{"type": "function"}]}, "tools"),
        ({"response_format": {"type": "json_object"}}, "response_format"),
        ({"kv_cache": 3}, "kv_cache"),
    ],
)
def test_a_wrong_field_is_named(child: EngineChild, fields: dict[str, Any], param: str) -> None:
    answer = chat(child, **fields)
    assert answer.status == 400
    assert answer.error["type"] == "invalid_request_error"
    assert answer.error["param"] == param
    assert param.split("[")[0] in answer.error["message"]


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"{",
        b"[]",
        b"null",
        b'"text"',
        b'{"messages": NaN}',
        b'{"temperature": Infinity, "messages": []}',
        b"\xff\xfe{}",
        b'{"messages": [{"role": "user", "content": "\xff"}]}',
        b'{"messages": [{"role": "user", "content": "\\ud800"}]}',
        b'{"temperature": 1e999, "messages": [{"role": "user", "content": "x"}]}',
        b"[" * 100_000,
        b'{"logit_bias": ' + b'{"a":' * 50_000 + b"1" + b"}" * 50_001,
    ],
)
def test_a_body_that_is_no_request_is_refused(child: EngineChild, body: bytes) -> None:
    answer = call(child, CHAT, body)
    assert answer.status == 400
    assert answer.error["message"]


@pytest.mark.parametrize(
    ("prompt", "param"),
    [([], "prompt"), ("", "prompt"), (["a", "b"], "prompt"), ([10**6], "prompt")],
)
def test_a_wrong_prompt_is_named(child: EngineChild, prompt: object, param: str) -> None:
    answer = call(child, "/v1/completions", {"prompt": prompt})
    assert answer.status == 400
    assert answer.error["param"] == param


def test_a_prompt_beyond_the_context_is_refused_with_both_numbers(child: EngineChild) -> None:
    prompt = call(child, "/tokenize", {"messages": USER}).json["count"]
    answer = chat(child, max_tokens=600)
    assert answer.status == 400
    assert answer.error["code"] == "context_length_exceeded"
    assert answer.error["message"].startswith(
        f"This model's maximum context length is 512 tokens. However, you requested "
        f"{prompt + 600} tokens ({prompt} in the messages, 600 in the completion)."
    )
    long = [{"role": "user", "content": "x" * 700}]
    assert chat(child, messages=long).error["code"] == "context_length_exceeded"
    assert chat(child, messages=long, stream=True, max_tokens=None).status == 400
    huge = [{"role": "user", "content": "x" * 900_000}]
    assert "at least" in chat(child, messages=huge).error["message"]


def test_a_long_prompt_of_ids_is_refused_as_a_prompt(child: EngineChild) -> None:
    answer = call(child, "/v1/completions", {"prompt": [5] * 512, "max_tokens": 1})
    assert answer.error["param"] == "prompt"
    assert "513 tokens (512 in the prompt, 1 in the completion)" in answer.error["message"]


def test_without_a_limit_the_answer_stays_in_the_context(child: EngineChild) -> None:
    usage = chat(child, max_tokens=None, ignore_eos=True).json["usage"]
    assert usage["total_tokens"] == 512


def test_an_unknown_model_is_404(child: EngineChild) -> None:
    answer = chat(child, model="gpt-5")
    assert answer.status == 404
    assert answer.error["code"] == "model_not_found"
    assert "gpt-5" in answer.error["message"]


def test_an_unknown_path_is_404_with_a_hint(child: EngineChild) -> None:
    for path in ("/chat/completions", "/api/chat/completions"):
        answer = call(child, path, {})
        assert answer.status == 404
        assert "/v1/chat/completions" in answer.error["message"]
    assert call(child, "/nowhere").error["code"] == "unknown_url"


def test_a_wrong_method_is_405(child: EngineChild) -> None:
    answer = call(child, CHAT)
    assert answer.status == 405
    assert answer.error["code"] == "method_not_supported"
    assert "POST" in answer.headers["Allow"]


def test_a_large_body_is_413(child: EngineChild) -> None:
    answer = call(child, CHAT, b" " * ((1 << 20) + 1))
    assert answer.status == 413
    assert answer.error["code"] == "request_too_large"


def test_a_full_queue_is_503(model: Path) -> None:
    child = EngineChild.start(str(model), max_num_seqs=1)
    body = {"messages": USER, "kv_cache": False, "max_tokens": 450, "ignore_eos": True}
    body |= {"stream": True}
    connections = [connect(child) for _ in range(65)]
    for connection in connections:
        connection.request("POST", CHAT, json.dumps(body))
    until(lambda: metric(child, "vllm:num_requests_waiting") == 64)
    answer = chat(child)
    assert answer.status == 503
    assert answer.error["type"] == "server_error"
    assert int(answer.headers["Retry-After"]) > 0
    for connection in connections:
        connection.close()
    idle(child)
    child.stop()


def test_a_key_is_asked_for_and_never_repeated(model: Path) -> None:
    key = "sk-test-0123456789abcdef"
    process = subprocess.Popen(
        [
            sys.executable,
            "-m",
            "kvtui",
            "serve",
            "--port",
            "0",
            "--exit-with-parent",
            "--model",
            str(model),
            "--api-key-env",
            "TEST_SERVE_KEY",
        ],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=os.environ | {"TEST_SERVE_KEY": key},
    )
    assert process.stdout is not None
    ready = json.loads(process.stdout.readline())
    netloc = urlsplit(ready["base_url"]).netloc

    def status(headers: dict[str, str], path: str = "/v1/models") -> tuple[int, bytes]:
        connection = http.client.HTTPConnection(netloc, timeout=DEADLINE)
        connection.request("GET", path, headers=headers)
        response = connection.getresponse()
        return response.status, response.read()

    assert status({"Authorization": f"Bearer {key}"})[0] == 200
    none, body = status({})
    assert none == 401
    assert b"didn't provide an API key" in body
    wrong, body = status({"Authorization": "Bearer sk-wrong-key-0000"})
    assert wrong == 401
    assert json.loads(body)["error"]["code"] == "invalid_api_key"
    assert b"sk-" not in body
    assert status({"Authorization": f"Basic {key}"})[0] == 401
    assert status({}, "/health")[0] == 200
    _, narration = process.communicate(timeout=DEADLINE)
    assert key not in narration


def test_demo_errors(child: EngineChild) -> None:
    expected = {
        "demo-auth": (401, "invalid_api_key"),
        "demo-parameter": (400, "context_length_exceeded"),
        "demo-ratelimit": (429, "rate_limit_exceeded"),
        "demo-server": (503, "service_unavailable"),
    }
    for name, (status, code) in expected.items():
        answer = chat(child, model=name, stream=True)
        assert (answer.status, answer.error["code"]) == (status, code)
    assert chat(child, model="demo-ratelimit").headers["Retry-After"] == "20"


def test_demo_streams(child: EngineChild) -> None:
    filtered = chat(child, model="demo-filter", stream=True).events
    assert filtered[-1]["choices"][0]["finish_reason"] == "content_filter"
    assert any(event["choices"][0]["delta"].get("content") for event in filtered)
    truncated = chat(child, model="demo-truncated", stream=True).raw
    assert b"[DONE]" not in truncated
    assert b'"finish_reason":null' in truncated
    assert b'"finish_reason":"' not in truncated
    with pytest.raises(http.client.IncompleteRead) as caught:
        chat(child, model="demo-network", stream=True)
    assert b"cache" in caught.value.partial
