"""The text of a memory as it is on disk, with a gutter at its left: line numbers, and marks beside lines.

Marks and highlights belong to the shown document: they are forgotten when another one is shown, and they
follow what is typed (a mark stays beside its line, lines that go take their marks along). What they mean is
their owner's business; here they only have a kind, which is drawn in the theme's colours.

A text with a line of more than `LONGEST_LINE` characters is not wrapped, whatever a person wishes: breaking
such a line would hold up the window.

Threading: GUI thread. Nothing here fails: a place beyond the text is left out.
"""

from __future__ import annotations

import re
import time
from collections.abc import Mapping, Sequence

from PySide6.QtCore import QEvent, QObject, QPoint, QRect, QRegularExpression, QSize, Qt, Signal, Slot
from PySide6.QtGui import (
    QColor,
    QFontMetrics,
    QHelpEvent,
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
from PySide6.QtWidgets import (
    QBoxLayout,
    QLabel,
    QLineEdit,
    QPlainTextEdit,
    QSizePolicy,
    QTextEdit,
    QToolButton,
    QToolTip,
    QWidget,
)

from reverie.ui.appearance import (
    GAP,
    UNIT,
    Icons,
    Theme,
    dimmed,
    mixed,
    monospace,
    readable,
    tabular,
    theme_of,
)
from reverie.ui.display_text import LONGEST_LINE, as_tooltip, tr
from reverie.ui.jobs import single_shot
from reverie.ui.widgets.controls import WrapLabel, tint
from reverie.ui.widgets.layouts import column, row_of
from reverie.ui.widgets.text_boxes import PlainTextBox, selected_text, text_of
from reverie.values import Struct

_STRIP = UNIT
_SMALLEST, _LARGEST = -6, 24
_NOTCH = 120

Span = tuple[int, int, str]


_COMMAND = Qt.KeyboardModifier.ControlModifier | Qt.KeyboardModifier.AltModifier


def _is_command(event: QKeyEvent) -> bool:
    """Whether Ctrl and Alt are held with a key that still means itself. Qt would type it, since AltGr looks
    the same; but AltGr makes another character of the key, or none."""
    typed = event.text().upper()
    return event.modifiers() == _COMMAND and len(typed) == 1 and ord(typed) == event.key()


class SourceView(PlainTextBox):
    """`geometry_changed()`: lines stand elsewhere in the viewport. `zoom_wanted(int)`: so many steps of
    Ctrl+wheel."""

    geometry_changed = Signal()
    zoom_wanted = Signal(int)

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

    # Keys

    def event(self, event: QEvent) -> bool:
        is_asked = event.type() == QEvent.Type.ShortcutOverride
        if is_asked and isinstance(event, QKeyEvent) and _is_command(event):
            event.ignore()
            return False
        return super().event(event)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if _is_command(event):
            event.ignore()
        else:
            super().keyPressEvent(event)

    # The document

    def setDocument(self, document: QTextDocument) -> None:
        """Show another document; marks and highlights of the last one are forgotten."""
        if document is self.document():
            return
        self.document().contentsChange.disconnect(self._on_contents_change)
        self._marks, self._tips, self._highlights, self._unseen = {}, {}, {}, None
        self._text_tips = ()
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

    @property
    def first_visible_line(self) -> int:
        """The line at the top, from 0."""
        return self.firstVisibleBlock().blockNumber()

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
        replaces that owner's last ones. Kinds: `match`, `match-current`, `theirs`, `mine`, `conflict`, and
        `stale`, which is underlined."""
        length = self.document().characterCount() - 1
        made = [
            self._selection(start, min(end, length), kind) for start, end, kind in spans if start <= length
        ]
        if made or key in self._highlights:
            self._highlights[key] = made
            self._show_highlights()

    def set_text_tips(self, tips: Sequence[Span]) -> None:
        """What the pointer tells over `(start, end, plain text)`, in UTF-16 units."""
        self._text_tips = tuple(tips)

    def text_tip(self, position: int) -> str:
        """What is told at this place of the text, empty for nothing."""
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


# Finding and replacing in one text: what matches where, and what a replacement becomes.
#
# Places are UTF-16 units, as text documents count them. Qt's expressions are used because they give up: a
# pattern that would try for ever ends after a bounded number of steps and is told of, and so is one with
# more places than anybody looks at. Nothing here fails; what is wrong with a pattern is a sentence.
#
# No widgets; any thread.


MAX_FOUND = 20_000
_BUDGET_S = 0.25
_REFERENCE = re.compile(r"\\(\\|n|t|[0-9])|\$(?:([0-9])|\{([0-9])\}|(\$))")


class FindQuery(Struct, frozen=True):
    """What to look for. `regex`: the text is an expression of Perl's kind."""

    text: str
    case: bool = False
    word: bool = False
    regex: bool = False


class TextMatch(Struct, frozen=True):
    """One match: `start` to `end`, and the texts of its groups, the whole first."""

    start: int
    end: int
    groups: tuple[str, ...]


class TextMatches(Struct, frozen=True):
    """Every match in order; `error` says what is wrong with the pattern, `more` that there are further
    ones."""

    found: tuple[TextMatch, ...] = ()
    error: str = ""
    more: bool = False

    def at_or_after(self, position: int) -> int:
        """The number of the first match that begins there or later, round to the first; -1 without any."""
        later = (n for n, place in enumerate(self.found) if place.start >= position)
        return next(later, 0 if self.found else -1)

    def before(self, position: int) -> int:
        """The number of the last match that begins before, round to the last; -1 without any."""
        last = len(self.found) - 1
        return next((n for n in range(last, -1, -1) if self.found[n].start < position), last)


def find(text: str, query: FindQuery) -> TextMatches:
    """Where `query` matches in `text`; matches of no length are left out."""
    if not query.text:
        return TextMatches()
    expression = _expression(query)
    if not expression.isValid():
        why = expression.errorString()
        return TextMatches(
            error=tr("This expression is not complete or not valid: {why} (at character {at}).").format(
                why=why, at=max(1, expression.patternErrorOffset() - _offset(query) + 1)
            )
        )
    found: list[TextMatch] = []
    end = time.monotonic() + _BUDGET_S
    matches = expression.globalMatch(text)
    while matches.hasNext():
        match = matches.next()
        if match.capturedLength():
            found.append(TextMatch(match.capturedStart(), match.capturedEnd(), tuple(match.capturedTexts())))
        if len(found) >= MAX_FOUND or time.monotonic() > end:
            return TextMatches(tuple(found), more=matches.hasNext())
    if not matches.isValid():
        return TextMatches(error=tr("This expression needs too many steps in this text; make it simpler."))
    return TextMatches(tuple(found))


def replacement(place: TextMatch, wanted: str, query: FindQuery) -> str:
    """What a match becomes: `wanted` as it is, or for an expression with `\\1`, `$1`, `${1}`, `\\n`, `\\t`
    filled in."""
    if not query.regex:
        return wanted

    def filled(match: re.Match[str]) -> str:
        if match[4]:
            return "$"
        name = match[1] or match[2] or match[3]
        if name.isdigit():
            return place.groups[int(name)] if int(name) < len(place.groups) else ""
        return {"n": "\n", "t": "\t", "\\": "\\"}[name]

    return _REFERENCE.sub(filled, wanted)


def _expression(query: FindQuery) -> QRegularExpression:
    pattern = query.text if query.regex else QRegularExpression.escape(query.text)
    if query.word:
        pattern = rf"(?<!\w)(?:{pattern})(?!\w)"
    option = QRegularExpression.PatternOption
    options = option.UseUnicodePropertiesOption | option.MultilineOption
    if not query.case:
        options |= option.CaseInsensitiveOption
    return QRegularExpression(pattern, options)


def _offset(query: FindQuery) -> int:
    return len(r"(?<!\w)(?:") if query.word else 0


# Find and replace in the open memory: a bar above the text.
#
# What `find` finds is shown in the source view, walked through, and replaced. Each replacement, and all of
# them together, is one step of the text's own undo stack.
#
# Threading: GUI thread; `find` stops after a while. It follows typing and the text after a short rest.


_REST_MS = 90
# Coloured at once; walking through finds the others.
_COLOURED = 2_000
_BESIDE = 460


class FindBar(QWidget):
    """Shown with `open_find` or `open_replace`, put away with Esc."""

    def __init__(self, view: SourceView, icons: Icons, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._view = view
        self._icons = icons
        self._places = TextMatches()
        self._current = -1
        self._sought: FindQuery | None = None
        self.field = self._field(self.tr("Find"))
        self.other = self._field(self.tr("Replace with"))
        self.count = QLabel()
        self.count.setFont(tabular(self.count.font()))
        self.count.setAccessibleName(self.tr("Matches"))
        self.case = self._option("Aa", self.tr("Match case"))
        self.word = self._option(self.tr("Word"), self.tr("Whole words only"))
        self.regex = self._option(".*", self.tr("Regular expression"))
        self.back = self._button("↑", self.tr("Previous match (Shift+F3)"))
        self.forth = self._button("↓", self.tr("Next match (F3)"))
        self.close_button = self._button("", self.tr("Close (Esc)"))
        self.replace_button = self._button(self.tr("Replace"), self.tr("Replace this match and go on"))
        self.all_button = self._button(self.tr("All"), self.tr("Replace every match, as one step to undo"))
        self.trouble = WrapLabel()
        self._rest = single_shot(self, _REST_MS, self.look)
        self._lay_out()
        self._connect()
        self._tint()
        self.hide()

    def _field(self, name: str) -> QLineEdit:
        made = QLineEdit()
        made.setPlaceholderText(name)
        made.setAccessibleName(name)
        made.setClearButtonEnabled(True)
        made.setMinimumWidth(90)
        made.installEventFilter(self)
        return made

    def _button(self, text: str, tip: str) -> QToolButton:
        made = QToolButton()
        made.setText(text)
        made.setToolTip(tip)
        made.setAccessibleName(tip.partition(" (")[0])
        made.setAutoRaise(True)
        made.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        made.setSizePolicy(QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Fixed)
        return made

    def _option(self, text: str, tip: str) -> QToolButton:
        made = self._button(text, tip)
        made.setCheckable(True)
        made.toggled.connect(self.look)
        return made

    def _lay_out(self) -> None:
        first = row_of(self.field, self.count, grows=self.field, gap=UNIT)
        tools = row_of(self.case, self.word, self.regex, self.back, self.forth, gap=UNIT)
        tools.addStretch(1)
        tools.addWidget(self.close_button)
        self._line = QBoxLayout(QBoxLayout.Direction.LeftToRight)
        self._line.setSpacing(UNIT)
        self._line.addLayout(first, 1)
        self._line.addLayout(tools)
        self._second = QWidget()
        row_of(
            self.other, self.replace_button, self.all_button, holder=self._second, grows=self.other, gap=UNIT
        )
        column(self, self._line, self._second, self.trouble, margin=(GAP, 0, GAP, UNIT), gap=UNIT)
        self._second.hide()
        self.trouble.hide()

    def _connect(self) -> None:
        self.field.textChanged.connect(self._rest.start)
        self._view.textChanged.connect(self._on_text)
        self.back.clicked.connect(self.previous)
        self.forth.clicked.connect(self.next)
        self.close_button.clicked.connect(self.put_away)
        self.replace_button.clicked.connect(self.replace)
        self.all_button.clicked.connect(self.replace_all)

    # Opening

    @property
    def places(self) -> TextMatches:
        """What matches now."""
        return self._places

    @property
    def query(self) -> FindQuery:
        """What is looked for: what the bar says, or `sought` while it is hidden."""
        if self._sought is not None:
            return self._sought
        return FindQuery(
            self.field.text(), self.case.isChecked(), self.word.isChecked(), self.regex.isChecked()
        )

    @Slot()
    def open_find(self) -> None:
        """Show the bar for finding; selected words become what is looked for."""
        self._open(with_replace=False)

    @Slot()
    def open_replace(self) -> None:
        """Show the bar with its second line."""
        self._open(with_replace=True)

    def seek(self, query: FindQuery | None) -> None:
        """Mark what a search looked for, and go on with it, without the bar; None: no longer."""
        if query != self._sought and not self.isVisible():
            self._sought = query
            self.look()

    def _open(self, *, with_replace: bool) -> None:
        if not self._view.isVisible():
            return
        self._sought = None
        chosen = selected_text(self._view.textCursor())
        if chosen and "\n" not in chosen:
            self.field.setText(chosen)
        self._second.setVisible(with_replace)
        self.show()
        self.look()
        self.field.setFocus()
        self.field.selectAll()

    @Slot()
    def put_away(self) -> None:
        """Close the bar; the caret stays at the match."""
        self._rest.stop()
        self.hide()
        self._view.set_highlights("find", ())
        self._view.setFocus()

    def document_changed(self) -> None:
        """Another file is shown, or none."""
        self._places, self._current = TextMatches(), -1
        if self._is_shown:
            self.look()

    # Finding

    @property
    def _is_shown(self) -> bool:
        """Matches are marked in the text."""
        return self.isVisible() or self._sought is not None

    @Slot()
    def _on_text(self) -> None:
        if self._is_shown:
            self._rest.start()

    @Slot()
    def look(self) -> None:
        """Find again, and show what is found from the caret on."""
        self._rest.stop()
        self._places = find(text_of(self._view.document()), self.query)
        cursor = self._view.textCursor()
        self._current = self._places.at_or_after(cursor.selectionStart())
        self._show()

    @Slot()
    def next(self) -> None:
        """Go to the next match, round to the first. A closed bar finds what it found last."""
        self._go(forward=True)

    @Slot()
    def previous(self) -> None:
        self._go(forward=False)

    def _go(self, *, forward: bool) -> None:
        if not self.query.text:
            self.open_find()
            return
        if self._rest.isActive() or self._stale():
            self.look()
        if not self._places.found:
            self._show()
            return
        cursor = self._view.textCursor()
        at = self._places.at_or_after(cursor.selectionStart())
        here = self._places.found[at]
        if forward and (here.start, here.end) == (cursor.selectionStart(), cursor.selectionEnd()):
            at = (at + 1) % len(self._places.found)
        elif not forward:
            at = self._places.before(cursor.selectionStart())
        self._select(at)

    def _stale(self) -> bool:
        """The bar was closed: nobody looked since."""
        return not self.isVisible() or not self._places.found

    def _select(self, at: int) -> None:
        self._current = at
        place = self._places.found[at]
        cursor = self._view.textCursor()
        cursor.setPosition(place.start)
        cursor.setPosition(place.end, QTextCursor.MoveMode.KeepAnchor)
        self._view.setTextCursor(cursor)
        self._view.ensureCursorVisible()
        self._show()

    def _show(self) -> None:
        found = self._places.found
        first = max(0, self._current - _COLOURED // 2)
        shown = found[first : first + _COLOURED] if self._is_shown else ()
        self._view.set_highlights(
            "find",
            [
                (place.start, place.end, "match-current" if first + n == self._current else "match")
                for n, place in enumerate(shown)
            ],
        )
        self._say_count()
        self._say_trouble(self._places.error)
        can = bool(found) and not self._view.isReadOnly()
        self.replace_button.setEnabled(can)
        self.all_button.setEnabled(can)
        for button in (self.back, self.forth):
            button.setEnabled(bool(found))

    def _say_trouble(self, sentence: str) -> None:
        self.trouble.say(sentence)
        self.trouble.setVisible(bool(sentence))

    def _say_count(self) -> None:
        total = len(self._places.found)
        if not self.field.text() or self._places.error:
            self.count.setText("")
        elif not total:
            self.count.setText(self.tr("none"))
        else:
            shown = f"{total:,}+" if self._places.more else f"{total:,}"
            self.count.setText(self.tr("{n} of {total}").format(n=f"{self._current + 1:,}", total=shown))
        self.count.setAccessibleDescription(self.count.text())

    # Replacing

    @Slot()
    def replace(self) -> None:
        """Replace the match that is selected and go to the next one; first go to one."""
        self.look()
        if self._view.isReadOnly() or self._current < 0:
            return
        place = self._places.found[self._current]
        cursor = self._view.textCursor()
        if (place.start, place.end) != (cursor.selectionStart(), cursor.selectionEnd()):
            self._select(self._current)
            return
        cursor.insertText(replacement(place, self.other.text(), self.query))
        self._view.setTextCursor(cursor)
        self.look()
        if self._current >= 0:
            self._select(self._current)

    @Slot()
    def replace_all(self) -> int:
        """Replace every match; returns how many were."""
        self.look()
        if self._view.isReadOnly():
            return 0
        if self._places.more:
            self._say_trouble(self.tr("There are too many matches to replace all of them at once."))
            return 0
        self._replace_each(self._places.found)
        count = len(self._places.found)
        self.look()
        return count

    def _replace_each(self, places: tuple[TextMatch, ...]) -> None:
        cursor = QTextCursor(self._view.document())
        cursor.beginEditBlock()
        # From the end, so that the places before stay where they are.
        for place in reversed(places):
            cursor.setPosition(place.start)
            cursor.setPosition(place.end, QTextCursor.MoveMode.KeepAnchor)
            cursor.insertText(replacement(place, self.other.text(), self.query))
        cursor.endEditBlock()

    # Events

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if event.type() != QEvent.Type.KeyPress or not isinstance(event, QKeyEvent):
            return super().eventFilter(watched, event)
        if event.key() not in (Qt.Key.Key_Return, Qt.Key.Key_Enter):
            return super().eventFilter(watched, event)
        if watched is self.other:
            self.replace()
        else:
            self._go(forward=not event.modifiers() & Qt.KeyboardModifier.ShiftModifier)
        return True

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() == Qt.Key.Key_Escape:
            self.put_away()
        else:
            super().keyPressEvent(event)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        beside = event.size().width() >= _BESIDE
        wanted = QBoxLayout.Direction.LeftToRight if beside else QBoxLayout.Direction.TopToBottom
        if self._line.direction() != wanted:
            self._line.setDirection(wanted)

    def changeEvent(self, event: QEvent) -> None:
        super().changeEvent(event)
        if event.type() == QEvent.Type.PaletteChange and hasattr(self, "trouble"):
            self._tint()

    def _tint(self) -> None:
        theme = theme_of(self.palette())
        tint(self.trouble, theme.bad_text)
        tint(self.count, theme.dim_window)
        self.close_button.setIcon(self._icons.icon("close"))
