"""Looks at a fake server: which pages are asked, what is told, and what never leaves."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable

import pytest
from aiohttp import web
from fakeserver import FakeServer

from kvtui.telemetry import fetch
from kvtui.telemetry.look import Look
from kvtui.telemetry.status import ServerStatus

KEY = "tt-4f9A/b+c=D7e8G1h2J3k4L5m6"
Page = Callable[[str], str]


async def look_at(look: Look) -> ServerStatus:
    async with look.client.session() as session:
        return await look.once(session)


async def test_a_server_that_works_is_asked_one_page_from_then_on(
    server: FakeServer, page: Page
) -> None:
    server.text("/metrics", page("vllm.prom"))
    server.json("/v1/models", '{"data":[{"id":"x","owned_by":"vllm","max_model_len":2048}]}')
    look = Look(f"{server.origin}/v1", KEY, {"X-Team": "blue"})
    async with look.client.session() as session:
        status = await look.once(session)
        assert [asked.path for asked in server.asked] == ["/metrics", "/v1/models"]
        assert {asked.authorization for asked in server.asked} == {f"Bearer {KEY}"}
        assert {asked.team for asked in server.asked} == {"blue"}
        server.asked.clear()
        again = await look.once(session)
    assert server.paths == ["/metrics"]
    assert not look.quiet
    assert again.at > status.at > 0
    for seen in (status, again):
        assert (seen.kind, seen.kv_usage, seen.context) == ("vllm", 0.25, 2048)
        assert seen.sources["context"].url == f"{server.origin}/v1/models"
        assert seen.sources["kv_usage"].url == f"{server.origin}/metrics"


async def test_where_nothing_is_published_one_page_a_look_is_tried(server: FakeServer) -> None:
    look = Look(f"{server.origin}/v1")
    status = await look_at(look)
    assert status.answered
    assert look.quiet
    assert server.paths == ["/metrics", "/v1/models", "/api/ps", "/api/v1/models", "/v1/loads"]
    assert "/metrics answers 404" in status.notes[0]
    tried = []
    for _ in range(4):
        await look_at(look)
        (one,) = server.paths
        tried.append(one)
    assert tried == ["/metrics", "/api/ps", "/api/v1/models", "/v1/loads"]


async def test_a_page_that_appears_later_is_found(server: FakeServer, page: Page) -> None:
    look = Look(f"{server.origin}/v1")
    await look_at(look)
    server.text("/metrics", page("vllm.prom"))
    status = await look_at(look)
    assert status.kv_usage == 0.25
    assert not look.quiet
    del server.pages["/metrics"]
    gone = await look_at(look)
    assert gone.kv_usage is None
    assert look.quiet


async def test_after_an_outage_another_server_may_have_taken_its_place(
    server: FakeServer, page: Page
) -> None:
    server.text("/metrics", page("llamacpp.prom"))
    server.json("/slots", page("llamacpp_slots.json"))
    look = Look(f"{server.origin}/v1", timeout_s=0.2)
    assert (await look_at(look)).kind == "llamacpp"
    server.hang("/metrics")
    assert not (await look_at(look)).answered
    server.text("/metrics", page("vllm.prom"))
    server.json("/v1/models", '{"data":[{"id":"m","owned_by":"vllm","max_model_len":99}]}')
    status = await look_at(look)
    assert (status.kind, status.context) == ("vllm", 99)


async def test_a_host_elsewhere_is_not_asked_for_pages_its_kind_does_not_have(
    server: FakeServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("kvtui.telemetry.look.is_local", lambda url: False)
    server.json("/v1/models", '{"data":[{"id":"m","owned_by":"openai"}]}')
    status = await look_at(Look(f"{server.origin}/v1", KEY))
    assert server.paths == ["/metrics", "/v1/models"]
    assert status.models == ("m",)


async def test_html_is_no_metrics(server: FakeServer) -> None:
    server.text("/metrics", "<html><title>Sign in</title></html>", kind="text/html")
    status = await look_at(Look(f"{server.origin}/v1"))
    assert status.kind == "unknown"
    assert "/metrics holds none" in status.notes[0]


async def test_a_slow_server_is_given_up(server: FakeServer) -> None:
    server.hang("/metrics")
    status = await look_at(Look(f"{server.origin}/v1", timeout_s=0.05))
    assert not status.answered
    assert "did not answer within 0.05 s" in status.notes[0]
    assert server.paths == ["/metrics"], "no further page of a server that does not answer"


async def test_a_huge_page_is_not_read(server: FakeServer) -> None:
    server.text("/metrics", "vllm:num_requests_running 1\n" * (fetch.PAGE_LIMIT // 28 + 2))
    status = await look_at(Look(f"{server.origin}/v1", timeout_s=20))
    assert status.running is None
    assert "larger than 4 MiB" in status.notes[0]


@pytest.mark.parametrize("key", [None, KEY])
async def test_401_says_what_it_wants_and_never_the_key(
    server: FakeServer, key: str | None
) -> None:
    server.json("/metrics", '{"error":"Unauthorized"}', 401)
    server.json("/v1/models", f'{{"error":{{"message":"bad key {KEY}"}}}}', 401)
    status = await look_at(Look(f"{server.origin}/v1", key))
    assert status.answered
    said = " ".join(status.notes)
    assert "refused the key" in said if key else "asks for a key" in said
    assert KEY not in said


async def test_llamacpp_without_metrics_tells_its_slots(server: FakeServer, page: Page) -> None:
    server.json("/metrics", page("llamacpp_no_metrics.json"), 501)
    server.json("/slots", page("llamacpp_slots.json"))
    server.json("/props", page("llamacpp_props.json"))
    look = Look(f"{server.origin}/v1")
    status = await look_at(look)
    assert (status.kind, status.models, status.kv_tokens_used) == ("llamacpp", ("small-8b",), 1024)
    assert status.generation_tokens is None
    server.asked.clear()
    again = await look_at(look)
    assert server.paths == ["/slots"]
    assert (again.models, again.generation_tokens) == (("small-8b",), None)


async def test_llamacpp_with_both_pages(server: FakeServer, page: Page) -> None:
    server.text("/metrics", page("llamacpp.prom"))
    server.json("/slots", page("llamacpp_slots.json"))
    look = Look(server.origin)
    for _ in range(2):
        status = await look_at(look)
        assert (status.generation_tokens, status.kv_usage, status.waiting) == (640, 0.125, 2)
    assert server.paths[-2:] == ["/metrics", "/slots"]


async def test_ollama(server: FakeServer, page: Page) -> None:
    server.json("/api/ps", page("ollama_ps.json"))
    server.json("/v1/models", '{"data":[{"id":"qwen3:8b","owned_by":"library"}]}')
    status = await look_at(Look(f"{server.origin}/v1"))
    assert (status.kind, status.context) == ("ollama", 8192)
    assert server.paths == ["/metrics", "/v1/models", "/api/ps"]


async def test_lmstudio_answers_200_to_everything(server: FakeServer, page: Page) -> None:
    for path in ("/metrics", "/v1/models", "/api/ps"):
        server.json(path, f'{{"error":"Unexpected endpoint or method. (GET {path})"}}')
    server.json("/api/v1/models", page("lmstudio_models.json"))
    status = await look_at(Look(f"{server.origin}/v1"))
    assert (status.kind, status.models) == ("lmstudio", ("qwen3-8b",))


async def test_sglang_without_metrics_tells_its_loads(server: FakeServer, page: Page) -> None:
    server.json("/v1/models", '{"data":[{"id":"m","owned_by":"sglang"}]}')
    server.json("/v1/loads", page("sglang_loads.json"))
    status = await look_at(Look(f"{server.origin}/v1"))
    assert (status.kind, status.running, status.models) == ("sglang", 4, ("m",))


async def test_both_parents_of_api_v1_are_tried(server: FakeServer, page: Page) -> None:
    server.text("/metrics", page("vllm.prom"))
    look = Look(f"{server.origin}/api/v1")
    assert (await look_at(look)).kv_usage == 0.25
    assert server.paths == ["/api/metrics", "/metrics", "/api/v1/models"]
    await look_at(look)
    assert server.paths == ["/metrics"]


async def test_the_key_follows_no_redirect(server: FakeServer) -> None:
    other = FakeServer()
    await other.start()
    try:

        async def away(request: web.Request) -> web.StreamResponse:
            return web.Response(status=307, headers={"Location": f"{other.origin}/metrics"})

        server.pages["/metrics"] = away
        status = await look_at(Look(f"{server.origin}/v1", KEY))
        assert other.asked == []
        assert "/metrics answers 307" in status.notes[0]
    finally:
        await other.stop()


async def test_a_server_that_is_loading_does_not_answer_yet(server: FakeServer) -> None:
    for path in ("/metrics", "/v1/models"):
        server.json(path, f'{{"error":{{"code":503,"message":"Loading model {KEY}"}}}}', 503)
    status = await look_at(Look(f"{server.origin}/v1", KEY))
    assert not status.answered
    assert status.notes == ("The server answers only with status 503: Loading model [redacted].",)


async def test_nothing_listens() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port = taken.getsockname()[1]
        status = await look_at(Look(f"http://127.0.0.1:{port}/v1"))
    assert not status.answered
    assert "connection refused" in status.notes[0]


async def test_a_body_that_breaks_off(server: FakeServer) -> None:
    async def broken(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse(headers={"Content-Length": "1000"})
        await response.prepare(request)
        await response.write(b"vllm:")
        assert request.transport is not None
        request.transport.close()
        return response

    server.pages["/metrics"] = broken
    status = await look_at(Look(f"{server.origin}/v1"))
    assert not status.answered
    assert "no whole answer" in status.notes[0]


@pytest.mark.parametrize("key", ["line\nbreak-secret", "smörgås-secret", "nul\0-secret"])
async def test_a_key_that_no_header_can_carry(server: FakeServer, key: str) -> None:
    status = await look_at(Look(f"{server.origin}/v1", key))
    assert "secret" not in " ".join(status.notes)


async def test_an_own_authorization_header_goes_instead_of_the_key(server: FakeServer) -> None:
    await look_at(Look(f"{server.origin}/v1", KEY, {"authorization": "Basic abc"}))
    assert {asked.authorization for asked in server.asked} == {"Basic abc"}


async def test_user_and_password_of_the_url_are_sent_and_never_shown(
    server: FakeServer, page: Page
) -> None:
    server.text("/metrics", page("vllm.prom"))
    look = Look(f"{server.origin.replace('//', '//ann:pass-word@')}/v1", KEY)
    for _ in range(2):
        status = await look_at(look)
        assert status.kv_usage == 0.25
        assert "pass-word" not in f"{status}"
    assert {asked.authorization for asked in server.asked} == {"Basic YW5uOnBhc3Mtd29yZA=="}


@pytest.fixture
def environment(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    """Without any proxy."""
    for scheme in ("http", "https", "all", "no"):
        monkeypatch.delenv(f"{scheme}_proxy", raising=False)
        monkeypatch.delenv(f"{scheme.upper()}_PROXY", raising=False)
    return monkeypatch


async def test_a_host_elsewhere_is_asked_through_the_proxy_with_its_login(
    server: FakeServer, page: Page, environment: pytest.MonkeyPatch
) -> None:
    server.text("/metrics", page("vllm.prom"))
    environment.setenv("HTTP_PROXY", server.origin.replace("//", "//me:hid%20den@"))
    status = await look_at(Look("http://api.example.com/v1", KEY))
    assert status.kind == "vllm"
    assert server.asked[0].proxy_login == "Basic bWU6aGlkIGRlbg=="


@pytest.mark.parametrize("rule", ["*.invalid", "nowhere.invalid:80 other", "*"])
async def test_what_the_requests_pass_by_the_proxy_this_does_too(
    server: FakeServer, environment: pytest.MonkeyPatch, rule: str
) -> None:
    """One reading of NO_PROXY: ``*.`` and white space count here too."""
    environment.setenv("HTTP_PROXY", server.origin)
    environment.setenv("NO_PROXY", rule)
    await look_at(Look("http://nowhere.invalid/v1"))
    assert server.asked == []


async def test_an_empty_variable_switches_the_proxy_off(
    server: FakeServer, environment: pytest.MonkeyPatch
) -> None:
    environment.setenv("HTTP_PROXY", server.origin)
    environment.setenv("http_proxy", "")
    await look_at(Look("http://nowhere.invalid/v1"))
    assert server.asked == []


@pytest.mark.parametrize("value", ["socks5://me:hidden@127.0.0.1:1080", "http://me:hidden@h:port"])
async def test_a_proxy_that_cannot_be_used_is_named_and_not_passed_by(
    environment: pytest.MonkeyPatch, value: str
) -> None:
    environment.setenv("ALL_PROXY", value)
    status = await look_at(Look("http://api.example.com/v1"))
    assert not status.answered
    assert "ALL_PROXY" in status.notes[0]
    assert "hidden" not in status.notes[0]


async def test_cancelling_a_look_leaves_nothing_behind(server: FakeServer) -> None:
    server.hang("/metrics")
    task = asyncio.create_task(look_at(Look(f"{server.origin}/v1", timeout_s=30)))
    await server.reached.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
