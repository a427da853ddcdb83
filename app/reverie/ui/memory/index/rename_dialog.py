"""A rename with all that follows it, shown before it is done."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtWidgets import QDialog, QDialogButtonBox, QListWidget, QWidget

from reverie.memory.paths import ROOT
from reverie.ui.columns import column
from reverie.ui.labels import WrapLabel
from reverie.ui.shown import as_tooltip, visible
from reverie.ui.theme import CalmSelection, monospace
from reverie.ui.translation import counted
from reverie.ui.words import things

if TYPE_CHECKING:
    from reverie.services.index_care import RenamePlan

_SHOWN = 500


class RenameDialog(QDialog):
    """Each changed line as it is and as it becomes."""

    def __init__(self, plan: RenamePlan, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setWindowTitle(self.tr("Rename with its links"))
        self.setMinimumWidth(340)
        files = len({line.path for line in plan.lines})
        (old, new), *others = plan.targets.items()
        said = self.tr("{old} becomes {new}. With it {lines} in {files} change:")
        if others:
            said = self.tr("{things} move to {folder}. With them {lines} in {files} change:")
        self.head = WrapLabel()
        self.head.say(
            said.format(
                old=_name(old),
                new=_name(new),
                things=things(len(plan.targets)),
                folder=visible(new.rpartition("/")[0].removeprefix(f"{ROOT}/")),
                lines=counted(self.tr("1 line"), "%n lines", len(plan.lines)),
                files=counted(self.tr("1 file"), "%n files", files),
            )
        )
        self.list = QListWidget()
        self.list.setAccessibleName(self.tr("Lines that change"))
        self.list.setFont(monospace())
        self.list.setAlternatingRowColors(True)
        self.list.setMinimumHeight(160)
        CalmSelection(self.list)
        for line in plan.lines[:_SHOWN]:
            where = self.tr("{file}, line {line}").format(file=_name(line.path), line=line.line)
            text = f"{where}\n− {visible(line.before)}\n+ {visible(line.after)}"
            self.list.addItem(text)
            self.list.item(self.list.count() - 1).setToolTip(as_tooltip(text))
        buttons = QDialogButtonBox(
            QDialogButtonBox.StandardButton.Ok | QDialogButtonBox.StandardButton.Cancel
        )
        self.accept_button = buttons.button(QDialogButtonBox.StandardButton.Ok)
        self.accept_button.setText(self.tr("Move") if others else self.tr("Rename"))
        buttons.accepted.connect(self.accept)
        buttons.rejected.connect(self.reject)
        column(self, self.head, self.list, buttons, grows=self.list)
        self.resize(560, 360)
        self.accept_button.setFocus()


def _name(path: str) -> str:
    return visible("/".join(path.split("/")[3:]))
