"""What cannot be sent, and answers that break off, lie or never end: each named for what it is."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from kvtui.bench.options import RunOptions
from kvtui.bench.session import Session
from kvtui.config import Endpoint, Settings, config_path
from kvtui.stream.request import Request

KEY = "sk-fixture-0123456789abcdefghij"
NOWHERE = "http://127.0.0.1:1/v1"


@pytest.fixture(scope="module")
def session() -> Iterator[Session]:
    with Session(RunOptions(base_url=NOWHERE, model="m", settings=Settings(config_path()))) as s:
        yield s


# --- what cannot be sent --------------------------------------------------------------------------


@pytest.mark.parametrize("key", [None, KEY])
@pytest.mark.parametrize(
    ("more", "named"),
    [
        ({"extra_body": {"a": {"b": [1.0, float("nan")]}}}, "a.b[1] is NaN"),
        ({"messages": ({"role": "user", "content": "a", "w": float("inf")},)}, "messages[0].w is"),
        ({"prompt": "h\ud800i"}, "the prompt has half a surrogate pair (U+D800) at character 2"),
        ({"system": "\udfff"}, "the system text has half"),
        ({"extra_body": {"x": ["\udc00"]}}, "x[0] has half"),
        ({"extra_body": {"x\udc00": 1}}, "the body has a name"),
        ({"extra_headers": {"X-A": "a中"}}, "the value of the header X-A holds"),
        ({"extra_headers": {"X-A": "a\nb"}}, "character 2 is a control character"),
        ({"extra_headers": {"X-中": "a"}}, "the name of the header X-\\u4e2d holds"),
        ({"extra_body": {"x": {1, 2}}}, "not JSON serializable"),
    ],
)
def test_a_request_that_cannot_be_sent_names_the_part(
    session: Session, key: str | None, more: dict[str, Any], named: str
) -> None:
    endpoint = Endpoint(NOWHERE, "test", api_key=key, key_from=key and "TEST_KEY")
    request = Request(endpoint, "m", **({"prompt": "Hi"} | more))

    figures = session.start(request, keep_pieces=False).result(20)

    verdict = figures.verdict
    assert (verdict.cls, verdict.subcode) == ("parameter", "invalid_request")
    assert verdict.message.startswith("The request cannot be sent: ")
    assert named in verdict.message
    assert verdict.fixes
    assert figures.evidence.phase == "settings"


@pytest.mark.parametrize("key", [None, KEY])
def test_a_base_url_with_a_login(session: Session, key: str | None) -> None:
    endpoint = Endpoint("http://bob:hunter22@127.0.0.1:1/v1", "test", key, key and "TEST_KEY")
    figures = session.start(Request(endpoint, "m", "Hi"), keep_pieces=False).result(20)
    assert (figures.verdict.cls, figures.verdict.subcode) == ("parameter", "base_url_invalid")
    assert "carries a login" in figures.verdict.message
    assert figures.verdict.fixes[0] == f"Write {NOWHERE}"
    assert "hunter22" not in repr(figures)


def test_a_key_that_no_header_carries_is_still_the_keys_fault(session: Session) -> None:
    endpoint = Endpoint(NOWHERE, "test", api_key="sk-\u4e2d" + KEY, key_from="TEST_KEY")
    figures = session.start(Request(endpoint, "m", "Hi"), keep_pieces=False).result(20)
    assert (figures.verdict.cls, figures.verdict.subcode) == ("auth", "key_malformed")
