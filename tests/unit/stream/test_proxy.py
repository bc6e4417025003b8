"""Which proxy is in effect, and which variable says so."""

from __future__ import annotations

import pytest

from kvtui.stream.proxy import Proxy, ProxySettingError, is_local, proxy_arguments, proxy_for

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
    ("value", "words"),
    [
        ("socks5://127.0.0.1:1080", "socksio"),
        ("socks4://127.0.0.1:1080", "Unknown scheme"),
        ("http://host:port", "Invalid proxy URL"),
        ("http://", "Invalid proxy URL"),
    ],
)
def test_a_proxy_that_cannot_be_used(value: str, words: str) -> None:
    with pytest.raises(ProxySettingError, match=words) as caught:
        proxy_for(FAR, {"ALL_PROXY": value})
    assert "ALL_PROXY" in str(caught.value)


def test_credentials_go_into_a_header_and_nowhere_else() -> None:
    proxy = proxy_for(FAR, {"HTTPS_PROXY": "http://me:secret@p:8080"})
    arguments = proxy_arguments(proxy)
    assert arguments["proxy"] == "http://p:8080"
    assert arguments["proxy_headers"] == {"Proxy-Authorization": "Basic bWU6c2VjcmV0"}
    assert proxy_arguments(None) == {}
