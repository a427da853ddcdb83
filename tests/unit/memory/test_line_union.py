"""The union of two notes has every line of both."""

from __future__ import annotations

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from helpers.profiles import examples
from reverie.memory import front_matter as frontmatter
from reverie.memory.union import OTHER_FRONT_MATTER, lost_lines, union

line = st.sampled_from(["", "a", "b", "b ", "# t", "---", "description: x", "k: 1", "é", "\ufeffz", "\r"])
ending = st.sampled_from(["\n", "\r\n"])
note = st.builds(
    lambda bom, lines, end, last: (bom + end.join(lines) + (end if last else "")).encode(),
    st.sampled_from(["", "\ufeff"]),
    st.lists(line, max_size=12),
    ending,
    st.booleans(),
)


@settings(max_examples=examples(300), deadline=None)
@given(note, note)
@example(b"---\ndescription: a\n---\nx", b"---\r\ndescription: b\r\n---\r\ny")
@example(b"x", b"x\n")
def test_no_line_of_either_version_is_missing(first: bytes, second: bytes) -> None:
    merged = union(first, second)
    assert merged is not None
    assert lost_lines(merged, first, second) == ()


@settings(max_examples=examples(150), deadline=None)
@given(note)
def test_a_version_merged_with_itself_or_with_nothing_stays_as_it_is(text: bytes) -> None:
    assert union(text, text) == text
    assert union(text, b"") == text


def test_what_both_say_stands_once_and_the_first_comes_first() -> None:
    assert union(b"t\na\nmine\nz\n", b"t\na\ntheirs\nz\nmore\n") == b"t\na\nmine\ntheirs\nz\nmore\n"
    assert union(b"t\na\nb\n", b"t\nb\n") == b"t\na\nb\n"


def test_taken_over_lines_get_the_endings_of_the_first() -> None:
    assert union(b"a\r\nb\r\n", b"a\nc\n") == b"a\r\nb\r\nc\r\n"


def test_the_agent_reads_the_first_front_matter_and_the_other_stays_as_text() -> None:
    merged = union(b"---\ndescription: mine\n---\na", b"---\ndescription: theirs\npinned: x\n---\na\nb\n")
    assert merged is not None
    text = merged.decode()
    assert frontmatter.declared(text) == "mine"
    assert text.endswith(f"\n{OTHER_FRONT_MATTER}\n\ndescription: theirs\npinned: x\n")


def test_a_note_without_front_matter_gets_that_of_the_other() -> None:
    merged = union(b"a\n", b"---\ndescription: theirs\n---\nb\n")
    assert merged == b"---\ndescription: theirs\n---\na\nb\n"


@pytest.mark.parametrize("damaged", [b"\xff\n", b"a\0b"])
def test_what_is_no_text_is_not_merged(damaged: bytes) -> None:
    assert union(b"a\n", damaged) is None
    assert union(damaged, b"a\n") is None


def test_a_line_that_is_gone_or_stands_less_often_is_told() -> None:
    assert lost_lines(b"a\nb\n", b"a\n\na\nc\n") == ("a", "c")
