"""The widgets of the front-matter form in which values are edited, and the area that contains them.

Threading: GUI thread.
"""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import QEvent, QObject, QSize, Qt, Slot
from PySide6.QtGui import QFontMetrics
from PySide6.QtWidgets import QFrame, QLineEdit, QScrollArea, QWidget

from reverie.ui.editor.line_breaks import restored
from reverie.ui.widgets.text_boxes import PlainTextBox

Path = tuple[str, ...]
"""The path of a value: a key, or the key of a mapping and a key in that mapping."""


LONGEST = 100_000


_TALLEST = 190


class LineEdit(QLineEdit):
    """A field for a value of one line; when the user edits it, `edited` is called with the new value."""

    def __init__(self, edited: Callable[[str], None]) -> None:
        super().__init__()
        self.setMaxLength(LONGEST)
        self.textEdited.connect(edited)

    def show_value(self, value: str) -> None:
        if value != self.text():
            place = self.cursorPosition() if self.hasFocus() else 0
            self.setText(value)
            self.setCursorPosition(place)


class LinesEdit(PlainTextBox):
    """A field for a value of several lines; when the user edits it, `edited` is called with the new value."""

    def __init__(self, edited: Callable[[str], None]) -> None:
        super().__init__()
        self._edited = edited
        self._value = ""
        self.setTabChangesFocus(True)
        self.setFixedHeight(round(3.8 * QFontMetrics(self.font()).height()))
        self.textChanged.connect(self._on_changed)

    def show_value(self, value: str) -> None:
        if value != self._value:
            self._value = value
            self.setPlainText(value)

    @Slot()
    def _on_changed(self) -> None:
        value = restored(self._value, self.content)
        if value != self._value:
            self._value = value
            self._edited(value)


class FittingArea(QScrollArea):
    """A scroll area that is as high as its content, up to a limit; it never scrolls horizontally."""

    def __init__(self, inside: QWidget) -> None:
        super().__init__()
        self._inside = inside
        self.setWidget(inside)
        self.setWidgetResizable(True)
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        done = super().eventFilter(watched, event)
        if watched is self._inside and event.type() == QEvent.Type.LayoutRequest:
            self.fit()
        return done

    def fit(self) -> None:
        """Set the height of the area to that of its content; call this when fields were added or removed."""
        tall = min(_TALLEST, self._inside.sizeHint().height())
        if tall != self.height():
            self.setFixedHeight(tall)

    def sizeHint(self) -> QSize:
        return QSize(200, min(_TALLEST, self._inside.sizeHint().height()))

    def minimumSizeHint(self) -> QSize:
        return QSize(120, 0)
