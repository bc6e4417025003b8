"""A copied request is the same request, run by a shell; no key is in it, nor in a report."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from types import MappingProxyType
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kvtui.bench.requests.curl import Sent, curl_of
from kvtui.bench.requests.options import RunOptions
from kvtui.bench.requests.report import report
from kvtui.bench.requests.session import Session
from kvtui.config import Endpoint, Settings, config_path
from kvtui.failure import Evidence, KeyFacts, Verdict
from kvtui.stream.quirks import Quirks
from kvtui.stream.request import Request
from kvtui.text import redact
from tests.wire.scripted import Scripted, error, scripted, sse

KEY = "recognisable-Kq81Zx77Lm20Vb94"
HOSTILE = "it's \"quoted\" $HOME `id` \\n !x\nline two\t日本語 🙂 #'; echo no'"

needs_curl = pytest.mark.skipif(
    shutil.which("curl") is None or shutil.which("bash") is None, reason="no curl or no bash here"
)


def run_with_bash(command: str, **variables: str) -> str:
    done = subprocess.run(
        ["bash", "-c", command],
        capture_output=True,
        text=True,
        timeout=30,
        check=False,
        env={"PATH": os.environ["PATH"], **variables},
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def both(server: Scripted, request: Request, **variables: str) -> tuple[Any, Any, str]:
    """What kvtui sent and what the copied command sent, and the command."""
    with Session(RunOptions(base_url=server.url, settings=Settings(config_path()))) as session:
        run = session.start(request)
        figures = run.result(30)
        sent = Sent(request.endpoint, run.base_url, run.request, run.quirks)
    curl = curl_of(sent, figures.evidence)
    own = server.posts()[-1]
    out = run_with_bash(curl.command, **variables)
    assert "data:" in out or "error" in out
    assert len(server.posts()) > 1
    return own, server.posts()[-1], curl.command


@needs_curl
def test_the_copied_command_sends_the_same_request() -> None:
    with scripted(lambda asked: sse("Hello")) as server:
        endpoint = Endpoint(
            f"{server.url}/v1",
            "test",
            api_key=KEY,
            key_from="MY_KEY",
            headers=MappingProxyType({"X-Team": "it's us $PATH", "X-Api-Key": KEY + "2"}),
        )
        request = Request(
            endpoint,
            "m'\"x",
            HOSTILE,
            system="be brief",
            temperature=0.5,
            stop=("a'b",),
            extra_body=MappingProxyType({"top_k": 3, "note": "$(id)"}),
        )
        own, copied, command = both(server, request, MY_KEY=KEY, X_API_KEY=KEY + "2")
    assert copied.path == own.path
    assert copied.body == own.body
    for name in ("authorization", "x-team", "x-api-key", "content-type"):
        assert copied.headers[name] == own.headers[name]
    assert KEY not in command
    assert '"Authorization: Bearer $MY_KEY"' in command


@needs_curl
def test_a_refused_parameter_is_renamed_in_the_copy_too() -> None:
    def reply(asked: Any) -> Any:
        if "max_tokens" in asked.body:
            return error(400, "Unsupported parameter: use max_completion_tokens instead.")
        return sse("Hello")

    with scripted(reply) as server:
        request = Request(Endpoint(f"{server.url}/v1", "test"), "m", "Hi", max_tokens=9)
        own, copied, command = both(server, request)
    assert copied.body == own.body
    assert copied.body["max_completion_tokens"] == 9
    assert "Authorization" not in command
    assert "authorization" not in copied.headers


@needs_curl
@settings(max_examples=40, deadline=None)
@given(text=st.text(max_size=60))
def test_any_text_survives_the_shell(text: str) -> None:
    endpoint = Endpoint("http://127.0.0.1:1/v1", "test")
    request = Request(endpoint, "m", f"<{text}>")
    command = curl_of(Sent(endpoint, endpoint.base_url, request)).command
    assert command.replace("\n", "").isprintable()
    out = run_with_bash(command.replace("curl ", "printf '%s\\0' ", 1))
    body = json.loads(out.rstrip("\0").rpartition("\0")[2])
    assert body["messages"][0]["content"] == redact(f"<{text}>")


@pytest.mark.parametrize(
    ("origin", "variable"),
    [
        ("TAOTOKEN_API_KEY", "$TAOTOKEN_API_KEY"),
        ("api_key_command of profile box", "$API_KEY"),
        ("a'b", "$API_KEY"),
    ],
)
def test_the_key_is_a_variable_whatever_its_origin(origin: str, variable: str) -> None:
    endpoint = Endpoint("https://gpu.example/v1", "test", api_key=KEY, key_from=origin)
    curl = curl_of(Sent(endpoint, endpoint.base_url))
    assert variable in curl.command
    assert curl.variables == (variable[1:],)
    assert curl.command.startswith("curl -sS -N https://gpu.example/v1/models")


def test_a_missing_key_is_the_variable_that_was_looked_for() -> None:
    endpoint = Endpoint("https://gpu.example/v1", "test", key_wanted_from="MY_KEY")
    assert curl_of(Sent(endpoint, endpoint.base_url)).variables == ("MY_KEY",)


def test_the_key_in_odd_places_is_in_no_copy_and_no_report() -> None:
    url = f"https://me:{KEY}@gpu.example/{KEY}/v1"
    endpoint = Endpoint(
        url,
        "test",
        api_key=KEY,
        key_from="MY_KEY",
        headers=MappingProxyType({"X-Odd": f"id {KEY}", "Cookie": f"s={KEY}"}),
    )
    request = Request(
        endpoint,
        "m",
        f"my key is {KEY}",
        extra_body=MappingProxyType({"user": KEY, KEY: [KEY]}),
    )
    sent = Sent(endpoint, url, request, Quirks())
    evidence = Evidence(
        url=url,
        headers={"x-request-id": "req-7", "echo": KEY},
        body=KEY,
        key=KeyFacts("MY_KEY", 29),
    )
    texts = [
        curl_of(sent, evidence).command,
        report(Verdict("auth", "invalid_key", f"no {KEY}"), evidence, sent=sent),
        repr(sent),
    ]
    for text in texts:
        assert KEY not in text
        assert KEY[:12] not in text


@pytest.mark.parametrize(
    ("evidence", "part"),
    [
        (
            Evidence(proxy="http://127.0.0.1:7890", proxy_from="HTTPS_PROXY"),
            '--proxy "$HTTPS_PROXY"',
        ),
        (Evidence(proxy="http://10.0.0.1:8", proxy_from="system settings"), "--proxy http://10.0"),
        (Evidence(), "--noproxy '*'"),
    ],
)
def test_the_proxy_in_effect_is_named(
    monkeypatch: pytest.MonkeyPatch, evidence: Evidence, part: str
) -> None:
    monkeypatch.setenv("HTTPS_PROXY", "http://user:secret-word@127.0.0.1:7890")
    endpoint = Endpoint("https://gpu.example/v1", "test")
    command = curl_of(Sent(endpoint, endpoint.base_url), evidence).command
    assert part in command
    assert "secret-word" not in command


def test_a_report_has_evidence_versions_times_and_no_prompt() -> None:
    def reply(asked: Any) -> Any:
        return error(429, "Slow down", code="rate_limit_exceeded")

    with scripted(reply) as server:
        endpoint = Endpoint(f"{server.url}/v1", "test", api_key=KEY, key_from="MY_KEY")
        with Session(RunOptions(base_url=server.url, settings=Settings(config_path()))) as session:
            run = session.start(Request(endpoint, "m", "a private matter"))
            figures = run.result(30)
    text = report(
        figures.verdict,
        figures.evidence,
        figures=figures,
        sent=Sent(endpoint, run.base_url, run.request, run.quirks),
    )
    for part in (
        "rate_or_quota.rate_limit",
        figures.started_at,
        "kvtui 0.",
        "openai 3.",
        "Python 3.",
        f"POST {server.url}/v1/chat/completions",
        "connection",
        "Slow down",
        "content-type: application/json",
        '"max_tokens": 512',
        "(16 characters)",
        "MY_KEY",
    ):
        assert part in text, part
    assert "private matter" not in text
    assert KEY not in text
