"""Orphaned stores: the page of a home, the merge dialog, and the controller that surveys the open homes.

An orphaned store is one that the agent does not load any more: its project or workspace is missing, or its
layout or name is outdated. Merging and removing one are edits with Undo. The list changes only after a
survey, which the watcher starts.

Threading: GUI thread; surveys, reads and changes are jobs. Failure: shown in the message of the page, or in
the merge dialog.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cached_property, partial
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, QSignalBlocker, Qt, Signal, Slot
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import (
    QDialog,
    QDialogButtonBox,
    QLabel,
    QListWidget,
    QListWidgetItem,
    QRadioButton,
    QSizePolicy,
    QWidget,
)

from reverie.agents.scopes import Scope
from reverie.engine.asking import ask
from reverie.errors import UserError
from reverie.memory.diff import unified
from reverie.memory.paths import ROOT
from reverie.services.views import MergeChoice, MergePreview, MergeRow, OrphansView, StoreView
from reverie.ui.appearance import GAP, MARGIN
from reverie.ui.display_text import (
    as_tooltip,
    human_size,
    notes,
    scope_name,
    translated,
    visible,
    visible_lines,
    when,
)
from reverie.ui.icons import Icons
from reverie.ui.jobs import Lane, single_shot
from reverie.ui.memory import orphan_labels as orphan_words
from reverie.ui.memory.edits import Edits, TakeBack
from reverie.ui.memory.orphan_labels import orphan_reason, orphan_title
from reverie.ui.session import HomeSession
from reverie.ui.widgets.controls import FitCombo, FitPushButton, WrapLabel, embolden
from reverie.ui.widgets.layouts import Column, FlowLayout, Panes, column, pane, split, stacked
from reverie.ui.widgets.lists import TwoLineDelegate, TwoLines, two_line_list
from reverie.ui.widgets.messages import MessageBar, Overlay
from reverie.ui.widgets.pages import EmptyPage, Heading
from reverie.ui.widgets.text_views import DiffView, read_only_text

if TYPE_CHECKING:
    from reverie.services.views import FileText, Undo


SIDE_BY_SIDE = 640
_SHOWN_CHARS = 400_000


class OrphansPage(QWidget):
    """The orphaned stores of one home: the list on the left, the contents of the selected one on the right.

    In a narrow page they are stacked. The page reads and changes no file; it emits requests as signals.
    """

    file_wanted = Signal(object, str)
    """Emitted with `StoreView` and relative path to read the text of a file."""
    merge_wanted = Signal(object, str)
    """Emitted with `StoreView` and project path ("" for global memory) to preview a merge."""

    def __init__(self, icons: Icons, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._view = OrphansView((), ())
        self._file = ""
        self._shown = ""
        self.heading = Heading()
        self.heading.say(self.tr("Orphaned stores"), "")
        self.message = MessageBar(icons, "orphans-message")
        self.none = EmptyPage(icons, "check")
        self.none.say(
            self.tr("No orphaned stores"),
            self.tr("Every note in this home is global or belongs to an existing project or workspace."),
        )
        self.stores = two_line_list(self.tr("Orphaned stores"))
        self.stores.currentRowChanged.connect(self._on_store)
        self.name = WrapLabel()
        embolden(self.name)
        self.reason = WrapLabel()
        self.match = WrapLabel()
        self.target_label = QLabel(self.tr("Merge &into:"))
        self.target = FitCombo()
        # Its longest entry must not widen the page.
        self.target.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Fixed)
        self.target.setAccessibleName(self.tr("Merge into"))
        self.target_label.setBuddy(self.target)
        self.target.currentIndexChanged.connect(self._on_target)
        self.merge = FitPushButton(self.tr("&Preview the merge…"), clicked=self._merge)
        self.remove = FitPushButton(self.tr("&Remove these notes…"))
        self.history = FitPushButton(self.tr("&History…"))
        self.files = two_line_list(self.tr("Orphaned files"))
        self.files.currentRowChanged.connect(self._on_file)
        self.text = read_only_text(self.tr("Content (read-only)"), fixed=True)
        for each in (self.stores, self.files, self.text):
            each.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
            each.setFrameShape(QListWidget.Shape.NoFrame)
        self._lay_out()

    def _lay_out(self) -> None:
        facts = Column()
        about = (self.name, self.reason, self.match, self.target_label, self.target)
        buttons = FlowLayout(self.merge, self.history, self.remove)
        column(facts, *about, buttons, margin=(MARGIN, GAP, MARGIN, GAP))
        inner = split(self.files, self.text, sizes=(160, 320), upright=True)
        right = pane(facts, inner, grows=inner, gap=0)
        self.splitter = Panes(
            self.stores, right, beside_from=SIDE_BY_SIDE, sizes=(300, 680), below=(120, 480)
        )
        self.splitter.setHandleWidth(5)
        # Blank until the first survey.
        self._pages = stacked(QWidget(), self.none, self.splitter)
        column(self, self.heading, self._pages, grows=self._pages, margin=0, gap=0)
        Overlay(self._pages, self.message)

    # Contents

    @property
    def view(self) -> OrphansView:
        """The stores that are listed, with the projects that they may be merged into."""
        return self._view

    @property
    def current(self) -> StoreView | None:
        """The selected store; None if there is none."""
        at = self.stores.currentRow()
        return self._view.stores[at] if 0 <= at < len(self._view.stores) else None

    def show_orphans(self, view: OrphansView, label: str, wanted: str = "") -> None:
        """List the stores, and select the one with the id `wanted`; "" keeps the selection."""
        before = self.current
        kept = wanted or (before.id if before is not None else "")
        same = view == self._view and self._pages.currentIndex() > 0
        self.heading.say(self.tr("Orphaned stores"), label)
        self._view = view
        row = next((n for n, each in enumerate(view.stores) if each.id == kept), 0)
        with QSignalBlocker(self.stores):
            if not same:
                self.stores.clear()
                for each in view.stores:
                    title, line = visible(orphan_title(each.store)), orphan_words.line(each)
                    tip = as_tooltip(str(each.store.directory), orphan_reason(each.store))
                    self.stores.addItem(_item(TwoLines(title, line), f"{title}, {line}", tip))
                self._pages.setCurrentIndex(2 if view.stores else 1)
            self.stores.setCurrentRow(row)
        if not same or self.current != before:
            self._on_store()

    def select(self, wanted: str) -> None:
        """Select the store with the id `wanted` if it is listed."""
        for row, each in enumerate(self._view.stores):
            if each.id == wanted:
                self.stores.setCurrentRow(row)

    def show_text(self, text: FileText) -> None:
        """Show the text of a file if that file is still selected; a long text is cut."""
        if text.path == self._file:
            cut = text.content[:_SHOWN_CHARS]
            self.text.setPlainText(visible_lines(cut.removeprefix("\ufeff")))

    def clear(self) -> None:
        """Clear the page; called when another home is shown."""
        self._view = OrphansView((), ())
        self.message.clear()
        self._pages.setCurrentIndex(0)

    @property
    def target_path(self) -> str | None:
        """The path of the chosen project; empty for global memory, None if none is chosen."""
        path = self.target.currentData()
        return path if isinstance(path, str) else None

    def target_name(self) -> str:
        """Return the name to show for the target of a merge."""
        path = self.target_path
        if not path:
            return scope_name(Scope.GLOBAL)
        return next((each.name for each in self._view.projects if each.path == path), path)

    # Selection

    @Slot()
    def _on_store(self) -> None:
        view = self.current
        before, self._shown = self._shown, view.id if view is not None else ""
        if before != self._shown and "keep" in self.message.keys:
            self.message.clear()  # its question was about another store
        if view is None:
            return
        store = view.store
        self.name.say(visible(orphan_title(store)))
        self.name.setToolTip(as_tooltip(str(store.directory)))
        self.reason.say(orphan_reason(store))
        whole = store.scope is Scope.GLOBAL
        self.match.say(
            self.tr("These notes belong in global memory.") if whole else orphan_words.match_sentence(view)
        )
        self._offer_targets(view)
        history = self.tr("Show who changed these notes and when, and restore earlier versions")
        if store.context is None:
            history = self.tr("Reverie keeps no history of these notes.")
        self.history.setEnabled(store.context is not None)
        self.history.say(self.tr("&History…"), history)
        removal = ""
        if store.kind == "other-checkout":
            removal = self.tr(
                "You cannot remove these notes, because the agent still loads them in the checkout that "
                "they belong to."
            )
        elif not view.removable:
            removal = self.tr(
                "Reverie keeps no history of these notes, so you can remove them only with another program."
            )
        self.remove.setEnabled(view.removable)
        self.remove.say(self.tr("&Remove these notes…"), removal)
        with QSignalBlocker(self.files):
            self.files.clear()
            for file in view.files:
                name, size, below = visible(file.rel), human_size(file.size), when(file.mtime_ns // 1_000_000)
                spoken = f"{name}, {size}, {below}"
                self.files.addItem(_item(TwoLines(name, below, size), spoken, as_tooltip(file.rel)))
            row = next((n for n, file in enumerate(view.files) if file.rel == self._file), 0)
            self.files.setCurrentRow(row)
        self._on_file()

    def _offer_targets(self, view: StoreView) -> None:
        """List the possible targets: matches first, then all other projects.

        If no match is the best one, no target is chosen.
        """
        with QSignalBlocker(self.target):
            self.target.clear()
            if view.store.scope is Scope.GLOBAL:
                self.target.addItem(scope_name(Scope.GLOBAL), "")
            else:
                if view.best is None:
                    self.target.addItem(self.tr("Choose a project"), None)
                for name, path, text in _targets(view, self._view):
                    self.target.addItem(text, path)
                    row = self.target.count() - 1
                    self.target.setItemData(row, as_tooltip(name, path), Qt.ItemDataRole.ToolTipRole)
            self.target.setCurrentIndex(0)
        self._on_target()

    @Slot()
    def _on_target(self) -> None:
        self.merge.setEnabled(self.target_path is not None)
        self.target.setToolTip(as_tooltip(self.target.currentText()))

    @Slot()
    def _on_file(self) -> None:
        view, row = self.current, self.files.currentRow()
        if view is not None and 0 <= row < len(view.files):
            rel = view.files[row].rel
            if rel != self._file:
                self.text.clear()
            self._file = rel
            self.file_wanted.emit(view, rel)

    @Slot()
    def _merge(self) -> None:
        if self.current is not None and self.target_path is not None:
            self.merge_wanted.emit(self.current, self.target_path)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self.splitter.turn(event.size().width())


def _item(lines: TwoLines, spoken: str, tip: str) -> QListWidgetItem:
    """Return a row of a list; `spoken` is for screen readers."""
    item = QListWidgetItem(lines.title)
    item.setData(TwoLineDelegate.ROLE, lines)
    item.setData(Qt.ItemDataRole.AccessibleTextRole, spoken)
    item.setToolTip(tip)
    return item


def _targets(view: StoreView, all_: OrphansView) -> Iterator[tuple[str, str, str]]:
    """Yield (name, path, text to show) for each project that the store can be merged into.

    `all_`: the stores and projects of the home.
    """
    matched = {match.project_path: match for match in view.matches}
    own = view.store.former_path if view.store.kind in ("missing-project", "other-checkout") else None
    there = {project.path: project.there for project in all_.projects}
    others = sorted(all_.projects, key=lambda project: not project.there)
    names = {match.project_path: match.name for match in view.matches}
    for path, name in (names | {each.path: each.name for each in others if each.path != own}).items():
        yield name, path, orphan_words.option(name, path, matched.get(path), there=there.get(path, False))


_SIDE_BY_SIDE = 620


class MergeStoreDialog(QDialog):
    """A dialog that previews the merge of a store: the result and diff of each file, and the choices.

    A file that differs on both sides has a choice. The dialog itself writes nothing.
    """

    merge = Signal(object, object)
    """Emitted on confirmation, with `MergePreview` and the choices {rel: `MergeChoice`}.

    The choices are those for the files that differ on both sides.
    """

    def __init__(
        self, preview: MergePreview, target: str, lane: Lane, icons: Icons, parent: QWidget | None = None
    ) -> None:
        super().__init__(parent)
        self.preview = preview
        self.choices: dict[str, MergeChoice] = {
            row.rel: row.choices[0] for row in preview.rows if row.choices
        }
        self._lane = lane
        self.setWindowTitle(self.tr("Merge orphaned notes"))
        self.resize(920, 560)
        title = self.tr("Merge {store} into {target}")
        self.title = WrapLabel(
            title.format(store=visible(orphan_title(preview.store)), target=visible(target))
        )
        embolden(self.title)
        self.counts = WrapLabel()
        self.problem = WrapLabel(visible(preview.problem))
        self.message = MessageBar(icons, "merge-message", closable=False)
        self.list = two_line_list(self.tr("Orphaned files"))
        self.explained = WrapLabel()
        self.radios: dict[MergeChoice, QRadioButton] = {}
        for key, name in orphan_words.CHOICES.items():
            self.radios[key] = QRadioButton(translated(name))
            self.radios[key].clicked.connect(partial(self._choose, key))
        self.diff = DiffView()
        self.buttons = QDialogButtonBox(QDialogButtonBox.StandardButton.Cancel)
        self.merge_button = self.buttons.addButton(self.tr("&Merge"), QDialogButtonBox.ButtonRole.AcceptRole)
        right = pane(self.explained, *self.radios.values(), self.diff, grows=self.diff, gap=GAP)
        self.splitter = Panes(self.list, right, beside_from=_SIDE_BY_SIDE, sizes=(300, 620))
        above = (self.title, self.counts, self.problem, self.message)
        column(self, *above, self.splitter, self.buttons, grows=self.splitter)
        self.problem.setVisible(bool(preview.problem))
        self._list_rows(next((n for n, row in enumerate(preview.rows) if row.state == "differs"), 0))
        self._show()
        self.list.currentRowChanged.connect(self._show)
        self.buttons.accepted.connect(self._merge)
        self.buttons.rejected.connect(self.reject)

    @property
    def row(self) -> MergeRow | None:
        """The selected file."""
        at = self.list.currentRow()
        return self.preview.rows[at] if 0 <= at < len(self.preview.rows) else None

    def show_failed(self, error: UserError) -> None:
        """Show why the merge failed, and keep the dialog open for another attempt."""
        self.message.say_error(error)
        self.merge_button.setEnabled(True)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self.splitter.turn(event.size().width())

    def _list_rows(self, selected: int) -> None:
        """List the files with their results for the current choices, and select one of them."""
        with QSignalBlocker(self.list):
            self.list.clear()
            for row in self.preview.rows:
                name, state = visible(row.rel), orphan_words.state(row, self.choices.get(row.rel))
                size = "" if row.state == "blocked" else human_size(len(row.lost))
                lines = TwoLines(name, state, size, quiet=row.state not in ("create", "differs"))
                self.list.addItem(_item(lines, f"{name}, {state}", as_tooltip(row.rel, row.path)))
            self.list.setCurrentRow(selected)
        self.counts.say(orphan_words.counts(self.preview, self.choices))
        self.merge_button.setEnabled(orphan_words.writes(self.preview, self.choices) > 0)

    @Slot()
    def _show(self) -> None:
        """Show the result, the choices and the diff of the selected file."""
        row = self.row
        if row is None:
            return
        choice = self.choices.get(row.rel)
        self.explained.say(orphan_words.explained(row, choice))
        for key, radio in self.radios.items():
            radio.setVisible(row.state == "differs" and key in row.choices)
            radio.setChecked(key == choice)
        before, after = {
            "create": (None, row.lost),
            "beside": (None, row.lost),
            "both": (row.live, row.union),
            # Nothing is written; show what the orphaned note has that the target does not get.
            "leave": (row.live, row.lost),
        }.get(choice or row.state, (None, None))
        self._lane.submit(
            "show a merge",
            lambda _control: unified(before, after, row.rel),
            done=lambda text: self.diff.show_diff(text or self.tr("No files will be changed.")),
            failed=self.message.say_error,
            group=f"merge {id(self)}",
        )

    def _choose(self, choice: MergeChoice) -> None:
        """Set the choice for the selected file."""
        row = self.row
        if row is not None and choice in row.choices:
            self.choices[row.rel] = choice
            self._list_rows(self.list.currentRow())
            self._show()

    @Slot()
    def _merge(self) -> None:
        self.merge_button.setEnabled(False)
        self.message.clear()
        self.merge.emit(self.preview, dict(self.choices))


# A working agent changes its home many times a second.
_QUIET_MS = 400


class OrphanSurvey(QObject):
    """The repeated search for orphaned stores in one home: at first, and when the watcher reports changes.

    An orphaned store is a directory of notes that the agent does not load any more.
    """

    surveyed = Signal(object, object)
    """Emitted with this `OrphanSurvey`, and None if `view` has changed or the `UserError` of a failure."""

    def __init__(self, session: HomeSession, parent: QObject) -> None:
        super().__init__(parent)
        self.session = session
        self.view: OrphansView | None = None
        """The result of the last search; None before the first one has finished."""
        self._closed = False
        self._timer = single_shot(self, _QUIET_MS, self.look)
        session.status_changed.connect(self._begin)
        session.outside_changed.connect(self._stir)

    @Slot()
    def look(self) -> None:
        """Start a survey now; if one is running, it is abandoned."""
        if not self._closed:
            self._timer.stop()
            self.session.lanes.history.submit(
                "look for orphaned stores",
                ask(self.session.workbench.orphans.survey),
                done=self._on_view,
                failed=partial(self.surveyed.emit, self),
                group=f"orphans {id(self)}",
            )

    def stop(self) -> None:
        """Stop surveying; called when the home or the window closes."""
        self._closed = True
        self._timer.stop()

    def _on_view(self, view: OrphansView) -> None:
        if view != self.view:
            self.view = view
            self.surveyed.emit(self, None)

    @Slot()
    def _begin(self) -> None:
        """Start the first survey after the status of the home was read."""
        self.session.status_changed.disconnect(self._begin)
        self._stir()

    @Slot()
    def _stir(self) -> None:
        """Start a survey after `_QUIET_MS`, unless one is scheduled."""
        if not self._closed and not self._timer.isActive():
            self._timer.start()


class OrphansControl(QObject):
    """The controller of the orphaned stores of all open homes: it finds, shows, merges and removes them."""

    found = Signal(str, object)
    """Emitted with the home id and its orphaned stores when a survey brought a change."""
    page_wanted = Signal(object)
    """Emitted with the page when it is to replace the trees and the editor."""
    history_wanted = Signal(object, str, object)
    """Emitted with `HomeSession`, memory path and `ScopeContext` to show the history of a store."""

    def __init__(self, edits: Edits, icons: Icons, parent: QObject) -> None:
        super().__init__(parent)
        self._edits = edits
        self._icons = icons
        self._surveys: dict[str, OrphanSurvey] = {}
        self._session: HomeSession | None = None
        self._wanted = ""
        self._focus = False
        self._asked: StoreView | None = None
        """The store that the message of the page is about: it was merged, or is to be removed."""
        self.dialog: MergeStoreDialog | None = None
        edits.undone.connect(self._on_undone)
        edits.failed.connect(self._on_failed)

    @cached_property
    def page(self) -> OrphansPage:
        """The page, created on first use."""
        page = OrphansPage(self._icons)
        page.file_wanted.connect(self._read)
        page.merge_wanted.connect(self._preview)
        page.remove.clicked.connect(self._on_remove)
        page.history.clicked.connect(self._show_history)
        page.message.chosen.connect(self._on_chosen)
        return page

    @cached_property
    def _back(self) -> TakeBack:
        """The Undo button in the message of the page."""
        return TakeBack(self.page.message, self._edits)

    def show(self, session: HomeSession, store: str = "") -> None:
        """Show the page of a home, and select the store with the id `store`."""
        if session is not self._session:
            self.page.clear()
        self._session, self._wanted = session, store
        self.page_wanted.emit(self.page)
        survey = self._surveys.get(session.info.id)
        if survey is not None:
            self._show_view(survey)
        self._look_again()

    def _look_again(self) -> None:
        """Search the shown home again, because no event reports that a project's directory has reappeared."""
        survey = self._surveys.get(self._session.info.id) if self._session is not None else None
        if survey is not None:
            survey.look()

    def has_looked(self, home: str) -> bool:
        """Return True if a search in the home with the id `home` has finished."""
        survey = self._surveys.get(home)
        return survey is not None and survey.view is not None

    def focus(self) -> None:
        """Search the shown home again, and move the focus to the list of stores as soon as it has entries."""
        self._focus = True
        self._take_focus()
        self._look_again()

    def _take_focus(self) -> None:
        """Move the focus into the list if it was requested and the list has entries."""
        if self._focus and self._is_shown and self.page.current is not None:
            self._focus = False
            self.page.stores.setFocus()

    def stop(self) -> None:
        """Stop all surveys and close the dialog; called when the window closes."""
        for survey in self._surveys.values():
            survey.stop()
        if self.dialog is not None:
            self.dialog.close()

    # Surveys

    @Slot(object)
    def add_session(self, session: HomeSession) -> None:
        """Search the home of `session` for orphaned stores from now on."""
        if session.info.id not in self._surveys:
            survey = self._surveys[session.info.id] = OrphanSurvey(session, self)
            survey.surveyed.connect(self._on_surveyed)

    @Slot(object)
    def remove_session(self, session: HomeSession) -> None:
        """Stop searching the home of `session` for orphaned stores."""
        survey = self._surveys.pop(session.info.id, None)
        if survey is not None:
            survey.stop()
        if session is self._session:
            self._session = None
            if self.dialog is not None:
                self.dialog.close()

    @Slot(object, object)
    def _on_surveyed(self, survey: OrphanSurvey, error: UserError | None) -> None:
        is_ours = survey.session is self._session
        if error is not None:
            if is_ours and self._is_shown:
                self.page.message.say_error(error)
        elif survey.view is not None:
            self.found.emit(survey.session.info.id, tuple(view.store for view in survey.view.stores))
            if is_ours:
                self._show_view(survey)

    def _show_view(self, survey: OrphanSurvey) -> None:
        """Show the result of a survey on the page."""
        if survey.view is not None:
            self.page.show_orphans(survey.view, survey.session.info.label, self._wanted)
            self._wanted = ""
            self._take_focus()

    @property
    def _is_shown(self) -> bool:
        return "page" in self.__dict__ and self.page.isVisible()

    # Reading

    @Slot(object, str)
    def _read(self, view: StoreView, rel: str) -> None:
        """Read the text of a file in a job, and show it."""
        session = self._session
        if session is not None:
            session.lanes.scan.submit(
                "read an orphaned note",
                ask(session.workbench.orphans.read, view.store, rel),
                done=self.page.show_text,
                failed=self.page.message.say_error,
                group=f"orphan {id(self)}",
            )

    @Slot()
    def _show_history(self) -> None:
        """Emit a request to show the history of the whole store.

        From there the user can reach the history of each note, even of deleted ones.
        """
        view, session = self.page.current, self._session
        if view is not None and view.store.context is not None and session is not None:
            self.history_wanted.emit(session, f"{ROOT}/{view.store.scope.value}", view.store.context)

    @Slot(object, str)
    def _preview(self, view: StoreView, project_path: str) -> None:
        """Read the preview of a merge in a job, and show it unless another home is shown meanwhile."""
        session, target = self._session, self.page.target_name()
        if session is None:
            return

        def done(preview: MergePreview) -> None:
            if session is not self._session:
                return
            if self.dialog is not None:
                self.dialog.close()
            self.dialog = MergeStoreDialog(preview, target, session.lanes.scan, self._icons, self.page)
            self.dialog.merge.connect(partial(self._merge, view, target))
            self.dialog.finished.connect(self._on_dialog_closed)
            self.dialog.open()

        session.lanes.scan.submit(
            "preview a merge",
            ask(session.workbench.orphans.preview, view.store, project_path),
            done=done,
            failed=self.page.message.say_error,
            group=f"merge {id(self)}",
        )

    @Slot(int)
    def _on_dialog_closed(self, _result: int) -> None:
        if self.dialog is not None:
            self.dialog.deleteLater()
            self.dialog = None

    # Changing

    def _merge(
        self, view: StoreView, target: str, preview: MergePreview, choices: Mapping[str, MergeChoice]
    ) -> None:
        """Merge a store into the project with the name `target`, and offer Undo and the store's removal."""
        session = self._session
        if session is None:
            return

        def done(undo: Undo) -> None:
            if session is not self._session:
                return
            if self.dialog is not None:
                self.dialog.accept()
            self._asked = view
            tip = self.tr("The history keeps the removed notes")
            more = [("remove", self.tr("Remove the orphaned notes…"), tip)] if view.removable else []
            count = orphan_words.writes(preview, choices)
            self._back.offer(undo, orphan_words.merged(count, visible(target)), more)

        job = ask(session.workbench.orphans.apply, preview, choices)
        self._edits.apply(session, "merge an orphaned store", job, done)

    @Slot()
    def _on_remove(self) -> None:
        self._asked = self.page.current
        self._ask_removal()

    def _ask_removal(self) -> None:
        """Ask in the message of the page whether to remove the store that it is about."""
        view = self._asked
        if view is None:
            return
        question = self.tr(
            "Remove {name} with its {notes}? The history keeps the notes, and you can undo the removal."
        )
        question = question.format(name=visible(orphan_title(view.store)), notes=notes(len(view.files)))
        if view.store.kind == "missing-project":
            # The project may be on a disk that is not mounted.
            question += " " + self.tr(
                "After the removal, the agent will not find these notes even if the project comes back."
            )
        buttons = (("remove-now", self.tr("Remove"), ""), ("keep", self.tr("Keep the notes"), ""))
        self.page.message.say(question, tone="warn", buttons=buttons)
        self.page.message.button("keep").setFocus()

    @Slot(str)
    def _on_chosen(self, key: str) -> None:
        if key == "remove":
            self._ask_removal()
        elif key in ("remove-now", "keep"):
            self.page.message.clear()
            if key == "remove-now":
                self._remove()

    def _remove(self) -> None:
        """Remove the store that the message was about, and offer Undo."""
        session, view, self._asked = self._session, self._asked, None
        if session is None or view is None:
            return
        removed = self.tr("Removed {name}.").format(name=visible(orphan_title(view.store)))

        def done(undo: Undo) -> None:
            if session is self._session:
                self._back.offer(undo, removed)

        job = ask(session.workbench.orphans.remove, view.store)
        self._edits.apply(session, "remove an orphaned store", job, done)

    # Results

    @Slot(object, object, str)
    def _on_undone(self, session: HomeSession, _undo: Undo, sentence: str) -> None:
        if session is self._session and self._is_shown:
            self.page.message.say(visible(sentence))

    @Slot(object)
    def _on_failed(self, error: UserError) -> None:
        if self.dialog is not None:
            self.dialog.show_failed(error)
        elif self._is_shown:
            self.page.message.say_error(error)
