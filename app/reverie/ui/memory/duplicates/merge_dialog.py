"""Merging memories by hand: which of them, which one stays, and the text that it will hold.

The text begins as the union of all; as one edits, every line that would be lost is listed, and the merge goes
through only when none is, or when the person has said so. Reading and checking run in jobs.

Threading: GUI thread; an answer about an older text is dropped. Failure: told above the text.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from PySide6.QtCore import Qt, QTimer, Signal, Slot
from PySide6.QtWidgets import (
    QCheckBox,
    QDialog,
    QDialogButtonBox,
    QFormLayout,
    QListWidget,
    QListWidgetItem,
    QPlainTextEdit,
    QWidget,
)

from reverie.errors import MendableError
from reverie.ui.columns import column
from reverie.ui.fit_combo import FitCombo
from reverie.ui.icons import Icons
from reverie.ui.jobs import JobControl, Lane
from reverie.ui.labels import WrapLabel
from reverie.ui.memory.bars import MessageBar
from reverie.ui.memory.newlines import restored, widget_text
from reverie.ui.shown import as_tooltip, human_size, visible
from reverie.ui.theme import GAP, monospace
from reverie.ui.translation import counted

if TYPE_CHECKING:
    from reverie.services.duplicates import DuplicateFile, MergeSeed
    from reverie.services.workbench import Workbench

_CHECK_MS = 200
_SHOWN_LOST = 200


class MergeDialog(QDialog):
    """`merge(files, content)`: the files with the one that stays first, and its text."""

    merge = Signal(object, str)

    def __init__(
        self,
        lane: Lane,
        workbench: Workbench,
        files: Sequence[DuplicateFile],
        icons: Icons,
        parent: QWidget | None = None,
    ) -> None:
        super().__init__(parent)
        self._lane = lane
        self._workbench = workbench
        self._files = tuple(files)
        self._seed: MergeSeed | None = None
        self._seeded = ""
        self._checking = True
        self.lost: tuple[str, ...] = ()
        self.setWindowTitle(self.tr("Merge memories"))
        self.resize(820, 640)
        self.message = MessageBar(icons, "merge-message", closable=False)
        self.target = FitCombo()
        self.target.setAccessibleName(self.tr("The memory that stays"))
        self.members = QListWidget()
        self.members.setAccessibleName(self.tr("Memories to merge"))
        self.members.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        for file in self._files:
            self._add(file)
        self.text = QPlainTextEdit()
        self.text.setFont(monospace())
        self.text.setAccessibleName(self.tr("The merged text"))
        self.text.setTabChangesFocus(False)
        self.check = WrapLabel()
        self.lost_list = QListWidget()
        self.lost_list.setAccessibleName(self.tr("Lines that would be lost"))
        self.lost_list.setFont(monospace())
        self.lost_list.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.agreed = QCheckBox(self.tr("I do not need these lines any &more"))
        self.buttons = QDialogButtonBox(QDialogButtonBox.StandardButton.Cancel)
        self.accept_button = self.buttons.addButton(self.tr("&Merge"), QDialogButtonBox.ButtonRole.AcceptRole)
        self._timer = QTimer(self)
        self._timer.setSingleShot(True)
        self._timer.setInterval(_CHECK_MS)
        self._timer.timeout.connect(self._check_now)
        self._lay_out()
        self._connect()
        self._read()

    def _add(self, file: DuplicateFile) -> None:
        name = visible(file.path)
        self.target.addItem(name, file)
        item = QListWidgetItem(f"{name} · {human_size(file.size)}")
        item.setToolTip(as_tooltip(file.path))
        item.setFlags(item.flags() | Qt.ItemFlag.ItemIsUserCheckable)
        item.setCheckState(Qt.CheckState.Checked)
        self.members.addItem(item)

    def _lay_out(self) -> None:
        metrics = self.fontMetrics()
        self.members.setFixedHeight(min(4, len(self._files)) * (metrics.height() + GAP) + GAP)
        self.lost_list.setFixedHeight(4 * (metrics.height() + GAP))
        form = QFormLayout()
        form.setSpacing(GAP)
        form.setRowWrapPolicy(QFormLayout.RowWrapPolicy.WrapLongRows)
        form.addRow(self.tr("&Keep as"), self.target)
        form.addRow(self.tr("&Take in"), self.members)
        column(
            self,
            self.message,
            form,
            self.text,
            self.check,
            self.lost_list,
            self.agreed,
            self.buttons,
            grows=self.text,
        )
        self.lost_list.hide()
        self.agreed.hide()

    def _connect(self) -> None:
        self.target.currentIndexChanged.connect(self._read)
        self.members.itemChanged.connect(self._read)
        self.text.textChanged.connect(self._on_text)
        self.agreed.toggled.connect(self._follow)
        self.buttons.accepted.connect(self._on_accepted)
        self.buttons.rejected.connect(self.reject)

    @property
    def chosen(self) -> tuple[DuplicateFile, ...]:
        """What is merged, the one that stays first."""
        target: DuplicateFile = self.target.currentData()
        checked = [
            file
            for row, file in enumerate(self._files)
            if self.members.item(row).checkState() == Qt.CheckState.Checked
        ]
        return (target, *(file for file in checked if file != target))

    @property
    def content(self) -> str:
        """The merged text with the line ends of what stays."""
        base = self._seed.result if self._seed is not None else ""
        return restored(base, self.text.toPlainText())

    @property
    def is_checked(self) -> bool:
        """The text that is shown was looked at line by line."""
        return self._seed is not None and not self._checking

    @Slot()
    def _read(self) -> None:
        """Begin again with other memories; what was typed is kept if something was."""
        files, workbench = self.chosen, self._workbench
        self._checking = True
        self._follow()

        def work(_control: JobControl) -> MergeSeed:
            return workbench.duplicates.seed(files)

        self._lane.submit(
            "prepare a merge", work, done=self._on_seed, failed=self._on_failed, group="merge seed"
        )

    def _on_seed(self, seed: MergeSeed) -> None:
        typed = self._seed is not None and self.text.toPlainText() != self._seeded
        self._seed = seed
        if not typed:
            self._seeded = widget_text(seed.result)
            self.text.setPlainText(self._seeded)
        self._check_now()

    @Slot()
    def _on_text(self) -> None:
        self._checking = True
        self._follow()
        self._timer.start()

    @Slot()
    def _check_now(self) -> None:
        seed, content = self._seed, self.content
        if seed is None:
            return
        self._timer.stop()

        def work(_control: JobControl) -> tuple[str, tuple[str, ...]]:
            from reverie.memory.line_union import lost_lines

            after = content.encode("utf-8", "surrogatepass")
            lost = lost_lines(after, *(text.encode() for text in seed.texts))
            return content, tuple(dict.fromkeys(lost))

        self._lane.submit(
            "check a merge", work, done=self._on_checked, failed=self._on_failed, group="merge check"
        )

    def _on_checked(self, found: tuple[str, tuple[str, ...]]) -> None:
        content, lost = found
        if content != self.content:
            return
        self._checking = False
        if lost != self.lost:
            self.lost = lost
            self.agreed.setChecked(False)
            self.lost_list.clear()
            for line in lost[:_SHOWN_LOST]:
                item = QListWidgetItem(visible(line))
                item.setToolTip(as_tooltip(line))
                self.lost_list.addItem(item)
        self.lost_list.setVisible(bool(lost))
        self.agreed.setVisible(bool(lost))
        self._follow()

    @Slot()
    def _follow(self) -> None:
        count = len(self.chosen)
        if self._checking:
            self.check.say(self.tr("Looking for lines that would be lost…"))
        elif self.lost:
            self.check.say(counted("1 line would be lost:", "%n lines would be lost:", len(self.lost)))
        else:
            self.check.say(self.tr("Every line of all of them is kept."))
        self.accept_button.setEnabled(
            count > 1 and self.is_checked and (not self.lost or self.agreed.isChecked())
        )
        gone = counted("&Merge and delete 1", "&Merge and delete %n", count - 1)
        self.accept_button.setText(gone if count > 1 else self.tr("&Merge"))

    def _on_failed(self, error: MendableError) -> None:
        self._seed = None
        self.show_error(error)
        self._follow()

    def show_error(self, error: MendableError) -> None:
        self.message.say_error(error)

    @Slot()
    def _on_accepted(self) -> None:
        if self.accept_button.isEnabled():
            self.merge.emit(self.chosen, self.content)
