"""The Doctor tab: why nothing happened, and every check behind it as a list one can act on.

Shows what it is given and asks by signal; `doctor.control` examines and mends.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from PySide6.QtCore import Signal, Slot
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QCheckBox, QProgressBar, QStackedWidget, QVBoxLayout, QWidget

from reverie.doctor.findings import first_cause
from reverie.errors import MendableError
from reverie.ui.buttons import FitPushButton
from reverie.ui.columns import scrolled
from reverie.ui.doctor.finding_rows import FindingRows
from reverie.ui.flow import FlowLayout
from reverie.ui.icons import Icons
from reverie.ui.labels import WrapLabel, embolden
from reverie.ui.memory.bars import MessageBar
from reverie.ui.memory.heading import EmptyPage
from reverie.ui.shown import visible
from reverie.ui.tab_page import TabPage
from reverie.ui.theme import GAP, MARGIN, UNIT

if TYPE_CHECKING:
    from reverie.doctor.findings import Finding


class DoctorTab(TabPage):
    """`examine(bool)`: look again, with a real test of the model or without;
    `fix(str)`: mend this check."""

    examine = Signal(bool)
    fix = Signal(str)

    def __init__(self, icons: Icons, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._findings: tuple[Finding, ...] = ()
        self._busy = False
        self.title = WrapLabel()
        embolden(self.title, 1.15)
        self.cause = WrapLabel()
        self.look = FitPushButton(self.tr("Look again"))
        self.probe = FitPushButton()
        self.probe.say(
            self.tr("Test the model"),
            self.tr("Asks the model for real, with one tool call; a paid service charges for it"),
        )
        self.copy = FitPushButton(self.tr("Copy"))
        self.copy.setToolTip(self.tr("Copy all checks as text"))
        self.only = QCheckBox(self.tr("Only what &needs a look"))
        self.bar = QProgressBar()
        self.bar.setRange(0, 0)
        self.bar.setTextVisible(False)
        self.bar.setMaximumHeight(4)
        policy = self.bar.sizePolicy()
        policy.setRetainSizeWhenHidden(True)
        self.bar.setSizePolicy(policy)
        self.bar.setAccessibleName(self.tr("The checks are being made"))
        self.message = MessageBar(icons, "doctor-message")
        self.rows = FindingRows(icons)
        self.nothing = EmptyPage(icons, "check")
        self._lay_out()
        self.look.clicked.connect(self._on_look)
        self.probe.clicked.connect(self._on_probe)
        self.copy.clicked.connect(self._on_copy)
        self.only.toggled.connect(self._show)
        self.rows.fix.connect(self.fix)
        self.forget()

    def _lay_out(self) -> None:
        buttons = FlowLayout(gap=GAP)
        for control in (self.look, self.probe, self.copy, self.only):
            buttons.addWidget(control)
        head = QVBoxLayout()
        head.setContentsMargins(MARGIN, MARGIN, MARGIN, GAP)
        head.setSpacing(UNIT)
        head.addWidget(self.title)
        head.addWidget(self.cause)
        head.addSpacing(UNIT)
        head.addLayout(buttons)
        self._pages = QStackedWidget()
        self._pages.addWidget(scrolled(self.rows, self.tr("Checks")))
        self._pages.addWidget(self.nothing)
        outer = QVBoxLayout(self)
        outer.setContentsMargins(0, 0, 0, 0)
        outer.setSpacing(0)
        outer.addLayout(head)
        outer.addWidget(self.bar)
        outer.addWidget(self.message)
        outer.addWidget(self._pages, 1)

    @property
    def findings(self) -> tuple[Finding, ...]:
        return self._findings

    # What is known

    def forget(self, sentence: str = "", *, coming: bool = False) -> None:
        """Nothing is known of what is selected now; `sentence` says why. `coming`: the checks are made as
        soon as somebody looks."""
        self._findings, self._coming = (), coming
        self.title.say(self.tr("Doctor"))
        self.cause.say(sentence or self.tr("Why the memory writer or a consolidation did not run."))
        self.message.clear()
        self._show()

    def set_busy(self, busy: bool) -> None:
        """The checks are being made, or something is being mended."""
        self._busy = busy
        self.bar.setVisible(busy)
        for button in (self.look, self.probe):
            button.setEnabled(not busy)
        self.rows.set_busy(busy)

    def show_findings(self, findings: Sequence[Finding], place: str) -> None:
        """All checks of the workspace called `place`, in the order of the gates."""
        self._findings = tuple(findings)
        first = first_cause(self._findings)
        if first is None:
            self.title.say(self.tr("Everything is in order"))
            self.cause.say(self.tr("All checks of {place} hold.").format(place=place))
        else:
            said = self.tr("{title}: no") if first.state == "fail" else self.tr("{title}: not quite")
            self.title.say(said.format(title=first.title))
            self.cause.say(first.evidence)
        self._show()

    def say_error(self, error: MendableError) -> None:
        self.message.say_error(error)

    @Slot()
    def _show(self) -> None:
        first = first_cause(self._findings)
        shown = [
            one for one in self._findings if one.state not in ("pass", "off") or not self.only.isChecked()
        ]
        self.rows.show_findings(shown, cause=first.check if first is not None else "", busy=self._busy)
        if self._findings:
            self.nothing.say(self.tr("Nothing needs a look"), self.tr("Every check holds."))
        elif self._coming:
            self.nothing.say(self.tr("The checks are being made"), "")
        else:
            sentence = self.tr("Select a workspace at the left; the checks are about one.")
            self.nothing.say(self.tr("No workspace is examined"), sentence)
        self._pages.setCurrentIndex(0 if shown else 1)
        self.copy.setEnabled(bool(self._findings))

    # What is wanted

    @Slot()
    def _on_look(self) -> None:
        self.examine.emit(False)

    @Slot()
    def _on_probe(self) -> None:
        self.examine.emit(True)

    @Slot()
    def _on_copy(self) -> None:
        lines = [
            f"{finding.state}: {visible(finding.title)}: {visible(finding.evidence)}"
            for finding in self._findings
        ]
        QGuiApplication.clipboard().setText("\n".join(lines))
