from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from kvtui.failure import Evidence, KeyFacts

URL = "https://api.example.com/v1/chat/completions"


def answer(**fields: Any) -> Evidence:
    """A request to an unknown remote host with a key that looks right."""
    defaults: dict[str, Any] = {
        "url": URL,
        "base_url": URL.removesuffix("/chat/completions"),
        "host": "api.example.com",
        "model": "qwen3",
        "key": KeyFacts(origin="EXAMPLE_API_KEY", length=51),
        "max_tokens": 512,
    }
    return Evidence(**{**defaults, **fields})


def stream(**fields: Any) -> Evidence:
    """A good stream of three chunks that ended as it should."""
    defaults: dict[str, Any] = {
        "status": 200,
        "headers": {"content-type": "text/event-stream"},
        "finish_reason": "stop",
        "done_seen": True,
        "data_events": 5,
        "text_chunks": 3,
        "content_chars": 30,
        "content_tail": "Paris is the capital.",
        "completion_tokens": 8,
        "prompt_tokens": 5,
    }
    return answer(**{**defaults, **fields})


@pytest.fixture
def make_answer() -> Callable[..., Evidence]:
    return answer


@pytest.fixture
def make_stream() -> Callable[..., Evidence]:
    return stream
