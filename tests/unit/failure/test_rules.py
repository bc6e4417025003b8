"""The decision order: each rule, and each conflict that the taxonomy decides."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from kvtui.failure import Evidence, ExceptionFact, KeyFacts, classify

Make = Callable[..., Evidence]


def name(evidence: Evidence) -> str:
    verdict = classify(evidence)
    return f"{verdict.cls}.{verdict.subcode}"


def chain(*links: tuple[str, str]) -> tuple[ExceptionFact, ...]:
    return tuple(ExceptionFact(*link) for link in links)


WRAPPER = ("openai.APIConnectionError", "Connection error.")

BEFORE_HEADERS = [
    ("httpx2.ConnectError", "[Errno -2] Name or service not known", "dns"),
    ("httpx2.ConnectError", "[Errno 11001] getaddrinfo failed", "dns"),
    ("httpx2.ConnectError", "[Errno 8] nodename nor servname provided, or not known", "dns"),
    ("httpx2.ConnectError", "[Errno -3] Temporary failure in name resolution", "dns"),
    (
        "aiohttp.ClientConnectorDNSError",
        "Cannot connect to host a:443 ssl:default [Name or service not known]",
        "dns",
    ),
    ("socket.gaierror", "[Errno -5] No address associated with hostname", "dns"),
    ("httpx2.ConnectError", "All connection attempts failed", "connection_refused"),
    ("ConnectionRefusedError", "[Errno 111] Connection refused", "connection_refused"),
    (
        "aiohttp.ClientConnectorError",
        "Cannot connect to host 127.0.0.1:1 ssl:default [Connect call failed ('127.0.0.1', 1)]",
        "connection_refused",
    ),
    ("OSError", "[WinError 10061] the target machine actively refused it", "connection_refused"),
    ("OSError", "[Errno 113] No route to host", "connection_refused"),
    ("OSError", "[Errno 101] Network is unreachable", "connection_refused"),
    ("httpx2.ConnectTimeout", "", "connect_timeout"),
    ("aiohttp.ConnectionTimeoutError", "Connection timeout to host http://a", "connect_timeout"),
    ("OSError", "[Errno 110] Connect call failed: timed out while connecting", "connect_timeout"),
    ("httpx2.ReadTimeout", "", "read_timeout"),
    ("aiohttp.SocketTimeoutError", "Timeout on reading data from socket", "read_timeout"),
    ("TimeoutError", "", "read_timeout"),
    (
        "httpx2.RemoteProtocolError",
        "Server disconnected without sending a response.",
        "server_disconnected",
    ),
    ("aiohttp.ServerDisconnectedError", "Server disconnected", "server_disconnected"),
    ("httpx2.ReadError", "", "connection_reset"),
    ("ConnectionResetError", "[Errno 104] Connection reset by peer", "connection_reset"),
    ("aiohttp.ClientOSError", "[Errno 104] Connection reset by peer", "connection_reset"),
    ("BrokenPipeError", "[Errno 32] Broken pipe", "connection_reset"),
    (
        "httpx2.ConnectError",
        "[SSL: CERTIFICATE_VERIFY_FAILED] certificate verify failed: self-signed certificate",
        "tls_untrusted",
    ),
    (
        "ssl.SSLCertVerificationError",
        "certificate verify failed: certificate has expired",
        "tls_untrusted",
    ),
    (
        "httpx2.ConnectError",
        "[SSL: CERTIFICATE_VERIFY_FAILED] Hostname mismatch, certificate is not valid for 'a'",
        "tls_hostname",
    ),
    (
        "aiohttp.ClientConnectorCertificateError",
        "IP address mismatch, certificate is not valid for '127.0.0.1'",
        "tls_hostname",
    ),
    ("httpx2.ConnectError", "[SSL: WRONG_VERSION_NUMBER] wrong version number", "tls_protocol"),
    ("httpx2.ConnectError", "[SSL] record layer failure (_ssl.c:1000)", "tls_protocol"),
    (
        "aiohttp.ClientConnectorSSLError",
        "[SSL: TLSV1_ALERT_PROTOCOL_VERSION] tlsv1 alert",
        "tls_protocol",
    ),
    ("ssl.SSLEOFError", "EOF occurred in violation of protocol", "tls_protocol"),
]


@pytest.mark.parametrize(("kind", "text", "subcode"), BEFORE_HEADERS)
def test_exception_before_headers(make_answer: Make, kind: str, text: str, subcode: str) -> None:
    evidence = make_answer(phase="connect", exceptions=chain(WRAPPER, (kind, text)))
    assert name(evidence) == f"network.{subcode}"


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        ("httpx2.ConnectError", "All connection attempts failed"),
        ("httpx2.ConnectTimeout", ""),
        ("httpx2.ConnectError", "[Errno -2] Name or service not known"),
        ("httpx2.ProxyError", "502 Bad Gateway"),
        ("aiohttp.ClientProxyConnectionError", "Cannot connect to host 127.0.0.1:7890"),
        ("aiohttp.ClientHttpProxyError", "503, message='Service Unavailable'"),
    ],
)
def test_connection_failure_behind_a_proxy_is_the_proxys(
    make_answer: Make, kind: str, text: str
) -> None:
    evidence = make_answer(
        phase="connect",
        exceptions=chain(WRAPPER, (kind, text)),
        proxy="http://127.0.0.1:7890",
        proxy_from="HTTPS_PROXY",
    )
    assert name(evidence) == "network.proxy_unreachable"
    assert "127.0.0.1:7890" in classify(evidence).message
    assert "HTTPS_PROXY" in classify(evidence).message


def test_proxy_refusal_is_told_from_below_its_wrappers(make_answer: Make) -> None:
    text = "Cannot connect to host 127.0.0.1:7890 ssl:default [Connect call failed]"
    links = chain(WRAPPER, ("ProxyError", text), ("ClientProxyConnectionError", text))
    proxy = {"proxy": "http://127.0.0.1:7890", "proxy_from": "ALL_PROXY"}
    verdict = classify(make_answer(phase="connect", exceptions=links, **proxy))
    assert verdict.message.startswith("127.0.0.1:7890 refused: that is the proxy in ALL_PROXY")


def test_proxy_that_wants_a_login(make_answer: Make) -> None:
    links = chain(WRAPPER, ("httpx2.ProxyError", "407 Proxy Authentication Required"))
    evidence = make_answer(phase="connect", exceptions=links, proxy="http://p:1", proxy_from="A")
    assert name(evidence) == "network.proxy_auth"


def test_tls_failure_behind_a_proxy_means_the_proxy_let_us_through(make_answer: Make) -> None:
    links = chain(("httpx2.ConnectError", "[SSL: CERTIFICATE_VERIFY_FAILED] self-signed"))
    evidence = make_answer(phase="connect", exceptions=links, proxy="http://p:1", proxy_from="A")
    assert name(evidence) == "network.tls_untrusted"


@pytest.mark.parametrize(
    ("kind", "text", "proxy"),
    [
        ("ImportError", "Using SOCKS proxy, but the 'socksio' package is not installed", "socks5"),
        ("ValueError", "Unknown scheme for proxy URL URL('socks4://127.0.0.1:1')", "socks4"),
        ("ValueError", "Only http proxies are supported", "socks5"),
    ],
)
def test_proxy_settings(make_answer: Make, kind: str, text: str, proxy: str) -> None:
    evidence = make_answer(
        phase="settings",
        exceptions=chain((kind, text)),
        proxy=f"{proxy}://127.0.0.1:1080",
        proxy_from="ALL_PROXY",
    )
    assert name(evidence) == "network.proxy_misconfigured"
    assert "ALL_PROXY" in classify(evidence).message


@pytest.mark.parametrize("waiting", ["headers", "first_token", "data", "end"])
def test_watchdog_that_fired_is_a_read_timeout_and_says_what_was_awaited(
    make_answer: Make, waiting: str
) -> None:
    status = None if waiting == "headers" else 200
    evidence = make_answer(phase="stream", status=status, waiting_for=waiting, waited_s=60.0)
    verdict = classify(evidence)
    assert (verdict.cls, verdict.subcode, verdict.retryable) == ("network", "read_timeout", True)
    assert "60 s" in verdict.message


def test_watchdog_before_the_connection_stands(make_answer: Make) -> None:
    evidence = make_answer(phase="connect", waiting_for="connect", waited_s=10.0)
    assert name(evidence) == "network.connect_timeout"


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        ("httpx2.RemoteProtocolError", "peer closed connection (incomplete chunked read)"),
        ("httpx2.ReadError", ""),
        ("aiohttp.ClientPayloadError", "Response payload is not completed"),
        ("ConnectionResetError", "[Errno 104] Connection reset by peer"),
        ("SomethingNew", "never seen before"),
    ],
)
def test_break_after_headers(make_stream: Make, kind: str, text: str) -> None:
    evidence = make_stream(
        exceptions=chain(WRAPPER, (kind, text)),
        finish_reason=None,
        done_seen=False,
        waiting_for="data",
    )
    assert name(evidence) == "network.stream_interrupted"


def test_break_after_done_is_no_failure(make_stream: Make) -> None:
    assert name(make_stream(exceptions=chain(("httpx2.ReadError", "")))) == "ok.complete"


def test_broken_compression_is_a_bad_chunk(make_stream: Make) -> None:
    links = chain(("httpx2.DecodingError", "Error -3 while decompressing data"))
    assert name(make_stream(exceptions=links, done_seen=False)) == "truncated.bad_chunk"


def test_status_exceptions_are_no_transport_failure(make_answer: Make) -> None:
    links = chain(
        ("openai.RateLimitError", "Error code: 429"), ("httpx2.HTTPStatusError", "Client error")
    )
    assert name(make_answer(status=429, body="", exceptions=links)) == "rate_or_quota.rate_limit"


# --- keys -----------------------------------------------------------------------------------------


def test_key_that_cannot_be_sent(make_answer: Make) -> None:
    key = KeyFacts("OPENAI_API_KEY", 52, "ends with a space (character 52)")
    evidence = make_answer(
        phase="send",
        key=key,
        exceptions=chain(WRAPPER, ("httpx2.LocalProtocolError", "Illegal header value b'[..]'")),
    )
    assert name(evidence) == "auth.key_malformed"
    assert "The key ends with a space (character 52)" in classify(evidence).message


def test_unicode_error_while_the_header_was_built(make_answer: Make) -> None:
    text = "'ascii' codec can't encode characters in position 12-13: ordinal not in range(128)"
    assert name(make_answer(exceptions=chain(("UnicodeEncodeError", text)))) == "auth.key_malformed"


@pytest.mark.parametrize(
    ("key", "expected"),
    [
        (KeyFacts(), "auth.key_missing"),
        (
            KeyFacts("A", 6, "is a placeholder, not a key", kind="placeholder"),
            "auth.key_placeholder",
        ),
        (KeyFacts("A", 6, "ends with a space (character 6)"), "auth.key_malformed"),
        (KeyFacts("A", 60, "has the form of a login token", kind="oauth"), "auth.invalid_key"),
        (KeyFacts("A", 60), "auth.invalid_key"),
    ],
)
def test_401_is_explained_by_the_key_that_was_sent(
    make_answer: Make, key: KeyFacts, expected: str
) -> None:
    assert name(make_answer(status=401, body='{"error":"Unauthorized"}', key=key)) == expected


def test_odd_key_that_the_server_took_is_no_failure(make_stream: Make) -> None:
    key = KeyFacts("A", 6, "is a placeholder, not a key", kind="placeholder")
    assert name(make_stream(key=key)) == "ok.complete"


def test_no_key_for_a_provider_that_wants_one(make_answer: Make) -> None:
    key = KeyFacts(wanted_variable="OPENAI_API_KEY", other_variables=("TAOTOKEN_API_KEY",))
    verdict = classify(make_answer(phase="settings", key=key))
    assert (verdict.cls, verdict.subcode) == ("auth", "key_missing")
    assert "TAOTOKEN_API_KEY is set but --api-key-env reads OPENAI_API_KEY" in verdict.message


# --- URLs -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "url", ["localhost:8000/v1", "api.example.com", "htp://a/v1", "http://a b/v1", "http://a:99999"]
)
def test_base_url_that_is_none(make_answer: Make, url: str) -> None:
    evidence = make_answer(phase="settings", base_url=url, url=f"{url}/chat/completions")
    assert name(evidence) == "parameter.base_url_invalid"


def test_url_exceptions(make_answer: Make) -> None:
    for kind in ("httpx2.UnsupportedProtocol", "httpx2.InvalidURL", "aiohttp.InvalidURL"):
        links = chain(WRAPPER, (kind, "Request URL has an unsupported protocol"))
        assert name(make_answer(exceptions=links)) == "parameter.base_url_invalid"


# --- conflicts that the taxonomy decides ----------------------------------------------------------


def test_error_object_beats_finish_reason(make_stream: Make) -> None:
    evidence = make_stream(sse_error={"error": {"message": "boom"}}, finish_reason="length")
    assert name(evidence) == "server.stream_error"


def test_error_object_beats_the_break_that_followed_it(make_stream: Make) -> None:
    evidence = make_stream(
        sse_error={"error": {"message": "The request queue is full.", "code": 503}},
        exceptions=chain(("httpx2.ReadError", "")),
        done_seen=False,
    )
    assert name(evidence) == "server.overloaded"


@pytest.mark.parametrize("code", [401, "401", 401.0])
def test_codes_come_as_numbers_and_strings(make_answer: Make, code: Any) -> None:
    import json

    body = json.dumps({"error": {"message": "no", "code": code}})
    assert name(make_answer(status=200, body=body)) == "auth.invalid_key"


def test_filter_words_in_the_models_own_text_do_not_count(make_answer: Make) -> None:
    body = '{"choices":[{"message":{"content":"敏感 content_filter"},"finish_reason":"stop"}]}'
    evidence = make_answer(
        status=200, body=body, streamed=False, content_chars=20, finish_reason="stop"
    )
    assert name(evidence) == "ok.not_streamed"


def test_proxy_answers_for_a_local_host(make_answer: Make) -> None:
    evidence = make_answer(
        url="http://192.168.1.20:8000/v1/chat/completions",
        status=502,
        body="<html>Squid</html>",
        proxy="http://proxy:3128",
        proxy_from="http_proxy",
    )
    assert name(evidence) == "network.proxy_intercepts_local"
    api = make_answer(
        url="http://127.0.0.1:8000/v1/chat/completions",
        status=500,
        body='{"error":{"message":"x"}}',
        proxy="http://proxy:3128",
    )
    assert name(api) == "server.internal"


def test_403_filter_before_region_before_money_before_permission(make_answer: Make) -> None:
    parts = ["flagged by moderation", "Country, region, or territory not supported"]
    parts += ["insufficient balance", "no access"]
    expected = [
        "filter.prompt_blocked",
        "network.region_blocked",
        "rate_or_quota.quota",
        "auth.permission",
    ]
    for index, result in enumerate(expected):
        body = f'{{"error":{{"message":"{". ".join(parts[index:])}"}}}}'
        assert name(make_answer(status=403, body=body)) == result


def test_429_overload_before_money_before_rate(make_answer: Make) -> None:
    parts = ["the engine is overloaded", "insufficient balance", "slow down"]
    expected = ["server.overloaded", "rate_or_quota.quota", "rate_or_quota.rate_limit"]
    for index, result in enumerate(expected):
        body = f'{{"error":{{"message":"{". ".join(parts[index:])}"}}}}'
        assert name(make_answer(status=429, body=body)) == result


def test_unknown_statuses_fall_to_the_nearest_class(make_answer: Make) -> None:
    assert name(make_answer(status=451, body="gone")) == "parameter.invalid_request"
    assert name(make_answer(status=599, body="gone")) == "server.internal"
    assert name(make_answer(status=700, body="gone")) == "server.internal"


def test_unknown_exception_before_headers(make_answer: Make) -> None:
    evidence = make_answer(phase="headers", exceptions=chain(("WeirdError", "never seen")))
    assert classify(evidence).cls == "network"


# --- the stream itself ----------------------------------------------------------------------------

FINISHES = [
    ("stop", "ok.complete"),
    ("eos", "ok.complete"),
    ("end_turn", "ok.complete"),
    ("COMPLETE", "ok.complete"),
    ("tool_use", "ok.tool_calls"),
    ("TOOL_CALL", "ok.tool_calls"),
    ("length", "truncated.max_tokens"),
    ("MAX_TOKENS", "truncated.max_tokens"),
    ("pause_turn", "truncated.max_tokens"),
    ("model_context_window_exceeded", "truncated.context_full"),
    ("repetition", "truncated.repetition"),
    ("SAFETY", "filter.output_filtered"),
    ("RECITATION", "filter.output_filtered"),
    ("refusal", "filter.output_filtered"),
    ("content_filtered", "filter.output_filtered"),
    ("network_error", "server.interrupted"),
    ("ERROR", "server.interrupted"),
    ("time_limit", "server.interrupted"),
    ("abort", "server.aborted"),
    ("", "ok.no_finish_reason"),
    (None, "ok.no_finish_reason"),
    ("zzz", "ok.unknown_finish_reason"),
]


@pytest.mark.parametrize(("reason", "expected"), FINISHES)
def test_finish_reasons(make_stream: Make, reason: str | None, expected: str) -> None:
    assert name(make_stream(finish_reason=reason)) == expected


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({"finish_reason": None, "done_seen": False}, "truncated.no_terminator"),
        ({"finish_reason": "", "done_seen": False}, "truncated.no_terminator"),
        ({"done_seen": False}, "ok.complete"),
        ({"bad_events": 1}, "truncated.bad_chunk"),
        (
            {"bad_tail": True, "finish_reason": None, "done_seen": False},
            "truncated.no_terminator",
        ),
        ({"refusal": "I cannot help with that."}, "filter.model_refusal"),
        ({"tool_calls": 1, "content_chars": 0}, "ok.tool_calls"),
        ({"content_chars": 0, "reasoning_chars": 9}, "ok.reasoning_only"),
        ({"content_chars": 0}, "ok.empty_answer"),
        ({"cumulative": True}, "ok.cumulative_deltas"),
        ({"buffered": True}, "ok.buffered_transport"),
        ({"streamed": False}, "ok.not_streamed"),
        ({"streamed": False, "stream_asked": False}, "ok.complete"),
        ({"text_chunks": 1, "completion_tokens": 120}, "ok.single_chunk"),
        ({"text_chunks": 1, "completion_tokens": 3}, "ok.complete"),
        ({"text_chunks": 1, "completion_tokens": 90, "reasoning_tokens": 89}, "ok.complete"),
        (
            {"completion_tokens": 1000, "content_chars": 90, "content_tail": "that stops in the"},
            "ok.suspect_cap",
        ),
        ({"completion_tokens": 1000, "content_tail": "It ends here."}, "ok.complete"),
        ({"completion_tokens": 1001, "content_tail": "stops in the"}, "ok.complete"),
        (
            {"finish_reason": "length", "content_chars": 0, "reasoning_chars": 50},
            "truncated.reasoning_exhausted",
        ),
        (
            {"finish_reason": "length", "content_chars": 0, "reasoning_tokens": 512},
            "truncated.reasoning_exhausted",
        ),
        ({"finish_reason": "length", "content_chars": 0}, "truncated.max_tokens"),
        (
            {"finish_reason": "length", "prompt_tokens": 4000, "completion_tokens": 96},
            "truncated.context_full",
        ),
        (
            {
                "finish_reason": "length",
                "prompt_tokens": 200,
                "completion_tokens": 100,
                "context_length": 300,
            },
            "truncated.context_full",
        ),
        (
            {"finish_reason": "length", "prompt_tokens": 512, "completion_tokens": 512},
            "truncated.max_tokens",
        ),
    ],
)
def test_streams(make_stream: Make, fields: dict[str, Any], expected: str) -> None:
    assert name(make_stream(**fields)) == expected


def test_stopped_by_the_user_is_never_a_failure(make_answer: Make) -> None:
    evidence = make_answer(stopped=True, exceptions=chain(("httpx2.ReadError", "")))
    assert not classify(evidence).is_failure


def test_outcomes_are_no_failures(make_stream: Make) -> None:
    assert not classify(make_stream(finish_reason="length")).is_failure
    assert classify(make_stream(finish_reason=None, done_seen=False)).is_failure


def test_something_else_than_the_api_answered_a_question(make_answer: Make) -> None:
    text = "GET http://a/models answered with something that is no model list"
    evidence = make_answer(phase="connect", method="GET", exceptions=chain(("ValueError", text)))
    assert name(evidence) == "parameter.base_url_path"


def test_proxy_login_is_seen_in_the_exceptions_name(make_answer: Make) -> None:
    links = chain(WRAPPER, ("ProxyError", "407, message='Auth'"))
    assert name(make_answer(phase="connect", exceptions=links)) == "network.proxy_auth"
