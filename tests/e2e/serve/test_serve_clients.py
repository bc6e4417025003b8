"""Whatever a client sends or leaves out, the server goes on and its slots come free."""

from __future__ import annotations

import json
import random
import socket
from typing import Any
from urllib.parse import urlsplit

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from serving import CHAT, DEADLINE, USER, call, connect, idle, metric, serves, until

from kvtui.engine.child import EngineChild


@pytest.mark.parametrize("stream", [True, False])
@pytest.mark.parametrize("kv_cache", [True, False])
def test_a_client_that_leaves_frees_its_slot(
    child: EngineChild, stream: bool, kv_cache: bool
) -> None:
    body = {"messages": USER, "max_tokens": 450, "ignore_eos": True}
    body |= {"stream": stream, "kv_cache": kv_cache}
    aborted = metric(child, "vllm:request_success_total", 'finished_reason="abort"')
    for _ in range(4):
        connection = connect(child)
        connection.request("POST", CHAT, json.dumps(body))
        if stream:
            connection.getresponse().readline()
        else:
            until(lambda: metric(child, "vllm:num_requests_running") == 1)
        assert connection.sock is not None
        connection.sock.shutdown(socket.SHUT_RDWR)
        connection.close()
        idle(child)
    now = metric(child, "vllm:request_success_total", 'finished_reason="abort"')
    assert now == aborted + 4


def test_half_closed_and_reset_connections(child: EngineChild) -> None:
    host, port = urlsplit(child.base_url).hostname, urlsplit(child.base_url).port
    body = json.dumps({"messages": USER, "stream": True, "max_tokens": 450}).encode()
    head = f"POST {CHAT} HTTP/1.1\r\nHost: x\r\nContent-Length: {len(body)}\r\n\r\n".encode()
    for ending in ("half", "reset"):
        sock = socket.create_connection((host, port), timeout=DEADLINE)
        sock.sendall(head + body)
        sock.recv(100)
        if ending == "half":
            sock.shutdown(socket.SHUT_WR)
        else:
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
            sock.close()
        idle(child)
        sock.close()
    serves(child)


def test_garbage_on_the_wire(child: EngineChild) -> None:
    host, port = urlsplit(child.base_url).hostname, urlsplit(child.base_url).port
    source = random.Random(1)
    samples = [
        b"\0" * 100,
        b"GET / HTTP/9.9\r\n\r\n",
        b"POST " + CHAT.encode() + b" HTTP/1.1\r\nContent-Length: -5\r\n\r\n",
        b"POST " + CHAT.encode() + b" HTTP/1.1\r\nContent-Length: 9\r\n\r\n{",
        b"POST " + CHAT.encode() + b" HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\nZZ\r\n",
        b"POST "
        + CHAT.encode()
        + b" HTTP/1.1\r\nContent-Encoding: gzip\r\nContent-Length: 3\r\n\r\nabc",
        b"GET / HTTP/1.1\r\nX: " + b"y" * 100_000 + b"\r\n\r\n",
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + bytes(200),
        *(source.randbytes(source.randint(1, 400)) for _ in range(40)),
    ]
    for sample in samples:
        with socket.create_connection((host, port), timeout=DEADLINE) as sock:
            sock.sendall(sample)
            sock.shutdown(socket.SHUT_WR)
            try:
                while sock.recv(4096):
                    pass
            except ConnectionResetError:
                pass
    serves(child)


def test_a_thousand_connections_that_say_nothing(child: EngineChild) -> None:
    host, port = urlsplit(child.base_url).hostname, urlsplit(child.base_url).port
    for _ in range(1000):
        socket.create_connection((host, port), timeout=DEADLINE).close()
    slow = [socket.create_connection((host, port), timeout=DEADLINE) for _ in range(50)]
    for sock in slow:
        sock.sendall(f"POST {CHAT} HTTP/1.1\r\nHost: x\r\nContent-Length: 500\r\n\r\n{{".encode())
    serves(child)
    for sock in slow:
        sock.close()
    serves(child)


values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=20)
    | st.sampled_from(["user", "text", "system", "random"]),
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4)
    ),
    max_leaves=12,
)
FIELDS = """model messages prompt max_tokens max_completion_tokens temperature top_p seed stop n
stream stream_options kv_cache ignore_eos min_tokens logprobs logit_bias tools role content"""
fields = st.sampled_from(FIELDS.split())


@settings(max_examples=120, deadline=None, suppress_health_check=list(HealthCheck))
@given(
    path=st.sampled_from([CHAT, "/v1/completions", "/tokenize", "/detokenize"]),
    body=st.dictionaries(fields, values, max_size=6) | values,
    sound=st.booleans(),
)
def test_any_json_gets_an_answer(child: EngineChild, path: str, body: Any, sound: bool) -> None:
    if sound and isinstance(body, dict):
        body = {"messages": USER, "prompt": "x", "tokens": [5]} | body
    if isinstance(body, dict) and isinstance(body.get("max_tokens"), (int, type(None))):
        body = body | {"max_tokens": min(body.get("max_tokens") or 3, 8)}
    answer = call(child, path, json.dumps(body).encode())
    assert answer.status in (200, 400, 404)
    if answer.status != 200:
        assert answer.error["message"]


def test_it_still_serves(child: EngineChild) -> None:
    idle(child)
    serves(child)
    assert "Traceback" not in "\n".join(child.log)
