"""Names found, matched, or refused."""

import subprocess
import sys
import time

import pytest

from kvtui.memory import cards, catalogue
from kvtui.memory.errors import AmbiguousNameError, UnknownNameError
from kvtui.text import GIB, MIB


@pytest.mark.parametrize(
    ("asked", "found"),
    [
        ("LLaMA-7B", "LLaMA-7B"),
        ("llama-2-70b", "Llama-2-70B"),
        ("meta-llama/Llama-3.1-8B-Instruct", "Llama-3.1-8B"),
        ("Meta-Llama-3.1-70B", "Llama-3.1-70B"),
        ("llama3.1:8b", "Llama-3.1-8B"),
        ("Qwen/Qwen3-8B", "Qwen3-8B"),
        ("QWEN3-32B", "Qwen3-32B"),
        ("mistral-7b", "Mistral-7B-v0.1"),
        ("HuggingFaceTB/SmolLM2-135M-Instruct", "SmolLM2-135M"),
        ("Qwen3-235B-A22B-FP8", "Qwen3-235B-A22B"),
        ("DeepSeek-V3.2-Exp", "DeepSeek-V3.2"),
    ],
)
def test_find(asked, found):
    assert catalogue.find(asked).id == found


def test_an_unknown_model_gets_suggestions():
    with pytest.raises(UnknownNameError, match=r"did you mean Llama-3.1-8B"):
        catalogue.find("lama-3.1-8b")


def test_a_name_that_fits_many_lists_them():
    with pytest.raises(AmbiguousNameError, match=r"Llama-3.1-8B, Llama-3.1-70B, Llama-3.1-405B"):
        catalogue.find("Llama-3.1")


def test_a_family_is_no_other_family():
    with pytest.raises(AmbiguousNameError) as caught:
        catalogue.find("Qwen3")
    assert all(name.startswith("Qwen3") for name in caught.value.suggestions)


@pytest.mark.parametrize(
    ("endpoint", "found", "weights"),
    [
        ("meta-llama/Llama-3.1-8B-Instruct", "Llama-3.1-8B", None),
        ("Qwen/Qwen3-8B-AWQ", "Qwen3-8B", "int4"),
        ("RedHatAI/Llama-3.3-70B-Instruct-FP8-dynamic", "Llama-3.3-70B", "fp8"),
        ("mistralai/Mistral-7B-Instruct-v0.3", "Mistral-7B-v0.3", None),
        ("DeepSeek-R1-Distill-Qwen-14B", "Qwen2.5-14B", None),
    ],
)
def test_an_endpoints_model_is_recognised(endpoint, found, weights):
    matched = catalogue.match(endpoint)
    assert matched is not None
    assert (matched.model.id, matched.weights_dtype) == (found, weights)
    assert found in matched.how


@pytest.mark.parametrize(
    "endpoint",
    [
        "gpt-4o",
        "qwen-38b",
        "Qwen3",
        "mistral:7b",
        "deepseek-chat",
        "kvtui-tiny",
        "",
        "Qwen3-8B-foo",
    ],
)
def test_no_match_where_it_is_not_sure(endpoint):
    assert catalogue.match(endpoint) is None


def test_profiles_are_exactly_that_many_gib():
    assert [cards.find(name).memory_bytes for name in ("24GB", "40 GB", "80gb")] == [
        24 * GIB,
        40 * GIB,
        80 * GIB,
    ]


@pytest.mark.parametrize(
    ("asked", "name", "mib"),
    [
        ("RTX 4090", "RTX 4090", 24564),
        ("4090", "RTX 4090", 24564),
        ("NVIDIA GeForce RTX 4090", "RTX 4090", 24564),
        ("L4", "L4", 23034),
        ("H100", "H100 80GB", 81559),
        ("A100 80GB", "A100 80GB", 81920),
        ("A100-40", "A100 40GB", 40960),
        ("L40S", "L40S", 46068),
    ],
)
def test_cards_hold_what_nvidia_smi_says(asked, name, mib):
    card = cards.find(asked)
    assert (card.name, card.memory_bytes) == (name, mib * MIB)


@pytest.mark.parametrize("asked", ["RTX 5000", "5070", "3090 ti", "H100 40GB", "A1000", ""])
def test_another_card_is_not_taken_for_it(asked):
    with pytest.raises(UnknownNameError):
        cards.find(asked)


def test_a_vague_card_lists_its_choices():
    with pytest.raises(AmbiguousNameError, match="A100 40GB, A100 80GB"):
        cards.find("A100")


def test_own_cards_come_first():
    mine = cards.Card("mine", "H100 80GB", 70 * GIB, source="own")
    assert cards.find("H100 80GB", own=[mine]) is mine
    assert cards.search("h100", own=[mine])[0] is mine


def test_every_row_says_where_it_was_read():
    assert all(model.source for model in catalogue.catalogue())
    assert all(card.source for card in cards.catalogue())


def test_importing_brings_nothing_heavy():
    code = (
        "import sys; before = set(sys.modules)\n"
        "from kvtui.memory import budget, cards, catalogue, kv, model, precision\n"
        "print(*sorted({name.partition('.')[0] for name in set(sys.modules) - before}))"
    )
    loaded = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    ).stdout.split()
    assert not {"numpy", "textual", "openai", "httpx", "tomllib", "asyncio"} & set(loaded)


def test_a_catalogue_is_read_in_a_moment():
    catalogue.catalogue.cache_clear()
    started = time.process_time()
    catalogue.catalogue()
    assert time.process_time() - started < 0.2
