"""Whatever the evidence holds: a known class, the same each time, and fast."""

from __future__ import annotations

import json
import time
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from kvtui.failure import Evidence, ExceptionFact, KeyFacts, classify
from kvtui.failure.taxonomy import TAXONOMY

NAMES = (
    "error message detail code type param status choices base_resp status_code status_msg errors "
    "object innererror metadata reasons details retry_after promptFeedback blockReason response "
    "contentFilter raw msg loc success title n_ctx n_prompt_tokens"
)
KEYS = st.sampled_from(NAMES.split())
LEAVES = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=40)
    | st.sampled_from(["error", "401", "insufficient_quota", "model_not_found", "敏感", "length"])
)
JSON = st.recursive(
    LEAVES,
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(KEYS | st.text(max_size=8), inner, max_size=6)
    ),
    max_leaves=20,
)
BODIES = st.none() | st.text(max_size=300) | JSON.map(json.dumps)
NUMBERS = st.none() | st.integers(min_value=-5, max_value=10**9)
FACTS = st.builds(
    ExceptionFact,
    st.sampled_from(["openai.APIConnectionError", "httpx2.ReadError", "TimeoutError", "Odd", ""]),
    st.text(max_size=60) | st.sampled_from(["[SSL: X]", "Connection refused", "407 proxy"]),
)
EVIDENCE = st.builds(
    Evidence,
    phase=st.sampled_from(["settings", "connect", "send", "headers", "stream", "done"]),
    url=st.text(max_size=60) | st.just("http://127.0.0.1:8000/v1/chat/completions"),
    host=st.text(max_size=20),
    model=st.text(max_size=20),
    key=st.builds(
        KeyFacts,
        origin=st.none() | st.text(max_size=10),
        problem=st.none() | st.text(max_size=10),
        kind=st.sampled_from([None, "placeholder", "oauth", "?"]),
    ),
    proxy=st.none() | st.text(max_size=30),
    proxy_from=st.none() | st.text(max_size=10),
    status=st.none() | st.integers(min_value=-1, max_value=1000),
    headers=st.dictionaries(
        st.sampled_from(["content-type", "retry-after", "server", "location", "date"]),
        st.text(max_size=40) | st.just("text/html"),
    ),
    body=BODIES,
    sse_error=st.none() | JSON,
    exceptions=st.lists(FACTS, max_size=4).map(tuple),
    waiting_for=st.sampled_from([None, "connect", "headers", "first_token", "data", "end"]),
    waited_s=st.none() | st.floats(min_value=0, max_value=1e6),
    finish_reason=st.none() | st.text(max_size=12) | st.sampled_from(["stop", "length", "error"]),
    done_seen=st.booleans(),
    streamed=st.booleans(),
    data_events=st.integers(min_value=0, max_value=9),
    bad_events=st.integers(min_value=0, max_value=3),
    content_chars=st.integers(min_value=0, max_value=99),
    reasoning_chars=st.integers(min_value=0, max_value=99),
    refusal=st.text(max_size=10),
    completion_tokens=NUMBERS,
    prompt_tokens=NUMBERS,
    reasoning_tokens=NUMBERS,
    max_tokens=NUMBERS,
    stopped=st.booleans(),
    base_url=st.text(max_size=40),
    base_url_answers=st.none() | st.text(max_size=20),
    models_offered=st.lists(st.text(max_size=10), max_size=3).map(tuple),
    text_chunks=st.integers(min_value=0, max_value=9),
    content_tail=st.text(max_size=20),
)


@settings(max_examples=400, deadline=None)
@given(EVIDENCE)
def test_any_evidence_gets_one_known_verdict(evidence: Evidence) -> None:
    verdict = classify(evidence)
    assert verdict.subcode in TAXONOMY[verdict.cls]
    assert verdict.message
    assert not verdict.is_failure or verdict.fixes
    assert verdict.retry_after_s is None or verdict.retry_after_s >= 0
    assert classify(evidence) == verdict
    if evidence.stopped:
        assert not verdict.is_failure


def _quickest(evidence: Evidence) -> float:
    times = []
    for _ in range(7):
        begun = time.thread_time()
        classify(evidence)
        times.append(time.thread_time() - begun)
    return min(times)


def _nested(depth: int) -> Any:
    return "[" * depth + "]" * depth


def test_it_is_fast_on_ordinary_and_on_hostile_answers() -> None:
    key = KeyFacts(origin="A", length=20)
    bodies = [
        '{"error":{"message":"Rate limit reached, try again in 20s","code":"rate_limit"}}',
        "<html>" + "<div>text</div>" * 4_000,
        json.dumps({"error": {"message": "word " * 12_000}}),
        "plain words " * 5_000,
        _nested(20_000),
    ]
    for body, limit in zip(bodies, (0.002, 0.03, 0.03, 0.03, 0.03), strict=True):
        assert _quickest(Evidence(status=400, body=body[:65_536], key=key)) < limit


def test_deep_and_cyclic_values_do_no_harm() -> None:
    deep: Any = "x"
    for _ in range(2_000):
        deep = {"error": deep}
    cyclic: dict[str, Any] = {"message": "round"}
    cyclic["error"] = cyclic
    for value in (deep, cyclic, [[]], {}, "", 0, object()):
        assert classify(Evidence(status=200, sse_error=value)).subcode
