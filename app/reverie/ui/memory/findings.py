"""What a person may want to look at in the open memory: a short list under the editor's heading.

A row says what and on which line; opening it puts the caret there. The list takes no room while there is
nothing to say, and with notes alone only its one-line heading. What it says is about the version on disk.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from PySide6.QtCore import Qt, Signal, Slot
from PySide6.QtWidgets import QListWidgetItem, QSizePolicy, QToolButton, QVBoxLayout, QWidget

from reverie.ui.icons import Icons
from reverie.ui.memory.few_rows import FewRows
from reverie.ui.memory.finding_words import headline, is_marked
from reverie.ui.shown import as_tooltip
from reverie.ui.theme import GAP, UNIT, theme_of
from reverie.ui.translation import counted

if TYPE_CHECKING:
    from reverie.memory.lint import LintFinding

_ROWS = 4
_LINE_ROLE = int(Qt.ItemDataRole.UserRole)


class FindingsList(QWidget):
    """`jump(int)`: a person wants to see this line, counted from 1."""

    jump = Signal(int)

    def __init__(self, icons: Icons, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._icons = icons
        self._findings: tuple[LintFinding, ...] = ()
        self._is_open = False
        self.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Maximum)
        self.toggle = QToolButton()
        self.toggle.setAutoRaise(True)
        self.toggle.setToolButtonStyle(Qt.ToolButtonStyle.ToolButtonTextBesideIcon)
        self.toggle.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self.toggle.setAccessibleName(self.tr("Nothing to look at"))
        self.toggle.setToolTip(self.tr("Show or hide what you may want to look at in this memory"))
        self.toggle.clicked.connect(self._on_toggle)
        self.list = FewRows(_ROWS)
        self.list.setAccessibleName(self.tr("What to look at in this memory"))
        self.list.itemActivated.connect(self._on_activated)
        self.list.itemClicked.connect(self._on_activated)
        column = QVBoxLayout(self)
        column.setContentsMargins(GAP, 0, GAP, 0)
        column.setSpacing(UNIT)
        column.addWidget(self.toggle)
        column.addWidget(self.list)
        self.hide()

    @property
    def findings(self) -> tuple[LintFinding, ...]:
        return self._findings

    def show_findings(self, findings: Sequence[LintFinding]) -> None:
        """Those of the shown memory; none hides the list."""
        if tuple(findings) == self._findings:
            return
        was_marked = is_marked(self._findings)
        self._findings = tuple(findings)
        self.setVisible(bool(findings) and self.parentWidget() is not None)
        self._fill()
        text = counted(self.tr("1 thing to look at"), "%n things to look at", len(findings))
        self.toggle.setText(text)
        self.toggle.setAccessibleName(text)
        if is_marked(findings) != was_marked:
            self._is_open = is_marked(findings)
        self._fold()
        self.updateGeometry()

    def _fill(self) -> None:
        self.list.clear()
        theme = theme_of(self.palette())
        colours = {"error": theme.bad_text, "warning": theme.warn_text, "note": theme.dim}
        for finding in self._findings:
            text = headline(finding)
            item = QListWidgetItem(text)
            item.setToolTip(as_tooltip(text))
            item.setData(_LINE_ROLE, max(1, finding.line))
            sign = {"error": "error", "warning": "flag"}.get(finding.severity, "info")
            item.setIcon(self._icons.icon(sign, colours[finding.severity]))
            self.list.addItem(item)
        self.list.updateGeometry()

    @Slot()
    def _on_toggle(self) -> None:
        self._is_open = not self._is_open
        self._fold()

    def _fold(self) -> None:
        self.toggle.setArrowType(Qt.ArrowType.DownArrow if self._is_open else Qt.ArrowType.RightArrow)
        self.list.setVisible(self._is_open)

    @Slot(QListWidgetItem)
    def _on_activated(self, item: QListWidgetItem) -> None:
        self.jump.emit(int(item.data(_LINE_ROLE)))
