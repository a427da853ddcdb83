"""The name of a row, edited in its place: the delegate's editor, with the agent's own rules as one types.

A name that cannot be used is not taken by Enter, and it is said why; Escape leaves it. The model only
tells that a person wants another name; the row changes when the file has.
"""

from __future__ import annotations

from PySide6.QtCore import QEvent, QModelIndex, QObject, QPersistentModelIndex, Qt, Signal, Slot
from PySide6.QtGui import QKeyEvent, QPalette, QValidator
from PySide6.QtWidgets import QAbstractItemDelegate, QLineEdit, QStyleOptionViewItem, QWidget

from reverie.ui.memory.tree_model import MemoryTreeModel, Role
from reverie.ui.row_delegate import RowDelegate
from reverie.ui.theme import GAP, UNIT, theme_of

_SIGN = 16


class NameValidator(QValidator):
    """Acceptable is what may be the new name of the row at `path`."""

    def __init__(self, model: MemoryTreeModel, path: str, parent: QObject) -> None:
        super().__init__(parent)
        self._model = model
        self._path = path

    def problem(self, text: str) -> str:
        """Why it cannot be the name; its own name is none."""
        return self._model.name_problem(self._path, text.strip(), also_same=False)

    def validate(self, text: str, place: int) -> object:
        acceptable = not self._model.name_problem(self._path, text.strip())
        state = QValidator.State.Acceptable if acceptable else QValidator.State.Intermediate
        return state, text, place


def select_stem(editor: QWidget | None) -> None:
    """The name without its ending is what one types over; a view that opens an editor selects all of it."""
    if isinstance(editor, QLineEdit):
        stem = editor.text().rfind(".")
        editor.setSelection(0, stem if stem > 0 else len(editor.text()))


class TreeDelegate(RowDelegate):
    """Draws as every row is drawn, and edits names. `judged(str)`: why what is typed cannot be the name, or
    nothing."""

    judged = Signal(str)

    def createEditor(
        self, parent: QWidget, option: QStyleOptionViewItem, index: QModelIndex | QPersistentModelIndex
    ) -> QWidget:
        field = QLineEdit(parent)
        field.setAccessibleName(self.tr("New name"))
        model = index.model()
        if isinstance(model, MemoryTreeModel):
            field.setValidator(NameValidator(model, index.data(Role.PATH), field))
            field.textChanged.connect(self._judge)
        return field

    def setEditorData(self, editor: QWidget, index: QModelIndex | QPersistentModelIndex) -> None:
        if not isinstance(editor, QLineEdit) or editor.isModified():
            return  # the row changed outside while somebody types
        editor.setText(str(index.data(Qt.ItemDataRole.EditRole)))

    def updateEditorGeometry(
        self, editor: QWidget, option: QStyleOptionViewItem, index: QModelIndex | QPersistentModelIndex
    ) -> None:
        editor.setGeometry(option.rect.adjusted(UNIT // 2 + _SIGN + GAP // 2, 0, -GAP, 0))

    def eventFilter(self, editor: QObject, event: QEvent) -> bool:
        """Enter takes the name at once. Qt takes it from the event queue, and complains if the field is gone
        by then: what another process did to the row may come first."""
        is_enter = isinstance(event, QKeyEvent) and event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter)
        if not is_enter or event.type() != QEvent.Type.KeyPress or not isinstance(editor, QLineEdit):
            return super().eventFilter(editor, event)
        if editor.hasAcceptableInput():
            self.commitData.emit(editor)
            self.closeEditor.emit(editor, QAbstractItemDelegate.EndEditHint.SubmitModelCache)
        return True

    @Slot(str)
    def _judge(self, text: str) -> None:
        field = self.sender()
        if not isinstance(field, QLineEdit):
            return
        validator = field.validator()
        problem = validator.problem(text) if isinstance(validator, NameValidator) else ""
        palette = QPalette()
        if problem:
            palette.setColor(QPalette.ColorRole.Text, theme_of(field.palette()).bad_text)
        field.setPalette(palette)
        field.setAccessibleDescription(problem)
        self.judged.emit(problem)
