"""The source view: marks that stay beside their lines, highlights, the gutter, zoom and the agent's cut."""

from __future__ import annotations

from typing import Any

import pytest
from PySide6.QtGui import QTextCursor, QTextDocument
from PySide6.QtWidgets import QPlainTextDocumentLayout

from reverie.ui.appearance import dark_palette
from reverie.ui.editor.source_view import SourceView


@pytest.fixture
def view(qtbot: Any) -> SourceView:
    made = SourceView()
    qtbot.addWidget(made)
    made.resize(400, 200)
    made.setPlainText("\n".join(f"line {number}" for number in range(1, 41)))
    made.show()
    return made


def _type_at(view: SourceView, block: int, text: str, remove: int = 0) -> None:
    cursor = QTextCursor(view.document().findBlockByNumber(block))
    for _ in range(remove):
        cursor.movePosition(QTextCursor.MoveOperation.NextBlock, QTextCursor.MoveMode.KeepAnchor)
    cursor.insertText(text)


def test_a_mark_stays_beside_its_line_while_lines_come_and_go(view: SourceView) -> None:
    view.set_marks({3: "theirs", 10: "conflict"}, {10: "by <the agent>"})
    _type_at(view, 5, "new\nlines\n")
    assert dict(view.marks) == {3: "theirs", 12: "conflict"}
    assert view.mark_at(12) == ("conflict", "by <the agent>")
    _type_at(view, 2, "", remove=3)
    assert dict(view.marks) == {9: "conflict"}
    view.document().undo()
    assert 12 in view.marks


def test_another_document_has_no_marks_and_the_same_font(view: SourceView) -> None:
    view.set_marks({1: "theirs"})
    view.set_highlights("find", [(0, 4, "match")])
    view.set_unseen_from(20, "cap")
    view.set_zoom(3)
    other = QTextDocument(view)
    other.setDocumentLayout(QPlainTextDocumentLayout(other))
    view.setDocument(other)
    assert not view.marks
    assert view.unseen_block is None
    assert not view.extraSelections()
    assert other.defaultFont() == view.font()
    assert not other.isModified()


def test_each_owner_replaces_only_its_own_highlights(view: SourceView) -> None:
    view.set_highlights("find", [(0, 4, "match"), (7, 11, "match-current")])
    view.set_highlights("merge", [(3, 9, "conflict"), (10_000, 10_001, "mine")])
    assert len(view.extraSelections()) == 3
    view.setPalette(dark_palette())
    assert len(view.extraSelections()) == 3
    view.set_highlights("find", [])
    assert len(view.extraSelections()) == 1


def test_what_the_agent_does_not_read_is_marked_from_its_line_on(view: SourceView) -> None:
    view.set_unseen_from(view.document().findBlockByNumber(4).position() + 2, "not read")
    assert view.unseen_block == 4
    assert view.mark_at(3) == ("", "")
    assert view.mark_at(30) == ("unseen", "not read")
    view.set_marks({6: "theirs"})
    assert view.mark_at(6)[0] == "theirs"
    view.set_unseen_from(None)
    assert view.mark_at(30) == ("", "")


def test_places_follow_the_scroll(qtbot: Any, view: SourceView) -> None:
    assert view.block_top(0) < view.block_top(1) < view.block_top(2)
    moved: list[bool] = []
    view.geometry_changed.connect(lambda: moved.append(True))
    before = view.block_top(5)
    view.verticalScrollBar().setValue(5)
    qtbot.waitUntil(lambda: bool(moved))
    assert view.block_top(5) < before
    view.go_to_line(30)
    assert view.textCursor().blockNumber() == 29
    assert 0 <= view.block_top(29) < view.viewport().height()
    view.go_to_line(10_000)
    assert view.textCursor().blockNumber() == 39


def test_the_gutter_grows_with_the_numbers_and_the_zoom_and_keeps_its_marks(view: SourceView) -> None:
    narrow = view.gutter_width()
    view.setPlainText("\n" * 2000)
    assert view.gutter_width() > narrow
    assert view.viewportMargins().left() == view.gutter_width()
    wide = view.gutter_width()
    view.set_zoom(8)
    assert view.gutter_width() > wide
    view.set_zoom(1000)
    assert view.zoom == 24
    view.set_line_numbers(False)
    assert 0 < view.gutter_width() < narrow
    view.set_wrap(False)
    assert not view.wraps
