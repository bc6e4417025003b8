"""Read a model back: from a checkpoint of train.py, or from a Llama GGUF with its tokenizer."""

from __future__ import annotations

from pathlib import Path

import gguf
import numpy as np
import torch
from model import Llama, Shape
from tokenizer import SPECIAL
from tokenizers import Tokenizer, decoders, models, pre_tokenizers

CONTEXT = 2048
TOP = {"token_embd": "embed", "output_norm": "norm"}
INNER = {
    "attn_q": "q",
    "attn_k": "k",
    "attn_v": "v",
    "attn_output": "o",
    "ffn_gate": "gate",
    "ffn_up": "up",
    "ffn_down": "down",
}


def load_checkpoint(path: Path) -> Llama:
    """The model of a checkpoint, in float32."""
    state = torch.load(path, weights_only=False)
    model = Llama(Shape(**state["shape"]))
    model.load_state_dict(state["model"])
    return model.eval()


def load_gguf(path: Path) -> tuple[Llama, Tokenizer]:
    """The dequantised model in float32 and its tokenizer."""
    reader = gguf.GGUFReader(path)
    field = {name: part.contents() for name, part in reader.fields.items()}
    heads = field["llama.attention.head_count"]
    shape = Shape(
        vocab=len(field["tokenizer.ggml.tokens"]),
        dim=field["llama.embedding_length"],
        layers=field["llama.block_count"],
        heads=heads,
        kv_heads=field["llama.attention.head_count_kv"],
        head_dim=field["llama.embedding_length"] // heads,
        hidden=field["llama.feed_forward_length"],
        context=CONTEXT,
        rope_base=field["llama.rope.freq_base"],
    )
    state: dict[str, torch.Tensor] = {}
    for tensor in reader.tensors:
        part = tensor.name.removesuffix(".weight").split(".")
        if part[0] == "blk":
            name = f"blocks.{part[1]}.{INNER.get(part[2], part[2])}.weight"
        else:
            name = f"{TOP[part[0]]}.weight"
        weights = gguf.quants.dequantize(tensor.data, tensor.tensor_type)
        state[name] = torch.from_numpy(np.array(weights, dtype=np.float32))
    model = Llama(shape)
    model.load_state_dict(state)
    vocab = {token: i for i, token in enumerate(field["tokenizer.ggml.tokens"])}
    merges = [tuple(merge.split(" ")) for merge in field["tokenizer.ggml.merges"]]
    tokenizer = Tokenizer(models.BPE(vocab=vocab, merges=merges))
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.Digits(True), pre_tokenizers.ByteLevel(add_prefix_space=False)]
    )
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.add_special_tokens(list(SPECIAL))
    return model.eval(), tokenizer
