"""The trash of a home: what was deleted, by whom and when, what it said, and bringing it back.

Read in jobs on the history lane, a page of the history at a time. Restoring is asked for by signal. Stays
open beside the window. Threading: GUI thread; an answer that nobody waits for any more is dropped.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from PySide6.QtCore import Qt, Signal, Slot
from PySide6.QtWidgets import QAbstractItemView, QListWidgetItem, QWidget

from reverie.engine.asking import ask
from reverie.errors import UserError
from reverie.ui.appearance import Icons
from reverie.ui.display_text import age, as_tooltip, human_size, visible, when
from reverie.ui.jobs import JobControl, Lane, Work
from reverie.ui.memory.edit_dialogs import PathDialog
from reverie.ui.memory.edits import Edits, SideControl
from reverie.ui.run_kinds import ONE
from reverie.ui.translation import counted, tr, translated
from reverie.ui.widgets.controls import FitPushButton, SearchField, WrapLabel
from reverie.ui.widgets.frames import SideWindow
from reverie.ui.widgets.layouts import FlowLayout, Panes, pane
from reverie.ui.widgets.lists import TwoLineDelegate, TwoLines, two_line_list
from reverie.ui.widgets.text_views import TextView

if TYPE_CHECKING:
    from reverie.services.trash import TrashEntry, TrashPage
    from reverie.services.views import Undo
    from reverie.services.workbench import Workbench

SIDE_BY_SIDE = 620
_ENTRY = int(Qt.ItemDataRole.UserRole)


class TrashWindow(SideWindow):
    """`wanted(entries)`: bring these back. `wanted_as(entry, path)`: bring it back under this name."""

    wanted = Signal(object)
    wanted_as = Signal(object)

    def __init__(
        self, lane: Lane, icons: Icons, now: Callable[[], int], parent: QWidget | None = None
    ) -> None:
        super().__init__(icons, "trash-message", parent)
        self._lane = lane
        self._now = now
        self._workbench: Workbench | None = None
        self._entries: tuple[TrashEntry, ...] = ()
        self._next: str | None = None
        self._reading = 0
        self.setWindowTitle(self.tr("Trash"))
        self.resize(900, 560)
        self.title = WrapLabel()
        self.filter = SearchField(self.tr("Search deleted memories"))
        self.list = two_line_list(self.tr("Deleted memories, newest first"))
        self.list.setSelectionMode(QAbstractItemView.SelectionMode.ExtendedSelection)
        self.none = WrapLabel()
        self.none.setAlignment(Qt.AlignmentFlag.AlignCenter)
        self.facts = WrapLabel()
        self.text = TextView()
        self.text.setAccessibleName(self.tr("What the deleted memory said"))
        self.restore = FitPushButton(self.tr("&Restore"), icon=icons.icon("undo"))
        self.restore_as = FitPushButton(self.tr("Restore &as…"))
        self.more = FitPushButton(self.tr("Look further &back"))
        self._arrange()
        self.filter.textChanged.connect(self._fill)
        self.list.itemSelectionChanged.connect(self._on_selected)
        self.list.itemActivated.connect(self._on_restore)
        self.restore.clicked.connect(self._on_restore)
        self.restore_as.clicked.connect(self._on_restore_as)
        self.more.clicked.connect(self._read_more)

    def _arrange(self) -> None:
        row = FlowLayout(self.restore, self.restore_as)
        left = pane(self.filter, self.none, self.list, self.more, grows=self.list)
        right = pane(self.facts, self.text, row, grows=self.text)
        panes = Panes(left, right, beside_from=SIDE_BY_SIDE, sizes=(380, 520))
        self.lay_out(panes, self.title, self.message)
        self.none.hide()

    # Reading

    def show_trash(self, workbench: Workbench, label: str) -> None:
        """The trash of a home, from its newest deletion on."""
        if workbench is not self._workbench:
            self._workbench = workbench
            self._entries, self._next = (), None
            self.message.clear()
            self._fill()
        self.title.say(
            self.tr("Deleted from {home}. Nothing of it is lost: the history keeps every version.").format(
                home=label
            )
        )
        self.follow()

    def follow(self) -> None:
        """The newest are read again; what was looked at further back stays."""
        if self._workbench is not None:
            self._read(None)

    @Slot()
    def _read_more(self) -> None:
        if self._next is not None:
            self._read(self._next)

    @property
    def is_read(self) -> bool:
        """Nothing is being read any more."""
        return self._workbench is not None and self._reading == 0

    @property
    def selected(self) -> tuple[TrashEntry, ...]:
        return tuple(item.data(_ENTRY) for item in self.list.selectedItems())

    def _submit(self, name: str, group: str, work: Work[Any], done: Callable[[Any], None]) -> None:
        self._reading += 1

        def ended(value: Any) -> None:
            self._reading -= 1
            done(value)

        def failed(error: UserError) -> None:
            self._reading -= 1
            self.message.say_error(error)

        def cancelled() -> None:
            self._reading -= 1

        self._lane.submit(
            name, work, done=ended, failed=failed, cancelled=cancelled, group=f"{group} {id(self)}"
        )

    def _read(self, start: str | None) -> None:
        workbench, kept = self._workbench, len(self._entries)
        if workbench is None:
            return

        async def work(control: JobControl) -> tuple[str | None, tuple[TrashEntry, ...], str | None]:
            desk = workbench.trash
            page: TrashPage = await ask(desk.page, start)
            entries = page.entries
            # As far back as was looked at before, when the newest are read again.
            while start is None and page.next is not None and len(entries) < kept:
                page = await ask(desk.page, page.next)
                entries += page.entries
            return start, entries, page.next

        self._submit("read the trash", "trash", work, self._on_read)

    def _on_read(self, found: tuple[str | None, tuple[TrashEntry, ...], str | None]) -> None:
        start, entries, self._next = found
        known = {entry.id for entry in self._entries} if start is not None else set()
        before = self._entries if start is not None else ()
        self._entries = (*before, *(entry for entry in entries if entry.id not in known))
        self._fill()

    @Slot()
    def _fill(self) -> None:
        wanted, chosen = self.filter.text().casefold().strip(), {entry.id for entry in self.selected}
        shown = [entry for entry in self._entries if wanted in f"{entry.path} {entry.owner}".casefold()]
        self.list.blockSignals(True)
        self.list.clear()
        for entry in shown:
            self.list.addItem(self._item(entry))
        for row, entry in enumerate(shown):
            if entry.id in chosen:
                self.list.item(row).setSelected(True)
        if shown and not self.list.selectedItems():
            self.list.setCurrentRow(0)
        self.list.blockSignals(False)
        self.none.say(
            self.tr("Looking…")
            if self._reading
            else self.tr("No deleted memory fits.")
            if self._entries
            else self.tr("Nothing was deleted yet, as far as the history goes.")
        )
        self.none.setVisible(not shown)
        self.list.setVisible(bool(shown))
        self.more.setVisible(self._next is not None)
        self._on_selected()

    def _item(self, entry: TrashEntry) -> QListWidgetItem:
        name = visible(entry.path.rpartition("/")[2])
        where = visible(entry.path.rpartition("/")[0].removeprefix("/memories/"))
        place = f"{where} · {visible(entry.owner)}" if entry.owner else where
        line = f"{actor(entry)} · {place}"
        item = QListWidgetItem(name)
        item.setData(_ENTRY, entry)
        item.setData(
            TwoLineDelegate.ROLE,
            TwoLines(name, line, age(self._now(), entry.at_ms), quiet=not entry.reachable),
        )
        item.setData(Qt.ItemDataRole.AccessibleTextRole, f"{name}, {line}, {age(self._now(), entry.at_ms)}")
        item.setToolTip(as_tooltip(entry.path, line, when(entry.at_ms)))
        return item

    # The selected ones

    @Slot()
    def _on_selected(self) -> None:
        chosen = self.selected
        can = bool(chosen) and all(entry.reachable for entry in chosen)
        self.restore.setEnabled(can)
        self.restore_as.setEnabled(can and len(chosen) == 1)
        many = counted("&Restore", "&Restore %n memories", len(chosen)) if chosen else ""
        self.restore.say(many or self.tr("&Restore"), self.tr("Bring it back; nothing is overwritten"))
        self.restore_as.say(self.tr("Restore &as…"), self.tr("Bring it back under another name"))
        self.facts.say(self._facts(chosen))
        self.text.show_bytes(None)
        if len(chosen) == 1 and self._workbench is not None:
            self._read_text(self._workbench, chosen[0])

    def _facts(self, chosen: Sequence[TrashEntry]) -> str:
        if len(chosen) > 1:
            said = counted("1 is selected.", "%n are selected.", len(chosen))
            beside = self.tr("Where something stands by now, they come back beside it, under a new name.")
            return f"{said} {beside}" if any(entry.taken for entry in chosen) else said
        if not chosen:
            return ""
        (entry,) = chosen
        size = human_size(entry.size) if entry.size is not None else ""
        facts = " · ".join(
            part for part in (visible(entry.path), size, actor(entry), when(entry.at_ms)) if part
        )
        if not entry.reachable:
            gone = self.tr("Its project or workspace is gone, so it cannot be restored there; copy its text.")
            return f"{facts}\n{gone}"
        if entry.taken:
            beside = self.tr("Something stands at its place now: it comes back beside it, under a new name.")
            return f"{facts}\n{beside}"
        return facts

    def _read_text(self, workbench: Workbench, entry: TrashEntry) -> None:
        self._submit(
            "read a deleted memory", "trash text", ask(workbench.trash.read, entry), self.text.show_bytes
        )

    @Slot()
    def _on_restore(self) -> None:
        if self.restore.isEnabled():
            self.wanted.emit(self.selected)

    @Slot()
    def _on_restore_as(self) -> None:
        if self.restore_as.isEnabled():
            self.wanted_as.emit(self.selected[0])


def actor(entry: TrashEntry) -> str:
    """Who deleted it, as far as the history knows."""
    return {
        "user": tr("You"),
        "agent": tr("The agent"),
        **{kind: translated(text) for kind, text in ONE.items()},
        "outside": tr("Unknown outside process"),
    }.get(entry.actor, visible(entry.actor))


class TrashControl(SideControl[TrashWindow]):
    """The trash of the shown home, and restoring from it. `changed()`: memories were restored."""

    changed = Signal()

    def __init__(
        self, edits: Edits, lane: Lane, icons: Icons, now: Callable[[], int], owner: QWidget
    ) -> None:
        super().__init__(edits, icons, owner)
        self._lane = lane
        self._now = now

    @Slot()
    def show(self) -> None:
        session = self._session
        if session is None:
            return
        self.open().show_trash(session.workbench, visible(session.info.label))

    def make(self) -> TrashWindow:
        window = TrashWindow(self._lane, self._icons, self._now, self._owner)
        window.wanted.connect(self._restore)
        window.wanted_as.connect(self._restore_as)
        return window

    @Slot(object)
    def _restore(self, entries: tuple[TrashEntry, ...]) -> None:
        self._apply(entries, {})

    @Slot(object)
    def _restore_as(self, entry: TrashEntry) -> None:
        path = self.ask_name(entry)
        if path:
            self._apply((entry,), {entry.id: path})

    def ask_name(self, entry: TrashEntry) -> str:
        """Under which path it is to come back; empty for not at all. A place that is taken is refused
        later."""
        dialog = PathDialog(
            self.tr("Restore as"),
            self.tr("Restore"),
            (entry.scope,),
            entry.deletion.place.rel,
            lambda _path: False,
            self.window or self._owner,
        )
        return dialog.path if dialog.exec() == PathDialog.DialogCode.Accepted else ""

    def _apply(self, entries: tuple[TrashEntry, ...], names: dict[str, str]) -> None:
        session = self._session
        if session is None:
            return
        workbench = session.workbench
        if self.window is not None:
            self.window.message.clear()

        work = ask(workbench.trash.restore, entries, names)

        self._edits.apply(session, "restore from the trash", work, self._on_restored, self.say_failed)

    def _on_restored(self, undo: Undo) -> None:
        self.changed.emit()
        self.say_done(undo, counted("1 memory was restored.", "%n memories were restored.", undo.count))
        if self.window is not None:
            self.window.follow()
