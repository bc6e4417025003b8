"""Search over the history: counts, wrapping round, case, text that goes and comes."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kvtui.ui.stream import history as module
from kvtui.ui.stream.history import History
from kvtui.ui.stream.search import Search

WORDS = st.lists(st.sampled_from(["ab", "abc", "x", "缓存", "É", "\n"]), max_size=60)


def filled(text: str, width: int = 20) -> tuple[History, Search]:
    history = History(width)
    history.append(text)
    return history, Search(history)


@given(WORDS, st.sampled_from(["ab", "c x", "缓", "é", "x\n"]), st.integers(4, 30))
def test_every_match_is_visited_once_round(words: list[str], query: str, width: int) -> None:
    history, search = filled(" ".join(words), width)
    search.look(query, 0)
    kept = history.kept()
    assert search.count == kept.lower().count(query)
    visited = []
    for number in range(1, search.count + 1):
        assert search.number == number
        assert search.place is not None
        at = search.place - history.first
        assert kept[at : at + len(query)].lower() == query
        visited.append(search.place)
        search.step(1)
    assert len(set(visited)) == search.count
    if visited:
        assert search.place == visited[0]
        search.step(-1)
        assert search.place == visited[-1]


def test_a_capital_in_the_query_asks_for_capitals() -> None:
    _, search = filled("Cache cache CACHE")
    search.look("cache", 0)
    assert search.count == 3
    search.look("Cache", 0)
    assert search.count == 1


def test_a_letter_that_grows_in_lower_case_moves_nothing() -> None:
    history, search = filled("İİİ needle")
    search.look("needle", 0)
    assert search.place == history.kept().index("needle")


def test_what_is_gone_is_found_no_more() -> None:
    history, search = filled("needle one needle two")
    search.look("needle", 5)
    assert (search.number, search.count) == (2, 2)
    history.clear()
    history.append("other needle")
    search.recount()
    assert (search.number, search.count, search.place) == (1, 1, 6)
    history.clear()
    search.recount()
    assert (search.number, search.count, search.place) == (0, 0, None)


def test_a_match_that_fell_out_at_the_front_gives_way(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MAX_CHARS", 200)
    history, search = filled("needle first\n")
    search.look("needle", 0)
    for number in range(40):
        history.append(f"line {number} needle\n")
    search.recount()
    assert history.first > 0
    assert search.place is not None
    assert search.place >= history.first
    assert search.count == history.kept().count("needle")
