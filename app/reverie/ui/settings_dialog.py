"""The settings as a dialog: a page for each thing that runs, one for the window, one for the rest, and a
search over all of them.

A form and nothing else: what it needs to know is shown to it, what a person wants leaves it by signal, and
jobs do both (`settings_control`). A key is never among the values. Every setting of the schema has a field:
those that no page lays out are made from their types (`settings_generated`), and a test compares.
"""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import Signal, Slot
from PySide6.QtGui import QKeySequence, QShortcut
from PySide6.QtWidgets import QDialog, QDialogButtonBox, QTabWidget, QVBoxLayout, QWidget

from reverie.errors import MendableError
from reverie.ui.columns import scrolled
from reverie.ui.dialogs import ask_unsaved
from reverie.ui.icons import Icons
from reverie.ui.labels import WrapLabel
from reverie.ui.memory.bars import MessageBar
from reverie.ui.settings_background import BackgroundPage
from reverie.ui.settings_draft import Draft
from reverie.ui.settings_engine import EnginePage
from reverie.ui.settings_extract import ExtractPage
from reverie.ui.settings_generated import AdvancedPage, Fields
from reverie.ui.settings_notes import NotesPage
from reverie.ui.settings_page import Rows
from reverie.ui.settings_providers import ProvidersPage
from reverie.ui.settings_schema import Setting
from reverie.ui.settings_search import Finder, SettingsSearch
from reverie.ui.settings_system1 import System1Page
from reverie.ui.settings_window import WindowPage
from reverie.ui.shown import visible
from reverie.ui.theme import GAP, MARGIN


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
        self.finder = Finder(self.pages)
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
        self._judge()

    # What is known

    @property
    def draft(self) -> Draft:
        """The values as they stand in the form."""
        return Draft(
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

    def show_draft(self, draft: Draft) -> None:
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
        self._judge()

    def saved(self) -> None:
        """What was asked to be kept is on disk."""
        self._dirty = False
        self.providers.saved()
        self.message.clear()
        if self._closing:
            self.accept()
        self._judge()

    def failed(self, error: MendableError) -> None:
        """Something asked for did not work; the form stays."""
        self._closing = False
        self.message.say_error(error)
        self._judge()

    def say(self, sentence: str) -> None:
        self.message.say(sentence)

    # What is wanted

    @Slot()
    def _on_changed(self) -> None:
        if self._loaded:
            self._dirty = True
            self._judge()

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

    def _judge(self) -> None:
        possible = self._loaded and not self.problem
        self.ok.setEnabled(possible)
        self.apply.setEnabled(possible and self._dirty)
        for button in (self.ok, self.apply):
            button.setToolTip(self.problem)
