"""The bar above the open memory to find and replace text.

Threading: GUI thread; the time of a search is limited by `find`.
"""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import QEvent, QObject, Qt, Slot
from PySide6.QtGui import QKeyEvent, QResizeEvent, QTextCursor
from PySide6.QtWidgets import QBoxLayout, QLabel, QLineEdit, QSizePolicy, QToolButton, QWidget

from reverie.ui.appearance import GAP, UNIT, tabular, theme_of
from reverie.ui.editor.find import FindQuery, TextMatch, TextMatches, find, replacement
from reverie.ui.editor.source_view import SourceView
from reverie.ui.icons import Icons
from reverie.ui.jobs import single_shot
from reverie.ui.widgets.controls import WrapLabel, tint
from reverie.ui.widgets.layouts import column, row_of
from reverie.ui.widgets.text_boxes import for_document, selected_text, text_of

_REST_MS = 90


# The number of matches coloured at once; stepping through reaches the others.
_COLOURED = 2_000


_BESIDE = 460


class FindBar(QWidget):
    """The bar to find and replace text in the source; `open_find` and `open_replace` show it, Esc hides it.

    The bar searches again a short pause after the query or the text has changed. Replacing one match, or all
    of them, is one step of the text's undo stack.
    """

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
        self.back = self._button("↑", self.tr("Previous match (Shift+F3)"), self.previous)
        self.forth = self._button("↓", self.tr("Next match (F3)"), self.next)
        self.close_button = self._button("", self.tr("Close (Esc)"), self.put_away)
        tip = self.tr("Replace this match and go to the next one")
        self.replace_button = self._button(self.tr("Replace"), tip, self.replace)
        tip = self.tr("Replace all matches; one Undo reverts them all")
        self.all_button = self._button(self.tr("All"), tip, self.replace_all)
        self.trouble = WrapLabel()
        self._rest = single_shot(self, _REST_MS, self.look)
        self._lay_out()
        self.field.textChanged.connect(self._rest.start)
        view.textChanged.connect(self._on_text)
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

    def _button(self, text: str, tip: str, clicked: Callable[[], object] | None = None) -> QToolButton:
        made = QToolButton()
        made.setText(text)
        made.setToolTip(tip)
        made.setAccessibleName(tip.partition(" (")[0])
        made.setAutoRaise(True)
        if clicked is not None:
            made.clicked.connect(clicked)
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

    @property
    def places(self) -> TextMatches:
        """The matches of the last search."""
        return self._places

    @property
    def query(self) -> FindQuery:
        """The query that `seek` has set, else the one in the bar; opening the bar removes that of `seek`."""
        if self._sought is not None:
            return self._sought
        return FindQuery(
            self.field.text(), self.case.isChecked(), self.word.isChecked(), self.regex.isChecked()
        )

    @Slot()
    def open_find(self) -> None:
        """Show the bar to find text; the selected text becomes the query if it is on one line."""
        self._open(with_replace=False)

    @Slot()
    def open_replace(self) -> None:
        """Show the bar with a second line for the replacement; a selection on one line becomes the query."""
        self._open(with_replace=True)

    def seek(self, query: FindQuery | None) -> None:
        """Highlight the matches of `query` without showing the bar; None removes the highlights.

        This shows the matches of a search over all memories. Does nothing while the bar is shown.
        """
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
        """Hide the bar and move the focus to the text, in which the current match stays selected."""
        self._rest.stop()
        self.hide()
        self._view.set_highlights("find", ())
        self._view.setFocus()

    def document_changed(self) -> None:
        """Forget the matches, and search again if they are shown; call this when the document is replaced."""
        self._places, self._current = TextMatches(), -1
        if self._is_shown:
            self.look()

    @property
    def _is_shown(self) -> bool:
        """True if the matches are highlighted in the text: while the bar is shown, and after `seek`."""
        return self.isVisible() or self._sought is not None

    @Slot()
    def _on_text(self) -> None:
        if self._is_shown:
            self._rest.start()

    @Slot()
    def look(self) -> None:
        """Search the text again and highlight the matches.

        The first match at or after the caret becomes the current one.
        """
        self._rest.stop()
        self._places = find(text_of(self._view.document()), self.query)
        cursor = self._view.textCursor()
        self._current = self._places.at_or_after(cursor.selectionStart())
        self._show()

    @Slot()
    def next(self) -> None:
        """Select the next match; after the last one, the first.

        If the bar is hidden, its last query is used. If there is no query, the bar is opened.
        """
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
        """Return True if the matches may be outdated: the bar is hidden, or the last search found nothing."""
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

    @Slot()
    def replace(self) -> None:
        """Replace the current match if it is selected, and select the next one; otherwise only select it.

        Does nothing if the text is read-only.
        """
        self.look()
        if self._view.isReadOnly() or self._current < 0:
            return
        place = self._places.found[self._current]
        cursor = self._view.textCursor()
        if (place.start, place.end) != (cursor.selectionStart(), cursor.selectionEnd()):
            self._select(self._current)
            return
        cursor.insertText(for_document(replacement(place, self.other.text(), self.query)))
        self._view.setTextCursor(cursor)
        self.look()
        if self._current >= 0:
            self._select(self._current)

    @Slot()
    def replace_all(self) -> int:
        """Replace all matches in one undo step; return their number.

        If the text is read-only, or there are too many matches (the bar then shows a message), nothing is
        replaced, and the result is 0.
        """
        self.look()
        if self._view.isReadOnly():
            return 0
        if self._places.more:
            self._say_trouble(self.tr("Too many matches to replace them all. Make the search more specific."))
            return 0
        self._replace_each(self._places.found)
        count = len(self._places.found)
        self.look()
        return count

    def _replace_each(self, places: tuple[TextMatch, ...]) -> None:
        cursor = QTextCursor(self._view.document())
        cursor.beginEditBlock()
        # From the end, so that earlier positions stay valid.
        for place in reversed(places):
            cursor.setPosition(place.start)
            cursor.setPosition(place.end, QTextCursor.MoveMode.KeepAnchor)
            cursor.insertText(for_document(replacement(place, self.other.text(), self.query)))
        cursor.endEditBlock()

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
