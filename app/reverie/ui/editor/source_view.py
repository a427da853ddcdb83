"""The text of a memory as it is on disk, with a gutter at its left: line numbers, and marks beside lines.

Marks and highlights belong to the shown document: they are forgotten when another one is shown, and they
follow what is typed (a mark stays beside its line, lines that go take their marks along). What they mean is
their owner's business; here they only have a kind, which is drawn in the theme's colours.

A text with a line of more than `LONGEST_LINE` characters is not wrapped, whatever a person wishes: breaking
such a line would hold up the window.

Threading: GUI thread. Nothing here fails: a place beyond the text is left out.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from PySide6.QtCore import QEvent, QPoint, QRect, QSize, Qt, Signal, Slot
from PySide6.QtGui import (
    QColor,
    QFontMetrics,
    QHelpEvent,
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

from reverie.ui.appearance import GAP, UNIT, Theme, dimmed, mixed, monospace, readable, theme_of
from reverie.ui.display_text import LONGEST_LINE, as_tooltip

_STRIP = UNIT
_SMALLEST, _LARGEST = -6, 24
_NOTCH = 120

Span = tuple[int, int, str]


class SourceView(QPlainTextEdit):
    """`geometry_changed()`: lines stand elsewhere in the viewport. `zoom_wanted(int)`: so many steps of
    Ctrl+wheel."""

    geometry_changed = Signal()
    zoom_wanted = Signal(int)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._marks: dict[int, str] = {}
        self._tips: dict[int, str] = {}
        self._highlights: dict[str, list[QTextEdit.ExtraSelection]] = {}
        self._unseen: int | None = None
        self._unseen_tip = ""
        self._blocks = 1
        self._zoom = 0
        self._turned = 0
        self._numbered = True
        self._wraps = True
        self._long = False
        self.gutter = _Gutter(self)
        self.setFont(monospace())
        self.setTabChangesFocus(False)
        self.setFrameShape(QPlainTextEdit.Shape.NoFrame)
        self.setLineWrapMode(QPlainTextEdit.LineWrapMode.WidgetWidth)
        self.updateRequest.connect(self._on_update)
        self.cursorPositionChanged.connect(self.gutter.update)
        self._take(self.document())

    # The document

    def setDocument(self, document: QTextDocument) -> None:
        """Show another document; marks and highlights of the last one are forgotten."""
        if document is self.document():
            return
        self.document().contentsChange.disconnect(self._on_contents_change)
        self._marks, self._tips, self._highlights, self._unseen = {}, {}, {}, None
        self._long = _has_long_line(document)
        self._fit_wrap()
        # Before the document goes: Qt would look at cursors of one that is deleted already.
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
        # Now, before the line has a layout.
        if not self._long and _has_long_line(document, position, added):
            self._long = True
            self._fit_wrap()
        more = document.blockCount() - self._blocks
        if not more:
            return
        self._blocks = document.blockCount()
        at = document.findBlock(position).blockNumber()
        self._marks = _shifted(self._marks, at, more)
        self._tips = _shifted(self._tips, at, more)
        self._fit_gutter()
        self.gutter.update()

    # Marks

    @property
    def marks(self) -> Mapping[int, str]:
        """Block number -> kind, where the marks are now."""
        return self._marks

    def set_marks(self, marks: Mapping[int, str], tips: Mapping[int, str] | None = None) -> None:
        """Draw marks beside lines: block number -> `theirs` (came from outside), `conflict` or `unseen`
        (beyond the agent's cap). `tips`: what the pointer tells about a mark, plain text."""
        self._marks, self._tips = dict(marks), dict(tips or {})
        self.gutter.update()

    def set_unseen_from(self, position: int | None, tip: str = "") -> None:
        """Draw the line where the agent stops reading, before the character at `position` (UTF-16 units);
        None: it reads all."""
        if (position, tip) != (self._unseen, self._unseen_tip):
            self._unseen, self._unseen_tip = position, tip
            self.gutter.update()
            self.viewport().update()

    @property
    def unseen_block(self) -> int | None:
        """The first line that the agent does not read, or reads only the beginning of."""
        return None if self._unseen is None else self._unseen_start().blockNumber()

    def _unseen_start(self) -> QTextBlock:
        last = max(0, self.document().characterCount() - 1)
        return self.document().findBlock(min(self._unseen or 0, last))

    def mark_at(self, block: int) -> tuple[str, str]:
        """Kind and tip of a line's mark, empty if it has none."""
        if block in self._marks:
            return self._marks[block], self._tips.get(block, "")
        unseen = self.unseen_block
        return ("unseen", self._unseen_tip) if unseen is not None and block >= unseen else ("", "")

    # Highlights

    def set_highlights(self, key: str, spans: Sequence[Span]) -> None:
        """Colour the background of `(start, end, kind)`, in UTF-16 units; `key` names whose they are, and
        replaces that owner's last ones. Kinds: `match`, `match-current`, `theirs`, `mine`, `conflict`."""
        length = self.document().characterCount() - 1
        made = [
            self._selection(start, min(end, length), kind) for start, end, kind in spans if start <= length
        ]
        if made or key in self._highlights:
            self._highlights[key] = made
            self._show_highlights()

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

    # Look

    @property
    def zoom(self) -> int:
        """Points above the interface's own size."""
        return self._zoom

    def set_zoom(self, points: int) -> None:
        """Make the text larger or smaller by so many points, within what can be read."""
        self._zoom = max(_SMALLEST, min(_LARGEST, points))
        font = monospace()
        font.setPointSizeF(max(4.0, font.pointSizeF() + self._zoom))
        if font == self.font():
            return
        self.setFont(font)
        if self.document().defaultFont() != font:
            self.document().setDefaultFont(font)
        self.setTabStopDistance(4 * QFontMetrics(font).horizontalAdvance(" "))
        self._fit_gutter()
        self.geometry_changed.emit()

    @property
    def line_numbers(self) -> bool:
        return self._numbered

    def set_line_numbers(self, on: bool) -> None:
        """Show or hide the numbers; the marks stay."""
        self._numbered = on
        self._fit_gutter()
        self.gutter.update()

    @property
    def wraps(self) -> bool:
        """Whether a person wants long lines broken."""
        return self._wraps

    def set_wrap(self, on: bool) -> None:
        """Break long lines at the edge, or scroll sideways."""
        self._wraps = on
        self._fit_wrap()

    def _fit_wrap(self) -> None:
        on = self._wraps and not self._long
        mode = QPlainTextEdit.LineWrapMode.WidgetWidth if on else QPlainTextEdit.LineWrapMode.NoWrap
        if mode != self.lineWrapMode():
            self.setLineWrapMode(mode)
            self.geometry_changed.emit()

    # Places

    def block_top(self, block: int) -> int:
        """Where the line's top is, in pixels of the viewport. Exact within two viewports; what is further
        away is only above or below."""
        found = self.document().findBlockByNumber(block)
        if not found.isValid():
            found = self.document().lastBlock()
        return round(self.blockBoundingGeometry(found).translated(self.contentOffset()).top())

    def go_to_line(self, line: int) -> None:
        """The caret at the beginning of a line, counted from 1, in the middle of the view."""
        block = self.document().findBlockByNumber(max(0, min(line, self.blockCount()) - 1))
        cursor = QTextCursor(block)
        self.setTextCursor(cursor)
        self.centerCursor()

    def gutter_width(self) -> int:
        """What the gutter takes at the left, in pixels."""
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
        if moved or area.height() > 2 * QFontMetrics(self.font()).height():
            self.geometry_changed.emit()

    # Events

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
        """Where the agent's last line ends: below the row of the text in which it stops."""
        block = self._unseen_start()
        inside = (self._unseen or 0) - block.position()
        row = block.layout().lineForTextPosition(max(0, inside))
        lower = row.rect().bottom() if inside > 0 and row.isValid() else 0.0
        return self.block_top(block.blockNumber()) + round(lower)

    # For the gutter

    def paint_gutter(self, painter: QPainter, area: QRect) -> None:
        """Numbers and marks of the lines that stand in `area`."""
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
        """What the mark at a point of the gutter means, empty without one."""
        return self.mark_at(self.cursorForPosition(QPoint(0, at.y())).blockNumber())[1]


class _Gutter(QWidget):
    """The strip at the left of the text. It has no life of its own."""

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


def _has_long_line(document: QTextDocument, position: int = 0, added: int | None = None) -> bool:
    """Whether a line is too long to be wrapped; of those that an edit touched where it is given."""
    if document.characterCount() <= LONGEST_LINE:
        return False
    if added is None or added > LONGEST_LINE:
        return max(map(len, document.toRawText().split("\u2029"))) > LONGEST_LINE
    ends = (document.findBlock(position), document.findBlock(position + added))
    return any(block.length() > LONGEST_LINE + 1 for block in ends)


def _shifted(marks: Mapping[int, str], at: int, more: int) -> dict[int, str]:
    """Marks after lines came (`more` > 0) or went below line `at`. Pure."""
    after: dict[int, str] = {}
    for number, kind in marks.items():
        if number <= at:
            after[number] = kind
        elif number + more > at:
            after[number + more] = kind
    return after


def _colour(form: QTextCharFormat, theme: Theme, kind: str) -> None:
    """The background of a kind; on that of a match no colour of the syntax could be read."""
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
