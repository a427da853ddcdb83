"""The page of the orphaned stores of one home: a list at the left, what one of them holds at the right; below
each other when narrow.

Shows what it is given and asks by signals; reads no file and changes none.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

from PySide6.QtCore import QSignalBlocker, Qt, Signal, Slot
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import (
    QButtonGroup,
    QDialog,
    QDialogButtonBox,
    QLabel,
    QListWidget,
    QListWidgetItem,
    QPlainTextEdit,
    QRadioButton,
    QSizePolicy,
    QSplitter,
    QStackedWidget,
    QVBoxLayout,
    QWidget,
)

from reverie.agents.scopes import Scope
from reverie.errors import UserError
from reverie.memory.diff import unified
from reverie.services.orphans import MergeChoice, MergePreview, MergeRow, OrphansView, StoreView
from reverie.ui import display_text as words
from reverie.ui.appearance import GAP, MARGIN, Icons, monospace
from reverie.ui.display_text import as_tooltip, human_size, visible, visible_lines
from reverie.ui.jobs import JobControl, Lane
from reverie.ui.memory.orphans import labels as orphan_words
from reverie.ui.memory.orphans.labels import orphan_reason, orphan_title
from reverie.ui.widgets.controls import FitCombo, FitPushButton, WrapLabel, embolden
from reverie.ui.widgets.frames import EmptyPage, Heading
from reverie.ui.widgets.layouts import FlowLayout, Panes, column, pane
from reverie.ui.widgets.lists import TwoLineDelegate, TwoLines
from reverie.ui.widgets.message_bar import MessageBar
from reverie.ui.widgets.text_views import DiffView

if TYPE_CHECKING:
    from reverie.services.views import FileText


SIDE_BY_SIDE = 640
_SHOWN_CHARS = 400_000


class OrphansPage(QWidget):
    """`file_wanted(StoreView, rel)`, `merge_wanted(StoreView, project path)`, `remove_wanted(StoreView)`,
    `history_wanted(StoreView)`, `chosen(key)`: a button of the message."""

    file_wanted = Signal(object, str)
    merge_wanted = Signal(object, str)
    remove_wanted = Signal(object)
    history_wanted = Signal(object)
    chosen = Signal(str)

    def __init__(self, icons: Icons, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._view = OrphansView((), ())
        self._file = ""
        self._shown = ""
        self.heading = Heading()
        self.heading.say(self.tr("Orphaned stores"), "")
        self.message = MessageBar(icons, "orphans-message")
        self.message.chosen.connect(self.chosen)
        self.none = EmptyPage(icons, "check")
        self.none.say(
            self.tr("Nothing is orphaned"),
            self.tr("Every store of this home belongs to a project or workspace that is there."),
        )
        self.stores = QListWidget()
        self.stores.setItemDelegate(TwoLineDelegate(self.stores))
        self.stores.setAccessibleName(self.tr("Orphaned stores"))
        self.stores.currentRowChanged.connect(self._on_store)
        self.name = WrapLabel()
        embolden(self.name)
        self.reason = WrapLabel()
        self.match = WrapLabel()
        self.target_label = QLabel(self.tr("Merge &into:"))
        self.target = FitCombo()
        # Its longest text is not to widen what holds it.
        self.target.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Fixed)
        self.target.setAccessibleName(self.tr("Merge into"))
        self.target_label.setBuddy(self.target)
        self.target.currentIndexChanged.connect(self._on_target)
        self.merge = FitPushButton(self.tr("&Preview the merge…"))
        self.merge.clicked.connect(self._merge)
        self.remove = FitPushButton(self.tr("&Remove this store…"))
        self.remove.clicked.connect(self._remove)
        self.history = FitPushButton(self.tr("&History…"))
        self.history.clicked.connect(self._show_history)
        self.files = QListWidget()
        self.files.setItemDelegate(TwoLineDelegate(self.files))
        self.files.setAccessibleName(self.tr("Files of the orphaned store"))
        self.files.currentRowChanged.connect(self._on_file)
        self.text = QPlainTextEdit()
        self.text.setReadOnly(True)
        self.text.setFont(monospace())
        self.text.setAccessibleName(self.tr("Content, for reading only"))
        self.text.setTextInteractionFlags(
            Qt.TextInteractionFlag.TextSelectableByMouse | Qt.TextInteractionFlag.TextSelectableByKeyboard
        )
        for each in (self.stores, self.files, self.text):
            each.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
            each.setFrameShape(QListWidget.Shape.NoFrame)
        self._lay_out()

    def _lay_out(self) -> None:
        facts = QWidget()
        column = QVBoxLayout(facts)
        column.setContentsMargins(MARGIN, GAP, MARGIN, GAP)
        column.setSpacing(GAP)
        for widget in (self.name, self.reason, self.match, self.target_label, self.target):
            column.addWidget(widget)
        buttons = FlowLayout(gap=GAP)
        buttons.addWidget(self.merge)
        buttons.addWidget(self.history)
        buttons.addWidget(self.remove)
        column.addLayout(buttons)
        self.inner = QSplitter(Qt.Orientation.Vertical)
        self.inner.addWidget(self.files)
        self.inner.addWidget(self.text)
        self.inner.setSizes([160, 320])
        self.inner.setChildrenCollapsible(False)
        right = pane(facts, self.inner, grows=self.inner, gap=0)
        self.splitter = Panes(
            self.stores, right, beside_from=SIDE_BY_SIDE, sizes=(300, 680), below=(120, 480)
        )
        self.splitter.setHandleWidth(5)
        self._pages = QStackedWidget()
        # Blank at first: nobody has looked yet.
        for page in (QWidget(), self.none, self.splitter):
            self._pages.addWidget(page)
        outer = QVBoxLayout(self)
        outer.setContentsMargins(0, 0, 0, 0)
        outer.setSpacing(0)
        outer.addWidget(self.heading)
        outer.addWidget(self.message)
        outer.addWidget(self._pages, 1)

    # What is shown

    @property
    def view(self) -> OrphansView:
        """What is listed."""
        return self._view

    @property
    def current(self) -> StoreView | None:
        at = self.stores.currentRow()
        return self._view.stores[at] if 0 <= at < len(self._view.stores) else None

    def show_orphans(self, view: OrphansView, label: str, wanted: str = "") -> None:
        """The stores as they are now. Selects the one with the id `wanted`, else keeps the selection."""
        before = self.current
        kept = wanted or (before.id if before is not None else "")
        same = view == self._view and self._pages.currentIndex() > 0
        self.heading.say(self.tr("Orphaned stores"), label)
        if not same:
            self._view = view
            with QSignalBlocker(self.stores):
                self.stores.clear()
                for each in view.stores:
                    self.stores.addItem(_store_item(each))
            self._pages.setCurrentIndex(2 if view.stores else 1)
        row = next((n for n, each in enumerate(view.stores) if each.id == kept), 0 if view.stores else -1)
        with QSignalBlocker(self.stores):
            self.stores.setCurrentRow(row)
        if not same or self.current != before:
            self._on_store()

    def select(self, wanted: str) -> None:
        """The store with this id, if it is listed."""
        for row, each in enumerate(self._view.stores):
            if each.id == wanted:
                self.stores.setCurrentRow(row)

    def show_text(self, text: FileText) -> None:
        """The text of the selected file, if it still is the one that was asked for; cut where it is long."""
        if text.path == self._file:
            cut = text.content[:_SHOWN_CHARS]
            self.text.setPlainText(visible_lines(cut.removeprefix("\ufeff")))

    def clear(self) -> None:
        """Another home: nothing is known of it yet."""
        self._view = OrphansView((), ())
        self.message.clear()
        self._pages.setCurrentIndex(0)

    @property
    def target_path(self) -> str | None:
        """The project that is chosen; empty: global memory; None: none is chosen."""
        path = self.target.currentData()
        return path if isinstance(path, str) else None

    def target_name(self) -> str:
        """Where a merge would go, in words."""
        path = self.target_path
        if not path:
            return words.scope_name(Scope.GLOBAL)
        return next((each.name for each in self._view.projects if each.path == path), path)

    # What is selected

    @Slot()
    def _on_store(self) -> None:
        view = self.current
        before, self._shown = self._shown, view.id if view is not None else ""
        if before != self._shown and "keep" in self.message.keys:
            self.message.clear()  # it asked about another store
        if view is None:
            return
        store = view.store
        self.name.say(visible(orphan_title(store)))
        self.name.setToolTip(as_tooltip(str(store.directory)))
        self.reason.say(orphan_reason(store))
        whole = store.scope is Scope.GLOBAL
        self.match.say(
            self.tr("They belong into global memory.") if whole else orphan_words.match_sentence(view)
        )
        self._offer_targets(view)
        kept_there = store.context is not None
        self.history.setEnabled(kept_there)
        self.history.say(
            self.tr("&History…"),
            self.tr("Who changed its notes when, and bringing back what was there")
            if kept_there
            else self.tr("It lies where the history keeps nothing."),
        )
        self.remove.setEnabled(view.removable)
        self.remove.say(
            self.tr("&Remove this store…"),
            ""
            if view.removable
            else self.tr("It lies where the history keeps nothing; it can be removed outside only."),
        )
        kept = self._file
        with QSignalBlocker(self.files):
            self.files.clear()
            for file in view.files:
                self.files.addItem(_file_item(file.rel, file.size, file.mtime_ns // 1_000_000))
            row = next((n for n, file in enumerate(view.files) if file.rel == kept), 0)
            self.files.setCurrentRow(row)
        self._on_file()

    def _offer_targets(self, view: StoreView) -> None:
        """Matches first, then every other project. With two equal ones none is chosen beforehand."""
        with QSignalBlocker(self.target):
            self.target.clear()
            if view.store.scope is Scope.GLOBAL:
                self.target.addItem(words.scope_name(Scope.GLOBAL), "")
            else:
                if view.best is None:
                    self.target.addItem(self.tr("Choose a project"), None)
                for name, path, text in _targets(view, self._view):
                    self.target.addItem(text, path)
                    self.target.setItemData(
                        self.target.count() - 1, as_tooltip(name, path), Qt.ItemDataRole.ToolTipRole
                    )
            self.target.setCurrentIndex(0)
        self._on_target()

    @Slot()
    def _on_target(self) -> None:
        self.merge.setEnabled(self.target_path is not None)
        self.target.setToolTip(as_tooltip(self.target.currentText()))

    @Slot()
    def _on_file(self) -> None:
        view, row = self.current, self.files.currentRow()
        if view is not None and 0 <= row < len(view.files):
            rel = view.files[row].rel
            if rel != self._file:
                self.text.clear()
            self._file = rel
            self.file_wanted.emit(view, rel)

    @Slot()
    def _merge(self) -> None:
        if self.current is not None and self.target_path is not None:
            self.merge_wanted.emit(self.current, self.target_path)

    @Slot()
    def _remove(self) -> None:
        if self.current is not None:
            self.remove_wanted.emit(self.current)

    @Slot()
    def _show_history(self) -> None:
        if self.current is not None:
            self.history_wanted.emit(self.current)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self.splitter.turn(event.size().width())


def _store_item(view: StoreView) -> QListWidgetItem:
    title, line = visible(orphan_title(view.store)), orphan_words.line(view)
    item = QListWidgetItem(title)
    item.setData(TwoLineDelegate.ROLE, TwoLines(title, line))
    item.setData(Qt.ItemDataRole.AccessibleTextRole, f"{title}, {line}")
    item.setToolTip(as_tooltip(str(view.store.directory), orphan_reason(view.store)))
    return item


def _file_item(rel: str, size: int, changed_ms: int) -> QListWidgetItem:
    below = words.when(changed_ms)
    item = QListWidgetItem(visible(rel))
    item.setData(TwoLineDelegate.ROLE, TwoLines(visible(rel), below, human_size(size)))
    item.setData(Qt.ItemDataRole.AccessibleTextRole, f"{visible(rel)}, {human_size(size)}, {below}")
    item.setToolTip(as_tooltip(rel))
    return item


def _targets(view: StoreView, all_: OrphansView) -> Sequence[tuple[str, str, str]]:
    """Name, path and text of each project one may choose."""
    matched = {match.project_path: match for match in view.matches}
    own = view.store.former_path if view.store.kind == "missing-project" else None
    there = {project.path: project.there for project in all_.projects}
    first = [(match.name, match.project_path) for match in view.matches]
    rest = [
        (project.name, project.path)
        for project in sorted(all_.projects, key=lambda each: not each.there)
        if project.path not in matched and project.path != own
    ]
    return [
        (name, path, orphan_words.option(name, path, matched.get(path), there=there.get(path, False)))
        for name, path in first + rest
    ]


# A merge to look through before it is done: each file, what becomes of it, the difference, and a choice
# where both sides differ. Writes nothing itself.


_SIDE_BY_SIDE = 620


class MergeStoreDialog(QDialog):
    """`merge(MergePreview, dict)`: do it, with a `MergeChoice` by `rel` for each file that differs."""

    merge = Signal(object, object)

    def __init__(
        self, preview: MergePreview, target: str, lane: Lane, icons: Icons, parent: QWidget | None = None
    ) -> None:
        super().__init__(parent)
        self.preview = preview
        self.choices: dict[str, MergeChoice] = {
            row.rel: row.choices[0] for row in preview.rows if row.choices
        }
        self._lane = lane
        self.setWindowTitle(self.tr("Merge an orphaned store"))
        self.resize(920, 560)
        self.title = WrapLabel(
            self.tr("Merge {store} into {target}").format(
                store=visible(orphan_title(preview.store)), target=visible(target)
            )
        )
        embolden(self.title)
        self.counts = WrapLabel()
        self.list = QListWidget()
        self.list.setItemDelegate(TwoLineDelegate(self.list))
        self.list.setAccessibleName(self.tr("Files of the orphaned store"))
        self.list.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.explained = WrapLabel()
        self.problem = WrapLabel(visible(preview.problem))
        if not preview.problem:
            self.problem.hide()
        self.message = MessageBar(icons, "merge-message", closable=False)
        self.diff = DiffView()
        self.buttons = QDialogButtonBox(QDialogButtonBox.StandardButton.Cancel)
        self.merge_button = self.buttons.addButton(self.tr("&Merge"), QDialogButtonBox.ButtonRole.AcceptRole)
        self._group = QButtonGroup(self)
        self.radios: dict[MergeChoice, QRadioButton] = {}
        for key, name in orphan_words.choice_names().items():
            self.radios[key] = QRadioButton(name)
            self._group.addButton(self.radios[key])
            self.radios[key].clicked.connect(partial(self._choose, key))
        self._lay_out()
        self._fill()
        self.list.currentRowChanged.connect(self._show)
        self.buttons.accepted.connect(self._merge)
        self.buttons.rejected.connect(self.reject)
        self.list.setCurrentRow(next((n for n, row in enumerate(preview.rows) if row.state == "differs"), 0))

    def _lay_out(self) -> None:
        right = pane(self.explained, *self.radios.values(), self.diff, grows=self.diff, gap=GAP)
        self.splitter = Panes(self.list, right, beside_from=_SIDE_BY_SIDE, sizes=(300, 620))
        above = (self.title, self.counts, self.problem, self.message)
        column(self, *above, self.splitter, self.buttons, grows=self.splitter)

    @property
    def row(self) -> MergeRow | None:
        """What is selected."""
        at = self.list.currentRow()
        return self.preview.rows[at] if 0 <= at < len(self.preview.rows) else None

    def show_failed(self, error: UserError) -> None:
        """It was not done; the dialog stays, so that one reads why."""
        self.message.say_error(error)
        self.merge_button.setEnabled(True)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self.splitter.turn(event.size().width())

    def _fill(self) -> None:
        for row in self.preview.rows:
            item = QListWidgetItem(visible(row.rel))
            item.setToolTip(as_tooltip(row.rel, row.path))
            self.list.addItem(item)
        self._follow()

    def _follow(self) -> None:
        """Say of each file what becomes of it now."""
        with QSignalBlocker(self.list):
            for number, row in enumerate(self.preview.rows):
                state = orphan_words.state(row, self.choices.get(row.rel))
                size = "" if row.state == "blocked" else human_size(len(row.lost))
                quiet = row.state not in ("create", "differs")
                item = self.list.item(number)
                item.setData(TwoLineDelegate.ROLE, TwoLines(visible(row.rel), state, size, quiet=quiet))
                item.setData(Qt.ItemDataRole.AccessibleTextRole, f"{visible(row.rel)}, {state}")
        self.counts.say(orphan_words.counts(self.preview, self.choices))
        self.merge_button.setEnabled(orphan_words.writes(self.preview, self.choices) > 0)

    @Slot()
    def _show(self) -> None:
        row = self.row
        if row is None:
            return
        choice = self.choices.get(row.rel)
        self.explained.say(orphan_words.explained(row, choice))
        for key, radio in self.radios.items():
            radio.setVisible(row.state == "differs" and key in row.choices)
            radio.setChecked(key == choice)
        before, after = _sides(row, choice)

        def work(_control: JobControl) -> str:
            return unified(before, after, row.rel) if before != after else ""

        self._lane.submit(
            "show a merge", work, done=self._on_diff, failed=self.message.say_error, group=f"merge {id(self)}"
        )

    def _on_diff(self, text: str) -> None:
        self.diff.show_diff(text or self.tr("Nothing is written."))

    def _choose(self, choice: MergeChoice) -> None:
        row = self.row
        if row is not None and choice in row.choices:
            self.choices[row.rel] = choice
            self._follow()
            self._show()

    @Slot()
    def _merge(self) -> None:
        self.merge_button.setEnabled(False)
        self.message.clear()
        self.merge.emit(self.preview, dict(self.choices))


def _sides(row: MergeRow, choice: MergeChoice | None) -> tuple[bytes | None, bytes | None]:
    """What stands at the place that is written, and what will."""
    if row.state == "create" or choice == "beside":
        return None, row.lost
    if choice == "both":
        return row.live, row.union
    if choice == "leave":
        # What would be lost sight of is what there is to see.
        return row.live, row.lost
    return row.live, row.live
