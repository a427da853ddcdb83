"""Extracting the rollouts of a Codex home: which threads come next and which are left out and why, then how
far each of them is, then what became of it. Stays open beside the window.

Shows what it is told; what is done is the control's.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from PySide6.QtCore import Qt, Signal, Slot
from PySide6.QtWidgets import (
    QDialog,
    QDialogButtonBox,
    QProgressBar,
    QTreeWidget,
    QTreeWidgetItem,
    QVBoxLayout,
    QWidget,
)

from reverie.ui import words as common
from reverie.ui.buttons import FitPushButton
from reverie.ui.columns import size_sections
from reverie.ui.extraction import words
from reverie.ui.flow import FlowLayout
from reverie.ui.icons import Icons
from reverie.ui.labels import WrapLabel
from reverie.ui.memory.bars import MessageBar
from reverie.ui.shown import as_tooltip, visible
from reverie.ui.theme import GAP, MARGIN, SIGN_CONTRAST, CalmSelection, readable, tabular, theme_of

if TYPE_CHECKING:
    from reverie.services.extracting import Candidate, ExtractProgress, ExtractResult, ExtractView, PartEnd

_WIDTHS = (120, 320, 140, 110)
_RUN = Qt.ItemDataRole.UserRole
_TOLD = Qt.ItemDataRole.UserRole + 1


class ExtractDialog(QDialog):
    """`review(str)`: a run to look at. Buttons: `run`, `run_rules`, `cancel_button`."""

    review = Signal(str)

    def __init__(self, icons: Icons, now: Callable[[], int], parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._icons = icons
        self._now = now
        self.setWindowTitle(self.tr("Extract rollouts"))
        self.resize(900, 520)
        self.summary = WrapLabel()
        self.engine = WrapLabel()
        self.message = MessageBar(icons, "extract-message")
        self.bar = QProgressBar()
        self.bar.setTextVisible(False)
        self.bar.setAccessibleName(self.tr("Rollouts that are done"))
        self.bar.setMaximumHeight(8)
        self.table = QTreeWidget()
        self.told = WrapLabel()
        self.run = FitPushButton()
        self.run_rules = FitPushButton()
        self.cancel_button = FitPushButton()
        self.review_button = FitPushButton()
        self._items: dict[str, QTreeWidgetItem] = {}
        self._lay_out()
        self.follow(running=False, possible=False)

    def _lay_out(self) -> None:
        self.run.say(self.tr("&Extract"), self.tr("With the engine that the settings name"))
        self.run_rules.say(self.tr("With &rules"), self.tr("Offline, by fixed rules"))
        self.cancel_button.say(self.tr("&Cancel"), self.tr("What is kept stays; the rest comes next time"))
        self.review_button.say(self.tr("Re&view changes"), self.tr("What the selected one changed, and undo"))
        self.review_button.clicked.connect(self._on_review)
        table = self.table
        table.setHeaderLabels(
            [self.tr("State"), self.tr("Thread"), self.tr("Project"), self.tr("Changed"), self.tr("Told")]
        )
        table.setRootIsDecorated(False)
        table.setUniformRowHeights(True)
        table.setAllColumnsShowFocus(True)
        table.setAccessibleName(self.tr("Threads and directories"))
        table.setFont(tabular(table.font()))
        size_sections(table.header(), _WIDTHS)
        CalmSelection(table)
        table.currentItemChanged.connect(self._on_current)
        row = FlowLayout(gap=GAP)
        for button in (self.run, self.run_rules, self.cancel_button, self.review_button):
            button.setAutoDefault(False)
            row.addWidget(button)
        close = QDialogButtonBox(QDialogButtonBox.StandardButton.Close)
        close.rejected.connect(self.reject)
        close.button(QDialogButtonBox.StandardButton.Close).setAutoDefault(False)
        outer = QVBoxLayout(self)
        outer.setContentsMargins(MARGIN, MARGIN, MARGIN, MARGIN)
        outer.setSpacing(GAP)
        for widget in (self.summary, self.engine, self.message, self.bar):
            outer.addWidget(widget)
        outer.addWidget(table, 1)
        outer.addWidget(self.told)
        outer.addLayout(row)
        outer.addWidget(close)
        self.bar.hide()

    def follow(self, *, running: bool, possible: bool) -> None:
        """Which buttons do something now."""
        for button in (self.run, self.run_rules):
            button.setEnabled(possible and not running)
        self.cancel_button.setEnabled(running)
        self.bar.setVisible(running)

    def say_standing(self, view: ExtractView) -> None:
        """How many threads wait, what `run` uses and why, and where the results go."""
        outcome = self.tr(
            "Each result becomes a note to Codex. Codex adds it to its memory the next time it consolidates."
        )
        self.summary.say(" ".join((words.waiting(view.waiting), *((outcome,) if view.to_notes else ()))))
        name = common.engine(view.engine)
        self.engine.say(self.tr("Engine: {engine}. {why}").format(engine=name, why=view.why))
        self.run_rules.setVisible(view.engine != "rules")

    def show_candidates(self, candidates: Sequence[Candidate]) -> None:
        """Who comes next, and who is left out."""
        self.table.clear()
        self._items.clear()
        for each in candidates:
            state = "next" if each.chosen else "left-out"
            title = each.title or each.thread_id
            self._row(each.thread_id, state, title, each.project_path, each.updated_at, each.sentence)
        self._select_first()

    def show_progress(self, progress: ExtractProgress) -> None:
        """How far one rollout or directory is."""
        item = self._items.get(progress.id)
        if item is None:
            title = progress.title or progress.id
            if progress.kind == "directory":
                title = self.tr("Consolidation")
            item = self._row(progress.id, progress.stage, title, progress.project_path, None, progress.text)
            if progress.kind == "directory":
                self.table.scrollToItem(item)
        self._say(item, progress.stage, progress.text)
        if progress.total:
            self.bar.setRange(0, progress.total)
            self.bar.setValue(progress.done)
        if item is self.table.currentItem():
            self._on_current()

    def show_result(self, result: ExtractResult) -> None:
        """How all of it ended."""
        for part in (*result.rollouts, *result.directories):
            self._take_end(part)
        if result.succeeded:
            self.message.say(visible(result.summary))
        else:
            told = " ".join(each for each in (result.summary, result.reason, result.next_step) if each)
            tone = "warn" if result.outcome in ("cancelled", "skipped", "unchanged") else "bad"
            self.message.say(visible(told), tone=tone)  # type: ignore[arg-type]
        self._on_current()

    def _take_end(self, part: PartEnd) -> None:
        item = self._items.get(part.id)
        if item is None:
            title = part.title or part.id if part.kind == "rollout" else self.tr("Consolidation")
            item = self._row(part.id, "waiting", title, part.project_path, None, "")
        done = "persisted" if part.kind == "rollout" else "consolidated"
        if part.kind == "rollout" and part.outcome == "unchanged":
            done = "skipped"  # there was nothing to remember
        state = (
            done
            if part.succeeded
            else {"cancelled": "cancelled", "skipped": "skipped"}.get(part.outcome, "failed")
        )
        told = part.summary if part.succeeded else part.reason or part.summary
        self._say(item, state, " ".join(each for each in (told, part.next_step) if each))
        item.setData(0, _RUN, part.run_id)

    def _row(
        self, key: str, state: str, title: str, project: str, at: int | None, told: str
    ) -> QTreeWidgetItem:
        name = project.rstrip("/").rpartition("/")[2] or "–"
        age = common.age(self._now(), at) if at is not None else "–"
        item = QTreeWidgetItem(["", visible(title), visible(name), age, ""])
        item.setToolTip(1, as_tooltip(title, key))
        item.setToolTip(2, as_tooltip(project))
        self._items[key] = item
        self.table.addTopLevelItem(item)
        self._say(item, state, told)
        return item

    def _say(self, item: QTreeWidgetItem, state: str, told: str) -> None:
        theme = theme_of(self.table.palette())
        color = {"failed": theme.bad, "cancelled": theme.warn, "persisted": theme.good,
                 "consolidated": theme.good, "left-out": theme.dim, "skipped": theme.dim}.get(
            state, theme.accent)  # fmt: skip
        sign = readable(color, theme.base, SIGN_CONTRAST)
        item.setIcon(0, self._icons.sign(words.SIGNS.get(state, "info"), sign, self.table.palette()))
        item.setText(0, words.stage(state))
        item.setText(4, visible(told))
        item.setToolTip(4, as_tooltip(told))
        item.setData(0, _TOLD, told)

    def _select_first(self) -> None:
        first = self.table.topLevelItem(0)
        if first is not None:
            self.table.setCurrentItem(first)
        else:
            self._on_current()

    @Slot()
    def _on_current(self) -> None:
        item = self.table.currentItem()
        self.told.say(item.data(0, _TOLD) or "" if item is not None else "")
        self.review_button.setEnabled(item is not None and bool(item.data(0, _RUN)))

    @Slot()
    def _on_review(self) -> None:
        item = self.table.currentItem()
        if item is not None and item.data(0, _RUN):
            self.review.emit(item.data(0, _RUN))
