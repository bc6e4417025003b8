"""llama.cpp itself is asked for its allocation, on small files with real cache geometry."""

from __future__ import annotations

import re
import subprocess
import sys
import threading

import pytest

from kvtui.text import MIB

from .gguf_writer import F32, deepseek2, llama, mamba2, write_gguf

pytest.importorskip("xllamacpp", reason="xllamacpp, which has llama.cpp in it, is not installed")

LOAD = """
import sys, xllamacpp
params = xllamacpp.CommonParams()
params.model.path, params.n_ctx, params.n_parallel = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
types = xllamacpp.ggml_type
params.cache_type_k = getattr(types, "GGML_TYPE_" + sys.argv[4])
params.cache_type_v = getattr(types, "GGML_TYPE_" + sys.argv[5])
params.kv_unified, params.n_ubatch = sys.argv[6] == "True", int(sys.argv[7])
params.swa_full = sys.argv[8] == "True"
params.warmup = params.fit_params = False
params.n_gpu_layers, params.verbosity, params.port = 0, 4, 0
xllamacpp.Server(params)
"""
SIZE = re.compile(r"llama_(kv_cache|memory_recurrent): size =\s+([\d.]+) MiB")

GEMMA3 = {"gemma3.attention.sliding_window": 1024}
GEMMA2 = {"gemma2.attention.sliding_window": 4096}


def cohere2():
    """Windows in three of four layers; one norm a layer, and no head of its own."""
    extra = {
        "cohere2.attention.sliding_window": 1024,
        "cohere2.attention.layer_norm_epsilon": 1e-5,
        "cohere2.logit_scale": 0.0625,
    }
    metadata, tensors = llama(8, 8, 4, 8, arch="cohere2", extra=extra)
    dropped = ("ffn_norm", "output.weight")
    return metadata, {
        name: tensor
        for name, tensor in tensors.items()
        if not name.startswith(dropped) and "ffn_norm" not in name
    }


def exaone4(layers):
    """Windows only in the model of 64 layers; norms behind the blocks and on every head."""
    extra = {"exaone4.attention.sliding_window": 1024}
    metadata, tensors = llama(layers, 8, 4, 8, arch="exaone4", extra=extra)
    kept = {
        name: tensor
        for name, tensor in tensors.items()
        if "attn_norm" not in name and "ffn_norm" not in name
    }
    for n in range(layers):
        kept |= {
            f"blk.{n}.attn_q_norm.weight": ((8,), F32),
            f"blk.{n}.attn_k_norm.weight": ((8,), F32),
            f"blk.{n}.post_attention_norm.weight": ((64,), F32),
            f"blk.{n}.post_ffw_norm.weight": ((64,), F32),
        }
    return metadata, kept


CASES = {
    "llama-3.1-8b": (llama(32, 32, 8, 128), {"context": 4096}),
    "padded": (llama(4, 8, 2, 64), {"context": 5000, "parallel": 3}),
    "quantised": (llama(8, 8, 8, 128), {"context": 4096, "k_dtype": "q8_0", "v_dtype": "q4_0"}),
    "f32": (llama(4, 8, 2, 64), {"context": 1000, "kv_dtype": "f32"}),
    "qwen3": (llama(6, 8, 4, 128, arch="qwen3"), {"context": 8192, "parallel": 2}),
    "gemma2": (llama(6, 8, 4, 256, arch="gemma2", extra=GEMMA2), {"context": 8192}),
    "gemma3": (llama(12, 8, 4, 256, arch="gemma3", extra=GEMMA3), {"context": 8192}),
    "gemma3-unified": (
        llama(12, 8, 4, 256, arch="gemma3", extra=GEMMA3),
        {"context": 8192, "parallel": 4, "kv_unified": True},
    ),
    "gemma3-ubatch": (
        llama(6, 8, 1, 256, arch="gemma3", extra=GEMMA3),
        {"context": 8192, "ubatch": 2048},
    ),
    "gemma3-full": (
        llama(6, 8, 1, 256, arch="gemma3", extra=GEMMA3),
        {"context": 4096, "swa_full": True},
    ),
    "cohere2": (cohere2(), {"context": 8192}),
    "exaone4-8": (exaone4(8), {"context": 8192}),
    "exaone4-64": (exaone4(64), {"context": 8192}),
    "mla": (deepseek2(8), {"context": 8192, "parallel": 2}),
    "mamba2": (mamba2(8, 5120, 128, 1), {"context": 8192, "parallel": 2}),
}


def load(words: list[str]) -> str:
    """llama.cpp's log up to its compute buffer; then it has allocated, and is ended."""
    started = subprocess.Popen(
        [sys.executable, "-c", LOAD, *words],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
    )
    assert started.stdout is not None
    watch = threading.Timer(50, started.kill)
    watch.start()
    lines = []
    try:
        for line in started.stdout:
            lines.append(line)
            if "compute buffer size" in line:
                break
    finally:
        watch.cancel()
        started.kill()
        started.stdout.close()
        started.wait()
    return "".join(lines)


@pytest.mark.parametrize("name", CASES)
def test_llamacpp_allocates_what_is_answered(name, tmp_path, plan_json):
    (metadata, tensors), options = CASES[name]
    path = write_gguf(tmp_path / "model.gguf", metadata, tensors)
    kinds = {"q8_0": "Q8_0", "q4_0": "Q4_0", "f32": "F32"}
    own = options.get("kv_dtype", "")
    words = [
        options["context"],
        options.get("parallel", 1),
        kinds.get(options.get("k_dtype", own), "F16"),
        kinds.get(options.get("v_dtype", own), "F16"),
        options.get("kv_unified", False),
        options.get("ubatch", 512),
        options.get("swa_full", False),
    ]
    log = load([str(path), *map(str, words)])
    logged = [float(size) for _, size in SIZE.findall(log)]
    assert logged, log[-2000:]
    told = plan_json(gguf=path, engine="llamacpp", **{"parallel": 1, **options})
    assert told["kv"]["total_bytes"] / MIB == pytest.approx(sum(logged), abs=0.02)
