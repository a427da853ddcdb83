"""The tree of a review: groups, their files, the hunks of those, each with a box to tick if one may choose.

Shows what `Choices` says and tells it what was ticked; holds no rule of its own.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from PySide6.QtCore import QEvent, QSignalBlocker, Qt, Signal, Slot
from PySide6.QtWidgets import QApplication, QHeaderView, QTreeWidget, QTreeWidgetItem, QWidget

from reverie.ui import words
from reverie.ui.shown import as_tooltip, visible
from reverie.ui.theme import CalmSelection, theme_of

if TYPE_CHECKING:
    from reverie.services.views import ReviewFile, ReviewGroup
    from reverie.ui.memory.choices import Choices, Taken

_ROLE = Qt.ItemDataRole.UserRole


@dataclass(frozen=True, slots=True)
class Part:
    """What is selected: a group, a file of it, a hunk of that; or a sentence on what was refused."""

    group: ReviewGroup | None = None
    file: ReviewFile | None = None
    hunk: int | None = None
    refused: str = ""


class ReviewTree(QTreeWidget):
    """`picked(Part | None)`; `chosen()`: something was ticked or unticked."""

    picked = Signal(object)
    chosen = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        self._choices: Choices | None = None
        super().__init__(parent)
        self.setAccessibleName(self.tr("Changes"))
        self.setColumnCount(2)
        self.setHeaderHidden(True)
        self.setUniformRowHeights(True)
        self.setTextElideMode(Qt.TextElideMode.ElideMiddle)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setVerticalScrollMode(QTreeWidget.ScrollMode.ScrollPerPixel)
        self.setAllColumnsShowFocus(True)
        header = self.header()
        header.setStretchLastSection(False)
        header.setMinimumSectionSize(8)
        header.setSectionResizeMode(0, QHeaderView.ResizeMode.Stretch)
        header.setSectionResizeMode(1, QHeaderView.ResizeMode.ResizeToContents)
        CalmSelection(self, boxes=True)
        self.currentItemChanged.connect(self._on_current)
        self.itemChanged.connect(self._on_changed)

    def show_choices(self, choices: Choices | None) -> None:
        """Show another review, or none."""
        self._choices = choices
        with QSignalBlocker(self):
            self.clear()
            if choices is not None:
                self._fill(choices)
        first = self.topLevelItem(0)
        if first is None:
            self.picked.emit(None)
            return
        self.setCurrentItem(first.child(0) or first)
        self._on_current()

    @property
    def part(self) -> Part | None:
        """What is selected."""
        item = self.currentItem()
        found: Part | None = item.data(0, _ROLE) if item is not None else None
        return found

    # By keyboard

    @property
    def can_tick(self) -> bool:
        """Whether what is selected has a box."""
        item = self.currentItem()
        return item is not None and bool(item.flags() & Qt.ItemFlag.ItemIsUserCheckable)

    def tick(self, on: bool) -> None:
        """Tick or untick what is selected, as a click on its box does."""
        item = self.currentItem()
        if item is not None and self.can_tick:
            item.setCheckState(0, Qt.CheckState.Checked if on else Qt.CheckState.Unchecked)

    def step(self, by: int, *, files: bool = False) -> None:
        """Select the next (1) or previous (-1) change, or file; stay where there is none. A change is a hunk,
        or a file that is not split into hunks."""
        start = self.currentItem()
        if files and start is not None and self.part is not None and self.part.hunk is not None:
            start = start.parent()  # from inside a file, the previous file is not this one
        rows = list(self.parts())[::by]
        at = next((row for row, (_part, item) in enumerate(rows) if item is start), -1)
        for part, item in rows[at + 1 :]:
            if part.file is not None and (part.hunk is None if files else item.childCount() == 0):
                self.setCurrentItem(item)
                self.scrollToItem(item)
                return

    def keyboardSearch(self, _typed: str) -> None:
        """Nothing: single letters are keys of the review, and every row begins with one of a few verbs."""

    def follow(self) -> None:
        """Show the ticks and states as they are now."""
        choices = self._choices
        if choices is None:
            return
        with QSignalBlocker(self):
            for part, item in self.parts():
                if part.group is not None and choices.can_choose(part.group, part.file, part.hunk):
                    item.setCheckState(0, _TICKS[_taken(choices, part)])
                self._say_state(item, choices, part)

    def _fill(self, choices: Choices) -> None:
        view = choices.view
        for group in view.groups:
            if len(group.files) == 1:
                self.addTopLevelItem(self._file_item(group, group.files[0]))
                continue
            title = group.title.replace("/memories/", "")
            top = self._item(Part(group), title, f"{title}\n{group.reason}")
            self.addTopLevelItem(top)
            top.addChildren([self._file_item(group, file) for file in group.files])
            top.setExpanded(True)
        if view.refused:
            refused = self._item(Part(), self.tr("Refused"), "")
            refused.setText(1, str(len(view.refused)))
            self.addTopLevelItem(refused)
            for sentence in view.refused:
                refused.addChild(self._item(Part(refused=sentence), sentence, sentence))
        self.follow()

    def _file_item(self, group: ReviewGroup, file: ReviewFile) -> QTreeWidgetItem:
        made = self._item(Part(group, file), _file_words(file), file.path)
        if len(file.hunks) > 1:
            for hunk in file.hunks:
                made.addChild(self._item(Part(group, file, hunk.index), hunk.header, ""))
        return made

    def _item(self, part: Part, text: str, tip: str) -> QTreeWidgetItem:
        item = QTreeWidgetItem([visible(text), ""])
        item.setData(0, _ROLE, part)
        item.setToolTip(0, as_tooltip(tip))
        flags = Qt.ItemFlag.ItemIsEnabled | Qt.ItemFlag.ItemIsSelectable
        choices, group = self._choices, part.group
        if choices is not None and group is not None and choices.can_choose(group, part.file, part.hunk):
            flags |= Qt.ItemFlag.ItemIsUserCheckable
        item.setFlags(flags)
        return item

    def _say_state(self, item: QTreeWidgetItem, choices: Choices, part: Part) -> None:
        if part.group is None:
            return
        reason = choices.blocked.get(part.file.path, "") if part.file is not None else ""
        state = ""
        if part.file is not None and choices.is_gone(part.file, part.hunk):
            state, reason = self.tr("taken back"), ""
        elif part.file is not None and choices.goes_back(part.file, part.hunk):
            state = self.tr("goes back")
        elif part.file is not None and part.hunk is None and reason and choices.view.can_apply:
            state = self.tr("stays")
        elif part.file is not None and choices.is_written(part.file, part.hunk):
            state = self.tr("edited")
        # The tree's own palette has another window colour, for its boxes: see `CalmSelection`.
        theme = theme_of(QApplication.palette(self))
        item.setText(1, state)
        item.setToolTip(1, as_tooltip(reason))
        item.setForeground(1, theme.warn_text if reason else theme.dim)

    def parts(self) -> Iterator[tuple[Part, QTreeWidgetItem]]:
        """Every row with what it stands for, from top to bottom."""
        waiting = [self.topLevelItem(row) for row in reversed(range(self.topLevelItemCount()))]
        while waiting:
            item = waiting.pop()
            if item is not None:
                yield item.data(0, _ROLE), item
                waiting += [item.child(row) for row in reversed(range(item.childCount()))]

    @property
    def blocked(self) -> Mapping[str, str]:
        """Why files stay as they are, by path."""
        return self._choices.blocked if self._choices is not None else {}

    def changeEvent(self, event: QEvent) -> None:
        super().changeEvent(event)
        if event.type() == QEvent.Type.PaletteChange:
            self.follow()

    @Slot()
    def _on_current(self) -> None:
        self.picked.emit(self.part)

    @Slot(QTreeWidgetItem, int)
    def _on_changed(self, item: QTreeWidgetItem, column: int) -> None:
        part: Part = item.data(0, _ROLE)
        choices = self._choices
        if column != 0 or choices is None or part.group is None:
            return
        taken = item.checkState(0) != Qt.CheckState.Unchecked
        if part.file is None:
            choices.take_group(part.group, taken)
        elif part.hunk is None:
            choices.take_file(part.group, part.file, taken)
        else:
            choices.take_hunk(part.group, part.file, part.hunk, taken)
        self.follow()
        self.chosen.emit()


_TICKS: dict[Taken, Qt.CheckState] = {
    "all": Qt.CheckState.Checked,
    "some": Qt.CheckState.PartiallyChecked,
    "none": Qt.CheckState.Unchecked,
}


def _taken(choices: Choices, part: Part) -> Taken:
    assert part.group is not None
    if part.file is None:
        return choices.group_taken(part.group)
    if part.hunk is None:
        return choices.file_taken(part.group, part.file)
    return "all" if choices.hunk_taken(part.group, part.file, part.hunk) else "none"


def _file_words(file: ReviewFile) -> str:
    path = file.path.removeprefix("/memories/")
    if file.old_path:
        return f"{words.operation(file.verb)} {file.old_path.removeprefix('/memories/')} → {path}"
    return f"{words.operation(file.verb)} {path}"
