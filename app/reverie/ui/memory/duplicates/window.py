"""The duplicate finder: groups of memories that say the same at the left, two of a group side by side at the
right, and the way to a merge by hand. Stays open beside the window.

Finding runs on a lane of its own, so that nothing else waits for it, tells how far it is and can be stopped.
Threading: GUI thread; an answer that nobody waits for any more is dropped.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import Qt, Signal, Slot
from PySide6.QtWidgets import (
    QHBoxLayout,
    QListWidget,
    QListWidgetItem,
    QWidget,
)

from reverie.errors import MendableError
from reverie.ui import words
from reverie.ui.buttons import FitPushButton
from reverie.ui.columns import pane
from reverie.ui.fit_combo import FitCombo
from reverie.ui.flow import FlowLayout
from reverie.ui.icons import Icons
from reverie.ui.jobs import JobControl, Lane, Ticket
from reverie.ui.labels import WrapLabel
from reverie.ui.memory.duplicates.alignment import Row, aligned
from reverie.ui.memory.duplicates.side_by_side import SideBySide
from reverie.ui.memory.side_window import SideWindow
from reverie.ui.panes import Panes
from reverie.ui.shown import as_tooltip, human_size, visible
from reverie.ui.theme import GAP, UNIT
from reverie.ui.translation import counted, tr
from reverie.ui.two_lines import TwoLineDelegate, TwoLines

if TYPE_CHECKING:
    from reverie.homes.scopes import ScopeContext
    from reverie.services.duplicates import DuplicateFile, DuplicateGroup, DuplicateReport, Progress
    from reverie.services.workbench import Workbench

SIDE_BY_SIDE = 700


class DuplicatesWindow(SideWindow):
    """`merge_wanted(files)`: the files of a group, the one to keep first."""

    merge_wanted = Signal(object)

    def __init__(self, lane: Lane, icons: Icons, parent: QWidget | None = None) -> None:
        super().__init__(icons, "duplicates-message", parent)
        self._lane = lane
        self._workbench: Workbench | None = None
        self._context: ScopeContext | None = None
        self._report: DuplicateReport | None = None
        self._ticket: Ticket | None = None
        self._comparing = False
        self.setWindowTitle(self.tr("Duplicates"))
        self.resize(1040, 620)
        self.title = WrapLabel()
        self.where = FitCombo()
        self.where.setAccessibleName(self.tr("Where to look"))
        self.where.addItem(self.tr("The scopes that are shown"), "shown")
        self.where.addItem(self.tr("The whole home"), "home")
        self.which = FitCombo()
        self.which.setAccessibleName(self.tr("Which groups"))
        for key, name in (
            ("", self.tr("All groups")),
            ("exact", self.tr("Same text")),
            ("near", self.tr("Say the same")),
            ("alike", self.tr("Alike, but differ")),
        ):
            self.which.addItem(name, key)
        self.finder = FitPushButton(self.tr("&Find"))
        self.finder.setIcon(icons.icon("refresh"))
        self.list = QListWidget()
        self.list.setItemDelegate(TwoLineDelegate(self.list))
        self.list.setAccessibleName(self.tr("Groups of duplicates"))
        self.list.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.none = WrapLabel()
        self.none.setAlignment(Qt.AlignmentFlag.AlignCenter)
        self.facts = WrapLabel()
        self.first = FitCombo()
        self.first.setAccessibleName(self.tr("The memory at the left"))
        self.second = FitCombo()
        self.second.setAccessibleName(self.tr("The memory at the right"))
        self.sides = SideBySide()
        self.merge = FitPushButton(self.tr("&Merge by hand…"))
        self._arrange()
        self._connect()

    def _arrange(self) -> None:
        top = FlowLayout(gap=GAP)
        for widget in (self.where, self.which, self.finder):
            top.addWidget(widget)
        chosen = QHBoxLayout()
        chosen.setSpacing(UNIT)
        for box in (self.first, self.second):
            chosen.addWidget(box, 1)
        row = FlowLayout(gap=GAP)
        row.addWidget(self.merge)
        left = pane(self.none, self.list, grows=self.list)
        right = pane(self.facts, chosen, self.sides, row, grows=self.sides)
        panes = Panes(left, right, beside_from=SIDE_BY_SIDE, sizes=(300, 740))
        self.lay_out(panes, self.title, top, self.message)

    def _connect(self) -> None:
        self.finder.clicked.connect(self._on_find)
        self.where.currentIndexChanged.connect(self.look)
        self.which.currentIndexChanged.connect(self._fill)
        self.list.currentRowChanged.connect(self._on_row)
        self.first.currentIndexChanged.connect(self._compare)
        self.second.currentIndexChanged.connect(self._compare)
        self.merge.clicked.connect(self._on_merge)

    # Finding

    def show_home(self, workbench: Workbench, context: ScopeContext, label: str) -> None:
        """Look for duplicates in a home; what was found of the same place is looked for again."""
        if (workbench, context) != (self._workbench, self._context):
            self._report = None
            self.message.clear()
        self._workbench, self._context = workbench, context
        self.title.say(self.tr("Memories of {home} that say the same").format(home=label))
        self.look()

    @property
    def is_found(self) -> bool:
        """Nothing is looked for or compared any more."""
        return self._report is not None and self._ticket is None and not self._comparing

    @property
    def group(self) -> DuplicateGroup | None:
        item = self.list.currentItem()
        found: DuplicateGroup | None = item.data(Qt.ItemDataRole.UserRole) if item is not None else None
        return found

    @Slot()
    def _on_find(self) -> None:
        if self._ticket is not None:
            self._ticket.cancel()
        else:
            self.look()

    @Slot()
    def look(self) -> None:
        """Look again from the beginning."""
        workbench = self._workbench
        if workbench is None:
            return
        context = self._context if self.where.currentData() == "shown" else None

        def work(control: JobControl) -> DuplicateReport:
            return workbench.duplicates.find(context, progress=control.report, check=control.check)

        self._ticket = self._lane.submit(
            "look for duplicates",
            work,
            done=self._on_found,
            failed=self._on_failed,
            cancelled=self._on_stopped,
            progress=self._on_progress,
            group="find",
        )
        self.finder.say(self.tr("&Stop"), self.tr("Stop looking"))
        self._say_none(self.tr("Looking…"))

    def _on_progress(self, step: Progress) -> None:
        share = f"{step.done:,} / {step.total:,}"
        self._say_none(
            {
                "read": self.tr("Reading… {share}").format(share=share),
                "pair": self.tr("Choosing what to compare…"),
                "judge": self.tr("Comparing… {share}").format(share=share),
            }[step.step]
        )

    def _on_found(self, report: DuplicateReport) -> None:
        self._end()
        self._report = report
        self._fill()

    def _on_failed(self, error: MendableError) -> None:
        self._end()
        self.message.say_error(error)
        self._fill()

    def _on_stopped(self) -> None:
        """Stopped by hand; a newer search that takes its place says so itself."""
        self._end()
        self._fill()

    def _end(self) -> None:
        self._ticket = None
        self.finder.say(self.tr("&Find"), self.tr("Look for duplicates again"))

    def _say_none(self, sentence: str) -> None:
        self.none.say(sentence)
        self.none.setVisible(bool(sentence))

    @Slot()
    def _fill(self) -> None:
        report, kind = self._report, self.which.currentData()
        groups = [group for group in report.groups if kind in ("", group.kind)] if report is not None else []
        wanted = {file.path for file in self.group.files} if self.group is not None else set()
        self.list.blockSignals(True)
        self.list.clear()
        for group in groups:
            self.list.addItem(_item(group))
        kept = [row for row, group in enumerate(groups) if wanted & {file.path for file in group.files}]
        self.list.setCurrentRow(kept[0] if kept else 0 if groups else -1)
        self.list.blockSignals(False)
        self.list.setVisible(bool(groups))
        if self._ticket is None:
            self._say_none("" if groups else self._why_none())
        self._on_row(self.list.currentRow())

    def _why_none(self) -> str:
        if self._report is None:
            return self.tr("The search was stopped.")
        return counted(
            "No duplicates in the 1 memory there is.",
            "No duplicates among %n memories.",
            self._report.looked_at,
        )

    # One group

    @Slot(int)
    def _on_row(self, _row: int) -> None:
        group = self.group
        files = group.files if group is not None else ()
        for box, at in ((self.first, 0), (self.second, 1)):
            box.blockSignals(True)
            box.clear()
            for file in files:
                box.addItem(_file_name(file), file)
                box.setItemData(box.count() - 1, as_tooltip(file.path), Qt.ItemDataRole.ToolTipRole)
            box.setCurrentIndex(min(at, len(files) - 1))
            box.setEnabled(len(files) > 1)
            box.blockSignals(False)
            box.follow()
        self.merge.setEnabled(group is not None)
        problem = visible(self._report.problem) if self._report is not None else ""
        self.facts.say(" ".join(filter(None, (_facts(group), problem))) if group is not None else "")
        self._compare()

    @Slot()
    def _compare(self) -> None:
        workbench, one, other = self._workbench, self.first.currentData(), self.second.currentData()
        if workbench is None or one is None or other is None:
            self.sides.show_rows(())
            return
        self._comparing = True

        def work(control: JobControl) -> tuple[Row, ...]:
            left, right = workbench.duplicates.texts((one, other))
            return aligned(left, right, control.check)

        self._lane.submit(
            "compare two memories",
            work,
            done=self._on_compared,
            failed=self._on_compare_failed,
            group="compare",
        )

    def _on_compared(self, rows: tuple[Row, ...]) -> None:
        self._comparing = False
        self.sides.show_rows(rows)

    def _on_compare_failed(self, error: MendableError) -> None:
        self._comparing = False
        self.sides.show_rows(())
        self.message.say_error(error)

    @Slot()
    def _on_merge(self) -> None:
        group = self.group
        if group is not None:
            first = self.first.currentData()
            self.merge_wanted.emit((first, *(file for file in group.files if file != first)))


def percent(similarity: float) -> str:
    """`97 %`; only what is equal is 100 %."""
    return f"{100 if similarity >= 1 else min(99, int(similarity * 100))} %"


def _item(group: DuplicateGroup) -> QListWidgetItem:
    names = [visible(file.rel.rpartition("/")[2]) for file in group.files]
    kind = {
        "exact": tr("same text"),
        "near": tr("say the same"),
        "alike": tr("alike, but differ"),
    }[group.kind]
    files = counted("1 memory", "%n memories", len(names))
    item = QListWidgetItem(names[0])
    item.setData(Qt.ItemDataRole.UserRole, group)
    lines = TwoLines(", ".join(names), f"{files} · {kind}", percent(group.similarity))
    item.setData(TwoLineDelegate.ROLE, lines)
    item.setData(Qt.ItemDataRole.AccessibleTextRole, f"{lines.title}, {lines.below}, {lines.right}")
    item.setToolTip(as_tooltip(*(file.path for file in group.files)))
    return item


def _facts(group: DuplicateGroup) -> str:
    share = percent(group.similarity)
    match group.kind:
        case "exact":
            return tr("The same text, but for white space.")
        case "near":
            return tr("{share} of the smaller one is found in the other.").format(share=share)
        case _:
            said = tr("{share} of the words are shared, but they are not taken for the same:")
            return f"{said.format(share=share)} {group.reason}."


def _file_name(file: DuplicateFile) -> str:
    where = f"{words.scope_name(file.scope)} · {visible(file.rel)} · {human_size(file.size)}"
    return f"{where} · {visible(file.owner)}" if file.owner else where
