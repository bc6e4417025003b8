"""Requests through a session: watchdogs, stops, what is put right, what is never sent."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import CancelledError
from contextlib import AbstractContextManager
from dataclasses import replace
from datetime import date, timedelta
from pathlib import Path

import pytest

from kvtui.bench.requests.models import model_missing
from kvtui.bench.requests.options import RunOptions
from kvtui.bench.requests.remembered import KEPT, forget, recall, remember
from kvtui.bench.requests.session import Session
from kvtui.config import Endpoint, Settings, config_path
from kvtui.measure.figures import RunFigures
from kvtui.stream.request import Request, Timeouts
from tests.wire.scripted import Asked, Scripted, error, models, scripted, sse

SETTINGS = Settings(config_path())
KEY = "sk-test-Zx81Qa77Lm20Vb94"
HTML = (404, "text/html", b"<!doctype html><html><body>404 page not found</body></html>")

Serve = Callable[[Callable[[Asked], object]], Scripted]


@pytest.fixture
def serve() -> Iterator[Serve]:
    running: list[AbstractContextManager[Scripted]] = []

    def start(reply: Callable[[Asked], object]) -> Scripted:
        context = scripted(reply)
        running.append(context)
        return context.__enter__()

    yield start
    for context in running:
        context.__exit__(None, None, None)


@pytest.fixture(scope="module")
def session() -> Iterator[Session]:
    with Session(RunOptions(base_url="http://127.0.0.1:1", settings=SETTINGS)) as session:
        yield session


def request(server: Scripted, path: str = "/v1", **more: object) -> Request:
    endpoint = Endpoint(f"{server.url}{path}", "test", api_key=KEY, key_from="TEST_KEY")
    return Request(endpoint, "m", "Hi", **more)  # type: ignore[arg-type]


def outcome(figures: RunFigures) -> str:
    return f"{figures.verdict.cls}.{figures.verdict.subcode}"


# --- watchdogs and stops --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("timeouts", "waiting_for"),
    [
        (Timeouts(headers=0.2), "headers"),
        (Timeouts(total=0.2), "headers"),
    ],
)
def test_a_silent_server(
    session: Session, serve: Serve, timeouts: Timeouts, waiting_for: str
) -> None:
    server = serve(lambda asked: None)
    figures = session.start(request(server, timeouts=timeouts)).result(20)
    assert outcome(figures) == "network.read_timeout"
    assert figures.evidence.waiting_for == waiting_for
    assert figures.evidence.waited_s == pytest.approx(0.2, abs=0.5)
    assert figures.connect_ms is not None
    assert figures.ttft_ms is None


def test_a_connection_that_is_never_ready(session: Session, serve: Serve) -> None:
    server = serve(lambda asked: None)  # accepts, and says nothing of TLS
    endpoint = Endpoint(server.url.replace("http:", "https:") + "/v1", "test")
    asked = Request(endpoint, "m", "Hi", timeouts=Timeouts(connect=0.3))
    figures = session.start(asked).result(20)
    assert outcome(figures) == "network.connect_timeout"
    assert figures.evidence.waiting_for == "tls"
    assert figures.connect_ms is None


def test_a_proxy_is_given_its_login(
    session: Session, serve: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    server = serve(lambda asked: sse("Hello"))
    monkeypatch.setenv("HTTP_PROXY", server.url.replace("//", "//me:secret@"))
    monkeypatch.delenv("http_proxy", raising=False)
    asked = Request(Endpoint("http://llm.example.com/v1", "test"), "m", "Hi")
    figures = session.start(asked).result(20)
    assert figures.content == "Hello"
    assert server.asked[0].headers["proxy-authorization"] == "Basic bWU6c2VjcmV0"
    assert "secret" not in repr(figures.evidence)


def test_a_stop_while_waiting_is_no_failure(session: Session, serve: Serve) -> None:
    server = serve(lambda asked: None)
    run = session.start(request(server))
    deadline = time.monotonic() + 20
    while run.snapshot().phase != "prefill" and time.monotonic() < deadline:
        time.sleep(0.01)
    asked = time.monotonic()
    run.stop()
    assert run.done.wait(5)
    assert time.monotonic() - asked < 3  # at once, but for what else the machine does
    figures = run.result(1)
    assert figures.stopped
    assert figures.partial
    assert outcome(figures) == "ok.complete"
    assert run.snapshot().phase == "stopped"


def test_a_stop_before_it_began(session: Session, serve: Serve) -> None:
    server = serve(lambda asked: None)
    run = session.start(request(server))
    run.stop()
    assert run.result(5).stopped


def test_a_closed_session_takes_nothing_and_leaves_nothing(serve: Serve) -> None:
    server = serve(lambda asked: None)
    session = Session(RunOptions(base_url=server.url, model="m", settings=SETTINGS))
    run = session.start(request(server))
    begun = time.monotonic()
    session.close()
    assert time.monotonic() - begun < 5
    assert run.done.wait(1)
    session.close()
    run.stop()
    assert session.prepare().cancelled()
    late = session.start(request(server))
    assert late.done.is_set()
    with pytest.raises(CancelledError):
        late.result(1)


def test_a_refused_port(session: Session) -> None:
    endpoint = Endpoint("http://127.0.0.1:9/v1", "test")
    figures = session.start(Request(endpoint, "m", "Hi")).result(10)
    assert outcome(figures) == "network.connection_refused"
    assert figures.evidence.phase == "connect"
    names = [link.type for link in figures.evidence.exceptions]
    assert names[:2] == ["APIConnectionError", "ConnectError"]
    assert "ConnectionRefusedError" in names


# --- put right, and said --------------------------------------------------------------------------


def test_a_base_url_without_its_v1(session: Session, serve: Serve) -> None:
    def reply(asked: Asked) -> object:
        if not asked.path.startswith("/api/v1/"):
            return HTML
        return models("m") if asked.method == "GET" else sse("a", "b")

    server = serve(reply)
    run = session.start(request(server, "/api"))
    figures = run.result(20)
    assert figures.content == "ab"
    assert run.base_url == f"{server.url}/api/v1"
    assert f"using {server.url}/api/v1" in run.notes[0]
    again = session.start(request(server, "/api"))
    before = len(server.asked)
    assert again.result(20).content == "ab"
    assert [one.path for one in server.asked[before:]] == ["/api/v1/chat/completions"]


def test_a_pasted_path(session: Session, serve: Serve) -> None:
    server = serve(lambda asked: sse("a") if asked.path == "/v1/chat/completions" else HTML)
    run = session.start(request(server, "/v1/chat/completions"))
    assert run.result(20).content == "a"
    assert "/chat/completions" in run.notes[0]


def test_a_path_that_nothing_answers(session: Session, serve: Serve) -> None:
    server = serve(lambda asked: HTML)
    figures = session.start(request(server, "/api")).result(20)
    assert outcome(figures) == "parameter.base_url_path"
    assert {one.headers["authorization"] for one in server.asked} == {f"Bearer {KEY}"}


def test_a_missing_model_is_no_reason_to_search(session: Session, serve: Serve) -> None:
    server = serve(lambda asked: error(404, "The model `m` does not exist", code="model_not_found"))
    figures = session.start(request(server)).result(20)
    assert outcome(figures) == "parameter.model_not_found"
    assert len(server.asked) == 1


@pytest.mark.parametrize(
    ("parameter", "message"),
    [
        ("stream_options", "Unrecognized request argument supplied: stream_options"),
        ("max_tokens", "Unsupported parameter: 'max_tokens'. Use 'max_completion_tokens' instead."),
    ],
)
def test_a_refused_parameter_is_changed_once(
    session: Session, serve: Serve, parameter: str, message: str
) -> None:
    server = serve(lambda asked: error(400, message) if parameter in asked.body else sse("a", "b"))
    run = session.start(request(server))
    assert run.result(20).content == "ab"
    assert parameter in run.notes[0]
    assert len(server.posts()) == 2
    assert session.start(request(server)).result(20).content == "ab"
    assert len(server.posts()) == 3


def test_a_refusal_that_stays_is_the_failure(session: Session, serve: Serve) -> None:
    server = serve(lambda asked: error(400, "Unrecognized argument: stream_options"))
    figures = session.start(request(server)).result(20)
    assert outcome(figures) == "parameter.stream_options_unsupported"
    assert len(server.posts()) == 2


def test_a_redirect_is_not_followed(session: Session, serve: Serve) -> None:
    server = serve(lambda asked: (308, "text/html", b"", {"location": "https://elsewhere.test/v1"}))
    figures = session.start(request(server)).result(20)
    assert outcome(figures) == "parameter.base_url_redirect"
    assert len(server.asked) == 1


def test_a_kept_connection_that_the_server_closed(session: Session, serve: Serve) -> None:
    answers = iter([sse("a"), "close", sse("b")])
    server = serve(lambda asked: next(answers))
    assert session.start(request(server)).result(20).content == "a"
    run = session.start(request(server))
    figures = run.result(20)
    assert figures.content == "b"
    assert figures.connect_ms > 0
    assert "closed by the server" in run.notes[0]


def test_a_new_connection_that_is_closed_is_a_failure(session: Session, serve: Serve) -> None:
    server = serve(lambda asked: "close")
    figures = session.start(request(server)).result(20)
    assert outcome(figures) == "network.server_disconnected"
    assert len(server.asked) == 1


# --- what is sent ---------------------------------------------------------------------------------


def test_the_request(session: Session, serve: Serve) -> None:
    server = serve(lambda asked: sse("a"))
    asked = request(
        server, system="Be brief.", max_tokens=10, temperature=0.5, top_p=0.9, seed=3,
        stop=("END",), extra_body={"top_k": 4}, extra_headers={"X-Own": "1"},
    )  # fmt: skip
    session.start(asked).result(20)
    sent = server.posts()[0]
    assert sent.body == {
        "model": "m",
        "messages": [
            {"role": "system", "content": "Be brief."},
            {"role": "user", "content": "Hi"},
        ],
        "stream": True,
        "stream_options": {"include_usage": True},
        "max_tokens": 10,
        "temperature": 0.5,
        "top_p": 0.9,
        "seed": 3,
        "stop": ["END"],
        "top_k": 4,
    }
    assert sent.headers["x-own"] == "1"
    assert sent.headers["authorization"] == f"Bearer {KEY}"
    assert sent.headers["accept-encoding"] == "identity"


def test_repeats_vary_a_short_prefix(session: Session, serve: Serve) -> None:
    server = serve(lambda asked: sse("a"))
    for index in range(3):
        session.start(request(server), index).result(20)
    prompts = [one.body["messages"][0]["content"] for one in server.posts()]
    assert prompts[0] == "Hi"
    assert len(set(prompts)) == 3
    assert all(prompt.endswith("Hi") and len(prompt) < 20 for prompt in prompts)


def test_a_repeat_on_llamacpp_leaves_its_prefix_cache_out(session: Session, serve: Serve) -> None:
    server = serve(lambda asked: (*sse("a"), {"server": "llama.cpp"}))
    for index in range(2):
        session.start(request(server), index).result(20)
    first, second = (one.body for one in server.posts())
    assert "cache_prompt" not in first
    assert second["cache_prompt"] is False
    assert second["timings_per_token"] is True


def test_what_the_environment_holds_for_openai_stays_here(
    serve: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("OPENAI_API_KEY", "OPENAI_ADMIN_KEY", "OPENAI_ORG_ID", "OPENAI_PROJECT_ID"):
        monkeypatch.setenv(name, f"secret-of-{name}")
    monkeypatch.setenv("OPENAI_CUSTOM_HEADERS", "X-Secret: secret-header\nAuthorization: Basic s")
    server = serve(lambda asked: models("m") if asked.method == "GET" else sse("a"))
    options = RunOptions(base_url=f"{server.url}/v1", settings=SETTINGS)
    with Session(options) as session:
        prepared = session.prepare().result(20)
        assert prepared.model == "m"
        session.start(Request(prepared.endpoint, "m", "Hi")).result(20)
    assert [one.method for one in server.asked] == ["GET", "POST"]
    for one in server.asked:
        assert "secret" not in str(one.headers)
        assert "authorization" not in one.headers


@pytest.mark.parametrize("key", [f"{KEY} ", f"{KEY}\n", f"{KEY[:5]}…{KEY[5:]}"])
def test_a_key_that_no_header_can_carry_is_not_sent(
    session: Session, serve: Serve, key: str
) -> None:
    server = serve(lambda asked: sse("a"))
    endpoint = Endpoint(f"{server.url}/v1", "test", api_key=key, key_from="TEST_KEY")
    figures = session.start(Request(endpoint, "m", "Hi")).result(20)
    assert outcome(figures) == "auth.key_malformed"
    assert server.asked == []
    assert KEY[:8] not in repr(figures)


def test_a_provider_that_wants_a_key_is_not_asked_without(session: Session) -> None:
    figures = session.start(Request(Endpoint("https://api.openai.com/v1", "x"), "m", "Hi")).result(
        5
    )
    assert outcome(figures) == "auth.key_missing"
    assert figures.evidence.phase == "settings"


def test_a_base_url_that_is_none(session: Session) -> None:
    figures = session.start(Request(Endpoint("localhost:8000/v1", "x"), "m", "Hi")).result(5)
    assert outcome(figures) == "parameter.base_url_invalid"


def test_no_key_in_anything_that_is_kept(session: Session, serve: Serve) -> None:
    def reply(asked: Asked) -> object:
        echo = f"Incorrect key {KEY}, header {asked.headers['authorization']}, url ?key={KEY}"
        status, kind, body = error(401, echo, code="invalid_api_key")
        return status, kind, body, {"x-echo": KEY, "set-cookie": "session=abc", "x-request-id": "7"}

    server = serve(reply)
    figures = session.start(request(server)).result(20)
    assert outcome(figures) == "auth.invalid_key"
    assert KEY not in repr(figures)
    assert KEY[:10] not in repr(figures)
    assert "session=abc" not in repr(figures)
    assert figures.evidence.headers["x-request-id"] == "7"


# --- which model ----------------------------------------------------------------------------------


def prepare(server: Scripted, path: str = "/v1") -> object:
    with Session(RunOptions(base_url=f"{server.url}{path}", settings=SETTINGS)) as session:
        return session.prepare().result(20)


def test_one_model_is_taken_and_of_several_a_choice_is_left(serve: Serve) -> None:
    one = prepare(serve(lambda asked: models("only")))
    assert one.model == "only"
    several = prepare(serve(lambda asked: models("a", "b")))
    assert several.model is None
    assert several.models == ("a", "b")
    verdict, evidence = model_missing(several)
    assert verdict.is_failure
    assert "a, b" in verdict.message
    assert evidence.models_offered == ("a", "b")


def test_the_list_is_found_where_it_is(serve: Serve) -> None:
    def reply(asked: Asked) -> object:
        return models("m") if asked.path == "/api/v1/models" else HTML

    server = serve(reply)
    prepared = prepare(server, "/api")
    assert prepared.model == "m"
    assert f"using {server.url}/api/v1" in prepared.notes[0]


@pytest.mark.parametrize(
    ("reply", "expected"),
    [
        (error(401, "Unauthorized"), "auth.key_missing"),
        ((200, "text/html", b"<html>hello</html>"), "parameter.base_url_path"),
        (error(503, "Loading model"), "server.loading"),
    ],
)
def test_a_list_that_cannot_be_had_is_classified(
    serve: Serve, reply: object, expected: str
) -> None:
    prepared = prepare(serve(lambda asked: reply))
    assert prepared.verdict is not None
    assert f"{prepared.verdict.cls}.{prepared.verdict.subcode}" == expected


def test_a_recognised_server_counts_on_every_chunk(serve: Serve) -> None:
    server = serve(lambda a: models("m", owner="vllm") if a.method == "GET" else sse("a"))
    with Session(RunOptions(base_url=f"{server.url}/v1", settings=SETTINGS)) as session:
        prepared = session.prepare().result(20)
        session.start(Request(prepared.endpoint, "m", "Hi")).result(20)
    assert server.posts()[0].body["stream_options"]["continuous_usage_stats"] is True


def test_connections_are_opened_beforehand(session: Session, serve: Serve) -> None:
    server = serve(lambda asked: models("m") if asked.method == "GET" else sse("a", "b"))
    endpoint = request(server).endpoint
    assert session.warm_connections(endpoint, 4).result(20) == 4
    runs = [session.start(replace(request(server), endpoint=endpoint)) for _ in range(4)]
    assert {run.result(20).connect_ms for run in runs} == {0.0}


def test_the_callers_thread_imports_no_openai() -> None:
    program = (
        "import sys; import kvtui.measure.meter;"
        "from kvtui.bench.requests.options import RunOptions;"
        "from kvtui.bench.requests.session import Session;"
        "Session(RunOptions());"
        "bad = {'openai', 'numpy', 'aiohttp', 'httpx2', 'textual'} & set(sys.modules);"
        "sys.exit(str(bad) if bad else 0)"
    )
    subprocess.run([sys.executable, "-c", program], check=True, timeout=60)


# --- what an endpoint refused ---------------------------------------------------------------------


def test_a_refusal_is_remembered_for_that_endpoint(
    serve: Serve, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    state = tmp_path / "state.toml"
    monkeypatch.setenv("KVTUI_STATE", str(state))

    def reply(asked: Asked) -> object:
        if "stream_options" in asked.body:
            return error(400, "Unsupported parameter: stream_options")
        return sse("Hello")

    server = serve(reply)
    endpoint = Endpoint(f"{server.url}/v1", "test", api_key=KEY, key_from="TEST_KEY")
    options = RunOptions(base_url=endpoint.base_url, model="m", settings=SETTINGS, remember=True)
    with Session(options) as first:
        assert first.prepare().result(20).notes == ()
        run = first.start(Request(endpoint, "m", "Hi"))
        assert run.result(20).content == "Hello"
        assert [note.split(":")[0] for note in run.notes] == ["The server refused stream_options"]
    assert len(server.posts()) == 2
    with Session(options) as second:
        notes = second.prepare().result(20).notes
        assert notes == ("As this endpoint wanted it before: stream_options is left out.",)
        assert second.start(Request(endpoint, "m", "Hi")).result(20).content == "Hello"
    assert len(server.posts()) == 3
    assert KEY not in state.read_text()


def test_a_refusal_is_kept_for_a_month_and_forgotten_when_it_is_taken(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KVTUI_STATE", str(tmp_path / "state.toml"))
    box = Endpoint("https://gpu.example/v1", "test")
    other = Endpoint("https://other.example/v1", "test")
    first, later = date(2026, 1, 1), date(2026, 1, 20)
    remember(box, ["stream_options"], first)
    remember(box, ["max_completion_tokens"], later)
    remember(other, ["stream_options"], later)
    both = ("stream_options", "max_completion_tokens")
    assert recall(box, later) == both
    assert recall(box, first + KEPT - timedelta(days=1)) == both
    assert recall(box, first + KEPT) == ("max_completion_tokens",)
    assert recall(box, first - timedelta(days=1)) == ()  # a clock that went wrong
    forget(box, ["stream_options"], later)
    assert recall(box, later) == ("max_completion_tokens",)
    forget(box, ["max_completion_tokens", "stream_options"], later)
    assert recall(box, later) == ()
    assert recall(other, later) == ("stream_options",)
    remember(other, ["max_completion_tokens"], later + KEPT)
    assert "gpu.example" not in (tmp_path / "state.toml").read_text()


def test_a_state_of_another_form_is_nothing_remembered(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KVTUI_STATE", str(tmp_path / "state.toml"))
    box = Endpoint("https://gpu.example/v1", "test")
    for entry in (
        '["stream_options"]',
        "{ stream_options = 3 }",
        '"x"',
        "{ a = 2026-01-01T00:00:00 }",
    ):
        (tmp_path / "state.toml").write_text(f'[quirks]\n"https://gpu.example/v1" = {entry}\n')
        assert recall(box, date(2026, 1, 1)) == ()
        remember(box, ["stream_options"], date(2026, 1, 1))
        assert recall(box, date(2026, 1, 1)) == ("stream_options",)


def test_what_a_check_up_was_not_refused_is_sent_again(
    serve: Serve, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KVTUI_STATE", str(tmp_path / "state.toml"))
    server = serve(lambda asked: sse("Hello"))
    endpoint = Endpoint(f"{server.url}/v1", "test", api_key=KEY, key_from="TEST_KEY")
    remember(endpoint, ["stream_options", "max_completion_tokens"])
    options = RunOptions(base_url=endpoint.base_url, model="m", settings=SETTINGS, remember=True)
    with Session(options) as session:
        session.prepare().result(20)
        session.start(Request(endpoint, "m", "Hi")).result(20)
        session.settle(endpoint, ["max_completion_tokens"])
        session.start(Request(endpoint, "m", "Hi")).result(20)
    before, after = (asked.body for asked in server.posts())
    assert "stream_options" not in before
    assert "stream_options" in after
    assert "max_completion_tokens" in before
    assert "max_completion_tokens" in after
    assert recall(endpoint) == ("max_completion_tokens",)


def test_no_secret_of_an_endpoint_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    state = tmp_path / "state.toml"
    monkeypatch.setenv("KVTUI_STATE", str(state))
    url = f"https://me:pass-word-9@gpu.example/{KEY}/v1?token=abc123#x"
    endpoint = Endpoint(url, "test", api_key=KEY)
    remember(endpoint, ["stream_options"])
    remember(endpoint, ["max_completion_tokens"])
    assert recall(endpoint) == ("stream_options", "max_completion_tokens")
    assert recall(Endpoint("https://gpu.example/v1", "test")) == ()
    kept = state.read_text()
    assert "https://gpu.example/" in kept
    assert not any(secret in kept for secret in (KEY, "pass-word-9", "abc123"))


def test_what_the_server_says_of_its_context_is_evidence(serve: Serve) -> None:
    listed = b'{"data":[{"id":"a","max_model_len":4096},{"id":"b","max_model_len":8192}]}'
    server = serve(
        lambda asked: (
            (200, "application/json", listed) if asked.method == "GET" else sse("Hi", finish="stop")
        )
    )
    with Session(RunOptions(base_url=f"{server.url}/v1", settings=SETTINGS)) as session:
        prepared = session.prepare().result(20)
        figures = session.start(Request(prepared.endpoint, "b", "Hi")).result(20)
    assert figures.evidence.context_length == 8192


@pytest.mark.parametrize(
    ("reply", "status_and_body"),
    [
        ((200, "text/html", b"<!doctype html><html>Log in</html>"), (200, "<!doctype html>")),
        ((200, "application/json", b'{"hello":1}'), (200, '{"hello":1}')),
        ((200, "text/plain", b"OK"), (200, "OK")),
    ],
)
def test_something_else_in_place_of_a_list_is_kept_as_evidence(
    serve: Serve, reply: object, status_and_body: tuple[int, str]
) -> None:
    server = serve(lambda asked: reply)
    with Session(RunOptions(base_url=server.url, settings=SETTINGS)) as session:
        prepared = session.prepare().result(30)
    assert prepared.verdict is not None
    assert prepared.evidence is not None
    assert (prepared.verdict.cls, prepared.verdict.subcode) == ("parameter", "base_url_path")
    assert prepared.evidence.status == status_and_body[0]
    assert (prepared.evidence.body or "").startswith(status_and_body[1])
    assert prepared.evidence.headers["content-type"].startswith(str(reply[1]))  # type: ignore[index]


def test_unbidden_no_other_machine_is_contacted() -> None:
    options = RunOptions(base_url="https://gpu.invalid/v1", settings=SETTINGS)
    with Session(options) as session:
        prepared = session.prepare(unbidden=True).result(20)
        assert (prepared.verdict, prepared.model, prepared.models) == (None, None, ())
        assert session.prepare().result(30).verdict is not None


def test_unbidden_this_machine_is_asked(serve: Serve) -> None:
    server = serve(lambda asked: models("m1"))
    with Session(RunOptions(base_url=f"{server.url}/v1", settings=SETTINGS)) as session:
        assert session.prepare(unbidden=True).result(20).model == "m1"
