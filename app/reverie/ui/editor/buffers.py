"""The open files of a window: opening and saving them, and updating them when they change on disk.

Threading: GUI thread; reading and writing are jobs on the scan lane. Failure: reported by signals.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, QTimer, Signal, Slot

from reverie.engine.asking import Request, ask
from reverie.errors import AGENT_BUSY, Conflict, UserError
from reverie.ui.appearance import Theme
from reverie.ui.editor import buffer as state
from reverie.ui.editor.buffer import Address, FileRef
from reverie.ui.editor.documents import ARRIVING, OpenFile
from reverie.ui.editor.merge_steps import MergeStep
from reverie.ui.jobs import JobControl, Work
from reverie.ui.session import HomeSession, TreeUpdate
from reverie.ui.tree.memory_tree import FileData
from reverie.values import replace

if TYPE_CHECKING:
    from reverie.files.watch import Changes
    from reverie.services.views import FileText


KEPT = 20


RETRY_MS = 1_500
"""Milliseconds between attempts to save while the agent holds its lock."""


class Buffers(QObject):
    """The open files of a window: opens and saves them, and reads them again when they change on disk.

    No typed text is lost: whatever the user selects, renames or deletes, a file with unsaved text stays in
    memory until it is saved or the user discards its text. Of the other files, the `KEPT` most
    recently opened ones stay open, so that their undo stacks survive.

    When the trees have changed, a memory is read again only if its size or modification time is not that of
    the version read or saved last. So a save by this window does not cause another read.

    Signals:
        opened(OpenFile): The requested file is open.
        changed(OpenFile): The state of a file has changed.
        typed(): The text of a file has changed; emitted after each keystroke.
        failed(FileRef, UserError): The requested file cannot be shown.
        saved(): A text was written.
        save_failed(OpenFile, UserError): A text could not be written.
    """

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
        """Return all open files."""
        return tuple(self._files.values())

    def unsaved(self) -> tuple[OpenFile, ...]:
        """Return the open files with unsaved text."""
        return tuple(file for file in self._files.values() if file.buffer.modified)

    def get(self, ref: FileRef) -> OpenFile | None:
        """Return the open file with this identity; None if it is not open."""
        return self._files.get(ref)

    def set_theme(self, theme: Theme) -> None:
        """Set the colours of all open texts; this adds no undo step and marks no text as edited."""
        self._theme = theme
        for file in self._files.values():
            file.set_theme(theme)

    def open(self, session: HomeSession, ref: FileRef, address: Address) -> None:
        """Open a file and then emit `opened`, or `failed` if it cannot be read.

        `session`: the session of the home that contains the file. An earlier request that is not finished is
        dropped.
        """
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
        """Drop the pending request to open a file, and record that no file is to be shown."""
        self.wanted = None

    def _on_first_read(self, ref: FileRef, address: Address, found: FileText) -> None:
        if ref in self._files or self.wanted != ref:
            return
        file = self._add(state.opened(ref, address, found))
        self._trim()
        self.opened.emit(file)

    def _add(self, buffer: state.Buffer) -> OpenFile:
        file = OpenFile(buffer, self._theme, self, self._compute)
        file.document.modificationChanged.connect(self._on_modification)
        file.document.contentsChanged.connect(self.typed)
        file.renewed.connect(self._on_renewed)
        self._files[buffer.ref] = file
        return file

    def bring_back(self, session: HomeSession, buffer: state.Buffer, content: str, cursor: int) -> bool:
        """Open a file with the text `content` of a draft (a stored unsaved text), and return True.

        `buffer`: the state of the file, with the current version on disk. `cursor`: the position of the
        caret, in UTF-16 units. If the file has other unsaved text, nothing is done and False is returned.
        """
        ref = buffer.ref
        file = self._files.get(ref)
        if file is not None and file.buffer.modified:
            return False
        if file is None:
            # The text on which the draft is based becomes the oldest state of the undo stack.
            file = self._add(replace(buffer, modified=False))
        self._sessions[ref.home] = session
        file.retype(content)
        file.buffer = buffer
        file.recheck()
        file.cursor = cursor
        self.wanted = ref
        self.opened.emit(file)
        self.changed.emit(file)
        return True

    def _trim(self) -> None:
        idle = [ref for ref, file in self._files.items() if not file.buffer.modified and ref != self.wanted]
        for ref in idle[: max(0, len(idle) - KEPT)]:
            self._files.pop(ref).deleteLater()

    def discard(self, file: OpenFile) -> None:
        """Close a file and drop its unsaved text."""
        if self._files.get(file.buffer.ref) is file:
            del self._files[file.buffer.ref]
            file.deleteLater()

    def forget_home(self, home_id: str) -> None:
        """Close all files of a home and drop their unsaved text."""
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

    def _compute(
        self, file: OpenFile, group: str, work: Callable[[], MergeStep], done: Callable[[MergeStep], None]
    ) -> None:
        """Run `work`, which computes a change to the text of `file`, in a job and pass its result to `done`.

        If the file was closed meanwhile, the result is dropped. A newer job of the same non-empty `group`
        replaces an older one of this file.
        """

        def ended(step: MergeStep) -> None:
            if self._files.get(file.buffer.ref) is file:
                done(step)

        lane = self._sessions[file.buffer.ref.home].lanes.scan
        group = f"{group} {id(file)}" if group else ""
        lane.submit("compare versions", lambda _control: work(), done=ended, group=group)

    @Slot()
    def _on_renewed(self) -> None:
        file = self.sender()
        self.changed.emit(file)
        if isinstance(file, OpenFile):
            self._save_waiting(file)

    def save(self, file: OpenFile) -> None:
        """Write the text of a file, if the version on disk is still the one on which the text is based.

        Otherwise the newer version is read and merged into the text; if that leads to conflicts, the editor
        asks the user. While the agent holds its lock, the save is repeated every `RETRY_MS` milliseconds.
        `saved` is emitted once the text is written, `save_failed` after any other error.
        """
        session = self._sessions[file.buffer.ref.home]
        if file.saving or file.read_only:
            return
        text, contents, buffer = file.text, file.contents(), file.buffer
        workbench, address, before = session.workbench, buffer.address, buffer.expected_sha256
        file.saving = True
        self.changed.emit(file)

        async def work(_control: JobControl) -> FileText:
            if address.companion is not None:
                return await ask(workbench.companions.save, address.companion, contents(), before)
            return await ask(workbench.save, address.context, address.path, contents(), before)

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
                # The file was changed meanwhile: merge that; a save that was waiting is then tried again.
                self._read(session, file)
            elif error.reason != AGENT_BUSY:
                self.save_failed.emit(file, error)

        def cancelled() -> None:
            file.saving = False

        session.lanes.scan.submit("save", work, done=done, failed=failed, cancelled=cancelled)

    def _save_waiting(self, file: OpenFile) -> None:
        """Try again to save a file whose save had to wait because the agent was writing.

        Everything that was typed meanwhile is saved too. Does nothing if the file is not waiting.
        """
        if not file.waiting or self._files.get(file.buffer.ref) is not file or file.saving:
            return
        if file.buffer.banner or not file.buffer.modified:
            file.waiting = ""
            self.changed.emit(file)
        else:
            self.save(file)

    def keep_mine(self, file: OpenFile) -> None:
        """Resolve all conflicts of a file in favour of the text in the editor.

        The next save replaces the version on disk that the user saw.
        """
        file.buffer = state.kept_mine(file.buffer)
        file.recheck()
        self.changed.emit(file)

    def take_theirs(self, file: OpenFile) -> None:
        """Replace the text of a file by the version on disk; one undo step brings the text back."""
        after, effect = state.taken_theirs(file.buffer)
        if effect == "follow":
            file.follow(after, "", lambda: self.take_theirs(file))

    def renamed(self, old: FileRef, new: FileRef, address: Address) -> None:
        """Give the open file `old` its new identity and address, because this window renamed it.

        If a file with unsaved text is open as `new`, nothing is done, so that both stay open.
        """
        taken = self._files.get(new)
        if taken is not None and taken.buffer.modified:
            return  # both stay open, and the file on disk is merged into the unsaved text
        file = self._files.pop(old, None)
        if file is not None:
            file.buffer = state.moved(file.buffer, new, address)
            self._files[new] = file
            if self.wanted == old:
                self.wanted = new
            self.changed.emit(file)

    def follow(self, session: HomeSession, update: TreeUpdate) -> None:
        """Read again those open files of a home that have changed on disk.

        `update`: the new trees of the home, which show what has changed.
        """
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
        """Read the shown file again, whether or not it has changed.

        Call this when its permissions may have changed, or when the history has recorded the changes that
        were made before the home was opened.
        """
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
        file.newest = found
        before = file.buffer
        if not before.modified and before.base is not None and not file.read_only and file.differs:
            # Never replace text that is not on disk without asking, whatever the flags say.
            before = replace(before, modified=True)
        after, effect = state.seen_on_disk(before, found, file.content_like(found))

        def again() -> None:
            if file.newest is found:
                self._see(file, found, author)

        if effect == "follow":
            file.follow(after, author, again, ARRIVING)
        elif effect == "merge":
            file.merge(after, author, again)
        else:
            file.buffer = after
            if before.modified and not after.modified:
                file.document.setModified(False)
            file.recheck()
            if file.buffer != before:
                self.changed.emit(file)
            self._save_waiting(file)


def _touched(file: OpenFile, changes: Changes | None) -> bool:
    companion = file.buffer.address.companion
    return companion is not None and (changes is None or changes.touches(companion.path))


def _read_job(session: HomeSession, address: Address) -> Request[FileText]:
    workbench = session.workbench
    if address.companion is not None:
        return ask(workbench.companions.read, address.companion)
    return ask(workbench.read, address.context, address.path)


def _authored(session: HomeSession, address: Address) -> Work[tuple[FileText, str]]:
    """Return a job that reads a file and finds out who wrote the version on disk.

    The job returns the version and the name of the author, for example `user`, `agent` or a kind of run; ""
    if the author is unknown.
    """
    workbench, read = session.workbench, _read_job(session, address)

    async def work(_control: JobControl) -> tuple[FileText, str]:
        found = await read
        companion = address.companion.path if address.companion is not None else None
        return found, await ask(workbench.author_of, address.context, address.path, found.sha256, companion)

    return work
