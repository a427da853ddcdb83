"""A text goes into the editor and comes back: the same bytes, whatever characters and line breaks it has."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from PySide6.QtCore import QObject
from PySide6.QtGui import QPalette, QTextCursor

from helpers.profiles import examples
from reverie.agents.scopes import ScopeContext
from reverie.services.views import FileText, file_text
from reverie.ui.appearance import theme_of
from reverie.ui.editor import buffer as state
from reverie.ui.editor.buffer import Address, FileRef
from reverie.ui.editor.documents import SHOWN_CHARS, OpenFile
from reverie.ui.editor.foreign_edits import MOST_EDITS
from reverie.values import replace

LINE = "x" * 99 + "\n"
LONG_LINE = "x" * 999 + "\n"
REF = FileRef.memory("home", "global", "a.md")
ADDRESS = Address(ScopeContext("w", "/p"), "/memories/global/a.md")
ODD = st.text(
    st.sampled_from("ab\n\r\t\u00a0\u2028\u2029\ufdd0\ufdd1\ufffc\ufffd\ufeff\x0b\x0c\x1c\x85\U0001f600é"),
    max_size=12,
)


def found(content: str, cap: int | None = None) -> FileText:
    return file_text("/memories/global/a.md", content.encode(), mtime_ns=1, cap=cap)


def opened(content: str, cap: int | None = None) -> tuple[OpenFile, QObject]:
    owner = QObject()
    file = OpenFile(state.opened(REF, ADDRESS, found(content, cap)), theme_of(QPalette()), owner, _ready)
    return file, owner


def _ready(_file: OpenFile, _group: str, work: Callable[[], Any], done: Callable[[Any], None]) -> None:
    done(work())


def follow(file: OpenFile, content: str) -> None:
    """The file has another content on disk, and nothing was typed."""
    after, effect = state.seen_on_disk(file.buffer, found(content), file.content)
    if effect == "follow":
        file.follow(after, "", lambda: None)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=examples(200))
@given(ODD)
def test_a_text_comes_back_as_it_was_or_is_read_only(qapp: object, content: str) -> None:
    file, _owner = opened(content)
    assert file.content == content or file.read_only
    assert not file.document.isModified()


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.text("ab\r\n\u2028é\U0001f600", max_size=12), st.text("ab\r\né", max_size=12))
def test_following_the_disk_ends_with_its_text(qapp: object, old: str, new: str) -> None:
    file, _owner = opened(old)
    follow(file, new)
    assert file.content == new
    assert not file.document.isModified()


LINES = st.lists(st.text("ab\u2028\u2029\ufdd0\x0b\x0c\x85", max_size=4), min_size=1, max_size=6)
ENDS = st.lists(st.sampled_from(["\n", "\r\n", "\r"]), min_size=6, max_size=6)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(LINES, ENDS, st.integers(0, 20), st.sampled_from(["x", "\n", "x\ny"]))
def test_a_block_is_a_line_of_the_file_also_after_an_edit_and_its_undo(
    qapp: object, lines: list[str], ends: list[str], place: int, typed: str
) -> None:
    content = "".join(line + end for line, end in zip(lines[:-1], ends, strict=False)) + lines[-1]
    file, _owner = opened(content)
    expected = re.split("\r\n|\r|\n", content)
    assert (file.text.split("\n"), file.document.blockCount()) == (expected, len(expected))
    cursor = QTextCursor(file.document)
    cursor.setPosition(min(place, file.document.characterCount() - 1))
    at = cursor.position()
    cursor.insertText(typed)
    assert file.text == "\n".join(expected)[:at] + typed + "\n".join(expected)[at:]
    assert file.document.blockCount() == len(expected) + typed.count("\n")
    assert re.split("\r\n|\r|\n", file.content) == file.text.split("\n")
    file.document.undo()
    assert file.content == content


def test_a_file_with_a_stand_in_of_its_own_is_read_only_and_stays_as_it_is(qapp: object) -> None:
    file, _owner = opened("a\ufdd2b\u2029c\n")
    assert (file.read_only, file.content) == (True, "a\ufdd2b\u2029c\n")


def test_following_touches_only_what_changed(qapp: object) -> None:
    file, _owner = opened("one\ntwo\U0001f600\nthree\n")
    cursor = QTextCursor(file.document)
    cursor.setPosition(len("one\ntwo") + 2 + 3)
    follow(file, "ONE!\ntwo\U0001f600\nthree\n")
    assert cursor.block().text() == "three"
    assert file.document.isUndoAvailable(), "what was there can be had back"


def test_a_file_that_others_write_all_day_keeps_the_last_of_their_versions_only(qapp: object) -> None:
    file, _owner = opened("0\n")
    for version in range(1, 3 * MOST_EDITS):
        follow(file, f"{version}\n")
    assert len(file._foreign._edits) <= MOST_EDITS
    assert file.document.availableUndoSteps() < 5 * MOST_EDITS
    file.document.undo()
    assert file.content == f"{3 * MOST_EDITS - 2}\n", "the last of them can be had back"


def test_what_was_typed_can_be_had_back_however_much_others_wrote(qapp: object) -> None:
    file, _owner = opened("0\n")
    for version in range(1, MOST_EDITS + 1):
        follow(file, f"{version}\n")
    QTextCursor(file.document).insertText("typed ")
    typed = file.buffer = replace(file.buffer, modified=True)
    file.buffer, _ = state.seen_on_disk(typed, found("theirs\n"), file.content)
    file.follow(state.taken_theirs(file.buffer)[0], "", lambda: None)
    file.document.undo()
    assert file.content.startswith("typed ")


def test_a_byte_order_mark_is_not_shown_and_not_lost(qapp: object) -> None:
    file, _owner = opened("\ufeff---\ndescription: x\n---\n")
    assert file.text.startswith("---")
    assert file.content.startswith("\ufeff---")


def test_a_huge_file_is_cut_only_where_it_cannot_be_written(qapp: object) -> None:
    file, _owner = opened(LONG_LINE * (SHOWN_CHARS // len(LONG_LINE) + 1), cap=100)
    assert file.display == "cut"
    assert file.read_only
    assert len(file.text) == SHOWN_CHARS
    whole, _other = opened("x" * 1000)
    assert whole.display == ""


def test_colouring_leaves_the_text_unmodified_in_every_state(qtbot: Any, qapp: object) -> None:
    from reverie.ui.appearance import dark_palette

    text = "---\ndescription: x\ntags: [a]\n---\n# Head\n> quote\n"
    text += "- [ ] item `code` **strong** [a](b)\n```py\nx = 1\n```\n"
    file, _owner = opened(text)
    highlighter = file._highlighter
    assert highlighter is not None
    highlighter.rehighlight()
    states = [file.document.findBlockByNumber(number).userState() for number in range(11)]
    assert states[:5] == [1, 1, 1, 0, 0]
    assert states[7] == states[8] > 1  # in a fence, which knows its mark
    assert states[9] == 0
    file.set_theme(theme_of(dark_palette()))
    assert not file.document.isModified()
    assert file.text == text


def test_a_text_is_like_one_on_disk_with_the_same_lines_whatever_its_line_breaks(qapp: object) -> None:
    file, _owner = opened("a\r\nb\n")
    assert file.content_like(found("a\r\nb\n")) == "a\r\nb\n"
    assert file.content_like(found("a\nb\n")) == "a\nb\n"
    assert file.content_like(found("a\r\nc\n")) is None
    assert file.content_like(None) is None
