"""A dialog that compares the version of a file on disk with the text in the editor, during a conflict."""

from __future__ import annotations

from PySide6.QtCore import Qt, Signal, Slot
from PySide6.QtWidgets import QDialog, QDialogButtonBox, QWidget

from reverie.memory.diff import unified
from reverie.ui.editor.documents import OpenFile
from reverie.ui.icons import Icons
from reverie.ui.jobs import JobControl, Lane
from reverie.ui.widgets.controls import WrapLabel
from reverie.ui.widgets.layouts import column
from reverie.ui.widgets.messages import MessageBar
from reverie.ui.widgets.text_views import DiffView


class CompareDialog(QDialog):
    """A dialog that shows how the text in the editor differs from the version on disk.

    Lines with `-` are on disk, lines with `+` in the editor.

    Signals:
        chosen(str): "reload" to replace the text in the editor by the shown version on disk, "keep" to let
            the next save overwrite that version.
    """

    chosen = Signal(str)

    def __init__(self, file: OpenFile, lane: Lane, icons: Icons, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self._file = file
        self._lane = lane
        self._group = f"compare {id(self)}"
        self._sha256 = ""
        file.destroyed.connect(self.reject)
        self.setWindowTitle(self.tr("Compare"))
        self.resize(760, 520)
        self.title = WrapLabel()
        self.message = MessageBar(icons, "compare-message", closable=False)
        self.diff = DiffView()
        self.buttons = QDialogButtonBox(QDialogButtonBox.StandardButton.Close)
        role = QDialogButtonBox.ButtonRole.ActionRole
        self.reload = self.buttons.addButton(self.tr("Discard mine"), role)
        self.keep = self.buttons.addButton(self.tr("Overwrite theirs"), role)
        self.reload.clicked.connect(self._reload)
        self.keep.clicked.connect(self._keep)
        self.buttons.rejected.connect(self.reject)
        column(self, self.title, self.message, self.diff, self.buttons, grows=self.diff)
        self._show_versions()

    def _show_versions(self) -> None:
        """Compute the difference between the current versions, and show it."""
        disk, mine = self._file.buffer.disk, self._file.contents()
        path = self._file.buffer.address.label
        self.title.say(
            self.tr("{path}: lines with “-” are on disk, lines with “+” are yours").format(path=path)
        )
        self._enable(False)
        if disk is None:
            return
        theirs, self._sha256 = disk.content, disk.sha256

        def work(_control: JobControl) -> str:
            old, new = theirs.encode("utf-8", "replace"), mine().encode("utf-8", "replace")
            return unified(old, new, path.removeprefix("/"))

        self._lane.submit(
            "compare", work, done=self._on_diff, failed=self.message.say_error, group=self._group
        )

    def _on_diff(self, text: str) -> None:
        self.diff.show_diff(text or self.tr("The two versions are the same."))
        self._enable(True)

    def _enable(self, on: bool) -> None:
        self.reload.setEnabled(on)
        self.keep.setEnabled(on)

    @Slot()
    def _reload(self) -> None:
        self._choose("reload")

    @Slot()
    def _keep(self) -> None:
        self._choose("keep")

    def _choose(self, key: str) -> None:
        disk = self._file.buffer.disk
        if disk is None:
            self.reject()  # the file was deleted, and the editor's banner asks about that
        elif disk.sha256 != self._sha256:
            self.message.say(self.tr("The file changed again on disk. This is the newest version."))
            self._show_versions()
        else:
            self.chosen.emit(key)
            self.accept()

    def done(self, result: int) -> None:
        self._lane.abandon(self._group)
        super().done(result)
