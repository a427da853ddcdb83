"""Reading a home that others write, and patterns of paths."""

from __future__ import annotations

import os
import re
import time
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from helpers.profiles import examples
from reverie.agents.path_patterns import Glob
from reverie.agents.reading import directory_names, file_names, read_json
from reverie.files.directory import read_regular


def test_a_file_up_to_the_limit_is_read_and_a_larger_one_refused(tmp_path: Path) -> None:
    file = tmp_path / "f"
    file.write_bytes(b"12345")
    assert read_regular(file, 5) == b"12345"
    with pytest.raises(OSError, match="larger than 4 bytes"):
        read_regular(file, 4)


@pytest.mark.skipif(os.name != "posix", reason="needs pipes")
def test_a_pipe_and_a_directory_are_refused_without_blocking(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(OSError, match="not a regular file"):
        read_regular(tmp_path / "pipe", 5)
    with pytest.raises(OSError):
        read_regular(tmp_path, 5)


def test_a_symlink_is_followed_unless_told_otherwise(tmp_path: Path) -> None:
    (tmp_path / "f").write_bytes(b"x")
    (tmp_path / "link").symlink_to(tmp_path / "f")
    assert read_regular(tmp_path / "link", 5) == b"x"
    with pytest.raises(OSError, match="symbolic link"):
        read_regular(tmp_path / "link", 5, follow=False)


@pytest.mark.parametrize("content", [b"", b"{", b"[" * 100_000, b"1" * 5000])
def test_what_is_no_json_is_a_value_error_and_nothing_worse(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "f").write_bytes(content)
    with pytest.raises(ValueError):
        read_json(tmp_path / "f", 1 << 20)


def test_json_is_decoded_as_node_does_and_a_byte_order_mark_tolerated(tmp_path: Path) -> None:
    (tmp_path / "f").write_bytes(b'\xef\xbb\xbf["\xff", "\\ud800"]')
    assert read_json(tmp_path / "f", 1 << 20) == ["\ufffd", "\ud800"]


def test_directories_are_listed_sorted_with_linked_ones_and_a_missing_parent_has_none(tmp_path: Path) -> None:
    for name in ("b", "a"):
        (tmp_path / "d" / name).mkdir(parents=True)
    (tmp_path / "d" / "file").write_text("")
    (tmp_path / "d" / "link").symlink_to(tmp_path / "d" / "a")
    (tmp_path / "d" / "dead").symlink_to(tmp_path / "nowhere")
    (tmp_path / "d" / "circle").symlink_to(tmp_path / "d" / "circle")
    problems: list[str] = []
    assert directory_names(tmp_path / "d", problems) == ["a", "b", "link"]
    assert file_names(tmp_path / "d", problems) == ["file"]
    assert directory_names(tmp_path / "missing", problems) == []
    assert problems == []


def test_what_cannot_be_listed_is_a_problem_and_not_an_empty_directory_unsaid(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    problems: list[str] = []
    assert directory_names(tmp_path / "file", problems) == []
    assert len(problems) == 1


def _as_expression(pattern: str) -> str:
    """What a pattern of paths means, as a regular expression."""
    found, at, depth = "", 0, 0
    while at < len(pattern):
        char = pattern[at]
        if pattern.startswith("**/", at) and (at == 0 or pattern[at - 1] == "/"):
            found += r"(?:[^/]*/)*"
            at += 3
            continue
        if pattern.startswith("/**", at) and at + 3 == len(pattern):
            return found + r"(?:/.*)?"
        if pattern.startswith("**", at):
            found += ".*" if at == 0 and len(pattern) == 2 else "[^/]*"
            at += 2
            continue
        if char == "*":
            found += "[^/]*"
        elif char == "?":
            found += "[^/]"
        elif char == "[" and (end := pattern.find("]", at + 2)) > 0:
            inside = pattern[at + 1 : end].replace("[", "\\[")
            found += f"(?!/)[{'^' + inside[1:] if inside[0] in '!^' else inside}]"
            at = end
        elif char == "{" and "}" in pattern[at:]:
            found, depth = found + "(?:", depth + 1
        elif char == "," and depth:
            found += "|"
        elif char == "}" and depth:
            found, depth = found + ")", depth - 1
        else:
            found += re.escape(char)
        at += 1
    return found


_PIECES = [
    "a",
    "b",
    "/",
    "*",
    "?",
    "**/",
    "/**",
    "[ab]",
    "[!a]",
    "[a-c]",
    "{",
    ",",
    "}",
    "{a,b}",
    "{*a,}",
    "[",
]


@settings(max_examples=examples(400))
@given(
    st.lists(st.sampled_from(_PIECES), max_size=8).map("".join),
    st.lists(st.text("ab/c,{", max_size=8), min_size=1),
)
def test_a_pattern_means_what_its_regular_expression_means(pattern: str, paths: list[str]) -> None:
    try:
        expression = re.compile(_as_expression(pattern), re.DOTALL)
    except re.error:
        with pytest.raises(ValueError, match="brace"):
            Glob(pattern)
        return
    glob = Glob(pattern)
    for path in paths:
        assert glob.matches(path) is (expression.fullmatch(path) is not None)


@pytest.mark.parametrize(
    ("pattern", "path"),
    [
        ("**/" + "*a" * 100 + "b", "/r/" + "a" * 250),
        ("**/" * 60 + "x", "/a" * 100),
        ("{a,aa}" * 60 + "b", "a" * 250),
        ("**/*" * 60 + "b", "a/" * 100),
        ("{*,?}" * 60 + "b", "a" * 250),
    ],
)
def test_no_pattern_takes_long(pattern: str, path: str) -> None:
    began = time.monotonic()
    assert not Glob(pattern).matches(path)
    assert time.monotonic() - began < 2


def test_characters_of_a_set_are_taken_as_they_are() -> None:
    assert Glob(r"[\]&-]").matches("]")
    assert Glob("[]a]").matches("]")
    assert Glob("[[:&&~~|]").matches("&")
    assert not Glob("[!a]").matches("/")
    assert Glob(r"\*\{").matches("*{")
    with pytest.raises(ValueError, match="cannot be read"):
        Glob("[z-a]")
