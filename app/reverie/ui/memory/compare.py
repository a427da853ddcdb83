"""Both sides of a conflict: the version on disk against the text in the editor."""

from __future__ import annotations

from PySide6.QtCore import Signal, Slot
from PySide6.QtWidgets import QDialog, QDialogButtonBox, QWidget

from reverie.errors import MendableError
from reverie.ui.columns import column
from reverie.ui.icons import Icons
from reverie.ui.jobs import JobControl, Lane
from reverie.ui.labels import WrapLabel
from reverie.ui.memory.bars import MessageBar
from reverie.ui.memory.diff_view import DiffView


class CompareDialog(QDialog):
    """`chosen(str)`: reload or keep. Lines with `-` stand on disk, lines with `+` in the editor."""

    chosen = Signal(str)

    def __init__(self, icons: Icons, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setWindowTitle(self.tr("Compare"))
        self.resize(760, 520)
        self.title = WrapLabel()
        self.message = MessageBar(icons, "compare-message", closable=False)
        self.diff = DiffView()
        self.buttons = QDialogButtonBox(QDialogButtonBox.StandardButton.Close)
        role = QDialogButtonBox.ButtonRole.ActionRole
        self.reload = self.buttons.addButton(self.tr("Reload"), role)
        self.keep = self.buttons.addButton(self.tr("Keep mine"), role)
        self.reload.clicked.connect(self._reload)
        self.keep.clicked.connect(self._keep)
        self.buttons.rejected.connect(self.reject)
        column(self, self.title, self.message, self.diff, self.buttons, grows=self.diff)

    def show_versions(self, lane: Lane, path: str, disk: str, mine: str) -> None:
        """Compute and show the difference."""
        self.title.say(self.tr("{path}: “-” is on disk, “+” is yours").format(path=path))

        def work(_control: JobControl) -> str:
            from reverie.memory.diff import unified

            return unified(
                disk.encode("utf-8", "replace"), mine.encode("utf-8", "replace"), path.removeprefix("/")
            )

        lane.submit("compare", work, done=self._on_diff, failed=self._on_failed, group=f"compare {id(self)}")

    def _on_diff(self, text: str) -> None:
        self.diff.show_diff(text or self.tr("Both versions are the same."))

    def _on_failed(self, error: MendableError) -> None:
        self.message.say_error(error)

    @Slot()
    def _reload(self) -> None:
        self.chosen.emit("reload")
        self.accept()

    @Slot()
    def _keep(self) -> None:
        self.chosen.emit("keep")
        self.accept()
