"""A text box changes no character that nobody touched: what it holds and what is copied from it is exact."""

from __future__ import annotations

import ast
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from PySide6.QtGui import QGuiApplication, QTextCursor
from PySide6.QtWidgets import QPlainTextEdit, QTextEdit
from ui_reviews import C, view

import reverie.ui
from reverie.jobs.consolidate.review import resolve
from reverie.ui.changes.diff import ReviewDetail
from reverie.ui.changes.review import Choices, ReviewPart
from reverie.ui.editor.line_breaks import widget_text
from reverie.ui.editor.source_view import SourceView
from reverie.ui.editor.value_editors import LinesEdit
from reverie.ui.icons import Icons
from reverie.ui.widgets.read_only_text import ReadOnlyText
from reverie.ui.widgets.text_boxes import FormattedTextBox, PageBox, PlainTextBox
from reverie.ui.widgets.text_views import read_only_text

ODD = "10\u00a0000\u00a0EUR\u202f!\u2028\ufeffa\u3000b\u200b\n\tc  \n"
TEXTS = st.text(st.sampled_from("ab \n\t\u00a0\u2028\u3000\u200b\U0001f600e\u0301"), max_size=30)
BOXES = (PlainTextBox, FormattedTextBox, PageBox, SourceView, lambda: read_only_text("a"))


@pytest.mark.parametrize("make", BOXES)
def test_what_a_box_holds_and_what_is_copied_is_exact(qtbot: Any, make: Any) -> None:
    box = make()
    qtbot.addWidget(box)
    box.setPlainText(ODD)
    box.selectAll()
    box.copy()
    assert QGuiApplication.clipboard().text() == ODD
    if not isinstance(box, PageBox):
        assert box.content == ODD


def test_lines_of_a_difference_are_copied_as_they_are(qtbot: Any) -> None:
    box = ReadOnlyText("a")
    qtbot.addWidget(box)
    box.begin(lambda: None)
    box.fill(box.line(line) for line in ("10\u00a0EUR", "a\u3000b"))
    box.selectAll()
    box.copy()
    assert QGuiApplication.clipboard().text() == "10\u00a0EUR\na\u3000b"


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(TEXTS, st.integers(0, 30), st.integers(0, 30))
def test_what_is_cut_and_pasted_again_is_the_same_text(qtbot: Any, text: str, start: int, end: int) -> None:
    box = SourceView()
    qtbot.addWidget(box)
    box.setPlainText(text)
    cursor = QTextCursor(box.document())
    last = box.document().characterCount() - 1
    cursor.setPosition(min(start, last))
    cursor.setPosition(min(end, last), QTextCursor.MoveMode.KeepAnchor)
    box.setTextCursor(cursor)
    if cursor.hasSelection():
        box.cut()
        box.paste()
    assert box.content == text


ODD_VALUES = st.text(st.sampled_from("ab \n\u00a0\u2028\u2029\r\t"), max_size=20)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(ODD_VALUES)
def test_a_value_in_the_form_is_another_only_where_somebody_typed(qtbot: Any, value: str) -> None:
    written: list[str] = []
    box = LinesEdit(written.append)
    qtbot.addWidget(box)
    box.show_value(value)
    assert written == []
    box.moveCursor(QTextCursor.MoveOperation.Start)
    box.insertPlainText("x")
    assert written == ["x" + value]


BEFORE = "- 10\u00a0EUR\u00a0net\n- a line\u2028in two\n"
AFTER = "- 10\u00a0EUR\u00a0gross\n- a line\u2028in three\n"


@pytest.mark.parametrize("hunk", [None, 0])
def test_words_of_ones_own_in_a_review_change_only_what_was_typed(qtbot: Any, hunk: int | None) -> None:
    choices = Choices(view({C: BEFORE}, {C: AFTER}))
    group = choices.view.groups[0]
    detail = ReviewDetail(Icons())
    qtbot.addWidget(detail)
    detail.show_part(choices, ReviewPart(group, group.files[0], hunk))
    detail.edit.click()
    detail.editor.moveCursor(QTextCursor.MoveOperation.Start)
    detail.editor.insertPlainText("x")
    assert resolve(choices.view.plan, choices.selection).files[C] == ("x" + AFTER).encode()


def test_the_text_of_a_box_is_read_and_copied_at_one_place() -> None:
    """Qt's own `toPlainText`, and its boxes, change characters; `selectedText` has other line ends."""
    found = []
    for path in Path(reverie.ui.__file__).parent.rglob("*.py"):
        if path.name == "text_boxes.py":
            continue
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            match node:
                case ast.Attribute(attr="toPlainText" | "selectedText" as name):
                    found.append((path.name, name))
                case ast.ClassDef(name=name, bases=bases) if any(map(_is_qt_box, bases)):
                    found.append((path.name, name))
                case ast.Call(func=func) if _is_qt_box(func):
                    found.append((path.name, "a box of Qt's"))
    assert found == []


def _is_qt_box(node: ast.expr) -> bool:
    return isinstance(node, ast.Name) and node.id in ("QPlainTextEdit", "QTextEdit", "QTextBrowser")


def test_qt_itself_changes_characters(qtbot: Any) -> None:
    """Why there are boxes of our own."""
    for box in (QPlainTextEdit(ODD), QTextEdit()):
        qtbot.addWidget(box)
        box.setPlainText(ODD)
        assert box.toPlainText() != widget_text(ODD)
