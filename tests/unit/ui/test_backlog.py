"""More text than a frame can wrap comes over several, whole, in order and with its reads."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from kvtui.ui.stream.frame import Backlog, Passage

READS = st.lists(st.tuples(st.integers(1, 9), st.sampled_from([0.1, 0.2, 0.3])), max_size=6)


def passage(kind: str, reads: list[tuple[int, float]], replaces: bool = False) -> Passage:
    size = sum(size for size, _ in reads)
    return Passage(kind, "".join(chr(97 + n % 26) for n in range(size)), replaces, tuple(reads))


def gap_of_each(passages: list[Passage]) -> list[tuple[str, str, float]]:
    found = []
    for each in passages:
        gaps = [gap for size, gap in each.marks for _ in range(size)]
        assert len(gaps) == len(each.text)
        found += [(each.kind, char, gap) for char, gap in zip(each.text, gaps, strict=True)]
    return found


@given(st.lists(st.tuples(st.sampled_from(["content", "reasoning"]), READS)), st.integers(1, 12))
def test_nothing_is_lost_and_no_frame_takes_more(
    given_: list[tuple[str, list[tuple[int, float]]]], most: int
) -> None:
    whole = [passage(kind, reads) for kind, reads in given_]
    backlog = Backlog()
    frames = [backlog.take(whole, most)]
    while backlog:
        frames.append(backlog.take(most=most))
    assert all(sum(len(each.text) for each in frame) <= most for frame in frames)
    full = [sum(len(each.text) for each in frame) == most for frame in frames]
    assert all(before for before, _ in pairwise(full))  # each but the last is full
    assert gap_of_each([each for frame in frames for each in frame]) == gap_of_each(whole)


def test_what_replaces_all_text_does_so_once() -> None:
    backlog = Backlog()
    (first,) = backlog.take([passage("content", [(9, 0.1)], replaces=True)], 4)
    (rest,) = backlog.take()
    assert first.replaces
    assert not rest.replaces
    assert not backlog
