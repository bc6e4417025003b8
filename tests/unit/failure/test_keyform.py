from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kvtui.failure.keyform import inspect_key

GOOD = "sk-" + "a1B2c3D4" * 6


@pytest.mark.parametrize("key", [GOOD, "test", "EMPTY", "ollama", "sk-test-1234", "k", "my-key"])
def test_nothing_is_wrong_with(key: str) -> None:
    form = inspect_key(key)
    assert (form.problem, form.kind, form.length) == (None, None, len(key))


@pytest.mark.parametrize(
    ("key", "problem"),
    [
        (GOOD + " ", "ends with a space (character 52)"),
        (GOOD + "\n", "ends with a line break (character 52)"),
        (GOOD + "\r\n", "ends with a line break (character 52)"),
        (" " + GOOD, "begins with a space (character 1)"),
        (f'"{GOOD}"', "stands in quotes (characters 1 and 53)"),
        (f"{GOOD}'", "ends with a quote (character 52)"),
        (f"\u201c{GOOD}", "begins with a quote (character 1)"),
        ("sk-abc def", "has a space at character 7"),
        ("sk-abc\u200bdef1", "has a zero-width space at character 7"),
        ("sk-abc\u00a0def1", "has a no-break space at character 7"),
        ("sk-abcдef12", "has a character that is not ASCII at character 7"),
        ("Bearer " + GOOD, 'begins with "Bearer", which belongs to the header, not to the key'),
        ("bearer " + GOOD, 'begins with "Bearer", which belongs to the header, not to the key'),
        ("OPENAI_API_KEY=" + GOOD, "begins with the name of a variable and an equals sign"),
        ("", "is empty"),
        (" \n", "is nothing but white space"),
    ],
)
def test_problem_and_its_place(key: str, problem: str) -> None:
    form = inspect_key(key)
    assert form.problem == problem
    assert form.kind is None


@pytest.mark.parametrize(
    "key",
    [
        "sk-xxx",
        "sk-xxxxxxxxxxxxxxxxxxxx",
        "sk-...",
        "sk-ant-xxxxx",
        "sk-proj-****",
        "your-api-key",
        "YOUR_API_KEY",
        "sk-your-key-here",
        "your_openai_api_key_here",
        "<your key>",
        "<API_KEY>",
        "insert-your-key",
        "api-key-here",
        "changeme",
        "REPLACE_ME",
        "你的密钥",
        "$OPENAI_API_KEY",
        "${OPENAI_API_KEY}",
        "%OPENAI_API_KEY%",
        "$env:OPENAI_API_KEY",
        "{{OPENAI_API_KEY}}",
    ],
)
def test_placeholders(key: str) -> None:
    assert inspect_key(key).kind == "placeholder"


@pytest.mark.parametrize(
    "key",
    [
        "sk-ant-oat01-abcdefghijk",
        "ya29.a0AfH6SMBxyz",
        "gho_abcdefghijklmnop",
        "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2ln",
    ],
)
def test_login_tokens(key: str) -> None:
    form = inspect_key(key)
    assert form.kind == "oauth"
    assert form.problem is not None


@pytest.mark.parametrize(
    ("key", "owner"),
    [
        ("sk-or-v1-0123456789abcdef", "OpenRouter"),
        ("gsk_0123456789abcdef", "Groq"),
        ("sk-ant-api03-0123456789", "Anthropic"),
        (GOOD, None),
    ],
)
def test_owner(key: str, owner: str | None) -> None:
    assert inspect_key(key).belongs_to == owner


@given(st.text(alphabet=st.characters(codec="utf-8"), min_size=12, max_size=120))
def test_no_part_of_the_key_is_given_back(key: str) -> None:
    form = inspect_key(key)
    said = f"{form.problem}{form.kind}{form.belongs_to}"
    assert form.length == len(key)
    assert key not in said
    assert key.strip()[:12] not in said or not key.strip()
