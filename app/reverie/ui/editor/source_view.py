"""The source text of a memory, with line numbers and marks in a strip at its left, the gutter.

Threading: GUI thread. Failure: none; a position beyond the text is ignored.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from PySide6.QtCore import QEvent, QMimeData, QPoint, QRect, QSize, Qt, Signal, Slot
from PySide6.QtGui import (
    QColor,
    QFontMetrics,
    QHelpEvent,
    QInputMethodEvent,
    QKeyEvent,
    QPainter,
    QPaintEvent,
    QPen,
    QResizeEvent,
    QTextBlock,
    QTextCharFormat,
    QTextCursor,
    QTextDocument,
    QWheelEvent,
)
from PySide6.QtWidgets import QPlainTextEdit, QTextEdit, QToolTip, QWidget

from reverie.errors import UserError
from reverie.ui.appearance import GAP, UNIT, Theme, dimmed, mixed, monospace, readable, theme_of
from reverie.ui.display_text import LONGEST_LINE, MOST_LINES, as_tooltip, has_long_line
from reverie.ui.editor.line_breaks import widget_text
from reverie.ui.widgets.text_boxes import PlainTextBox, selected_text

MOST_PASTED = 200_000
"""The most characters that are inserted at once."""
_STRIP = UNIT
_SMALLEST, _LARGEST = -6, 24
_NOTCH = 120
_KEEP = QTextCursor.MoveMode.KeepAnchor

Span = tuple[int, int, str]


_COMMAND = Qt.KeyboardModifier.ControlModifier | Qt.KeyboardModifier.AltModifier


def _is_command(event: QKeyEvent) -> bool:
    """Return True if the pressed keys are a command with Ctrl+Alt, such as Ctrl+Alt+S; else False.

    Qt reports AltGr as Ctrl+Alt, and would insert the character of the key even for a command. With AltGr,
    the S key never produces an "s"; if it does, the keys are a command.
    """
    typed = event.text().upper()
    return event.modifiers() == _COMMAND and len(typed) == 1 and ord(typed) == event.key()


class SourceView(PlainTextBox):
    """The text box with the source text of a memory.

    Marks (in the gutter, the strip at the left) and highlights (in the text) belong to the document: they are
    dropped when another document is shown, and they move with their lines when the user types. The view does
    not know what they mean; each has a kind, which selects its colour. An edit that would make a line of more
    than `LONGEST_LINE` characters is refused, because laying out such a line would block the window.

    Signals:
        geometry_changed(): Lines have moved in the viewport.
        zoom_wanted(int): The user turned the wheel with Ctrl: the number of steps; negative to zoom out.
        refused(UserError): An edit was refused, because a line or the inserted text would be too long.
    """

    geometry_changed = Signal()
    zoom_wanted = Signal(int)
    refused = Signal(object)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._marks: dict[int, str] = {}
        self._tips: dict[int, str] = {}
        self._highlights: dict[str, list[QTextEdit.ExtraSelection]] = {}
        self._text_tips: tuple[Span, ...] = ()
        self._unseen: int | None = None
        self._unseen_tip = ""
        self._blocks = 1
        self._zoom = 0
        self._turned = 0
        self._numbered = True
        self._edited = (0, 0)
        self.gutter = _Gutter(self)
        self.setFont(monospace())
        self.setTabChangesFocus(False)
        self.setFrameShape(QPlainTextEdit.Shape.NoFrame)
        self.setLineWrapMode(QPlainTextEdit.LineWrapMode.WidgetWidth)
        self.updateRequest.connect(self._on_update)
        self.cursorPositionChanged.connect(self.gutter.update)
        self.textChanged.connect(self._check_lines)
        self._take(self.document())

    def event(self, event: QEvent) -> bool:
        is_asked = event.type() == QEvent.Type.ShortcutOverride
        if is_asked and isinstance(event, QKeyEvent) and _is_command(event):
            event.ignore()
            return False
        return super().event(event)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if _is_command(event):
            event.ignore()
        elif not self._refuses(event.text() if event.text().isprintable() else ""):
            super().keyPressEvent(event)

    def inputMethodEvent(self, event: QInputMethodEvent) -> None:
        if not self._refuses(event.commitString()):
            super().inputMethodEvent(event)

    def insertFromMimeData(self, source: QMimeData) -> None:
        """Insert pasted or dropped text, or emit `refused` if it is too long or would make a line too long.

        Qt inserts the whole text in one event, which takes longer the more lines it has.
        """
        text = widget_text(source.text())
        if text.count("\n") < MOST_LINES and len(text) <= MOST_PASTED:
            if not self._refuses(text):
                super().insertFromMimeData(source)
        elif not self.isReadOnly():
            why = self.tr("At most {lines} lines and {n} characters can be inserted at once.")
            how = self.tr("Insert the text in parts, or edit the file in another program.")
            text = why.format(lines=f"{MOST_LINES:,}", n=f"{MOST_PASTED:,}")
            self.refused.emit(UserError(text, next_step=how))

    def refuse_long_line(self) -> None:
        """Emit `refused` with the message that a line with too many characters cannot be edited."""
        why = self.tr("A line of more than {n} characters cannot be edited here.")
        how = self.tr("Split the line into shorter ones, or edit the file in another program.")
        self.refused.emit(UserError(why.format(n=f"{LONGEST_LINE:,}"), next_step=how))

    def _refuses(self, text: str) -> bool:
        """Return True if inserting `text` in place of the selection would make a line too long.

        If so, `refused` is emitted, unless the text is read-only.
        """
        before, after = self.textCursor(), self.textCursor()
        before.setPosition(before.selectionStart())
        before.movePosition(QTextCursor.MoveOperation.StartOfBlock, _KEEP)
        after.setPosition(after.selectionEnd())
        after.movePosition(QTextCursor.MoveOperation.EndOfBlock, _KEEP)
        refuses = bool(text) and has_long_line(selected_text(before) + text + selected_text(after))
        if refuses and not self.isReadOnly():
            self.refuse_long_line()
        return refuses

    @Slot()
    def _check_lines(self) -> None:
        """Undo the last edit if it has made a line too long, and emit `refused`."""
        document = self.document()
        if document.isUndoAvailable() and _has_long_line(document, *self._edited):
            document.undo()
            document.clearUndoRedoStacks(QTextDocument.Stacks.RedoStack)
            self.refuse_long_line()

    def setDocument(self, document: QTextDocument) -> None:
        """Show another document; the marks and highlights of the previous one are dropped."""
        if document is self.document():
            return
        self.document().contentsChange.disconnect(self._on_contents_change)
        self._marks, self._tips, self._highlights, self._unseen = {}, {}, {}, None
        self._text_tips = ()
        # Before the document is deleted, because Qt would access its cursors.
        self._show_highlights()
        super().setDocument(document)
        if document.defaultFont() != self.font():
            document.setDefaultFont(self.font())
        self._take(document)
        self.geometry_changed.emit()

    def _take(self, document: QTextDocument) -> None:
        self._blocks = document.blockCount()
        document.contentsChange.connect(self._on_contents_change)
        self._fit_gutter()

    @Slot(int, int, int)
    def _on_contents_change(self, position: int, _removed: int, added: int) -> None:
        document = self.document()
        self._edited = position, added
        more = document.blockCount() - self._blocks
        if not more:
            return
        self._blocks = document.blockCount()
        at = document.findBlock(position).blockNumber()
        self._marks = _shifted(self._marks, at, more)
        self._tips = _shifted(self._tips, at, more)
        self._fit_gutter()
        self.gutter.update()

    @property
    def marks(self) -> Mapping[int, str]:
        """The kind of each mark in the gutter (see `set_marks`), by the number of its line, from 0."""
        return self._marks

    def set_marks(self, marks: Mapping[int, str], tips: Mapping[int, str] | None = None) -> None:
        """Set the marks in the gutter: the kind of each mark by the number of its line, counted from 0.

        The kinds are `theirs` (written by others), `conflict` and `unseen` (not read by the agent). `tips`:
        the tool tips of marks as plain text, by line; None: no tool tips.
        """
        self._marks, self._tips = dict(marks), dict(tips or {})
        self.gutter.update()

    @property
    def first_visible_line(self) -> int:
        """The number of the line at the top of the viewport, counted from 0."""
        return self.firstVisibleBlock().blockNumber()

    def set_unseen_from(self, position: int | None, tip: str = "") -> None:
        """Draw a dashed line across the view at `position`, from which on the agent does not read the text.

        `position` is in UTF-16 units; None: the agent reads all. `tip`: the tool tip of the lines that are
        not read.
        """
        if (position, tip) != (self._unseen, self._unseen_tip):
            self._unseen, self._unseen_tip = position, tip
            self.gutter.update()
            self.viewport().update()

    @property
    def unseen_block(self) -> int | None:
        """The number, from 0, of the first line that the agent does not read completely; None for none."""
        return None if self._unseen is None else self._unseen_start().blockNumber()

    def _unseen_start(self) -> QTextBlock:
        last = max(0, self.document().characterCount() - 1)
        return self.document().findBlock(min(self._unseen or 0, last))

    def mark_at(self, block: int) -> tuple[str, str]:
        """Return the kind and the tool tip of the mark of a line.

        `block`: the number of the line, counted from 0. Both items are "" if the line has no mark.
        """
        if block in self._marks:
            return self._marks[block], self._tips.get(block, "")
        unseen = self.unseen_block
        return ("unseen", self._unseen_tip) if unseen is not None and block >= unseen else ("", "")

    def set_highlights(self, key: str, spans: Sequence[Span]) -> None:
        """Set the highlights of one owner: (start, end, kind) spans of the text, in UTF-16 units.

        `key` names the owner; its previous highlights are replaced, those of other owners stay. The kinds are
        `match`, `match-current`, `theirs`, `mine`, `conflict` and `stale`; `stale` is underlined, the others
        have a background colour.
        """
        length = self.document().characterCount() - 1
        made = [
            self._selection(start, min(end, length), kind) for start, end, kind in spans if start <= length
        ]
        if made or key in self._highlights:
            self._highlights[key] = made
            self._show_highlights()

    def set_text_tips(self, tips: Sequence[Span]) -> None:
        """Set the tool tips of parts of the text: (start, end, plain text) spans, in UTF-16 units."""
        self._text_tips = tuple(tips)

    def text_tip(self, position: int) -> str:
        """Return the tool tip at a position of the text, in UTF-16 units; "" if there is none."""
        return next((tip for start, end, tip in self._text_tips if start <= position <= end), "")

    def viewportEvent(self, event: QEvent) -> bool:
        if self._text_tips and isinstance(event, QHelpEvent) and event.type() == QEvent.Type.ToolTip:
            tip = self.text_tip(self.cursorForPosition(event.pos()).position())
            QToolTip.showText(event.globalPos(), as_tooltip(*tip.split("\n")) if tip else "", self)
            return True
        return super().viewportEvent(event)

    def _selection(self, start: int, end: int, kind: str) -> QTextEdit.ExtraSelection:
        made = QTextEdit.ExtraSelection()
        cursor = QTextCursor(self.document())
        cursor.setPosition(start)
        cursor.setPosition(max(start, end), QTextCursor.MoveMode.KeepAnchor)
        made.cursor = cursor
        form = QTextCharFormat()
        form.setProperty(QTextCharFormat.Property.UserProperty, kind)
        _colour(form, theme_of(self.palette()), kind)
        made.format = form
        return made

    def _show_highlights(self) -> None:
        self.setExtraSelections([each for owned in self._highlights.values() for each in owned])

    @property
    def zoom(self) -> int:
        """The size of the text, in points above that of the interface; negative if it is smaller."""
        return self._zoom

    def set_zoom(self, points: int) -> None:
        """Set the size of the text to `points` above that of the interface, limited to readable sizes."""
        self._zoom = max(_SMALLEST, min(_LARGEST, points))
        font = monospace()
        font.setPointSizeF(max(4.0, font.pointSizeF() + self._zoom))
        self.setTabStopDistance(4 * QFontMetrics(font).horizontalAdvance(" "))
        if font == self.font():
            return
        self.setFont(font)
        if self.document().defaultFont() != font:
            self.document().setDefaultFont(font)
        self._fit_gutter()
        self.geometry_changed.emit()

    @property
    def line_numbers(self) -> bool:
        return self._numbered

    def set_line_numbers(self, on: bool) -> None:
        """Show or hide the line numbers; the marks stay visible."""
        self._numbered = on
        self._fit_gutter()
        self.gutter.update()

    @property
    def wraps(self) -> bool:
        """True if long lines are wrapped."""
        return self.lineWrapMode() == QPlainTextEdit.LineWrapMode.WidgetWidth

    def set_wrap(self, on: bool) -> None:
        """Wrap long lines if `on`; otherwise the view scrolls horizontally."""
        mode = QPlainTextEdit.LineWrapMode.WidgetWidth if on else QPlainTextEdit.LineWrapMode.NoWrap
        if mode != self.lineWrapMode():
            self.setLineWrapMode(mode)
            self.geometry_changed.emit()

    def block_top(self, block: int) -> int:
        """Return the y coordinate of the top of line `block` (counted from 0), in pixels of the viewport.

        It is exact for lines within two heights of the viewport. For other lines, it only tells whether they
        are above or below the viewport.
        """
        found = self.document().findBlockByNumber(block)
        if not found.isValid():
            found = self.document().lastBlock()
        return round(self.blockBoundingGeometry(found).translated(self.contentOffset()).top())

    def go_to_line(self, line: int, *, select: bool = False) -> None:
        """Move the caret to the beginning of a line, counted from 1, and scroll that line to the centre.

        `select`: select the line.
        """
        block = self.document().findBlockByNumber(max(0, min(line, self.blockCount()) - 1))
        cursor = QTextCursor(block)
        if select:
            cursor.movePosition(QTextCursor.MoveOperation.EndOfBlock, QTextCursor.MoveMode.KeepAnchor)
        self.setTextCursor(cursor)
        self.centerCursor()

    def gutter_width(self) -> int:
        """Return the width of the gutter in pixels."""
        if not self._numbered:
            return _STRIP + 2
        digits = max(2, len(str(max(1, self.blockCount()))))
        return _STRIP + UNIT + GAP + QFontMetrics(self.font()).horizontalAdvance("9") * digits

    def _fit_gutter(self) -> None:
        width = self.gutter_width()
        if self.viewportMargins().left() != width:
            self.setViewportMargins(width, 0, 0, 0)
        self._place_gutter()

    def _place_gutter(self) -> None:
        inside = self.contentsRect()
        self.gutter.setGeometry(QRect(inside.left(), inside.top(), self.gutter_width(), inside.height()))

    @Slot(QRect, int)
    def _on_update(self, area: QRect, moved: int) -> None:
        if moved:
            self.gutter.scroll(0, moved)
        else:
            self.gutter.update(0, area.y(), self.gutter.width(), area.height())
        # A blinking caret changes less than a line and moves nothing.
        if moved or area.height() > 2 * self.fontMetrics().height():
            self.geometry_changed.emit()

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._place_gutter()
        self.geometry_changed.emit()

    def wheelEvent(self, event: QWheelEvent) -> None:
        if not event.modifiers() & Qt.KeyboardModifier.ControlModifier:
            super().wheelEvent(event)
            return
        self._turned += event.angleDelta().y()
        steps = int(self._turned / _NOTCH)
        self._turned -= steps * _NOTCH
        if steps:
            self.zoom_wanted.emit(steps)
        event.accept()

    def changeEvent(self, event: QEvent) -> None:
        super().changeEvent(event)
        if event.type() == QEvent.Type.PaletteChange and hasattr(self, "gutter"):
            self._tint()

    def _tint(self) -> None:
        theme = theme_of(self.palette())
        for owned in self._highlights.values():
            for each in owned:
                form: QTextCharFormat = each.format
                kind = str(form.property(QTextCharFormat.Property.UserProperty))
                _colour(form, theme, kind)
                each.format = form
        self._show_highlights()
        self.gutter.update()

    def paintEvent(self, event: QPaintEvent) -> None:
        super().paintEvent(event)
        if self._unseen is None:
            return
        top = self._unseen_top()
        if top < event.rect().top() - 2 or top > event.rect().bottom() + 2:
            return
        painter = QPainter(self.viewport())
        painter.setPen(QPen(theme_of(self.palette()).warn, 1, Qt.PenStyle.DashLine))
        painter.drawLine(0, top, self.viewport().width(), top)

    def _unseen_top(self) -> int:
        """Return the y coordinate of the line below which the agent reads nothing, in pixels of the viewport.

        It is the bottom of the row of text in which the agent stops reading.
        """
        block = self._unseen_start()
        inside = (self._unseen or 0) - block.position()
        row = block.layout().lineForTextPosition(max(0, inside))
        lower = row.rect().bottom() if inside > 0 and row.isValid() else 0.0
        return self.block_top(block.blockNumber()) + round(lower)

    def paint_gutter(self, painter: QPainter, area: QRect) -> None:
        """Paint the line numbers and marks of the lines in `area` of the gutter."""
        theme = theme_of(self.palette())
        painter.fillRect(area, theme.window)
        painter.setFont(self.font())
        height = QFontMetrics(self.font()).height()
        here = self.textCursor().blockNumber()
        dim = dimmed(theme.text, theme.window)
        unseen = self.unseen_block
        right = self.gutter.width() - UNIT - 1
        block = self.firstVisibleBlock()
        while block.isValid():
            shape = self.blockBoundingGeometry(block).translated(self.contentOffset())
            if shape.top() > area.bottom():
                break
            number = block.blockNumber()
            if shape.bottom() >= area.top():
                kind = self._marks.get(number, "")
                if not kind and unseen is not None and number >= unseen:
                    kind = "unseen"
                if kind:
                    strip = QRect(0, round(shape.top()), _STRIP, max(2, round(shape.height())))
                    painter.fillRect(strip, _sign(theme, kind))
                if self._numbered:
                    painter.setPen(theme.text if number == here else dim)
                    row = QRect(0, round(shape.top()), right, height)
                    painter.drawText(row, Qt.AlignmentFlag.AlignRight, str(number + 1))
            block = block.next()

    def gutter_tip(self, at: QPoint) -> str:
        """Return the tool tip of the mark at the point `at` of the gutter; "" if there is none."""
        return self.mark_at(self.cursorForPosition(QPoint(0, at.y())).blockNumber())[1]


class _Gutter(QWidget):
    """The strip at the left of the text; `SourceView` paints it."""

    def __init__(self, view: SourceView) -> None:
        super().__init__(view)
        self._view = view

    def sizeHint(self) -> QSize:
        return QSize(self._view.gutter_width(), 0)

    def paintEvent(self, event: QPaintEvent) -> None:
        self._view.paint_gutter(QPainter(self), event.rect())

    def wheelEvent(self, event: QWheelEvent) -> None:
        self._view.wheelEvent(event)

    def event(self, event: QEvent) -> bool:
        if isinstance(event, QHelpEvent) and event.type() == QEvent.Type.ToolTip:
            tip = self._view.gutter_tip(event.pos())
            QToolTip.showText(event.globalPos(), as_tooltip(tip) if tip else "", self)
            return True
        return super().event(event)


def _has_long_line(document: QTextDocument, position: int, added: int) -> bool:
    """Return True if an edit has made a line too long.

    The edit has added the `added` characters that begin at `position`; only their lines are checked.
    """
    last = document.characterCount() - 1
    cursor = QTextCursor(document)
    cursor.setPosition(document.findBlock(min(position, last)).position())
    cursor.setPosition(min(position + added, last), _KEEP)
    cursor.movePosition(QTextCursor.MoveOperation.EndOfBlock, _KEEP)
    return has_long_line(selected_text(cursor))


def _shifted(marks: Mapping[int, str], at: int, more: int) -> dict[int, str]:
    """Return the marks (kind by line number) after lines were added or removed below line `at`.

    `more`: the number of added lines; negative for removed lines, whose marks are dropped.
    """
    after: dict[int, str] = {}
    for number, kind in marks.items():
        if number <= at:
            after[number] = kind
        elif number + more > at:
            after[number + more] = kind
    return after


def _colour(form: QTextCharFormat, theme: Theme, kind: str) -> None:
    """Set the format `form` to the colours, or the underline, of a highlight of the kind `kind`.

    Syntax colours are unreadable on the background of a match, so matches also get the plain text colour.
    """
    if kind == "stale":
        form.setUnderlineStyle(QTextCharFormat.UnderlineStyle.WaveUnderline)
        form.setUnderlineColor(theme.warn)
        return
    back = _background(theme, kind)
    form.setBackground(back)
    if kind.startswith("match"):
        form.setForeground(readable(theme.text, back))


def _background(theme: Theme, kind: str) -> QColor:
    return {
        "match": theme.warn_back,
        "match-current": mixed(theme.warn, theme.base, 0.5),
        "theirs": theme.accent_back,
        "mine": theme.added_back,
        "conflict": theme.bad_back,
    }[kind]


def _sign(theme: Theme, kind: str) -> QColor:
    return {"theirs": theme.accent, "conflict": theme.bad, "unseen": theme.warn}[kind]
