"""Random models, written once per session."""

from __future__ import annotations

from pathlib import Path

import pytest
from tinygguf import random_llama

from kvtui.engine.cache import KVCache
from kvtui.engine.geometry import LlamaConfig
from kvtui.engine.gguf import GGUFFile
from kvtui.engine.tokenizer import Tokenizer
from kvtui.engine.transformer import Llama
from kvtui.engine.weights import load_llama


@pytest.fixture(scope="session")
def tiny_path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two layers, four heads over two KV heads, context 128."""
    return random_llama(tmp_path_factory.mktemp("models") / "random.gguf")


@pytest.fixture(scope="session")
def tiny_file(tiny_path: Path) -> GGUFFile:
    return GGUFFile.open(tiny_path)


@pytest.fixture(scope="session")
def tiny(tiny_file: GGUFFile) -> Llama:
    config = LlamaConfig.from_metadata(tiny_file.metadata, "random")
    return load_llama(tiny_file, config, config.context)


@pytest.fixture(scope="session")
def tokenizer(tiny_file: GGUFFile) -> Tokenizer:
    return Tokenizer.from_metadata(tiny_file.metadata, "random")


@pytest.fixture
def cache(tiny: Llama) -> KVCache:
    return KVCache(tiny.config, 5, tiny.config.context)
