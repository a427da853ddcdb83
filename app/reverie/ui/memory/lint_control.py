"""Checks the shown memories beside the window's work and marks what a person may want to look at.

A look begins a moment after the trees are complete and after each change, on a thread of its own, slice by
slice (`services.lint`), so that neither reading nor typing waits for it. Marks go to the tree, the findings
of the open memory under its heading. Nothing is looked at while nothing changes.

Threading: GUI thread; the desk is touched by the lane only. Failure: told as a notice of the session.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, Qt, QTimer, Signal, Slot
from PySide6.QtGui import QTextCursor
from PySide6.QtWidgets import QListWidgetItem, QSizePolicy, QToolButton, QVBoxLayout, QWidget

from reverie.errors import UserError
from reverie.ui.appearance import GAP, UNIT, Icons, theme_of
from reverie.ui.display_text import as_tooltip
from reverie.ui.jobs import JobControl, Lane
from reverie.ui.session import HomeSession, TreeUpdate
from reverie.ui.translation import counted
from reverie.ui.tree.model import headline, is_marked
from reverie.ui.widgets.layouts import FewRows

if TYPE_CHECKING:
    from reverie.memory.lint import LintFinding
    from reverie.services.lint import LintResult
    from reverie.ui.memory.tab import MemoryTab


# What a person may want to look at in the open memory: a short list under the editor's heading.
#
# A row says what and on which line; opening it puts the caret there. The list takes no room while there is
# nothing to say, and with notes alone only its one-line heading. What it says is about the version on disk.


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


QUIET_MS = 400


class LintControl(QObject):
    """The marks of the home that `tab` shows. Feed it with `set_session` and `follow`."""

    def __init__(self, tab: MemoryTab, icons: Icons) -> None:
        super().__init__(tab)
        self._tab = tab
        self.findings = FindingsList(icons)
        self._session: HomeSession | None = None
        self._update: TreeUpdate | None = None
        self._dirty: set[Path] = set()
        self._known: dict[str, tuple[LintFinding, ...]] = {}
        self._lane: Lane | None = None
        self._stopped = False
        self.complete = False
        self._quiet = QTimer(self)
        self._quiet.setSingleShot(True)
        self._quiet.setInterval(QUIET_MS)
        self._quiet.timeout.connect(self._look)
        tab.editor.state_changed.connect(self._show)
        tab.editor.was_read.connect(self._show)
        self.findings.jump.connect(self._jump)
        self._put_in(tab)

    def _put_in(self, tab: MemoryTab) -> None:
        """Below what the editor itself has to say."""
        page = tab.pane.error.parentWidget()
        column = page.layout() if page is not None else None
        assert isinstance(column, QVBoxLayout)
        column.insertWidget(column.indexOf(tab.pane.error) + 1, self.findings)

    def set_session(self, session: HomeSession | None) -> None:
        """Another home, or none."""
        self._forget()
        self._session = session

    def follow(self, update: TreeUpdate) -> None:
        """The trees as they are now."""
        if update.other:
            self._forget()
        if update.names_only:
            return
        self._update = update
        if update.changes is not None:
            self._dirty |= update.changes.paths
        self.complete = False
        self._quiet.start()

    def stop(self) -> None:
        """End the thread; calling it again is harmless."""
        self._stopped = True
        self._quiet.stop()
        if self._lane is not None:
            self._lane.stop()

    def _forget(self) -> None:
        self._quiet.stop()
        self._update = None
        self._dirty.clear()
        self._take({})
        self.complete = False
        if self._lane is not None:
            self._lane.abandon("lint")

    @Slot()
    def _look(self) -> None:
        update, session = self._update, self._session
        if update is None or session is None or self._stopped:
            return
        if self._lane is None:
            self._lane = Lane("lint", self)
        dirty, self._dirty = frozenset(self._dirty), set()
        workbench, view = session.workbench, update.view

        def work(control: JobControl) -> LintResult:
            return workbench.lint.look(view, dirty=dirty, check=control.check)

        def failed(error: UserError) -> None:
            session.notified.emit(str(error))

        def cancelled() -> None:
            # What was named and not looked at is still to be looked at.
            self._dirty |= dirty

        self._lane.submit(
            "check the memories", work, done=self._on_looked, failed=failed, cancelled=cancelled, group="lint"
        )

    def _on_looked(self, look: LintResult) -> None:
        self._take(dict(look.findings))
        if self._quiet.isActive():
            return
        self.complete = look.complete
        if not look.complete:
            self._look()

    def _take(self, findings: dict[str, tuple[LintFinding, ...]]) -> None:
        self._known = findings
        self._tab.model.set_lint(findings)
        self._show()

    @Slot()
    def _show(self) -> None:
        """The findings of the open memory."""
        file, session = self._tab.pane.file, self._session
        here = file is not None and session is not None and file.buffer.ref.home == session.info.id
        path = file.buffer.address.path if file is not None and here else ""
        self.findings.show_findings(self._known.get(path, ()))

    @Slot(int)
    def _jump(self, line: int) -> None:
        text = self._tab.pane.text
        block = text.document().findBlockByNumber(min(line, text.document().blockCount()) - 1)
        cursor = QTextCursor(block)
        cursor.movePosition(QTextCursor.MoveOperation.EndOfBlock, QTextCursor.MoveMode.KeepAnchor)
        text.setTextCursor(cursor)
        text.centerCursor()
        text.setFocus()
