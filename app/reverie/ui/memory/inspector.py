"""The inspector beside the open memory, and the bar about its unseen changes.

The inspector shows how much of the memory the agent loads, its use, its size, its last changes and its
warnings. The last changes are read by a job a moment after a memory was opened or changed; all other facts
come from the trees. The inspector is hidden if the editor would get too narrow, unless the user has asked for
the inspector.

An unseen change is one that someone else made since the user last saw the memory. A bar names its author and
time, with Undo, and the changed lines are marked. The mark in the trees is not removed when the file is
opened, but when the changed lines have been on screen for a moment, or when the user presses Seen. A deleted
memory can be restored from here.

Threading: GUI thread; the engine is called in jobs. Failure: history that the inspector cannot read is left
out and logged; a failure to mark a change as seen, or to undo it, is shown in the editor.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from PySide6.QtCore import QEvent, QObject, QPoint, Qt, Signal, Slot
from PySide6.QtGui import QAction, QPainter, QPaintEvent, QResizeEvent
from PySide6.QtWidgets import QLabel, QSizePolicy, QWidget

from reverie.engine.asking import ask
from reverie.errors import CHANGED_SINCE, UserError
from reverie.text.summaries import estimate_tokens
from reverie.ui.appearance import GAP, MARGIN, UNIT, theme_of
from reverie.ui.display_text import age, counted, human_size, pinned_for_reverie, tr, uses, visible
from reverie.ui.editor.merge_control import by_whom
from reverie.ui.jobs import JobControl, repeating, single_shot
from reverie.ui.metrics import scaled
from reverie.ui.run_labels import kind_title
from reverie.ui.tree.findings import headline
from reverie.ui.tree.memory_tree import FileData, GoneData, RowData
from reverie.ui.tree.model import MemoryTreeModel, loaded_words
from reverie.ui.widgets.controls import FitPushButton, WrapLabel, flat_button
from reverie.ui.widgets.layouts import column, row_of, scrolled

if TYPE_CHECKING:
    from reverie.memory.listing import LintFinding
    from reverie.services.change_log import ChangeLogPage, LoggedChange
    from reverie.services.views import UnseenChange
    from reverie.ui.editor.control import EditorControl
    from reverie.ui.editor.pane import EditorPane
    from reverie.ui.memory.edits import HandControl
    from reverie.ui.memory.shown_place import ShownPlace
    from reverie.ui.session import TreeUpdate

log = logging.getLogger("reverie.inspector")
WIDTH = 220
"""The width of the inspector, in pixels at the default font size."""
LEAST_EDITOR = 480
"""The minimum width of the editor beside the inspector, in pixels at the default font size."""
SHOWN = 3
"""The number of changes that are shown."""
_ASKED = 20
"""The number of changes that are read; more than `SHOWN`, as all changes of one minute share a line."""
ASK_MS = 250
"""The delay before the changes are read, in milliseconds."""


def who_words(change: LoggedChange) -> str:
    """Return the author of a change, in a word or two."""
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
    """A caption with at most `most` lines of text below it, and further widgets that the owner adds."""

    def __init__(self, title: str, most: int = 0) -> None:
        super().__init__()
        self.caption = QLabel(title)
        font = self.caption.font()
        font.setBold(True)
        self.caption.setFont(font)
        self.lines = [WrapLabel() for _ in range(most)]
        self._column = column(self, self.caption, *self.lines, margin=0, gap=UNIT)

    def say(self, lines: Sequence[str]) -> None:
        """Show the first lines, up to the maximum of the section."""
        for index, label in enumerate(self.lines):
            label.setVisible(index < len(lines))
            label.say(lines[index] if index < len(lines) else "")

    def add(self, widget: QWidget) -> None:
        self._column.addWidget(widget)


class Inspector(QWidget):
    """The panel beside the editor with facts about the open memory."""

    history_wanted = Signal()
    """Emitted when the user wants to see all changes of the memory."""
    pin_wanted = Signal()
    """Emitted when the user wants to pin or unpin the memory."""
    jump = Signal(int)
    """Emitted with a line, counted from 1, when the user clicks a warning."""

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
        self.pin: QAction | None = None
        inside = QWidget()
        self._column = column(inside, self.about, self.room, self.history, self.warnings, gap=MARGIN + GAP)
        self._column.addStretch(1)
        self.setFixedWidth(scaled(self.font(), WIDTH))
        column(self, scrolled(inside), margin=(1, 0, 0, 0), gap=0)

    def set_action(self, pin: QAction) -> None:
        """Add a Pin button for the open memory.

        Its text is that of `pin`, the action for the selected memories.
        """
        self.pin = QAction(pin.icon(), pin.text(), self)
        self.pin.setToolTip(pin.statusTip())
        self.pin.setCheckable(True)
        self.pin.triggered.connect(self.pin_wanted)
        button = flat_button(self.pin)
        button.setToolButtonStyle(Qt.ToolButtonStyle.ToolButtonTextBesideIcon)
        self.about.add(button)

    def show_history(self, changes: Sequence[LoggedChange], now: int) -> None:
        """Show the latest of `changes`, which are sorted from newest to oldest; `now` is in milliseconds."""
        told = (f"{who_words(change)} · {age(now, change.at_ms)}" for change in changes)
        lines = list(dict.fromkeys(told))[:SHOWN]  # several saves in a minute are one line
        self.history.say([line[:1].upper() + line[1:] for line in lines])

    def show_warnings(self, findings: tuple[LintFinding, ...]) -> None:
        """Show a button for each finding; a click goes to the finding's line."""
        for button in self._warnings:
            button.hide()
            button.deleteLater()
        self._warnings = []
        self.warnings.setVisible(bool(findings))
        for finding in findings:
            text = headline(finding)
            button = FitPushButton(text, text)
            # As wide as the panel; the tool tip has the whole text.
            button.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Fixed)
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
    """The editor with the inspector to its right."""

    resized = Signal()
    """Emitted after every resize."""

    def __init__(self, pane: EditorPane, inspector: Inspector) -> None:
        super().__init__()
        row_of(pane, inspector, holder=self, grows=pane, gap=0)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self.resized.emit()


class InspectorControl(QObject):
    """The controller of the inspector: it updates it from the editor, and hides it if there is no room.

    `wanted`: True if the user wants to see the inspector whenever there is room.
    """

    pin_toggled = Signal(object)
    """Emitted with the `FileData` of a memory to pin or unpin."""

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
        self.inspector.pin_wanted.connect(self._on_pin_wanted)

    @property
    def is_shown(self) -> bool:
        return not self.inspector.isHidden()

    @Slot()
    def toggle(self) -> None:
        """Hide the inspector, or show it even if there is too little room."""
        self.wanted = not self.is_shown
        self._forced = self.wanted
        self._fit()

    @Slot()
    def _fit(self) -> None:
        """Show the inspector if the user wants to see it and there is room, otherwise hide it."""
        font = self.inspector.font()
        room = self.page.width() >= scaled(font, WIDTH + LEAST_EDITOR)
        was_shown = self.is_shown
        self.inspector.setVisible(self.wanted and (room or self._forced) and self._data is not None)
        if self.is_shown and not was_shown:
            self._fill()

    @property
    def _data(self) -> FileData | None:
        """The open memory in the trees; None if no memory is open."""
        file = self._pane.file
        return self._model.file_at(file.buffer.address.path) if file is not None else None

    @Slot()
    def update(self) -> None:
        """Update the inspector for the open memory."""
        self._fit()
        if self.is_shown:
            self._fill()

    @Slot()
    def update_ages(self) -> None:
        """Update the relative times, such as "5 min ago"."""
        if self.is_shown:
            self.inspector.show_history(self._changes, self._now())
            self._fill()

    def _fill(self) -> None:
        """Show the facts about the open memory, and start reading its changes."""
        data, file = self._data, self._pane.file
        if data is None or file is None:
            return
        self.inspector.about.say(self._about(data))
        self._show_pin(data)
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

    def _show_pin(self, data: FileData) -> None:
        if self.inspector.pin is not None:
            self.inspector.pin.setChecked(data.file.usage.pinned)

    @Slot()
    def _on_pin_wanted(self) -> None:
        data = self._data
        if data is not None:
            self._show_pin(data)  # the old state, until the sidecar was written
            self.pin_toggled.emit(data)

    def _about(self, data: FileData) -> list[str]:
        """Return the lines about loading, use and pin."""
        usage = data.file.usage
        loaded = self._model.loaded_at(data.path)
        lines = [loaded_words(loaded)] if loaded else []
        if usage.access_count:
            lines.append(uses(usage.agent_count, usage.own_count))
        if usage.last_accessed_at is not None:
            lines.append(self.tr("last used {when}").format(when=age(self._now(), usage.last_accessed_at)))
        if usage.pinned:
            session = self._shown.session
            known = session is None or session.facts.loads_pinned
            lines.append(self.tr("pinned") if known else pinned_for_reverie())
        lines = lines or [self.tr("not used yet")]
        return [line[:1].upper() + line[1:] for line in lines]

    def _size(self, data: FileData, text: str) -> str:
        tokens = estimate_tokens(text)
        return f"{counted(tr('1 token'), '%n tokens', tokens)} · {human_size(data.file.size)}"

    @Slot()
    def _ask(self) -> None:
        """Read the last changes in a job, and show them."""
        session, update = self._shown.session, self._shown.update
        path = self._asked[0]
        if session is None or update is None or not path:
            return
        workbench, context = session.workbench, update.context

        async def work(_control: JobControl) -> ChangeLogPage:
            target = await ask(workbench.timeline.target, context, path)
            return await ask(workbench.change_log.page, None, target, limit=_ASKED)

        def done(page: ChangeLogPage) -> None:
            if self._asked[0] == path:
                self._changes = page.changes
                self.inspector.show_history(self._changes, self._now())

        def failed(error: UserError) -> None:
            log.info("cannot read the last changes of a memory: %s", error.title)

        session.lanes.history.submit("last changes", work, done=done, failed=failed, group="inspector")

    @Slot(int)
    def _jump(self, line: int) -> None:
        self._pane.text.go_to_line(line)
        self._pane.focus_text()


LOOK_MS = 300
"""Milliseconds between two checks of which lines are on screen."""
_NOTHING = ("", "", False)
SEEN_AFTER = 4
"""The number of checks after which lines on screen count as seen."""


class UnseenControl(QObject):
    """The controller of the bar and the marks for the unseen change of the open memory.

    An unseen change was made by someone else since the user last saw the memory. The bar stays with its text
    after the change was seen and while the user continues to write.
    """

    history_wanted = Signal()
    """Emitted when the user wants to see the changes of the open memory."""

    def __init__(
        self,
        shown: ShownPlace,
        editor: EditorControl,
        pane: EditorPane,
        hand: HandControl,
        now: Callable[[], int],
        parent: QObject,
    ) -> None:
        super().__init__(parent)
        self._shown = shown
        self._editor = editor
        self._pane = pane
        self._hand = hand
        self._now = now
        self._asked: tuple[str, str, bool] = _NOTHING
        self._change: UnseenChange | None = None
        self._refused: tuple[str, str] | None = None
        """Path and hash of the memory for which the bar shows why Undo was refused, until either changes."""
        self._left: set[int] = set()
        """The numbers, from 0, of the changed lines that have not been on screen long enough yet."""
        self._looks = 0
        self._looking = repeating(self, LOOK_MS, self._look)
        editor.was_read.connect(self.refresh)
        editor.state_changed.connect(self._on_editor)
        for bar in (pane.unseen, pane.gone):
            bar.chosen.connect(self._on_chosen)
            bar.dismissed.connect(self._dismiss)

    # Reading

    def follow(self, update: TreeUpdate) -> None:
        """Update the bar, because the trees have changed and with them what the user has not seen."""
        change = self._change
        if change is not None and change.path not in update.view.unseen:
            self._looking.stop()
            if change.kind == "deleted":
                self._forget()  # the memory was restored, or the deletion was seen
        self.refresh()

    @Slot()
    def refresh(self) -> None:
        """Read the unseen change of the open file again if the file, its version or its mark has changed."""
        file, update = self._pane.file, self._shown.update
        if file is None or update is None:
            return
        path, sha256 = file.buffer.address.path, file.buffer.base.sha256 if file.buffer.base else ""
        if self._change is not None and self._change.path != path:
            self._forget()
        is_unseen, change = path in update.view.unseen, self._change
        asked = (path, sha256, is_unseen)
        if self._asked != asked and (is_unseen or (change is not None and change.sha256 != sha256)):
            self._asked = asked
            self._ask(path)

    def pick(self, data: RowData | None) -> None:
        """Show the bar about a deleted memory if its row was selected; otherwise clear that bar."""
        if isinstance(data, GoneData):
            self._forget()
            self._editor.close()
            self._asked = (data.path, "", True)
            self._ask(data.path)
        elif isinstance(data, FileData) and self._pane.file is None:
            self._pane.gone.clear()

    def _ask(self, path: str) -> None:
        """Read in a job what others changed in the memory at `path` since the user saw it."""
        session, update = self._shown.session, self._shown.update
        if session is None or update is None:
            return
        unseen, context, held, asked = session.workbench.unseen, update.context, self._change, self._asked

        async def work(_control: JobControl) -> UnseenChange | None:
            found = await ask(unseen.change, context, path)
            if found is None and held is not None:
                found = await ask(unseen.renewed, context, held)
            return found

        def done(change: UnseenChange | None) -> None:
            if asked == self._asked and held is self._change:
                self._on_change(change)

        session.lanes.history.submit(
            "what changed unseen", work, done=done, failed=self._pane.show_error, group="unseen"
        )

    def _on_change(self, change: UnseenChange | None) -> None:
        if change is None:
            self._forget()
            return
        if change.kind == "deleted":
            file = self._pane.file
            if file is not None and file.buffer.banner == "gone":
                self._editor.close()  # nothing is unsaved, and the bar offers to restore it
            if self._pane.file is None:
                self._change = change
                if not self._is_refusal_shown:
                    self._say_gone(change)
            return
        file = self._pane.file
        base = file.buffer.base if file is not None else None
        if file is None or base is None or (file.buffer.address.path, base.sha256) != self._asked[:2]:
            return
        self._change = change
        if change.kind != "new":
            file.mark_unseen(change.lines, change.actor)
            self._editor.state_changed.emit()
        if not self._is_refusal_shown:
            self._say(change)
        if self._asked[2]:
            self._left, self._looks = set(change.lines), 0
            self._looking.start()

    # Showing

    @Slot()
    def update_ages(self) -> None:
        """Update the relative time in the bar."""
        if self._is_refusal_shown:
            return
        if self._change is not None and not self._pane.unseen.isHidden():
            self._say(self._change)
        elif self._change is not None and not self._pane.gone.isHidden():
            self._say_gone(self._change)

    @property
    def _is_refusal_shown(self) -> bool:
        """True if the bar shows why Undo was refused, and the memory has not changed since."""
        return self._refused == self._asked[:2]

    def _say(self, change: UnseenChange) -> None:
        """Show a new or changed memory in the bar, with its buttons."""
        by = by_whom([change.actor])
        is_new = change.kind == "new"
        text = (self.tr("New, {by}") if is_new else self.tr("Changed {by}")).format(by=by)
        text += self._when(change)
        if change.kind == "changed":
            text += f" · +{len(change.lines):,} −{change.removed:,}"
        buttons = list[tuple[str, str, str]]()
        if change.before is not None or change.kind == "new":
            tip = self.tr("Undo this change; your own edits are kept")
            buttons.insert(0, ("undo", self.tr("&Undo"), tip))
        if change.kind == "changed" and change.lines:
            buttons.insert(0, ("show", self.tr("S&how"), self.tr("Go to the first change")))
        self._pane.unseen.say(text, buttons=buttons)

    def _say_gone(self, change: UnseenChange) -> None:
        """Show a deleted memory in its bar, with its buttons."""
        text = self.tr("{path} was deleted {by}").format(
            path=visible(change.path), by=by_whom([change.actor])
        )
        buttons = list[tuple[str, str, str]]()
        if change.before is not None:
            buttons.insert(0, ("undo", self.tr("&Restore"), self.tr("Restore the version you last saw")))
        self._pane.gone.say(text + self._when(change), buttons=buttons)

    def _when(self, change: UnseenChange) -> str:
        """Return ", " and the age of the change, to be added to a sentence; empty if it is unknown."""
        return f", {age(self._now(), change.at_ms)}" if change.at_ms else ""

    def _forget(self) -> None:
        """Clear the change, and hide the bars."""
        self._looking.stop()
        self._change = self._refused = None
        self._pane.unseen.clear()
        self._pane.gone.clear()

    @Slot()
    def _on_editor(self) -> None:
        if self._pane.file is None and self._change is not None and self._change.kind != "deleted":
            self._asked = _NOTHING
            self._forget()

    # Seeing

    @Slot()
    def _look(self) -> None:
        """Check which lines are visible; after `SEEN_AFTER` checks these count as seen.

        Once all changed lines have been seen, the change is marked as seen.
        """
        text = self._pane.text
        if not self._pane.isVisible() or not self._pane.window().isActiveWindow():
            return
        self._looks += 1
        if self._looks < SEEN_AFTER:
            return
        if text.isVisible():
            first = text.first_visible_line
            last = text.cursorForPosition(QPoint(0, text.viewport().height() - 1)).blockNumber()
            self._left -= set(range(first, last + 1))
        else:
            self._left.clear()  # a preview has no lines; showing it is enough
        if not self._left:
            self._looking.stop()
            self._mark_seen()

    def _mark_seen(self) -> None:
        """Mark the change as seen in a job."""
        session, update, change = self._shown.session, self._shown.update, self._change
        if session is None or update is None or change is None:
            return
        session.lanes.history.submit(
            "mark as seen",
            ask(session.workbench.unseen.mark, update.context, change.path, change.sha256),
            done=lambda _nothing: session.refresh_marks(),
            failed=self._pane.show_error,
        )

    # Acting

    @Slot(str)
    def _on_chosen(self, key: str) -> None:
        change = self._change
        if change is None:
            return
        if key == "show":
            self._pane.text.go_to_line(change.lines[0] + 1)
            self._pane.focus_text()
        elif key == "history":
            self._forget()
            self.history_wanted.emit()
        else:
            self._take_back(change)

    @Slot()
    def _dismiss(self) -> None:
        """Mark the change as seen, and hide the bars."""
        self._mark_seen()
        self._forget()

    def _take_back(self, change: UnseenChange) -> None:
        """Undo the change; if that is refused, show the reason in the bar."""
        session, update = self._shown.session, self._shown.update
        if session is None or update is None:
            return
        request = ask(session.workbench.unseen.take_back, update.context, change)
        name = visible(change.path.rpartition("/")[2])
        said = self.tr("Deleted {name}.") if change.kind == "new" else self.tr("Restored {name}.")

        def failed(error: UserError) -> None:
            file = self._pane.file
            bar = self._pane.unseen if file is not None else self._pane.gone
            if file is not None and file.buffer.address.path != change.path:
                self._pane.show_error(error)
                return
            self._refused = self._asked[:2]
            if error.reason == CHANGED_SINCE:
                self._change = change
                tip = self.tr("Show what was changed, by whom and when")
                bar.say(error.title, tone="warn", buttons=[("history", self.tr("&Open in Changes"), tip)])
            else:
                bar.say_error(error)

        self._hand.take_back(session, request, said.format(name=name), failed)
        self._forget()
