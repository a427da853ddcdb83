"""The controller that connects the tree's selection, the open files and the editor pane.

Threading: GUI thread; reading and writing are jobs on the scan lane.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, Signal, Slot
from PySide6.QtGui import QGuiApplication, QTextCursor

from reverie.engine.asking import ask
from reverie.errors import UserError
from reverie.ui import dialogs
from reverie.ui.editor.buffer import Address, FileRef
from reverie.ui.editor.documents import OpenFile
from reverie.ui.editor.pane import EditorPane
from reverie.ui.icons import Icons
from reverie.ui.jobs import single_shot
from reverie.ui.session import HomeSession, TreeUpdate
from reverie.ui.tree.memory_tree import CompanionData, FileData, RowData, parse_shown

if TYPE_CHECKING:
    from reverie.agents.scopes import Scope, ScopeContext
from reverie.ui.editor.buffers import Buffers
from reverie.ui.editor.compare_dialog import CompareDialog

# Moving through the tree by keyboard must not open every file on the way.
PICK_MS = 60


class EditorControl(QObject):
    """The controller of the editor pane: opens, saves and closes files in it.

    Signals:
        state_changed(): The shown file, its unsaved state or the possible actions have changed.
        was_read(): Another file is shown, or the shown file or its state has changed.
        undecided(): The user must decide about conflicts before the shown file can be saved.
        conversion_wanted(str, str): The user wants the UTF-16 memory at this path to be converted to UTF-8;
            the second argument is the SHA-256 hash of the version that is shown.
    """

    state_changed = Signal()
    was_read = Signal()
    undecided = Signal()
    conversion_wanted = Signal(str, str)

    def __init__(self, pane: EditorPane, buffers: Buffers, icons: Icons, parent: QObject) -> None:
        super().__init__(parent)
        self.pane = pane
        self.buffers = buffers
        self._icons = icons
        self._session: HomeSession | None = None
        self._update: TreeUpdate | None = None
        self._stores: dict[tuple[str, ScopeContext], dict[Scope, str]] = {}
        """The keys of the scope roots of each context that was shown, by home id and context."""
        self._picked: RowData | None = None
        self._focus_when_open = False
        self._line_when_open = 0
        self._pick = single_shot(self, PICK_MS, self._open_picked)
        pane.chosen.connect(self._choose)
        buffers.opened.connect(self._on_opened)
        buffers.changed.connect(self._on_changed)
        buffers.failed.connect(self._on_failed)
        buffers.save_failed.connect(self._on_save_failed)

    @property
    def file(self) -> OpenFile | None:
        return self.pane.file

    def set_session(self, session: HomeSession | None) -> None:
        """Use another home (None: no home) and close the shown file; unsaved texts stay in memory."""
        self._session, self._update = session, None
        self.pane.view.set_session(session)
        self.close()

    def follow(self, update: TreeUpdate) -> None:
        """Read again those open files of the home that have changed on disk.

        `update`: the new trees of the home, which show what has changed.
        """
        self._update = update
        if self._session is not None:
            self._stores[self._session.info.id, update.context] = {
                scope: listing.root.key
                for scope, listing in update.view.scopes.items()
                if listing.root is not None
            }
            self.buffers.follow(self._session, update)

    def read_again(self) -> None:
        """Read the shown file from disk again."""
        if self._session is not None:
            self.buffers.reread(self._session)

    def focused(self) -> None:
        """Read the shown file again if it is read-only; call this when the window gets the focus.

        The file may have become writable, which the watcher does not report.
        """
        if self.pane.file is not None and self.pane.file.read_only:
            self.read_again()

    @Slot()
    def permission_changed(self) -> None:
        """Read the trees and the shown file again; call this when the user may have permitted writing."""
        if self._session is not None:
            self._session.reload()
            self.read_again()

    def pick(self, data: RowData | None) -> None:
        """Open the file of a selected row after a short pause, unless another row is selected meanwhile.

        `data`: the data of the row; None if no row is selected, and then the shown file stays.
        """
        self._focus_when_open, self._line_when_open = False, 0
        self._picked = data
        self._pick.start()

    def open(self, data: RowData | None, *, focus: bool = False, line: int = 0) -> None:
        """Open the file of a row at once; do nothing if the row has no file.

        `data`: the data of the row. `focus`: True to move the focus to the text. `line`: the line to show,
        counted from 1; 0 for the position at which the user left the file.
        """
        self._focus_when_open, self._line_when_open = focus, line
        self._picked = data
        self._pick.stop()
        self._open_picked()

    def close(self, sentence: str = "") -> None:
        """Show `sentence` in place of a file; unsaved text stays in memory.

        If `sentence` is empty, a request to select a memory is shown.
        """
        self._pick.stop()
        self.buffers.forget_wanted()
        self.pane.clear(sentence)
        self.state_changed.emit()

    def forget_home(self, home_id: str) -> None:
        """Close the files of a home and discard their unsaved text."""
        if self.pane.file is not None and self.pane.file.buffer.ref.home == home_id:
            self.close()
        self.buffers.forget_home(home_id)
        self.state_changed.emit()

    def address_of(self, data: RowData | None) -> tuple[FileRef, Address] | None:
        """Return the identity and address of a row's file; None if the row has no file that can be opened."""
        if self._session is None or self._update is None:
            return None
        context = self._update.context
        if isinstance(data, CompanionData):
            ref = FileRef.companion(self._session.info.id, data.companion.path)
            return ref, Address(context, "", data.companion)
        if isinstance(data, FileData):
            found = self._ref(self._session, context, data.path)
            return (found, Address(context, data.path)) if found is not None else None
        return None

    @Slot()
    def _open_picked(self) -> None:
        found = self.address_of(self._picked)
        if found is None or self._session is None:
            return
        self.buffers.open(self._session, *found)

    @Slot(object)
    def _on_opened(self, file: OpenFile) -> None:
        if self._session is None:
            return
        self.pane.show_file(file, None if file.buffer.address.companion else self._session.caps)
        if self._line_when_open:
            self.pane.text.go_to_line(self._line_when_open)
        if self._focus_when_open:
            self.pane.focus_text()
        self._focus_when_open, self._line_when_open = False, 0
        self.state_changed.emit()
        self.was_read.emit()

    @Slot(object)
    def _on_changed(self, file: OpenFile) -> None:
        if file is self.pane.file:
            self.pane.refresh()
            self.was_read.emit()
        self.state_changed.emit()

    @Slot(object, object)
    def _on_failed(self, _ref: FileRef, error: UserError) -> None:
        self._focus_when_open, self._line_when_open = False, 0
        self.pane.clear(str(error))
        self.state_changed.emit()

    @Slot(object, object)
    def _on_save_failed(self, file: OpenFile, error: UserError) -> None:
        if file is self.pane.file:
            self.pane.show_error(error)
        self.state_changed.emit()

    def save(self) -> None:
        """Save the shown file; if it has conflicts, emit `undecided` instead."""
        file = self.pane.file
        if file is not None and (file.buffer.modified or file.buffer.banner):
            if file.buffer.banner == "conflict":
                self.undecided.emit()
                return
            if file.buffer.banner in ("deleted", "gone"):
                self.buffers.keep_mine(file)
            self.pane.error.clear()
            self.buffers.save(file)

    def save_all(self) -> None:
        """Save every open file with unsaved text."""
        for file in self.buffers.unsaved():
            self.buffers.save(file)

    def reload(self) -> None:
        """Replace the shown text by the version on disk; the user can undo this to get the text back."""
        if self.pane.file is not None:
            self.buffers.take_theirs(self.pane.file)

    @Slot(str)
    def _choose(self, key: str) -> None:
        if self.pane.file is not None:
            self._decide(self.pane.file, key)

    def _decide(self, file: OpenFile, key: str) -> None:
        if key == "reload":
            self.buffers.take_theirs(file)
        elif key == "keep":
            self.buffers.keep_mine(file)
        elif key == "save":
            self.save()
        elif key == "compare":
            self._show_compare(file)
        elif key == "permit":
            self._permit(file)
        elif key == "convert" and file.buffer.base is not None:
            self.conversion_wanted.emit(file.buffer.address.path, file.buffer.base.sha256)
        elif key == "whole":
            file.show_whole()
            self.pane.text.moveCursor(QTextCursor.MoveOperation.Start)
            self.pane.refresh()
        elif key == "copy":
            QGuiApplication.clipboard().setText(file.content)
        elif key == "close":
            self.buffers.discard(file)
            self.close()

    def _permit(self, file: OpenFile) -> None:
        """Ask the user whether to write to a store of unknown layout or version.

        If the user agrees, the permission is stored, and the trees and the shown file are read again.
        """
        refusal, session = file.buffer.refusal, self._session
        if refusal is None or session is None or not dialogs.ask_write_anyway(self.pane, refusal.evidence):
            return

        def done(_nothing: None) -> None:
            if session is self._session:
                self.permission_changed()

        session.lanes.scan.submit(
            "permit writing",
            ask(session.workbench.permit_writing, refusal),
            done=done,
            failed=self.pane.show_error,
        )

    def _show_compare(self, file: OpenFile) -> None:
        if file.buffer.disk is None or self._session is None:
            return
        dialog = CompareDialog(file, self._session.lanes.scan, self._icons, self.pane)
        dialog.chosen.connect(partial(self._decide, file))
        dialog.open()

    def unsaved_paths(self) -> frozenset[str]:
        """Return the memory paths, in the context that is shown, of the files with unsaved text."""
        if self._session is None or self._update is None:
            return frozenset()
        stores = {
            listing.root.key: scope
            for scope, listing in self._update.view.scopes.items()
            if listing.root is not None
        }
        return frozenset(
            f"/memories/{stores[file.buffer.ref.store].value}/{file.buffer.ref.rel}"
            for file in self.buffers.unsaved()
            if file.buffer.ref.home == self._session.info.id and file.buffer.ref.store in stores
        )

    def removed(self, paths: Sequence[str]) -> None:
        """Close the shown file if the user has deleted it, unless it has unsaved text.

        `paths`: the memory paths of the deleted memories and folders.
        """
        file = self.pane.file
        if file is None or file.buffer.modified or file.saving:
            return
        next_ref = self.buffers.wanted
        if self._pick.isActive() and (picked := self.address_of(self._picked)) is not None:
            next_ref = picked[0]
        # Another file may already be about to be shown.
        if self._is_in(file.buffer.ref, paths) and (next_ref is None or self._is_in(next_ref, paths)):
            self.close()

    def _is_in(self, ref: FileRef, paths: Sequence[str]) -> bool:
        """Return True if the file `ref` is one of `paths`, or is in a folder that is one of `paths`.

        `paths`: memory paths in the context that is shown.
        """
        if self._session is None or self._update is None:
            return False
        return any(
            (ref.home, ref.store) == (top.home, top.store) and f"{ref.rel}/".startswith(f"{top.rel}/")
            for path in paths
            if (top := self._ref(self._session, self._update.context, path)) is not None
        )

    def _ref(self, session: HomeSession, context: ScopeContext, path: str) -> FileRef | None:
        """Return the identity of the memory at the memory path `path` in a context.

        None if the path is not valid, or if the trees of the context have not been shown or do not have its
        scope.
        """
        parsed = parse_shown(path)
        store = (
            self._stores.get((session.info.id, context), {}).get(parsed[0]) if parsed is not None else None
        )
        if parsed is None or store is None:
            return None
        return FileRef.memory(session.info.id, store, "/".join(parsed[1]))

    def renamed(self, session: HomeSession, context: ScopeContext, old: str, new: str) -> None:
        """Give open files their new paths after this window has renamed the memory or folder `old` to `new`.

        `context`: the context of both paths, which need not be the one that is shown.
        """
        before = self._ref(session, context, old)
        after = self._ref(session, context, new)
        if before is None or after is None:
            return
        for file in self.buffers.all():
            ref = file.buffer.ref
            inside = ref.rel == before.rel or ref.rel.startswith(before.rel + "/")
            if (ref.home, ref.store) == (before.home, before.store) and inside:
                tail = ref.rel[len(before.rel) :]
                address = Address(context, new + tail)
                self.buffers.renamed(ref, FileRef(ref.home, after.store, after.rel + tail), address)
        if self.pane.file is not None:
            self.pane.refresh()
