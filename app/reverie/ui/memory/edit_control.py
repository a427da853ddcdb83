"""What a person does to memories in the tree: new, rename, move, delete, pin, and taking it back.

Asks what there is to ask, hands the change to `Edits` and says what was done, with Undo beside it. Which rows
and which scopes there are is the tab's and its tree's to say. Nothing here changes a view: rows move when the
watcher has seen the files move.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, Slot
from PySide6.QtGui import QGuiApplication

from reverie.agents.scopes import Scope
from reverie.errors import UserError
from reverie.memory.paths import ROOT, MovePlan, numbered, plan_moves
from reverie.ui import display_text as words
from reverie.ui.display_text import visible
from reverie.ui.memory.edit_dialogs import PathDialog
from reverie.ui.memory.user_edits import Edits, with_warning
from reverie.ui.session import HomeSession, TreeUpdate
from reverie.ui.tree.memory_tree import SCOPES, FileData, FolderData, parse_shown, path_of

if TYPE_CHECKING:
    from reverie.services.views import Undo
    from reverie.ui.memory.tab import MemoryTab


class HandControl(QObject):
    """Hand edits of one tab. Slots are named by the action registry."""

    def __init__(self, tab: MemoryTab) -> None:
        super().__init__(tab)
        self._tab = tab
        self.edits = Edits(self)
        self._wanted = ""
        self._focus = False
        self._judging = False
        self.edits.created.connect(self._on_created)
        self.edits.renamed.connect(self._on_renamed)
        self.edits.deleted.connect(self._on_deleted)
        self.edits.removed.connect(self._on_removed)
        self.edits.pinned.connect(self._on_pinned)
        self.edits.undone.connect(self._on_undone)
        self.edits.failed.connect(self._on_failed)
        tab.undo_bar.chosen.connect(self._on_undo_chosen)
        tab.model.rename_asked.connect(self._rename)
        tab.tree.name_judged.connect(self._on_name_judged)
        tab.model.move_asked.connect(self._drop)

    @property
    def last(self) -> Undo | None:
        return self.edits.last

    def forget(self) -> None:
        """Another home: nothing of the old one is to be taken back from here."""
        self.edits.forget()
        self._wanted = ""
        self._tab.undo_bar.clear()

    # What a person asks for

    def new_memory(self) -> None:
        """Ask for path, description and template in the selected folder, and create it."""
        place = self._place_now()
        if place is None:
            return
        session, update = place
        scope, folder = self._folder_selected()
        read = partial(self.edits.read_templates, session)
        asked = PathDialog.ask_new(
            self._tab,
            self._scopes(update),
            scope,
            folder,
            self._tab.model.is_taken,
            read,
            session.caps.descriptions,
        )
        if asked is not None:
            self.edits.create(session, update.context, asked)

    def rename_selected(self) -> None:
        """In its place."""
        self._tab.tree.edit_name()

    @Slot(str)
    def _on_name_judged(self, problem: str) -> None:
        if problem:
            self._tab.undo_bar.say(problem, tone="warn")
        elif self._judging:
            self._tab.undo_bar.clear()
        self._judging = bool(problem)

    @Slot(str, str)
    def _rename(self, path: str, name: str) -> None:
        place = self._place_now()
        if place is not None:
            session, update = place
            new = f"{path.rpartition('/')[0]}/{name}"

            def plain(_not_followed: str) -> None:
                self.edits.rename(session, update.context, path, new)

            self._tab.index_care.rename({path: new}, plain)

    def move_selected(self) -> None:
        """To a folder that is asked for."""
        place, paths = self._place_now(), self._selected_paths()
        if place is None or not paths:
            return
        from reverie.ui.memory.edit_dialogs import MoveDialog

        _session, update = place
        folders = {scope: self._folders(update, scope) for scope in self._scopes(update)}
        targets = MoveDialog.ask(self._tab, paths, folders, self._tab.model.is_taken)
        if targets:
            self._move(targets)

    @Slot(object, str)
    def _drop(self, paths: Sequence[str], folder: str) -> None:
        """Dropped onto a folder or scope."""
        place, parsed = self._place_now(), parse_shown(folder)
        if place is None or parsed is None:
            return
        listing = place[1].view.scopes.get(parsed[0])
        if listing is None or listing.root is None:
            reason = listing.unavailable if listing is not None else ""
            self._refuse(reason or self.tr("This scope is not available."))
            return
        plan = plan_moves(paths, folder, self._tab.model.is_taken)
        if plan.refused:
            self._refuse(plan.refused)
        elif not plan.clashes or self._keep_both(plan):
            self._move(numbered(plan, self._tab.model.is_taken).targets)

    def _keep_both(self, plan: MovePlan) -> bool:
        from reverie.ui.memory import edit_dialogs as move_dialog

        return move_dialog.ask_keep_both(self._tab, [path.rpartition("/")[2] for path in plan.clashes])

    def _refuse(self, reason: str) -> None:
        self._tab.undo_bar.say(
            self.tr("Nothing was moved. {reason}").format(reason=visible(reason)), tone="warn"
        )

    def _move(self, targets: Mapping[str, str]) -> None:
        self._tab.index_care.rename(targets, partial(self._move_plainly, targets))

    def _move_plainly(self, targets: Mapping[str, str], not_followed: str) -> None:
        place = self._place_now()
        if place is None:
            return
        (session, update), wanted = place, dict(targets)
        workbench, context = session.workbench, update.context

        def job() -> Undo:
            return workbench.moves.move(context, wanted)

        self.edits.apply(session, "move memories", job, partial(self.moved, not_followed=not_followed))

    def delete_selected(self) -> None:
        """Delete what is selected, several as one; the bar offers to take it back."""
        place, paths = self._place_now(), self._selected_paths()
        if place is None or not paths:
            return
        session, update = place
        if len(paths) == 1:
            self.edits.delete(session, update.context, paths[0])
            self._tab.tree.select_after_removal(paths[0])
            return
        workbench, context = session.workbench, update.context

        def job() -> Undo:
            return workbench.delete_all(context, paths)

        self.edits.apply(session, "delete memories", job, self._on_deleted_all)

    def toggle_pin(self) -> None:
        """All that are selected become as the current one is not."""
        place = self._place_now()
        files = [data for data in self._tab.tree.selected_rows() if isinstance(data, FileData)]
        if place is None or not files:
            return
        (session, update), pinned = place, not files[0].file.usage.pinned
        self.edits.pin(session, update.context, [data.path for data in files], pinned)
        self._tab.situation_changed.emit()  # the action's check mark waits for the sidecar, too

    def copy_path(self) -> None:
        """The memory paths of what is selected, one a line."""
        paths = [path for data in self._tab.tree.selected_rows() if (path := path_of(data))]
        if paths:
            QGuiApplication.clipboard().setText("\n".join(paths))

    # What it works on

    def _place_now(self) -> tuple[HomeSession, TreeUpdate] | None:
        session, update = self._tab.session, self._tab.update_
        return (session, update) if session is not None and update is not None else None

    def _selected_paths(self) -> list[str]:
        """Files and folders; nothing twice that goes with its folder."""
        rows = [row for row in self._tab.tree.selected_rows() if isinstance(row, FileData | FolderData)]
        folders = tuple(row.path + "/" for row in rows if isinstance(row, FolderData))
        return (
            [row.path for row in rows if not row.path.startswith(folders)]
            if folders
            else [row.path for row in rows]
        )

    @staticmethod
    def _scopes(update: TreeUpdate) -> list[Scope]:
        return [scope for scope in SCOPES if update.view.scopes[scope].root is not None]

    def _folders(self, update: TreeUpdate, scope: Scope) -> list[str]:
        prefix = f"{ROOT}/{scope.value}/"
        return sorted(path.removeprefix(prefix) for path in update.tree.folders if path.startswith(prefix))

    def _folder_selected(self) -> tuple[Scope, str]:
        """Where a new memory would go: beside or inside what is selected."""
        data = self._tab.tree.current_data()
        path = path_of(data)
        parsed = parse_shown(path) if path else None
        if parsed is None:
            keys = self._tab.tree.current_scope()
            return (Scope(keys) if keys else Scope.WORKSPACE), ""
        scope, segments = parsed
        return scope, "/".join(segments[:-1] if isinstance(data, FileData) else segments)

    # What came of it

    @Slot(str)
    def _on_created(self, path: str) -> None:
        self._select_soon(path, focus=True)

    @Slot(str, str)
    def _on_renamed(self, old: str, new: str) -> None:
        self._tab.editor.renamed(old, new)
        self._select_soon(new, focus=False)
        self.offer_undo(self.tr("Renamed {old} to {new}").format(old=_name(old), new=_name(new)))

    def moved(self, undo: Undo, *, not_followed: str = "") -> None:
        """Memories have moved: the editor and the selection go along, and Undo is offered."""
        moved = list(undo.moved.items())
        for old, new in moved:
            self._tab.editor.renamed(old, new)
        old, new = moved[0]
        self._select_soon(new, focus=False)
        folder = visible(new.rpartition("/")[0].removeprefix(ROOT + "/"))
        what = words.things(undo.count) if undo.count > 1 else _name(old)
        said = self.tr("Moved {what} to {folder}").format(what=what, folder=folder)
        self.offer_undo(f"{said}. {not_followed}" if not_followed else said)

    @Slot(object, bool)
    def _on_pinned(self, paths: Sequence[str], pinned: bool) -> None:
        what = words.things(len(paths)) if len(paths) > 1 else _name(paths[0])
        said = self.tr("Pinned {what}") if pinned else self.tr("Unpinned {what}")
        self.offer_undo(said.format(what=what))

    @Slot(str)
    def _on_deleted(self, path: str) -> None:
        self.offer_undo(self.tr("Deleted {name}").format(name=_name(path)))

    @Slot(object, object)
    def _on_removed(self, session: HomeSession, undo: Undo) -> None:
        """A person deleted something, here or in another part of the tab: the editor asks nothing."""
        update = self._tab.update_
        if session is self._tab.session and update is not None and update.context == undo.context:
            self._tab.editor.removed(undo.removed)

    def _on_deleted_all(self, undo: Undo) -> None:
        self.offer_undo(self.tr("Deleted {name}").format(name=words.things(undo.count)))

    @Slot(str, str)
    def _on_undone(self, sentence: str, path: str) -> None:
        self._tab.undo_bar.say(visible(sentence))
        self._select_soon(path, focus=False)
        self._tab.situation_changed.emit()

    @Slot(object)
    def _on_failed(self, error: UserError) -> None:
        self._tab.tree.forget_removal()
        self._tab.undo_bar.say_error(error)
        self._tab.situation_changed.emit()

    def offer_undo(self, sentence: str) -> None:
        """Say what was done, with Undo beside it."""
        last = self.edits.last
        buttons = [("undo", self.tr("Undo"), self.tr("Take it back"))] if last is not None else []
        self._tab.undo_bar.say(with_warning(sentence, last), buttons=buttons)
        self._tab.situation_changed.emit()

    @Slot(str)
    def _on_undo_chosen(self, _key: str) -> None:
        self.edits.undo()

    def _select_soon(self, path: str, *, focus: bool) -> None:
        """Select `path` as soon as the watcher has brought it; it may be there already."""
        self._wanted, self._focus = path, focus
        if self._tab.session is not None:
            self._tab.session.also_show([path])
        self.select_wanted()

    def select_wanted(self) -> None:
        """The trees are others: what was wanted may be there now."""
        if self._wanted and self._tab.tree.select_path(self._wanted):
            self._wanted = ""
            row = self._tab.tree.current_data()
            if self._focus:
                self._tab.editor.open(row, focus=True)
            elif self._tab.editor.file is None and isinstance(row, FileData):
                # A row that comes back is selected again without a signal.
                self._tab.editor.pick(row)


def _name(path: str) -> str:
    return visible(path.rpartition("/")[2])
