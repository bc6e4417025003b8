"""Bits per element: ggml's blocks are scales and quants in so many bytes per 32 elements."""

from fractions import Fraction

import pytest

from kvtui.memory import catalogue, kv, precision
from kvtui.memory.errors import PlanError


@pytest.mark.parametrize(
    ("name", "bits"),
    [
        ("f32", 32),
        ("fp16", 16),
        ("bf16", 16),
        ("fp8", 8),
        ("int8", 8),
        ("int4", 4),
        ("nvfp4", Fraction(9, 2)),
        ("q8_0", Fraction(17, 2)),
        ("q5_1", 6),
        ("q5_0", Fraction(11, 2)),
        ("q4_1", 5),
        ("q4_0", Fraction(9, 2)),
        ("iq4_nl", Fraction(9, 2)),
        ("q6_k", Fraction("6.5625")),
        ("q3_k", Fraction("3.4375")),
        ("q2_k", Fraction("2.625")),
        ("mxfp4", Fraction("4.25")),
    ],
)
def test_bits_are_exact(name, bits):
    assert precision.parse(name).bits == bits


@pytest.mark.parametrize(
    ("alias", "name"),
    [("f16", "fp16"), ("Float16", "fp16"), ("fp8_e4m3", "fp8"), ("Q8_0", "q8_0"), ("half", "fp16")],
)
def test_other_spellings(alias, name):
    assert precision.parse(alias).name == name


def test_an_unknown_name_is_an_error_that_helps():
    with pytest.raises(ValueError, match=r"'fp17': did you mean fp16\?.*nvfp4.*q8_0") as caught:
        precision.parse("fp17")
    assert isinstance(caught.value, PlanError)


def test_per_token_head_scales_are_four_bytes_a_head():
    llama = catalogue.find("Llama-3.1-8B")
    # 32 layers × 8 heads × (128 × 1 + 4) bytes, keys and values
    assert kv.bytes_per_token(llama, "int8_per_token_head", "int8_per_token_head", 0) == (
        2 * 32 * 8 * 132
    )


def test_keys_and_values_apart():
    llama = catalogue.find("Llama-3.1-8B")
    # measured by llama.cpp: K q8_0 and V q4_0 at 4,096 tokens take 208 MiB
    assert kv.bytes_per_sequence(llama, "q8_0", "q4_0", 4096) == 208 * 2**20


def test_a_precision_of_weights_holds_no_cache():
    with pytest.raises(PlanError, match="q4_k"):
        kv.resolve(catalogue.find("Llama-3.1-8B"), "q4_k")


def test_the_mla_layout_needs_mla():
    with pytest.raises(PlanError, match="fp8_ds_mla"):
        kv.resolve(catalogue.find("Llama-3.1-8B"), "fp8_ds_mla")
