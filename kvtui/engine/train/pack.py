"""Pack a checkpoint as GGUF: Q8_0 matrices, F32 norms, tokenizer and chat template inside.

    python pack.py --checkpoint run/long.pt --tokenizer tokenizer.json --out kvtui-tiny.gguf

The architecture is "llama", whose RoPE turns interleaved pairs, as model.py's does, so that the
matrices go in as they are.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import gguf
import numpy as np
import torch
from model import RMS_EPS, Shape
from tokenizer import END_OF_TEXT, IM_END, IM_START, SPECIAL

NAME = "kvtui-tiny"
LICENSE = "mit"
DESCRIPTION = "A tiny Llama that shows how inference works. Its text is not to be trusted."
CHAT_TEMPLATE = (
    "{% for message in messages %}"
    "{{ '<|im_start|>' + message['role'] + '\n' + message['content'] + '<|im_end|>' + '\n' }}"
    "{% endfor %}"
    "{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}"
)
TOP = {"embed.weight": "token_embd.weight", "norm.weight": "output_norm.weight"}
INNER = {
    "attn_norm": "attn_norm",
    "q": "attn_q",
    "k": "attn_k",
    "v": "attn_v",
    "o": "attn_output",
    "ffn_norm": "ffn_norm",
    "gate": "ffn_gate",
    "up": "ffn_up",
    "down": "ffn_down",
}


def gguf_name(name: str) -> str:
    """The GGUF name of a weight of model.py."""
    if name in TOP:
        return TOP[name]
    _, layer, part, _ = name.split(".")
    return f"blk.{layer}.{INNER[part]}.weight"


def write_tokenizer(writer: gguf.GGUFWriter, path: Path) -> None:
    """Store the vocabulary, the merges and the special tokens."""
    model = json.loads(path.read_text(encoding="utf-8"))["model"]
    tokens = sorted(model["vocab"], key=model["vocab"].get)
    kinds = [
        gguf.TokenType.CONTROL if token in SPECIAL else gguf.TokenType.NORMAL for token in tokens
    ]
    merges = [m if isinstance(m, str) else " ".join(m) for m in model["merges"]]
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre("smollm")
    writer.add_token_list(tokens)
    writer.add_token_types(kinds)
    writer.add_token_merges(merges)
    writer.add_bos_token_id(IM_START)
    writer.add_eos_token_id(IM_END)
    writer.add_unk_token_id(END_OF_TEXT)
    writer.add_pad_token_id(IM_END)
    writer.add_add_bos_token(False)
    writer.add_add_space_prefix(False)
    writer.add_chat_template(CHAT_TEMPLATE)


def write_shape(writer: gguf.GGUFWriter, shape: Shape) -> None:
    """Store the geometry."""
    writer.add_context_length(shape.context)
    writer.add_embedding_length(shape.dim)
    writer.add_block_count(shape.layers)
    writer.add_feed_forward_length(shape.hidden)
    writer.add_head_count(shape.heads)
    writer.add_head_count_kv(shape.kv_heads)
    writer.add_key_length(shape.head_dim)
    writer.add_value_length(shape.head_dim)
    writer.add_rope_dimension_count(shape.head_dim)
    writer.add_rope_freq_base(shape.rope_base)
    writer.add_layer_norm_rms_eps(RMS_EPS)
    writer.add_vocab_size(shape.vocab)


def main() -> None:
    """Write the file and print its size."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--checkpoint", type=Path, required=True)
    parser.add_argument("--tokenizer", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    args = parser.parse_args()
    state = torch.load(args.checkpoint, weights_only=False)
    weights: dict[str, torch.Tensor] = state["model"]
    writer = gguf.GGUFWriter(args.out, "llama")
    writer.add_name(NAME)
    writer.add_license(LICENSE)
    writer.add_description(DESCRIPTION)
    writer.add_file_type(gguf.LlamaFileType.MOSTLY_Q8_0)
    writer.add_quantization_version(gguf.GGML_QUANT_VERSION)
    write_shape(writer, Shape(**state["shape"]))
    write_tokenizer(writer, args.tokenizer)
    for name, weight in weights.items():
        array = weight.float().numpy()
        if array.ndim == 1:
            writer.add_tensor(gguf_name(name), array)
            continue
        kind = gguf.GGMLQuantizationType.Q8_0
        packed = gguf.quants.quantize(np.ascontiguousarray(array), kind)
        writer.add_tensor(gguf_name(name), packed, raw_dtype=kind)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    count = sum(weight.numel() for weight in weights.values())
    print(f"{args.out}: {args.out.stat().st_size:,} bytes, {count:,} parameters, "
          f"{state['total']:,} tokens seen")  # fmt: skip


if __name__ == "__main__":
    main()
