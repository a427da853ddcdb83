"""Between the Failures tab and the home: looks when somebody looks and something changed, and makes the two
changes a person may make, as hand edits like any other.

A change shows when the watcher has seen it. Threading: GUI thread; looking is a job of a lane of its own,
which begins with the first look. Failure: told in the tab, or in the dialog that asked.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, Signal, Slot
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QDialog, QDialogButtonBox, QLabel, QPlainTextEdit, QWidget

from reverie.agents.scopes import Scope
from reverie.errors import UserError
from reverie.memory.paths import memory_path
from reverie.services.failures import FailuresView, LessonView, Repeated
from reverie.ui.appearance import GAP, Icons
from reverie.ui.display_text import visible, visible_lines
from reverie.ui.failures import tab as words
from reverie.ui.jobs import JobControl, Lane
from reverie.ui.memory.user_edits import TakeBack
from reverie.ui.translation import counted, tr
from reverie.ui.widgets.controls import WrapLabel
from reverie.ui.widgets.layouts import Panes, column, pane
from reverie.ui.widgets.message_bar import MessageBar

if TYPE_CHECKING:
    from reverie.clock import Clock
    from reverie.services.views import Undo
    from reverie.ui.failures.tab import FailuresTab
    from reverie.ui.memory.user_edits import Edits
    from reverie.ui.session import HomeSession


# What is asked before a record changes: the resolution of an error with the block before and after, and the
# merging of anti-patterns with what stays of them. Pure views: accepting only says what a person wants.


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

    def show_error(self, error: UserError) -> None:
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


class FailuresControl(QObject):
    """`open_wanted(str)`: show this memory path in the editor. `changed()`: what can be taken back is
    another."""

    open_wanted = Signal(str)
    changed = Signal()

    def __init__(self, tab: FailuresTab, icons: Icons, clock: Clock, edits: Edits) -> None:
        super().__init__(tab)
        self.tab = tab
        self._icons = icons
        self._clock = clock
        self._edits = edits
        self._lane: Lane | None = None
        self._session: HomeSession | None = None
        self._stale = True
        self._back = TakeBack(tab.message, edits)
        self.dialog: ResolutionDialog | MergeRecordsDialog | None = None
        tab.shown.connect(self._look)
        tab.resolve_wanted.connect(self._ask_resolution)
        tab.merge_wanted.connect(self._ask_merge)
        tab.open_wanted.connect(self._on_open)
        edits.undone.connect(self._on_undone)
        edits.failed.connect(self._on_failed)

    @property
    def is_settled(self) -> bool:
        """What is shown is what there is."""
        return not self._stale and (self._lane is None or not self._lane.busy)

    def set_session(self, session: HomeSession | None) -> None:
        """Another home is shown, or none."""
        if self._session is not None:
            self._session.tree_changed.disconnect(self._on_changed)
            self._session.outside_changed.disconnect(self._on_changed)
        is_ours = session is not None and session.workbench.parts.home.failures is not None
        self._session = session if is_ours else None
        self._stale = True
        self._back.forget()
        if self._lane is not None:
            self._lane.abandon("look at failures")
        if self.dialog is not None:
            self.dialog.reject()
        self.tab.forget()
        if self._session is not None:
            self._session.tree_changed.connect(self._on_changed)
            self._session.outside_changed.connect(self._on_changed)
            if self.tab.isVisible():
                self._look()

    def stop(self) -> None:
        """The window closes."""
        if self._lane is not None:
            self._lane.stop()

    @Slot()
    def _on_changed(self, *_update: object) -> None:
        self._stale = True
        if self.tab.isVisible():
            self._look()

    @Slot()
    def _look(self) -> None:
        """Also when nothing changed: what is told depends on the time."""
        session = self._session
        if session is None:
            return
        workbench, now = session.workbench, self._clock()

        def work(_control: JobControl) -> FailuresView:
            return workbench.failures.look()

        def done(view: FailuresView) -> None:
            self.tab.show_view(view, now)

        if self._lane is None:
            self._lane = Lane("failures", self)
        self._stale = False
        self._lane.submit(
            "look at failures", work, done=done, failed=self._on_unread, group="look at failures"
        )

    def _on_unread(self, error: UserError) -> None:
        self._stale = True
        self.tab.message.say_error(error)

    # Changing

    @Slot(object)
    def _ask_resolution(self, lesson: LessonView) -> None:
        if self.tab.view is None or self.dialog is not None:
            return
        dialog = ResolutionDialog(lesson, self.tab.view, self.tab.goal.text(), self._icons, self.tab.window())
        dialog.wanted.connect(self._resolve)
        self._open_dialog(dialog)

    @Slot(object)
    def _ask_merge(self, group: Repeated) -> None:
        if self.dialog is None:
            dialog = MergeRecordsDialog(group, self._icons, self.tab.window())
            dialog.wanted.connect(self._merge)
            self._open_dialog(dialog)

    def _open_dialog(self, dialog: ResolutionDialog | MergeRecordsDialog) -> None:
        self.dialog = dialog
        dialog.finished.connect(self._on_dialog_gone)
        dialog.open()

    @Slot()
    def _on_dialog_gone(self) -> None:
        if self.dialog is not None:
            self.dialog.deleteLater()
        self.dialog = None

    @Slot(object, str)
    def _resolve(self, lesson: LessonView, text: str) -> None:
        if self._session is None:
            return
        workbench = self._session.workbench

        def job() -> Undo:
            return workbench.failures.resolve(lesson, text)

        self._edits.apply(self._session, "write a resolution", job, self._on_resolved, self._on_refused)

    @Slot(object)
    def _merge(self, group: Repeated) -> None:
        if self._session is None:
            return
        workbench = self._session.workbench

        def job() -> Undo:
            return workbench.failures.merge(group)

        self._edits.apply(self._session, "merge anti-patterns", job, self._on_merged, self._on_refused)

    def _on_resolved(self, undo: Undo) -> None:
        self._offer_undo(undo, self.tr("The resolution is saved."))

    def _on_merged(self, undo: Undo) -> None:
        self._offer_undo(undo, self.tr("Merged; one stays."))

    def _offer_undo(self, undo: Undo, sentence: str) -> None:
        if self.dialog is not None:
            self.dialog.accept()
        self._back.offer(undo, sentence)
        self.changed.emit()

    def _on_refused(self, error: UserError) -> None:
        if self.dialog is not None:
            self.dialog.show_error(error)
        else:
            self.tab.message.say_error(error)

    @Slot(str, str)
    def _on_undone(self, sentence: str, _path: str) -> None:
        if self._session is not None and self.tab.isVisible():
            self.tab.message.say(visible(sentence))

    @Slot(object)
    def _on_failed(self, error: UserError) -> None:
        if self._session is not None and self.tab.isVisible():
            self.tab.message.say_error(error)

    @Slot(str)
    def _on_open(self, rel: str) -> None:
        self.open_wanted.emit(str(memory_path(Scope.PROJECT, rel)))
