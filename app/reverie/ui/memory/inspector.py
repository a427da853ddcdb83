"""Beside the open memory: how much of it the agent loads, how often it is used, its size, its last changes
and its warnings.

Everything but the last changes is known to the trees; those are asked for a moment after another memory was
opened or changed. Where the editor would get too narrow the inspector is put away, unless a person asked for
it.

Threading: GUI thread; the engine is asked in jobs. Failure: what cannot be asked is left out, and logged.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from PySide6.QtCore import QEvent, QObject, Qt, Signal, Slot
from PySide6.QtGui import QAction, QPainter, QPaintEvent, QResizeEvent
from PySide6.QtWidgets import QLabel, QWidget

from reverie.engine.asking import ask
from reverie.errors import UserError
from reverie.text.summaries import estimate_tokens
from reverie.ui.appearance import GAP, MARGIN, UNIT, scaled, theme_of
from reverie.ui.display_text import age, human_size, kind_title, uses
from reverie.ui.jobs import JobControl, single_shot
from reverie.ui.translation import counted, tr
from reverie.ui.tree.memory_tree import FileData
from reverie.ui.tree.view import MemoryTreeModel, headline, loaded_words
from reverie.ui.widgets.controls import FitPushButton, WrapLabel, flat_button
from reverie.ui.widgets.layouts import column, row_of, scrolled

if TYPE_CHECKING:
    from reverie.memory.lint import LintFinding
    from reverie.services.run_views import ChangeLogPage, LoggedChange
    from reverie.ui.editor.control import EditorControl
    from reverie.ui.editor.pane import EditorPane
    from reverie.ui.memory.edits import ShownPlace

log = logging.getLogger("reverie.inspector")
WIDTH = 220
LEAST_EDITOR = 480
SHOWN = 3
ASK_MS = 250


def who_words(change: LoggedChange) -> str:
    """Who made a change, in a word or two."""
    if change.is_first:
        return tr("first seen")
    names = {
        "you": tr("you"),
        "agent": tr("the agent"),
        "outside": tr("another program"),
        "other": tr("others"),
    }
    return names.get(change.who) or kind_title(change.who)


class InspectorSection(QWidget):
    """A caption, lines below it, and what is added below these. Of more than `most` lines the first ones are
    shown."""

    def __init__(self, title: str, most: int = 0) -> None:
        super().__init__()
        self.caption = QLabel(title)
        font = self.caption.font()
        font.setBold(True)
        self.caption.setFont(font)
        self.lines = [WrapLabel() for _ in range(most)]
        self._column = column(self, self.caption, *self.lines, margin=0, gap=UNIT)

    def say(self, lines: Sequence[str]) -> None:
        """Show these lines."""
        for index, label in enumerate(self.lines):
            label.setVisible(index < len(lines))
            label.say(lines[index] if index < len(lines) else "")

    def add(self, widget: QWidget) -> None:
        self._column.addWidget(widget)


class Inspector(QWidget):
    """`history_wanted()`; `jump(int)`: to a line, from 1, of the open memory."""

    history_wanted = Signal()
    jump = Signal(int)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setAccessibleName(self.tr("About this memory"))
        self.about = InspectorSection(self.tr("About"), 4)
        self.room = InspectorSection(self.tr("Size"), 1)
        self.history = InspectorSection(self.tr("History"), SHOWN)
        self.more = FitPushButton(self.tr("All changes"), clicked=self.history_wanted.emit)
        self.history.add(self.more)
        self.warnings = InspectorSection(self.tr("Warnings"))
        self._warnings: list[FitPushButton] = []
        inside = QWidget()
        self._column = column(
            inside,
            self.about,
            self.room,
            self.history,
            self.warnings,
            gap=MARGIN + GAP,
        )
        self._column.addStretch(1)
        self.setFixedWidth(scaled(self.font(), WIDTH))
        column(self, scrolled(inside), margin=(1, 0, 0, 0), gap=0)

    def set_action(self, pin: QAction) -> None:
        """The window's own Pin below what is known of its use."""
        button = flat_button(pin)
        button.setToolButtonStyle(Qt.ToolButtonStyle.ToolButtonTextBesideIcon)
        self.about.add(button)

    def show_history(self, changes: Sequence[LoggedChange], now: int) -> None:
        """The newest first."""
        lines = [f"{who_words(change)} · {age(now, change.at_ms)}" for change in changes[:SHOWN]]
        self.history.say([line[:1].upper() + line[1:] for line in lines])

    def show_warnings(self, findings: tuple[LintFinding, ...]) -> None:
        """Each leads to its line."""
        for button in self._warnings:
            button.hide()
            button.deleteLater()
        self._warnings = []
        self.warnings.setVisible(bool(findings))
        for finding in findings:
            button = FitPushButton(headline(finding))
            button.setFlat(True)
            button.setProperty("line", max(1, finding.line))
            button.clicked.connect(self._on_warning)
            self.warnings.add(button)
            self._warnings.append(button)

    @Slot()
    def _on_warning(self) -> None:
        self.jump.emit(int(self.sender().property("line")))

    def changeEvent(self, event: QEvent) -> None:
        super().changeEvent(event)
        if event.type() == QEvent.Type.FontChange:
            self.setFixedWidth(scaled(self.font(), WIDTH))

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.setPen(theme_of(self.palette()).line)
        painter.drawLine(0, 0, 0, self.height())


class EditorAndInspector(QWidget):
    """The editor with the inspector at its right. `resized()`: it has another width."""

    resized = Signal()

    def __init__(self, pane: EditorPane, inspector: Inspector) -> None:
        super().__init__()
        row_of(pane, inspector, holder=self, grows=pane, gap=0)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self.resized.emit()


class InspectorControl(QObject):
    """Follows the editor. `wanted`: a person wants to see it where there is room."""

    def __init__(
        self,
        shown: ShownPlace,
        model: MemoryTreeModel,
        editor: EditorControl,
        pane: EditorPane,
        now: Callable[[], int],
        parent: QObject,
    ) -> None:
        super().__init__(parent)
        self._shown = shown
        self._model = model
        self._pane = pane
        self._now = now
        self._asked: tuple[str, str] = ("", "")
        self._changes: Sequence[LoggedChange] = ()
        self.wanted = True
        self._forced = False
        self.inspector = Inspector()
        self.page = EditorAndInspector(pane, self.inspector)
        self._soon = single_shot(self, ASK_MS, self._ask)
        self.page.resized.connect(self._fit)
        editor.state_changed.connect(self.update)
        editor.was_read.connect(self.update)
        model.warnings_changed.connect(self.update)
        model.loaded_changed.connect(self.update)
        self.inspector.jump.connect(self._jump)

    @property
    def is_shown(self) -> bool:
        return not self.inspector.isHidden()

    @Slot()
    def toggle(self) -> None:
        """Show it although there is little room, or put it away."""
        self.wanted = not self.is_shown
        self._forced = self.wanted
        self._fit()

    @Slot()
    def _fit(self) -> None:
        font = self.inspector.font()
        room = self.page.width() >= scaled(font, WIDTH + LEAST_EDITOR)
        was_shown = self.is_shown
        self.inspector.setVisible(self.wanted and (room or self._forced) and self._data is not None)
        if self.is_shown and not was_shown:
            self._fill()

    @property
    def _data(self) -> FileData | None:
        file = self._pane.file
        return self._model.file_at(file.buffer.address.path) if file is not None else None

    @Slot()
    def update(self) -> None:
        """What is known of the open memory may be something else."""
        self._fit()
        if self.is_shown:
            self._fill()

    @Slot()
    def update_ages(self) -> None:
        """Some time has passed."""
        if self.is_shown:
            self.inspector.show_history(self._changes, self._now())
            self._fill()

    def _fill(self) -> None:
        data, file = self._data, self._pane.file
        if data is None or file is None:
            return
        self.inspector.about.say(self._about(data))
        self.inspector.room.say([self._size(data, file.text)])
        self.inspector.show_warnings(self._model.findings_at(data.path))
        base = file.buffer.base
        asked = data.path, base.sha256 if base is not None else ""
        if asked != self._asked:
            if asked[0] != self._asked[0]:
                self._changes = ()
                self.inspector.show_history((), self._now())
            self._asked = asked
            self._soon.start()

    def _about(self, data: FileData) -> list[str]:
        usage = data.file.usage
        loaded = self._model.loaded_at(data.path)
        lines = [loaded_words(loaded)] if loaded else []
        if usage.access_count:
            lines.append(uses(usage.agent_count, usage.own_count))
        if usage.last_accessed_at is not None:
            lines.append(self.tr("last used {when}").format(when=age(self._now(), usage.last_accessed_at)))
        if usage.pinned:
            lines.append(self.tr("pinned"))
        lines = lines or [self.tr("not used yet")]
        return [line[:1].upper() + line[1:] for line in lines]

    def _size(self, data: FileData, text: str) -> str:
        tokens = estimate_tokens(text)
        return f"{counted(tr('1 token'), '%n tokens', tokens)} · {human_size(data.file.size)}"

    @Slot()
    def _ask(self) -> None:
        session, update = self._shown.session, self._shown.update
        path = self._asked[0]
        if session is None or update is None or not path:
            return
        workbench, context = session.workbench, update.context

        async def work(_control: JobControl) -> ChangeLogPage:
            target = await ask(workbench.timeline.target, context, path)
            return await ask(workbench.change_log.page, None, target, limit=SHOWN)

        def done(page: ChangeLogPage) -> None:
            if self._asked[0] == path:
                self._changes = page.changes
                self.inspector.show_history(self._changes, self._now())

        def failed(error: UserError) -> None:
            log.info("the last changes of a memory are not known: %s", error.title)

        session.lanes.history.submit("last changes", work, done=done, failed=failed, group="inspector")

    @Slot(int)
    def _jump(self, line: int) -> None:
        self._pane.text.go_to_line(line)
        self._pane.focus_text()
