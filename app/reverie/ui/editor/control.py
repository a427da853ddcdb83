"""The open files of a window: opening, saving, and following what happens on disk.

Nothing typed is lost: a file with unsaved text stays in memory whatever is selected, renamed or deleted,
until it is saved or a person throws it away. Files without unsaved text are kept for their undo stack, the
last `KEPT`.

Threading: GUI thread; reading and writing are jobs on the scan lane. Whether a file changed is decided by the
tree that the watcher brought (size and time against what was read), never by listening to our own saves.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, Qt, QTimer, Signal, Slot
from PySide6.QtGui import QTextCursor
from PySide6.QtWidgets import QDialog, QDialogButtonBox, QWidget

from reverie.engine.asking import Request, ask
from reverie.errors import AGENT_BUSY, Conflict, UserError
from reverie.memory.diff import unified
from reverie.ui import dialogs
from reverie.ui.appearance import Icons, Theme
from reverie.ui.editor import documents as state
from reverie.ui.editor.documents import Address, FileRef, OpenFile
from reverie.ui.editor.pane import EditorPane
from reverie.ui.editor.text_merge import Side
from reverie.ui.jobs import JobControl, Lane, Work, single_shot
from reverie.ui.session import HomeSession, TreeUpdate
from reverie.ui.tree.memory_tree import CompanionData, FileData, RowData, parse_shown
from reverie.ui.widgets.controls import WrapLabel
from reverie.ui.widgets.layouts import column
from reverie.ui.widgets.messages import MessageBar
from reverie.ui.widgets.text_views import DiffView
from reverie.values import replace

if TYPE_CHECKING:
    from reverie.agents.scopes import Scope, ScopeContext
    from reverie.files.watch import Changes
    from reverie.services.views import FileText


KEPT = 20
RETRY_MS = 1_500
"""Between two tries to save while the agent holds its lock."""


class Buffers(QObject):
    """`opened(OpenFile)`: what was asked for is here. `changed(OpenFile)`: its state is another. `typed()`:
    the text of one of them is, after each keystroke. `failed(FileRef, UserError)`: it cannot be shown.
    `saved()`: a text was written. `save_failed(OpenFile, UserError)`."""

    opened = Signal(object)
    changed = Signal(object)
    typed = Signal()
    failed = Signal(object, object)
    saved = Signal()
    save_failed = Signal(object, object)

    def __init__(self, theme: Theme, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self._files: dict[FileRef, OpenFile] = {}
        self._sessions: dict[str, HomeSession] = {}
        self.wanted: FileRef | None = None

    def all(self) -> tuple[OpenFile, ...]:
        """Every open file."""
        return tuple(self._files.values())

    def unsaved(self) -> tuple[OpenFile, ...]:
        """Those with text that is not on disk."""
        return tuple(file for file in self._files.values() if file.buffer.modified)

    def get(self, ref: FileRef) -> OpenFile | None:
        """The file if it is open."""
        return self._files.get(ref)

    def set_theme(self, theme: Theme) -> None:
        """Colours of the open texts; undo steps and unsaved marks stay as they are."""
        self._theme = theme
        for file in self._files.values():
            file.set_theme(theme)

    # Opening

    def open(self, session: HomeSession, ref: FileRef, address: Address) -> None:
        """Ask for a file; the answer to an earlier question is dropped."""
        self.wanted = ref
        self._sessions[ref.home] = session
        known = self._files.get(ref)
        if known is not None:
            known.buffer = state.moved(known.buffer, ref, address)
            self._files[ref] = self._files.pop(ref)  # newest last
            self.opened.emit(known)
            self._read(session, known)
            return

        def done(found: FileText) -> None:
            self._on_first_read(ref, address, found)

        def failed(error: UserError) -> None:
            if self.wanted == ref:
                self.failed.emit(ref, error)

        session.lanes.scan.submit(
            "open a file", _read_job(session, address), done=done, failed=failed, group="open a file"
        )

    def forget_wanted(self) -> None:
        """Nothing is to be shown any more."""
        self.wanted = None

    def _on_first_read(self, ref: FileRef, address: Address, found: FileText) -> None:
        if ref in self._files or self.wanted != ref:
            return
        file = self._add(state.opened(ref, address, found))
        self._trim()
        self.opened.emit(file)

    def _add(self, buffer: state.Buffer) -> OpenFile:
        file = OpenFile(buffer, self._theme, self)
        file.document.modificationChanged.connect(self._on_modification)
        file.document.contentsChanged.connect(self.typed)
        file.reopened.connect(self._on_reopened)
        self._files[buffer.ref] = file
        return file

    def bring_back(self, session: HomeSession, buffer: state.Buffer, content: str, cursor: int) -> bool:
        """Open a file with the text of a draft, beside what stands on disk now (`buffer`). False, and nothing
        happens, where the file is open with other unsaved text."""
        ref = buffer.ref
        file = self._files.get(ref)
        if file is not None and file.buffer.modified:
            return False
        if file is None:
            # The text it grew from goes into the undo stack's bottom.
            file = self._add(replace(buffer, modified=False))
        file.retype(content)
        file.buffer = buffer
        file.recheck()
        file.cursor = cursor
        self.wanted = ref
        self._sessions[ref.home] = session
        self.opened.emit(file)
        self.changed.emit(file)
        return True

    def _trim(self) -> None:
        idle = [ref for ref, file in self._files.items() if not file.buffer.modified and ref != self.wanted]
        for ref in idle[: max(0, len(idle) - KEPT)]:
            self._files.pop(ref).deleteLater()

    def discard(self, file: OpenFile) -> None:
        """Close a file; unsaved text goes with it."""
        if self._files.get(file.buffer.ref) is file:
            del self._files[file.buffer.ref]
            file.deleteLater()

    def forget_home(self, home_id: str) -> None:
        """A home was closed: its files are, too; unsaved text goes with them."""
        for file in self.all():
            if file.buffer.ref.home == home_id:
                self.discard(file)
        self._sessions.pop(home_id, None)

    @Slot(bool)
    def _on_modification(self, modified: bool) -> None:
        document = self.sender()
        for file in self._files.values():
            if file.document is document and not file.saving:
                file.buffer = state.typed(file.buffer, modified or file.differs)
                self.changed.emit(file)

    @Slot()
    def _on_reopened(self) -> None:
        self.changed.emit(self.sender())

    # Saving

    def save(self, file: OpenFile) -> None:
        """Write the text if the file is still the one it grew from. A conflict becomes a banner."""
        session = self._sessions[file.buffer.ref.home]
        if file.saving or file.read_only:
            return
        text, content, buffer = file.text, file.content, file.buffer
        workbench, address = session.workbench, buffer.address
        file.saving = True
        self.changed.emit(file)

        if address.companion is not None:
            work = ask(workbench.save_companion, address.companion, content, buffer.expected_sha256)
        else:
            work = ask(workbench.save, address.context, address.path, content, buffer.expected_sha256)

        def done(found: FileText) -> None:
            file.saving, file.waiting = False, ""
            still = file.text != text
            file.buffer = state.saved(file.buffer, found, still)
            if not still:
                file.document.setModified(False)
            file.saved()
            file.recheck()
            self.changed.emit(file)
            self.saved.emit()

        def failed(error: UserError) -> None:
            file.saving = False
            if error.reason == AGENT_BUSY:
                file.waiting = error.title
                QTimer.singleShot(RETRY_MS, file, lambda: self._save_waiting(file))
            elif not isinstance(error, Conflict):
                file.waiting = ""
            self.changed.emit(file)
            if isinstance(error, Conflict):
                # While it waited the agent wrote the file: merged, then saved, unless a person must decide.
                self._read(session, file)
            elif error.reason != AGENT_BUSY:
                self.save_failed.emit(file, error)

        def cancelled() -> None:
            file.saving = False

        session.lanes.scan.submit("save", work, done=done, failed=failed, cancelled=cancelled)

    def _save_waiting(self, file: OpenFile) -> None:
        """Save what waits for the agent, with all that was typed meanwhile."""
        if not file.waiting or self._files.get(file.buffer.ref) is not file or file.saving:
            return
        if file.buffer.banner or not file.buffer.modified:
            file.waiting = ""
            self.changed.emit(file)
        else:
            self.save(file)

    def keep_mine(self, file: OpenFile) -> None:
        """A person decides for the text in the editor: the next save replaces the version that was shown."""
        file.buffer = state.kept_mine(file.buffer)
        file.recheck()
        self.changed.emit(file)

    def decide(self, file: OpenFile, index: int, side: Side) -> None:
        """A person chose for one of the file's conflicts."""
        file.decide(index, side)
        self.changed.emit(file)

    def take_back(self, file: OpenFile) -> None:
        """Undo what was merged into the text."""
        file.take_back()
        self.changed.emit(file)

    def recheck(self, file: OpenFile) -> None:
        """Somebody typed where something has to be decided."""
        if file.recheck():
            self.changed.emit(file)

    def take_theirs(self, file: OpenFile) -> None:
        """A person decides for the disk; one undo brings the own text back."""
        before = file.buffer
        file.buffer, effect = state.taken_theirs(before)
        if effect == "follow":
            file.follow(before)
        self.changed.emit(file)

    def renamed(self, old: FileRef, new: FileRef, address: Address) -> None:
        """A file was renamed by us: its text goes along, unless there is unsaved text under the new name."""
        taken = self._files.get(new)
        if taken is not None and taken.buffer.modified:
            return  # both stay open, and what the disk has there is merged into the unsaved text
        file = self._files.pop(old, None)
        if file is not None:
            file.buffer = state.moved(file.buffer, new, address)
            self._files[new] = file
            if self.wanted == old:
                self.wanted = new
            self.changed.emit(file)

    # Following the disk

    def follow(self, session: HomeSession, update: TreeUpdate) -> None:
        """Look at every open file of this home that the new tree can tell something about."""
        if update.names_only:
            return
        stores = {
            listing.root.key: scope
            for scope, listing in update.view.scopes.items()
            if listing.root is not None
        }
        for file in self.all():
            ref = file.buffer.ref
            if ref.home != session.info.id or file.saving:
                continue
            if ref.store == "companion":
                if _touched(file, update.changes):
                    self._read(session, file)
            elif ref.store in stores:
                node = update.tree.files.get(f"/memories/{stores[ref.store].value}/{ref.rel}")
                self._compare(session, file, node.data if node is not None else None)

    def _compare(self, session: HomeSession, file: OpenFile, listed: FileData | None) -> None:
        if listed is None:
            self._see(file, None)
            return
        disk = file.buffer.disk
        if disk is None or (disk.size, disk.mtime_ns) != (listed.file.size, listed.file.mtime_ns):
            self._read(session, file)

    def reread(self, session: HomeSession) -> None:
        """Read the shown file again: the history has started and can mark it as seen now."""
        file = self._files.get(self.wanted) if self.wanted is not None else None
        if file is not None and file.buffer.ref.home == session.info.id:
            self._read(session, file)

    def _read(self, session: HomeSession, file: OpenFile) -> None:
        def done(found: tuple[FileText, str]) -> None:
            self._see(file, *found)

        def failed(error: UserError) -> None:
            if error.reason == "missing":
                self._see(file, None)
            else:
                self.save_failed.emit(file, error)

        ref = file.buffer.ref
        session.lanes.scan.submit(
            "read a file",
            _authored(session, file.buffer.address),
            done=done,
            failed=failed,
            group=f"read {ref.home} {ref.store} {ref.rel}",
        )

    def _see(self, file: OpenFile, found: FileText | None, author: str = "") -> None:
        if file.saving or self._files.get(file.buffer.ref) is not file:
            return
        before = file.buffer
        if not before.modified and before.base is not None and not file.read_only and file.differs:
            # Whatever the flags say: what is not on disk is never replaced unasked.
            before = replace(before, modified=True)
        file.buffer, effect = state.seen_on_disk(before, found, file.content)
        if effect == "follow":
            file.follow(before, author)
        elif effect == "merge":
            file.merge(author)
        elif before.modified and not file.buffer.modified:
            file.document.setModified(False)
        if effect == "none":
            file.recheck()
        if file.buffer != before or effect != "none":
            self.changed.emit(file)
        self._save_waiting(file)


def _touched(file: OpenFile, changes: Changes | None) -> bool:
    companion = file.buffer.address.companion
    return companion is not None and (changes is None or changes.touches(companion.path))


def _read_job(session: HomeSession, address: Address) -> Request[FileText]:
    workbench = session.workbench
    if address.companion is not None:
        return ask(workbench.read_companion, address.companion)
    return ask(workbench.read, address.context, address.path)


def _authored(session: HomeSession, address: Address) -> Work[tuple[FileText, str]]:
    """The file as it is, and who of us wrote that; empty: somebody else."""
    workbench, read = session.workbench, _read_job(session, address)

    async def work(_control: JobControl) -> tuple[FileText, str]:
        found = await read
        companion = address.companion.path if address.companion is not None else None
        return found, await ask(workbench.author_of, address.context, address.path, found.sha256, companion)

    return work


# Both sides of a conflict: the version on disk against the text in the editor.


class CompareDialog(QDialog):
    """`chosen(str)`: reload or keep, about the version that is shown. Lines with `-` are on disk, lines with
    `+` in the editor."""

    chosen = Signal(str)

    def __init__(self, file: OpenFile, lane: Lane, icons: Icons, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self._file = file
        self._lane = lane
        self._group = f"compare {id(self)}"
        self._sha256 = ""
        file.destroyed.connect(self.reject)
        self.setWindowTitle(self.tr("Compare"))
        self.resize(760, 520)
        self.title = WrapLabel()
        self.message = MessageBar(icons, "compare-message", closable=False)
        self.diff = DiffView()
        self.buttons = QDialogButtonBox(QDialogButtonBox.StandardButton.Close)
        role = QDialogButtonBox.ButtonRole.ActionRole
        self.reload = self.buttons.addButton(self.tr("Discard mine"), role)
        self.keep = self.buttons.addButton(self.tr("Overwrite theirs"), role)
        self.reload.clicked.connect(self._reload)
        self.keep.clicked.connect(self._keep)
        self.buttons.rejected.connect(self.reject)
        column(self, self.title, self.message, self.diff, self.buttons, grows=self.diff)
        self._show_versions()

    def _show_versions(self) -> None:
        """Compute and show the difference as it is now."""
        disk, mine = self._file.buffer.disk, self._file.content
        path = self._file.buffer.address.label
        self.title.say(self.tr("{path}: “-” is on disk, “+” is yours").format(path=path))
        self._enable(False)
        if disk is None:
            return
        theirs, self._sha256 = disk.content, disk.sha256

        def work(_control: JobControl) -> str:
            return unified(
                theirs.encode("utf-8", "replace"), mine.encode("utf-8", "replace"), path.removeprefix("/")
            )

        self._lane.submit(
            "compare", work, done=self._on_diff, failed=self.message.say_error, group=self._group
        )

    def _on_diff(self, text: str) -> None:
        self.diff.show_diff(text or self.tr("Both versions are the same."))
        self._enable(True)

    def _enable(self, on: bool) -> None:
        self.reload.setEnabled(on)
        self.keep.setEnabled(on)

    @Slot()
    def _reload(self) -> None:
        self._choose("reload")

    @Slot()
    def _keep(self) -> None:
        self._choose("keep")

    def _choose(self, key: str) -> None:
        disk = self._file.buffer.disk
        if disk is None:
            self.reject()  # it was deleted, which the editor's banner asks about
        elif disk.sha256 != self._sha256:
            self.message.say(self.tr("The file changed again on disk. This is the newest version."))
            self._show_versions()
        else:
            self.chosen.emit(key)
            self.accept()

    def done(self, result: int) -> None:
        self._lane.abandon(self._group)
        super().done(result)


# Between the tree's selection, the open files and the editor pane.


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
        self._stores: dict[tuple[str, ScopeContext], dict[Scope, str]] = {}
        """The keys of the stores of each context that was shown, by home and context."""
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
        """Another home, or none: the pane shows no file; unsaved text stays in memory."""
        self._session, self._update = session, None
        self.pane.view.set_session(session)
        self.close()

    def follow(self, update: TreeUpdate) -> None:
        """The trees as they are now."""
        self._update = update
        if self._session is not None:
            self._stores[self._session.info.id, update.context] = {
                scope: listing.root.key
                for scope, listing in update.view.scopes.items()
                if listing.root is not None
            }
            self.buffers.follow(self._session, update)

    def read_again(self) -> None:
        """Read the shown file again."""
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
        self._focus_when_open, self._line_when_open = False, 0
        self._picked = data
        self._pick.start()

    def open(self, data: RowData | None, *, focus: bool = False, line: int = 0) -> None:
        """Open a row now, at `line` (from 1) if one is named; with `focus` the caret goes into the text."""
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
            if (top := self._ref(self._session, self._update.context, path)) is not None
        )

    def _ref(self, session: HomeSession, context: ScopeContext, path: str) -> FileRef | None:
        """The identity of a memory path in a context that is or was shown."""
        parsed = parse_shown(path)
        store = (
            self._stores.get((session.info.id, context), {}).get(parsed[0]) if parsed is not None else None
        )
        if parsed is None or store is None:
            return None
        return FileRef.memory(session.info.id, store, "/".join(parsed[1]))

    def renamed(self, session: HomeSession, context: ScopeContext, old: str, new: str) -> None:
        """A memory or folder was renamed by us, perhaps where another place is shown by now: open files go
        along."""
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
