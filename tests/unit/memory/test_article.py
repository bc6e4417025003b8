"""The article's figures, by hand: bytes are 2 × layers × tokens × KV heads × 128 × 2."""

from kvtui.memory import budget, cards, catalogue, kv, model
from kvtui.memory.examples import EXAMPLES
from kvtui.memory.plan import plan
from kvtui.memory.units import gib
from kvtui.text import GIB


def test_llama_7b_fp16_at_2048_tokens_is_one_gib():
    llama = catalogue.find("LLaMA-7B")
    assert kv.bytes_per_sequence(llama, "fp16", "fp16", 2048) == 1_073_741_824


def test_ten_users_are_ten_gib():
    llama = catalogue.find("LLaMA-7B")
    assert kv.kv_bytes(llama, "fp16", "fp16", [2048] * 10) == 10 * GIB


def test_8192_tokens_are_four_gib():
    llama = catalogue.find("LLaMA-7B")
    assert kv.bytes_per_sequence(llama, "fp16", "fp16", 8192) == 4 * GIB


def test_70b_at_4096_tokens_as_mha_gqa_mqa():
    llama = catalogue.find("Llama-2-70B")
    sizes = {
        label: kv.bytes_per_sequence(variant, "fp16", "fp16", 4096)
        for label, _, variant in model.head_variants(llama)
    }
    assert sizes == {"MHA": 10 * GIB, "GQA": GIB * 5 // 4, "MQA": GIB * 5 // 32}


def test_24_gb_with_14_of_weights_and_8_of_cache_serves_eight():
    told = budget.answer(
        budget.Question(
            catalogue.find("LLaMA-7B"),
            cards.find("24GB"),
            k="fp16",
            v="fp16",
            context=2048,
            concurrency=8,
            weights_bytes=14 * GIB,
            kv_budget_bytes=8 * GIB,
        )
    )
    assert told.max_concurrency == 8
    assert told.fits
    assert told.max_context == 2048
    parts = told.budget
    assert (parts.weights_bytes, parts.kv_bytes) == (14 * GIB, 8 * GIB)
    total = parts.weights_bytes + parts.overhead_bytes + parts.kv_bytes + parts.outside_bytes
    assert total == 24 * GIB


def test_the_formula_shows_its_numbers():
    llama = catalogue.find("Llama-3.1-8B")
    assert kv.formula(llama, "fp16", "fp16", 2048) == (
        "2 × 32 layers × 2,048 tokens × 8 KV heads × 128 × 2 B × 1 = 0.25 GiB"
    )


def test_the_examples_give_what_they_say():
    for example in EXAMPLES[:-1]:
        assert f"{gib(plan(example.options)[1].total_bytes)} of KV" == example.figure
    told = plan(EXAMPLES[-1].options)[1]
    assert f"{told.max_concurrency} requests of 2,048 tokens" == EXAMPLES[-1].figure
