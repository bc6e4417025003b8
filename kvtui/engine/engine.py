"""A loaded model with everything needed to run requests on it."""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from pathlib import Path

from kvtui.engine.cache import KVCache
from kvtui.engine.chat import ChatFormat, Message, chat_format
from kvtui.engine.errors import ModelFileError
from kvtui.engine.geometry import EngineGeometry, LlamaConfig
from kvtui.engine.gguf import GGUFFile
from kvtui.engine.quant import layout_of
from kvtui.engine.scheduler import Scheduler
from kvtui.engine.tokenizer import Tokenizer
from kvtui.engine.weights import load_llama

DEFAULT_CONTEXT = 2048
"""Tokens reserved for each sequence, where the model reaches as far."""


class Engine:
    """One model, its vocabulary, its cache and the thread that runs them.

    Attributes:
        model_id: the name requests call the model by.
        geometry: the model's sizes.
        tokenizer: text to ids and back.
        cache: the KV cache of all slots.
        scheduler: takes requests.
    """

    def __init__(
        self,
        path: Path,
        model_id: str,
        *,
        max_num_seqs: int = 4,
        max_context: int = DEFAULT_CONTEXT,
        max_queue: int = 64,
        weights: str = "f32",
        kv_dtype: str = "f32",
    ) -> None:
        """Load a model; its thread is not started yet.

        Args:
            path: the GGUF file.
            model_id: the name requests call it by.
            max_num_seqs: sequences decoded at once.
            max_context: tokens of a sequence, where the model reaches as far.
            max_queue: requests that may wait for a slot.
            weights: precision that the matrices are held in, one of `PRECISIONS`.
            kv_dtype: precision that keys and values are held in.

        Raises:
            ModelFileError: the file cannot be used.
        """
        file = GGUFFile.open(path)
        config = LlamaConfig.from_metadata(file.metadata, str(path))
        context = min(config.context, max_context)
        self.model_id = model_id
        self.tokenizer = Tokenizer.from_metadata(file.metadata, str(path))
        self._chat: ChatFormat = chat_format(file.metadata, self.tokenizer)
        _refuse_too_large(file)
        model = load_llama(file, config, context, weights)
        if len(model.embedding) < len(self.tokenizer.tokens):
            raise ModelFileError(f"{path} is inconsistent: its vocabulary exceeds its embedding.")
        self.cache = KVCache(config, max_num_seqs, context, kv_dtype)
        self.scheduler = Scheduler(model, self.tokenizer, self.cache, max_queue)
        self.geometry = EngineGeometry(
            layers=config.layers,
            n_heads=config.n_heads,
            kv_heads=config.kv_heads,
            head_dim=config.head_dim,
            kv_itemsize=self.cache.itemsize,
            kv_bytes_per_token=self.cache.bytes_per_token,
            context=context,
            context_train=config.context,
            vocab=len(model.head),
            n_params=model.n_params,
            weights_bytes=model.nbytes,
            file_bytes=_bytes_in_file(file),
            weights_dtype=weights,
            kv_dtype=kv_dtype,
        )

    def start(self) -> None:
        """Start taking requests."""
        self.scheduler.start()

    def stop(self) -> None:
        """End all requests and the engine's thread."""
        self.scheduler.stop()

    def render(self, messages: Sequence[Message]) -> list[int]:
        """The prompt's ids for a conversation, as the model's chat template writes it."""
        return self._chat.render(self.tokenizer, messages)


def _bytes_in_file(file: GGUFFile) -> int:
    total = 0
    for info in file.tensors.values():
        layout = layout_of(info.type_id)
        if layout is not None:
            total += math.prod(info.shape) // layout.block * layout.size
    return total


def _refuse_too_large(file: GGUFFile) -> None:
    """Weights are held as float32: say so beforehand where the machine cannot hold them."""
    needed = 4 * sum(info.count for info in file.tensors.values())
    try:
        there = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, ValueError, OSError):  # Windows, or a system that does not tell
        return
    if needed > there:
        raise ModelFileError(
            f"{file.path} needs {needed / 2**30:.1f} GiB in memory, as float32, and this machine "
            f"has {there / 2**30:.1f}."
        )
