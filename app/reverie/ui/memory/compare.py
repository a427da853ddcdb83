"""Two selected memories side by side, with their differences one after the other, each copied by one press.

Copying a difference writes the lines of one memory into the other, as a change by hand that can be undone.
It fails if the memory has changed since it was compared. After any change, the memories are compared again.

Threading: GUI thread; reading, comparing and writing are jobs. Failure: shown above the comparison.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Literal

from PySide6.QtCore import QObject, Qt, Signal, Slot
from PySide6.QtGui import QKeySequence, QShortcut
from PySide6.QtWidgets import QWidget

from reverie.agents.scopes import ScopeContext
from reverie.engine.asking import ask
from reverie.errors import UserError
from reverie.ui.appearance import UNIT
from reverie.ui.display_text import visible
from reverie.ui.icons import Icons
from reverie.ui.jobs import JobControl, Lane
from reverie.ui.memory.edits import Edits, TakeBack
from reverie.ui.memory.shown_place import ShownPlace
from reverie.ui.memory.side_by_side import AlignedRow, AlignedSide, SideBySide, aligned
from reverie.ui.memory.worth_a_look import short_path
from reverie.ui.metrics import scaled
from reverie.ui.session import HomeSession, TreeUpdate
from reverie.ui.tree.memory_tree import FileData
from reverie.ui.tree.view import MemoryTreeView
from reverie.ui.widgets.controls import FitPushButton, WrapLabel, embolden
from reverie.ui.widgets.layouts import FlowLayout, column, row_of
from reverie.ui.widgets.messages import MessageBar, Overlay
from reverie.ui.widgets.pages import TabPage
from reverie.values import Struct

if TYPE_CHECKING:
    from reverie.services.merges import FileToMerge
    from reverie.services.views import Undo

Side = Literal["left", "right"]
_LOWEST = 120
"""The minimum height of the comparison, in pixels at the default font size."""


class ComparedPair(Struct, frozen=True):
    """Two memories and their aligned lines."""

    files: tuple[FileToMerge, FileToMerge]
    """The two memories, as they were when they were read."""
    texts: tuple[str, str]
    rows: tuple[AlignedRow, ...]


def differences(rows: Sequence[AlignedRow]) -> list[range]:
    """Return the differences between two texts: the positions in `rows` of adjoining rows that differ."""
    found: list[range] = []
    for at, row in enumerate(rows):
        if row.same:
            continue
        if found and found[-1].stop == at:
            found[-1] = range(found[-1].start, at + 1)
        else:
            found.append(range(at, at + 1))
    return found


def with_difference(text: str, rows: Sequence[AlignedRow], difference: range, to: Side) -> str:
    """Return `text`, the text of the side `to`, with the lines that the other side has in a difference.

    Line ends and a byte order mark stay as they are in `text`.
    """
    target = [_side(row, to) for row in rows]
    numbers = [target[at].number for at in difference if target[at].number]
    if numbers:
        start, end = numbers[0] - 1, numbers[-1]
    else:
        start = end = max((side.number for side in target[: difference.start]), default=0)
    source = [_side(rows[at], "left" if to == "right" else "right") for at in difference]
    mark = "\ufeff" if text.startswith("\ufeff") else ""
    lines = text.removeprefix(mark).split("\n")
    # The last part is no line if the text ends with a line break, so new lines go before it.
    return_ = "\r" if "\r\n" in text else ""
    lines[start:end] = [side.text + return_ for side in source if side.number]
    if return_ and lines[-1].endswith("\r"):
        lines[-1] = lines[-1].removesuffix("\r")
    return mark + "\n".join(lines)


def _side(row: AlignedRow, side: Side) -> AlignedSide:
    return row.left if side == "left" else row.right


class ComparePage(TabPage):
    """A page with two memories side by side and buttons for their differences."""

    copy_wanted = Signal(object, str)
    """Emitted with a difference, and the side that gets the lines of the other one."""
    open_wanted = Signal(str, int)
    """Emitted with path and line, from 1, of a memory to open in the editor."""

    def __init__(self, icons: Icons) -> None:
        super().__init__()
        self.setAccessibleName(self.tr("Compare"))
        self.names = (WrapLabel(), WrapLabel())
        for name in self.names:
            embolden(name)
        self.note = WrapLabel()
        self.sides = SideBySide()
        self.sides.setMinimumHeight(scaled(self.font(), _LOWEST))
        self.previous = FitPushButton(self.tr("&Previous"), self.tr("Go to the previous difference (P)"))
        self.next = FitPushButton(self.tr("&Next"), self.tr("Go to the next difference (N)"))
        self.to_left = FitPushButton(
            self.tr("← Copy to the &left"),
            self.tr("Replace the lines on the left by those on the right (Alt+Left); you can undo this"),
        )
        self.to_right = FitPushButton(
            self.tr("Copy to the &right →"),
            self.tr("Replace the lines on the right by those on the left (Alt+Right); you can undo this"),
        )
        self.open_left = FitPushButton(self.tr("Open left"), self.tr("Open the left memory in the editor"))
        self.open_right = FitPushButton(self.tr("Open right"), self.tr("Open the right memory in the editor"))
        self.message = MessageBar(icons, "compare")
        self.compared: ComparedPair | None = None
        """The comparison that is shown; None while the memories are read."""
        self._differences: list[range] = []
        self._at = 0
        for button, keys, slot in (
            (self.previous, "P", self._on_previous),
            (self.next, "N", self._on_next),
            (self.to_left, "Alt+Left", self._on_to_left),
            (self.to_right, "Alt+Right", self._on_to_right),
        ):
            button.clicked.connect(slot)
            key = QShortcut(QKeySequence(keys), self, context=Qt.ShortcutContext.WidgetWithChildrenShortcut)
            key.activated.connect(button.click)
        self.open_left.clicked.connect(partial(self._open, "left"))
        self.open_right.clicked.connect(partial(self._open, "right"))
        heads = row_of(*self.names, grows=self.names[0], gap=UNIT)
        heads.setStretch(1, 1)
        moves = FlowLayout(
            self.previous, self.next, self.to_left, self.to_right, self.open_left, self.open_right
        )
        column(self, heads, self.note, moves, self.sides, grows=self.sides)
        Overlay(self.sides, self.message)
        self.show_compared(None)

    @property
    def difference(self) -> range | None:
        """The difference that is marked; None if there is none."""
        return self._differences[self._at] if self._differences else None

    def show_compared(self, compared: ComparedPair | None) -> None:
        """Show a comparison, with the difference marked that stands where the last one was."""
        self.compared = compared
        self._differences = differences(compared.rows) if compared is not None else []
        self._at = min(self._at, max(0, len(self._differences) - 1))
        for name, file in zip(self.names, compared.files if compared is not None else (), strict=False):
            name.say(visible(short_path(file.path)))
        self._show()

    def start(self) -> None:
        """Forget which difference was marked, because two other memories are compared."""
        self._at = 0

    def _show(self) -> None:
        rows, marked = self.compared.rows if self.compared is not None else (), self.difference
        self.sides.show_rows(rows, marked.start if marked is not None else None)
        count = len(self._differences)
        said = self.tr("Both memories have the same lines.") if self.compared is not None else "…"
        if count:
            said = self.tr("Difference {at} of {count}").format(at=self._at + 1, count=count)
        self.note.say(said)
        for button in (self.previous, self.next):
            button.setEnabled(count > 1)
        for button in (self.to_left, self.to_right):
            button.setEnabled(count > 0)

    def _step(self, by: int) -> None:
        if self._differences:
            self._at = (self._at + by) % len(self._differences)
            self._show()

    @Slot()
    def _on_previous(self) -> None:
        self._step(-1)

    @Slot()
    def _on_next(self) -> None:
        self._step(1)

    @Slot()
    def _on_to_left(self) -> None:
        self.copy_wanted.emit(self.difference, "left")

    @Slot()
    def _on_to_right(self) -> None:
        self.copy_wanted.emit(self.difference, "right")

    def _open(self, side: Side) -> None:
        if self.compared is not None:
            marked = self.difference
            row = self.compared.rows[marked.start] if marked is not None else None
            line = max(1, _side(row, side).number) if row is not None else 1
            self.open_wanted.emit(self.compared.files[side == "right"].path, line)


class CompareControl(QObject):
    """The controller of *Compare*; the action registry connects `compare` by name."""

    page_wanted = Signal(object)
    """Emitted with the page when it is to be shown; with None to show the editor again."""
    open_wanted = Signal(str, int)
    """Emitted with path and line, from 1, of a memory to open in the editor."""

    def __init__(
        self,
        shown: ShownPlace,
        edits: Edits,
        tree: MemoryTreeView,
        bar: MessageBar,
        icons: Icons,
        parent: QWidget,
    ) -> None:
        super().__init__(parent)
        self._shown = shown
        self._edits = edits
        self._tree = tree
        self._bar = bar
        self._icons = icons
        self._page: ComparePage | None = None
        self._back: TakeBack | None = None
        self._lane = Lane("compare", self)
        self._place: tuple[HomeSession, ScopeContext, tuple[str, str]] | None = None
        """The home, the context and the memory paths of the comparison; None if there is none."""

    @property
    def page(self) -> ComparePage:
        """The page, created on first use."""
        if self._page is None:
            self._page = ComparePage(self._icons)
            self._page.copy_wanted.connect(self._copy)
            self._page.open_wanted.connect(self._open)
            self._back = TakeBack(self._page.message, self._edits)
        return self._page

    def compare(self) -> None:
        """Show the two selected memories side by side."""
        session, update = self._shown.session, self._shown.update
        chosen = [row.path for row in self._tree.selected_rows() if isinstance(row, FileData)]
        if session is None or update is None:
            return
        if len(chosen) != 2:
            self._bar.say(self.tr("Select two memories to compare them, with Ctrl and a click."))
            return
        self._place = session, update.context, (chosen[0], chosen[1])
        self.page.start()
        self.page.show_compared(None)
        self.page.message.clear()
        self.page_wanted.emit(self.page)
        self.page.sides.left.setFocus()
        self._look()

    def follow(self, update: TreeUpdate) -> None:
        """Compare again if the page is shown; called when the trees were updated."""
        if update.other:
            self._place = None
            if self._page is not None and self._page.isVisible():
                self.page_wanted.emit(None)
        elif self._page is not None and self._page.isVisible():
            self._look()

    def stop(self) -> None:
        """Stop the jobs, because the window closes."""
        self._lane.stop()

    def _look(self) -> None:
        """Read and compare the two memories in a job, and show the result."""
        if self._place is None:
            return
        session, context, paths = self._place
        merges = session.workbench.merges

        async def work(control: JobControl) -> ComparedPair:
            one, other = await ask(merges.files, context, paths)
            left, right = await ask(merges.texts, (one, other))
            return ComparedPair((one, other), (left, right), aligned(left, right, control.check))

        self._lane.submit("compare", work, done=self.page.show_compared, failed=self._failed, group="compare")

    @Slot(object, str)
    def _copy(self, difference: range, to: Side) -> None:
        """Write the lines of a difference into the memory on the side `to`, and offer Undo."""
        compared = self.page.compared
        if self._place is None or compared is None:
            return
        session, context, _paths = self._place
        at = 0 if to == "left" else 1
        file, text = compared.files[at], compared.texts[at]
        after = with_difference(text, compared.rows, difference, to)
        job = ask(session.workbench.merges.rewrite, context, file, after)

        def done(undo: Undo) -> None:
            if self._back is not None:
                name = visible(file.path.rpartition("/")[2])
                self._back.offer(undo, self.tr("Changed {name}.").format(name=name))
            self._look()

        self._edits.apply(session, "copy a difference", job, done, self._failed)

    def _failed(self, error: UserError) -> None:
        self.page.message.say_error(error)

    @Slot(str, int)
    def _open(self, path: str, line: int) -> None:
        self.page_wanted.emit(None)
        self.open_wanted.emit(path, line)
