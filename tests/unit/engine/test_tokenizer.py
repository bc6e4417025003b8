"""Text to ids and back; words split where the reference patterns split them."""

from __future__ import annotations

import random
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tinygguf import MERGES, byte_tokens, sentencepiece_metadata, token_texts

from kvtui.engine.bpe import ByteLevel, BytePairs, byte_alphabet
from kvtui.engine.pretokenize import Pretokenizer
from kvtui.engine.tokenizer import Detokenizer, Tokenizer


def split(text: str, name: str = "smollm") -> list[str]:
    return list(Pretokenizer(name).split(text))


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("Hello world", ["Hello", " world"]),
        ("it's we'll", ["it", "'s", " we", "'ll"]),
        ("a1234b", ["a", "1", "2", "3", "4", "b"]),
        ("x  y", ["x", " ", " y"]),
        ("x  1", ["x", "  ", "1"]),
        ("end  \n", ["end", "  \n"]),
        ("naïve café", ["naïve", " café"]),
        ("日本語です", ["日本語です"]),
        ("½ cup", ["½", " cup"]),
        ("x²³", ["x", "²", "³"]),
        ("Ⅻ٣", ["Ⅻ", "٣"]),
        ("wow!!! ok", ["wow", "!!!", " ok"]),
        ("a_b", ["a", "_", "b"]),
        ("e\u0301", ["e", "\u0301"]),
        ("a\u00a0b", ["a", "\u00a0", "b"]),
        ("a\x1cb", ["a", "\x1c", "b"]),
        ("🙂🙂 x", ["🙂🙂", " x"]),
    ],
)
def test_smollm_splits(text: str, words: list[str]) -> None:
    assert split(text) == words


def test_gpt2_keeps_numbers_together_and_llama3_takes_three_digits() -> None:
    assert split("a 12345", "gpt-2") == ["a", " 12345"]
    assert split("a 12345", "llama-bpe") == ["a", " ", "123", "45"]
    assert split("IT'S", "llama-bpe") == ["IT", "'S"]


@given(st.text())
def test_words_make_up_the_text(text: str) -> None:
    for name in ("smollm", "gpt-2", "llama-bpe"):
        assert "".join(split(text, name)) == text


def test_the_byte_alphabet_is_gpt2s() -> None:
    alphabet = byte_alphabet()
    assert len(set(alphabet)) == 256
    assert alphabet[ord("A")] == "A"
    assert alphabet[ord(" ")] == "Ġ"
    assert alphabet[ord("\n")] == "Ċ"
    assert sorted(alphabet) == sorted(byte_tokens())


def slow_merge(word: str, merges: list[str]) -> list[str]:
    """GPT-2's own loop: the lowest rank present merges everywhere, from the left."""
    ranks = {tuple(merge.split(" ")): rank for rank, merge in enumerate(merges)}
    pieces = list(word)
    while True:
        pairs = {pair for pair in pairwise(pieces) if pair in ranks}
        if not pairs:
            return pieces
        best = min(pairs, key=lambda pair: ranks[pair])
        merged, i = [], 0
        while i < len(pieces):
            if tuple(pieces[i : i + 2]) == best:
                merged.append("".join(best))
                i += 2
            else:
                merged.append(pieces[i])
                i += 1
        pieces = merged


def test_merges_as_the_slow_loop_does() -> None:
    source = random.Random(5)
    pieces, merges = list("abc"), []
    for _ in range(40):
        merge = f"{source.choice(pieces)} {source.choice(pieces)}"
        joined = merge.replace(" ", "")
        if merge not in merges and joined not in pieces:
            merges.append(merge)
            pieces.append(joined)
    ids = {piece: i for i, piece in enumerate(pieces)}
    pairs = BytePairs(ids, merges)
    for _ in range(300):
        word = "".join(source.choices("abc", k=source.randint(1, 30)))
        assert [pieces[i] for i in pairs.encode_word(word)] == slow_merge(word, merges)


@given(st.text())
def test_round_trip(tokenizer: Tokenizer, text: str) -> None:
    assert tokenizer.decode(tokenizer.encode(text)) == text


def test_merges_apply(tokenizer: Tokenizer) -> None:
    tokens = token_texts()
    assert [tokens[i] for i in tokenizer.encode("the the")] == ["the", "Ġthe"]
    assert MERGES[1] == "th e"


def test_special_tokens_are_read_only_where_asked(tokenizer: Tokenizer) -> None:
    assert tokenizer.encode("<|im_end|>", specials=True) == [2]
    assert 2 not in tokenizer.encode("<|im_end|>")
    assert tokenizer.decode(tokenizer.encode("<|im_end|>")) == "<|im_end|>"
    assert tokenizer.decode([1, *tokenizer.encode("x"), 2]) == "x"


def test_the_end_tokens_are_known(tokenizer: Tokenizer) -> None:
    assert tokenizer.eos_ids == {0, 2}


@given(st.text())
def test_the_stream_says_what_the_whole_says(tokenizer: Tokenizer, text: str) -> None:
    detokenizer = Detokenizer(tokenizer)
    pieces = [detokenizer.add(i) for i in tokenizer.encode(text)]
    assert "".join(pieces) + detokenizer.finish() == text


def test_an_unfinished_character_waits(tokenizer: Tokenizer) -> None:
    detokenizer = Detokenizer(tokenizer)
    pieces = [detokenizer.add(i) for i in tokenizer.encode("é🙂")]
    assert pieces == ["", "é", "", "", "", "🙂"]


def test_a_character_that_never_ends_is_replaced(tokenizer: Tokenizer) -> None:
    detokenizer = Detokenizer(tokenizer)
    first, *_ = tokenizer.encode("é")
    assert detokenizer.add(first) == ""
    assert detokenizer.add(tokenizer.encode("x")[0]) == "\ufffdx"
    detokenizer.add(first)
    assert detokenizer.finish() == "\ufffd"


def test_lone_surrogates_do_not_break_encoding(tokenizer: Tokenizer) -> None:
    assert tokenizer.decode(tokenizer.encode("a\ud800b")) == "a?b"


def test_padded_vocabularies_stand_for_nothing(tokenizer: Tokenizer) -> None:
    assert tokenizer.token_bytes(10**6) == b""


@pytest.fixture(scope="module")
def pieces() -> Tokenizer:
    return Tokenizer.from_metadata(sentencepiece_metadata(), "pieces")


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("the", ["▁the"]),
        ("the  and", ["▁the", "▁", "▁and"]),
        ("the  ", ["▁the", "▁▁"]),
        ("sing", ["▁", "s", "ing"]),
        ("é½", ["▁", "é", "<0xC2>", "<0xBD>"]),
        ("", []),
    ],
)
def test_sentencepiece_merges_by_score(pieces: Tokenizer, text: str, tokens: list[str]) -> None:
    assert [pieces.tokens[i] for i in pieces.encode(text)] == tokens


@given(st.text())
def test_sentencepiece_round_trip(pieces: Tokenizer, text: str) -> None:
    if "▁" not in text:
        assert pieces.decode(pieces.encode(text)) == (" " + text if text else "")


def test_sentencepiece_prompts_begin_with_bos(pieces: Tokenizer) -> None:
    assert pieces.bos_id == 1
    assert pieces.eos_ids == {2}


def test_tokens_defined_by_users_are_always_read() -> None:
    tokens = [*token_texts(), "<think>"]
    last = len(tokens) - 1
    tokenizer = Tokenizer(tokens, ByteLevel(tokens, MERGES, [last], "smollm"), defined_ids=[last])
    assert tokenizer.encode("<think>x")[0] == last
    assert tokenizer.decode([last]) == "<think>"
