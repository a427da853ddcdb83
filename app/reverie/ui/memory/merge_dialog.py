"""The dialog for merging memories by hand, which names each line that the merged text lacks.

Threading: GUI thread; reading and checking are jobs. Failure: shown above the text.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from PySide6.QtCore import Qt, Signal, Slot
from PySide6.QtWidgets import (
    QCheckBox,
    QDialog,
    QDialogButtonBox,
    QFormLayout,
    QListWidget,
    QListWidgetItem,
    QWidget,
)

from reverie.engine.asking import ask
from reverie.errors import UserError
from reverie.memory.union import lost_lines
from reverie.ui.appearance import GAP, monospace
from reverie.ui.display_text import as_tooltip, counted, human_size, visible
from reverie.ui.editor.line_breaks import restored, widget_text
from reverie.ui.icons import Icons
from reverie.ui.jobs import JobControl, Lane, single_shot
from reverie.ui.widgets.controls import FitCombo, WrapLabel
from reverie.ui.widgets.layouts import column
from reverie.ui.widgets.messages import MessageBar
from reverie.ui.widgets.text_boxes import PlainTextBox

if TYPE_CHECKING:
    from reverie.services.merges import FileToMerge, MergeSeed
    from reverie.services.workbench import Workbench

_CHECK_MS = 200
"""Milliseconds after the last keystroke before the text is checked for lost lines."""
_SHOWN_LOST = 200
"""The number of lost lines that are listed."""


class MergeMemoriesDialog(QDialog):
    """A dialog for merging memories: the files to merge, the one that stays, and its new text.

    The text starts as the union of all files. While the user edits the text, every line that would be lost is
    listed. Merging is possible only if no line would be lost, or if the user agrees to the loss. Reading and
    checking run in jobs; a result for an older text is dropped.
    """

    merge = Signal(object, str)
    """Emitted with the files, the one that stays first, and its text, when the user confirms."""

    def __init__(
        self,
        lane: Lane,
        workbench: Workbench,
        files: Sequence[FileToMerge],
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
        self.target.setAccessibleName(self.tr("Memory to keep"))
        self.members = QListWidget()
        self.members.setAccessibleName(self.tr("Memories to merge"))
        self.members.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        for file in self._files:
            self._add(file)
        self.text = PlainTextBox()
        self.text.setFont(monospace())
        self.text.setAccessibleName(self.tr("Merged text"))
        self.text.setTabChangesFocus(False)
        self.check = WrapLabel()
        self.lost_list = QListWidget()
        self.lost_list.setAccessibleName(self.tr("Lines that would be lost"))
        self.lost_list.setFont(monospace())
        self.lost_list.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.agreed = QCheckBox(self.tr("I &no longer need these lines"))
        self.buttons = QDialogButtonBox(QDialogButtonBox.StandardButton.Cancel)
        self.accept_button = self.buttons.addButton(self.tr("&Merge"), QDialogButtonBox.ButtonRole.AcceptRole)
        self._timer = single_shot(self, _CHECK_MS, self._check_now)
        self._lay_out()
        self._connect()
        self._read()

    def _add(self, file: FileToMerge) -> None:
        """Add a file to the list of files that can stay, and, checked, to the list of files to merge."""
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
        form.addRow(self.tr("Memory to &keep"), self.target)
        form.addRow(self.tr("Memories &to merge"), self.members)
        below = self.check, self.lost_list, self.agreed, self.buttons
        column(self, self.message, form, self.text, *below, grows=self.text)
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
    def chosen(self) -> tuple[FileToMerge, ...]:
        """The files to merge, the one that stays first."""
        target: FileToMerge = self.target.currentData()
        checked = [
            file
            for row, file in enumerate(self._files)
            if self.members.item(row).checkState() == Qt.CheckState.Checked
        ]
        return (target, *(file for file in checked if file != target))

    @property
    def content(self) -> str:
        """The merged text, with the line ends of the file that stays."""
        base = self._seed.result if self._seed is not None else ""
        return restored(base, self.text.content)

    @property
    def is_checked(self) -> bool:
        """True if the text that is shown has been checked for lost lines."""
        return self._seed is not None and not self._checking

    @Slot()
    def _read(self) -> None:
        """Read the chosen files and create the merged text; text that the user typed is kept."""
        files, workbench = self.chosen, self._workbench
        self._checking = True
        self._follow()

        self._lane.submit(
            "prepare a merge",
            ask(workbench.merges.seed, files),
            done=self._on_seed,
            failed=self._on_failed,
            group="merge seed",
        )

    def _on_seed(self, seed: MergeSeed) -> None:
        typed = self._seed is not None and self.text.content != self._seeded
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
        """Find, in a job, the lines of the chosen files that the text does not contain."""
        seed, content = self._seed, self.content
        if seed is None:
            return
        self._timer.stop()

        def work(_control: JobControl) -> tuple[str, tuple[str, ...]]:

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
        """Update the result of the check, and the Merge button."""
        count = len(self.chosen)
        if self._checking:
            self.check.say(self.tr("Checking for lines that would be lost…"))
        elif self.lost:
            self.check.say(counted("1 line would be lost:", "%n lines would be lost:", len(self.lost)))
        else:
            self.check.say(self.tr("No lines would be lost."))
        self.accept_button.setEnabled(
            count > 1 and self.is_checked and (not self.lost or self.agreed.isChecked())
        )
        gone = counted("&Merge and delete 1 other memory", "&Merge and delete %n other memories", count - 1)
        self.accept_button.setText(gone if count > 1 else self.tr("&Merge"))

    def _on_failed(self, error: UserError) -> None:
        self._seed = None
        self.message.say_error(error)
        self._follow()

    @Slot()
    def _on_accepted(self) -> None:
        if self.accept_button.isEnabled():
            self.merge.emit(self.chosen, self.content)
