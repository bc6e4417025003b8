"""One sequence's text and its endings."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kvtui.engine.generate import Finish, Request, Sequence, StopText, Token
from kvtui.engine.sampling import SamplingParams
from kvtui.engine.tokenizer import Tokenizer

GREEDY = SamplingParams(temperature=0.0)


def tokens(tokenizer: Tokenizer, ids: list[int], **options: object) -> list[Token]:
    """Feed logits that choose `ids` until the sequence ends."""
    request = Request(ids=(1,), max_tokens=50, sampling=GREEDY)
    request = Request(**{**{f: getattr(request, f) for f in request.__slots__}, **options})
    sequence = Sequence(request, lambda token: None, tokenizer)
    out = []
    for i in ids:
        logits = np.zeros(len(tokenizer.tokens), np.float32)
        logits[i] = 9
        out.append(sequence.accept(logits))
        if out[-1].finish is not None:
            break
    return out


def text(found: list[Token]) -> str:
    return "".join(token.text for token in found)


def test_ends_with_the_model_s_end(tokenizer: Tokenizer) -> None:
    found = tokens(tokenizer, [*tokenizer.encode("Hi"), 2, 2])
    assert text(found) == "Hi"
    assert [token.finish for token in found] == [None, None, Finish.STOP]
    assert found[-1].count == 3


def test_ends_with_the_limit(tokenizer: Tokenizer) -> None:
    found = tokens(tokenizer, tokenizer.encode("Hello"), max_tokens=3)
    assert text(found) == "Hel"
    assert found[-1].finish is Finish.LENGTH


def test_the_end_can_be_ignored_or_put_off(tokenizer: Tokenizer) -> None:
    x, y = tokenizer.encode("xy")
    ignored = tokens(tokenizer, [x, 2, y], ignore_eos=True, max_tokens=3)
    assert text(ignored) == "xy"
    assert ignored[-1].finish is Finish.LENGTH
    late = tokens(tokenizer, [2, 2, 2], min_tokens=2)
    assert [token.token_id == 2 for token in late] == [False, False, True]
    assert late[-1].finish is Finish.STOP


def test_a_stop_text_ends_and_is_left_out(tokenizer: Tokenizer) -> None:
    found = tokens(tokenizer, tokenizer.encode("abcSTOPdef"), stop=("STOP",))
    assert text(found) == "abc"
    assert found[-1].finish is Finish.STOP
    assert found[-1].count == 7


def test_text_that_only_looked_like_a_stop_comes_in_the_end(tokenizer: Tokenizer) -> None:
    found = tokens(tokenizer, tokenizer.encode("abcST"), stop=("STOP",), max_tokens=5)
    assert text(found) == "abcST"


def test_half_a_character_at_the_limit_is_marked(tokenizer: Tokenizer) -> None:
    found = tokens(tokenizer, tokenizer.encode("aé"), max_tokens=2)
    assert [token.text for token in found] == ["a", "\ufffd"]
    assert len(found) == 2


@pytest.mark.parametrize("stops", [("ab",), ("aba", "b"), ("",), ("aab", "ba")])
@given(pieces=st.lists(st.text("ab", max_size=4), max_size=12))
def test_stop_text_cuts_where_a_search_would(stops: tuple[str, ...], pieces: list[str]) -> None:
    stopper = StopText(stops)
    out = "".join(stopper.add(piece) for piece in pieces)
    whole = "".join(pieces)
    if stopper.stopped:
        ends = [whole.find(stop) for stop in stops if stop and stop in whole]
        assert out == whole[: min(ends)] or any(
            out + stop == whole[: len(out + stop)] for stop in stops
        )
        assert not any(stop and stop in out for stop in stops)
    else:
        assert out + stopper.finish() == whole
        assert not any(stop and stop in whole for stop in stops)
