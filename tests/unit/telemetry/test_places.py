"""Base URL → where pages may stand, and whose host it is."""

from __future__ import annotations

import pytest

from kvtui.telemetry.places import is_local, is_loopback, roots, without_userinfo


@pytest.mark.parametrize(
    ("base_url", "expected"),
    [
        ("http://h:8000/v1", ("http://h:8000",)),
        ("http://h:8000/v1/", ("http://h:8000",)),
        ("http://h:8000", ("http://h:8000",)),
        ("https://h/api/v1", ("https://h/api", "https://h")),
        ("https://h/api", ("https://h/api",)),
        ("https://h/team/llm/v1", ("https://h/team/llm",)),
        ("https://h/v1/v1", ("https://h/v1",)),
        ("http://[::1]:8000/v1?x=1#y", ("http://[::1]:8000",)),
        ("http://u:p@h/v1", ("http://u:p@h",)),
    ],
)
def test_roots(base_url: str, expected: tuple[str, ...]) -> None:
    assert roots(base_url) == expected


@pytest.mark.parametrize(
    "url", ["", "h:8000/v1", "ftp://h/v1", "http:///v1", "http://h:no/v1", "http://[::1"]
)
def test_no_url(url: str) -> None:
    with pytest.raises(ValueError, match="base URL"):
        roots(url)


@pytest.mark.parametrize(
    ("host", "local", "loopback"),
    [
        ("localhost", True, True),
        ("127.0.0.2", True, True),
        ("[::1]", True, True),
        ("10.1.2.3", True, False),
        ("gpu-box", True, False),
        ("gpu.local", True, False),
        ("api.openai.com", False, False),
        ("8.8.8.8", False, False),
        ("127.0.0.1.example.com", False, False),
    ],
)
def test_whose_host(host: str, local: bool, loopback: bool) -> None:
    url = f"http://{host}:1234/v1"
    assert (is_local(url), is_loopback(url)) == (local, loopback)


def test_user_names_are_not_shown() -> None:
    assert without_userinfo("http://u:p@h:1/v1?key=x") == "http://h:1/v1"
