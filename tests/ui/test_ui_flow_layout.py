"""A flow layout, while its widgets and the widget around it come and go."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from PySide6.QtWidgets import QLabel, QWidget
from shiboken6 import delete

from reverie.ui.widgets.layouts import FlowLayout

GOING: dict[str, Callable[[FlowLayout, QLabel], object]] = {
    "deleted": lambda _layout, label: delete(label),
    "deleted later": lambda _layout, label: label.deleteLater(),
    "moved to another parent": lambda _layout, label: label.setParent(None),
    "removed from the layout": lambda layout, label: layout.removeWidget(label),
}


@pytest.fixture
def holder(qtbot: Any) -> QWidget:
    made = QWidget()
    qtbot.addWidget(made)
    made.resize(400, 100)
    return made


def shown(holder: QWidget) -> tuple[FlowLayout, list[QLabel]]:
    labels = [QLabel(text) for text in ("one", "two", "three")]
    layout = FlowLayout(*labels, holder=holder)
    holder.show()
    return layout, labels


@pytest.mark.parametrize("way", GOING)
def test_the_other_widgets_close_the_gap_of_one_that_goes(qtbot: Any, holder: QWidget, way: str) -> None:
    layout, (one, two, three) = shown(holder)
    before = two.x()
    GOING[way](layout, two)
    qtbot.waitUntil(lambda: three.x() == before)
    assert layout.count() == 2
    layout.addWidget(QLabel("four"))
    assert [item.widget() for at in range(3) if (item := layout.itemAt(at))][:2] == [one, three]


def test_a_widget_in_two_flow_layouts_is_only_in_the_later_one(holder: QWidget) -> None:
    layout, (_, two, _) = shown(holder)
    other = FlowLayout(two, holder=QWidget(holder))
    assert (layout.count(), other.count()) == (2, 1)
