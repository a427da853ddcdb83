"""A file as one change set left it: compared with what is there now, its text, and who wrote each line.

Everything is read in jobs; an answer that nobody waits for any more is dropped. Restoring is asked for by
signal. Threading: GUI thread.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from PySide6.QtCore import QObject, Qt, Signal, Slot
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import QWidget

from reverie.engine.asking import ask
from reverie.errors import UserError
from reverie.ui.appearance import UNIT, Icons
from reverie.ui.changes.diff import ReadOnlyText, ReviewDetail
from reverie.ui.changes.rows import actor
from reverie.ui.display_text import as_tooltip, short_age, shortened, when
from reverie.ui.jobs import JobControl, Lane, Work
from reverie.ui.widgets.controls import FitCombo, FitPushButton, WrapLabel
from reverie.ui.widgets.layouts import FlowLayout, column, scrolled, stacked
from reverie.ui.widgets.text_views import DiffView, TextView

if TYPE_CHECKING:
    from reverie.agents.scopes import ScopeContext
    from reverie.services.change_log import LoggedChange
    from reverie.services.timeline import BlameView, LineAuthor, TimelineTarget
    from reverie.services.workbench import Workbench


# Who wrote each line: the text of one version, and beside its lines who and when; from there to the change.


_LONGEST_NAME = 26


class BlamePane(QWidget):
    """`wanted(str)`: show this change set, by its id or that of its run."""

    wanted = Signal(str)

    def __init__(self, now: Callable[[], int], parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._now = now
        self.view: BlameView | None = None
        self.note = WrapLabel(self.tr("There is no text."))
        self.text = ReadOnlyText(self.tr("Lines and who wrote them"))
        self.text.setLineWrapMode(ReadOnlyText.LineWrapMode.NoWrap)
        self.text.cursorPositionChanged.connect(self._follow)
        self.to_change = FitPushButton(self.tr("&Go to this change"), clicked=self.go)
        column(self, self.note, self.text, FlowLayout(self.to_change), grows=self.text, margin=0, gap=UNIT)
        self.show_blame(None)

    def show_blame(self, view: BlameView | None) -> None:
        """Another version's lines; neighbours of one change name it once."""
        self.view = view
        theme = self.text.begin(lambda: self.show_blame(view))
        rows, authors = (view.rows, view.authors) if view is not None else ((), ())
        names = [*map(self._name, authors), self.tr("Not in the history yet")]  # by -1, too
        wide, last = max(map(len, names)), len(names)
        for row in rows:
            name = names[row.author] if row.author != last else ""
            last = row.author
            self.text.line(f"{name:<{wide}}  {row.text}", theme.text)
        self.text.end()
        self.note.setVisible(view is not None and not view.rows)
        self._follow()

    def _name(self, author: LineAuthor) -> str:
        who = shortened(actor(author.actor if author.who == "other" else author.who), _LONGEST_NAME)
        return f"{who}, {short_age(self._now(), author.at_ms)}"

    @property
    def current(self) -> LineAuthor | None:
        """Who wrote the line with the caret; None where the history does not hold it yet."""
        rows = self.view.rows if self.view is not None else ()
        at = self.text.textCursor().blockNumber()
        author = rows[at].author if at < len(rows) else -1
        return self.view.authors[author] if self.view is not None and author >= 0 else None

    @Slot()
    def _follow(self) -> None:
        author = self.current
        self.to_change.setEnabled(author is not None)
        said = f"{self._name(author)}, {when(author.at_ms)}" if author is not None else ""
        self.to_change.setToolTip(as_tooltip(said, author.subject) if author is not None else "")

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter):
            self.go()
        else:
            super().keyPressEvent(event)

    @Slot()
    def go(self) -> None:
        """To the change that wrote the line with the caret."""
        author = self.current
        if author is not None:
            self.wanted.emit(author.change)


# Reading jobs of one part of a window: how many are under way, and one place for what goes wrong.


class PaneReader(QObject):
    """`failed(UserError)`. A newer job of the same group takes an older one's place."""

    failed = Signal(object)

    def __init__(self, lane: Lane, parent: QObject) -> None:
        super().__init__(parent)
        self._lane = lane
        self._open = 0

    @property
    def busy(self) -> bool:
        return self._open > 0

    def read(self, name: str, group: str, work: Work[Any], done: Callable[[Any], None]) -> None:
        """Run `work` on the lane and hand what it found to `done`."""
        self._open += 1

        def ended(value: Any) -> None:
            self._open -= 1
            done(value)

        def failed(error: UserError) -> None:
            self._open -= 1
            self.failed.emit(error)

        def cancelled() -> None:
            self._open -= 1

        self._lane.submit(name, work, done=ended, failed=failed, cancelled=cancelled, group=self._name(group))

    def drop(self, group: str) -> None:
        """Nobody waits for the open job of this group any more."""
        self._lane.abandon(self._name(group))

    def _name(self, group: str) -> str:
        return f"{group} {id(self)}"


View = Literal["change", "now", "text", "lines"]


@dataclass(frozen=True, slots=True)
class ShownFile:
    """The selected file of a change set that is in the history."""

    workbench: Workbench
    context: ScopeContext
    change: LoggedChange
    path: str
    target: TimelineTarget | None = None
    """The companion that is followed."""


class VersionPane(QWidget):
    """What changed in the selected file, or the file itself. `restore_wanted(ShownFile)`: as this change set
    left it; `wanted(str)`: another change set."""

    restore_wanted = Signal(object)
    wanted = Signal(str)

    def __init__(
        self, lane: Lane, icons: Icons, now: Callable[[], int], parent: QWidget | None = None
    ) -> None:
        super().__init__(parent)
        self.reader = PaneReader(lane, self)
        self._file: ShownFile | None = None
        self.view = FitCombo()
        self.view.setAccessibleName(self.tr("What is shown of the file"))
        names: tuple[tuple[View, str], ...] = (
            ("change", self.tr("What changed")),
            ("now", self.tr("Since then")),
            ("text", self.tr("Text of this version")),
            ("lines", self.tr("Who wrote each line")),
        )
        for key, name in names:
            self.view.addItem(name, key)
        self.restore = FitPushButton(
            self.tr("&Restore this version"),
            self.tr("Give the file this text again; it can be undone"),
            icon=icons.icon("undo"),
            clicked=self._ask_restore,
        )
        self.detail = ReviewDetail(icons)
        self.since = DiffView()
        self.text = TextView()
        self.lines = BlamePane(now)
        # Where there is little room, all of a merge is scrolled.
        whole = scrolled(self.detail, self.tr("What changed"))
        self._pages = stacked(whole, self.since, self.text, self.lines)
        self._head = QWidget()
        FlowLayout(self.view, self.restore, holder=self._head)
        column(self, self._head, self._pages, grows=self._pages, margin=(UNIT, 0, 0, 0), gap=UNIT)
        self.view.currentIndexChanged.connect(self._read)
        self.lines.wanted.connect(self.wanted)
        self.show_file(None)

    def show_file(self, file: ShownFile | None) -> None:
        """Another file of a change set; None: nothing of which the history has versions."""
        self._head.setVisible(file is not None)
        if file is None:
            self.view.setCurrentIndex(0)
        if file != self._file:
            self._file = file
            self._read()

    def show_view(self, view: View) -> None:
        """What changed, or another view of the file."""
        self.view.setCurrentIndex(self.view.findData(view))

    def follow(self) -> None:
        """Files may have changed: what is compared with them is read again."""
        if self.view.currentData() == "now":
            self._read()

    @Slot()
    def _read(self) -> None:
        view: View = self.view.currentData()
        self._pages.setCurrentIndex(self.view.currentIndex())
        file = self._file
        if file is None or view == "change":
            self.reader.drop("version")
            return
        log, timeline = file.workbench.change_log, file.workbench.timeline

        async def work(_control: JobControl) -> Any:
            target, before, after = await ask(log.version, file.context, file.change, file.path, file.target)
            text = await ask(timeline.read, after)
            state = before if text is None else after  # of what was deleted, what it was
            if view == "now":
                return await ask(timeline.difference, state, await ask(timeline.on_disk, state.place))
            if view == "text":
                return await ask(timeline.read, state) if text is None else text
            return await ask(timeline.blame, target, state)

        self.reader.read(f"read a version: {view}", "version", work, self._on_read)

    def _on_read(self, found: Any) -> None:
        view: View = self.view.currentData()
        if view == "now":
            self.since.show_diff(found or self.tr("The file is as it was then."))
        elif view == "text":
            self.text.show_bytes(found)
        elif view == "lines":
            self.lines.show_blame(found)

    @Slot()
    def _ask_restore(self) -> None:
        if self._file is not None:
            self.restore_wanted.emit(self._file)
