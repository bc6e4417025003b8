"""A connection that stands and then hangs or breaks in TLS: what is named is TLS, not the port."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from contextlib import ExitStack

import pytest

from kvtui.bench.requests.options import RunOptions
from kvtui.bench.requests.session import Session
from kvtui.config import Endpoint, Settings, config_path
from kvtui.doctor.case import Case
from kvtui.doctor.checkup import examine
from kvtui.failure import Evidence, Verdict, classify
from kvtui.failure.evidence import ExceptionFact
from kvtui.failure.transport import kind_of
from kvtui.stream.request import Request, Timeouts
from tests.wire.threaded import in_thread

LIMIT = Timeouts(connect=0.3, headers=20)
Serve = Callable[[str], int]


@pytest.fixture
def serve() -> Iterator[Serve]:
    """A port where connections are taken, and in TLS's first message something goes wrong."""
    with ExitStack() as stack:

        def start(then: str) -> int:
            async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
                if "tunnel" in then:
                    await reader.readuntil(b"\r\n\r\n")
                    if then == "no tunnel":
                        await asyncio.sleep(60)
                    writer.write(b"HTTP/1.1 200 Connection established\r\n\r\n")
                await reader.read(1 if then == "resets" else 1 << 16)
                if "hangs" in then:
                    await asyncio.sleep(60)
                writer.transport.abort() if then == "resets" else writer.close()

            return stack.enter_context(
                in_thread(lambda: asyncio.start_server(talk, "127.0.0.1", 0))
            )

        yield start


@pytest.fixture
def asked() -> Iterator[Callable[..., Evidence]]:
    """Sends a request to a URL; what it left."""
    settings = Settings(config_path())
    with Session(RunOptions(base_url="http://127.0.0.1:1", settings=settings)) as session:

        def ask(url: str, timeouts: Timeouts = LIMIT) -> Evidence:
            request = Request(Endpoint(url, "test"), "m", "Hi", timeouts=timeouts)
            return session.start(request).result(20).evidence

        yield ask


def named(verdict: Verdict) -> str:
    return f"{verdict.cls}.{verdict.subcode}"


def test_a_host_that_hangs_in_tls(serve: Serve, asked: Callable[..., Evidence]) -> None:
    port = serve("hangs")
    evidence = asked(f"https://127.0.0.1:{port}/v1")
    verdict = classify(evidence)
    assert named(verdict) == "network.connect_timeout"
    assert (evidence.phase, evidence.waiting_for) == ("connect", "tls")
    assert "no connection" not in evidence.exceptions[0].text
    assert f"127.0.0.1:{port} took the connection" in verdict.message
    assert "TLS handshake within 0.3" in verdict.message
    assert not any("host and port" in fix for fix in verdict.fixes)  # it has been reached there


@pytest.mark.parametrize("then", ["resets", "closes"])
def test_a_host_that_breaks_off_in_tls(
    serve: Serve, asked: Callable[..., Evidence], then: str
) -> None:
    verdict = classify(asked(f"https://127.0.0.1:{serve(then)}/v1", Timeouts()))
    assert verdict.cls == "network"
    assert "in the middle of the TLS handshake" in verdict.message


def test_a_host_that_hangs_in_tls_behind_a_proxy(
    serve: Serve, asked: Callable[..., Evidence], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HTTPS_PROXY", f"http://127.0.0.1:{serve('tunnel, then hangs')}")
    evidence = asked("https://llm.example.com/v1")
    verdict = classify(evidence)
    assert named(verdict) == "network.connect_timeout"
    assert verdict.message.startswith("llm.example.com took the connection")


def test_a_proxy_that_hangs(
    serve: Serve, asked: Callable[..., Evidence], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HTTPS_PROXY", f"http://127.0.0.1:{serve('no tunnel')}")
    evidence = asked("https://llm.example.com/v1")
    assert named(classify(evidence)) == "network.proxy_unreachable"
    assert evidence.waiting_for == "connect"


def test_the_list_of_models_waits_no_longer_for_a_connection(serve: Serve) -> None:
    url = f"https://127.0.0.1:{serve('hangs')}/v1"
    options = RunOptions(base_url=url, timeouts=LIMIT, settings=Settings(config_path()))
    with Session(options) as session:
        prepared = session.prepare().result(15)
    assert prepared.verdict is not None
    assert named(prepared.verdict) == "network.connect_timeout"
    assert "TLS handshake" in prepared.verdict.message


async def test_the_doctor_names_it_too(serve: Serve) -> None:
    endpoint = Endpoint(f"https://127.0.0.1:{serve('hangs')}/v1", "test")
    steps = {step.name: step async for step in examine(Case(endpoint, timeouts=LIMIT))}
    assert steps["tcp"].state == "ok"
    verdict = steps["tls"].verdict
    assert verdict is not None
    assert named(verdict) == "network.connect_timeout"
    assert "TLS handshake" in verdict.message


def test_asyncios_own_limit_says_nothing_of_the_protocol() -> None:
    text = "SSL handshake is taking longer than 60.0 seconds: aborting the connection"
    assert kind_of([ExceptionFact("ClientConnectorError", text)]) == "connect_timeout"
