"""Index care under the editor's heading: what the agent loads of an index, what is wrong, and mends by one
press.

The buttons are about the chosen row; the first row that can be mended is chosen when a list arrives, so that
pressing on goes down the list. The panel takes no room while there is nothing to say.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import Qt, Signal, Slot
from PySide6.QtWidgets import (
    QHBoxLayout,
    QListWidgetItem,
    QSizePolicy,
    QToolButton,
    QVBoxLayout,
    QWidget,
)

from reverie.ui.buttons import FitPushButton
from reverie.ui.flow import FlowLayout
from reverie.ui.icons import Icons
from reverie.ui.labels import WrapLabel
from reverie.ui.memory.few_rows import FewRows
from reverie.ui.shown import as_tooltip
from reverie.ui.theme import GAP, UNIT, theme_of

if TYPE_CHECKING:
    from reverie.homes.claude_index import Finding
    from reverie.services.index_care import IndexLook, MendKind

_ROWS = 5
_KINDS: tuple[MendKind, ...] = ("add", "drop", "shorten")


class IndexPanel(QWidget):
    """`mend_wanted(Finding, str)`: which, and how. `place_wanted(Finding)`: a person wants to see it."""

    mend_wanted = Signal(object, str)
    place_wanted = Signal(object)

    def __init__(self, icons: Icons, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._icons = icons
        self._look: IndexLook | None = None
        self._findings: tuple[Finding, ...] = ()
        self._is_open = True
        self._may_mend = True
        self.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Maximum)
        self.toggle = QToolButton()
        self.toggle.setAutoRaise(True)
        self.toggle.setArrowType(Qt.ArrowType.DownArrow)
        self.toggle.setAccessibleName(self.tr("Index care"))
        self.toggle.setToolTip(self.tr("Show or hide what is to mend in this index"))
        self.toggle.clicked.connect(self._fold)
        self.summary = WrapLabel()
        self.list = FewRows(_ROWS)
        self.list.setAccessibleName(self.tr("What is to mend in this index"))
        self.list.currentRowChanged.connect(self._on_row)
        self.list.itemActivated.connect(self._on_go)
        self.buttons = {kind: FitPushButton(self.tr("Mend")) for kind in _KINDS}
        self.go = FitPushButton(self.tr("Sho&w it"))
        self.go.say(self.tr("Sho&w it"), self.tr("Go to the line, or open the memory"))
        self.go.clicked.connect(self._on_go)
        self.buttons["add"].clicked.connect(self._add)
        self.buttons["drop"].clicked.connect(self._drop)
        self.buttons["shorten"].clicked.connect(self._shorten)
        self._lay_out()
        self.hide()

    def _lay_out(self) -> None:
        head = QHBoxLayout()
        head.setSpacing(UNIT)
        head.addWidget(self.toggle, 0, Qt.AlignmentFlag.AlignTop)
        head.addWidget(self.summary, 1)
        self._body = QWidget()
        row = FlowLayout(gap=GAP)
        for button in (*self.buttons.values(), self.go):
            row.addWidget(button)
        inner = QVBoxLayout(self._body)
        inner.setContentsMargins(0, 0, 0, 0)
        inner.setSpacing(UNIT)
        inner.addWidget(self.list)
        inner.addLayout(row)
        column = QVBoxLayout(self)
        column.setContentsMargins(GAP, 0, GAP, UNIT)
        column.setSpacing(UNIT)
        column.addLayout(head)
        column.addWidget(self._body)

    @property
    def look(self) -> IndexLook | None:
        return self._look

    @property
    def current(self) -> Finding | None:
        """The chosen finding."""
        row = self.list.currentRow()
        return self._findings[row] if 0 <= row < len(self._findings) else None

    def show_look(self, look: IndexLook | None) -> None:
        """Say what was found; None, or nothing found, hides the panel."""
        if look is not None and self._look is not None and look.report == self._look.report:
            self._look = look
            return
        row = self.list.currentRow() if look is not None and self._look is not None else -1
        self._look, self._findings = look, ()
        there = look is not None and bool(look.report.findings)
        self.setVisible(there and self.parentWidget() is not None)
        self.list.clear()
        if look is None or not there:
            return
        from reverie.ui.memory.index import words

        self.summary.say(words.summary(look.report))
        theme = theme_of(self.palette())
        self._findings = _in_order(look)
        for finding in self._findings:
            text = words.sentence(finding)
            item = QListWidgetItem(text)
            item.setToolTip(as_tooltip(text))
            grave = finding.problem in words.GRAVE
            item.setIcon(
                self._icons.sign(
                    "flag" if grave else "info", theme.warn_text if grave else theme.dim, self.palette()
                )
            )
            self.list.addItem(item)
        for kind, button in self.buttons.items():
            button.say(words.mend_name(kind), words.mend_tip(kind))
        self.list.updateGeometry()
        self.list.setCurrentRow(min(max(0, row), self.list.count() - 1))
        self.updateGeometry()

    def set_may_mend(self, may: bool) -> None:
        """Mends are for what is on disk: with unsaved text they wait."""
        self._may_mend = may
        self._on_row()

    @Slot()
    def _on_row(self) -> None:
        finding, look = self.current, self._look
        kinds = look.mends_of(finding) if finding is not None and look is not None else ()
        for kind, button in self.buttons.items():
            button.setVisible(kind in kinds)
            button.setEnabled(self._may_mend)
        self.go.setEnabled(finding is not None)

    @Slot()
    def _fold(self) -> None:
        self._is_open = not self._is_open
        self.toggle.setArrowType(Qt.ArrowType.DownArrow if self._is_open else Qt.ArrowType.RightArrow)
        self._body.setVisible(self._is_open)

    @Slot()
    def _on_go(self) -> None:
        if self.current is not None:
            self.place_wanted.emit(self.current)

    @Slot()
    def _add(self) -> None:
        self._mend("add")

    @Slot()
    def _drop(self) -> None:
        self._mend("drop")

    @Slot()
    def _shorten(self) -> None:
        self._mend("shorten")

    def _mend(self, kind: MendKind) -> None:
        if self.current is not None:
            self.mend_wanted.emit(self.current, kind)


def _in_order(look: IndexLook) -> tuple[Finding, ...]:
    """What a press can mend first, what falls off last; how long the index is stands in the summary."""

    def turn(finding: Finding) -> int:
        return 0 if look.mends_of(finding) else 2 if finding.problem == "falls-off" else 1

    listed = (each for each in look.report.findings if each.problem not in ("over-lines", "over-chars"))
    return tuple(sorted(listed, key=turn))
