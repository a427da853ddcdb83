"""Export of memories to plain files or a zip archive, and import as a proposal in the Changes tab.

The engine is asked for the contents, and the window writes the files, so the home may be on another machine.

Threading: GUI thread; reading and writing are jobs on a lane with a thread of its own. Failure: shown in the
message bar.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, Slot
from PySide6.QtWidgets import QFileDialog, QInputDialog, QWidget

from reverie.agents.scopes import Scope
from reverie.engine.asking import ask
from reverie.errors import UserError
from reverie.files.bundle import BundledFile, LeftOut, read_bundle, write_bundle
from reverie.ui.display_text import counted, scope_name, visible
from reverie.ui.jobs import JobControl
from reverie.ui.memory.shown_place import ShownPlace
from reverie.ui.session import HomeSession, TreeUpdate
from reverie.ui.tree.memory_tree import SCOPES, CompanionData, FileData, FolderData, ScopeData
from reverie.ui.tree.view import MemoryTreeView
from reverie.ui.widgets.messages import MessageBar
from reverie.values import replace

if TYPE_CHECKING:
    from reverie.services.transfer import ImportResult

_REVIEW = "review-import"
_NAMED = 3
"""The largest number of files that a message names as left out."""


class TransferControl(QObject):
    """The controller of *Export…* and *Import…*; the action registry connects its slots by name."""

    def __init__(
        self,
        shown: ShownPlace,
        tree: MemoryTreeView,
        bar: MessageBar,
        review: Callable[[str], None],
        window: QWidget,
    ) -> None:
        """Connect the parts; `review` shows the changes of a run in the Changes tab."""
        super().__init__(window)
        self._shown = shown
        self._tree = tree
        self._bar = bar
        self._review = review
        self._window = window
        self._run = ""
        bar.chosen.connect(self._on_chosen)

    def export(self) -> None:
        """Ask for a file or folder, and copy the selected memories, folders and scopes there."""
        place, chosen = self._place(), self._chosen()
        if place is None or not chosen:
            return
        name, selected = QFileDialog.getSaveFileName(
            self._window,
            self.tr("Export memories"),
            str(Path.home() / self._suggested(chosen)),
            f"{self._zip};;{self._folder};;{self._file}",
            options=QFileDialog.Option.DontConfirmOverwrite,
        )
        if name:
            if selected == self._zip and not Path(name).suffix:
                name += ".zip"
            self.export_to(Path(name), chosen)

    def export_to(self, target: Path, chosen: Mapping[Scope, Sequence[str]]) -> None:
        """Copy memories to `target` in a job.

        `chosen`: the memory paths of the memories and folders of each scope; empty for the whole scope.
        """
        place = self._place()
        if place is None:
            return
        session, update = place
        transfer, context, root = session.workbench.transfer, update.context, session.info.root

        async def work(control: JobControl) -> tuple[int, Sequence[LeftOut]]:
            files, left_out = list[BundledFile](), list[LeftOut]()
            for scope, paths in chosen.items():
                control.check()
                bundle = await ask(transfer.files, context, scope, tuple(paths))
                folder = f"{scope.value}/" if len(chosen) > 1 else ""
                files += [replace(each, rel=folder + each.rel) for each in bundle.files]
                left_out += bundle.left_out
            without = write_bundle(target, files, root)
            return len(files) - len(without), [*left_out, *without]

        def done(found: tuple[int, Sequence[LeftOut]]) -> None:
            count, left_out = found
            said = counted("Exported 1 memory to {target}.", "Exported %n memories to {target}.", count)
            self._say(session, said.format(target=visible(str(target))), left_out)

        session.lanes.writer.submit("export memories", work, done=done, failed=self._failed_in(session))

    def import_file(self) -> None:
        """Ask for a zip archive or a file, and propose its contents as memories."""
        filters = (
            self.tr("Zip archives and text files") + " (*.zip *.md *.txt);;" + self.tr("All files") + " (*)"
        )
        name, _selected = QFileDialog.getOpenFileName(
            self._window, self.tr("Import memories"), str(Path.home()), filters
        )
        self._import(name)

    def import_folder(self) -> None:
        """Ask for a folder, and propose the files in it as memories."""
        name = QFileDialog.getExistingDirectory(
            self._window, self.tr("Import memories from a folder"), str(Path.home())
        )
        self._import(name)

    def _import(self, name: str) -> None:
        """Ask for the scope, and propose the files at the path `name` as its memories; do nothing for ""."""
        place = self._place()
        if not name or place is None:
            return
        scopes = [scope for scope in SCOPES if place[1].view.scopes[scope].root is not None]
        if not scopes:
            return
        names = [scope_name(scope) for scope in scopes]
        selected = self._tree.current_scope()
        at = scopes.index(Scope(selected)) if selected and Scope(selected) in scopes else 0
        answer, is_chosen = QInputDialog.getItem(
            self._window,
            self.tr("Import memories"),
            self.tr("Import into:"),
            names,
            at,
            editable=False,
        )
        if is_chosen:
            self.import_from(Path(name), scopes[names.index(answer)])

    def import_from(self, source: Path, scope: Scope) -> None:
        """Propose the files of a folder, zip archive or file as memories of a scope, in a job."""
        place = self._place()
        if place is None:
            return
        session, update = place
        transfer, context = session.workbench.transfer, update.context

        async def work(control: JobControl) -> tuple[ImportResult, Sequence[LeftOut]]:
            bundle = read_bundle(source, control.check)
            result = await ask(transfer.bring_in, context, scope, bundle.files, source.name)
            return result, [*bundle.left_out, *result.left_out]

        def done(found: tuple[ImportResult, Sequence[LeftOut]]) -> None:
            result, left_out = found
            if not result.run:
                self._say(session, self.tr("Nothing to import: no file is new or different."), left_out)
                return
            said = counted(
                "The import proposes 1 change.", "The import proposes %n changes.", len(result.changes)
            )
            self._say(session, said, left_out, result.run)

        session.lanes.writer.submit("import memories", work, done=done, failed=self._failed_in(session))

    def _place(self) -> tuple[HomeSession, TreeUpdate] | None:
        """Return the session of the shown home and the shown trees; None if either is missing."""
        session, update = self._shown.session, self._shown.update
        return (session, update) if session is not None and update is not None else None

    def _chosen(self) -> dict[Scope, list[str]]:
        """Return the memory paths to export by scope; an empty list stands for the whole scope.

        Without a selected memory, folder or scope these are all scopes that are shown.
        """
        chosen: dict[Scope, list[str]] = {}
        whole = set[Scope]()
        for row in self._tree.selected_rows():
            if isinstance(row, FileData | FolderData):
                chosen.setdefault(row.scope, []).append(row.path)
            elif isinstance(row, ScopeData) and not row.reason:
                whole.add(row.scope)
        chosen |= {scope: [] for scope in whole}
        place = self._place()
        if (
            chosen
            or place is None
            or any(isinstance(row, CompanionData) for row in self._tree.selected_rows())
        ):
            return chosen
        return {scope: [] for scope in SCOPES if place[1].view.scopes[scope].files}

    def _suggested(self, chosen: Mapping[Scope, Sequence[str]]) -> str:
        """Return the suggested name of an export."""
        paths = [path for each in chosen.values() for path in each]
        if len(paths) == 1 and len(chosen) == 1:
            name = paths[0].rpartition("/")[2]
            return name if "." in name else f"{name}.zip"
        return f"{next(iter(chosen)).value}.zip" if len(chosen) == 1 else "memories.zip"

    @property
    def _zip(self) -> str:
        return self.tr("Zip archive") + " (*.zip)"

    @property
    def _folder(self) -> str:
        return self.tr("New folder") + " (*)"

    @property
    def _file(self) -> str:
        return self.tr("Single memory") + " (*.md)"

    def _say(self, session: HomeSession, said: str, left_out: Iterable[LeftOut], run: str = "") -> None:
        """Show the result of an export or import, with a button to review the run `run`."""
        if session is not self._shown.session:
            return
        self._run = run
        left = list(left_out)
        named = [visible(f"{each.rel}: {each.reason}" if each.rel else each.reason) for each in left[:_NAMED]]
        if left:
            more = counted("1 file was left out.", "%n files were left out.", len(left))
            said = " ".join([said, more, *named])
        buttons = [(_REVIEW, self.tr("&Review"), self.tr("Show the proposed changes"))] if run else []
        self._bar.say(said, tone="warn" if left else "info", buttons=buttons)

    def _failed_in(self, session: HomeSession) -> Callable[[UserError], None]:
        """Return a function that shows an error, unless another home is shown by then."""

        def failed(error: UserError) -> None:
            if session is self._shown.session:
                self._bar.say_error(error)

        return failed

    @Slot(str)
    def _on_chosen(self, key: str) -> None:
        if key == _REVIEW and self._run:
            self._bar.clear()
            self._review(self._run)
