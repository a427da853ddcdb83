"""Edits of memories by the user: create, rename, move, delete, pin, and Undo.

`Edits` runs each change as a job and stores what can be undone. `HandControl` handles the actions on the
selected memories, asks for the details, and reports the result with an Undo button. `TakeBack` shows that
Undo button in any message bar. The end of a job changes no view: rows move when the watcher has seen the
files move.

Threading: GUI thread; changes are jobs on the scan lane. Failure: `Edits.failed`, or the caller's function.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from PySide6.QtCore import QObject, QUrl, Signal, Slot
from PySide6.QtGui import QDesktopServices, QGuiApplication
from PySide6.QtWidgets import QWidget

from reverie.agents.scopes import Scope, ScopeContext
from reverie.engine.asking import Request, ask
from reverie.errors import UserError
from reverie.memory.moves import MovePlan, free_path, numbered, plan_moves
from reverie.memory.paths import ROOT
from reverie.ui.display_text import things, visible
from reverie.ui.editor.control import EditorControl
from reverie.ui.jobs import JobControl, Work
from reverie.ui.memory.edit_dialogs import MoveDialog, PathDialog, ask_keep_both
from reverie.ui.memory.shown_place import ShownPlace
from reverie.ui.session import HomeSession, TreeUpdate
from reverie.ui.tree.memory_tree import SCOPES, CompanionData, FileData, FolderData, parse_shown, path_of
from reverie.ui.tree.view import MemoryTreeView
from reverie.ui.widgets.messages import MessageBar, Tone
from reverie.values import Struct, replace

if TYPE_CHECKING:
    from reverie.services.views import FileText, Template, Undo
    from reverie.ui.memory.edit_dialogs import NewMemory


REMEMBERED = 50
"""The number of changes that can be undone."""


class _TreeChange(Struct, frozen=True):
    """A change by the user, with the data needed to undo and redo it."""

    session: HomeSession
    undo: Undo
    name: str
    """The name of the job."""
    job: Request[Undo]
    """The request that makes the change, also for Redo."""


class Edits(QObject):
    """The changes by the user: it runs them as jobs, and can undo and redo them.

    When a job ends, another home or context may be shown; the arguments of a signal therefore include those
    of the change.
    """

    created = Signal(object, object, str)
    """Emitted with `HomeSession`, `ScopeContext` and path after a memory was created."""
    renamed = Signal(object, str, str)
    """Emitted with `Undo`, old path and new path after `rename`."""
    deleted = Signal(object, str)
    """Emitted with `Undo` and path after `delete`."""
    moved = Signal(object, object, object)
    """Emitted with `HomeSession`, `ScopeContext` and {old path: new path}.

    Emitted after any change, undo or redo that moved memories or folders.
    """
    removed = Signal(object, object)
    """Emitted with `HomeSession` and `Undo` after any change or redo that deleted memories or folders."""
    pinned = Signal(object, object, bool)
    """Emitted with `Undo`, paths and whether they are pinned after `pin`."""
    undone = Signal(object, object, str)
    """Emitted with `HomeSession`, `Undo` and a sentence about the result after `undo`."""
    redone = Signal(object, object)
    """Emitted with `HomeSession` and `Undo` after `redo`."""
    failed = Signal(object)
    """Emitted with a `UserError` when a change, undo or redo failed."""

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._undos: list[_TreeChange] = []
        self._redos: list[_TreeChange] = []
        self._forgotten = 0
        """The number of calls of `forget`; the change of a job that started before one is not stored."""

    @property
    def last(self) -> Undo | None:
        """The change that `undo` would undo; None if there is none."""
        return self._undos[-1].undo if self._undos else None

    @property
    def can_redo(self) -> bool:
        """True if there is an undone change that can be made again."""
        return bool(self._redos)

    def create(self, session: HomeSession, context: ScopeContext, asked: NewMemory) -> None:
        """Create a memory with its description and template; emits `created` or `failed`."""
        workbench, path = session.workbench, asked.path

        def done(_found: FileText) -> None:
            self.created.emit(session, context, path)

        self._submit(
            session,
            "create a memory",
            ask(workbench.create, context, path, asked.template, asked.description),
            done,
        )

    def duplicate(self, session: HomeSession, context: ScopeContext, path: str, new_path: str) -> None:
        """Create a memory with the text of the memory at `path`; emits `created` or `failed`."""
        workbench = session.workbench

        async def work(_control: JobControl) -> FileText:
            found = await ask(workbench.read, context, path)
            if found.read_only:
                raise UserError(self.tr("The memory was not duplicated."), cause=found.read_only)
            return await ask(workbench.save, context, new_path, found.content, None)

        def done(_found: FileText) -> None:
            self.created.emit(session, context, new_path)

        self._submit(session, "duplicate a memory", work, done)

    def read_templates(self, session: HomeSession, done: Callable[[Sequence[Template]], None]) -> None:
        """Read the templates for new memories, and pass them to `done`."""
        workbench = session.workbench
        self._submit(session, "read the templates", ask(workbench.templates), done)

    def rename(self, session: HomeSession, context: ScopeContext, path: str, new_path: str) -> None:
        """Move the memory or folder at `path` to `new_path` in a job; emits `renamed` or `failed`."""
        job = ask(session.workbench.edits.rename, context, path, new_path)

        def done(undo: Undo) -> None:
            self.renamed.emit(undo, path, new_path)

        self.apply(session, "rename a memory", job, done)

    def delete(self, session: HomeSession, context: ScopeContext, path: str) -> None:
        """Delete the memory or folder at `path` in a job; emits `deleted` or `failed`."""
        job = ask(session.workbench.edits.delete, context, path)

        def done(undo: Undo) -> None:
            self.deleted.emit(undo, path)

        self.apply(session, "delete a memory", job, done)

    def pin(self, session: HomeSession, context: ScopeContext, paths: Sequence[str], pinned: bool) -> None:
        """Pin or unpin memories as one change; emits `pinned` or `failed`."""
        chosen = tuple(paths)
        job = ask(session.workbench.edits.pin, context, chosen, pinned)

        def done(undo: Undo) -> None:
            # The trees show the pin once the sidecar was read again.
            self.pinned.emit(undo, chosen, pinned)

        self.apply(session, "pin a memory", job, done)

    def apply(
        self,
        session: HomeSession,
        name: str,
        job: Request[Undo],
        done: Callable[[Undo], None],
        failed: Callable[[UserError], None] | None = None,
    ) -> None:
        """Run a change on the session's scan lane, and make its result the next one to undo.

        `done` is called with the result, `failed` with an error; if `failed` is None, the signal `failed` is
        emitted.
        """
        forgotten = self._forgotten

        def changed(undo: Undo) -> None:
            if forgotten == self._forgotten:
                self._redos.clear()
            self._take(_TreeChange(session, undo, name, job), forgotten)
            done(undo)

        failed = failed or self.failed.emit
        session.lanes.scan.submit(name, job, done=changed, failed=failed)

    def add(self, session: HomeSession, name: str, job: Request[Undo], undo: Undo) -> None:
        """Add a change that was made elsewhere as the next one to undo; `job` makes it again."""
        self._redos.clear()
        self._take(_TreeChange(session, undo, name, job), self._forgotten)

    def undo(self) -> None:
        """Undo the last change; emits `undone`, or `failed`, after which the change can still be undone."""
        if not self._undos:
            return
        change = self._undos.pop()
        session, undo, forgotten = change.session, change.undo, self._forgotten
        workbench = session.workbench

        def failed(error: UserError) -> None:
            # The place may be free again later.
            if forgotten == self._forgotten:
                self._undos.append(change)
            self.failed.emit(error)

        def done(sentence: str) -> None:
            if forgotten == self._forgotten:
                self._redos.append(change)
            if undo.moved:
                self.moved.emit(session, undo.context, {new: old for old, new in undo.moved.items()})
            self.undone.emit(session, undo, sentence)

        session.lanes.scan.submit("undo", ask(workbench.undo, undo), done=done, failed=failed)

    def redo(self) -> None:
        """Redo the change that was undone last, unless another change was made since."""
        if not self._redos:
            return
        change, forgotten = self._redos.pop(), self._forgotten

        def failed(error: UserError) -> None:
            if forgotten == self._forgotten:
                self._redos.append(change)
            self.failed.emit(error)

        def done(undo: Undo) -> None:
            self._take(replace(change, undo=undo), forgotten)
            self.redone.emit(change.session, undo)

        change.session.lanes.scan.submit(change.name, change.job, done=done, failed=failed)

    def forget(self) -> None:
        """Clear the changes to undo and redo; called when another home is shown."""
        self._undos.clear()
        self._redos.clear()
        self._forgotten += 1

    def _take(self, change: _TreeChange, forgotten: int) -> None:
        """Store a change as the next one to undo and emit its signals; do nothing after a later `forget`.

        `forgotten`: the number of calls of `forget` when the change was started.
        """
        session, undo = change.session, change.undo
        if forgotten == self._forgotten:
            self._undos.append(change)
            del self._undos[:-REMEMBERED]
        if undo.moved:
            self.moved.emit(session, undo.context, dict(undo.moved))
        if undo.removed:
            self.removed.emit(session, undo)

    def _submit(self, session: HomeSession, name: str, work: Work[Any], done: Callable[[Any], None]) -> None:
        session.lanes.scan.submit(name, work, done=done, failed=self.failed.emit)


_UNDO = "undo"


class TakeBack(QObject):
    """An Undo button in a message bar, beside the report of a change.

    The button works only until the user makes another change, because there is one list of changes to undo,
    and the last one is undone first.
    """

    def __init__(self, bar: MessageBar, edits: Edits) -> None:
        super().__init__(bar)
        self._bar = bar
        self._edits = edits
        self._undo: Undo | None = None
        self._is_asked = False
        bar.chosen.connect(self._on_chosen)
        edits.undone.connect(self._on_undone)
        edits.failed.connect(self._on_failed)

    def offer(
        self, undo: Undo, sentence: str, more: Sequence[tuple[str, str, str]] = (), tone: Tone = "info"
    ) -> None:
        """Show `sentence` and the warning of the change, with an Undo button and the `more` buttons."""
        self._undo = undo
        buttons = [(_UNDO, self.tr("Undo"), self.tr("Undo this change")), *more]
        self._bar.say(with_warning(sentence, undo), tone=tone, buttons=buttons)

    def forget(self) -> None:
        """Stop offering the change, so that the button no longer undoes it."""
        self._undo = None

    @property
    def can_undo(self) -> bool:
        """True if the offered change is the next one to undo."""
        return self._undo is not None and self._edits.last is self._undo

    @Slot()
    def undo(self) -> None:
        """Undo the offered change; if other changes were made since, ask to undo those first."""
        self._bar.clear()
        if self.can_undo:
            self._is_asked = True
            self._edits.undo()
        else:
            self._bar.say(self.tr("Other changes were made after this one. Undo those changes first."))

    @Slot(str)
    def _on_chosen(self, key: str) -> None:
        if key == _UNDO:
            self.undo()

    @Slot(object, object, str)
    def _on_undone(self, _session: HomeSession, undo: Undo, sentence: str) -> None:
        if undo is self._undo:
            self._is_asked = False
            self._bar.say(visible(sentence))

    @Slot(object)
    def _on_failed(self, error: UserError) -> None:
        if self._is_asked:
            self._is_asked = False
            self._bar.say_error(error)


def with_warning(sentence: str, undo: Undo) -> str:
    """Return `sentence`, with the warning of the change after it if there is one."""
    if not undo.warning:
        return sentence
    return f"{sentence.rstrip('.')}. {visible(undo.warning)}"


RenameWithLinks = Callable[[Mapping[str, str], Callable[[str], None]], None]
"""A function that moves {old path: new path} together with the links that point there.

If no link has to change, it moves nothing and calls its second argument, with a warning or "".
"""


class HandControl(QObject):
    """The controller of the edits of the selected memories.

    The action registry connects its slots by name.
    """

    state_changed = Signal()
    """Emitted when the change that can be undone next, or a pin, has changed."""

    def __init__(
        self,
        shown: ShownPlace,
        edits: Edits,
        tree: MemoryTreeView,
        editor: EditorControl,
        undo_bar: MessageBar,
        rename: RenameWithLinks,
        window: QWidget,
    ) -> None:
        """Connect the parts; `rename` moves memories and, if the home has an index, the links to them."""
        super().__init__(window)
        self._shown = shown
        self.edits = edits
        self._tree = tree
        self._model = tree.memory_model
        self._editor = editor
        self._undo_bar = undo_bar
        self._back = TakeBack(undo_bar, edits)
        self._rename_with_links = rename
        self._window = window
        self._wanted = ""
        self._focus = False
        self._judging = False
        self.edits.created.connect(self._on_created)
        self.edits.renamed.connect(self._on_renamed)
        self.edits.deleted.connect(self._on_deleted)
        self.edits.moved.connect(self._on_moved)
        self.edits.removed.connect(self._on_removed)
        self.edits.pinned.connect(self._on_pinned)
        self.edits.undone.connect(self._on_undone)
        self.edits.redone.connect(self._on_redone)
        self.edits.failed.connect(self._on_failed)
        self._model.rename_asked.connect(self._rename)
        editor.conversion_wanted.connect(self.convert_to_utf8)
        tree.name_judged.connect(self._on_name_judged)
        tree.hidden_wanted.connect(self._select_soon)
        self._model.move_asked.connect(self._drop)

    def forget(self) -> None:
        """Clear the changes to undo, the pending selection and the message, when another home is shown."""
        self.edits.forget()
        self._back.forget()
        self._wanted = ""
        self._undo_bar.clear()

    # Actions

    def new_memory(self) -> None:
        """Ask for path, description and template of a new memory in the selected folder, and create it."""
        place = self._shown.place
        if place is None:
            return
        session, update = place
        scope, folder = self._folder_selected()
        read = partial(self.edits.read_templates, session)
        asked = PathDialog.ask_new(
            self._window,
            self._scopes(update),
            scope,
            folder,
            self._model.is_taken,
            read,
            session.caps.descriptions,
        )
        if asked is not None:
            self.edits.create(session, update.context, asked)

    def rename_selected(self) -> None:
        """Start editing the name of the selected row in the tree."""
        self._tree.edit_name()

    @Slot(str)
    def _on_name_judged(self, problem: str) -> None:
        if problem:
            self._undo_bar.say(problem, tone="warn")
        elif self._judging:
            self._undo_bar.clear()
        self._judging = bool(problem)

    @Slot(str, str)
    def _rename(self, path: str, name: str) -> None:
        """Rename a memory or folder within its folder, and update the links to it."""
        place = self._shown.place
        if place is not None:
            session, update = place
            new = f"{path.rpartition('/')[0]}/{name}"

            def plain(_not_followed: str) -> None:
                self.edits.rename(session, update.context, path, new)

            self._rename_with_links({path: new}, plain)

    def move_selected(self) -> None:
        """Ask for a folder, and move the selected memories and folders there."""
        place, paths = self._shown.place, self._selected_paths()
        if place is None or not paths:
            return
        _session, update = place
        folders = {scope: self._folders(update, scope) for scope in self._scopes(update)}
        targets = MoveDialog.ask(self._window, paths, folders, self._model.is_taken)
        if targets:
            self._move(targets)

    @Slot(object, str)
    def _drop(self, paths: Sequence[str], folder: str) -> None:
        """Move the paths that were dropped onto a folder or scope."""
        place, parsed = self._shown.place, parse_shown(folder)
        if place is None or parsed is None:
            return
        listing = place[1].view.scopes.get(parsed[0])
        if listing is None or listing.root is None:
            reason = listing.unavailable if listing is not None else ""
            self._refuse(reason or self.tr("This scope is not available."))
            return
        plan = plan_moves(paths, folder, self._model.is_taken)
        if plan.refused:
            self._refuse(plan.refused)
        elif not plan.clashes or self._keep_both(plan):
            self._move(numbered(plan, self._model.is_taken).targets)

    @Slot()
    def refuse_other_place(self) -> None:
        """Show that memories cannot be moved by dropping them onto the list of homes."""
        self._refuse(
            self.tr(
                "Memories can be moved only between the scopes of one workspace. To move a memory "
                "anywhere else, copy its text into a new memory there."
            )
        )

    def _keep_both(self, plan: MovePlan) -> bool:
        """Ask whether to move memories under numbered names, because names are taken; return True to move."""
        return ask_keep_both(self._window, [path.rpartition("/")[2] for path in plan.clashes])

    def _refuse(self, reason: str) -> None:
        """Show why nothing was moved."""
        self._undo_bar.say(self.tr("Nothing was moved. {reason}").format(reason=visible(reason)), tone="warn")

    def _move(self, targets: Mapping[str, str]) -> None:
        """Move memories and folders, given as {old path: new path}, and update the links to them."""
        place = self._shown.place
        if place is None:
            return
        (session, update), wanted = place, dict(targets)
        job = ask(session.workbench.moves.move, update.context, wanted)

        def plain(not_followed: str) -> None:
            self.edits.apply(
                session, "move memories", job, partial(self.offer_moved, not_followed=not_followed)
            )

        self._rename_with_links(targets, plain)

    def delete_selected(self) -> None:
        """Delete the selected memories and folders as one change, and offer Undo."""
        place, paths = self._shown.place, self._selected_paths()
        if place is None or not paths:
            return
        session, update = place
        if len(paths) == 1:
            self.edits.delete(session, update.context, paths[0])
            self._tree.select_after_removal(paths[0])
            return
        workbench, context = session.workbench, update.context

        job = ask(workbench.edits.delete_all, context, paths)

        self.edits.apply(session, "delete memories", job, self._on_deleted_all)

    def toggle_pin(self) -> None:
        """Pin the selected memories, or unpin them if the current one is pinned."""
        self._toggle_pin([data for data in self._tree.selected_rows() if isinstance(data, FileData)])

    @Slot(object)
    def toggle_pin_of(self, data: FileData) -> None:
        """Pin or unpin one memory, selected or not."""
        self._toggle_pin([data])

    def _toggle_pin(self, files: Sequence[FileData]) -> None:
        place = self._shown.place
        if place is None or not files:
            return
        (session, update), pinned = place, not files[0].file.usage.pinned
        self.edits.pin(session, update.context, [data.path for data in files], pinned)
        self.state_changed.emit()  # the action's check mark waits for the sidecar, too

    @Slot(str, str)
    def convert_to_utf8(self, path: str, sha256: str) -> None:
        """Rewrite a UTF-16 memory as UTF-8 if its text still has the hash `sha256`."""
        place = self._shown.place
        if place is None:
            return
        session, update = place
        job = ask(session.workbench.edits.convert_to_utf8, update.context, path, sha256)
        said = self.tr("Converted {name} to UTF-8").format(name=_name(path))
        self.edits.apply(session, "convert to UTF-8", job, partial(self.offer_undo, sentence=said))

    def copy_path(self) -> None:
        """Copy the memory paths of the selected rows to the clipboard, one per line."""
        paths = [path for data in self._tree.selected_rows() if (path := path_of(data))]
        if paths:
            QGuiApplication.clipboard().setText("\n".join(paths))

    def copy_file_path(self) -> None:
        """Copy the paths on disk of the selected files and folders to the clipboard, one per line."""
        paths = self._paths_on_disk()
        if paths:
            QGuiApplication.clipboard().setText("\n".join(map(str, paths)))

    def show_in_file_manager(self) -> None:
        """Open the selected folder, or the folder of the selected file, in the system's file manager."""
        for path in self._paths_on_disk()[:1]:
            directory = path if isinstance(self._tree.current_data(), FolderData) else path.parent
            if not QDesktopServices.openUrl(QUrl.fromLocalFile(str(directory))):
                error = UserError(
                    self.tr("The folder could not be opened."),
                    cause=self.tr("No file manager responded."),
                    next_step=self.tr("Open {path} yourself.").format(path=visible(str(directory))),
                )
                self._undo_bar.say_error(error)

    def _paths_on_disk(self) -> list[Path]:
        """Return the paths on disk of the selected memories, folders and companions."""
        place, paths = self._shown.place, []
        for data in self._tree.selected_rows() if place is not None else ():
            if isinstance(data, CompanionData):
                paths.append(data.companion.path)
            elif place is not None and isinstance(data, FileData | FolderData):
                root = place[1].view.scopes[data.scope].root
                rel = data.file.rel if isinstance(data, FileData) else data.rel
                paths += [root.directory / rel] if root is not None else []
        return paths

    def duplicate(self) -> None:
        """Create a copy of the selected memory beside it, and select the copy."""
        place, data = self._shown.place, self._tree.current_data()
        if place is None or not isinstance(data, FileData):
            return
        session, update = place
        self.edits.duplicate(session, update.context, data.path, free_path(data.path, self._model.is_taken))

    # Selection

    def _selected_paths(self) -> list[str]:
        """Return the paths of the selected files and folders, without files inside a selected folder."""
        rows = [row for row in self._tree.selected_rows() if isinstance(row, FileData | FolderData)]
        folders = tuple(row.path + "/" for row in rows if isinstance(row, FolderData))
        return (
            [row.path for row in rows if not row.path.startswith(folders)]
            if folders
            else [row.path for row in rows]
        )

    @staticmethod
    def _scopes(update: TreeUpdate) -> list[Scope]:
        """Return the scopes that exist in the context of the trees `update`."""
        return [scope for scope in SCOPES if update.view.scopes[scope].root is not None]

    def _folders(self, update: TreeUpdate, scope: Scope) -> list[str]:
        """Return the relative paths of the folders of a scope."""
        prefix = f"{ROOT}/{scope.value}/"
        return sorted(path.removeprefix(prefix) for path in update.tree.folders if path.startswith(prefix))

    def _folder_selected(self) -> tuple[Scope, str]:
        """Return (scope, folder) for a new memory: the selected folder, or that of the selected file."""
        data = self._tree.current_data()
        path = path_of(data)
        parsed = parse_shown(path) if path else None
        if parsed is None:
            keys = self._tree.current_scope()
            return (Scope(keys) if keys else Scope.WORKSPACE), ""
        scope, segments = parsed
        return scope, "/".join(segments[:-1] if isinstance(data, FileData) else segments)

    # Results

    def _is_shown(self, session: HomeSession, context: ScopeContext) -> bool:
        """Return True if the Memory tab shows this context of this home."""
        update = self._shown.update
        return session is self._shown.session and update is not None and update.context == context

    @Slot(object, object, str)
    def _on_created(self, session: HomeSession, context: ScopeContext, path: str) -> None:
        if self._is_shown(session, context):
            self._select_soon(path, focus=True)

    @Slot(object, object, object)
    def _on_moved(self, session: HomeSession, context: ScopeContext, paths: Mapping[str, str]) -> None:
        """Update the open editors to the new paths.

        If the place of the move is shown, also select the first moved path.
        """
        for old, new in paths.items():
            self._editor.renamed(session, context, old, new)
        if self._is_shown(session, context):
            self._select_soon(next(iter(paths.values())), focus=False)

    @Slot(object, str, str)
    def _on_renamed(self, undo: Undo, old: str, new: str) -> None:
        self.offer_undo(undo, self.tr("Renamed {old} to {new}").format(old=_name(old), new=_name(new)))

    @Slot(object)
    def offer_moved(self, undo: Undo, *, not_followed: str = "") -> None:
        """Report a move and offer to undo it; `not_followed` is a warning about links not updated."""
        old, new = next(iter(undo.moved.items()))
        folder = visible(new.rpartition("/")[0].removeprefix(ROOT + "/"))
        what = things(undo.count) if undo.count > 1 else _name(old)
        said = self.tr("Moved {what} to {folder}").format(what=what, folder=folder)
        self.offer_undo(undo, f"{said}. {not_followed}" if not_followed else said)

    @Slot(object, object, bool)
    def _on_pinned(self, undo: Undo, paths: Sequence[str], pinned: bool) -> None:
        what = things(len(paths)) if len(paths) > 1 else _name(paths[0])
        said = self.tr("Pinned {what}") if pinned else self.tr("Unpinned {what}")
        session = self._shown.session
        if pinned and session is not None and not session.facts.loads_pinned:
            said = self.tr(
                "Pinned {what}: consolidations never delete or rename pinned memories. The agent "
                "itself does not use pins."
            )
        self.offer_undo(undo, said.format(what=what))

    @Slot(object, str)
    def _on_deleted(self, undo: Undo, path: str) -> None:
        self.offer_undo(undo, self.tr("Deleted {name}").format(name=_name(path)))

    @Slot(object, object)
    def _on_removed(self, session: HomeSession, undo: Undo) -> None:
        """Close deleted memories in the editor, without asking because the user deleted them."""
        if self._is_shown(session, undo.context):
            self._editor.removed(undo.removed)

    def _on_deleted_all(self, undo: Undo) -> None:
        self.offer_undo(undo, self.tr("Deleted {name}").format(name=things(undo.count)))

    @Slot(object, object, str)
    def _on_undone(self, session: HomeSession, undo: Undo, sentence: str) -> None:
        if session is self._shown.session:
            self._undo_bar.say(visible(sentence))
        if self._is_shown(session, undo.context):
            self._select_soon(undo.path, focus=False)
        self.state_changed.emit()

    @Slot(object, object)
    def _on_redone(self, session: HomeSession, undo: Undo) -> None:
        """Report a redone change with the same message as when it was first made."""
        pairs = list(undo.moved.items())
        if len(pairs) == 1 and pairs[0][0].rpartition("/")[0] == pairs[0][1].rpartition("/")[0]:
            self._on_renamed(undo, *pairs[0])
        elif pairs:
            self.offer_moved(undo)
        elif undo.removed:
            name = things(undo.count) if undo.count > 1 else _name(undo.path)
            self.offer_undo(undo, self.tr("Deleted {name}").format(name=name))
        else:
            if self._is_shown(session, undo.context):
                self._select_soon(undo.path, focus=False)
            self.offer_undo(undo, self.tr("Redone: {name}").format(name=_name(undo.path)))

    @Slot(object)
    def _on_failed(self, error: UserError) -> None:
        self._tree.forget_removal()
        self._undo_bar.say_error(error)
        self.state_changed.emit()

    @Slot(object, str)
    def offer_undo(self, undo: Undo, sentence: str) -> None:
        """Show `sentence` and an Undo button, if the change is the next one to undo.

        Nothing is shown if another home has been shown since: the change can then no longer be undone here.
        """
        if self.edits.last is undo:
            self._back.offer(undo, sentence)
        self.state_changed.emit()

    def take_back(
        self, session: HomeSession, request: Request[Undo], sentence: str, failed: Callable[[UserError], None]
    ) -> None:
        """Run `request`, which reverts or fixes memories; then show `sentence` and a button to undo that."""
        self.edits.apply(session, "take back", request, lambda undo: self.offer_undo(undo, sentence), failed)

    @Slot(str)
    def _select_soon(self, path: str, *, focus: bool = False) -> None:
        """Select `path` as soon as the trees contain it; with `focus`, also open it in the editor."""
        self._wanted, self._focus = path, focus
        self.select_wanted()

    def select_wanted(self) -> None:
        """Select the path that is to be selected if the trees contain it now, even if a filter hides it."""
        session = self._shown.session
        if not self._wanted or session is None:
            return
        session.also_show([self._wanted])
        if not self._tree.select_path(self._wanted):
            if self._model.file_at(self._wanted) is not None:
                session.refresh_marks()  # the file exists, but a filter hides it
        else:
            self._wanted = ""
            row = self._tree.current_data()
            if self._focus:
                self._editor.open(row, focus=True)
            elif self._editor.file is None and isinstance(row, FileData):
                # A row that reappears is selected again without a signal.
                self._editor.pick(row)


def _name(path: str) -> str:
    """Return the file name of a path, as it is shown."""
    return visible(path.rpartition("/")[2])
