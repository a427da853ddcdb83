"""Any name comes back from the history as it went in, and no stored name means anything to git or Windows."""

from __future__ import annotations

import os
import re

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from reverie.memory.history.repository import escape_rel, escape_segment, unescape_rel, unescape_segment

HOSTILE = [
    ".git", ".GIT", ".Git", "git~1", "GIT~1", "GIT~2", ".git\u200c", "\u200c.git", ".g\u206fit", ".git.",
    ".git ", ".git::$INDEX_ALLOCATION", ".gitmodules", "gi7eba~1", ".gitattributes", ".mailmap", "..", ".",
    "...", "CON", "con.md", "Nul", "COM1.txt", "LPT\u00b9", "aux .md", "trailing.", "trailing ", "%", "%41",
    "%u0041", "%25", "a:b", "a\\b", "a\nb", "\x7f", "\x85", "\udcff", "caf\udcc3\udca9", "\ud800", "x" * 255,
    "\udce9" * 255, "\ufeff", "~", "é", "e\u0301", "日本.md", "-rf", " lead", '"', "<>|?*",
]  # fmt: skip

_SEGMENT = st.one_of(
    st.sampled_from(HOSTILE),
    st.text(st.characters(blacklist_characters="/", blacklist_categories=()), min_size=1, max_size=20),
    st.text(st.sampled_from(".gitGIT~1:% \u200c\udcc3\udca9"), min_size=1, max_size=8),
)


@settings(max_examples=settings().max_examples * 4)
@given(rel=st.lists(_SEGMENT, min_size=1, max_size=5).map("/".join))
@example(rel=".git/config")
def test_every_path_comes_back_as_it_went_in(rel: str) -> None:
    assert unescape_rel(escape_rel(rel)) == rel


@settings(max_examples=settings().max_examples * 4)
@given(one=_SEGMENT, other=_SEGMENT)
def test_different_names_stay_different(one: str, other: str) -> None:
    assert (escape_segment(one) == escape_segment(other)) == (one == other)


@settings(max_examples=settings().max_examples * 4)
@given(name=_SEGMENT)
def test_no_stored_name_means_anything_to_git_or_windows(name: str) -> None:
    stored = escape_segment(name)
    assert not stored.startswith(".")
    assert not stored.endswith((".", " "))
    assert not re.search('[\x00-\x1f\x7f-\x9f/:\\\\<>"|?*~\u200b-\u200f\ufeff]', stored)
    assert not re.fullmatch(r"(con|prn|aux|nul|com\d|lpt\d)( *\..*)?", stored, re.IGNORECASE)
    assert stored.encode("utf-8")


@pytest.mark.parametrize(
    "name", ["notes.md", "a b.md", "é日本.md", "UPPER-case_1+2=3.md", "context.md", "a.b.c"]
)
def test_an_ordinary_name_stays_readable(name: str) -> None:
    assert escape_segment(name) == name


@given(raw=st.binary(min_size=1, max_size=30).filter(lambda raw: b"/" not in raw))
def test_every_name_of_bytes_comes_back(raw: bytes) -> None:
    assert os.fsencode(unescape_segment(escape_segment(os.fsdecode(raw)))) == raw


@pytest.mark.parametrize("rel", ["", "/a", "a/", "a//b"])
def test_an_empty_segment_is_a_mistake_of_the_caller(rel: str) -> None:
    with pytest.raises(ValueError, match="empty"):
        escape_rel(rel)


@pytest.mark.parametrize("name", ["50% done", "%zz", "%u12", "100%"])
def test_a_foreign_percent_sign_stands_for_itself(name: str) -> None:
    assert unescape_segment(name) == name
