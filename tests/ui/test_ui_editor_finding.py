"""What matches where, and what a replacement becomes; a bad or endless pattern is a sentence, not a hang."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reverie.text.summaries import utf16_length
from reverie.ui.editor.find import FindQuery, TextMatch, find, replacement
from reverie.ui.editor.size_gauge import cut_position


@pytest.mark.parametrize(
    ("text", "query", "spans"),
    [
        ("Retry retry RETRY", FindQuery("retry"), [(0, 5), (6, 11), (12, 17)]),
        ("Retry retry", FindQuery("retry", case=True), [(6, 11)]),
        ("max max_retries max", FindQuery("max", word=True), [(0, 3), (16, 19)]),
        ("a.b aXb", FindQuery("a.b"), [(0, 3)]),
        ("a.b aXb", FindQuery("a.b", regex=True), [(0, 3), (4, 7)]),
        ("one\ntwo\n", FindQuery("^t", regex=True), [(4, 5)]),
        ("ÄÖ äö", FindQuery("äö"), [(0, 2), (3, 5)]),
        ("🙂 x", FindQuery("x"), [(3, 4)]),
        ("aaa", FindQuery("b*", regex=True), []),
        ("aaa", FindQuery(""), []),
    ],
)
def test_places_are_those_of_the_document(text: str, query: FindQuery, spans: list[tuple[int, int]]) -> None:
    assert [(place.start, place.end) for place in find(text, query).found] == spans


@settings(max_examples=60, deadline=None)
@given(st.text("aA b🙂.*\\(\n", max_size=40), st.text("aA b🙂.*\\(", min_size=1, max_size=3))
def test_plain_words_are_found_wherever_they_stand(text: str, words: str) -> None:
    found = find(text, FindQuery(words, case=True)).found
    units = text.encode("utf-16-le")
    assert len(found) == text.count(words)
    for place in found:
        assert units[2 * place.start : 2 * place.end].decode("utf-16-le") == words


def test_a_wrong_expression_says_where() -> None:
    places = find("text", FindQuery("a(b", regex=True))
    assert not places.found
    assert "invalid" in places.error
    assert find("text", FindQuery("(", regex=False)).error == ""


@pytest.mark.parametrize("pattern", ["(a+)+$", "(a|a)*b", "(.*a){20}b"])
def test_a_pattern_that_would_try_for_ever_gives_up(pattern: str) -> None:
    places = find("a" * 5000 + "!", FindQuery(pattern, regex=True))
    assert not places.found


def test_a_replacement_is_literal_unless_it_is_an_expression() -> None:
    place = TextMatch(0, 7, ("ab: 12", "ab", "12"))
    assert replacement(place, r"\1 $1 \n", FindQuery("x")) == r"\1 $1 \n"
    assert replacement(place, r"\2-${1}\n$$\\", FindQuery("x", regex=True)) == "12-ab\n$\\"
    assert replacement(place, r"[\7]", FindQuery("x", regex=True)) == "[]"


def test_the_next_and_the_last_match_go_round() -> None:
    places = find("x y x y x", FindQuery("x"))
    assert [places.at_or_after(at) for at in (0, 1, 5, 9)] == [0, 1, 2, 0]
    assert [places.before(at) for at in (0, 1, 5, 9)] == [2, 0, 1, 2]
    assert find("", FindQuery("x")).at_or_after(0) == -1
    assert find("", FindQuery("x")).before(0) == -1


@settings(max_examples=60, deadline=None)
@given(st.text("aé🙂\n\r", max_size=30), st.integers(0, 40))
def test_the_agent_stops_reading_where_its_bytes_end(text: str, cap: int) -> None:
    content = text.encode()
    cut = cut_position(content, cap)
    if not cap or len(content) <= cap:
        assert cut is None
    else:
        assert cut is not None
        assert cut <= utf16_length(content[:cap].decode("utf-8", "ignore"))
    assert cut_position(b"\xef\xbb\xbfab\r\ncd", 8) == 4
