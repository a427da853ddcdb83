"""What was just done is said over the list, moves nothing and goes by itself."""

from __future__ import annotations

from typing import Any

import pytest
from PySide6.QtGui import QCursor
from PySide6.QtWidgets import QLineEdit, QPushButton, QWidget

from reverie.ui.icons import Icons
from reverie.ui.widgets.controls import WrapLabel
from reverie.ui.widgets.messages import Toast

UNDO = [("undo", "Undo", "Undo this change")]


@pytest.fixture
def below(qtbot: Any) -> QWidget:
    made = QWidget()
    made.resize(400, 300)
    field = QLineEdit(made)
    qtbot.addWidget(made)
    made.show()
    field.setFocus()  # else an active window gives the focus to the first button of the toast
    return made


def test_it_lies_over_the_bottom_and_follows_the_size(below: QWidget) -> None:
    toast = Toast(Icons(), "undo", below)
    toast.say("Moved plan.md to Project", buttons=UNDO)
    assert toast.isVisible()
    assert below.rect().contains(toast.geometry())
    assert toast.geometry().bottom() > 250
    below.resize(240, 500)
    assert below.rect().contains(toast.geometry())
    assert toast.geometry().bottom() > 450


def test_what_informs_goes_by_itself_and_what_warns_stays(below: QWidget) -> None:
    """B24: "Moved back" stood for a quarter of an hour."""
    toast = Toast(Icons(), "undo", below)
    toast.say("Moved", buttons=UNDO)
    assert toast._until.isActive()
    toast._until.timeout.emit()
    assert toast.isHidden()
    toast.say("A name is taken.", tone="warn")
    assert not toast._until.isActive()
    assert toast.isVisible()


def test_it_stays_while_the_pointer_is_over_it(below: QWidget) -> None:
    toast = Toast(Icons(), "undo", below)
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
    toast = Toast(Icons(), "undo", below)
    toast.say("Moved back")
    qtbot.wait(1)
    toast.say("Pinned plan.md", buttons=UNDO)
    qtbot.wait(1)
    button, said = toast.button("undo"), toast.findChild(WrapLabel)
    assert toast.rect().contains(button.geometry())
    assert said.geometry().right() < button.geometry().left()
    assert said.height() >= said.sizeHint().height()


def test_only_a_warning_stays_where_another_place_is_shown(below: QWidget) -> None:
    toast = Toast(Icons(), "undo", below)
    toast.say("Moved plan.md to Project", buttons=UNDO)
    toast.leave()
    assert toast.isHidden()
    toast.say("A name is taken.", tone="warn")
    toast.leave()
    assert toast.isVisible()
