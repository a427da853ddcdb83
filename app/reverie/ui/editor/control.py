"""Between the tree's selection, the open files and the editor pane."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QObject, QTimer, Signal, Slot
from PySide6.QtGui import QTextCursor
from PySide6.QtWidgets import QDialog, QDialogButtonBox, QWidget

from reverie.errors import UserError
from reverie.ui import dialogs
from reverie.ui.appearance import Icons
from reverie.ui.editor import documents as editor_state
from reverie.ui.editor.documents import Address, FileRef, OpenFile
from reverie.ui.editor.open_files import Buffers, file_ref
from reverie.ui.editor.pane import EditorPane
from reverie.ui.jobs import JobControl, Lane
from reverie.ui.session import HomeSession, TreeUpdate
from reverie.ui.tree.memory_tree import CompanionData, FileData, RowData
from reverie.ui.widgets.controls import WrapLabel
from reverie.ui.widgets.layouts import column
from reverie.ui.widgets.message_bar import MessageBar
from reverie.ui.widgets.text_views import DiffView

# Both sides of a conflict: the version on disk against the text in the editor.


class CompareDialog(QDialog):
    """`chosen(str)`: reload or keep. Lines with `-` stand on disk, lines with `+` in the editor."""

    chosen = Signal(str)

    def __init__(self, icons: Icons, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setWindowTitle(self.tr("Compare"))
        self.resize(760, 520)
        self.title = WrapLabel()
        self.message = MessageBar(icons, "compare-message", closable=False)
        self.diff = DiffView()
        self.buttons = QDialogButtonBox(QDialogButtonBox.StandardButton.Close)
        role = QDialogButtonBox.ButtonRole.ActionRole
        self.reload = self.buttons.addButton(self.tr("Reload"), role)
        self.keep = self.buttons.addButton(self.tr("Keep mine"), role)
        self.reload.clicked.connect(self._reload)
        self.keep.clicked.connect(self._keep)
        self.buttons.rejected.connect(self.reject)
        column(self, self.title, self.message, self.diff, self.buttons, grows=self.diff)

    def show_versions(self, lane: Lane, path: str, disk: str, mine: str) -> None:
        """Compute and show the difference."""
        self.title.say(self.tr("{path}: “-” is on disk, “+” is yours").format(path=path))

        def work(_control: JobControl) -> str:
            from reverie.memory.diff import unified

            return unified(
                disk.encode("utf-8", "replace"), mine.encode("utf-8", "replace"), path.removeprefix("/")
            )

        lane.submit("compare", work, done=self._on_diff, failed=self._on_failed, group=f"compare {id(self)}")

    def _on_diff(self, text: str) -> None:
        self.diff.show_diff(text or self.tr("Both versions are the same."))

    def _on_failed(self, error: UserError) -> None:
        self.message.say_error(error)

    @Slot()
    def _reload(self) -> None:
        self.chosen.emit("reload")
        self.accept()

    @Slot()
    def _keep(self) -> None:
        self.chosen.emit("keep")
        self.accept()


# Walking through the tree by keyboard must not open every file that is passed.
PICK_MS = 60


class EditorControl(QObject):
    """`state_changed()`: what is open, unsaved or possible is another. `was_read()`: the shown file was
    read. `undecided()`: the shown file is to be saved, and a person has to decide about it first."""

    state_changed = Signal()
    was_read = Signal()
    undecided = Signal()

    def __init__(self, pane: EditorPane, buffers: Buffers, icons: Icons, parent: QObject) -> None:
        super().__init__(parent)
        self.pane = pane
        self.buffers = buffers
        self._icons = icons
        self._session: HomeSession | None = None
        self._update: TreeUpdate | None = None
        self._picked: RowData | None = None
        self._focus_when_open = False
        self._line_when_open = 0
        self._compare: CompareDialog | None = None
        self._pick = QTimer(self)
        self._pick.setSingleShot(True)
        self._pick.setInterval(PICK_MS)
        self._pick.timeout.connect(self._open_picked)
        pane.chosen.connect(self._choose)
        buffers.opened.connect(self._on_opened)
        buffers.changed.connect(self._on_changed)
        buffers.failed.connect(self._on_failed)
        buffers.save_failed.connect(self._on_save_failed)

    @property
    def file(self) -> OpenFile | None:
        return self.pane.file

    def set_session(self, session: HomeSession | None) -> None:
        """Another home, or none: the pane shows no file; unsaved text stays in memory."""
        self._session, self._update = session, None
        self.pane.view.set_session(session)
        self.close()

    def follow(self, update: TreeUpdate) -> None:
        """The trees as they are now."""
        self._update = update
        if self._session is not None:
            self.buffers.follow(self._session, update)

    def read_again(self) -> None:
        """Everything that is open, once more from disk."""
        if self._session is not None:
            self.buffers.reread(self._session)

    def focused(self) -> None:
        """The window got the focus: a file that was read-only may be writable by now, which no watcher
        tells."""
        if self.pane.file is not None and self.pane.file.read_only:
            self.read_again()

    @Slot()
    def permission_changed(self) -> None:
        """What may be written can be different: read trees and open files again."""
        if self._session is not None:
            self._session.reload()
            self.read_again()

    # Opening

    def pick(self, data: RowData | None) -> None:
        """A row was selected: open it soon, unless another one is selected first."""
        self._picked = data
        self._pick.start()

    def open(self, data: RowData | None, *, focus: bool = False, line: int = 0) -> None:
        """Open a row now; with `focus` the caret goes into the text, to `line` (from 1) if one is named."""
        self._focus_when_open, self._line_when_open = focus, line
        self._picked = data
        self._pick.stop()
        self._open_picked()

    def close(self, sentence: str = "") -> None:
        """Show no file. Unsaved text stays in memory."""
        self._pick.stop()
        self.buffers.forget_wanted()
        self.pane.clear(sentence)
        self.state_changed.emit()

    def forget_home(self, home_id: str) -> None:
        """A home is closed: so are its files, and unsaved text goes."""
        if self.pane.file is not None and self.pane.file.buffer.ref.home == home_id:
            self.close()
        self.buffers.forget_home(home_id)
        self.state_changed.emit()

    def address_of(self, data: RowData | None) -> tuple[FileRef, Address] | None:
        """Identity and address of a row that can be opened."""
        if self._session is None or self._update is None:
            return None
        context = self._update.context
        if isinstance(data, CompanionData):
            ref = FileRef.companion(self._session.info.id, data.companion.path)
            return ref, Address(context, "", data.companion)
        if isinstance(data, FileData):
            found = file_ref(self._session, self._update, data.path)
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
        if self._focus_when_open:
            self._focus_when_open = False
            if self._line_when_open:
                self.pane.text.go_to_line(self._line_when_open)
            self.pane.focus_text()
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
        self.pane.clear(str(error))
        self.state_changed.emit()

    @Slot(object, object)
    def _on_save_failed(self, file: OpenFile, error: UserError) -> None:
        if file is self.pane.file:
            self.pane.show_error(error)
        self.state_changed.emit()

    # Deciding

    def save(self) -> None:
        """Write the shown file; where a person has to decide first, `undecided()` says so."""
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
        """Write every open file with unsaved text."""
        for file in self.buffers.unsaved():
            self.buffers.save(file)

    def reload(self) -> None:
        """Throw the unsaved text away; the undo stack still has it."""
        if self.pane.file is not None:
            self.buffers.take_theirs(self.pane.file)

    @Slot(str)
    def _choose(self, key: str) -> None:
        file = self.pane.file
        if file is None:
            return
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
        elif key == "whole":
            file.show_whole()
            self.pane.text.moveCursor(QTextCursor.MoveOperation.Start)
            self.pane.refresh()
        elif key == "close":
            self.buffers.discard(file)
            self.close()

    def _permit(self, file: OpenFile) -> None:
        """Ask whether to write into a store that Reverie does not know, and keep a yes."""
        refusal, session = file.buffer.refusal, self._session
        if refusal is None or session is None or not dialogs.ask_write_anyway(self.pane, refusal.evidence):
            return

        def done(_nothing: None) -> None:
            if session is self._session:
                self.permission_changed()

        session.lanes.scan.submit(
            "permit writing",
            lambda _control: session.workbench.permit_writing(refusal),
            done=done,
            failed=self.pane.show_error,
        )

    def _show_compare(self, file: OpenFile) -> None:
        disk = file.buffer.disk
        if disk is None or self._session is None:
            return
        dialog = CompareDialog(self._icons, self.pane)
        dialog.chosen.connect(self._choose)
        dialog.show_versions(self._session.lanes.scan, file.buffer.address.label, disk.content, file.content)
        self._compare = dialog
        dialog.open()

    def unsaved_paths(self) -> frozenset[str]:
        """Memory paths of the shown home and context with unsaved text."""
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
        """A person deleted these memories or folders: the shown file closes if it is one of them. Unsaved
        text stays, and so does every undo stack."""
        file = self.pane.file
        if file is None or file.buffer.modified or file.saving:
            return
        next_ref = self.buffers.wanted
        if self._pick.isActive() and (picked := self.address_of(self._picked)) is not None:
            next_ref = picked[0]
        # Another file may be on its way into the pane already.
        if self._is_in(file.buffer.ref, paths) and (next_ref is None or self._is_in(next_ref, paths)):
            self.close()

    def _is_in(self, ref: FileRef, paths: Sequence[str]) -> bool:
        """Whether a file is one of these memories, or in one of these folders."""
        if self._session is None or self._update is None:
            return False
        return any(
            (ref.home, ref.store) == (top.home, top.store) and f"{ref.rel}/".startswith(f"{top.rel}/")
            for path in paths
            if (top := file_ref(self._session, self._update, path)) is not None
        )

    def renamed(self, old: str, new: str) -> None:
        """A memory or folder was renamed by us: open files go along."""
        if self._session is None or self._update is None:
            return
        before = file_ref(self._session, self._update, old)
        after = file_ref(self._session, self._update, new)
        if before is None or after is None:
            return
        for file in self.buffers.all():
            ref = file.buffer.ref
            inside = ref.rel == before.rel or ref.rel.startswith(before.rel + "/")
            if (ref.home, ref.store) == (before.home, before.store) and inside:
                tail = ref.rel[len(before.rel) :]
                address = Address(self._update.context, new + tail)
                self.buffers.renamed(
                    ref, editor_state.FileRef(ref.home, after.store, after.rel + tail), address
                )
        if self.pane.file is not None:
            self.pane.refresh()
