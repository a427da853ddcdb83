"""The unified diff is git's: `git apply` turns the old bytes into the new ones with it."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reverie.memory.diff import InvisibleKind, invisible_differences, invisible_in, unified
from reverie.memory.nearest_lines import nearest_lines

needs_git = pytest.mark.skipif(shutil.which("git") is None, reason="the git command is not installed")


def test_a_changed_line_is_shown_with_three_lines_of_context() -> None:
    before = b"".join(b"%d\n" % n for n in range(1, 11))
    assert unified(before, before.replace(b"5\n", b"five\n"), "/memories/global/a.md") == (
        "diff --git a/memories/global/a.md b/memories/global/a.md\n"
        "--- a/memories/global/a.md\n"
        "+++ b/memories/global/a.md\n"
        "@@ -2,7 +2,7 @@\n"
        " 2\n 3\n 4\n-5\n+five\n 6\n 7\n 8\n"
    )


def test_changes_far_apart_get_hunks_of_their_own_and_near_ones_share_one() -> None:
    before = b"".join(b"%d\n" % n for n in range(1, 31))
    far = unified(before, before.replace(b"\n5\n", b"\nX\n").replace(b"\n25\n", b"\nY\n"), "a")
    near = unified(before, before.replace(b"\n5\n", b"\nX\n").replace(b"\n11\n", b"\nY\n"), "a")
    assert far.count("\n@@ ") == 2
    assert near.count("\n@@ ") == 1


def test_a_new_file_comes_from_dev_null() -> None:
    assert unified(None, b"one\ntwo", "a.md") == (
        "diff --git a/a.md b/a.md\nnew file mode 100644\n--- /dev/null\n+++ b/a.md\n"
        "@@ -0,0 +1,2 @@\n+one\n+two\n\\ No newline at end of file\n"
    )


def test_a_deleted_file_goes_to_dev_null() -> None:
    assert unified(b"one\n", None, "a.md") == (
        "diff --git a/a.md b/a.md\ndeleted file mode 100644\n--- a/a.md\n+++ /dev/null\n@@ -1 +0,0 @@\n-one\n"
    )


def test_a_new_empty_file_has_a_head_and_no_hunk() -> None:
    assert unified(None, b"", "a.md") == "diff --git a/a.md b/a.md\nnew file mode 100644\n"


def test_a_lost_newline_at_the_end_is_a_change() -> None:
    assert unified(b"a\n", b"a", "f").endswith("@@ -1 +1 @@\n-a\n+a\n\\ No newline at end of file\n")


def test_a_binary_file_gets_one_line() -> None:
    assert unified(b"a\0b", b"text\n", "f") == "diff --git a/f b/f\nBinary files a/f and b/f differ\n"


@pytest.mark.parametrize("content", [None, b"", b"same\n"])
def test_nothing_is_printed_where_nothing_differs(content: bytes | None) -> None:
    assert unified(content, content, "f") == ""


def test_carriage_returns_belong_to_the_lines() -> None:
    assert "-a\r\n+b\r\n" in unified(b"a\r\n", b"b\r\n", "f")


def test_only_a_newline_separates_lines() -> None:
    assert unified("a\x0bb\u2028c\n".encode(), b"", "f").endswith("@@ -1 +0,0 @@\n-a\x0bb\u2028c\n")


def test_bytes_that_are_no_text_are_shown_replaced() -> None:
    assert "+\ufffd\n" in unified(b"", b"\xff\n", "f")


def test_a_name_that_could_break_the_format_is_quoted() -> None:
    assert unified(None, b"", 'a\n"b\udcff') == (
        'diff --git "a/a\\n\\"b\\377" "b/a\\n\\"b\\377"\nnew file mode 100644\n'
    )


def test_a_name_with_a_blank_ends_with_a_tab() -> None:
    assert "--- a/a b\t\n+++ b/a b\t\n" in unified(b"1", b"2", "a b")


def test_many_equal_lines_are_compared_quickly() -> None:
    before = b"same\n" * 50_000
    assert unified(before, before + b"end\n", "f").endswith(
        "@@ -49998,3 +49998,4 @@\n same\n same\n same\n+end\n"
    )


def _apply(where: Path, before: bytes | None, after: bytes | None, name: str) -> bytes | None:
    file = where / name
    file.unlink(missing_ok=True)
    if before is not None:
        file.write_bytes(before)
    patch = unified(before, after, name)
    if patch:
        subprocess.run(
            ["git", "apply", "--whitespace=nowarn", "-"],
            input=patch.encode(),
            cwd=where,
            check=True,
            capture_output=True,
        )
    return file.read_bytes() if file.exists() else None


_LINES = st.lists(st.sampled_from(["a", "b", "c", "é", "", "x\ry", "-- -", "@@"]), max_size=12)
_TEXT = st.one_of(
    st.none(),
    st.builds(
        lambda lines, end: ("\n".join(lines) + end).encode(), _LINES, st.sampled_from(["", "\n", "\r\n"])
    ),
)


@needs_git
@given(before=_TEXT, after=_TEXT)
def test_git_apply_makes_the_new_bytes_from_the_old(
    tmp_path_factory: pytest.TempPathFactory, before: bytes | None, after: bytes | None
) -> None:
    where = tmp_path_factory.getbasetemp() / "apply"
    where.mkdir(exist_ok=True)
    assert _apply(where, before, after, "some note.md") == after


@needs_git
def test_git_apply_finds_a_file_with_a_hostile_name(tmp_path: Path) -> None:
    assert _apply(tmp_path, b"1\n", b"2\n", 'tab\tand "quote"') == b"2\n"


NOTES = "# Shop\n\n- Postgres listens on 55432 here, not on 5432.\n- Deploys go from main.\n"


@pytest.mark.parametrize(
    ("wanted", "found"),
    [
        ("- Postgres listens on 55432.", "- Postgres listens on 55432 here, not on 5432."),
        ("- Deploys go from master.", "- Deploys go from main."),
        ("# Shop\n\n- Postgres listens.", "# Shop\n\n- Postgres listens on 55432 here, not on 5432."),
        ("Nothing of the kind whatsoever 98765", ""),
        (" \n", ""),
    ],
)
def test_the_lines_that_a_text_must_have_meant(wanted: str, found: str) -> None:
    assert nearest_lines(NOTES, wanted) == found


@pytest.mark.parametrize(
    ("old", "new", "kinds"),
    [
        ("a b\r\n", "a b\n", ("line ends",)),
        ("a\nb\n", "a\nb", ("last line end",)),
        ("a b\n", "a b  \n", ("blanks at the end",)),
        ("10 EUR\n", "10\u00a0EUR\n", ("spaces",)),
        ("caf\u00e9\n", "cafe\u0301\n", ("composition",)),
        ("a b\r\n", "a\u00a0b", ("last line end", "spaces")),
        ("a\n", "b\n", ()),
        ("a\n", "A \n", ()),
        ("", "a\n", ()),
    ],
)
def test_differences_between_lines_that_look_alike_are_named(
    old: str, new: str, kinds: tuple[InvisibleKind, ...]
) -> None:
    assert invisible_differences(old.splitlines(keepends=True), new.splitlines(keepends=True)) == kinds
    assert invisible_in(unified(old.encode(), new.encode(), "a.md")) == kinds
