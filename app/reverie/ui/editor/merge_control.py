"""What a person sees of others writing into the open file: marks, a sentence, the choice at each conflict.

The open file knows what arrived and what has to be decided (`documents`); this shows it over the editor and
hands decisions to the buffers. A save with open conflicts asks first; it could not go through anyway
(compare-and-swap).

Threading: GUI thread. Failure: none of its own; saving tells its own.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from PySide6.QtCore import QEvent, QObject, QPoint, QRect, QSize, Qt, Signal, Slot
from PySide6.QtGui import QFontMetrics, QKeyEvent, QPainter, QPaintEvent, QPalette, QTextCursor, QWheelEvent
from PySide6.QtWidgets import (
    QApplication,
    QMessageBox,
    QPlainTextEdit,
    QToolButton,
    QWidget,
)

from reverie.services.views import SEVERAL
from reverie.ui.appearance import GAP, UNIT, Icons, monospace, theme_of
from reverie.ui.display_text import BY, counted, tr, translated, visible_lines
from reverie.ui.editor.control import Buffers
from reverie.ui.editor.documents import OpenFile
from reverie.ui.editor.source_view import SourceView
from reverie.ui.editor.text_merge import MergeConflict, Region, Side
from reverie.ui.jobs import single_shot
from reverie.ui.widgets.controls import FitPushButton, WrapLabel
from reverie.ui.widgets.layouts import FlowLayout, column, row_of
from reverie.ui.widgets.messages import message_box
from reverie.ui.widgets.text_views import read_only_text

if TYPE_CHECKING:
    from reverie.ui.editor.control import EditorControl
    from reverie.ui.editor.pane import EditorPane


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
        self._typing = single_shot(self, RECHECK_MS, self._recheck)
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
                tips[block] = self.tr("Changed {by}").format(by=by_whom([author]))
                if author == "revert":
                    tips[block] = self.tr("Undone by you")
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
        keyboard = self.card is not None and self.card.has_focus
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
    text = tr("You and another program changed this file.")
    if count:
        text = counted(
            "You and another program changed the same lines.",
            "You and another program changed the same lines in %n places.",
            count,
        )
    more = tr("What is on disk now cannot be written here.")
    if can_overwrite:
        more = tr("Saving your text replaces what others wrote there.")
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
    """`by the memory writer`; several kinds of writers are `by others`. Actors are never guessed."""
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


# The choice beside a place that both sides changed: what stands on disk, and whose lines to keep.
#
# A card over the text, below the lines it is about (above them where there is no room), so that both sides
# are seen at once: mine in the text, theirs on the card. It goes along when the text scrolls.
#
# Threading: GUI thread. It decides nothing itself: `chosen` tells what was pressed.


_MOST_LINES = 6
_MOST_CHARS = 20_000
_WIDEST = 720


class ConflictChoice(QWidget):
    """`chosen(str)`: mine, theirs or both. `step(int)`: to the next (1) or the previous (-1) conflict.
    `left()`: back to the text."""

    chosen = Signal(str)
    step = Signal(int)
    left = Signal()

    def __init__(self, view: SourceView, icons: Icons) -> None:
        super().__init__(view)
        # The view's own font is that of code; sentences and buttons are not.
        self.setFont(QApplication.font())
        self._view = view
        self._icons = icons
        self._conflict: MergeConflict | None = None
        self._sentences = ("", "")
        self.setAccessibleName(self.tr("Conflict"))
        self.title = WrapLabel()
        self.theirs = read_only_text(self.tr("What is on disk"))
        self.theirs.setFrameShape(QPlainTextEdit.Shape.NoFrame)
        self.previous = self._arrow(Qt.ArrowType.UpArrow, self.tr("Previous conflict (Shift+F8)"))
        self.next = self._arrow(Qt.ArrowType.DownArrow, self.tr("Next conflict (F8)"))
        self.buttons: dict[str, FitPushButton] = {}
        self._lay_out()
        self._tint()
        self.hide()
        view.geometry_changed.connect(self.place)
        view.installEventFilter(self)

    def _arrow(self, arrow: Qt.ArrowType, name: str) -> QToolButton:
        made = QToolButton()
        made.setArrowType(arrow)
        made.setAutoRaise(True)
        made.setAccessibleName(name)
        made.setToolTip(name)
        made.clicked.connect(self._on_arrow)
        return made

    def _lay_out(self) -> None:
        head = row_of(self.title, self.previous, self.next, grows=self.title, gap=UNIT)
        row = FlowLayout()
        for key, label, tip in (
            ("mine", self.tr("Use &mine"), self.tr("Your lines stay, theirs are left out (F9)")),
            (
                "theirs",
                self.tr("Use &theirs"),
                self.tr("Their lines replace yours; Ctrl+Z asks again (Shift+F9)"),
            ),
            ("both", self.tr("Use &both"), self.tr("Your lines, then theirs (Ctrl+F9)")),
        ):
            button = FitPushButton()
            button.setObjectName(key)
            button.say(label, tip)
            button.clicked.connect(self._on_button)
            self.buttons[key] = button
            row.addWidget(button)
        column(self, head, self.theirs, row, margin=(GAP, UNIT + 2, GAP, GAP), gap=UNIT)

    # What is shown

    @property
    def conflict(self) -> MergeConflict | None:
        return self._conflict

    def show_conflict(self, conflict: MergeConflict, number: int, count: int) -> None:
        """Offer the choice for the `number`-th of `count` conflicts."""
        self._conflict = conflict
        where = self.tr("Conflict {number} of {count}.").format(number=number, count=count)
        if not conflict.theirs:
            what = self.tr("These lines were deleted on disk.")
        elif not conflict.mine:
            what = self.tr("You deleted these lines; on disk they are:")
        else:
            what = self.tr("You changed these lines; on disk they are:")
        self._sentences = (f"{where} {what}", f"{where} {self.tr('Compare shows both sides.')}")
        self.title.say(self._sentences[0])
        text = visible_lines("\n".join(conflict.theirs)[:_MOST_CHARS])
        if self.theirs.content != text:
            self.theirs.setPlainText(text)
        for button in (self.previous, self.next):
            button.setVisible(count > 1)
        self.place()

    @property
    def has_focus(self) -> bool:
        """Whether the focus is here. `focusWidget` of a widget tells where it was last, however long ago."""
        return self.isAncestorOf(QApplication.focusWidget() or self._view)

    def clear(self) -> None:
        """There is nothing to choose."""
        if self.has_focus:
            self.left.emit()
        self._conflict = None
        self.hide()

    def focus_choice(self) -> None:
        """To the buttons, by keyboard."""
        self.buttons["mine"].setFocus(Qt.FocusReason.ShortcutFocusReason)

    # Place

    @Slot()
    def place(self) -> None:
        """Stand below the lines, or above them; not at all while they are out of sight."""
        conflict, view = self._conflict, self._view
        if conflict is None or not view.viewport().width():
            return
        port = view.viewport().geometry()
        top = view.block_top(conflict.at.start)
        bottom = self._bottom(conflict)
        if bottom < 0 or top > port.height():
            self.hide()
            return
        size = self._size(port.size())
        place = bottom + 2
        if place + size.height() > port.height():
            above = top - size.height() - 2
            place = above if above >= 0 else port.height() - size.height()
        self.setGeometry(QRect(port.topLeft() + QPoint(UNIT, max(0, place)), size))
        self.show()
        self.raise_()

    def _bottom(self, conflict: MergeConflict) -> int:
        """Where the last line of the place ends, in the viewport."""
        if conflict.at.end < self._view.blockCount():
            return self._view.block_top(conflict.at.end)
        last = self._view.document().lastBlock()
        height = self._view.blockBoundingRect(last).height()
        return self._view.block_top(last.blockNumber()) + round(height)

    def _size(self, port: QSize) -> QSize:
        """As many rows of theirs as there is room for; none in the smallest windows."""
        width = min(_WIDEST, port.width() - 2 * UNIT)
        row = QFontMetrics(self.theirs.font()).lineSpacing()
        margin = round(2 * self.theirs.document().documentMargin()) + 2
        height = 0
        for rows in range(min(_MOST_LINES, self._rows(width)), -1, -1):
            self.theirs.setVisible(rows > 0)
            self.title.say(self._sentences[1 if self._rows(width) and not rows else 0])
            self.theirs.setFixedHeight(rows * row + margin)
            height = self._height(width)
            if height <= port.height():
                break
        return QSize(width, min(height, port.height()))

    def _height(self, width: int) -> int:
        layout = self.layout()
        if layout is None:
            return 0
        layout.invalidate()
        return layout.totalHeightForWidth(width)

    def _rows(self, width: int) -> int:
        """How many rows theirs takes once its lines are broken at the edge."""
        one = max(1, (width - 4 * GAP) // max(1, QFontMetrics(self.theirs.font()).horizontalAdvance("m")))
        conflict = self._conflict
        return sum(1 + len(line) // one for line in (conflict.theirs if conflict is not None else ()))

    # Events

    @Slot()
    def _on_button(self) -> None:
        self.chosen.emit(self.sender().objectName())

    @Slot()
    def _on_arrow(self) -> None:
        self.step.emit(1 if self.sender() is self.next else -1)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() == Qt.Key.Key_Escape:
            self.left.emit()
            event.accept()
        else:
            super().keyPressEvent(event)

    def wheelEvent(self, event: QWheelEvent) -> None:
        self._view.wheelEvent(event)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if event.type() == QEvent.Type.FontChange and watched is self._view:
            self._tint()
            self.place()
        return super().eventFilter(watched, event)

    def changeEvent(self, event: QEvent) -> None:
        super().changeEvent(event)
        if event.type() == QEvent.Type.PaletteChange and hasattr(self, "buttons"):
            self._tint()

    def _tint(self) -> None:
        theme = theme_of(self._view.palette())
        self.theirs.setFont(monospace() if self._view.font().pointSizeF() <= 0 else self._view.font())
        palette = self.theirs.palette()
        if palette.color(QPalette.ColorRole.Base) != theme.accent_back:
            palette.setColor(QPalette.ColorRole.Base, theme.accent_back)
            palette.setColor(QPalette.ColorRole.Text, theme.text)
            self.theirs.setPalette(palette)
        self.update()

    def paintEvent(self, event: QPaintEvent) -> None:
        theme = theme_of(self._view.palette())
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(theme.bad)
        painter.setBrush(theme.window)
        painter.drawRoundedRect(self.rect().adjusted(0, 0, -1, -1), UNIT, UNIT)
