"""A merge to look through before it is done: each file, what becomes of it, the difference, and a choice
where both sides differ. Writes nothing itself."""

from __future__ import annotations

from functools import partial

from PySide6.QtCore import QSignalBlocker, Qt, Signal, Slot
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import (
    QButtonGroup,
    QDialog,
    QDialogButtonBox,
    QListWidget,
    QListWidgetItem,
    QRadioButton,
    QWidget,
)

from reverie.errors import MendableError
from reverie.memory.diff import unified
from reverie.services.orphan_views import MergeChoice, MergePreview, MergeRow
from reverie.ui.columns import column, pane
from reverie.ui.icons import Icons
from reverie.ui.jobs import JobControl, Lane
from reverie.ui.labels import WrapLabel, embolden
from reverie.ui.memory.bars import MessageBar
from reverie.ui.memory.diff_view import DiffView
from reverie.ui.memory.orphans import orphan_words
from reverie.ui.memory.orphans.store_words import orphan_title
from reverie.ui.panes import Panes
from reverie.ui.shown import as_tooltip, human_size, visible
from reverie.ui.theme import GAP
from reverie.ui.two_lines import TwoLineDelegate, TwoLines

_SIDE_BY_SIDE = 620


class MergeDialog(QDialog):
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

    def show_failed(self, error: MendableError) -> None:
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
