"""Think tags cut anywhere: the text is told apart, and no chunk is lost."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kvtui.stream.think import ThinkTags


def told_apart(chunks: list[str]) -> tuple[str, str, list[float]]:
    """(reasoning, content, the distinct times of all pieces)."""
    tags = ThinkTags()
    pieces = [piece for t, chunk in enumerate(chunks) for piece in tags.feed(float(t), chunk)]
    pieces += tags.flush()
    texts = {"reasoning": "", "content": ""}
    for _, kind, text in pieces:
        texts[kind] += text
    return texts["reasoning"], texts["content"], sorted({t for t, _, _ in pieces})


@pytest.mark.parametrize(
    ("text", "reasoning", "content"),
    [
        ("<think>hm</think>yes", "hm", "yes"),
        ("\n<think>\nhm\n</think>\n\nyes", "\nhm\n", "\n\nyes"),
        ("<thinking>a</think>b</thinking>c", "a</think>b", "c"),
        ("<think>never closed", "never closed", ""),
        ("<think>half a tag </thi", "half a tag </thi", ""),
        ("<html>no tag", "", "<html>no tag"),
        ("<thi", "", "<thi"),
        ("text <think>later</think>", "", "text <think>later</think>"),
        ("<think></think>", "", ""),
        ("\n\nHi \n", "", "\n\nHi \n"),
        ("  ", "", "  "),
    ],
)
def test_texts(text: str, reasoning: str, content: str) -> None:
    for chunks in ([text], list(text), [text[:5], text[5:9], text[9:]]):
        found = told_apart([chunk for chunk in chunks if chunk])
        assert found[:2] == (reasoning, content)


@given(
    st.lists(st.sampled_from(["<", "th", "ink>", "</think>", "</", "a", " ", "think>"]), min_size=1)
)
def test_every_chunk_comes_out_at_its_own_time(chunks: list[str]) -> None:
    reasoning, content, times = told_apart(chunks)
    assert times == [float(t) for t in range(len(chunks))]
    assert len(reasoning) + len(content) <= len("".join(chunks))
