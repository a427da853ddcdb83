"""The three-way merge joins changes to different lines, shows both where they meet, and keeps every byte."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reverie.memory.history.repository import merge_versions

BASE = b"one\ntwo\nthree\nfour\nfive\n"


def test_changes_to_different_lines_are_joined() -> None:
    ours, theirs = BASE.replace(b"one", b"ONE"), BASE.replace(b"five", b"FIVE")
    merged = merge_versions(BASE, ours, theirs)
    assert (merged.content, merged.conflict) == (b"ONE\ntwo\nthree\nfour\nFIVE\n", False)


def test_changes_to_the_same_line_are_a_conflict_that_shows_both() -> None:
    merged = merge_versions(BASE, BASE.replace(b"three", b"ours"), BASE.replace(b"three", b"theirs"))
    assert merged.conflict
    assert merged.content == (
        b"one\ntwo\n<<<<<<< current\nours\n=======\ntheirs\n>>>>>>> incoming\nfour\nfive\n"
    )


def test_the_same_change_on_both_sides_is_no_conflict() -> None:
    changed = BASE.replace(b"two", b"2")
    assert merge_versions(BASE, changed, changed).content == changed


@pytest.mark.parametrize("changed", [b"", b"x", b"a\0b", b"\xff\xfe\r\n", BASE * 3])
def test_where_one_side_did_nothing_the_other_is_taken_as_it_is(changed: bytes) -> None:
    assert merge_versions(BASE, BASE, changed).content == changed
    assert merge_versions(BASE, changed, BASE).content == changed
    assert not merge_versions(BASE, changed, BASE).conflict


def test_line_endings_are_kept() -> None:
    base = BASE.replace(b"\n", b"\r\n")
    merged = merge_versions(base, base.replace(b"one", b"ONE"), base.replace(b"five", b"FIVE"))
    assert (merged.content, merged.conflict) == (b"ONE\r\ntwo\r\nthree\r\nfour\r\nFIVE\r\n", False)


def test_a_conflict_in_a_file_with_windows_line_endings_keeps_them() -> None:
    base = BASE.replace(b"\n", b"\r\n")
    merged = merge_versions(base, base.replace(b"three", b"ours"), base.replace(b"three", b"theirs"))
    assert merged.conflict
    assert merged.content.count(b"\n") == merged.content.count(b"\r\n")


def test_a_missing_newline_at_the_end_stays_missing() -> None:
    base = b"one\ntwo\nthree\nfour\nfive"
    merged = merge_versions(base, base.replace(b"one", b"ONE"), base + b"!")
    assert (merged.content, merged.conflict) == (b"ONE\ntwo\nthree\nfour\nfive!", False)


def test_bytes_that_are_no_utf_8_are_merged_as_lines_too() -> None:
    base = b"\xff\n" + BASE + b"\xe9\n"
    merged = merge_versions(base, base.replace(b"\xff", b"\xfe"), base.replace(b"\xe9", b"\x80\xc3"))
    assert (merged.content, merged.conflict) == (b"\xfe\n" + BASE + b"\x80\xc3\n", False)


def test_binary_files_changed_on_both_sides_are_a_conflict_that_keeps_ours() -> None:
    merged = merge_versions(b"a\0", b"b\0", b"c\0")
    assert (merged.content, merged.conflict) == (b"b\0", True)


_SIDE = st.lists(st.sampled_from([b"a\n", b"b\n", b"c\r\n", b"\xff\n", b"d"]), max_size=8).map(b"".join)


@given(base=_SIDE, ours=_SIDE, theirs=_SIDE)
def test_a_merge_invents_and_loses_no_line(base: bytes, ours: bytes, theirs: bytes) -> None:
    merged = merge_versions(base, ours, theirs)
    marks = {b"<<<<<<< current", b"<<<<<<<", b"=======", b">>>>>>> incoming", b">>>>>>>"}
    lines = {line.rstrip(b"\r") for line in merged.content.split(b"\n")}
    known = {line.rstrip(b"\r") for side in (base, ours, theirs) for line in side.split(b"\n")}
    assert lines - marks <= known
    new = {line.rstrip(b"\r") for line in ours.split(b"\n")} - {
        line.rstrip(b"\r") for line in base.split(b"\n")
    }
    assert new <= lines
