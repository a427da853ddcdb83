"""Each line of a memory is told to whoever brought it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from helpers.profiles import examples
from reverie.memory.diff import blame, lines_of

LINES = st.lists(st.sampled_from([b"a\n", b"b\n", b"c\r\n", b"\n", b"d\n"]), max_size=12)


def told(*versions: bytes | None) -> list[tuple[bytes, int]]:
    """Oldest first, as a person wrote them."""
    numbered = [(number, content) for number, content in enumerate(versions)]
    return [(line.text, line.version) for line in blame(reversed(numbered))]


def test_a_line_belongs_to_the_version_that_brought_it() -> None:
    assert told(b"one\ntwo\n", b"one\n1.5\ntwo\n", b"zero\none\n1.5\ntwo!\n") == [
        (b"zero\n", 2),
        (b"one\n", 0),
        (b"1.5\n", 1),
        (b"two!\n", 2),
    ]


def test_a_line_that_went_and_came_back_belongs_to_the_one_who_brought_it_back() -> None:
    assert told(b"a\nb\n", b"a\n", b"a\nb\n") == [(b"a\n", 0), (b"b\n", 2)]


def test_what_began_again_after_a_deletion_owes_nothing_to_what_was_before() -> None:
    assert told(b"a\n", None, b"a\n") == [(b"a\n", 2)]


@pytest.mark.parametrize("versions", [(), (None,), (b"x", None), (b"",)])
def test_no_text_has_no_lines(versions: tuple[bytes | None, ...]) -> None:
    assert told(*versions) == []


def test_another_ending_is_another_line_and_a_last_line_without_one_is_a_line() -> None:
    assert told(b"a\nb", b"a\r\nb") == [(b"a\r\n", 1), (b"b", 0)]
    assert told(b"a\nb", b"a\nb\n") == [(b"a\n", 0), (b"b\n", 1)]


def test_versions_are_read_only_while_an_origin_is_open() -> None:
    read: list[int] = []

    def versions() -> Iterator[tuple[int, bytes]]:
        for number, content in ((3, b"new\n"), (2, b"old\n"), (1, b"older\n")):
            read.append(number)
            yield number, content

    assert [(line.text, line.version) for line in blame(versions())] == [(b"new\n", 3)]
    assert 1 not in read


@settings(max_examples=examples(100))
@given(st.lists(LINES, min_size=1, max_size=6))
def test_the_lines_are_those_of_the_newest_and_stand_in_every_version_since_their_own(
    history: list[list[bytes]],
) -> None:
    versions = [b"".join(lines) for lines in history]
    lines = told(*versions)
    assert b"".join(text for text, _ in lines) == versions[-1]
    for text, by in lines:
        assert all(text in lines_of(version) for version in versions[by:])
    first = [text for text, by in lines if by == 0]
    remaining = iter(lines_of(versions[0]))
    assert all(text in remaining for text in first), "the oldest lines keep their order"
