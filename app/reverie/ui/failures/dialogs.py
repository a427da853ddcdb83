"""What is asked before a record changes: the resolution of an error with the block before and after, and the
merging of anti-patterns with what stays of them. Pure views: accepting only says what a person wants."""

from __future__ import annotations

from PySide6.QtCore import Signal, Slot
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import (
    QDialog,
    QDialogButtonBox,
    QLabel,
    QPlainTextEdit,
    QWidget,
)

from reverie.errors import MendableError
from reverie.services.failures import FailuresView, LessonView, Repeated
from reverie.ui.columns import column, pane
from reverie.ui.failures import words
from reverie.ui.icons import Icons
from reverie.ui.labels import WrapLabel
from reverie.ui.memory.bars import MessageBar
from reverie.ui.panes import Panes
from reverie.ui.shown import visible, visible_lines
from reverie.ui.theme import GAP
from reverie.ui.translation import counted, tr

NARROWEST = 320
_SIDE_BY_SIDE = 560


class _Dialog(QDialog):
    """A sentence, what is asked, two texts beside each other (or below, where it is narrow), buttons."""

    def __init__(self, icons: Icons, parent: QWidget | None, asked: QWidget | None = None) -> None:
        super().__init__(parent)
        self.resize(760, 480)
        self.setMinimumWidth(NARROWEST)
        self.message = MessageBar(icons, "record-message", closable=False)
        self.about = WrapLabel()
        self.before = _text(self.tr("What there is now"))
        self.after = _text(self.tr("What there will be"))
        self.note = WrapLabel()
        self.buttons = QDialogButtonBox(QDialogButtonBox.StandardButton.Cancel)
        self.accept_button = self.buttons.addButton("", QDialogButtonBox.ButtonRole.AcceptRole)
        self.buttons.rejected.connect(self.reject)
        sides = []
        for name, text in ((self.tr("Now"), self.before), (self.tr("After it"), self.after)):
            label = QLabel(name)
            label.setBuddy(text)
            sides.append(pane(label, text, grows=text))
        self.splitter = Panes(*sides, beside_from=_SIDE_BY_SIDE, sizes=(380, 380), grows=None)
        above = (self.message, self.about) if asked is None else (self.message, self.about, asked)
        column(self, *above, self.splitter, self.note, self.buttons, grows=self.splitter)
        self.buttons.button(QDialogButtonBox.StandardButton.Cancel).setAutoDefault(False)
        self.accept_button.setDefault(True)  # not before it has its window

    def show_error(self, error: MendableError) -> None:
        """It did not work; what was typed stays."""
        self.accept_button.setEnabled(True)
        self.message.say_error(error)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self.splitter.turn(event.size().width())


class ResolutionDialog(_Dialog):
    """`wanted(LessonView, str)`: this resolution of that error."""

    wanted = Signal(object, str)

    def __init__(
        self,
        lesson: LessonView,
        view: FailuresView,
        goal: str,
        icons: Icons,
        parent: QWidget | None = None,
    ) -> None:
        field = QPlainTextEdit(lesson.lesson.resolution)
        super().__init__(icons, parent, field)
        self.field = field
        self._lesson, self._view, self._goal = lesson, view, goal
        self.buttons.accepted.connect(self._on_accepted)
        self.accept_button.setText(self.tr("&Save"))
        self.setWindowTitle(self.tr("Resolution of an error"))
        self.about.say(visible(lesson.lesson.line.removeprefix("- ")))
        self.field.setAccessibleName(self.tr("What came of this error"))
        self.field.setPlaceholderText(self.tr("What came of this error: its cause, and what helped"))
        self.field.setTabChangesFocus(True)
        self.field.setFixedHeight(self.fontMetrics().lineSpacing() * 4 + 2 * GAP)
        self.before.setPlainText(_block(view.block(goal)))
        self.field.textChanged.connect(self._preview)
        self._preview()
        self.field.setFocus()

    @property
    def resolution(self) -> str:
        return self.field.toPlainText().strip()

    @Slot()
    def _preview(self) -> None:
        lesson = self._lesson.lesson
        after = self._view.block_with(lesson, self.resolution, self._goal)
        self.after.setPlainText(_block(after))
        same = after == self._view.block(self._goal)
        self.note.say(
            self.tr("The block stays: the agent tells type and message. Resolutions become advice later.")
            if same
            else self.tr("The next iteration is told something else then.")
        )
        self.accept_button.setEnabled(self.resolution != lesson.resolution.strip())

    @Slot()
    def _on_accepted(self) -> None:
        self.accept_button.setEnabled(False)
        self.wanted.emit(self._lesson, self.resolution)


class MergeRecordsDialog(_Dialog):
    """`wanted(Repeated)`: make them one."""

    wanted = Signal(object)

    def __init__(self, group: Repeated, icons: Icons, parent: QWidget | None = None) -> None:
        super().__init__(icons, parent)
        self._group = group
        self.buttons.accepted.connect(self._on_accepted)
        self.accept_button.setText(self.tr("&Merge"))
        self.setWindowTitle(self.tr("Merge anti-patterns"))
        count = len(group.records)
        self.about.say(
            counted(
                "1 record says the same; one of it stays.",
                "%n records say the same; one of them stays.",
                count,
            )
        )
        self.before.setPlainText(words.records(group.records))
        after = group.change.after
        self.after.setPlainText(words.records(after))
        kept = {record.get("id") for record in after}
        gone = [str(each.get("id")) for each in group.records if each.get("id") not in kept]
        self.note.say(
            self.tr(
                "No word is lost: conditions, sources and links are put together. These ids go: {ids}."
            ).format(ids=visible(", ".join(gone)) or "–")
        )

    @Slot()
    def _on_accepted(self) -> None:
        self.accept_button.setEnabled(False)
        self.wanted.emit(self._group)


def _text(name: str) -> QPlainTextEdit:
    text = QPlainTextEdit()
    text.setReadOnly(True)
    text.setTabChangesFocus(True)
    text.setAccessibleName(name)
    return text


def _block(block: str) -> str:
    return visible_lines(block).strip("\n") or tr("Nothing is told.")
