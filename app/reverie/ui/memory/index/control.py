"""Between the Memory tab and the care of an index: the panel, the line where the agent stops reading, mends,
and renames that are shown first.

A look begins a moment after an index was opened, read again, or something in its trees changed. The cut is
drawn from the text as it is typed. Mends and renames go through `Edits`, so that Undo takes them back; the
views follow through the watcher.

Threading: GUI thread; the desk is touched by jobs only. Failure: under the tree, as for every hand edit.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, QTimer, Slot
from PySide6.QtWidgets import QVBoxLayout

from reverie.errors import MendableError
from reverie.ui.icons import Icons
from reverie.ui.jobs import JobControl
from reverie.ui.memory.index.panel import IndexPanel
from reverie.ui.session import HomeSession, TreeUpdate

if TYPE_CHECKING:
    from reverie.homes.claude_index import Finding
    from reverie.services.index_care import IndexLook, MendKind, RenamePlan
    from reverie.services.views import Undo
    from reverie.ui.memory.documents import OpenFile
    from reverie.ui.memory.index.rename_dialog import RenameDialog
    from reverie.ui.memory.tab import MemoryTab

QUIET_MS = 150


class IndexControl(QObject):
    """Index care of the home that `tab` shows. Feed it with `set_session` and `follow`."""

    def __init__(self, tab: MemoryTab, icons: Icons) -> None:
        super().__init__(tab)
        self._tab = tab
        self._session: HomeSession | None = None
        self._path = ""
        self.panel = IndexPanel(icons)
        self.dialog: RenameDialog | None = None
        self.looking = False
        self._quiet = QTimer(self)
        self._quiet.setSingleShot(True)
        self._quiet.setInterval(QUIET_MS)
        self._quiet.timeout.connect(self._look)
        page = tab.pane.error.parentWidget()
        column = page.layout() if page is not None else None
        assert isinstance(column, QVBoxLayout)
        column.insertWidget(column.indexOf(tab.pane.error) + 1, self.panel)
        tab.editor.state_changed.connect(self._on_editor)
        tab.editor.was_read.connect(self._on_read)
        self.panel.mend_wanted.connect(self._mend)
        self.panel.place_wanted.connect(self._go)

    def set_session(self, session: HomeSession | None) -> None:
        """Another home, or none."""
        self._session = session
        self._forget()

    def follow(self, update: TreeUpdate) -> None:
        """The trees as they are now: what the index is about may be other files."""
        if self._path and not update.names_only:
            self._quiet.start()

    # What is shown

    @Slot()
    def _on_editor(self) -> None:
        file = self._tab.pane.file
        path = self._index_path(file)
        if path != self._path:
            self._forget()
            self._path = path
            if path:
                self._quiet.start()
        self.panel.set_may_mend(file is not None and not file.buffer.modified and not file.read_only)

    @Slot()
    def _on_read(self) -> None:
        self._on_editor()
        if self._path:
            self._quiet.start()

    def _index_path(self, file: OpenFile | None) -> str:
        """The memory path of the open index; empty for anything else."""
        session, update = self._session, self._tab.update_
        if file is None or session is None or update is None or file.buffer.address.companion is not None:
            return ""
        ref = file.buffer.ref
        roots = (listing.root for listing in update.view.scopes.values() if listing.root is not None)
        root = next((root for root in roots if root.key == ref.store), None)
        if ref.home != session.info.id or root is None:
            return ""
        role = session.workbench.parts.home.file_role(root, ref.rel)
        return file.buffer.address.path if role == "index" else ""

    def _forget(self) -> None:
        self._quiet.stop()
        self._path = ""
        self.looking = False
        self.panel.show_look(None)
        self._tab.pane.set_own_cut(None)

    @Slot()
    def _look(self) -> None:
        session, update, path = self._session, self._tab.update_, self._path
        if session is None or update is None or not path:
            return
        workbench, context = session.workbench, update.context
        self.looking = True

        def work(control: JobControl) -> IndexLook | None:
            import reverie.ui.memory.index.words  # noqa: F401 - where no file may be read it is there then

            return workbench.index_care.look(context, path, control.check)

        def done(look: IndexLook | None) -> None:
            self.looking = False
            if path == self._path:
                self.panel.show_look(look)
                self._tab.pane.set_own_cut(
                    None if look is None else _cut_in, self.tr("The agent does not load this.")
                )

        def failed(_error: MendableError) -> None:
            # What cannot be read now is told by the scan and the editor.
            self.looking = False
            self.panel.show_look(None)

        session.lanes.scan.submit("look at the index", work, done=done, failed=failed, group="index")

    @Slot(object)
    def _go(self, finding: Finding) -> None:
        from reverie.homes.claude_index import INDEX

        look = self.panel.look
        if look is None:
            return
        if finding.rel == INDEX:
            self._tab.pane.view.set_mode("source")
            self._tab.pane.text.go_to_line(max(1, finding.line))
            self._tab.pane.text.setFocus()
        elif self._tab.tree.select_path(look.path_of(finding)):
            self._tab.editor.open(self._tab.tree.current_data(), focus=True)

    # Changes

    @Slot(object, str)
    def _mend(self, finding: Finding, kind: MendKind) -> None:
        session, update, look = self._session, self._tab.update_, self.panel.look
        if session is None or update is None or look is None:
            return
        workbench, context = session.workbench, update.context

        def job() -> Undo:
            return workbench.index_care.mend(context, look, finding, kind)

        def done(_undo: Undo) -> None:
            from reverie.ui.memory.index import words

            self._tab.hand.offer_undo(words.mended(kind))

        self._tab.edits.apply(session, "mend the index", job, done)

    def rename(self, targets: Mapping[str, str], plain: Callable[[str], None]) -> None:
        """Rename or move with all that leads there, after a person saw it. `plain` does it where nothing
        follows; it gets a sentence on what should, and does not."""
        session, update = self._session, self._tab.update_
        if session is None or update is None or not any(map(self.keeps_index, targets)):
            plain("")
            return
        workbench, context, asked = session.workbench, update.context, dict(targets)

        def work(_control: JobControl) -> RenamePlan | None:
            import reverie.ui.memory.index.rename_dialog  # noqa: F401 - see `_look`

            return workbench.index_care.plan_renames(context, asked)

        def done(plan: RenamePlan | None) -> None:
            if plan is None:
                plain(self.tr("The index and the links in other memories did not follow: mend the index."))
            elif not plan.lines:
                plain("")
            else:
                self._ask(session, plan)

        session.lanes.scan.submit("plan a rename", work, done=done, failed=self._tab.edits.failed.emit)

    def keeps_index(self, path: str) -> bool:
        """Whether the store of a memory has an index at all."""
        session, update = self._session, self._tab.update_
        if session is None or update is None:
            return False
        role, scope = session.workbench.parts.home.file_role, path.split("/")[2]
        listing = next((each for key, each in update.view.scopes.items() if key.value == scope), None)
        root = listing.root if listing is not None else None
        return (
            listing is not None
            and root is not None
            and any(role(root, file.rel) == "index" for file in listing.files)
        )

    def _ask(self, session: HomeSession, plan: RenamePlan) -> None:
        from reverie.ui.memory.index.rename_dialog import RenameDialog

        dialog = RenameDialog(plan, self._tab)
        self.dialog = dialog
        dialog.accepted.connect(partial(self._rename, session, plan))
        dialog.finished.connect(self._on_answered)
        dialog.open()

    @Slot(int)
    def _on_answered(self, _result: int) -> None:
        if self.dialog is not None:
            self.dialog.deleteLater()
            self.dialog = None

    def _rename(self, session: HomeSession, plan: RenamePlan) -> None:
        update = self._tab.update_
        if update is None or session is not self._session:
            return
        workbench, context = session.workbench, update.context

        def job() -> Undo:
            return workbench.index_care.rename(context, plan)

        def done(undo: Undo) -> None:
            if len(plan.targets) > 1:
                self._tab.hand.moved(undo)
                return
            for old, new in plan.moved.items():
                self._tab.edits.renamed.emit(old, new)

        self._tab.edits.apply(session, "rename with its links", job, done)


def _cut_in(file: OpenFile) -> int | None:
    """Where the agent stops loading, in UTF-16 units of the shown document; None: it loads all."""
    from reverie.homes.claude_index import cut_of

    cut = cut_of(file.content)
    if cut.line is None:
        return None
    block = file.document.findBlockByNumber(cut.line - 1)
    bom = cut.line == 1 and file.content.startswith("\ufeff")
    return block.position() + max(0, cut.column - bom) if block.isValid() else None
