from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kvtui.failure.errorobject import NO_ERROR, find_error
from kvtui.failure.retry import duration_s, retry_after

DATE = "Sun, 29 Nov 2026 19:00:00 GMT"


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"retry-after": "1"}, 1.0),
        ({"retry-after": "0"}, 0.0),
        ({"retry-after": "600"}, 600.0),
        ({"retry-after": "2.5"}, 2.5),
        ({"retry-after": "1s"}, 1.0),
        ({"retry-after-ms": "250", "retry-after": "1"}, 0.25),
        ({"retry-after": "Sun, 29 Nov 2026 19:02:00 GMT", "date": DATE}, 120.0),
        ({"retry-after": "Sun, 29 Nov 2026 18:00:00 GMT", "date": DATE}, 0.0),
        ({"retry-after": "Sun, 29 Nov 2026 19:02:00 GMT"}, None),
        ({"retry-after": "soon"}, None),
        ({"retry-after": "-5"}, None),
        ({"retry-after": "1796000000"}, None),
        ({"x-ratelimit-remaining-tokens": "0", "x-ratelimit-reset-tokens": "6m0s"}, 360.0),
        ({"x-ratelimit-remaining-tokens": "5", "x-ratelimit-reset-tokens": "6m0s"}, None),
    ],
)
def test_headers(headers: dict[str, str], seconds: float | None) -> None:
    assert retry_after(headers, NO_ERROR) == seconds


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("Please try again in 20s.", 20.0),
        ("Please try again in 1.242s. Visit", 1.242),
        ("try again in 6m0s", 360.0),
        ("try again in 20ms", 0.02),
        ("Please retry after 6 seconds.", 6.0),
        ("Try again in 2 minutes 30 seconds", 150.0),
        ("try again in 1 hour", 3600.0),
        ("Please retry in 35.1s.", 35.1),
        ("try again in 60 seconds. Passed model=x", 60.0),
        ("请在 5 秒后重试", 5.0),
        ("Please try again later.", None),
        ("limit 30000, used 29000", None),
    ],
)
def test_text(text: str, seconds: float | None) -> None:
    error = find_error(None, {"error": {"message": text}}, 429)
    found = retry_after({}, error)
    assert found == (None if seconds is None else pytest.approx(seconds))


@given(st.text(max_size=80))
def test_duration_never_raises(text: str) -> None:
    seconds = duration_s(text)
    assert seconds is None or seconds >= 0
