"""What was just done is said over the list, moves nothing and goes by itself."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby
from typing import Any, cast

import pytest
from PySide6.QtCore import QRect
from PySide6.QtGui import QCursor
from PySide6.QtWidgets import QApplication, QLineEdit, QPushButton, QWidget

from reverie.ui.icons import Icons
from reverie.ui.widgets.controls import WrapLabel
from reverie.ui.widgets.layouts import column
from reverie.ui.widgets.messages import Overlay, Toast

UNDO = [("undo", "Undo", "Undo this change")]


@pytest.fixture
def below(qtbot: Any) -> Iterator[QWidget]:
    """A list that fills its window below a field."""
    window, made = QWidget(), QWidget()
    field = QLineEdit()
    column(window, field, made, grows=made, margin=0, gap=0)
    window.resize(400, 330)
    qtbot.addWidget(window)
    window.show()
    field.setFocus()  # else an active window gives the focus to the first button of the toast
    qtbot.waitUntil(window.isActiveWindow)
    yield made
    window.close()  # and kept alive until here


def over(below: QWidget) -> Toast:
    toast = Toast(Icons(), "undo")
    Overlay(below, toast)
    return toast


def place(toast: Toast, below: QWidget) -> QRect:
    """Where it lies in the widget below it."""
    return QRect(below.mapFromGlobal(toast.mapToGlobal(toast.rect().topLeft())), toast.size())


def test_it_lies_over_the_bottom_and_follows_the_size(below: QWidget) -> None:
    toast = over(below)
    toast.say("Moved plan.md to Project", buttons=UNDO)
    assert toast.isVisible()
    assert below.rect().contains(place(toast, below))
    assert place(toast, below).bottom() > 250
    below.window().resize(240, 530)
    QApplication.processEvents()
    assert below.rect().contains(place(toast, below))
    assert place(toast, below).bottom() > 450
    toast.clear()
    assert not cast(QWidget, toast.parentWidget()).isVisible(), "what it lay over can be clicked again"


def test_it_stays_while_the_person_works_in_another_window(below: QWidget, qtbot: Any) -> None:
    toast, other = over(below), QWidget()
    toast.say("Done.", buttons=UNDO)
    qtbot.addWidget(other)
    other.show()
    other.activateWindow()
    qtbot.waitUntil(other.isActiveWindow)
    toast._until.timeout.emit()
    assert (toast.isVisible(), toast._until.isActive()) == (True, True)
    other.hide()
    below.activateWindow()
    qtbot.waitUntil(below.isActiveWindow)
    toast._until.timeout.emit()
    assert toast.isHidden()


def test_it_lies_at_the_top_while_the_selected_row_is_at_the_bottom(below: QWidget) -> None:
    row = QRect()
    toast = Toast(Icons(), "undo")
    overlay = Overlay(below, toast, clear_of=lambda: row)
    covered: list[int] = []
    overlay.covers.connect(covered.append)
    toast.say("Done.", buttons=UNDO)
    assert place(toast, below).top() > 200
    row = QRect(0, below.height() - 20, 100, 20)
    overlay.place()
    assert place(toast, below).top() == 0
    row = QRect(0, 0, 100, 20)
    overlay.place()
    assert place(toast, below).top() > 200
    toast.clear()
    heights = [height for height, _same in groupby(covered)]
    assert heights[0] > 20
    assert heights == [heights[0], 0, heights[0], 0]


def test_what_informs_goes_by_itself_and_what_warns_stays(below: QWidget) -> None:
    """B24: "Moved back" stood for a quarter of an hour."""
    toast = over(below)
    toast.say("Moved", buttons=UNDO)
    assert toast._until.isActive()
    toast._until.timeout.emit()
    assert toast.isHidden()
    toast.say("A name is taken.", tone="warn")
    assert not toast._until.isActive()
    assert toast.isVisible()


def test_it_stays_while_the_pointer_is_over_it(below: QWidget) -> None:
    toast = over(below)
    toast.say("Moved", buttons=UNDO)
    QCursor.setPos(toast.mapToGlobal(toast.rect().center()))
    toast._until.timeout.emit()
    assert toast.isVisible()
    assert toast._until.isActive()
    assert isinstance(toast.button("undo"), QPushButton)
    QCursor.setPos(below.mapToGlobal(below.rect().topLeft()))
    toast._until.timeout.emit()
    assert toast.isHidden()


def test_a_button_that_comes_with_the_second_sentence_stands_beside_it(below: QWidget, qtbot: Any) -> None:
    toast = over(below)
    toast.say("Moved back")
    qtbot.wait(1)
    toast.say("Pinned plan.md", buttons=UNDO)
    qtbot.wait(1)
    button, said = toast.button("undo"), toast.findChild(WrapLabel)
    assert toast.rect().contains(button.geometry())
    assert said.geometry().right() < button.geometry().left()
    assert said.height() >= said.sizeHint().height()


def test_only_a_warning_stays_where_another_place_is_shown(below: QWidget) -> None:
    toast = over(below)
    toast.say("Moved plan.md to Project", buttons=UNDO)
    toast.leave()
    assert toast.isHidden()
    toast.say("A name is taken.", tone="warn")
    toast.leave()
    assert toast.isVisible()
