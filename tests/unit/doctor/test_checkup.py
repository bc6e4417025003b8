"""The steps against a server with the habits of real ones."""

from __future__ import annotations

import socket
from collections.abc import Callable

import pytest

from kvtui.config import Endpoint
from kvtui.doctor.case import Case
from kvtui.doctor.checkup import examine
from kvtui.doctor.steps import TITLES, Step
from kvtui.stream.request import Timeouts

KEY = "sk-doctor-test-0123456789"
Make = Callable[..., Endpoint]


@pytest.fixture(autouse=True)
def _no_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("http_proxy", "https_proxy", "all_proxy", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)


async def steps_of(endpoint: Endpoint) -> dict[str, Step]:
    timeouts = Timeouts(connect=2, headers=5, first_token=5, idle=5, total=10)
    steps = [step async for step in examine(Case(endpoint, timeouts))]
    assert [step.name for step in steps] == list(TITLES)
    for step in steps:
        text = f"{step.detail}{step.notes}{step.verdict}{step.evidence}"
        assert KEY not in text
        assert (step.verdict is not None) == (step.state == "failed")
    return {step.name: step for step in steps}


def failures(steps: dict[str, Step]) -> dict[str, str]:
    return {
        name: f"{step.verdict.cls}.{step.verdict.subcode}"
        for name, step in steps.items()
        if step.verdict is not None
    }


async def test_everything_is_in_order(endpoint: Make) -> None:
    steps = await steps_of(endpoint())
    assert failures(steps) == {}
    unknown = {name for name, step in steps.items() if step.state == "unknown"}
    assert unknown == {"dns", "tls"}
    assert "DOCTOR_API_KEY (25 characters)" in steps["settings"].detail
    assert steps["models"].detail == "qwen3 is one of 2"
    assert "3 chunks" in steps["stream"].detail
    assert steps["usage"].detail.startswith("3 tokens")
    assert steps["stream"].ms is not None
    assert steps["stream"].ms > 0


async def test_a_model_is_chosen_where_none_is_named(endpoint: Make) -> None:
    steps = await steps_of(endpoint(model=None))
    assert failures(steps) == {}
    assert steps["stream"].detail.startswith("qwen3")


async def test_wrong_path_is_named_and_the_right_one_examined(endpoint: Make, server: str) -> None:
    steps = await steps_of(endpoint("good"))
    assert failures(steps) == {"path": "parameter.base_url_path"}
    verdict = steps["path"].verdict
    assert verdict is not None
    assert f"the base URL should be {server}/good/v1 (it answers)" in verdict.message
    assert steps["usage"].state == "ok"


async def test_a_pasted_endpoint_is_cut_and_said(endpoint: Make) -> None:
    steps = await steps_of(endpoint("good/v1/chat/completions"))
    assert failures(steps) == {}
    assert "ends before /chat/completions" in steps["path"].notes[0]


async def test_no_api_anywhere(endpoint: Make) -> None:
    steps = await steps_of(endpoint("nothing/here/at/all", model=None))
    assert failures(steps) == {"path": "parameter.base_url_path"}
    assert steps["stream"].detail == "not reached"


async def test_server_without_a_model_list(endpoint: Make) -> None:
    steps = await steps_of(endpoint("nolist/v1"))
    assert failures(steps) == {}
    assert steps["path"].detail == "chat is served here, a model list is not"
    assert {steps[name].state for name in ("key", "models")} == {"unknown"}
    assert steps["stream"].state == "ok"


async def test_wrong_key(endpoint: Make) -> None:
    steps = await steps_of(endpoint(api_key="sk-another-key-entirely"))
    assert failures(steps) == {"key": "auth.invalid_key"}
    assert steps["path"].state == "unknown"
    assert steps["stream"].state == "unknown"


async def test_wrong_key_behind_a_public_model_list(endpoint: Make) -> None:
    steps = await steps_of(endpoint("public/v1", api_key="sk-another-key-entirely"))
    assert failures(steps) == {"stream": "auth.invalid_key"}


async def test_no_key(endpoint: Make) -> None:
    steps = await steps_of(endpoint(api_key=None, key_from=None, key_wanted_from="NOT_SET"))
    assert failures(steps) == {"key": "auth.key_missing"}
    assert "NOT_SET is not set" in steps["settings"].detail


async def test_malformed_key_is_never_sent(endpoint: Make) -> None:
    steps = await steps_of(endpoint(api_key=f"{KEY} "))
    assert failures(steps) == {"settings": "auth.key_malformed"}
    verdict = steps["settings"].verdict
    assert verdict is not None
    assert "ends with a space (character 26)" in verdict.message


async def test_unknown_model_with_the_nearest_on_offer(endpoint: Make) -> None:
    steps = await steps_of(endpoint(model="qwen-3"))
    assert failures(steps) == {"stream": "parameter.model_not_found"}
    assert "did you mean qwen3?" in steps["models"].detail
    verdict = steps["stream"].verdict
    assert verdict is not None
    assert verdict.fixes[0] == "Use --model qwen3"


async def test_server_that_still_loads(endpoint: Make) -> None:
    steps = await steps_of(endpoint("loading/v1"))
    assert failures(steps) == {"http": "server.loading"}


async def test_tokens_that_nobody_counts(endpoint: Make) -> None:
    steps = await steps_of(endpoint("nousage/v1"))
    assert failures(steps) == {}
    assert steps["usage"].state == "unknown"


async def test_nothing_listens(endpoint: Make) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    steps = await steps_of(endpoint(base_url=f"http://127.0.0.1:{port}/v1"))
    assert failures(steps) == {"tcp": "network.connection_refused"}


async def test_name_that_does_not_resolve(endpoint: Make) -> None:
    steps = await steps_of(endpoint(base_url="http://no-such-host.invalid/v1"))
    assert failures(steps) == {"dns": "network.dns"}


async def test_tls_where_none_is_spoken(endpoint: Make, server: str) -> None:
    secure = server.replace("http://", "https://")
    steps = await steps_of(endpoint(base_url=f"{secure}/good/v1"))
    assert failures(steps) == {"tls": "network.tls_protocol"}


async def test_url_that_is_none(endpoint: Make) -> None:
    steps = await steps_of(endpoint(base_url="localhost:8000/v1"))
    assert failures(steps) == {"url": "parameter.base_url_invalid"}


async def test_dead_proxy(endpoint: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:1")
    steps = await steps_of(endpoint(base_url="http://api.example.com/v1"))
    assert failures(steps) == {"tcp": "network.proxy_unreachable"}
    assert "proxy http://127.0.0.1:1 from HTTP_PROXY" in steps["settings"].detail
    verdict = steps["tcp"].verdict
    assert verdict is not None
    assert verdict.message.startswith("127.0.0.1:1 refused: that is the proxy in HTTP_PROXY")


async def test_proxy_that_cannot_be_used(endpoint: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ALL_PROXY", "socks5://127.0.0.1:1080")
    steps = await steps_of(endpoint(base_url="http://api.example.com/v1"))
    assert failures(steps) == {"settings": "network.proxy_misconfigured"}
