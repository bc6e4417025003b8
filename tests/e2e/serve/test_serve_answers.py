"""What `kvtui serve` answers."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from serving import CHAT, USER, call, chat, connect, idle

from kvtui.engine.child import EngineChild


def test_the_child_says_what_it_runs(child: EngineChild, model: Path) -> None:
    assert child.alive
    assert child.model_id == "random"
    assert child.geometry.layers == 4
    assert child.geometry.kv_heads == 2
    assert child.geometry.context == 512
    assert child.geometry.kv_bytes_per_token == 2 * 4 * 2 * 8 * 4


def test_a_whole_answer(child: EngineChild) -> None:
    answer = chat(child, ignore_eos=True)
    body = answer.json
    assert answer.status == 200
    assert body["object"] == "chat.completion"
    assert body["choices"][0]["message"]["role"] == "assistant"
    assert body["choices"][0]["finish_reason"] == "length"
    prompt = call(child, "/tokenize", {"messages": USER}).json["count"]
    assert body["usage"]["prompt_tokens"] == prompt
    assert body["usage"]["completion_tokens"] == 5
    assert body["usage"]["total_tokens"] == prompt + 5
    assert float(answer.headers["openai-processing-ms"]) >= 0


def test_a_stream_has_one_event_per_token(child: EngineChild) -> None:
    fields = {"max_tokens": 30, "ignore_eos": True, "seed": 3}
    options = {"include_usage": True}
    events = chat(child, stream=True, stream_options=options, **fields).events
    first, *pieces, usage = events
    assert first["choices"][0]["delta"] == {"role": "assistant", "content": ""}
    assert len(pieces) == 30
    assert [p["choices"][0]["finish_reason"] for p in pieces] == [None] * 29 + ["length"]
    assert all(p["usage"] is None for p in [first, *pieces])
    assert usage["choices"] == []
    assert usage["usage"]["completion_tokens"] == 30
    whole = chat(child, **fields).json
    text = "".join(p["choices"][0]["delta"]["content"] for p in pieces)
    assert text == whole["choices"][0]["message"]["content"]
    assert usage["usage"] == whole["usage"]
    assert len({event["id"] for event in events}) == 1


def test_usage_can_ride_on_every_event(child: EngineChild) -> None:
    options = {"include_usage": True, "continuous_usage_stats": True}
    events = chat(child, stream=True, stream_options=options, ignore_eos=True).events
    counts = [event["usage"]["completion_tokens"] for event in events]
    assert counts == [0, 1, 2, 3, 4, 5, 5]


def test_without_options_a_stream_has_no_usage(child: EngineChild) -> None:
    assert all("usage" not in event for event in chat(child, stream=True).events)


def test_the_end_of_the_model_is_a_stop(child: EngineChild) -> None:
    """Every token but the ends is ruled out by asking a prompt whose greedy answer ends."""
    for seed in range(60):
        body = chat(child, max_tokens=400, seed=seed, temperature=2, top_p=1).json
        if body["choices"][0]["finish_reason"] == "stop":
            assert body["usage"]["completion_tokens"] < 400
            return
    pytest.fail("no answer ended by itself")


def test_stop_texts_seed_and_temperature(child: EngineChild) -> None:
    fields = {"max_tokens": 40, "ignore_eos": True, "temperature": 0}
    text = chat(child, **fields).json["choices"][0]["message"]["content"]
    stop = next(char for char in text[3:] if char.isprintable() and char != "\ufffd")
    cut = chat(child, stop=[stop], **fields).json["choices"][0]
    assert cut["message"]["content"] == text[: text.index(stop)]
    assert cut["finish_reason"] == "stop"
    streamed = chat(child, stop=stop, stream=True, **fields).events[1:]
    joined = "".join(event["choices"][0]["delta"]["content"] for event in streamed)
    assert joined == cut["message"]["content"]


def test_a_seed_repeats_an_answer(child: EngineChild) -> None:
    warm = {"max_tokens": 20, "temperature": 2, "top_p": 1, "ignore_eos": True}

    def text(seed: int | None) -> str:
        return chat(child, seed=seed, **warm).json["choices"][0]["message"]["content"]

    assert text(9) == text(9)
    assert text(None) != text(None)


def test_cache_off_gives_the_same_greedy_text(child: EngineChild) -> None:
    fields = {"max_tokens": 25, "temperature": 0, "ignore_eos": True}
    on = chat(child, **fields).json
    off = chat(child, kv_cache=False, **fields).json
    assert on["choices"] == off["choices"]
    assert on["usage"] == off["usage"]


def test_completions_take_text_or_ids(child: EngineChild) -> None:
    fields = {"max_tokens": 6, "temperature": 0, "ignore_eos": True}
    ids = call(child, "/tokenize", {"prompt": "the cat"}).json["tokens"]
    assert call(child, "/detokenize", {"tokens": ids}).json == {"prompt": "the cat"}
    texts = set()
    for prompt in ("the cat", ["the cat"], ids, [ids]):
        body = call(child, "/v1/completions", {"prompt": prompt, **fields}).json
        texts.add(body["choices"][0]["text"])
        assert body["usage"]["prompt_tokens"] == len(ids)
        assert body["object"] == "text_completion"
    assert len(texts) == 1
    stream = call(child, "/v1/completions", {"prompt": ids, "stream": True, **fields})
    assert "".join(event["choices"][0]["text"] for event in stream.events) in texts


def test_content_may_come_in_parts(child: EngineChild) -> None:
    parts = [{"type": "text", "text": "the "}, {"type": "text", "text": "cat"}]
    fields = {"max_completion_tokens": 9, "temperature": 0, "max_tokens": None}
    whole = chat(child, **fields).json
    apart = chat(child, messages=[{"role": "user", "content": parts}], **fields).json
    assert apart["choices"] == whole["choices"]
    image = [{"type": "image_url", "image_url": {"url": "data:,"}}]
    refused = chat(child, messages=[{"role": "user", "content": image}])
    assert refused.status == 400
    assert refused.error["param"] == "messages[0].content"


def test_models(child: EngineChild) -> None:
    data = call(child, "/v1/models").json["data"]
    assert [entry["id"] for entry in data] == ["random"]
    assert data[0]["max_model_len"] == 512
    meta = data[0]["meta"]
    assert meta["kv_bytes_per_token"] == child.geometry.kv_bytes_per_token
    assert meta["n_params"] == child.geometry.n_params
    assert call(child, "/v1/models/random").json == data[0]
    assert call(child, "/v1/models/none").status == 404
    demos = {entry["id"] for entry in call(child, "/v1/models?demo=1").json["data"]}
    assert {"demo-auth", "demo-network", "demo-truncated", "random"} <= demos


def test_health_and_index(child: EngineChild) -> None:
    assert call(child, "/health").status == 200
    assert b"random" in call(child, "/").raw


def test_metrics_are_the_arrays_bytes(child: EngineChild) -> None:
    """While a stream runs, bytes, tokens and share agree to the token."""
    connection = connect(child)
    body = {"messages": USER, "stream": True, "max_tokens": 400, "ignore_eos": True}
    connection.request("POST", CHAT, json.dumps(body))
    response = connection.getresponse()
    for _ in range(2 * 10):
        response.readline()
    text = call(child, "/metrics").raw.decode()
    connection.close()
    samples = dict(re.findall(r"^(\S+?)(?:{.*})? (\S+)$", text, re.MULTILINE))
    tokens = int(samples["kvtui:kv_cache_tokens_in_use"])
    assert int(samples["kvtui:kv_cache_bytes_in_use"]) == tokens * child.geometry.kv_bytes_per_token
    assert float(samples["vllm:kv_cache_usage_perc"]) == tokens / (2 * 512)
    assert 'num_gpu_blocks="1024"' in text
    prompt = call(child, "/tokenize", {"messages": USER}).json["count"]
    assert prompt + 8 <= tokens <= prompt + 400
    assert int(samples["vllm:num_requests_running"]) == 1
    idle(child)


def test_the_openai_client(child: EngineChild) -> None:
    openai = pytest.importorskip("openai")
    client = openai.OpenAI(base_url=child.base_url, api_key="unused", max_retries=0)
    with client:
        assert [model.id for model in client.models.list()] == ["random"]
        stream = client.chat.completions.create(
            model="random",
            messages=USER,
            max_tokens=8,
            stream=True,
            stream_options={"include_usage": True},
            extra_body={"ignore_eos": True},
        )
        chunks = list(stream)
        assert chunks[-1].usage.completion_tokens == 8
        assert chunks[-2].choices[0].finish_reason == "length"
        whole = client.completions.create(model="random", prompt="the", max_tokens=3)
        assert whole.usage.completion_tokens <= 3
        for name, error in [
            ("demo-auth", openai.AuthenticationError),
            ("demo-parameter", openai.BadRequestError),
            ("demo-ratelimit", openai.RateLimitError),
            ("demo-server", openai.InternalServerError),
            ("nobody", openai.NotFoundError),
        ]:
            with pytest.raises(error):
                client.chat.completions.create(model=name, messages=USER)
