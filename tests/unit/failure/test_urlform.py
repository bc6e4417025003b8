from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kvtui.failure.urlform import mended, path_candidates, url_problem


@pytest.mark.parametrize(
    "url",
    [
        "https://api.openai.com/v1",
        "http://127.0.0.1:8000/v1",
        "http://[::1]:8080/v1",
        "http://localhost",
        "HTTPS://EXAMPLE.com/api",
        "https://sk-hynix.example/v1",
        "http://sk-server:8000/v1",
        "https://h.example/openai?api-version=2024-10-21",
        "https://k1mz2x9ab3cd4ef5.us-east-1.endpoints.example/v1",
    ],
)
def test_good(url: str) -> None:
    assert url_problem(url) is None
    assert mended(url) is None


@pytest.mark.parametrize(
    ("url", "part", "meant"),
    [
        ("localhost:8000/v1", "no http://", "http://localhost:8000/v1"),
        ("127.0.0.1:8000/v1", "no http://", "http://127.0.0.1:8000/v1"),
        ("api.openai.com/v1", "no http://", "https://api.openai.com/v1"),
        ("https:/api.openai.com/v1", "no http://", "https://api.openai.com/v1"),
        ("http:localhost:8000", "no http://", "http://localhost:8000"),
        ("ftp://a/v1", "begins with ftp://", None),
        ("https://api.openai.com /v1", "space at character 23", "https://api.openai.com/v1"),
        ('"https://a/v1"', "in quotes", "https://a/v1"),
        ("htp://a.test/v1", "begins with htp://", "http://a.test/v1"),
        ("wss://a.test/v1", "begins with wss://", "https://a.test/v1"),
        ("http\uff1a//127.0.0.1/v1", "no http://", "http://127.0.0.1/v1"),
        ("http:\\\\127.0.0.1:8000\\v1", "no http://", "http://127.0.0.1:8000/v1"),
        ("\u201chttps://a.test/v1\u201d", "no http://", "https://a.test/v1"),
        ("http://a.test/v1\u200b", "at character 17", "http://a.test/v1"),
        ("https://<your-host>/v1", "placeholder", None),
        ("https://{host}/v1", "placeholder", None),
        ("http://a:99999/v1", "port", None),
        ("http://a:x/v1", "port", None),
        ("http:///v1", "names no host", None),
        ("http://a..b/v1", "cannot exist", None),
        ("", "is empty", None),
        ("https://h.example/v1?api_key=abc", "carries a key", "https://h.example/v1"),
        ("h.example/v1?x=1&token=abc", "carries a key", "https://h.example/v1"),
        ("https://h.example/v1?key=[redacted]", "carries a key", "https://h.example/v1"),
        ("sk-abcdef1234", "looks like a key", None),
        ("https://sk-4fQ91xZk27LmPq83/v1", "looks like a key", None),
        ("eyJhbGciOiJIUzI1NiJ9.eyJz.aa", "looks like a key", None),
    ],
)
def test_problem(url: str, part: str, meant: str | None) -> None:
    problem = url_problem(url)
    assert problem is not None
    assert part in problem
    assert mended(url) == meant


@pytest.mark.parametrize(
    ("url", "first"),
    [
        ("https://a/v1/chat/completions", "https://a/v1"),
        ("https://a/v1/v1", "https://a/v1"),
        ("https://a/api", "https://a/api/v1"),
        ("https://a", "https://a/v1"),
        ("https://taotoken.net/api", "https://taotoken.net/api/v1"),
        ("https://open.bigmodel.cn/v1", "https://open.bigmodel.cn/api/paas/v4"),
        ("https://dashscope.aliyuncs.com", "https://dashscope.aliyuncs.com/compatible-mode/v1"),
        ("https://api.groq.com/v1", "https://api.groq.com/openai/v1"),
    ],
)
def test_likeliest_candidate(url: str, first: str) -> None:
    candidates = path_candidates(url)
    assert candidates[0] == first
    assert url not in candidates
    assert len(set(candidates)) == len(candidates)


@given(st.text(max_size=60))
def test_never_raises(url: str) -> None:
    url_problem(url)
    path_candidates(url)
    meant = mended(url)
    assert meant is None or url_problem(meant) is None
