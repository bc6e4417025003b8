"""Which proxy is in effect, and which variable says so."""

from __future__ import annotations

from contextlib import suppress
from urllib.parse import urlsplit

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kvtui.proxy import (
    Proxy,
    ProxySettingError,
    is_local,
    login_header,
    proxy_arguments,
    proxy_for,
    proxy_unused,
)

FAR = "https://api.example.test/v1"
BY_HTTPS = Proxy("http://p:1", "HTTPS_PROXY")
BY_HTTP = Proxy("http://p:1", "HTTP_PROXY")
BY_ALL = Proxy("http://p:1", "ALL_PROXY")


@pytest.mark.parametrize(
    ("host", "local"),
    [
        ("127.0.0.1", True),
        ("localhost", True),
        ("[::1]", True),
        ("10.1.2.3", True),
        ("192.168.1.5", True),
        ("fe80::1%eth0", True),
        ("gpu-box", True),
        ("gpu.local", True),
        ("8.8.8.8", False),
        ("api.openai.com", False),
        ("100.101.2.3", True),  # a VPN's own network
        ("::ffff:127.0.0.1", True),
        ("fd12::1", True),
        ("[::]", True),
        ("2606:4700::1111", False),
        ("::ffff:8.8.8.8", False),
        ("", False),
    ],
)
def test_local_hosts(host: str, local: bool) -> None:
    assert is_local(host) is local


@pytest.mark.parametrize(
    ("url", "environ", "expected"),
    [
        (FAR, {}, None),
        (FAR, {"HTTPS_PROXY": "http://p:8080"}, Proxy("http://p:8080", "HTTPS_PROXY")),
        (FAR, {"https_proxy": "p:1", "HTTPS_PROXY": "q:2"}, Proxy("http://p:1", "https_proxy")),
        (FAR, {"HTTP_PROXY": "http://p:8080"}, None),
        (FAR, {"ALL_PROXY": "http://p:1", "HTTP_PROXY": "http://q:2"}, BY_ALL),
        ("http://api.example.test", {"HTTP_PROXY": "http://p:1"}, BY_HTTP),
        ("http://x.test", {"HTTP_PROXY": "http://p:1", "REQUEST_METHOD": "GET"}, None),
        (FAR, {"HTTPS_PROXY": "http://p:1", "NO_PROXY": "*"}, None),
        (FAR, {"HTTPS_PROXY": "http://p:1", "NO_PROXY": "foo, example.test"}, None),
        (FAR, {"HTTPS_PROXY": "http://p:1", "NO_PROXY": ".example.test"}, None),
        ("https://x.test:8443", {"HTTPS_PROXY": "http://p:1", "NO_PROXY": "x.test:443"}, BY_HTTPS),
        ("https://x.test:443", {"HTTPS_PROXY": "http://p:1", "NO_PROXY": "x.test:443"}, None),
        (FAR, {"HTTPS_PROXY": "http://p:1", "NO_PROXY": "ample.test"}, BY_HTTPS),
        ("https://8.8.8.8/v1", {"HTTPS_PROXY": "http://p:1", "NO_PROXY": "8.8.0.0/16"}, None),
        ("https://127.0.0.1/v1", {"ALL_PROXY": "socks5://p:1"}, None),
        ("http://x.test", {"http_proxy": "", "HTTP_PROXY": "http://p:1"}, None),
        (FAR, {"ALL_PROXY": "socks5://q:1", "HTTPS_PROXY": "http://p:1"}, BY_HTTPS),
        (
            FAR,
            {"HTTPS_PROXY": "http://me:s%3Acret@p:8080/"},
            Proxy("http://p:8080", "HTTPS_PROXY", ("me", "s:cret")),
        ),
    ],
)  # fmt: skip
def test_the_proxy_in_effect(url: str, environ: dict[str, str], expected: Proxy | None) -> None:
    assert proxy_for(url, environ) == expected


@pytest.mark.parametrize(
    ("host", "rules", "left_out"),
    [
        ("api.x.test", "x.test", True),
        ("api.x.test", ".x.test", True),
        ("x.test", ".x.test", True),  # as curl has it since 7.86
        ("api.x.test", "*.x.test", True),
        ("api.x.test", "*x.test", True),
        ("api.x.test", "API.X.TEST", True),
        ("api.x.test", "foo x.test", True),  # curl parts them by spaces too
        ("api.x.test", "foo,, x.test ,", True),
        ("api.x.test.", "x.test", True),
        ("api.x.test", "x.test.", True),
        ("api.x.test", "http://x.test/", True),
        ("ax.test", "x.test", False),
        ("x.test", "api.x.test", False),
        ("api.x.test", "test", True),
        ("api.x.test", "", False),
        ("api.x.test", ".", False),
        ("api.x.test", "*.", False),
        ("api.x.test", "x.*", False),
        ("api.x.test", "*", True),
        ("api.x.test", "x.test:443", True),  # the port that https has
        ("api.x.test", "x.test:8443", False),
        ("api.x.test:8443", "x.test:8443", True),
        ("8.8.8.8", "8.8.8.8", True),
        ("8.8.8.8", "8.8.8.8:443", True),
        ("8.8.8.8", "8.8.8.0/24", True),
        ("8.8.8.8", "8.8.9.0/24", False),
        ("8.8.8.8", "8.8.8.8/99", False),
        ("8.8.8.8", ".8", False),
        ("[2606:4700::1111]", "2606:4700::1111", True),
        ("[2606:4700::1111]", "[2606:4700::1111]", True),
        ("[2606:4700::1111]", "[2606:4700::1111]:443", True),
        ("[2606:4700::1111]", "[2606:4700::1111]:80", False),
        ("[2606:4700:0::0:1111]", "2606:4700::1111", True),
        ("[2606:4700::1111]", "2606:4700::/32", True),
        ("[2606:4700::1111]", "::1", False),
        ("[2606:4700::1111]", "8.8.8.0/24", False),
    ],
)
def test_what_no_proxy_leaves_out(host: str, rules: str, left_out: bool) -> None:
    environ = {"HTTPS_PROXY": "http://p:1", "NO_PROXY": rules}
    assert (proxy_for(f"https://{host}/v1", environ) is None) is left_out


@given(host=st.text("ab.:[]1%", min_size=1, max_size=9), rules=st.text("ab.,:*[]/1 %", max_size=30))
def test_no_rule_raises(host: str, rules: str) -> None:
    with suppress(ValueError):  # the URL itself may be none
        urlsplit(f"https://{host}/v1").port  # noqa: B018
        proxy_for(f"https://{host}/v1", {"HTTPS_PROXY": "http://p:1", "NO_PROXY": rules})


@pytest.mark.parametrize(
    ("value", "words"),
    [
        ("socks5://127.0.0.1:1080", "SOCKS proxy"),
        ("socks5h://me:hidden@127.0.0.1:1080", "SOCKS proxy"),
        ("socks4a://127.0.0.1:1080", "SOCKS proxy"),
        ("SOCKS://127.0.0.1:1080", "SOCKS proxy"),
        ("htp://127.0.0.1:1080", "Unknown scheme"),
        ("http://host:port", "Invalid proxy URL"),
        ("http://", "Invalid proxy URL"),
    ],
)
def test_a_proxy_that_cannot_be_used(value: str, words: str) -> None:
    with pytest.raises(ProxySettingError, match=words) as caught:
        proxy_for(FAR, {"ALL_PROXY": value})
    assert "ALL_PROXY" in str(caught.value)
    assert caught.value.proxy.variable == "ALL_PROXY"
    assert "hidden" not in f"{caught.value} {caught.value.proxy.url}"


def test_credentials_go_into_a_header_and_nowhere_else() -> None:
    proxy = proxy_for(FAR, {"HTTPS_PROXY": "http://me:secret@p:8080"})
    arguments = proxy_arguments(proxy)
    assert arguments["proxy"] == "http://p:8080"
    assert arguments["proxy_headers"] == {"Proxy-Authorization": "Basic bWU6c2VjcmV0"}
    assert login_header(proxy, FAR) == {}  # the host's own, behind the tunnel
    assert login_header(proxy, "http://api.example.com") == arguments["proxy_headers"]
    assert proxy_arguments(None) == login_header(None, "http://x.test") == {}


def test_the_variable_of_a_proxy_that_is_left_out_for_a_local_host() -> None:
    environ = {"HTTP_PROXY": "http://p:1", "ALL_PROXY": "socks5://p:1"}
    assert proxy_unused("http://192.168.1.5:8000/v1", environ) == "HTTP_PROXY"
    assert proxy_unused("https://192.168.1.5/v1", environ) == "ALL_PROXY"
    assert proxy_unused("http://localhost/v1", {}) is None
    assert proxy_unused(FAR, environ) is None
