"""Telling a path where no API is from an API that does not know the model."""

from __future__ import annotations

import pytest

from kvtui.stream.models import wrong_path


@pytest.mark.parametrize(
    ("status", "kind", "body", "wrong"),
    [
        (
            404,
            "application/json",
            '{"error":{"message":"Unknown path GET /models. Did you mean /v1/models?"}}',
            True,
        ),
        (404, "application/json", '{"detail":"Not Found"}', True),
        (404, "text/html", "<html><body>model not found</body></html>", True),
        (405, "text/plain", "Method Not Allowed", True),
        (200, "text/html", "<!doctype html>", True),
        (404, "application/json", '{"error":{"message":"The model `x` does not exist"}}', False),
        (404, "application/json", '{"error":{"code":"model_not_found"}}', False),
        (404, "application/json", '{"error":{"message":"Deployment not found"}}', False),
        (401, "application/json", '{"error":"Unauthorized"}', False),
        (200, "application/json", '{"data":[]}', False),
    ],
)
def test_wrong_path(status: int, kind: str, body: str, wrong: bool) -> None:
    assert wrong_path(status, kind, body) is wrong
