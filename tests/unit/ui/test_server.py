"""The server's own KV figure: polled off the UI thread, of one endpoint at a time."""

from __future__ import annotations

import threading
from typing import Any

import pytest

from kvtui.config import Endpoint
from kvtui.telemetry.status import ServerStatus, Source
from kvtui.ui.draw.memory import memory_rows
from kvtui.ui.endpoint.server import ServerWatch, may_ask_unbidden, server_kv
from kvtui.ui.look.rows import plain, width_of
from kvtui.ui.state import MemoryState, ServerKV
from tests.wire.scripted import Asked, scripted

METRICS = b"""\
# TYPE vllm:kv_cache_usage_perc gauge
vllm:kv_cache_usage_perc{engine="0",model_name="m"} 0.25
# TYPE vllm:num_requests_running gauge
vllm:num_requests_running{engine="0",model_name="m"} 2
# TYPE vllm:num_requests_waiting gauge
vllm:num_requests_waiting{engine="0",model_name="m"} 1
# TYPE vllm:cache_config_info gauge
vllm:cache_config_info{block_size="16",engine="0",num_gpu_blocks="101"} 1
"""


def reply(asked: Asked) -> Any:
    if asked.path == "/metrics":
        return 200, "text/plain; version=0.0.4", METRICS
    return 404, "text/plain", b"no"


def test_a_server_is_asked_with_its_key_and_what_it_says_is_told() -> None:
    told = threading.Event()
    said: list[ServerKV | None] = []

    def tell(status: ServerStatus) -> None:
        said.append(server_kv(status))
        told.set()

    with scripted(reply) as server:
        watch = ServerWatch(tell)
        assert not server.asked  # nothing before it is asked for
        endpoint = Endpoint(f"{server.url}/v1", "test", api_key="a-key-of-the-test-01")
        watch.watch(endpoint)
        watch.watch(endpoint)
        assert told.wait(20)
        watch.stop()
        assert server.asked[0].headers["authorization"] == "Bearer a-key-of-the-test-01"
    assert said[0] == ServerKV(0.25, 400, 1600, None, 2, 1, "vllm:kv_cache_usage_perc")


def test_another_endpoint_takes_the_place_of_the_first() -> None:
    told: dict[str, threading.Event] = {"one": threading.Event(), "two": threading.Event()}
    with scripted(reply) as one, scripted(reply) as two:

        def tell(status: ServerStatus) -> None:
            told["one" if one.url in status.urls[0] else "two"].set()

        watch = ServerWatch(tell)
        watch.watch(Endpoint(f"{one.url}/v1", "test"))
        assert told["one"].wait(20)
        first = watch._poller
        assert first is not None
        watch.watch(Endpoint(f"{two.url}/v1", "test"))
        assert told["two"].wait(20)
        assert first.join(5)
        second = watch._poller
        watch.stop()
        assert second is not None
        assert second.join(5)


def test_a_base_url_that_is_none_is_no_failure() -> None:
    watch = ServerWatch(lambda status: None)
    watch._endpoint = endpoint = Endpoint("nonsense", "test")
    watch._begin(endpoint)
    assert watch._poller is None
    watch.wake(1.0)
    watch.stop()


@pytest.mark.parametrize(
    ("url", "embedded", "may"),
    [
        ("http://127.0.0.1:8000/v1", False, True),
        ("http://localhost:8000/v1", False, True),
        ("http://[::1]:8000/v1", False, True),
        ("", True, True),
        ("http://10.0.0.7:8000/v1", False, False),
        ("https://api.openai.com/v1", False, False),
        ("nonsense", False, False),
    ],
)
def test_only_this_machine_is_asked_unbidden(url: str, embedded: bool, may: bool) -> None:
    assert may_ask_unbidden(Endpoint(url, "test", embedded=embedded)) is may


def test_nothing_published_is_no_figure() -> None:
    assert server_kv(ServerStatus(answered=False, kv_usage=0.5)) is None
    assert server_kv(ServerStatus(running=3)) is None
    status = ServerStatus(kv_usage=0.5, sources={"kv_usage": Source("a\x1b[31m", "http://x")})
    kv = server_kv(status)
    assert kv is not None
    assert "\x1b" not in kv.source


@pytest.mark.parametrize("width", [28, 40, 60, 190])
@pytest.mark.parametrize(
    "kv",
    [
        ServerKV(0.123, 2_345, 19_072, None, 3, 1, "vllm:kv_cache_usage_perc"),
        ServerKV(None, None, None, 123_456_789_012, None, None, "kvtui:kv_cache_bytes_in_use"),
        ServerKV(1.0, 99_999_999, 99_999_999, None, 9_999, 9_999, "m" * 80),
        ServerKV(share=0.0),
    ],
)
def test_the_figure_fits_at_every_width(kv: ServerKV, width: int) -> None:
    rows = memory_rows(MemoryState(ready=True, model="m", server=kv), width, 30)
    text = [plain(line) for line in rows]
    assert any("server" in line for line in text)
    assert all(width_of(line) <= width for line in rows)
