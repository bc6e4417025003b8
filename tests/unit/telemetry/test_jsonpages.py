"""JSON pages → figures, worked out by hand from the fixtures."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from kvtui.telemetry import jsonpages
from kvtui.telemetry.status import ServerStatus

URL = "http://box:8080/slots"
Page = Callable[[str], str]


def test_slots_tell_the_kv_of_llamacpp(page: Page) -> None:
    status = jsonpages.read_slots(page("llamacpp_slots.json").encode(), URL)
    assert status is not None
    # Only slot 0 is busy: 1024 tokens of two slots of 4096.
    assert (status.kv_tokens_used, status.kv_tokens_total) == (1024, 8192)
    assert (status.kv_usage, status.running, status.context) == (0.125, 1, 4096)


def test_tokens_grow_during_a_request_though_the_counter_waits_for_its_end(
    page: Page, read: Callable[[str], ServerStatus]
) -> None:
    slots = jsonpages.read_slots(page("llamacpp_slots.json").encode(), URL)
    assert slots is not None
    both = jsonpages.beside_metrics(read("llamacpp.prom"), slots)
    assert both.generation_tokens == 600 + 40
    assert both.kv_tokens_used == 1024
    assert both.urls == ("http://box:8000/metrics", URL)
    alone = jsonpages.beside_metrics(None, slots)
    assert alone.generation_tokens is None, "the tokens of busy slots are no count of all"


def test_props_name_the_model(page: Page) -> None:
    status = jsonpages.read_props(page("llamacpp_props.json").encode(), URL)
    assert status is not None
    assert status.models == ("small-8b",)
    unnamed = jsonpages.read_props(b'{"total_slots":1,"model_path":"/m/q.gguf"}', URL)
    assert unnamed is not None
    assert unnamed.models == ("q.gguf",)


def test_sglang_loads(page: Page) -> None:
    status = jsonpages.read_loads(page("sglang_loads.json").encode(), URL)
    assert status is not None
    assert (status.running, status.waiting) == (4, 2)
    assert (status.kv_usage, status.kv_tokens_used, status.kv_tokens_total) == (0.4, 5000, 20_000)
    assert (status.generation_tps, status.prefix_hit_share) == (120.5, 0.75)


def test_ollama_tells_the_share_on_the_card(page: Page) -> None:
    status = jsonpages.read_ollama(page("ollama_ps.json").encode(), URL)
    assert status is not None
    assert (status.kind, status.models, status.context) == ("ollama", ("qwen3:8b",), 8192)
    assert "75% of its 6.00 GiB" in status.notes[0]
    empty = jsonpages.read_ollama(b'{"models":[]}', URL)
    assert empty is not None
    assert "No model is loaded" in empty.notes[0]


def test_lmstudio_tells_the_context_of_what_is_loaded(page: Page) -> None:
    status = jsonpages.read_lmstudio(page("lmstudio_models.json").encode(), URL)
    assert status is not None
    assert (status.kind, status.models, status.context) == ("lmstudio", ("qwen3-8b",), 8192)


@pytest.mark.parametrize(
    ("body", "kind", "context"),
    [
        (b'{"data":[{"id":"m","owned_by":"vllm","max_model_len":2048}]}', "vllm", 2048),
        (b'{"data":[{"id":"m","owned_by":"llamacpp","meta":{"n_ctx":512}}]}', "llamacpp", 512),
        (b'{"data":[{"id":"m","owned_by":"library"}]}', "ollama", None),
        (b'{"data":[{"id":"m","owned_by":"openai"}]}', "unknown", None),
        (
            b'{"data":[{"id":"a","owned_by":"vllm"},{"id":"b","owned_by":"openai"}]}',
            "unknown",
            None,
        ),
        (b'{"data":[{"id":"m","owned_by":{"x":1},"max_model_len":true}]}', "unknown", None),
    ],
)
def test_the_list_of_models_often_names_the_server(
    body: bytes, kind: str, context: int | None
) -> None:
    status = jsonpages.read_models(body, URL)
    assert status is not None
    assert (status.kind, status.context) == (kind, context)


@pytest.mark.parametrize("reader", [*jsonpages.READERS.values(), jsonpages.read_models])
@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"[]",
        b"{}",
        b"null",
        b"\xff\xfe",
        b"<html>",
        b"[" * 100_000,
        b'{"error":"Unexpected endpoint or method. (GET /slots)"}',
        b'{"models":"x","loads":3,"data":{}}',
    ],
)
def test_other_bodies_are_no_such_page(
    reader: Callable[[bytes, str], ServerStatus | None], body: bytes
) -> None:
    assert reader(body, URL) is None


def test_error_text(page: Page) -> None:
    assert "--metrics" in jsonpages.error_text(page("llamacpp_no_metrics.json").encode())
    assert jsonpages.error_text(b'{"error":"no"}') == "no"
    assert jsonpages.error_text(b"[1]") == ""
