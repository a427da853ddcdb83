"""The checks of the Doctor, one below the other: sign, what has to hold, what was seen, and one press to mend
it.

Rows are kept while their check stays, so that the focus stays where it is when the checks are made again.
Evidence comes from disk: plain text, wrapped anywhere.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from PySide6.QtCore import QEvent, Qt, Signal, Slot
from PySide6.QtGui import QColor, QPainter, QPaintEvent, QPalette
from PySide6.QtWidgets import QGridLayout, QLabel, QVBoxLayout, QWidget

from reverie.ui.buttons import FitPushButton
from reverie.ui.flow import FlowLayout
from reverie.ui.icons import Icons
from reverie.ui.labels import WrapLabel, embolden
from reverie.ui.shown import visible
from reverie.ui.theme import GAP, MARGIN, UNIT, theme_of

if TYPE_CHECKING:
    from reverie.doctor.findings import Finding

_SIGNS = {"pass": "check", "off": "info", "warn": "warning", "fail": "error"}


class FindingRows(QWidget):
    """`fix(str)` names the check whose fix is wanted."""

    fix = Signal(str)

    def __init__(self, icons: Icons, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._icons = icons
        self._rows: dict[str, FindingRow] = {}
        self._held = ""  # the check whose button had the focus
        self._column = QVBoxLayout(self)
        self._column.setContentsMargins(0, 0, 0, 0)
        self._column.setSpacing(0)
        self._column.addStretch(1)

    @property
    def checks(self) -> tuple[str, ...]:
        """The checks that are shown, from top to bottom."""
        return tuple(self._rows)

    def row(self, check: str) -> FindingRow:
        return self._rows[check]

    def show_findings(self, findings: Sequence[Finding], *, cause: str = "", busy: bool = False) -> None:
        """Show `findings`; `cause` is the check to look at first. While `busy` nothing can be pressed."""
        self._hold_focus()
        wanted = [finding.check for finding in findings]
        if wanted != list(self._rows):
            self._make(wanted)
        for finding in findings:
            self._rows[finding.check].say(finding, first=finding.check == cause, busy=busy)
        self._give_focus_back()

    def set_busy(self, busy: bool) -> None:
        self._hold_focus()
        for row in self._rows.values():
            row.button.setEnabled(not busy)
        self._give_focus_back()

    def _hold_focus(self) -> None:
        """Buttons are going to be switched off or to go. Qt would hand the focus from each to the next, and
        scroll to every one of them."""
        focused = self.window().focusWidget()
        for check, row in self._rows.items():
            if row.button is focused:
                self._held = check
                self.setFocus()

    def _give_focus_back(self) -> None:
        row = self._rows.get(self._held)
        if row is None or self.window().focusWidget() is not self:
            return
        if row.button.isEnabled() and row.button.isVisibleTo(self):
            row.button.setFocus()

    def _make(self, wanted: Sequence[str]) -> None:
        kept = {check: self._rows[check] for check in wanted if check in self._rows}
        for check, row in self._rows.items():
            self._column.removeWidget(row)
            if check not in kept:
                row.hide()
                row.deleteLater()
        self._rows = {}
        for place, check in enumerate(wanted):
            row = kept.get(check) or FindingRow(check, self._icons)
            row.fix.connect(self.fix, Qt.ConnectionType.UniqueConnection)
            self._rows[check] = row
            self._column.insertWidget(place, row)


class FindingRow(QWidget):
    """One check."""

    fix = Signal(str)

    def __init__(self, check: str, icons: Icons) -> None:
        super().__init__()
        self._check = check
        self._icons = icons
        self._state = "pass"
        self._first = False
        self.setObjectName(f"check-{check}")
        self._sign = QLabel()
        self.title = WrapLabel()
        embolden(self.title)
        self.evidence = WrapLabel()
        self.button = FitPushButton()
        self.button.clicked.connect(self._on_fix)
        self.button.hide()
        grid = QGridLayout(self)
        grid.setContentsMargins(MARGIN, GAP, MARGIN, GAP)
        grid.setHorizontalSpacing(GAP)
        grid.setVerticalSpacing(UNIT)
        grid.setColumnStretch(1, 1)
        grid.addWidget(self._sign, 0, 0, Qt.AlignmentFlag.AlignTop)
        grid.addWidget(self.title, 0, 1)
        grid.addWidget(self.evidence, 1, 1)
        line = FlowLayout(gap=GAP)  # as wide as its text, and never wider than the row
        line.addWidget(self.button)
        grid.addLayout(line, 2, 1)
        self._tint()

    @property
    def state(self) -> str:
        return self._state

    def say(self, finding: Finding, *, first: bool, busy: bool) -> None:
        self._state, self._first = finding.state, first
        self.title.say(finding.title)
        self.evidence.say(finding.evidence)
        self.button.setVisible(finding.fix is not None)
        self.button.setEnabled(not busy)
        if finding.fix is not None:
            self.button.say(visible(finding.fix.label))
            self.button.setAccessibleDescription(visible(finding.title))
        word = {
            "pass": self.tr("in order"),
            "off": self.tr("off"),
            "warn": self.tr("needs a look"),
            "fail": self.tr("does not hold"),
        }.get(finding.state, "")
        self._sign.setToolTip(word)
        self.setAccessibleName(f"{self.title.text()}: {word}. {self.evidence.text()}")
        self._tint()

    def changeEvent(self, event: QEvent) -> None:
        super().changeEvent(event)
        if event.type() == QEvent.Type.PaletteChange and hasattr(self, "evidence"):
            self._tint()

    def paintEvent(self, event: QPaintEvent) -> None:
        """The row to look at first stands out; a line ends each."""
        painter = QPainter(self)
        theme = theme_of(self.palette())
        if self._first:
            painter.fillRect(self.rect(), self._back())
        painter.setPen(theme.line)
        painter.drawLine(self.rect().bottomLeft(), self.rect().bottomRight())

    def _back(self) -> QColor:
        theme = theme_of(self.palette())
        return theme.bad_back if self._state == "fail" else theme.warn_back

    def _tint(self) -> None:
        theme = theme_of(self.palette())
        colour = {
            "pass": theme.good_text,
            "off": theme.dim_window,
            "warn": theme.warn_text,
            "fail": theme.bad_text,
        }[self._state]
        name = _SIGNS[self._state]
        self._sign.setPixmap(self._icons.pixmap(name, 16, colour, self.devicePixelRatioF()))
        # Dim text would be too dim on the tint of the first cause.
        text = self.palette().color(QPalette.ColorRole.WindowText) if self._first else theme.dim_window
        if self.evidence.palette().color(QPalette.ColorRole.WindowText) != text:
            palette = self.evidence.palette()
            palette.setColor(QPalette.ColorRole.WindowText, text)
            self.evidence.setPalette(palette)
        self.update()

    @Slot()
    def _on_fix(self) -> None:
        self.fix.emit(self._check)
