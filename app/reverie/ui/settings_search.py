"""Finding a setting as one types: rows and pages that do not match are hidden, and come back.

What is found: the label of a row, its accessible name, its explanation, its key and its place in
`config.toml`; a page whose title has every word shows all of its rows. Threading: GUI thread.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from PySide6.QtCore import QEvent, Qt
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import QAbstractButton, QFormLayout, QLabel, QLayout, QTabWidget, QWidget

from reverie.ui import settings_words as words
from reverie.ui.search_field import SearchField
from reverie.ui.settings_page import Rows
from reverie.ui.settings_schema import Setting
from reverie.ui.shown import as_tooltip


class SettingsSearch(SearchField):
    """Escape empties it; only then it closes the dialog."""

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() == Qt.Key.Key_Escape and self.text():
            self.clear()
            event.accept()
            return
        super().keyPressEvent(event)

    def event(self, event: QEvent) -> bool:
        # Return would press the dialog's default button and save what nobody meant to.
        if isinstance(event, QKeyEvent) and event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter):
            event.accept()
            return True
        return super().event(event)


@dataclass(frozen=True, slots=True)
class _Row:
    widgets: tuple[QWidget, ...]
    text: str


class Finder:
    """The rows of all pages. `know` again when a page has more of them."""

    def __init__(self, pages: QTabWidget) -> None:
        self._pages = pages
        self._rows: dict[int, list[_Row]] = {}
        self._titles: dict[int, str] = {}
        self._headings: dict[QWidget, tuple[str, ...]] = {}
        self._hidden: list[tuple[QFormLayout | None, QWidget]] = []
        self.keys: dict[str, QWidget] = {}

    def know(self, tab: int, page: QWidget, rows: Rows, schema: Mapping[str, Setting]) -> None:
        """What the tab `tab` shows; each field and its label get their explanation as tooltip."""
        title = self._titles[tab] = _plain(self._pages.tabText(tab))
        labels = {label.buddy(): label for label in page.findChildren(QLabel) if label.buddy() is not None}
        self._rows[tab] = []
        for key, widgets in rows.items():
            setting = schema[key]
            shown = [*widgets, *(labels[each] for each in widgets if each in labels)]
            for widget in shown:
                if not widget.toolTip():
                    widget.setToolTip(as_tooltip(words.explained(setting)))
            widgets[0].setAccessibleDescription(words.explained(setting))
            self._rows[tab].append(_Row(tuple(shown), _searched(title, setting, shown)))
            self.keys[key] = widgets[0]

    def head(self, heading: QWidget, *keys: str) -> None:
        """`heading` is shown only above one of these."""
        self._headings[heading] = keys

    def show(self, query: str) -> int:
        """Only what has every word of `query`; how many settings that are."""
        wanted, found, first = query.casefold().split(), 0, -1
        self._give_back()
        for tab, rows in self._rows.items():
            matching = [row for row in rows if all(word in row.text for word in wanted)]
            if all(word in self._titles[tab] for word in wanted):
                matching = rows
            for row in rows:
                if row not in matching:
                    self._hide(row)
            self._pages.setTabVisible(tab, bool(matching))
            found += len(matching)
            if matching and first < 0:
                first = tab
        for heading, keys in self._headings.items():
            heading.setVisible(any(not self.keys[key].isHidden() for key in keys))
        if wanted and first >= 0 and not self._pages.isTabVisible(self._pages.currentIndex()):
            self._pages.setCurrentIndex(first)
        return found

    def _hide(self, row: _Row) -> None:
        for widget in row.widgets:
            form = _form_of(widget)
            if form is not None:
                form.setRowVisible(widget, False)
            else:
                widget.hide()
            self._hidden.append((form, widget))

    def _give_back(self) -> None:
        for form, widget in self._hidden:
            if form is not None:
                form.setRowVisible(widget, True)
            else:
                widget.show()
        self._hidden = []


def _searched(title: str, setting: Setting, shown: Iterable[QWidget]) -> str:
    said = [title, setting.key, setting.where, words.explained(setting)]
    for widget in shown:
        said.append(widget.accessibleName())
        if isinstance(widget, QLabel | QAbstractButton):
            said.append(_plain(widget.text()))
    return "\n".join(said).casefold()


def _plain(text: str) -> str:
    return text.replace("&", "").casefold()


def _form_of(widget: QWidget) -> QFormLayout | None:
    """The form in which `widget` is a field itself."""
    parent = widget.parentWidget()
    layout = parent.layout() if parent is not None else None
    for form in _forms(layout):
        if form.indexOf(widget) >= 0:
            return form
    return None


def _forms(layout: QLayout | None) -> Iterator[QFormLayout]:
    if layout is None:
        return
    if isinstance(layout, QFormLayout):
        yield layout
    for place in range(layout.count()):
        item = layout.itemAt(place)
        yield from _forms(item.layout() if item is not None else None)
