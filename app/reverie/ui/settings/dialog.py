"""The settings as a dialog: a page for each thing that runs, one for the window, one for the rest, and a
search over all of them.

A form and nothing else: what it needs to know is shown to it, what a person wants leaves it by signal, and
jobs do both (`settings_control`). A key is never among the values. Every setting of the schema has a field:
those that no page lays out are made from their types (`settings_generated`), and a test compares.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from PySide6.QtCore import QEvent, Qt, Signal, Slot
from PySide6.QtGui import QKeyEvent, QKeySequence, QShortcut
from PySide6.QtWidgets import (
    QAbstractButton,
    QDialog,
    QDialogButtonBox,
    QFormLayout,
    QLabel,
    QLayout,
    QTabWidget,
    QVBoxLayout,
    QWidget,
)

from reverie.errors import UserError
from reverie.ui.appearance import GAP, MARGIN, Icons
from reverie.ui.dialogs import ask_unsaved
from reverie.ui.display_text import as_tooltip, visible
from reverie.ui.settings import draft as words
from reverie.ui.settings.draft import Setting, SettingsDraft
from reverie.ui.settings.fields import AdvancedPage, Fields, Rows
from reverie.ui.settings.job_pages import BackgroundPage, ExtractPage, NotesPage, System1Page, WindowPage
from reverie.ui.settings.model_pages import EnginePage, ProvidersPage
from reverie.ui.widgets.controls import SearchField, WrapLabel
from reverie.ui.widgets.layouts import scrolled
from reverie.ui.widgets.message_bar import MessageBar

# Finding a setting as one types: rows and pages that do not match are hidden, and come back.
#
# What is found: the label of a row, its accessible name, its explanation, its key and its place in
# `config.toml`; a page whose title has every word shows all of its rows. Threading: GUI thread.


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
class _FoundRow:
    widgets: tuple[QWidget, ...]
    text: str


class SettingsFinder:
    """The rows of all pages. `know` again when a page has more of them."""

    def __init__(self, pages: QTabWidget) -> None:
        self._pages = pages
        self._rows: dict[int, list[_FoundRow]] = {}
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
            self._rows[tab].append(_FoundRow(tuple(shown), _searched(title, setting, shown)))
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

    def _hide(self, row: _FoundRow) -> None:
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


class SettingsDialog(QDialog):
    """`save(Draft)`: keep this. The pages have signals of their own."""

    save = Signal(object)

    def __init__(self, icons: Icons, home: str, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setWindowTitle(self.tr("Settings"))
        self.resize(680, 580)
        self._loaded = False
        self._dirty = False
        self._closing = False
        self.engine = EnginePage(icons)
        self.providers = ProvidersPage()
        self.background = BackgroundPage(home)
        self.system1 = System1Page()
        self.notes = NotesPage()
        self.extract = ExtractPage()
        self.window_page = WindowPage()
        self.advanced = AdvancedPage()
        self._generated: list[Fields] = []
        self.message = MessageBar(icons, "settings-message")
        self.pages = QTabWidget()
        self.pages.setDocumentMode(True)
        self._all = (
            (self.engine, self.tr("&Consolidation")),
            (self.providers, self.tr("&Models")),
            (self.background, self.tr("&Background")),
            (self.system1, self.tr("&System 1")),
            (self.notes, self.tr("&Notes")),
            (self.extract, self.tr("Code&x")),
            (self.window_page, self.tr("&Window")),
            (self.advanced, self.tr("A&dvanced")),
        )
        for page, title in self._all:
            self.pages.addTab(scrolled(page, title.replace("&", ""), sideways=True), title)
        self.finder = SettingsFinder(self.pages)
        self.search = SettingsSearch(self.tr("Search the settings"))
        self.search.textChanged.connect(self._on_search)
        self.nothing = WrapLabel()
        self.nothing.hide()
        QShortcut(QKeySequence(QKeySequence.StandardKey.Find), self, self.search.setFocus)
        kinds = QDialogButtonBox.StandardButton
        self.buttons = QDialogButtonBox(kinds.Ok | kinds.Apply | kinds.Cancel)
        self.ok, self.apply = self.buttons.button(kinds.Ok), self.buttons.button(kinds.Apply)
        self.ok.clicked.connect(self._on_ok)
        self.apply.clicked.connect(self._on_apply)
        self.buttons.rejected.connect(self.discard)
        outer = QVBoxLayout(self)
        outer.setContentsMargins(MARGIN, MARGIN, MARGIN, MARGIN)
        outer.setSpacing(GAP)
        outer.addWidget(self.search)
        outer.addWidget(self.nothing)
        outer.addWidget(self.pages, 1)
        outer.addStretch(0)
        outer.addWidget(self.message)
        outer.addWidget(self.buttons)
        for page, _title in self._all:
            page.changed.connect(self._on_changed)
            page.setEnabled(False)
        self.providers.model_chosen.connect(self._on_model_chosen)
        self._validate()

    # What is known

    @property
    def draft(self) -> SettingsDraft:
        """The values as they stand in the form."""
        return SettingsDraft(
            self.engine.engine,
            self.engine.time.value(),
            self.engine.loss.value(),
            dict(self.providers.base_urls),
            self.background.value,
            self.system1.value,
            self.window_page.value,
            self.notes.value,
            self.extract.value,
            {key: value for fields in self._generated for key, value in fields.edits.items()},
            self.providers.edits,
        )

    @property
    def problem(self) -> str:
        """Why this cannot be saved; empty if it can."""
        pages = (self.engine, self.providers, self.system1, self.notes, self.extract)
        problems = [*(page.problem for page in pages), *(fields.problem for fields in self._generated)]
        return next(filter(None, problems), "")

    @property
    def by_hand(self) -> Rows:
        """The settings that the pages lay out by hand."""
        return {key: widgets for page, _title in self._all for key, widgets in page.rows.items()}

    def show_schema(self, settings: Sequence[Setting]) -> None:
        """Every setting there is: those that no page lays out get their fields, and all can be found."""
        schema = {setting.key: setting for setting in settings}
        left = [setting for setting in settings if setting.key not in self.by_hand]
        of_providers = [setting for setting in left if setting.key.startswith("providers.")]
        of_window = [setting for setting in left if setting.key.startswith("window.")]
        rest = [setting for setting in left if setting not in of_providers and setting not in of_window]
        self.providers.expect(of_providers)
        self._generated = [
            Fields(self.window_page.more, of_window, self),
            Fields(self.advanced.more, rest, self),
        ]
        for fields in self._generated:
            fields.edited.connect(self._on_changed)
        made: dict[QWidget, Fields | None] = {
            self.providers: self.providers.more,
            self.window_page: self._generated[0],
            self.advanced: self._generated[1],
        }
        for tab, (page, _title) in enumerate(self._all):
            fields_here = made.get(page)
            more = {each.setting.key: (each.widget,) for each in fields_here.all} if fields_here else {}
            self.finder.know(tab, page, {**page.rows, **more}, schema)
        self.finder.head(self.engine.limits, "dream.max_loss_percent", "dream.time_limit_s")
        self._on_search(self.search.text())

    def show_draft(self, draft: SettingsDraft) -> None:
        """The settings as they are on disk. `show_schema` comes first."""
        self.engine.show_draft(draft)
        if draft.background is not None:
            self.background.show_value(draft.background)
        if draft.system1 is not None:
            self.system1.show_value(draft.system1)
        if draft.notes is not None:
            self.notes.show_value(draft.notes)
        if draft.extract is not None:
            self.extract.show_value(draft.extract)
        if draft.window is not None:
            self.window_page.show_value(draft.window)
        self.providers.show_kept(draft.providers)
        for fields in self._generated:
            fields.show_values(draft.others)
        for page, _title in self._all:
            if page is not self.providers:
                page.setEnabled(True)
        self._loaded, self._dirty = True, False
        self._validate()

    def saved(self) -> None:
        """What was asked to be kept is on disk."""
        self._dirty = False
        self.providers.saved()
        self.message.clear()
        if self._closing:
            self.accept()
        self._validate()

    def failed(self, error: UserError) -> None:
        """Something asked for did not work; the form stays."""
        self._closing = False
        self.message.say_error(error)
        self._validate()

    def say(self, sentence: str) -> None:
        self.message.say(sentence)

    # What is wanted

    @Slot()
    def _on_changed(self) -> None:
        if self._loaded:
            self._dirty = True
            self._validate()

    @Slot(str)
    def _on_search(self, query: str) -> None:
        found = self.finder.show(query)
        wanted = query.strip()
        self.pages.setVisible(bool(found) or not wanted)
        self.nothing.say(
            self.tr("No setting has “{query}” in its name, explanation or key.").format(query=visible(wanted))
        )
        self.nothing.setVisible(not found and bool(wanted))

    @Slot(str)
    def _on_model_chosen(self, name: str) -> None:
        self.search.clear()
        self.engine.choose(name)
        self.pages.setCurrentIndex(0)

    def reject(self) -> None:
        """Escape and the window's own close button: nothing that was typed is thrown away unasked."""
        answer = ask_unsaved(self, []) if self._dirty else "discard"
        if answer == "discard":
            self.discard()
        elif answer == "save" and self.problem:
            self.message.say(self.problem)
        elif answer == "save":
            self._on_ok()

    @Slot()
    def discard(self) -> None:
        """Close without saving; what Cancel does."""
        super().reject()

    @Slot()
    def _on_ok(self) -> None:
        if not self._dirty:
            self.accept()
            return
        self._closing = True
        self.save.emit(self.draft)

    @Slot()
    def _on_apply(self) -> None:
        self._closing = False
        self.save.emit(self.draft)

    def _validate(self) -> None:
        possible = self._loaded and not self.problem
        self.ok.setEnabled(possible)
        self.apply.setEnabled(possible and self._dirty)
        for button in (self.ok, self.apply):
            button.setToolTip(self.problem)
