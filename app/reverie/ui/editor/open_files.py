"""The open files of a window: opening, saving, and following what happens on disk.

Nothing typed is lost: a file with unsaved text stays in memory whatever is selected, renamed or deleted,
until it is saved or a person throws it away. Files without unsaved text are kept for their undo stack, the
last `KEPT`.

Threading: GUI thread; reading and writing are jobs on the scan lane. Whether a file changed is decided by the
tree that the watcher brought (size and time against what was read), never by listening to our own saves.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, QTimer, Signal, Slot

from reverie.errors import AGENT_BUSY, Conflict, UserError
from reverie.ui.appearance import Theme
from reverie.ui.editor import documents as state
from reverie.ui.editor.documents import Address, FileRef, OpenFile
from reverie.ui.editor.text_merge import Side
from reverie.ui.jobs import JobControl
from reverie.ui.session import HomeSession, TreeUpdate
from reverie.ui.tree.memory_tree import FileData, parse_shown

if TYPE_CHECKING:
    from reverie.files.watch import Changes
    from reverie.services.views import FileText

KEPT = 20
RETRY_MS = 1_500
"""Between two tries to save while the agent holds its lock."""


class Buffers(QObject):
    """`opened(OpenFile)`: what was asked for is here. `changed(OpenFile)`: its state is another. `typed()`:
    the text of one of them is, after each keystroke. `failed(FileRef, UserError)`: it cannot be shown.
    `save_failed(OpenFile, UserError)`."""

    opened = Signal(object)
    changed = Signal(object)
    typed = Signal()
    failed = Signal(object, object)
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

        def work(_control: JobControl) -> FileText:
            if address.companion is not None:
                return workbench.save_companion(address.companion, content, buffer.expected_sha256)
            return workbench.save(address.context, address.path, content, buffer.expected_sha256)

        def done(found: FileText) -> None:
            file.saving, file.waiting = False, ""
            still = file.text != text
            file.buffer = state.saved(file.buffer, found, still)
            if not still:
                file.document.setModified(False)
            file.saved()
            file.recheck()
            self.changed.emit(file)

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
        """A file was renamed by us: its text goes along."""
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


def file_ref(session: HomeSession, update: TreeUpdate, path: str) -> FileRef | None:
    """The identity of a memory path in the shown context."""
    parsed = parse_shown(path)
    listing = update.view.scopes.get(parsed[0]) if parsed is not None else None
    if parsed is None or listing is None or listing.root is None:
        return None
    return FileRef.memory(session.info.id, listing.root.key, "/".join(parsed[1]))


def _touched(file: OpenFile, changes: Changes | None) -> bool:
    companion = file.buffer.address.companion
    return companion is not None and (changes is None or changes.touches(companion.path))


def _read_job(session: HomeSession, address: Address) -> Callable[[JobControl], FileText]:
    workbench = session.workbench

    def work(_control: JobControl) -> FileText:
        if address.companion is not None:
            return workbench.read_companion(address.companion)
        return workbench.read(address.context, address.path)

    return work


def _authored(session: HomeSession, address: Address) -> Callable[[JobControl], tuple[FileText, str]]:
    """The file as it is, and who of us wrote that; empty: somebody else."""
    workbench, read = session.workbench, _read_job(session, address)

    def work(control: JobControl) -> tuple[FileText, str]:
        found = read(control)
        companion = address.companion.path if address.companion is not None else None
        return found, workbench.author_of(address.context, address.path, found.sha256, companion)

    return work
