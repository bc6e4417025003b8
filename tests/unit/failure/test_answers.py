"""Every answer of the fixtures gets the class and subcode the taxonomy gives it."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from kvtui.failure import Evidence, classify

FOLDER = Path(__file__).parents[2] / "fixtures" / "failure"
ANSWERS = [
    row
    for name in ("answers.toml", "providers.toml")
    for row in tomllib.loads((FOLDER / name).read_text(encoding="utf-8"))["answer"]
]


def evidence_of(row: dict[str, Any], make_answer: Callable[..., Evidence]) -> Evidence:
    fields: dict[str, Any] = {"status": row.get("status", 200), "headers": row.get("headers", {})}
    if "url" in row:
        fields["url"] = row["url"]
    if row.get("sse"):
        fields |= {
            "sse_error": json.loads(row["body"]),
            "data_events": 1,
            "content_chars": row.get("content_chars", 0),
            "finish_reason": row.get("finish_reason"),
        }
    else:
        fields |= {"body": row.get("body"), "streamed": False}
    return make_answer(**fields)


@pytest.mark.parametrize("row", ANSWERS, ids=[row["name"] for row in ANSWERS])
def test_answer_is_read_as_the_taxonomy_says(
    row: dict[str, Any], make_answer: Callable[..., Evidence]
) -> None:
    verdict = classify(evidence_of(row, make_answer))

    assert f"{verdict.cls}.{verdict.subcode}" == row["expect"]
    assert verdict.is_failure
    assert verdict.message
    assert verdict.fixes
    assert "{" not in verdict.message.replace("{'", "")
    if "retryable" in row:
        assert verdict.retryable is row["retryable"]
    if "retry_after" in row:
        assert verdict.retry_after_s == pytest.approx(row["retry_after"])
