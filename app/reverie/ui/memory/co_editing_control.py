"""What a person sees of others writing into the open file: marks, a sentence, the choice at each conflict.

The open file knows what arrived and what has to be decided (`documents`); this shows it over the editor and
hands decisions to the buffers. A save with open conflicts asks first; it could not go through anyway
(compare-and-swap).

Threading: GUI thread. Failure: none of its own; saving tells its own.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from PySide6.QtCore import QCoreApplication, QObject, Qt, QTimer, Slot
from PySide6.QtGui import QTextCursor
from PySide6.QtWidgets import QMessageBox, QWidget

from reverie.ui.icons import Icons
from reverie.ui.memory.buffers import Buffers
from reverie.ui.memory.co_editing import Conflict, Region, Side
from reverie.ui.memory.documents import OpenFile
from reverie.ui.translation import counted

if TYPE_CHECKING:
    from reverie.ui.memory.conflict_choice import ConflictChoice
    from reverie.ui.memory.editor import EditorPane
    from reverie.ui.memory.editor_control import EditorControl

# So long after the last key it is looked again at what has to be decided.
RECHECK_MS = 150
_HIGHLIGHTS = "conflicts"


class CoEditing(QObject):
    """Lives beside one editor pane. `card` is made with the first conflict."""

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
        self._typing = QTimer(self)
        self._typing.setSingleShot(True)
        self._typing.setInterval(RECHECK_MS)
        self._typing.timeout.connect(self._recheck)
        editor.state_changed.connect(self.refresh)
        editor.undecided.connect(self._ask)
        pane.chosen.connect(self._on_banner)
        pane.merged.chosen.connect(self._on_merged)
        pane.text.textChanged.connect(self._on_typed)
        pane.text.cursorPositionChanged.connect(self._on_caret)

    # Showing

    @Slot()
    def refresh(self) -> None:
        """The shown file, or what is known of it, is another."""
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
        marks: dict[int, str] = {}
        tips: dict[int, str] = {}
        for cursor, author in file.arrived.spans:
            first = file.document.findBlock(cursor.selectionStart()).blockNumber()
            last = file.document.findBlock(cursor.selectionEnd()).blockNumber()
            for block in range(first, last + 1):
                marks[block] = "theirs"
                tips[block] = self.tr("Changed {by} while this file was open").format(by=by_whom([author]))
        for conflict in file.conflicts:
            for block in range(conflict.at.start, max(conflict.at.end, conflict.at.start + 1)):
                marks[block] = "conflict"
                tips[block] = self.tr("Changed by you and on disk: choose whose lines to keep (F8)")
        if marks or self._pane.text.marks:
            self._pane.text.set_marks(marks, tips)
        spans = [(*self._span(file, conflict.at), "conflict") for conflict in file.conflicts]
        self._pane.text.set_highlights(_HIGHLIGHTS, spans)

    def _span(self, file: OpenFile, at: Region) -> tuple[int, int]:
        """The lines of a region in UTF-16 units."""
        first = file.document.findBlockByNumber(at.start)
        if at.end <= at.start:
            return first.position(), first.position()
        last = file.document.findBlockByNumber(at.end - 1)
        return first.position(), last.position() + max(0, last.length() - 1)

    def _show_arrived(self, file: OpenFile) -> None:
        """Told once for each merge; whoever puts the sentence away has read it."""
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
                ("show", self.tr("&Show"), self.tr("Go to the first of them")),
                ("back", self.tr("&Undo"), self.tr("Take them out again; what you typed stays")),
            ],
        )

    def _show_card(self, conflicts: tuple[Conflict, ...]) -> None:
        if not conflicts:
            if self.card is not None:
                self.card.clear()
            return
        if self.card is None:
            from reverie.ui.memory.conflict_choice import ConflictChoice

            self.card = ConflictChoice(self._pane.text, self._icons)
            self.card.chosen.connect(self._on_chosen)
            self.card.step.connect(self._step)
            self.card.left.connect(self._to_text)
        self.card.show_conflict(conflicts[self._at], self._at + 1, len(conflicts))

    # Following the person

    @Slot()
    def _on_typed(self) -> None:
        file = self._pane.file
        if file is not None and file.buffer.banner == "conflict":
            self._typing.start()

    @Slot()
    def _recheck(self) -> None:
        if self._pane.file is not None:
            self._buffers.recheck(self._pane.file)

    @Slot()
    def _on_caret(self) -> None:
        """The card goes to the conflict in which the caret stands."""
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

    # Going and deciding

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
        """The caret before the conflict, the keyboard on its buttons."""
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
        keyboard = self.card is not None and self.card.isAncestorOf(self.card.focusWidget() or self._pane)
        self._buffers.decide(file, self._at, sides[key])
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
            self._buffers.take_back(file)
        elif file.arrived.spans:
            cursor = QTextCursor(file.document)
            cursor.setPosition(min(span.selectionStart() for span, _ in file.arrived.spans))
            self._pane.text.setTextCursor(cursor)
            self._pane.text.centerCursor()
            self._to_text()

    @Slot()
    def _ask(self) -> None:
        """Somebody wants to save what is not decided."""
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
    """What to do with `count` open conflicts (0: the file as a whole) before a save: mine, show or cancel."""
    tr = QCoreApplication.translate
    box = QMessageBox(parent)
    box.setIcon(QMessageBox.Icon.Warning)
    box.setWindowTitle(tr("CoEditing", "Not decided yet"))
    box.setTextFormat(Qt.TextFormat.PlainText)
    if count:
        box.setText(
            counted(
                "1 place was changed by you and on disk.", "%n places were changed by you and on disk.", count
            )
        )
    else:
        box.setText(tr("CoEditing", "This file was changed by you and on disk."))
    if can_overwrite:
        box.setInformativeText(tr("CoEditing", "Saving your text replaces what others wrote there."))
    else:
        box.setInformativeText(tr("CoEditing", "What is on disk now cannot be written here."))
    show = box.addButton(tr("CoEditing", "&Decide"), QMessageBox.ButtonRole.AcceptRole) if count else None
    mine = None
    if can_overwrite:
        mine = box.addButton(tr("CoEditing", "Save &mine"), QMessageBox.ButtonRole.DestructiveRole)
    cancel = box.addButton(QMessageBox.StandardButton.Cancel)
    box.setDefaultButton(show or cancel)
    box.exec()
    if mine is not None and box.clickedButton() is mine:
        return "mine"
    return "show" if show is not None and box.clickedButton() is show else "cancel"


def by_whom(authors: Iterable[str]) -> str:
    """`by the memory writer`; several kinds of writers are `by others`. Actors are never guessed."""
    tr = QCoreApplication.translate
    names = {
        "": tr("CoEditing", "from outside"),
        "outside": tr("CoEditing", "from outside"),
        "user": tr("CoEditing", "made by hand in Reverie"),
        "agent": tr("CoEditing", "by the agent"),
        "dream": tr("CoEditing", "by a consolidation"),
        "harvest": tr("CoEditing", "by a harvest"),
        "writer": tr("CoEditing", "by the memory writer"),
        "extract": tr("CoEditing", "by an extraction"),
        "notes": tr("CoEditing", "by an update of the session notes"),
        "revert": tr("CoEditing", "by the undoing of a run"),
    }
    told = {names.get(author, tr("CoEditing", "by a background job")) for author in authors}
    return told.pop() if len(told) == 1 else tr("CoEditing", "by others")
