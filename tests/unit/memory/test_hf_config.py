"""config.json files: read by their fields, or refused with the field's name."""

from __future__ import annotations

import copy
import json

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kvtui.memory import kv
from kvtui.memory.errors import PlanError
from kvtui.memory.hf_config import ConfigError, from_config, read_config
from kvtui.memory.model import Attention, Latent, Shared, State
from kvtui.text import GIB, MIB

from .conftest import KV, facts

CONFIGS = sorted((KV / "configs").glob("*.json"))


def config(name):
    return json.loads((KV / "configs" / f"{name}.json").read_text())


# GiB at 32,768 tokens in bf16, worked out by hand from the geometry; states in MiB beside it.
EXACT = {
    "MiniMaxAI--MiniMax-M2.5": (62 * 2 * 8 * 128 * 2 * 32768 / GIB, 0),
    "Qwen--Qwen3-0.6B": (28 * 2 * 8 * 128 * 2 * 32768 / GIB, 0),
    "Qwen--Qwen3-30B-A3B": (3.0, 0),
    "Qwen--Qwen3-8B": (4.5, 0),
    "Qwen--Qwen3-VL-8B-Instruct": (4.5, 0),
    "Qwen--Qwen3.5-27B": (2.0, 146.8),
    "XiaomiMiMo--MiMo-V2-Flash": (0.7269, 0),
    "deepseek-ai--DeepSeek-V3.2": (2.3903, 0),
    "deepseek-ai--DeepSeek-V3": (2.1445, 0),
    "google--gemma-4-26B-A4B": ((5 * 32768 * 2 * 512 + 25 * 1024 * 8 * 256) * 2 * 2 / GIB, 0),
    "meta-llama--Meta-Llama-3.1-8B": (4.0, 0),
    "mistralai--Mixtral-8x7B-v0.1": (4.0, 0),
    "moonshotai--Kimi-K2-Instruct": (2.1445, 0),
    "moonshotai--Kimi-K3": (24 * 576 * 2 * 32768 / GIB, 69 * (110592 * 2 + 1572864 * 4) / MIB),
    "nvidia--Llama-3_3-Nemotron-Super-49B-v1": (49 * 2 * 8 * 128 * 2 * 32768 / GIB, 0),
    "nvidia--NVIDIA-Nemotron-3-Nano-30B-A3B-BF16": (0.1875, 46.8),
    "nvidia--Nemotron-H-56B-Base-8K": (
        10 * 2 * 8 * 128 * 2 * 32768 / GIB,
        54 * (3 * (16384 + 2 * 8 * 256) * 2 + 16384 * 256 * 4) / MIB,
    ),
    "openai--gpt-oss-20b": (0.7529, 0),
    "zai-org--GLM-5": (78 * (576 * 2 + 132) * 32768 / GIB, 0),
}
REFUSED = {
    "deepseek-ai--DeepSeek-V4-Flash": "compress_ratios",
    "meta-llama--Llama-4-Scout-17B-16E-Instruct": "no_rope_layers",
}


@pytest.mark.parametrize("path", CONFIGS, ids=lambda path: path.stem)
def test_a_published_config_is_read_or_refused_for_a_true_reason(path):
    if path.stem in REFUSED:
        with pytest.raises(ConfigError, match=REFUSED[path.stem]) as caught:
            read_config(path)
        assert caught.value.field == REFUSED[path.stem]
        return
    model = read_config(path)
    tokens, state = EXACT[path.stem]
    states = sum(
        layers * kv.state_bytes(cache, model)
        for cache, layers in model.groups
        if isinstance(cache, State)
    )
    total = kv.bytes_per_sequence(model, "bf16", "bf16", 32768)
    assert (total - states) / GIB == pytest.approx(tokens, abs=0.00006)
    assert states / MIB == pytest.approx(state, abs=0.06)


def test_parameters_agree_with_the_published_ones():
    for name, billions in (
        ("meta-llama--Meta-Llama-3.1-8B", 8.03),
        ("mistralai--Mixtral-8x7B-v0.1", 46.7),
        ("deepseek-ai--DeepSeek-V3", 671.0),
        ("Qwen--Qwen3-30B-A3B", 30.5),
        ("openai--gpt-oss-20b", 20.9),
    ):
        assert from_config(config(name)).params == pytest.approx(billions * 1e9, rel=0.002)


@pytest.mark.parametrize(
    ("name", "field"),
    [
        ("meta-llama--Meta-Llama-3.1-8B", "num_key_value_heads"),
        ("meta-llama--Meta-Llama-3.1-8B", "num_attention_heads"),
        ("meta-llama--Meta-Llama-3.1-8B", "num_hidden_layers"),
        ("meta-llama--Meta-Llama-3.1-8B", "hidden_size"),
        ("Qwen--Qwen3-8B", "head_dim"),
        ("deepseek-ai--DeepSeek-V3", "qk_rope_head_dim"),
        ("openai--gpt-oss-20b", "layer_types"),
        ("openai--gpt-oss-20b", "sliding_window"),
        ("XiaomiMiMo--MiMo-V2-Flash", "hybrid_layer_pattern"),
        ("nvidia--Nemotron-H-56B-Base-8K", "ssm_state_size"),
        ("nvidia--Nemotron-H-56B-Base-8K", "hybrid_override_pattern"),
        ("nvidia--Nemotron-H-56B-Base-8K", "conv_kernel"),
    ],
)
def test_a_missing_field_is_refused_and_nothing_assumed(name, field):
    raw = config(name)
    del raw[field]
    if field.endswith("_pattern"):
        field = "layer_types"  # the field that would say the same
    with pytest.raises(ConfigError, match=field):
        from_config(raw)


@pytest.mark.parametrize(
    "field", ["kv_compression_ratio", "cross_layer_share", "attention_window", "state_slots"]
)
def test_an_unknown_field_that_may_matter_is_refused(field):
    raw = config("meta-llama--Meta-Llama-3.1-8B") | {field: 4}
    with pytest.raises(ConfigError, match=field):
        from_config(raw)


@pytest.mark.parametrize("field", ["rope_theta", "attention_bias", "resid_pdrop", "zebra"])
def test_an_unknown_field_that_cannot_matter_is_passed_over(field):
    raw = config("meta-llama--Meta-Llama-3.1-8B") | {field: 4}
    assert len(from_config(raw).layers) == 32


def test_the_name_does_not_decide():
    raw = config("meta-llama--Meta-Llama-3.1-8B") | {"model_type": "something-new", "head_dim": 128}
    assert from_config(raw).groups == ((Attention(8, 128, 128), 32),)


def test_an_unknown_architecture_gets_no_head_dim_of_its_own():
    raw = config("meta-llama--Meta-Llama-3.1-8B") | {"model_type": "something-new"}
    assert "head_dim" not in raw
    with pytest.raises(ConfigError, match="head_dim"):
        from_config(raw)


def test_a_kind_of_layer_that_is_not_known_is_refused():
    raw = config("openai--gpt-oss-20b")
    raw["layer_types"][3] = "compressed_sparse_attention"
    with pytest.raises(ConfigError, match="compressed_sparse_attention"):
        from_config(raw)


def test_qwen2_windows_begin_where_the_file_says():
    raw = {
        "model_type": "qwen2",
        "hidden_size": 3584,
        "num_hidden_layers": 28,
        "num_attention_heads": 28,
        "num_key_value_heads": 4,
        "use_sliding_window": True,
        "sliding_window": 4096,
        "max_window_layers": 20,
        "torch_dtype": "bfloat16",
    }
    model = from_config(raw)
    assert model.groups == (
        (Attention(4, 128, 128), 20),
        (Attention(4, 128, 128, window=4096), 8),
    )
    assert from_config(raw | {"use_sliding_window": False}).groups == (
        (Attention(4, 128, 128), 28),
    )


def test_llama_4_is_read_where_a_field_places_its_chunks():
    raw = config("meta-llama--Llama-4-Scout-17B-16E-Instruct")
    raw["text_config"]["no_rope_layer_interval"] = 4
    model = from_config(raw)
    # 12 full layers of 32,768 tokens and 36 of 8,192, 4,096 B a token each
    assert kv.bytes_per_sequence(model, "bf16", "bf16", 32768) == (
        (12 * 32768 + 36 * 8192) * 8 * 128 * 2 * 2
    )


def test_gemma_3n_shares_its_last_layers():
    kinds = ["sliding_attention"] * 4 + ["full_attention"]
    raw = {
        "model_type": "gemma3n_text",
        "num_hidden_layers": 35,
        "num_attention_heads": 8,
        "num_key_value_heads": 2,
        "head_dim": 256,
        "hidden_size": 2048,
        "layer_types": kinds * 7,
        "sliding_window": 512,
        "num_kv_shared_layers": 15,
        "torch_dtype": "bfloat16",
    }
    model = from_config(raw)
    assert [layer for layer in model.layers[20:] if layer != (Shared(19),)] == [(Shared(18),)] * 12
    assert kv.bytes_per_sequence(model, "bf16", "bf16", 8192) == (
        (4 * 8192 + 16 * 512) * 2 * 256 * 2 * 2
    )


def test_whisper_keeps_its_encoders_output():
    raw = {
        "model_type": "whisper",
        "is_encoder_decoder": True,
        "d_model": 1280,
        "decoder_layers": 32,
        "decoder_attention_heads": 20,
        "encoder_layers": 32,
        "encoder_attention_heads": 20,
        "max_source_positions": 1500,
        "max_target_positions": 448,
        "vocab_size": 51866,
        "torch_dtype": "float16",
    }
    model = from_config(raw)
    assert model.max_context == 448
    # 32 layers: 1,280 elements a token, keys and values, for 100 tokens and 1,500 of the encoder
    assert kv.bytes_per_sequence(model, "fp16", "fp16", 100) == 32 * 1600 * 2 * 1280 * 2


def test_jamba_and_lfm2_and_minimax():
    common = {"torch_dtype": "bfloat16", "num_attention_heads": 32, "num_key_value_heads": 8}
    jamba = from_config(
        common
        | {
            "model_type": "jamba",
            "hidden_size": 4096,
            "num_hidden_layers": 32,
            "attn_layer_period": 8,
            "attn_layer_offset": 4,
            "mamba_d_state": 16,
            "mamba_d_conv": 4,
            "mamba_expand": 2,
        }
    )
    assert jamba.groups == ((State("mamba1", 3, 8192, 131072), 28), (Attention(8, 128, 128), 4))
    lfm2 = from_config(
        common
        | {
            "model_type": "lfm2",
            "hidden_size": 2048,
            "num_hidden_layers": 4,
            "conv_L_cache": 3,
            "layer_types": ["conv", "conv", "full_attention", "conv"],
        }
    )
    assert lfm2.groups == ((State("shortconv", 2, 2048, 0), 3), (Attention(8, 64, 64), 1))
    minimax = from_config(
        common
        | {
            "model_type": "minimax_text_01",
            "hidden_size": 6144,
            "head_dim": 128,
            "num_attention_heads": 64,
            "num_hidden_layers": 8,
            "attn_type_list": [0, 0, 0, 0, 0, 0, 0, 1],
        }
    )
    assert minimax.groups == (
        (State("lightning", 0, 0, 64 * 128 * 128), 7),
        (Attention(8, 128, 128), 1),
    )


def test_shared_indexers_keep_no_keys():
    raw = config("zai-org--GLM-5") | {"indexer_types": ["full", "shared"] * 39}
    dims = [cache.index_dim for cache, _ in from_config(raw).groups if isinstance(cache, Latent)]
    assert sorted(dims) == [0, 128]


def test_indexers_are_spaced_as_the_file_says():
    # As GLM-5.2 has it: the first three layers and then every fourth.
    raw = config("zai-org--GLM-5") | {"index_topk_freq": 4, "index_skip_topk_offset": 3}
    dims = [layer[0].index_dim for layer in from_config(raw).layers]
    assert [index for index, dim in enumerate(dims) if dim][:6] == [0, 1, 2, 6, 10, 14]
    del raw["index_skip_topk_offset"]
    with pytest.raises(ConfigError, match="index_skip_topk_offset"):
        from_config(raw)


def test_a_list_of_kinds_tells_how_many_layers_there_are():
    raw = config("nvidia--NVIDIA-Nemotron-3-Nano-30B-A3B-BF16")
    whole = from_config(raw)
    kinds = {"M": "mamba", "E": "moe", "*": "attention"}
    raw["layers_block_type"] = [kinds[x] for x in raw.pop("hybrid_override_pattern")]
    del raw["num_hidden_layers"]
    raw["num_nextn_predict_layers"] = 1
    listed = from_config(raw)
    assert listed.layers == whole.layers
    assert listed.draft_layers == ((Attention(2, 128, 128),),)


def test_gated_delta_layers_are_counted():
    # Qwen3.5-397B-A17B, of which llama.cpp prints 396.35 B parameters
    # (https://github.com/ggml-org/llama.cpp/issues/13194)
    raw = config("Qwen--Qwen3.5-27B")
    del raw["text_config"]["intermediate_size"]
    raw["text_config"] |= {
        "hidden_size": 4096,
        "num_hidden_layers": 60,
        "layer_types": (["linear_attention"] * 3 + ["full_attention"]) * 15,
        "num_attention_heads": 32,
        "num_key_value_heads": 2,
        "linear_num_value_heads": 64,
        "num_experts": 512,
        "num_experts_per_tok": 10,
        "moe_intermediate_size": 1024,
        "shared_expert_intermediate_size": 1024,
    }
    assert from_config(raw).params / 1e9 == pytest.approx(396.35, abs=0.01)


def test_a_quantisation_beside_the_file_is_read(tmp_path):
    path = tmp_path / "config.json"
    path.write_text((KV / "configs" / "deepseek-ai--DeepSeek-V3.json").read_text())
    raw = json.loads(path.read_text())
    del raw["quantization_config"]
    path.write_text(json.dumps(raw))
    assert read_config(path).weights_dtype == "bf16"
    beside = tmp_path / "hf_quant_config.json"
    beside.write_text('{"quantization": {"quant_algo": "NVFP4", "kv_cache_quant_algo": "FP8"}}')
    model = read_config(path)
    assert model.weights_dtype == "nvfp4"
    assert "--kv-dtype fp8" in model.note
    beside.write_text("{")
    with pytest.raises(ConfigError, match=r"hf_quant_config.json cannot be used"):
        read_config(path)


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "is no JSON"),
        (b"{", "is no JSON"),
        (b"\xff\xfe\x00", "is no JSON"),
        (b"[1, 2]", "no JSON object"),
        (b"null", "no JSON object"),
        (b"{}", "model_type"),
        (b"[" * 100_000, "is no JSON"),
        (b'{"num_hidden_layers": 1e400}', "num_hidden_layers"),
    ],
)
def test_what_is_no_config_is_said_to_be_none(tmp_path, content, said):
    path = tmp_path / "config.json"
    path.write_bytes(content)
    with pytest.raises(ConfigError, match=said):
        read_config(path)


def test_folders_missing_and_huge_files_are_refused(tmp_path):
    with pytest.raises(ConfigError, match="is a folder"):
        read_config(tmp_path)
    with pytest.raises(ConfigError, match="cannot be read"):
        read_config(tmp_path / "none.json")
    huge = tmp_path / "huge.json"
    with huge.open("wb") as stream:
        stream.truncate(5 * GIB)
    with pytest.raises(ConfigError, match=r"5,368,709,120 B large"):
        read_config(huge)


ODD = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(10**12), 10**12),
    st.floats(),
    st.text(max_size=5),
    st.lists(st.integers(-3, 3), max_size=3),
    st.dictionaries(st.text(max_size=3), st.integers(), max_size=2),
)


@settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_odd_values_are_refused_and_never_crash(data):
    raw = copy.deepcopy(config(data.draw(st.sampled_from(CONFIGS)).stem))
    inner = raw.get("text_config", raw)
    for _ in range(data.draw(st.integers(1, 3))):
        field = data.draw(st.sampled_from(sorted(inner)))
        inner[field] = data.draw(ODD)
    try:
        model = from_config(raw)
    except PlanError:
        return
    assert kv.bytes_per_sequence(model, "fp16", "fp16", 4096) >= 0


def test_a_refusal_names_the_catalogues_row_of_that_geometry(tmp_path):
    raw = config("google--gemma-4-26B-A4B")
    del raw["text_config"]["layer_types"]
    path = tmp_path / "config.json"
    path.write_text(json.dumps(raw))
    with pytest.raises(ConfigError, match="--arch Gemma-4-26B-A4B"):
        read_config(path)


def test_scales_for_an_fp8_cache_are_noted():
    raw = config("meta-llama--Meta-Llama-3.1-8B") | {
        "quantization_config": {
            "quant_method": "compressed-tensors",
            "config_groups": {"group_0": {"weights": {"num_bits": 8, "type": "float"}}},
            "kv_cache_scheme": {"num_bits": 8, "type": "float"},
        }
    }
    model = from_config(raw)
    assert model.weights_dtype == "fp8"
    assert "--kv-dtype fp8" in model.note


@pytest.mark.parametrize("row", facts("families.json"), ids=lambda row: row["name"])
def test_a_family_is_read_by_its_own_fields(row):
    if "refused" in row:
        with pytest.raises(ConfigError, match=row["refused"]):
            from_config(row["config"])
        return
    model = from_config(row["config"])
    states = sum(
        layers * kv.state_bytes(cache, model)
        for cache, layers in model.groups
        if isinstance(cache, State)
    )
    total = kv.bytes_per_sequence(model, "bf16", "bf16", 32768)
    assert states == row["state_bytes"]
    assert (total - states) / MIB == pytest.approx(row["kv_mib"], rel=1e-6)


def test_layers_that_share_caches_in_an_unknown_way_are_refused():
    (row,) = [row for row in facts("families.json") if row["name"] == "hunyuan-a13b"]
    with pytest.raises(ConfigError, match="use_cla"):
        from_config(row["config"] | {"use_cla": True})
