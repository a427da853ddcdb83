"""The Failures tab: what the agent learnt of failing. Lessons with those that are told marked, anti-patterns
with those that say the same, crashes by kind; details below, and what can be done about them.

Shows what it is given and asks by signal; `failures.control` looks and changes.
"""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import QUrl, Signal, Slot
from PySide6.QtGui import QDesktopServices, QGuiApplication
from PySide6.QtWidgets import (
    QHBoxLayout,
    QLabel,
    QLineEdit,
    QPlainTextEdit,
    QWidget,
)

from reverie.failures.crash import CrashGroup
from reverie.homes.loki_records import AntiPattern
from reverie.services.failures import FailuresView, LessonView, Repeated
from reverie.ui.buttons import FitPushButton
from reverie.ui.failures import words
from reverie.ui.failures.row_list import RowList
from reverie.ui.failures.words import PartKey, Row
from reverie.ui.icons import Icons
from reverie.ui.labels import WrapLabel
from reverie.ui.part_tab import PartTab
from reverie.ui.shown import as_tooltip, visible
from reverie.ui.theme import GAP

PARTS: tuple[PartKey, ...] = ("lessons", "avoid", "crashes")
_SHOWN_PROBLEMS = 20


class FailuresTab(PartTab):
    """`resolve_wanted(LessonView)`, `merge_wanted(Repeated)`;
    `open_wanted(str)`: a file below the memory root; `transcript_wanted(str)`: a source's id."""

    resolve_wanted = Signal(object)
    merge_wanted = Signal(object)
    open_wanted = Signal(str)
    transcript_wanted = Signal(str)

    def __init__(
        self,
        icons: Icons,
        parent: QWidget | None = None,
        opener: Callable[[QUrl], bool] = QDesktopServices.openUrl,
    ) -> None:
        super().__init__(icons, "failures-message", "check", parent)
        self._opener = opener
        self._now = 0
        self.view: FailuresView | None = None
        self.state = WrapLabel()
        self.bar.setAccessibleName(self.tr("Kinds of failures"))
        for _key in PARTS:
            self.bar.addTab("")
        self.goal_name = QLabel(self.tr("Next &goal:"))
        self.goal = QLineEdit()
        self.goal.setPlaceholderText(self.tr("anti-patterns are told by its words"))
        self.goal.setAccessibleName(self.tr("Goal of the next iteration"))
        self.goal.setToolTip(
            self.tr("Nobody knows it here: what you type shows which anti-patterns would be told")
        )
        self.goal.setClearButtonEnabled(True)
        self.goal_name.setBuddy(self.goal)
        self.list = RowList(icons)
        self.none = WrapLabel()
        self.text = QPlainTextEdit()
        self.text.setReadOnly(True)
        self.text.setTabChangesFocus(True)
        self.text.document().setDocumentMargin(GAP)
        self.text.setAccessibleName(self.tr("Details of what is selected"))
        self.text.setFrameShape(QPlainTextEdit.Shape.NoFrame)
        self.resolve = FitPushButton()
        self.resolve.say(self.tr("Edit the resolution…"), self.tr("Say what came of this error"))
        self.merge = FitPushButton()
        self.merge.say(self.tr("Merge…"), self.tr("Make one of those that say the same"))
        self.other = FitPushButton()
        self.open = FitPushButton()
        self.transcript = FitPushButton()
        self.transcript.say(
            self.tr("Open the transcript"), self.tr("The session of Claude Code that the store names")
        )
        self.copy = FitPushButton()
        self.copy.say(self.tr("Copy the text"), self.tr("Copy the details as they stand below"))
        self._arrange()
        self._connect()
        self.forget()

    def _arrange(self) -> None:
        goal = QHBoxLayout()
        goal.setContentsMargins(0, 0, 0, 0)
        goal.setSpacing(GAP)
        goal.addWidget(self.goal_name)
        goal.addWidget(self.goal, 1)
        self._goal_row = QWidget()
        self._goal_row.setLayout(goal)
        self.lay_out(
            (self.state,),
            (self._goal_row, self.none),
            (self.resolve, self.merge, self.other, self.open, self.transcript, self.copy),
            self.list,
            self.text,
            (320, 280),
        )

    def _connect(self) -> None:
        self.bar.currentChanged.connect(self._show_part)
        self.goal.textChanged.connect(self._show_part)
        self.list.picked.connect(self._on_picked)
        self.list.opened.connect(self._on_opened)
        self.resolve.clicked.connect(self._on_resolve)
        self.merge.clicked.connect(self._on_merge)
        self.other.clicked.connect(self._on_other)
        self.open.clicked.connect(self._on_open)
        self.transcript.clicked.connect(self._on_transcript)
        self.copy.clicked.connect(self._on_copy)

    # What is known

    def forget(self) -> None:
        """Nothing is known yet."""
        self.view = None
        self.message.clear()
        self.goal.clear()
        self.turn_to(self.blank)

    def show_view(self, view: FailuresView, now: int) -> None:
        """Show what there is; what is selected stays so. `now` in ms."""
        self.view, self._now = view, now
        self.title.say(words.headline(view))
        self.state.say(words.state(view))
        problems = [visible(problem) for problem in view.problems[:_SHOWN_PROBLEMS]]
        self.state.setToolTip(as_tooltip(*problems) if problems else "")
        for index, key in enumerate(PARTS):
            self.bar.setTabText(index, words.part_title(key, view))
        self.transcript.setVisible(view.source is not None)
        if not (view.lessons or view.anti_patterns or view.repeated or view.crashes):
            sentence = self.tr("What a failed iteration leaves for the next one shows here.")
            self.nothing.say(self.tr("Nothing has failed here yet"), f"{sentence} {words.state(view)}")
            self.turn_to(self.nothing)
            return
        self.turn_to(self.page)
        self._show_part()

    @property
    def part(self) -> PartKey:
        """The part that is shown."""
        return PARTS[max(0, self.bar.currentIndex())]

    def show_row(self, part: PartKey, key: str) -> None:
        """Show a row by its key."""
        self.bar.setCurrentIndex(PARTS.index(part))
        self.list.pick(key)

    @Slot()
    def _show_part(self) -> None:
        view, part = self.view, self.part
        if view is None:
            return
        listed = words.rows(part, view, self.goal.text(), self._now)
        self._goal_row.setVisible(part != "crashes" and bool(view.anti_patterns))
        empty = {
            "lessons": self.tr("No episode has failed."),
            "avoid": self.tr("There are no anti-patterns: the agent makes them of failures that repeat."),
            "crashes": self.tr("No crash was recorded."),
        }
        self.none.say(empty[part] if not listed else "")
        self.none.setVisible(not listed)
        self.list.setVisible(bool(listed))
        self.text.setVisible(bool(listed))
        self.list.show_rows(listed)

    @Slot(object)
    def _on_picked(self, row: Row | None) -> None:
        view = self.view
        text = words.detail(row, view, self.goal.text()) if row is not None and view is not None else ""
        if text != self.text.toPlainText():
            self.text.setPlainText(text)
        self.copy.setVisible(bool(text))
        what = row.what if row is not None else None
        self.resolve.setVisible(isinstance(what, LessonView))
        self.merge.setVisible(isinstance(what, Repeated))
        other = self._other_row(row)
        self.other.setVisible(other is not None)
        if isinstance(what, CrashGroup):
            self.other.say(self.tr("Show its lesson"), self.tr("The newest lesson made of such a crash"))
            self.open.say(self.tr("Open the crash file"), self.tr("Open the newest record of this kind"))
        else:
            self.other.say(self.tr("Show its crash"), self.tr("The crash records of this lesson"))
            is_lesson = isinstance(what, LessonView)
            self.open.say(
                self.tr("Open the episode") if is_lesson else self.tr("Open the store"),
                self.tr("Show it among the memories"),
            )
        self.open.setVisible(what is not None)

    def _other_row(self, row: Row | None) -> tuple[PartKey, str] | None:
        """The crash of a lesson, or the newest lesson of a crash."""
        view, what = self.view, row.what if row is not None else None
        if view is not None and isinstance(what, LessonView):
            crash = view.crash_of(what.lesson)
            return None if crash is None else ("crashes", words.crash_key(crash))
        if view is not None and isinstance(what, CrashGroup):
            lesson = next(iter(view.lessons_of(what)), None)
            return None if lesson is None else ("lessons", words.lesson_key(lesson))
        return None

    # What is wanted

    @Slot(object)
    def _on_opened(self, row: Row) -> None:
        """Enter or a double click: what one most likely wants."""
        if isinstance(row.what, LessonView):
            self.resolve_wanted.emit(row.what)
        elif isinstance(row.what, Repeated):
            self.merge_wanted.emit(row.what)
        elif row.what is not None:
            self._on_open()

    @Slot()
    def _on_resolve(self) -> None:
        row = self.list.current
        if row is not None and isinstance(row.what, LessonView):
            self.resolve_wanted.emit(row.what)

    @Slot()
    def _on_merge(self) -> None:
        row = self.list.current
        if row is not None and isinstance(row.what, Repeated):
            self.merge_wanted.emit(row.what)

    @Slot()
    def _on_other(self) -> None:
        found = self._other_row(self.list.current)
        if found is not None:
            self.show_row(*found)

    @Slot()
    def _on_open(self) -> None:
        row = self.list.current
        what = row.what if row is not None else None
        if isinstance(what, CrashGroup):
            self._opener(QUrl.fromLocalFile(str(what.newest.path)))
        elif isinstance(what, LessonView | Repeated):
            self.open_wanted.emit(what.rel)
        elif isinstance(what, AntiPattern):
            name = "anti-patterns" if what.legacy else "patterns"
            self.open_wanted.emit(f"semantic/{name}.json")

    @Slot()
    def _on_transcript(self) -> None:
        if self.view is not None and self.view.source is not None:
            self.transcript_wanted.emit(self.view.source.id)

    @Slot()
    def _on_copy(self) -> None:
        QGuiApplication.clipboard().setText(self.text.toPlainText())
