"""How the tests of `kvtui serve` talk to it: plain `http.client`, one connection per call."""

from __future__ import annotations

import http.client
import json
import re
import time
from collections.abc import Callable
from typing import Any
from urllib.parse import urlsplit

from kvtui.engine.child import EngineChild

DEADLINE = 20.0
CHAT = "/v1/chat/completions"
USER = [{"role": "user", "content": "the cat"}]


class Answer:
    """A whole HTTP answer."""

    def __init__(self, response: http.client.HTTPResponse) -> None:
        self.status = response.status
        self.headers = response.headers
        self.raw = response.read()

    @property
    def json(self) -> Any:
        return json.loads(self.raw)

    @property
    def error(self) -> dict[str, Any]:
        assert set(self.json) == {"error"}
        assert set(self.json["error"]) == {"message", "type", "param", "code"}
        return self.json["error"]

    @property
    def events(self) -> list[Any]:
        found = re.findall(rb"data: (.*)\n\n", self.raw)
        assert found[-1] == b"[DONE]"
        return [json.loads(event) for event in found[:-1]]


def connect(child: EngineChild) -> http.client.HTTPConnection:
    return http.client.HTTPConnection(urlsplit(child.base_url).netloc, timeout=DEADLINE)


def call(
    child: EngineChild,
    path: str,
    body: object = None,
    *,
    method: str | None = None,
    headers: dict[str, str] | None = None,
) -> Answer:
    raw = body if isinstance(body, bytes) or body is None else json.dumps(body).encode()
    connection = connect(child)
    connection.request(method or ("GET" if raw is None else "POST"), path, raw, headers or {})
    answer = Answer(connection.getresponse())
    connection.close()
    return answer


def chat(child: EngineChild, **fields: Any) -> Answer:
    return call(child, CHAT, {"model": child.model_id, "messages": USER, "max_tokens": 5} | fields)


def metric(child: EngineChild, name: str, label: str = "") -> float:
    text = call(child, "/metrics").raw.decode()
    pattern = rf"^{re.escape(name)}{{.*{re.escape(label)}.*}} (.*)$"
    return float(re.findall(pattern, text, re.MULTILINE)[0])


def until(condition: Callable[[], bool]) -> None:
    """Wait for what must come true; no test is right by the length of a sleep."""
    end = time.monotonic() + DEADLINE
    while not condition():
        assert time.monotonic() < end, "it never came true"
        time.sleep(0.005)


def idle(child: EngineChild) -> None:
    until(lambda: metric(child, "vllm:num_requests_running") == 0)
    assert metric(child, "kvtui:kv_cache_bytes_in_use") == 0


def serves(child: EngineChild) -> None:
    assert chat(child, max_tokens=2, ignore_eos=True).json["usage"]["completion_tokens"] == 2
