"""The footer below the trees: one row per scope, the harvest, the Consolidate button, and the running job.

Rows come from a `StatusView` and from nothing else: neither the button nor a run's result fills them. Ages
are counted anew by a timer. The footer fits any width from 320 px: below `NARROW` a row's name moves into its
sentence.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from PySide6.QtCore import QEvent, Qt, QTimer, Signal, Slot
from PySide6.QtGui import QAction, QPainter, QPaintEvent, QResizeEvent
from PySide6.QtWidgets import QGridLayout, QHBoxLayout, QMenu, QSizePolicy, QToolButton, QVBoxLayout, QWidget

from reverie.homes.scopes import Scope
from reverie.ui import words
from reverie.ui.buttons import FitToolButton
from reverie.ui.icons import Icons
from reverie.ui.memory.agent_rows import AgentRows
from reverie.ui.memory.bars import MessageBar
from reverie.ui.memory.footer_rows import FooterRow, RowWords, TwoToneLabel, harvest_words, row_words
from reverie.ui.memory.run_panel import RunPanel
from reverie.ui.shown import as_tooltip, visible
from reverie.ui.theme import GAP, MARGIN, UNIT, theme_of

if TYPE_CHECKING:
    from reverie.homes.agents import StatusLine
    from reverie.services.models import Choice
    from reverie.services.views import StatusView

NARROW = 440
SENTENCE = 220
SIDE = 150
AGES_MS = 20_000
SCOPES = (Scope.WORKSPACE, Scope.PROJECT, Scope.GLOBAL)


class Footer(QWidget):
    """Show a context's status with `show_status`; `forget` when another context is being read. `aged()`: some
    time has passed, ages are to be shown anew."""

    aged = Signal()

    def __init__(self, icons: Icons, now: Callable[[], int], parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setAccessibleName(self.tr("Consolidation"))
        self._now = now
        self._icons = icons
        self._status: StatusView | None = None
        self._extraction: StatusLine | None = None
        self._run: QAction | None = None
        self._other: QAction | None = None
        self._other_engine = ""
        self._narrow = False
        self._rows_area = QWidget()
        grid = QGridLayout(self._rows_area)
        grid.setContentsMargins(0, 0, 0, 0)
        grid.setHorizontalSpacing(GAP + UNIT)
        grid.setVerticalSpacing(UNIT)
        grid.setColumnStretch(1, 1)
        self.rows = {
            scope: FooterRow(words.scope_name(scope), grid, line) for line, scope in enumerate(SCOPES)
        }
        self.harvest = FooterRow(self.tr("Harvest"), grid, len(SCOPES))
        self.harvest.set_visible(False)
        grid.setRowStretch(len(SCOPES) + 1, 1)
        self.agent = AgentRows(icons)
        self.problems = MessageBar(icons, "status-problems")
        self.panel = RunPanel(icons)
        self.button = FitToolButton()
        self.engine = TwoToneLabel()
        self._make_button_column()
        self._lay_out()
        self._timer = QTimer(self)
        self._timer.setInterval(AGES_MS)
        self._timer.timeout.connect(self._on_time)
        self._timer.start()

    def _make_button_column(self) -> None:
        self.button.setPopupMode(QToolButton.ToolButtonPopupMode.MenuButtonPopup)
        self.button.setToolButtonStyle(Qt.ToolButtonStyle.ToolButtonTextBesideIcon)
        self.button.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.button.setMinimumHeight(28)
        self.button.setSizePolicy(QSizePolicy.Policy.Maximum, QSizePolicy.Policy.Fixed)
        self.engine.setAlignment(Qt.AlignmentFlag.AlignHCenter)

    def _lay_out(self) -> None:
        self._side = QWidget()
        column = QVBoxLayout(self._side)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(UNIT)
        column.addWidget(self.button, 0, Qt.AlignmentFlag.AlignRight)
        column.addWidget(self.engine)
        column.addStretch(1)
        top = QHBoxLayout()
        top.setSpacing(MARGIN)
        top.addWidget(self._rows_area, 1)
        top.addWidget(self._side)
        outer = QVBoxLayout(self)
        outer.setContentsMargins(MARGIN, MARGIN, MARGIN, MARGIN)
        outer.setSpacing(GAP)
        outer.addLayout(top)
        outer.addWidget(self.agent)
        outer.addWidget(self.problems)
        outer.addWidget(self.panel)

    @contextmanager
    def keeping_focus(self) -> Iterator[None]:
        """A run begins or ends in here, and buttons go or are switched off. Qt would hand the focus of such
        a button to the text beside the footer, where the next key is typed into somebody's memory."""
        window = self.window()
        before = window.focusWidget()
        ours = before is self or (before is not None and self.isAncestorOf(before))
        yield
        # A button that goes may hold the focus until it is deleted.
        stays = before is window.focusWidget() and before is not None and before.isVisibleTo(window)
        if ours and not (stays and before is not self):
            places = (*self.panel.to_press, self.button)
            next((each for each in places if each.isEnabled()), self).setFocus()

    def set_actions(self, run: QAction, menu: QMenu) -> None:
        """The button's own action and its menu."""
        self._run = run
        self.button.setDefaultAction(run)
        self.button.take_action_text()
        self.button.setMenu(menu)
        self.say_engine()

    def offer(self, action: QAction | None) -> None:
        """Another action on the button than consolidating; None: consolidating again."""
        before, after = self.button.defaultAction(), action or self._run
        if after is not None and after is not before:
            self._other = action
            self.button.removeAction(before)
            self.button.setDefaultAction(after)
            self.button.take_action_text()
            self.say_engine()

    def say_other_engine(self, engine: str, *, to_notes: bool = False) -> None:
        """Which engine the other action uses; empty while nobody knows. `to_notes`: its results become notes
        to Codex."""
        self._other_engine = self._engine_words(engine) if engine else ""
        if engine and to_notes:
            self._other_engine = self.tr("as notes to Codex, {engine}").format(engine=self._other_engine)
        self.say_engine()

    def say_engine(self, reason: str = "", choice: Choice | None = None) -> None:
        """Which engine the button uses, or why it cannot be pressed."""
        if self._other is not None:
            name = self._other_engine
            self.engine.say_parts("", "", name)
            self.engine.setToolTip("")
            text = self._other.iconText()
            self.button.setAccessibleName(f"{text}, {name}" if name else text)
            return
        engine = self._engine_words(choice.engine if choice is not None else "rules")
        self.engine.say_parts("", "", reason or engine)
        self.engine.setToolTip(as_tooltip(choice.reason) if choice is not None else "")
        self.button.setAccessibleName(self.tr("Consolidate now, {engine}").format(engine=engine))

    def _engine_words(self, engine: str) -> str:
        if engine == "rules":
            return self.tr("with the rules engine")
        return self.tr("with {model}").format(model=visible(engine))

    # Rows

    def forget(self) -> None:
        """Nothing is known of the new context yet."""
        self._status = None
        for row in self.rows.values():
            row.set_visible(True)
            row.say(RowWords("loading", "…"))
        self.harvest.set_visible(False)
        self.agent.say((), 0)
        self.problems.clear()
        self.panel.show_interrupted(())

    def show_status(self, status: StatusView) -> None:
        """What the sidecar says now."""
        self._status = status
        self._say_rows()
        self.panel.show_interrupted(status.interrupted)
        if status.problems:
            self.problems.say(" ".join(visible(problem) for problem in status.problems), tone="warn")
        else:
            self.problems.clear()

    @property
    def agent_told(self) -> bool:
        """The agent says something of its own jobs."""
        return self._status is not None and bool(self._status.agent)

    def say_extraction(self, line: StatusLine | None) -> None:
        """Where Reverie's own extraction of this home stands; None for a home that has none."""
        self._extraction = line
        self._say_rows()

    @Slot()
    def _on_time(self) -> None:
        self._say_rows()
        self.aged.emit()

    def _say_rows(self) -> None:
        if self._status is None:
            return
        now = self._now()
        workspaces = any(row.available for row in self._status.rows if row.scope is Scope.WORKSPACE)
        alone = sum(not row.permanent for row in self._status.rows) == 1
        for row in self._status.rows:
            found = row_words(
                row,
                now,
                self._status.spent.get(row.scope),
                workspaces=workspaces,
                alone=alone,
                agent_too=self.agent_told,
            )
            self.rows[row.scope].set_visible(not row.permanent)
            self.rows[row.scope].say(found)
        harvest = self._status.harvest
        self.harvest.set_visible(harvest is not None)
        if harvest is not None:
            self.harvest.say(harvest_words(harvest, now))
        own = (self._extraction,) if self._extraction is not None else ()
        self.agent.say((*self._status.agent, *own), now)

    # Width

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._side.setMaximumWidth(max(SIDE, event.size().width() * 2 // 5))
        narrow = event.size().width() < max(NARROW, self._roomy)
        if narrow != self._narrow:
            self._narrow = narrow
            for row in (*self.rows.values(), self.harvest):
                row.set_narrow(narrow)

    @property
    def _roomy(self) -> int:
        """The width from which names may stand in a column of their own."""
        names = max(row.label.sizeHint().width() for row in (*self.rows.values(), self.harvest))
        return names + self.button.sizeHint().width() + SENTENCE

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.setPen(theme_of(self.palette()).line)
        painter.drawLine(0, 0, self.width(), 0)

    def changeEvent(self, event: QEvent) -> None:
        super().changeEvent(event)
        if event.type() == QEvent.Type.PaletteChange:
            self.update()
