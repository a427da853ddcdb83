"""Between the Failures tab and the home: looks when somebody looks and something changed, and makes the two
changes a person may make, as hand edits like any other.

A change shows when the watcher has seen it. Threading: GUI thread; looking is a job of a lane of its own,
which begins with the first look. Failure: told in the tab, or in the dialog that asked.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, Signal, Slot

from reverie.errors import MendableError
from reverie.homes.scopes import Scope
from reverie.memory.paths import memory_path
from reverie.services.failures import FailuresView, LessonView, Repeated
from reverie.ui.failures.dialogs import MergeRecordsDialog, ResolutionDialog
from reverie.ui.jobs import JobControl, Lane
from reverie.ui.memory.take_back import TakeBack
from reverie.ui.shown import visible

if TYPE_CHECKING:
    from reverie.clock import Clock
    from reverie.services.views import Undo
    from reverie.ui.failures.tab import FailuresTab
    from reverie.ui.icons import Icons
    from reverie.ui.memory.edits import Edits
    from reverie.ui.session import HomeSession

KIND = "loki"


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
        is_ours = session is not None and session.workbench.parts.home.kind == KIND
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

    def _on_unread(self, error: MendableError) -> None:
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

    def _on_refused(self, error: MendableError) -> None:
        if self.dialog is not None:
            self.dialog.show_error(error)
        else:
            self.tab.message.say_error(error)

    @Slot(str, str)
    def _on_undone(self, sentence: str, _path: str) -> None:
        if self._session is not None and self.tab.isVisible():
            self.tab.message.say(visible(sentence))

    @Slot(object)
    def _on_failed(self, error: MendableError) -> None:
        if self._session is not None and self.tab.isVisible():
            self.tab.message.say_error(error)

    @Slot(str)
    def _on_open(self, rel: str) -> None:
        self.open_wanted.emit(str(memory_path(Scope.PROJECT, rel)))
