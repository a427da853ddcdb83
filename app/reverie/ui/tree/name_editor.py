"""The field in a row of the memory tree in which the user edits its name."""

from __future__ import annotations

from PySide6.QtCore import QEvent, QModelIndex, QObject, QPersistentModelIndex, Qt, Signal, Slot
from PySide6.QtGui import QKeyEvent, QPalette, QValidator
from PySide6.QtWidgets import QAbstractItemDelegate, QLineEdit, QStyleOptionViewItem, QWidget

from reverie.ui.appearance import GAP, UNIT, theme_of
from reverie.ui.metrics import icon_size
from reverie.ui.tree.model import PATH_ROLE, MemoryTreeModel
from reverie.ui.widgets.row_delegate import RowDelegate


class NameValidator(QValidator):
    """A validator of a new name for the row at `path`, by the agent's own rules for memory paths."""

    def __init__(self, model: MemoryTreeModel, path: str, parent: QObject) -> None:
        super().__init__(parent)
        self._model = model
        self._path = path

    def problem(self, text: str) -> str:
        """Return the reason why `text` cannot be the new name; empty if it can.

        The current name is accepted here.
        """
        return self._model.name_problem(
            self._path, self._model.with_ending(self._path, text.strip()), also_same=False
        )

    def validate(self, text: str, place: int) -> object:
        acceptable = not self._model.name_problem(
            self._path, self._model.with_ending(self._path, text.strip())
        )
        state = QValidator.State.Acceptable if acceptable else QValidator.State.Intermediate
        return state, text, place


def select_stem(editor: QWidget | None) -> None:
    """Select the part of the name before its ending in `editor`; Qt had selected the whole name."""
    if isinstance(editor, QLineEdit):
        stem = editor.text().rfind(".")
        editor.setSelection(0, stem if stem > 0 else len(editor.text()))


class TreeDelegate(RowDelegate):
    """The delegate of the memory tree: paints its rows, and lets the user edit a name in its row.

    While a name cannot be used, Enter does nothing; `judged` reports the reason. Escape cancels.

    Signals:
        judged(str): The user changed the text: the reason why it cannot be the name; empty if it can.
    """

    judged = Signal(str)

    def createEditor(
        self, parent: QWidget, option: QStyleOptionViewItem, index: QModelIndex | QPersistentModelIndex
    ) -> QWidget:
        field = QLineEdit(parent)
        field.setAccessibleName(self.tr("New name"))
        model = index.model()
        if isinstance(model, MemoryTreeModel):
            field.setValidator(NameValidator(model, index.data(PATH_ROLE), field))
            field.textChanged.connect(self._judge)
        return field

    def setEditorData(self, editor: QWidget, index: QModelIndex | QPersistentModelIndex) -> None:
        if not isinstance(editor, QLineEdit) or editor.isModified():
            return  # the file changed while the user types
        editor.setText(str(index.data(Qt.ItemDataRole.EditRole)))

    def updateEditorGeometry(
        self, editor: QWidget, option: QStyleOptionViewItem, index: QModelIndex | QPersistentModelIndex
    ) -> None:
        editor.setGeometry(option.rect.adjusted(UNIT // 2 + icon_size(option.font) + GAP // 2, 0, -GAP, 0))

    def eventFilter(self, editor: QObject, event: QEvent) -> bool:
        """Commit the name at once when the user presses Enter.

        Qt itself commits later, from the event queue. If the field no longer exists by then, because another
        program changed the row, Qt prints a warning.
        """
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
