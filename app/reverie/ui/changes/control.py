"""Controller of the Changes tab: reads change sets, runs and deleted memories, and carries out the actions.

Change sets are read a page at a time. When the history or the runs have changed, the newest change sets are
read again: at once if the tab is visible, otherwise when it is shown. Runs are applied and undone by the
consolidation; undoing a commit and restoring a file count as edits by the user, and the message about the
result has an Undo button.

Threading: GUI thread; reads are jobs on a lane of their own. Failure: shown as a message in the tab.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from PySide6.QtCore import QObject, Qt, Signal, Slot
from PySide6.QtGui import QKeySequence, QShortcut
from PySide6.QtWidgets import QCheckBox, QDialog, QDialogButtonBox, QListWidgetItem, QWidget

from reverie.agents.scopes import Scope, ScopeContext
from reverie.engine.asking import ask
from reverie.errors import StoreError, UserError
from reverie.jobs.consolidate.review import ReviewSelection
from reverie.memory.paths import ROOT
from reverie.services.views import run_undone
from reverie.ui.changes.diff import PaneReader, ShownFile
from reverie.ui.changes.review import Choices, ReviewPart
from reverie.ui.changes.rows import DELETED, ChangeRow, change_rows, restored
from reverie.ui.changes.tab import ChangesTab
from reverie.ui.display_text import as_tooltip, counted, tr, visible, when
from reverie.ui.icons import Icons
from reverie.ui.jobs import JobControl, Lane
from reverie.ui.memory.edit_dialogs import PathDialog
from reverie.ui.memory.edits import Edits, TakeBack
from reverie.ui.memory.footer import applied_words, conflict_words
from reverie.ui.memory.footer_control import DreamEnded, FooterControl
from reverie.ui.run_labels import summary_words
from reverie.ui.session import HomeSession, TreeUpdate, reconnect
from reverie.ui.widgets.controls import WrapLabel, embolden
from reverie.ui.widgets.layouts import column
from reverie.ui.widgets.lists import TwoLineDelegate, TwoLines, two_line_list
from reverie.ui.widgets.messages import MessageBar, Tone
from reverie.values import replace

if TYPE_CHECKING:
    from reverie.memory.history.reader import Cursor
    from reverie.runs.parts import Parts
    from reverie.runs.record import RunRecord, RunResult
    from reverie.services.change_log import ChangeLogPage, LoggedChange
    from reverie.services.timeline import RestorePlan, TimelineTarget
    from reverie.services.trash import TrashEntry
    from reverie.services.views import ReviewView, Undo

RUNS_SHOWN = 200
"""The maximum number of runs that are read."""
PAGE, NEWEST = 100, 20
"""The number of change sets in a page, and the number that are read to update the list."""


class ChangesControl(QObject):
    """The controller of the Changes tab of a window."""

    open_wanted = Signal(str)
    """Emitted with a path to open in the editor; it belongs to the context that is shown."""
    worth_wanted = Signal()
    """Emitted to show the Worth a look page, which lists findings about the memories."""

    def __init__(
        self,
        tab: ChangesTab,
        lane: Lane,
        dreams: FooterControl,
        edits: Edits,
        trees: Callable[[], TreeUpdate | None],
        icons: Icons,
    ) -> None:
        """Connect the tab; `trees` returns the newest update of the Memory tab's trees, or None."""
        super().__init__(tab)
        self.tab = tab
        self._dreams = dreams
        self._edits = edits
        self._trees = trees
        self._icons = icons
        self._reader = PaneReader(lane, self)
        self._session: HomeSession | None = None
        self._path = ""  # list only the changes of this memory, folder or companion; "" for all
        self._context: ScopeContext | None = None
        self._stale = True
        self._wanted = ""
        self._result: tuple[str, str, Tone] | None = None  # run id and message to show with that run
        self._reverting: tuple[HomeSession, ScopeContext, str, Parts | None] | None = None
        self.dialog: RestoreDialog | None = None
        self._forget()
        self._changes_back = TakeBack(tab.files.message, edits)
        self._deleted_back = TakeBack(tab.deleted.message, edits)
        self._connect()

    def _forget(self) -> None:
        """Forget everything that was read from the home."""
        self._target: TimelineTarget | None = None
        self._runs: tuple[RunRecord, ...] = ()
        self._changes: tuple[LoggedChange, ...] = ()
        self._next: Cursor | None = None
        self._asked: Cursor | str | None = None  # the page that is being read
        self._entries: tuple[TrashEntry, ...] = ()
        self._older: str | None = None

    def _connect(self) -> None:
        tab, jobs = self.tab, self._dreams.jobs
        tab.shown.connect(self._on_shown)
        tab.changes.picked.connect(self._on_picked)
        tab.changes.more_wanted.connect(self._read_more)
        tab.changes.kind_changed.connect(self._on_changed)
        tab.changes.everything_wanted.connect(self.show_everything)
        tab.files.apply.connect(self._apply)
        tab.files.take_back.connect(self._take_back)
        tab.files.discard.connect(self._discard)
        tab.files.picked.connect(self._on_part)
        tab.files.restore_folder.connect(self._plan_folder)
        tab.files.open_wanted.connect(self._open)
        tab.files.worth_wanted.connect(self.worth_wanted)
        tab.versions.wanted.connect(self.show_change)
        tab.versions.restore_wanted.connect(self._restore_version)
        tab.deleted.restore.connect(lambda entries: self._bring_back(entries, {}))
        tab.deleted.restore_as.connect(self._restore_as)
        self._reader.failed.connect(self._on_unreadable)
        tab.versions.reader.failed.connect(self._say_error)
        jobs.ended.connect(self._on_ended)
        jobs.reverted.connect(self._on_reverted)
        jobs.failed.connect(self._say_error)
        jobs.cancelled.connect(tab.files.ended)
        self._dreams.refused.connect(self._say_error)
        self._dreams.footer.aged.connect(tab.changes.update_ages)
        undo = QShortcut(QKeySequence(QKeySequence.StandardKey.Undo), tab, self._undo_last)
        undo.setContext(Qt.ShortcutContext.WidgetWithChildrenShortcut)

    def set_session(self, session: HomeSession | None) -> None:
        """Set the home to show; None shows no home."""
        reconnect(
            self._session, session, lambda home: (home.runs_changed, home.marks_changed), self._on_changed
        )
        self._session = session
        if self.dialog is not None:
            self.dialog.reject()
        self._look_at("", None)

    def stop(self) -> None:
        """Stop reading. Called when the window closes."""
        self._session = None

    @property
    def session(self) -> HomeSession | None:
        return self._session

    @property
    def is_settled(self) -> bool:
        """True if the tab is up to date and nothing is being read."""
        return not self._stale and not self._reader.busy and not self.tab.versions.reader.busy

    # The listed changes

    @Slot()
    def show_everything(self) -> None:
        """List all changes of the home."""
        self._look_at("", None)
        self.tab.changes.select("")

    def show_runs(self) -> None:
        """List the consolidations of the home."""
        self._look_at("", None)
        self.tab.changes.select("", show_only="dream")
        self.tab.changes.list.setFocus()

    def show_deleted(self) -> None:
        """List the deleted memories of the home."""
        self._look_at("", None)
        self.tab.changes.select("", show_only=DELETED)
        self.tab.changes.text.setFocus()

    def show_history(self, path: str, context: ScopeContext | None = None) -> None:
        """List the changes of the memory, folder, scope or companion `path`.

        `context` is the context of the path; None means the context that is shown.
        """
        self._look_at(path, context)
        self.tab.changes.select("")
        self.tab.changes.list.setFocus()

    @Slot(str)
    def show_change(self, key: str) -> None:
        """Select the change set whose run or commit has the id `key`."""
        if self._path:
            self._look_at("", None)
        self._wanted = key
        self.tab.go_to(1)
        self.tab.changes.select(key)
        self._on_changed()
        self.tab.files.tree.setFocus()

    def _look_at(self, path: str, context: ScopeContext | None) -> None:
        """Read and list the changes of `path` in `context`; an empty `path` lists all changes."""
        self._forget()
        self._path, self._context, self._wanted = path, context, ""
        for group in ("changes", "older", "review"):
            self._reader.drop(group)
        self.tab.files.message.clear()
        self.tab.changes.say_target(path)
        self.tab.changes.show_rows((), more=self._session is not None)
        self.tab.go_to(0)
        self._on_changed()

    @Slot()
    def _on_shown(self) -> None:
        if self._stale:
            self.follow()

    @Slot()
    def _on_changed(self) -> None:
        """Read the changes again: now if the tab is visible, otherwise when it is shown."""
        self._stale = True
        if self.tab.isVisible():
            self.follow()

    @Slot()
    def follow(self) -> None:
        """Read the newest changes again; older changes stay in the list."""
        session = self._session
        if session is None:
            self._stale = False
            self.tab.files.show_nothing(self.tr("No home is open."))
            return
        if self.tab.changes.shows_deleted:
            self._read_deleted(session, None)
            return
        workbench, path, known = session.workbench, self._path, self._target
        limit = NEWEST if self._changes else PAGE  # most of them have been read before
        context = self._context or session.context

        async def work(_control: JobControl) -> Any:
            target = known
            if path and target is None and context is not None:
                target = await ask(workbench.timeline.target, context, path)
            runs = await ask(workbench.runs, limit=RUNS_SHOWN)
            return target, runs, await ask(workbench.change_log.page, None, target, limit=limit)

        self._reader.read("read what changed", "changes", work, self._on_read)

    def _on_read(self, found: tuple[TimelineTarget | None, tuple[RunRecord, ...], ChangeLogPage]) -> None:
        self._target, self._runs, page = found
        self._stale, self._asked = False, None
        ids = [change.id for change in page.changes]
        if self._changes and self._changes[0].id in ids:
            self._changes = (*page.changes[: ids.index(self._changes[0].id)], *self._changes)
        else:
            self._changes, self._next = page.changes, page.next
        self._show_rows()
        self.tab.versions.follow()

    def _show_rows(self) -> None:
        """Show the rows that were read, and update the selected change set."""
        if self.tab.changes.shows_deleted:
            rows = [ChangeRow(entry.id, entry.at_ms, deleted=entry) for entry in self._entries]
            self.tab.changes.show_rows(rows, more=self._older is not None)
            return
        found = change_rows(self._runs, self._changes)
        if self._path:
            found = tuple(row for row in found if row.change is not None or self._is_about(row))
        elif self._next is not None and self._changes:
            # A run older than the last page that was read is listed later, below those still to be read.
            oldest = self._changes[-1].at_ms
            found = tuple(
                row for row in found if row.at_ms >= oldest or row.is_proposal or (row.key == self._wanted)
            )
        before = self.tab.changes.current
        self.tab.changes.show_rows(found, more=self._next is not None)
        row = self.tab.changes.current
        if row is None:
            self.tab.files.show_nothing("")
            self.tab.versions.show_file(None)
        elif row == before:
            self._read_review(row)  # other changes may decide whether the run can be applied

    def _is_about(self, row: ChangeRow) -> bool:
        """Return True if a row is a proposal, a run to be decided about, that changes the listed path."""
        inside = (self._path, self._path + "/")
        return row.is_proposal and any(path == inside[0] or path.startswith(inside[1]) for path in row.paths)

    @Slot()
    def _read_more(self) -> None:
        """Read the next page of changes or deleted memories."""
        session = self._session
        deleted = self.tab.changes.shows_deleted
        wanted = self._older if deleted else self._next
        if session is None or wanted is None or wanted == self._asked:
            return
        self._asked = wanted
        if deleted:
            self._read_deleted(session, self._older)
            return
        start = self._next
        work = ask(session.workbench.change_log.page, start, self._target, limit=PAGE)

        def done(page: ChangeLogPage) -> None:
            if self._next == start:
                self._changes, self._next = (*self._changes, *page.changes), page.next
                self._show_rows()

        self._reader.read("read older changes", "older", work, done)

    def _read_deleted(self, session: HomeSession, start: str | None) -> None:
        """Read a page of the deleted memories that begins at `start`; None reads the newest again."""
        workbench, known = session.workbench, len(self._entries)

        async def work(_control: JobControl) -> tuple[tuple[TrashEntry, ...], str | None]:
            entries, following = await ask(workbench.trash.page, start)
            # When the newest are read again, read as many entries as were listed before.
            while start is None and following is not None and len(entries) < known:
                more, following = await ask(workbench.trash.page, following)
                entries += more
            return entries, following

        def done(found: tuple[tuple[TrashEntry, ...], str | None]) -> None:
            entries, self._older = found
            self._asked = None
            before = self._entries if start is not None else ()
            seen = {entry.id for entry in before}
            self._entries = (*before, *(entry for entry in entries if entry.id not in seen))
            self._stale = False
            self._show_rows()

        self._reader.read("read what was deleted", "changes", work, done)

    # The selected change set

    @Slot(object)
    def _on_picked(self, row: ChangeRow | None) -> None:
        if self.tab.changes.shows_deleted:
            self._show_deleted()
            return
        self.tab.versions.show_view("change")
        if row is None:
            self.tab.files.show_nothing("")
            self.tab.versions.show_file(None)
            return
        self.tab.files.begin(row, self._path_in(row))
        if self._result is not None and self._result[0] == row.key:
            self._say(*self._result[1:])
            self._result = None
        change = row.change
        is_folder = change is not None and any(file.place != change.place for file in change.files)
        self.tab.files.restore_folder_button.setVisible(bool(self._path) and is_folder)
        self._read_review(row)

    def _path_in(self, row: ChangeRow) -> str:
        """Return the path that the memory whose changes are listed had in the change set of `row`.

        Returns an empty text if the changes of all memories are listed.
        """
        if self._path and row.change is not None and row.change.files:
            return row.change.files[0].path
        return self._path

    def _read_review(self, row: ChangeRow) -> None:
        """Read the files of a change set in a job, and show them."""
        session, target = self._session, self._target
        if session is None:
            return
        workbench, run, change = session.workbench, row.run, row.change
        beside = target if target is not None and target.beside else None

        async def work(_control: JobControl) -> Choices:
            return Choices(await read())

        async def read() -> ReviewView:
            if run is not None and not (beside and change):
                try:
                    return await ask(workbench.reviews.review, run.id)
                except StoreError:
                    if change is None:
                        raise  # with a commit, the history has the contents that the run has lost
            assert change is not None
            return await ask(workbench.change_log.review, change)

        def done(found: Choices) -> None:
            if self.tab.files.row is not None and self.tab.files.row.key == row.key:
                self.tab.files.begin(row, self._path_in(row) if self.tab.files.choices is None else "")
                self.tab.files.show_review(found)

        self._reader.read("read a change set", "review", work, done)

    @Slot(object)
    def _on_part(self, part: ReviewPart | None) -> None:
        """Show the versions of the file in the selected row `part`, if the history has any."""
        row, session = self.tab.files.row, self._session
        change = row.change if row is not None else None
        context = self._context or (session.context if session is not None else None)
        if part is None or part.file is None or change is None or session is None or context is None:
            self.tab.versions.show_file(None)
            return
        beside = self._target if self._target is not None and self._target.beside else None
        if row is not None and row.run is not None and beside is None:
            change = replace(change, place=None)  # a run is shown with all its changes
        self.tab.versions.show_file(ShownFile(session.workbench, context, change, part.file.path, beside))

    @Slot(object, str)
    def _open(self, row: ChangeRow, path: str) -> None:
        """Open a file of a change set, unless `path` names a different file in the context that is shown."""
        context = self._session.context if self._session is not None else None
        if context is not None and self._is_shown(row, path, context):
            self.open_wanted.emit(path)
            return
        self._say_error(
            UserError(
                self.tr("This memory belongs to another project or workspace."),
                next_step=self.tr(
                    "Select that project or workspace in the list of homes, then open the memory again."
                ),
            )
        )

    def _is_shown(self, row: ChangeRow, path: str, context: ScopeContext) -> bool:
        """Return True if `path` names the same file in `context` as in the change set of `row`."""
        if row.run is not None:
            scope = path.removeprefix(f"{ROOT}/").partition("/")[0]
            if scope == Scope.WORKSPACE.value:
                return row.run.workspace_id == context.workspace_id
            return scope != Scope.PROJECT.value or row.run.project_path == context.project_path
        keys = {file.place.key for file in (row.change.files if row.change else ()) if file.path == path}
        return keys <= self._shown_keys

    @property
    def _shown_keys(self) -> set[str]:
        """The keys (`ScopeRoot.key`) of the directories of memories that the Memory tab shows."""
        update = self._trees()
        scopes = update.view.scopes.values() if update is not None else ()
        return {listing.root.key for listing in scopes if listing.root is not None}

    # Applying and undoing

    @Slot(object, object)
    def _apply(self, row: ChangeRow, selection: ReviewSelection) -> None:
        if row.run is not None:
            self._dreams.apply(row.run.id, selection)

    @Slot(object, object)
    def _take_back(self, row: ChangeRow, parts: Parts | None) -> None:
        """Undo a run with the consolidation service, or undo a commit by making an edit in the user's name.

        `parts` are the parts to undo; None undoes the whole change set.
        """
        choices, session = self.tab.files.choices, self._session
        of_run = row.run is not None and (choices is None or choices.view.run is not None)
        if of_run and row.run is not None:
            if session is not None and session.context is not None and not self._dreams.jobs.running:
                self._reverting = (session, session.context, row.run.id, parts)
            self._dreams.revert(row.run.id, parts)
        elif row.change is not None and session is not None:
            work = ask(session.workbench.change_log.take_back, row.change, parts, self._target)
            self._change(session, "undo a change", work, self._on_taken_back)

    def _on_taken_back(self, undo: Undo) -> None:
        said = counted("Undid the changes to 1 file.", "Undid the changes to %n files.", undo.count)
        self._changes_back.offer(undo, said)
        self.tab.files.ended()

    @Slot()
    def _undo_last(self) -> None:
        """Undo the last change made in this tab, like the Undo button of the message about it."""
        for back in (self._changes_back, self._deleted_back):
            if back.can_undo:
                back.undo()

    def _change(self, session: HomeSession, name: str, work: Any, done: Callable[[Undo], None]) -> None:
        """Run `work`, a change of memories, as an edit by the user, which can be undone.

        `name` is the name of the job. `done` is called with the `Undo` of the change.
        """
        for message in (self.tab.files.message, self.tab.deleted.message):
            message.clear()
        self._edits.apply(session, name, work, done, self._say_error)

    @Slot(object, bool)
    def _discard(self, row: ChangeRow, discarded: bool) -> None:
        """Discard a proposal or, if `discarded` is False, make it a proposal again.

        A proposal is a run that waits for the user's decision.
        """
        session, run = self._session, row.run
        if session is None or run is None:
            return
        work = ask(session.workbench.reviews.discard, run.id, discarded)
        self._reader.read("discard a proposal", "discard", work, lambda _nothing: self._on_changed())

    @Slot(object)
    def _on_ended(self, ended: DreamEnded) -> None:
        """Show the result of applying a review, and select the run that it made."""
        run = ended.run
        if ended.kind != "apply":
            self.tab.files.ended()
            return
        if run.outcome == "completed":
            self._result = run.run_id, applied_words(run), "info"
            self.show_change(run.run_id)
        else:
            self._say(applied_words(run), "info" if run.outcome == "unchanged" else "warn")

    @Slot(object)
    def _on_reverted(self, result: RunResult) -> None:
        said = conflict_words(result) if result.conflicts else summary_words(result.summary)
        self._say(said, "warn" if result.conflicts else "info")
        asked, self._reverting = self._reverting, None
        if asked is not None and asked[2] == result.reverts and result.applied:
            session, context, run_id, parts = asked
            undo = run_undone(context, result)
            self._edits.add(
                session, "undo a run", ask(session.workbench.undo_run, context, run_id, parts), undo
            )
            tone: Tone = "warn" if result.conflicts else "info"
            self._changes_back.offer(undo, said, tone=tone)
        self._on_changed()

    def _say(self, said: str, tone: Tone) -> None:
        """Show the message `said` above the files, and enable the buttons again."""
        self.tab.files.message.say(said, tone=tone)
        self.tab.files.ended()

    @Slot(object)
    def _on_unreadable(self, error: UserError) -> None:
        self._asked = None  # so that the older page can be requested again
        self._say_error(error)

    @Slot(object)
    def _say_error(self, error: UserError) -> None:
        """Show the error of a failed read or change, and enable the buttons for another attempt."""
        message = self.tab.deleted.message if self.tab.changes.shows_deleted else self.tab.files.message
        message.say_error(error)
        self.tab.files.ended()

    # Restoring

    @Slot(object)
    def _restore_version(self, file: ShownFile) -> None:
        """Restore the file to its state after the change set.

        If the change set deleted the file, its state before the change set is restored.
        """
        session = self._session
        if session is None:
            return

        async def work(_control: JobControl) -> RestorePlan:
            log, timeline = file.workbench.change_log, file.workbench.timeline
            target, before, after = await ask(log.version, file.context, file.change, file.path, file.target)
            gone = await ask(timeline.read, after) is None
            return await ask(timeline.plan, target, before if gone else after)

        self._reader.read("plan a restore", "plan", work, self._on_plan)

    @Slot()
    def _plan_folder(self) -> None:
        """Plan to restore the listed folder to its state after the selected change set."""
        row, session, target = self.tab.files.row, self._session, self._target
        state = row.change.after if row is not None and row.change is not None else None
        if session is None or target is None or state is None:
            return
        work = ask(session.workbench.timeline.plan, target, state)
        self._reader.read("plan a restore", "plan", work, self._on_plan)

    def _on_plan(self, plan: RestorePlan) -> None:
        """Carry out a plan for a restore at once if it is about a single file, because that can be undone.

        A plan for several files is first shown in a dialog.
        """
        if len(plan.files) == 1 and not plan.newer and not plan.refused:
            self._carry_out(plan, False)
        elif not plan.files and not plan.newer and not plan.refused:
            self._say(planned(plan), "info")
        else:
            at_ms = self.tab.files.row.at_ms if self.tab.files.row is not None else 0
            self.dialog = RestoreDialog(plan, when(at_ms), self._icons, self.tab)
            self.dialog.wanted.connect(self._carry_out)
            self.dialog.finished.connect(self._on_dialog_gone)
            self.dialog.open()

    @Slot()
    def _on_dialog_gone(self) -> None:
        self.dialog = None

    @Slot(object, bool)
    def _carry_out(self, plan: RestorePlan, remove_newer: bool) -> None:
        """Carry out a restore; with `remove_newer`, also delete the files that were added since."""
        session = self._session
        if session is not None:
            work = ask(session.workbench.restore, plan, remove_newer=remove_newer)
            self._change(session, "restore", work, self._on_version_restored)

    def _on_version_restored(self, undo: Undo) -> None:
        said = counted("Restored to this version.", "%n files were restored.", undo.count)
        self._changes_back.offer(undo, said)

    # Deleted memories

    def _show_deleted(self) -> None:
        """Show the selected deleted memories; if only one is selected, read its text too."""
        entries = [row.deleted for row in self.tab.changes.selected if row.deleted is not None]
        self.tab.deleted.show_entries(entries)
        session = self._session
        if len(entries) == 1 and session is not None:
            work = ask(session.workbench.trash.read, entries[0])
            self._reader.read("read a deleted memory", "deleted text", work, self.tab.deleted.text.show_bytes)

    @Slot(object)
    def _restore_as(self, entry: TrashEntry) -> None:
        path = self.ask_name(entry)
        if path:
            self._bring_back((entry,), {entry.id: path})

    def ask_name(self, entry: TrashEntry) -> str:
        """Ask the user where to restore a memory; return the path, or an empty string if cancelled.

        A path that exists already is not rejected here but by the restore.
        """
        title, accept = self.tr("Restore as"), self.tr("Restore")
        rel = entry.deletion.place.rel
        dialog = PathDialog(title, accept, (entry.scope,), rel, lambda _path: False, self.tab)
        try:
            return dialog.path if dialog.exec() == PathDialog.DialogCode.Accepted else ""
        finally:
            dialog.deleteLater()

    def _bring_back(self, entries: Sequence[TrashEntry], names: dict[str, str]) -> None:
        """Restore deleted memories.

        `names` maps the ids of entries to the paths at which they are restored; all other entries
        are restored at their old paths.
        """
        session = self._session
        if session is not None:
            work = ask(session.workbench.trash.restore, entries, names)
            self._change(session, "restore deleted memories", work, self._on_restored)

    def _on_restored(self, undo: Undo) -> None:
        self._deleted_back.offer(undo, restored(undo.count))
        self._on_changed()


MOST_ROWS = 1_000
"""The maximum number of files that are listed."""


class RestoreDialog(QDialog):
    """A dialog that previews a restore: counts, files, and whether to delete files that were added since.

    The dialog shows one plan and changes no file itself. It closes when the user agrees.
    """

    wanted = Signal(object, bool)
    """Emitted when the user agrees, with the `RestorePlan` and whether to delete newer files."""

    def __init__(self, plan: RestorePlan, when: str, icons: Icons, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.setWindowTitle(self.tr("Restore"))
        self.plan = plan
        head = WrapLabel(self.tr("{path} as it was on {when}").format(path=plan.path, when=when))
        embolden(head)
        self.summary = WrapLabel(planned(plan))
        self.refused = MessageBar(icons, "restore-refused", closable=False)
        self.list = two_line_list(self.tr("Files that would change"))
        delete = counted(
            "Also &delete 1 file added since then", "Also &delete %n files added since then", len(plan.newer)
        )
        self.newer = QCheckBox(delete)
        self.newer.setToolTip(self.tr("Deleted files stay in the history and can be restored"))
        self.newer.toggled.connect(self._follow)
        self.buttons = QDialogButtonBox(QDialogButtonBox.StandardButton.Cancel)
        self.agree = self.buttons.addButton(self.tr("&Restore"), QDialogButtonBox.ButtonRole.AcceptRole)
        self.agree.setIcon(icons.icon("undo"))
        self.agree.setToolTip(self.tr("Restore these files; you can undo this"))
        self.buttons.accepted.connect(self._on_agreed)
        self.buttons.rejected.connect(self.reject)
        outer = column(
            self, head, self.summary, self.refused, self.list, self.newer, self.buttons, grows=self.list
        )
        self.newer.setVisible(bool(plan.newer))
        listed = bool(plan.files or plan.newer)
        self.list.setVisible(listed)
        outer.addStretch(0 if listed else 1)
        self.resize(560, 420 if listed else 140)
        self._say_refused()
        self._follow()

    def _say_refused(self) -> None:
        """Show why some files cannot be restored; hide the message if all can be restored."""
        if not self.plan.refused:
            self.refused.clear()
            return
        path, why = self.plan.refused[0]
        count = len(self.plan.refused)
        said = self.tr("{path} cannot be restored: {why}").format(path=visible(path), why=visible(why))
        if count > 1:
            said += " " + counted(
                "1 more file cannot be restored.", "%n more files cannot be restored.", count - 1
            )
        self.refused.say(said, tone="warn")

    @Slot()
    def _follow(self) -> None:
        """Update the list and the button, because the check box has changed."""
        shown = [*self.plan.files, *(self.plan.newer if self.newer.isChecked() else ())]
        self.list.clear()
        for file in shown[:MOST_ROWS]:
            folder, _, name = file.path.rpartition("/")
            said = {
                "create": self.tr("will be restored"),
                "change": self.tr("will change"),
                "delete": self.tr("will be deleted"),
            }[file.verb]
            item = QListWidgetItem(f"{visible(file.path)} {said}")
            item.setData(TwoLineDelegate.ROLE, TwoLines(visible(name), visible(folder), said))
            item.setToolTip(as_tooltip(file.path, said))
            self.list.addItem(item)
        if len(shown) > MOST_ROWS:
            self.list.addItem(self.tr("… and {n} more").format(n=len(shown) - MOST_ROWS))
        self.agree.setEnabled(bool(shown))

    @Slot()
    def _on_agreed(self) -> None:
        self.wanted.emit(self.plan, self.newer.isChecked())
        self.accept()


def planned(plan: RestorePlan) -> str:
    """Return a sentence that describes the effects of a restore."""
    created = sum(file.verb == "create" for file in plan.files)
    changed = len(plan.files) - created
    if not plan.files:
        return tr("Nothing to restore: no file differs from this version.")
    said = (
        counted("1 file will be restored", "%n files will be restored", created) if created else "",
        counted("1 file will change", "%n files will change", changed) if changed else "",
        counted("1 file will not change", "%n files will not change", plan.same) if plan.same else "",
    )
    return ", ".join(part for part in said if part) + "."
