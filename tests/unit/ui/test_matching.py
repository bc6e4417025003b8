"""What a picker keeps of what is typed, in which order, and which letters it shows as typed."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kvtui.ui.matching import match


@pytest.mark.parametrize(
    ("query", "name", "more", "typed"),
    [
        ("", "Llama", "", ""),
        ("lla", "Llama-3.1-8B", "", "Lla"),
        ("8b", "Llama-3.1-8B", "", "8B"),
        ("8b llama", "Llama-3.1-8B", "", "Llama8B"),
        ("l318", "Llama-3.1-8B", "", "L318"),
        ("24", "NVIDIA L4", "24gb 22.49 GiB", ""),
        ("dark", "kvtui-dark", "dark", "dark"),
    ],
)
def test_what_fits(query: str, name: str, more: str, typed: str) -> None:
    found = match(query, name, more)
    assert found is not None
    assert "".join(name[at] for at in sorted(found.places)) == typed


@pytest.mark.parametrize("name", ["Straße", "İstanbul", "ŉ"])
def test_a_letter_that_has_no_single_small_one_is_found(name: str) -> None:
    assert match(name, name) is not None
    assert match(name, "a", name) is not None


@pytest.mark.parametrize(("query", "name"), [("xyz", "Llama"), ("ama", "b lx amb"), ("8b q", "8B")])
def test_what_does_not(query: str, name: str) -> None:
    assert match(query, name) is None


def test_a_beginning_is_better_than_a_middle_and_that_than_scattered_letters() -> None:
    names = ["old-h100-box", "xh100", "H100 SXM", "Hopper 1, 00"]
    ranks = {name: match("h100", name).rank for name in names}  # type: ignore[union-attr]
    assert sorted(names, key=ranks.__getitem__) == [
        "H100 SXM", "old-h100-box", "xh100", "Hopper 1, 00",
    ]  # fmt: skip


@given(st.text(max_size=30), st.text(max_size=30), st.text(max_size=10))
def test_any_text_is_safe_and_places_are_in_the_name(query: str, name: str, more: str) -> None:
    found = match(query, name, more)
    assert found is None or all(0 <= at < len(name) for at in found.places)
    assert match(name, name) is not None
