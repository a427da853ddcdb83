"""Wires the page of orphaned stores: surveys of the open homes, reading, the preview of a merge, merging and
removing as changes by hand of the tab's one Undo stack.

The page and the dialog are loaded by a job when they are first asked for. What is listed changes through the
survey only, which the watcher stirs; the end of a merge brings a sentence, no view.

Threading: GUI thread. Failure: shown on the page, or in the dialog that asked.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, QTimer, Signal, Slot

from reverie.errors import UserError
from reverie.memory.paths import ROOT
from reverie.ui.appearance import Icons
from reverie.ui.display_text import visible
from reverie.ui.jobs import JobControl
from reverie.ui.memory.orphans.labels import orphan_title
from reverie.ui.memory.user_edits import undo_button
from reverie.ui.session import HomeSession

if TYPE_CHECKING:
    from reverie.services.orphans import MergeChoice, MergePreview, OrphansView, StoreView
    from reverie.services.views import FileText, Undo
    from reverie.ui.memory.orphans.page import MergeStoreDialog, OrphansPage
    from reverie.ui.memory.tab import MemoryTab


# Looks for the orphaned stores of one open home: once its first tree is on screen, and again when something
# changed outside of what is shown.
#
# Threading: GUI thread; the looking is a job on the history lane, where it holds up neither trees nor
# edits. Failure: told by `failed`; the next change looks again.


# An agent at work touches its home many times a second.
_QUIET_MS = 400


class OrphanSurvey(QObject):
    """`surveyed(OrphanSurvey)`: `view` is new. `failed(UserError)`."""

    surveyed = Signal(object)
    failed = Signal(object)

    def __init__(self, session: HomeSession, parent: QObject) -> None:
        super().__init__(parent)
        self.session = session
        self.view: OrphansView | None = None
        self._closed = False
        self._timer = QTimer(self)
        self._timer.setSingleShot(True)
        self._timer.setInterval(_QUIET_MS)
        self._timer.timeout.connect(self.look)
        session.status_changed.connect(self._begin)
        session.outside_changed.connect(self._stir)

    @Slot()
    def look(self) -> None:
        """Look now; an answer that is under way is not waited for."""
        if self._closed:
            return
        self._timer.stop()
        workbench = self.session.workbench

        def work(control: JobControl) -> OrphansView:
            return workbench.orphans.survey(control.check)

        self.session.lanes.history.submit(
            "look for orphaned stores",
            work,
            done=self._on_view,
            failed=self.failed.emit,
            group=f"orphans {id(self)}",
        )

    def stop(self) -> None:
        """The window closes."""
        self._closed = True
        self._timer.stop()

    def _on_view(self, view: OrphansView) -> None:
        if view != self.view:
            self.view = view
            self.surveyed.emit(self)

    @Slot()
    def _begin(self) -> None:
        self.session.status_changed.disconnect(self._begin)
        self._stir()

    @Slot()
    def _stir(self) -> None:
        if not self._closed and not self._timer.isActive():
            self._timer.start()


MODULES = (
    "reverie.services.orphans",
    "reverie.ui.memory.orphans.page",
    "reverie.ui.memory.orphans.page",
)


class OrphansControl(QObject):
    """`found(home id, lost stores)`: what a survey found."""

    found = Signal(str, object)

    def __init__(self, tab: MemoryTab, icons: Icons) -> None:
        super().__init__(tab)
        self._tab = tab
        self._icons = icons
        self._surveys: dict[str, OrphanSurvey] = {}
        self._session: HomeSession | None = None
        self._wanted = ""
        self._loading = False
        self._focus = False
        self._removing: StoreView | None = None
        self._merged: StoreView | None = None
        self.page: OrphansPage | None = None
        self.dialog: MergeStoreDialog | None = None
        tab.edits.undone.connect(self._on_undone)
        tab.edits.failed.connect(self._on_failed)

    def show(self, session: HomeSession, store: str = "") -> None:
        """The page of a home, with the store of this id selected."""
        other = session is not self._session
        self._session, self._wanted = session, store
        if self.page is None:
            self._load()
            return
        if other:
            self.page.clear()
        self._tab.show_other(self.page)
        survey = self._surveys.get(session.info.id)
        if survey is not None and survey.view is not None:
            self._show_view(survey)
        elif survey is not None:
            survey.look()

    def focus(self) -> None:
        """Into the list of stores, as soon as it is there."""
        self._focus = True
        self._take_focus()

    def _take_focus(self) -> None:
        if self._focus and self._is_shown and self.page is not None and self.page.current is not None:
            self._focus = False
            self.page.stores.setFocus()

    def stop(self) -> None:
        """The window closes."""
        for survey in self._surveys.values():
            survey.stop()
        if self.dialog is not None:
            self.dialog.close()

    # Loading and following

    def _load(self) -> None:
        if self._loading or self._session is None:
            return
        self._loading = True

        def work(_control: JobControl) -> None:
            for name in MODULES:
                __import__(name, fromlist=("*",))

        self._session.lanes.scan.submit("load the orphans page", work, done=self._build)

    def _build(self, _nothing: None) -> None:
        from reverie.ui.memory.orphans.page import OrphansPage

        self._loading = False
        self.page = OrphansPage(self._icons)
        self.page.file_wanted.connect(self._read)
        self.page.merge_wanted.connect(self._preview)
        self.page.remove_wanted.connect(self._ask_removal)
        self.page.history_wanted.connect(self._show_history)
        self.page.chosen.connect(self._on_chosen)
        if self._session is not None:
            self.show(self._session, self._wanted)

    @Slot(object)
    def add_session(self, session: HomeSession) -> None:
        """A home was opened."""
        if session.info.id not in self._surveys:
            survey = OrphanSurvey(session, self)
            survey.surveyed.connect(self._on_surveyed)
            survey.failed.connect(self._on_survey_failed)
            self._surveys[session.info.id] = survey

    @Slot(object)
    def remove_session(self, session: HomeSession) -> None:
        """A home was closed."""
        survey = self._surveys.pop(session.info.id, None)
        if survey is not None:
            survey.stop()
        if session is self._session:
            self._session = None
            if self.dialog is not None:
                self.dialog.close()

    @Slot(object)
    def _on_surveyed(self, survey: OrphanSurvey) -> None:
        if survey.view is not None:
            stores = tuple(view.store for view in survey.view.stores)
            self.found.emit(survey.session.info.id, stores)
        if survey.session is self._session and self.page is not None:
            self._show_view(survey)

    def _show_view(self, survey: OrphanSurvey) -> None:
        if self.page is not None and survey.view is not None:
            self.page.show_orphans(survey.view, survey.session.info.label, self._wanted)
            self._wanted = ""
            self._take_focus()

    @Slot(object)
    def _on_survey_failed(self, error: UserError) -> None:
        if self._is_shown and self.page is not None:
            self.page.message.say_error(error)

    @property
    def _is_shown(self) -> bool:
        return self.page is not None and self.page.isVisible()

    # Looking

    @Slot(object, str)
    def _read(self, view: StoreView, rel: str) -> None:
        session, page = self._session, self.page
        if session is None or page is None:
            return
        workbench = session.workbench

        def work(_control: JobControl) -> FileText:
            return workbench.orphans.read(view.store, rel)

        session.lanes.scan.submit(
            "read an orphaned note", work, done=page.show_text, failed=self._say, group=f"orphan {id(self)}"
        )

    @Slot(object)
    def _show_history(self, view: StoreView) -> None:
        """Of the whole store; the histories of its notes, gone ones too, are one step from there."""
        store, session = view.store, self._session
        if store.context is not None and session is not None and session is self._tab.session:
            self._tab.history.show_path(f"{ROOT}/{store.scope.value}", store.context)

    @Slot(object, str)
    def _preview(self, view: StoreView, project_path: str) -> None:
        session, page = self._session, self.page
        if session is None or page is None:
            return
        workbench, target = session.workbench, page.target_name()

        def work(_control: JobControl) -> MergePreview:
            return workbench.orphans.preview(view.store, project_path)

        def done(preview: MergePreview) -> None:
            self._show_preview(session, view, preview, target)

        session.lanes.scan.submit(
            "preview a merge", work, done=done, failed=self._say, group=f"merge {id(self)}"
        )

    def _show_preview(
        self, session: HomeSession, view: StoreView, preview: MergePreview, target: str
    ) -> None:
        from reverie.ui.memory.orphans.page import MergeStoreDialog

        if session is not self._session or self.page is None:
            return
        if self.dialog is not None:
            self.dialog.close()
        self._merged = view
        self.dialog = MergeStoreDialog(preview, target, session.lanes.scan, self._icons, self.page)
        self.dialog.merge.connect(self._merge)
        self.dialog.finished.connect(self._on_dialog_closed)
        self.dialog.open()

    @Slot(int)
    def _on_dialog_closed(self, _result: int) -> None:
        if self.dialog is not None:
            self.dialog.deleteLater()
            self.dialog = None

    # Changing

    @Slot(object, object)
    def _merge(self, preview: MergePreview, choices: dict[str, MergeChoice]) -> None:
        session, dialog = self._session, self.dialog
        if session is None or dialog is None:
            return
        from reverie.ui.memory.orphans import labels as orphan_words

        workbench = session.workbench
        count, target = orphan_words.writes(preview, choices), self.page.target_name() if self.page else ""

        def job() -> Undo:
            return workbench.orphans.apply(preview, choices)

        def done(_undo: Undo) -> None:
            if self.dialog is not None:
                self.dialog.accept()
            if self.page is not None:
                buttons = [undo_button()]
                if self._merged is not None and self._merged.removable:
                    tip = self.tr("The history keeps what is removed")
                    buttons.append(("remove", self.tr("Remove the orphaned store…"), tip))
                self.page.message.say(orphan_words.merged(count, visible(target)), buttons=buttons)

        self._tab.edits.apply(session, "merge an orphaned store", job, done)

    @Slot(object)
    def _ask_removal(self, view: StoreView) -> None:
        from reverie.ui import display_text as words

        if self.page is None:
            return
        self._removing = view
        question = self.tr("Remove {name} with its {notes}? The history keeps them, and it can be undone.")
        question = question.format(name=visible(orphan_title(view.store)), notes=words.notes(len(view.files)))
        if view.store.kind == "missing-project":
            # A disk that is not mounted looks the same.
            question += " " + self.tr("Should its project come back, the agent would find no memory of it.")
        self.page.message.say(
            question,
            tone="warn",
            buttons=(
                ("remove-now", self.tr("Remove"), ""),
                ("keep", self.tr("Keep it"), ""),
            ),
        )
        self.page.message.button("keep").setFocus()

    @Slot(str)
    def _on_chosen(self, key: str) -> None:
        if self.page is None:
            return
        self.page.message.clear()
        if key == "undo":
            self._tab.edits.undo()
        elif key == "remove" and self._merged is not None:
            self._ask_removal(self._merged)
        elif key == "remove-now" and self._removing is not None:
            self._remove(self._removing)

    def _remove(self, view: StoreView) -> None:
        session, self._removing = self._session, None
        if session is None:
            return

        workbench = session.workbench
        name = visible(orphan_title(view.store))

        def job() -> Undo:
            return workbench.orphans.remove(view.store)

        def done(_undo: Undo) -> None:
            if self.page is not None:
                said = self.tr("Removed {name}.").format(name=name)
                self.page.message.say(said, buttons=[undo_button()])

        self._tab.edits.apply(session, "remove an orphaned store", job, done)

    # What came of it

    @Slot(str, str)
    def _on_undone(self, sentence: str, _path: str) -> None:
        if self._is_shown and self.page is not None:
            self.page.message.say(visible(sentence))

    @Slot(object)
    def _on_failed(self, error: UserError) -> None:
        if self.dialog is not None:
            self.dialog.show_failed(error)
        elif self._is_shown:
            self._say(error)

    def _say(self, error: UserError) -> None:
        if self.page is not None:
            self.page.message.say_error(error)
