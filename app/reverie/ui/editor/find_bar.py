"""Find and replace in the open memory: a bar above the text.

What matches is found by `finding`; here it is shown in the source view, walked through, and replaced. Each
replacement, and all of them together, is one step of the text's own undo stack.

Threading: GUI thread; a search is bounded by `finding`. It follows typing and the text after a short rest.
"""

from __future__ import annotations

import re
import time
from dataclasses import dataclass

from PySide6.QtCore import QEvent, QObject, QRegularExpression, Qt, QTimer, Slot
from PySide6.QtGui import QKeyEvent, QResizeEvent, QTextCursor
from PySide6.QtWidgets import (
    QBoxLayout,
    QHBoxLayout,
    QLabel,
    QLineEdit,
    QSizePolicy,
    QToolButton,
    QVBoxLayout,
    QWidget,
)

from reverie.ui.appearance import GAP, UNIT, Icons, tabular, theme_of
from reverie.ui.editor.source_view import SourceView
from reverie.ui.translation import tr
from reverie.ui.widgets.controls import WrapLabel

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


@dataclass(frozen=True, slots=True)
class FindQuery:
    """What to look for. `regex`: the text is an expression of Perl's kind."""

    text: str
    case: bool = False
    word: bool = False
    regex: bool = False


@dataclass(frozen=True, slots=True)
class TextMatch:
    """One match: `start` to `end`, and the texts of its groups, the whole first."""

    start: int
    end: int
    groups: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class TextMatches:
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
        self._rest = QTimer(self)
        self._rest.setSingleShot(True)
        self._rest.setInterval(_REST_MS)
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
        first = QHBoxLayout()
        first.setSpacing(UNIT)
        first.addWidget(self.field, 1)
        first.addWidget(self.count)
        tools = QHBoxLayout()
        tools.setSpacing(UNIT)
        for button in (self.case, self.word, self.regex, self.back, self.forth):
            tools.addWidget(button)
        tools.addStretch(1)
        tools.addWidget(self.close_button)
        self._line = QBoxLayout(QBoxLayout.Direction.LeftToRight)
        self._line.setSpacing(UNIT)
        self._line.addLayout(first, 1)
        self._line.addLayout(tools)
        self._second = QWidget()
        second = QHBoxLayout(self._second)
        second.setContentsMargins(0, 0, 0, 0)
        second.setSpacing(UNIT)
        second.addWidget(self.other, 1)
        second.addWidget(self.replace_button)
        second.addWidget(self.all_button)
        column = QVBoxLayout(self)
        column.setContentsMargins(GAP, 0, GAP, UNIT)
        column.setSpacing(UNIT)
        column.addLayout(self._line)
        column.addWidget(self._second)
        column.addWidget(self.trouble)
        self._second.hide()
        self.trouble.hide()

    def _connect(self) -> None:
        self.field.textChanged.connect(self._rest.start)
        self._rest.timeout.connect(self.look)
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

    def _open(self, *, with_replace: bool) -> None:
        if not self._view.isVisible():
            return
        chosen = self._view.textCursor().selectedText()
        if chosen and "\u2029" not in chosen:
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
        if self.isVisible():
            self.look()

    # Finding

    @Slot()
    def _on_text(self) -> None:
        if self.isVisible():
            self._rest.start()

    @Slot()
    def look(self) -> None:
        """Find again, and show what is found from the caret on."""
        self._rest.stop()
        self._places = find(_text_of(self._view), self.query)
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
        if not self.field.text():
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
        if self.isVisible():
            self._view.set_highlights(
                "find",
                [
                    (place.start, place.end, "match-current" if first + n == self._current else "match")
                    for n, place in enumerate(found[first : first + _COLOURED])
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
        for label, colour in ((self.trouble, theme.bad_text), (self.count, theme.dim_window)):
            palette = label.palette()
            if palette.color(label.foregroundRole()) != colour:
                palette.setColor(label.foregroundRole(), colour)
                label.setPalette(palette)
        self.close_button.setIcon(self._icons.icon("close"))


def _text_of(view: SourceView) -> str:
    return view.document().toRawText().replace("\u2029", "\n")
