"""The controller of co-editing, for the case that others write the file that the user edits.

The open file records which changes arrived and which conflicts are open (`documents`). This controller shows
them in the editor as marks, messages and a card, and passes the user's decisions to the buffers. If the user
saves a file with open conflicts, a question is asked first, because the save could not succeed.

Threading: GUI thread. Failure: none of its own; saving reports its own errors.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, Qt, Slot
from PySide6.QtGui import QTextCursor
from PySide6.QtWidgets import QMessageBox, QWidget

from reverie.services.views import SEVERAL
from reverie.text.text_merge import MergeConflict, Region, Side
from reverie.ui.display_text import counted, tr, translated
from reverie.ui.editor.buffers import Buffers
from reverie.ui.editor.documents import MOST_MARKS, OpenFile
from reverie.ui.icons import Icons
from reverie.ui.jobs import single_shot
from reverie.ui.run_labels import BY
from reverie.ui.widgets.messages import message_box

if TYPE_CHECKING:
    from reverie.ui.editor.control import EditorControl
    from reverie.ui.editor.pane import EditorPane
from reverie.ui.editor.conflict_choice import ConflictChoice

# The conflicts are computed again this long after the last key.
RECHECK_MS = 150
_HIGHLIGHTS = "conflicts"
MOST_MARKED = 1_000
"""The most lines that are marked beside a text."""


class CoEditing(QObject):
    """The controller that shows in an editor pane what other programs change in the file that the user edits.

    It marks the changed lines and the conflicts, and carries out the user's decisions. `card` shows a
    conflict; it is None until the first conflict.
    """

    def __init__(
        self, editor: EditorControl, pane: EditorPane, buffers: Buffers, icons: Icons, parent: QObject
    ) -> None:
        super().__init__(parent)
        self._editor = editor
        self._pane = pane
        self._buffers = buffers
        self._icons = icons
        self._at = 0
        self._told: tuple[OpenFile | None, int] = (None, 0)
        self.card: ConflictChoice | None = None
        self._typing = single_shot(self, RECHECK_MS, self._recheck)
        editor.state_changed.connect(self.refresh)
        editor.undecided.connect(self._ask)
        pane.chosen.connect(self._on_banner)
        pane.merged.chosen.connect(self._on_merged)
        pane.text.textChanged.connect(self._on_typed)
        pane.text.cursorPositionChanged.connect(self._on_caret)

    @Slot()
    def refresh(self) -> None:
        """Update the marks, the message and the card after the shown file or its state has changed."""
        file = self._pane.file
        conflicts = file.conflicts if file is not None else ()
        if file is None:
            self._pane.merged.clear()
        else:
            self._show_marks(file)
            self._show_arrived(file)
        self._at = min(self._at, max(0, len(conflicts) - 1))
        self._show_card(conflicts)

    def _show_marks(self, file: OpenFile) -> None:
        marked = list(islice(self._marks(file), MOST_MARKED))[::-1]
        if marked or self._pane.text.marks:
            kinds = {line: kind for line, kind, _tip in marked}
            self._pane.text.set_marks(kinds, {line: tip for line, _kind, tip in marked})
        spans = [(*self._span(file, conflict.at), "conflict") for conflict in file.conflicts[:MOST_MARKS]]
        self._pane.text.set_highlights(_HIGHLIGHTS, spans)

    def _marks(self, file: OpenFile) -> Iterator[tuple[int, str, str]]:
        """Yield the lines to mark beside the text, as `(line from 0, kind, tool tip)`.

        The kind is "conflict", or "theirs" for a line that others wrote. A line can occur twice; the first
        mark is the one to show.
        """
        tip = self.tr("You changed these lines, and they also changed on disk: choose which to keep (F8)")
        for conflict in file.conflicts:
            for line in range(conflict.at.start, max(conflict.at.end, conflict.at.start + 1)):
                yield line, "conflict", tip
        for cursor, author in file.arrived.spans:
            tip = self.tr("Changed {by}").format(by=by_whom([author]))
            if author == "revert":
                tip = self.tr("Undone by you")
            first = file.document.findBlock(cursor.selectionStart()).blockNumber()
            for line in range(first, file.document.findBlock(cursor.selectionEnd()).blockNumber() + 1):
                yield line, "theirs", tip

    def _span(self, file: OpenFile, at: Region) -> tuple[int, int]:
        """Return the start and end of the lines of a region, as positions in UTF-16 units."""
        first = file.document.findBlockByNumber(at.start)
        if at.end <= at.start:
            return first.position(), first.position()
        last = file.document.findBlockByNumber(at.end - 1)
        return first.position(), last.position() + max(0, last.length() - 1)

    def _show_arrived(self, file: OpenFile) -> None:
        """Show how many changes by others were merged into the text; hide the message if there are none."""
        count = file.arrived.count
        if (file, count) == self._told:
            return
        self._told = (file, count)
        if not count:
            self._pane.merged.clear()
            return
        sentence = counted(
            "1 change {by} was merged into your text.", "%n changes {by} were merged into your text.", count
        )
        self._pane.merged.say(
            sentence.format(by=by_whom(file.arrived.authors)),
            buttons=[
                ("show", self.tr("&Show"), self.tr("Go to the first merged change")),
                ("back", self.tr("&Undo"), self.tr("Remove the merged changes; your own text is kept")),
            ],
        )

    def _show_card(self, conflicts: tuple[MergeConflict, ...]) -> None:
        if not conflicts:
            if self.card is not None:
                self.card.clear()
            return
        if self.card is None:
            self.card = ConflictChoice(self._pane.text, self._icons)
            self.card.chosen.connect(self._on_chosen)
            self.card.step.connect(self._step)
            self.card.left.connect(self._to_text)
        self.card.show_conflict(conflicts[self._at], self._at + 1, len(conflicts))

    @Slot()
    def _on_typed(self) -> None:
        file = self._pane.file
        if file is not None and file.buffer.banner == "conflict":
            self._typing.start()

    @Slot()
    def _recheck(self) -> None:
        if self._pane.file is not None:
            self._pane.file.recheck()

    @Slot()
    def _on_caret(self) -> None:
        """Show the card of the conflict that contains the caret, if there is one."""
        file = self._pane.file
        if file is None or len(file.conflicts) < 2:
            return
        line = self._pane.text.textCursor().blockNumber()
        for index, conflict in enumerate(file.conflicts):
            inside = conflict.at.start <= line < max(conflict.at.end, conflict.at.start + 1)
            if inside and index != self._at:
                self._at = index
                self._show_card(file.conflicts)
                return

    def next_conflict(self) -> None:
        self._step(1)

    def previous_conflict(self) -> None:
        self._step(-1)

    @Slot(int)
    def _step(self, step: int) -> None:
        file = self._pane.file
        if file is None or not file.conflicts:
            return
        shown = self.card is not None and self.card.isVisible()
        if shown and len(file.conflicts) > 1:
            self._at = (self._at + step) % len(file.conflicts)
        self._go(file)

    def _go(self, file: OpenFile) -> None:
        """Move the caret to the current conflict, show its card, and move the focus to the card's buttons."""
        block = file.document.findBlockByNumber(file.conflicts[self._at].at.start)
        self._pane.text.setTextCursor(QTextCursor(block))
        self._pane.text.centerCursor()
        self._show_card(file.conflicts)
        if self.card is not None:
            self.card.focus_choice()

    def keep_mine(self) -> None:
        self._on_chosen("mine")

    def take_theirs(self) -> None:
        self._on_chosen("theirs")

    def keep_both(self) -> None:
        self._on_chosen("both")

    @Slot(str)
    def _on_chosen(self, key: str) -> None:
        file = self._pane.file
        if file is None or not file.conflicts:
            return
        sides: dict[str, Side] = {"mine": "mine", "theirs": "theirs", "both": "both"}
        keyboard = self.card is not None and self.card.has_focus
        file.decide(self._at, sides[key])
        if file.conflicts and keyboard:
            self._go(file)
        elif not file.conflicts:
            self._to_text()

    @Slot()
    def _to_text(self) -> None:
        self._pane.text.setFocus(Qt.FocusReason.OtherFocusReason)

    @Slot(str)
    def _on_banner(self, key: str) -> None:
        file = self._pane.file
        if key == "next" and file is not None and file.conflicts:
            self._go(file)

    @Slot(str)
    def _on_merged(self, key: str) -> None:
        file = self._pane.file
        if file is None:
            return
        if key == "back":
            file.take_back()
        elif file.arrived.spans:
            cursor = QTextCursor(file.document)
            cursor.setPosition(min(span.selectionStart() for span, _ in file.arrived.spans))
            self._pane.text.setTextCursor(cursor)
            self._pane.text.centerCursor()
            self._to_text()

    @Slot()
    def _ask(self) -> None:
        """Ask the user how to save the shown file, which has open conflicts, and carry out the answer."""
        file = self._pane.file
        if file is None:
            return
        answer = ask_about_conflicts(self._pane, len(file.conflicts), self._can_overwrite(file))
        if answer == "mine":
            self._buffers.keep_mine(file)
            self._editor.save()
        elif answer == "show" and file.conflicts:
            self._go(file)

    def _can_overwrite(self, file: OpenFile) -> bool:
        return file.buffer.disk is None or not file.buffer.disk.read_only


def ask_about_conflicts(parent: QWidget, count: int, can_overwrite: bool) -> str:
    """Ask what to do with `count` open conflicts before a save; return `mine`, `show` or `cancel`.

    `mine`: save the user's text, overwriting the version on disk; offered only if `can_overwrite`. `show`: go
    to the conflict. A count of 0 means that the conflict concerns the file as a whole; then `show` is not
    offered.
    """
    text = tr("You and another program changed this file.")
    if count:
        text = counted(
            "You and another program changed the same lines.",
            "You and another program changed the same lines in %n places.",
            count,
        )
    more = tr("The file on disk cannot be overwritten.")
    if can_overwrite:
        more = tr("If you save, your text overwrites the changes made by others.")
    box = message_box(parent, QMessageBox.Icon.Warning, tr("Conflict not resolved"), text, more)
    show = box.addButton(tr("&Resolve…"), QMessageBox.ButtonRole.AcceptRole) if count else None
    mine = None
    if can_overwrite:
        mine = box.addButton(tr("Save &mine"), QMessageBox.ButtonRole.DestructiveRole)
    cancel = box.addButton(QMessageBox.StandardButton.Cancel)
    box.setDefaultButton(show or cancel)
    box.exec()
    if mine is not None and box.clickedButton() is mine:
        return "mine"
    return "show" if show is not None and box.clickedButton() is show else "cancel"


def by_whom(authors: Iterable[str]) -> str:
    """Return words for the authors of a change, such as "by the agent".

    `authors`: names of actors. The words are "by others" for different authors, "by another program" for an
    unknown author (""), and "by a background job" for a name that this function does not know.
    """
    names = {
        "": tr("by another program"),
        "outside": tr("by another program"),
        "user": tr("made by hand in Reverie"),
        "agent": tr("by the agent"),
        SEVERAL: tr("by others"),
        **{kind: translated(text) for kind, text in BY.items()},
    }
    told = {names.get(author, tr("by a background job")) for author in authors}
    return told.pop() if len(told) == 1 else tr("by others")
