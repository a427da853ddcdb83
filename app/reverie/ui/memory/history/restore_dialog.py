"""What bringing a point back would change, before anything is changed: counts, every file, and whether what
came since shall go. `wanted(RestorePlan, bool)` asks for it; somebody else does it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import Qt, Signal, Slot
from PySide6.QtWidgets import (
    QCheckBox,
    QDialog,
    QDialogButtonBox,
    QListWidget,
    QListWidgetItem,
    QVBoxLayout,
    QWidget,
)

from reverie.ui.icons import Icons
from reverie.ui.labels import WrapLabel, embolden
from reverie.ui.memory.bars import MessageBar
from reverie.ui.memory.history import history_words
from reverie.ui.shown import as_tooltip, visible
from reverie.ui.theme import GAP, MARGIN
from reverie.ui.translation import counted
from reverie.ui.two_lines import TwoLineDelegate, TwoLines

if TYPE_CHECKING:
    from reverie.services.timeline_views import RestorePlan

MOST_ROWS = 1_000


class RestoreDialog(QDialog):
    """Made for one plan; closes itself once it was agreed to."""

    wanted = Signal(object, bool)

    def __init__(self, plan: RestorePlan, when: str, icons: Icons, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.setWindowTitle(self.tr("Restore"))
        self.plan = plan
        head = WrapLabel(self.tr("{path} as it was on {when}").format(path=plan.path, when=when))
        embolden(head)
        self.summary = WrapLabel(history_words.planned(plan))
        self.refused = MessageBar(icons, "restore-refused", closable=False)
        self.list = QListWidget()
        self.list.setItemDelegate(TwoLineDelegate(self.list))
        self.list.setUniformItemSizes(True)
        self.list.setAccessibleName(self.tr("What would change"))
        self.list.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        delete = counted(
            "Also &delete 1 file that came since",
            "Also &delete %n files that came since",
            len(plan.newer),
        )
        self.newer = QCheckBox(delete)
        self.newer.setToolTip(self.tr("They stay in the history and can be brought back"))
        self.newer.toggled.connect(self._follow)
        self.buttons = QDialogButtonBox(QDialogButtonBox.StandardButton.Cancel)
        self.agree = self.buttons.addButton(self.tr("&Restore"), QDialogButtonBox.ButtonRole.AcceptRole)
        self.agree.setIcon(icons.icon("undo"))
        self.agree.setToolTip(self.tr("Write this; it can be undone"))
        self.buttons.accepted.connect(self._on_agreed)
        self.buttons.rejected.connect(self.reject)
        outer = QVBoxLayout(self)
        outer.setContentsMargins(MARGIN, MARGIN, MARGIN, MARGIN)
        outer.setSpacing(GAP)
        for widget in (head, self.summary, self.refused):
            outer.addWidget(widget)
        outer.addWidget(self.list, 1)
        outer.addWidget(self.newer)
        outer.addWidget(self.buttons)
        self.newer.setVisible(bool(plan.newer))
        listed = bool(plan.files or plan.newer)
        self.list.setVisible(listed)
        outer.addStretch(0 if listed else 1)
        self.resize(560, 420 if listed else 140)
        self._say_refused()
        self._follow()

    def _say_refused(self) -> None:
        if not self.plan.refused:
            self.refused.clear()
            return
        path, why = self.plan.refused[0]
        count = len(self.plan.refused)
        said = self.tr("{path} cannot be brought back: {why}").format(path=visible(path), why=visible(why))
        if count > 1:
            said += " " + counted("So for 1 more.", "So for %n more.", count - 1)
        self.refused.say(said, tone="warn")

    @Slot()
    def _follow(self) -> None:
        """The list and the button follow the tick."""
        shown = [*self.plan.files, *(self.plan.newer if self.newer.isChecked() else ())]
        self.list.clear()
        for file in shown[:MOST_ROWS]:
            folder, _, name = file.path.rpartition("/")
            said = {
                "create": self.tr("comes back"),
                "change": self.tr("gets its text of then"),
                "delete": self.tr("goes"),
            }[file.verb]
            item = QListWidgetItem(f"{visible(file.path)} {said}")
            item.setData(TwoLineDelegate.ROLE, TwoLines(visible(name), visible(folder), said))
            item.setToolTip(as_tooltip(file.path, said))
            self.list.addItem(item)
        if len(shown) > MOST_ROWS:
            self.list.addItem(self.tr("… and {n} more").format(n=len(shown) - MOST_ROWS))
        self.agree.setEnabled(bool(shown))

    @Slot()
    def _on_agreed(self) -> None:
        self.wanted.emit(self.plan, self.newer.isChecked())
        self.accept()
