"""The fields of the front matter's form: label, editor and cross of one key, and the area that is as tall as
they are.

Threading: GUI thread.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from PySide6.QtCore import QEvent, QObject, QSize, Qt, Slot
from PySide6.QtGui import QFontMetrics
from PySide6.QtWidgets import (
    QFrame,
    QLineEdit,
    QPlainTextEdit,
    QScrollArea,
    QSizePolicy,
    QToolButton,
    QWidget,
)

from reverie.memory.front_edit import FrontEntry
from reverie.ui.icons import Icons
from reverie.ui.labels import ElidedLabel
from reverie.ui.shown import as_tooltip, visible
from reverie.ui.theme import UNIT

Path = tuple[str, ...]
"""A key, or a mapping's key and one in it."""

LONGEST = 100_000
_KINDS = "user, feedback, project, reference"
_TALLEST = 190


class FieldOwner(Protocol):
    """What a field tells of and asks: the form it stands in."""

    @property
    def no_text(self) -> str: ...

    def removal_of(self, name: str) -> str:
        """What the cross of this key says to a screen reader and as a tool tip."""

    def change(self, path: Path, value: str) -> None:
        """The value was edited; one undo step."""

    def drop(self, path: Path) -> None:
        """The key shall go from the front matter."""


class Field:
    """Label, editor and cross of one key."""

    def __init__(self, entry: FrontEntry, icons: Icons, form: FieldOwner) -> None:
        self._path = entry.path
        self._form = form
        self._ending = ""
        name = " / ".join(visible(part) for part in entry.path)
        self.label = ElidedLabel(name)
        self.label.setSizePolicy(QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Fixed)
        self.label.setFixedWidth(min(120, QFontMetrics(self.label.font()).horizontalAdvance(name) + UNIT))
        self.editor = LinesEdit(self._on_edited) if _is_long(entry) else LineEdit(self._on_edited)
        self.editor.setAccessibleName(name)
        if entry.path[-1] == "type" and isinstance(self.editor, LineEdit):
            self.editor.setPlaceholderText(_KINDS)
        self.remove = QToolButton()
        self.remove.setAutoRaise(True)
        self.remove.setIcon(icons.icon("close"))
        self.remove.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        says = form.removal_of(name)
        self.remove.setAccessibleName(says)
        self.remove.setToolTip(as_tooltip(says))
        self.remove.clicked.connect(self._on_remove)

    @property
    def has_focus(self) -> bool:
        return self.editor.hasFocus()

    def fits(self, entry: FrontEntry) -> bool:
        """The editor can show this value. One in use stays as it is."""
        return isinstance(self.editor, LinesEdit) or not _is_long(entry)

    def show_entry(self, entry: FrontEntry, read_only: bool, absent: bool) -> None:
        """Show what stands in the text now; where it is the same, the cursor stays."""
        value = entry.raw if entry.text is None else entry.text
        self._ending = "\n" if entry.text is not None and value.endswith("\n") else ""
        self.editor.show_value(value.removesuffix("\n"))
        fixed = read_only or entry.text is None
        self.editor.setReadOnly(fixed)
        tip = self._form.no_text if entry.text is None else ""
        self.editor.setToolTip(tip)
        self.remove.setEnabled(not read_only and (not absent or self._path != ("description",)))

    def _on_edited(self, value: str) -> None:
        self._form.change(self._path, value + self._ending if value else value)

    def _on_remove(self) -> None:
        self._form.drop(self._path)


def _is_long(entry: FrontEntry) -> bool:
    value = entry.raw if entry.text is None else entry.text
    return "\n" in value.removesuffix("\n")


class LineEdit(QLineEdit):
    """A value of one line; `edited(str)` tells what a person typed."""

    def __init__(self, edited: Callable[[str], None]) -> None:
        super().__init__()
        self.setMaxLength(LONGEST)
        self.textEdited.connect(edited)

    def show_value(self, value: str) -> None:
        if value != self.text():
            place = self.cursorPosition() if self.hasFocus() else 0
            self.setText(value)
            self.setCursorPosition(place)


class LinesEdit(QPlainTextEdit):
    """A value of several lines; `edited(str)` tells what a person typed."""

    def __init__(self, edited: Callable[[str], None]) -> None:
        super().__init__()
        self._edited = edited
        self._shown = ""
        self.setTabChangesFocus(True)
        self.setFixedHeight(round(3.8 * QFontMetrics(self.font()).height()))
        self.textChanged.connect(self._on_changed)

    def show_value(self, value: str) -> None:
        if value != self.toPlainText():
            self._shown = value
            self.setPlainText(value)

    @Slot()
    def _on_changed(self) -> None:
        text = self.toPlainText()
        if text != self._shown:
            self._shown = text
            self._edited(text)


class FittingArea(QScrollArea):
    """As tall as what is in it, up to a limit; never scrolled sideways."""

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
        """Rows came or went."""
        tall = min(_TALLEST, self._inside.sizeHint().height())
        if tall != self.height():
            self.setFixedHeight(tall)

    def sizeHint(self) -> QSize:
        return QSize(200, min(_TALLEST, self._inside.sizeHint().height()))

    def minimumSizeHint(self) -> QSize:
        return QSize(120, 0)
