"""The main screen and what opens over it, in every state, as pictures."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from fakes import REMOTE, WORDS, Script
from pictures import FOLDER, contrasts
from scenes import look, scene, sizes
from test_screen import at, ready, until

from kvtui.failure import Evidence, ExceptionFact, Hint, KeyFacts, Verdict, classify

LATE = Script(pieces=[(t + 0.2, kind, text) for t, kind, text in Script().pieces])
MARKDOWN = """\
# What a cache keeps

1. The **keys** of all earlier tokens,
2. and their *values*.

| heads | GiB |
|-------|----:|
| MHA   | 1.00 |
| GQA   | 0.25 |

```python
kv = 2 * layers * heads * dim * size
```

> Nothing is computed twice.
"""
KNOWN = Evidence(
    url="https://gpu.example/v1/chat/completions",
    base_url="https://gpu.example/v1",
    host="gpu.example",
    model="Llama-3.1-8B",
    key=KeyFacts("VLLM_KEY", 52, "ends with a space (character 52)"),
)
FAILURES = {
    "auth": {"status": 401, "body": '{"error":{"message":"Incorrect API key provided",'
             '"code":"invalid_api_key"}}'},
    "network": {
        "phase": "connect",
        "proxy": "http://proxy.example:3128",
        "proxy_from": "HTTPS_PROXY",
        "exceptions": (
            ExceptionFact("APIConnectionError", "Connection error."),
            ExceptionFact("ConnectionRefusedError", "[Errno 111] Connection refused"),
        ),
    },
    "parameter": {
        "status": 404,
        "body": '{"error":{"message":"The model `Llama-3.1-8B` does not exist.",'
        '"type":"NotFoundError","code":404}}',
        "models_offered": ("meta-llama/Llama-3.1-8B-Instruct", "Qwen/Qwen3-8B"),
    },
    "filter": {"status": 400, "body": '{"error":{"message":"The response was filtered",'
               '"code":"content_filter"}}'},
    "rate": {"status": 429, "headers": {"retry-after": "75"},
             "body": '{"error":{"message":"Rate limit reached for requests",'
             '"code":"rate_limit_exceeded"}}'},
    "server": {"status": 503, "body": '{"error":{"message":"The engine is overloaded"}}'},
    "truncated": {"status": 200, "data_events": 40, "content_chars": 180, "text_chunks": 40},
}  # fmt: skip
HINT = Hint("buffered", "The server sent the answer in one piece.")


def failing(name: str) -> Script:
    """A run that ends so, with what the classifier says of it."""
    evidence = replace(KNOWN, **FAILURES[name])
    verdict = classify(evidence)
    assert verdict.cls.startswith(name)
    pieces = Script().pieces[:40] if name == "truncated" else []
    return Script(
        pieces=pieces,
        verdict=verdict,
        evidence=evidence,
        finish=None,
        hints=(HINT,) if name == "server" else (),
    )


def uneven() -> Script:
    """Tokens of which some come late, and one after a stall."""
    pieces, t = [], 0.05
    for n in range(256):
        t += 0.0047 * (8 if n % 91 == 60 else 3 if n % 37 == 20 else 1 + (n % 5) / 20)
        pieces.append((t, "content", WORDS[n % len(WORDS)] + " "))
    return Script(pieces=pieces)


def markdown() -> Script:
    """An answer that has more than plain text, after some thinking."""
    parts = [("reasoning", f"{word} ") for word in WORDS[:24]]
    parts += [("content", line) for line in MARKDOWN.splitlines(keepends=True)]
    done = Verdict("ok", "stop")
    evidence = Evidence(status=200, finish_reason="stop")
    pieces = [(0.05 + 0.01 * n, kind, text) for n, (kind, text) in enumerate(parts)]
    return Script(pieces=pieces, verdict=done, evidence=evidence, finish="stop")


@sizes
async def test_a_stream(size: tuple[int, int]) -> None:
    async with scene("stream", size, LATE, late=True) as (pilot, album):
        main = pilot.app.main
        await until(pilot, lambda: main.conductor is not None and main.memory is not None)
        await look(pilot, album, "start")
        pilot.app.fake.arrive()
        await ready(pilot)
        await look(pilot, album, "ready")
        await pilot.press("enter")
        for state, seconds in (("connecting", 0.0005), ("prefill", 0.12), ("streaming", 1.1)):
            await at(pilot, seconds)
            await album.take(pilot, state)
        await at(pilot, 5)
        await look(pilot, album, "done")
        for key, pane in (("1", "stream"), ("2", "memory"), ("3", "errors")):
            await look(pilot, album, f"{pane} zoomed", key)
            await pilot.press(key)
        await look(pilot, album, "why the advice", "a")


@sizes
async def test_a_long_prompt(size: tuple[int, int]) -> None:
    pieces = [(4 + 0.02 * n, "content", WORDS[n % len(WORDS)] + " ") for n in range(64)]
    script = Script(pieces=pieces, prompt_tokens=8192, progress=True)
    async with scene("prefill", size, script, prepared=REMOTE) as (pilot, album):
        await pilot.press("enter")
        for state, seconds in (("begun", 0.2), ("nearly there", 3.9), ("over", 4.5)):
            await at(pilot, seconds)
            await look(pilot, album, state)


@sizes
async def test_a_replay(size: tuple[int, int]) -> None:
    async with scene("replay", size, LATE, late=True) as (pilot, album):
        main = pilot.app.main
        await until(pilot, lambda: main.conductor is not None and main.memory is not None)
        main.conductor.mark = "replay ×2"
        pilot.app.fake.arrive()
        await ready(pilot)
        await pilot.press("enter")
        await at(pilot, 1.1)
        await look(pilot, album, "streaming")
        await at(pilot, 5)
        await look(pilot, album, "done")


@sizes
async def test_failures(size: tuple[int, int]) -> None:
    scripts = [failing(name) for name in FAILURES]
    async with scene("failures", size, *scripts, prepared=REMOTE) as (pilot, album):
        for number, name in enumerate(FAILURES, 1):
            await pilot.press("r")
            await at(pilot, 1000.0 * number)
            await look(pilot, album, name)
        await look(pilot, album, "an older one", "left_square_bracket")
        await look(pilot, album, "errors zoomed", "3")
        await look(pilot, album, "all of it", "3", "o")


@sizes
async def test_an_answer(size: tuple[int, int]) -> None:
    async with scene("answer", size, uneven(), repeat=3) as (pilot, album):
        await pilot.press("enter")
        await at(pilot, 1.2)
        main = pilot.app.main
        while main.stream.chart is None or main.stream.chart.kind != "rate":
            await pilot.press("t")
        await look(pilot, album, "rate over tokens")
        await look(pilot, album, "gaps", "t")
        await look(pilot, album, "tint", "t", "i")
        for number in (1, 2, 3):
            await at(pilot, 5.0 * number)
        await look(pilot, album, "three runs", "i")
        await look(pilot, album, "search", "home", "slash", *"again", "enter", "n")
        await look(pilot, album, "formulas", "escape", "F")
        await look(pilot, album, "prompt", "escape", "e")


@sizes
async def test_markdown(size: tuple[int, int]) -> None:
    async with scene("markdown", size, markdown()) as (pilot, album):
        await pilot.press("enter")
        await at(pilot, 9)
        await look(pilot, album, "as it came")
        await pilot.press("v")
        await until(pilot, lambda: pilot.app.main.stream.answer is not None)
        await look(pilot, album, "rendered")


@sizes
async def test_dialogs(size: tuple[int, int]) -> None:
    names = {
        "g": "cards",
        "m": "models",
        "M": "served models",
        "E": "endpoints",
        "T": "themes",
    }
    async with scene("dialogs", size, prepared=REMOTE) as (pilot, album):
        for key, name in names.items():
            await look(pilot, album, name, key)
            await pilot.press("escape")
        await look(pilot, album, "a card searched", "g", *"4090")
        await look(pilot, album, "help", "escape", "question_mark")
        await look(pilot, album, "palette", "escape", "ctrl+p")


@sizes
async def test_memory(size: tuple[int, int]) -> None:
    options = {"arch": "Llama-3.1-8B", "gpu": "80GB", "context": 8192, "concurrency": 16}
    async with scene("memory", size, **options) as (pilot, album):
        await pilot.press("enter")
        await at(pilot, 5)
        await look(pilot, album, "as if", "w")
        await look(pilot, album, "too many", "b", "b", "b")
        await look(pilot, album, "zoomed", "2")


@sizes
async def test_presenting(size: tuple[int, int]) -> None:
    scripts = LATE, failing("auth")
    async with scene("presenter", size, *scripts, prepared=REMOTE) as (pilot, album):
        await look(pilot, album, "ready", "P")
        await pilot.press("enter")
        await at(pilot, 1.1)
        await look(pilot, album, "streaming")
        await at(pilot, 5)
        await pilot.press("enter")
        await at(pilot, 10)
        await look(pilot, album, "failed")


@pytest.mark.parametrize("size", [(60, 18), (79, 23)], ids=["60x18", "79x23"])
async def test_one_pane_at_a_time(size: tuple[int, int]) -> None:
    async with scene("tabs", size, LATE, failing("auth")) as (pilot, album):
        await pilot.press("enter")
        await at(pilot, 1.1)
        await look(pilot, album, "stream")
        await look(pilot, album, "memory", "2")
        await at(pilot, 5)
        await pilot.press("enter")
        await at(pilot, 10)
        await look(pilot, album, "errors", "3")
        await look(pilot, album, "prompt", "1", "e")


async def test_too_small() -> None:
    async with scene("too-small", (50, 12)) as (pilot, album):
        await look(pilot, album, "too small")


@pytest.mark.parametrize("path", sorted(FOLDER.glob("*.txt")), ids=lambda path: path.stem)
def test_every_word_of_every_picture_can_be_read(path: Path) -> None:
    words = list(contrasts(path))
    under = {state for state, row, _, ratios in words if not row and min(ratios) < 3}
    for state, row, word, ratios in words:
        if state not in under:  # a dialog dims what it stands on
            assert min(ratios) >= 4.5, (state, row, word, ratios)
