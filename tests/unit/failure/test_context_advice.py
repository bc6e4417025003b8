"""Advice on a context that is too small: a smaller answer only where that could help."""

from __future__ import annotations

import json

import pytest

from kvtui.failure import Evidence, classify


@pytest.mark.parametrize(
    ("message", "max_tokens", "first"),
    [
        (
            "This model's maximum context length is 2048 tokens. However, you requested 4563 "
            "tokens (4051 in the messages, 512 in the completion).",
            512,
            "Shorten",
        ),
        (
            "This model's maximum context length is 2048 tokens. However, you requested 2500 "
            "tokens (500 in the messages, 2000 in the completion).",
            2000,
            "Lower --max-tokens",
        ),
        (
            "maximum context length is 4096 tokens, requested 9,000 tokens for max_tokens",
            100,
            "Shorten",
        ),
        (
            "maximum context length is 4096 tokens, requested 9000 tokens for max_tokens",
            8000,
            "Lower",
        ),
    ],
)
def test_the_first_advice_can_help(message: str, max_tokens: int, first: str) -> None:
    body = {"error": {"message": message, "code": "context_length_exceeded"}}
    verdict = classify(
        Evidence(
            status=400,
            body=json.dumps(body),
            url="https://api.example.com/v1",
            max_tokens=max_tokens,
        )
    )
    assert (verdict.cls, verdict.subcode) == ("parameter", "context_length")
    assert verdict.fixes[0].startswith(first)
