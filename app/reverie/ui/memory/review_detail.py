"""The right half of a review: what the selected part changes, why, and the words one may put in its place.

Hunks are shown as they came; of a file that a person worded anew, only the words are shown, in the editor.
Every key press counts at once; the rails are asked when typing pauses.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QSignalBlocker, QTimer, Signal, Slot
from PySide6.QtWidgets import QCheckBox, QPlainTextEdit, QStackedWidget, QVBoxLayout, QWidget

from reverie.ui.buttons import FitPushButton
from reverie.ui.flow import FlowLayout
from reverie.ui.icons import Icons
from reverie.ui.labels import WrapLabel
from reverie.ui.memory.bars import MessageBar
from reverie.ui.memory.diff_view import DiffView
from reverie.ui.shown import visible
from reverie.ui.theme import UNIT, monospace

if TYPE_CHECKING:
    from reverie.services.views import ReviewFile, ReviewHunk
    from reverie.ui.memory.choices import Choices
    from reverie.ui.memory.review_tree import Part

PAUSE_MS = 250


class ReviewDetail(QWidget):
    """`changed()`: words or agreements are others."""

    changed = Signal()

    def __init__(self, icons: Icons, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._choices: Choices | None = None
        self._part: Part | None = None
        self.note = WrapLabel()
        self.blocked = MessageBar(icons, "review-blocked", closable=False)
        self.diff = DiffView()
        self.editor = QPlainTextEdit()
        self.editor.setFont(monospace())
        self.editor.setTabChangesFocus(True)
        self.editor.setAccessibleName(self.tr("Text in its place"))
        self.editor.textChanged.connect(self._on_typed)
        self._pages = QStackedWidget()
        self._pages.addWidget(self.diff)
        self._pages.addWidget(self.editor)
        self.edit = FitPushButton()
        self.edit.clicked.connect(self._on_edit)
        self.take_back = FitPushButton(self.tr("Take back my words"))
        self.take_back.clicked.connect(self._on_take_back)
        self.agree = QCheckBox(self.tr("&Agree to the loss of these lines"))
        self.agree.toggled.connect(self._on_agree)
        self._pause = QTimer(self)
        self._pause.setSingleShot(True)
        self._pause.setInterval(PAUSE_MS)
        self._pause.timeout.connect(self._on_pause)
        row = FlowLayout(gap=UNIT * 2)
        for control in (self.edit, self.take_back, self.agree):
            row.addWidget(control)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(UNIT)
        column.addWidget(self.note)
        column.addWidget(self.blocked)
        column.addWidget(self._pages, 1)
        column.addLayout(row)
        self.show_part(None, None)

    def show_part(self, choices: Choices | None, part: Part | None) -> None:
        """Show one part of a review, or nothing."""
        self.flush()
        self._choices, self._part = choices, part
        self._editing(choices is not None and self._is_written)
        self.refresh()

    def show_text(self, text: str) -> None:
        """A sentence where the diff would be."""
        self.diff.show_diff(text)

    def flush(self) -> None:
        """Words typed just now count before anything else is done."""
        if self._pause.isActive():
            self._pause.stop()
            self.changed.emit()

    def refresh(self) -> None:
        """After a choice: what is blocked and what is possible."""
        choices, part = self._choices, self._part
        if choices is None or part is None:
            self.note.hide()
            self.blocked.clear()
            for control in (self.edit, self.take_back, self.agree):
                control.hide()
            self.diff.show_diff("")
            return
        reason = part.refused or (part.group.reason if part.group is not None else "")
        self.note.say(reason)
        self.note.setVisible(bool(reason))
        self._say_blocked(choices, part)
        self._say_buttons(choices, part)
        if self._pages.currentWidget() is self.diff:
            self.diff.show_diff(part_text(part))

    def _say_blocked(self, choices: Choices, part: Part) -> None:
        path = part.file.path if part.file is not None else ""
        why = choices.blocked.get(path, "") if choices.is_open else ""
        if why:
            told = self.tr("It stays as it is: {why}")
            if choices.view.can_take_back:
                told = self.tr("It comes back as well: {why}")
            self.blocked.say(told.format(why=visible(why)), tone="warn")
        else:
            self.blocked.clear()
        agreed = choices.has_agreed(path)
        with QSignalBlocker(self.agree):
            self.agree.setChecked(agreed)
        self.agree.setVisible(agreed or bool(why and choices.may_agree(path)))

    def _say_buttons(self, choices: Choices, part: Part) -> None:
        file = part.file
        self.edit.setVisible(file is not None and choices.can_write(file, part.hunk))
        self.take_back.setVisible(file is not None and choices.is_written(file, part.hunk))
        if self._pages.currentWidget() is self.editor:
            self.edit.say(self.tr("Show the difference"))
        elif part.hunk is None:
            self.edit.say(self.tr("Edit the text…"), self.tr("Put your own words in the place of the file's"))
        else:
            self.edit.say(self.tr("Edit this change…"), self.tr("Put your own words in the place of these"))

    # Words of one's own

    @property
    def can_edit(self) -> bool:
        """Whether a person may word the shown part anew."""
        return not self.edit.isHidden()

    def start_editing(self) -> None:
        """Into the editor, if the shown part can be edited."""
        if self.can_edit:
            if self._pages.currentWidget() is self.diff:
                self._on_edit()
            self.editor.setFocus()

    @property
    def _is_written(self) -> bool:
        choices, part = self._choices, self._part
        if choices is None or part is None or part.file is None:
            return False
        return choices.is_written(part.file, part.hunk)

    def _editing(self, on: bool) -> None:
        choices, part = self._choices, self._part
        if on and choices is not None and part is not None and part.file is not None:
            with QSignalBlocker(self.editor):
                self.editor.setPlainText(choices.text(part.file, part.hunk))
        self._pages.setCurrentWidget(self.editor if on else self.diff)

    @Slot()
    def _on_edit(self) -> None:
        self.flush()
        self._editing(self._pages.currentWidget() is self.diff)
        self.refresh()
        if self._pages.currentWidget() is self.editor:
            self.editor.setFocus()

    @Slot()
    def _on_take_back(self) -> None:
        choices, part = self._choices, self._part
        if choices is not None and part is not None and part.file is not None:
            self._pause.stop()
            choices.write(part.file, None, part.hunk)
            self._editing(False)
            self.changed.emit()

    @Slot()
    def _on_typed(self) -> None:
        choices, part = self._choices, self._part
        if choices is not None and part is not None and part.file is not None:
            choices.write(part.file, self.editor.toPlainText(), part.hunk)
            self._pause.start()

    @Slot()
    def _on_pause(self) -> None:
        self.changed.emit()

    @Slot(bool)
    def _on_agree(self, on: bool) -> None:
        choices, part = self._choices, self._part
        if choices is not None and part is not None and part.file is not None:
            choices.agree(part.file.path, on)
            self.changed.emit()


def part_text(part: Part) -> str:
    """The selected part as lines to read, marked as in a unified diff."""
    if part.group is None:
        return ""
    if part.file is None:
        return "\n\n".join(f"--- {file.path}\n{file_text(file)}" for file in part.group.files)
    if part.hunk is None:
        return file_text(part.file)
    return "\n".join(_hunk_text(hunk) for hunk in part.file.hunks if hunk.index == part.hunk)


def file_text(file: ReviewFile) -> str:
    """All hunks of a file, marked as in a unified diff."""
    return "\n".join(_hunk_text(hunk) for hunk in file.hunks)


def _hunk_text(hunk: ReviewHunk) -> str:
    return "\n".join((f"@@ {hunk.header}", *(f"{kind}{text}" for kind, text in hunk.lines)))
