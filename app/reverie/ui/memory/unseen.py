"""What someone else did to the opened memory since it was seen: a bar that says who and when, marks beside
the lines, and Undo.

The mark in the trees goes when the changed lines have been on screen for a moment, not when the file is
opened; whoever presses Seen need not scroll. A memory that was deleted can be brought back from here.

Threading: GUI thread; the engine is asked in jobs. Failure: told in the editor.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, QPoint, Slot

from reverie.engine.asking import ask
from reverie.errors import UserError
from reverie.ui.display_text import age, visible
from reverie.ui.editor.merge_control import by_whom
from reverie.ui.jobs import repeating
from reverie.ui.tree.memory_tree import FileData, GoneData, RowData

if TYPE_CHECKING:
    from reverie.services.views import UnseenChange
    from reverie.ui.editor.control import EditorControl
    from reverie.ui.editor.pane import EditorPane
    from reverie.ui.memory.edits import HandControl, ShownPlace
    from reverie.ui.session import TreeUpdate

LOOK_MS = 300
SEEN_AFTER = 4
"""Looks for which the lines must have been on screen."""


class UnseenControl(QObject):
    """Follows the editor and the trees."""

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
        self._asked: tuple[str, str] = ("", "")
        self._change: UnseenChange | None = None
        self._left: set[int] = set()
        self._looks = 0
        self._looking = repeating(self, LOOK_MS, self._look)
        editor.was_read.connect(self.refresh)
        editor.state_changed.connect(self._on_editor)
        for bar in (pane.unseen, pane.gone):
            bar.chosen.connect(self._on_chosen)

    # Asking

    def follow(self, update: TreeUpdate) -> None:
        """The trees as they are now."""
        change = self._change
        if change is not None and change.path not in update.view.unseen:
            self._looking.stop()
            if change.kind == "deleted":
                self._forget()  # it is there again, or was seen
        self.refresh()

    @Slot()
    def refresh(self) -> None:
        """The editor shows another file, or another version of it."""
        file, update = self._pane.file, self._shown.update
        if file is None or update is None:
            return
        path, sha256 = file.buffer.address.path, file.buffer.base.sha256 if file.buffer.base else ""
        if self._change is not None and (self._change.path, self._change.sha256) != (path, sha256):
            self._forget()
        if path in update.view.unseen and self._asked != (path, sha256):
            self._asked = (path, sha256)
            self._ask(path)

    def pick(self, data: RowData | None) -> None:
        """Another row is selected: of a memory that is gone the editor says so."""
        if isinstance(data, GoneData):
            self._forget()
            self._editor.close()
            self._asked = (data.path, "")
            self._ask(data.path)
        elif isinstance(data, FileData) and self._pane.file is None:
            self._pane.gone.clear()

    def _ask(self, path: str) -> None:
        session, update = self._shown.session, self._shown.update
        if session is None or update is None:
            return
        session.lanes.history.submit(
            "what changed unseen",
            ask(session.workbench.unseen.change, update.context, path),
            done=self._on_change,
            failed=self._pane.show_error,
            group="unseen",
        )

    def _on_change(self, change: UnseenChange | None) -> None:
        if change is None or change.path != self._asked[0]:
            return
        if change.kind == "deleted":
            if self._pane.file is None:
                self._change = change
                self._say_gone(change)
            return
        file = self._pane.file
        base = file.buffer.base if file is not None else None
        if file is None or base is None or (file.buffer.address.path, base.sha256) != self._asked:
            return
        self._change = change
        if change.kind != "new":
            file.mark_unseen(change.lines, change.actor)
            self._editor.state_changed.emit()
        self._say(change)
        self._left, self._looks = set(change.lines), 0
        self._looking.start()

    # Showing

    @Slot()
    def update_ages(self) -> None:
        """Some time has passed."""
        if self._change is not None and not self._pane.unseen.isHidden():
            self._say(self._change)
        elif self._change is not None and not self._pane.gone.isHidden():
            self._say_gone(self._change)

    def _say(self, change: UnseenChange) -> None:
        by = by_whom([change.actor])
        is_new = change.kind == "new"
        text = (self.tr("New, {by}") if is_new else self.tr("Changed {by}")).format(by=by)
        text += self._when(change)
        if change.kind == "changed":
            text += f" · +{len(change.lines):,} −{change.removed:,}"
        buttons = [("seen", self.tr("&Seen"), self.tr("Take the mark away"))]
        if change.before is not None or change.kind == "new":
            buttons.insert(0, ("undo", self.tr("&Undo"), self.tr("Bring back what you saw last")))
        if change.kind == "changed" and change.lines:
            buttons.insert(0, ("show", self.tr("S&how"), self.tr("Go to the first change")))
        self._pane.unseen.say(text, buttons=buttons)

    def _say_gone(self, change: UnseenChange) -> None:
        text = self.tr("{path} was deleted {by}").format(
            path=visible(change.path), by=by_whom([change.actor])
        )
        buttons = [("seen", self.tr("&Seen"), self.tr("Take it out of the list"))]
        if change.before is not None:
            buttons.insert(0, ("undo", self.tr("&Restore"), self.tr("Bring back what you saw last")))
        self._pane.gone.say(text + self._when(change), buttons=buttons)

    def _when(self, change: UnseenChange) -> str:
        return f", {age(self._now(), change.at_ms)}" if change.at_ms else ""

    def _forget(self) -> None:
        self._looking.stop()
        self._change = None
        self._pane.unseen.clear()
        self._pane.gone.clear()

    @Slot()
    def _on_editor(self) -> None:
        if self._pane.file is None and self._change is not None and self._change.kind != "deleted":
            self._asked = ("", "")
            self._forget()

    # Seeing

    @Slot()
    def _look(self) -> None:
        """The lines that are on screen now have been seen, once they were there for a moment."""
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
            self._left.clear()  # a preview shows no lines: that it is looked at has to do
        if not self._left:
            self._looking.stop()
            self._mark_seen()

    def _mark_seen(self) -> None:
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
        elif key == "seen":
            self._mark_seen()
            self._forget()
        else:
            self._take_back(change)

    def _take_back(self, change: UnseenChange) -> None:
        session, update = self._shown.session, self._shown.update
        if session is None or update is None:
            return
        request = ask(session.workbench.unseen.take_back, update.context, change.path, change.sha256)
        self._hand.take_back(session, request, self._said_of(change), self._failed)
        self._forget()

    def _said_of(self, change: UnseenChange) -> str:
        path = visible(change.path)
        if change.kind == "deleted":
            return self.tr("{path} is back.").format(path=path)
        if change.kind == "new":
            return self.tr("{path} is deleted.").format(path=path)
        return self.tr("{path} is as you saw it last.").format(path=path)

    def _failed(self, error: UserError) -> None:
        self._pane.show_error(error)
