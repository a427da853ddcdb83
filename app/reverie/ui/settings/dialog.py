"""The settings dialog: a page for each thing that runs, one for the window, one for the rest, and a search
over all of them.

A form and nothing else: it is shown a draft, gives one back by signal, and jobs read and save (`control`).
A key
is never among the values. Every setting of the schema has a field: those that no page lays out are made from
their types (`fields`), and a test compares.

Threading: GUI thread; nothing is read or written.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

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
    QWidget,
)

from reverie.errors import UserError
from reverie.ui.appearance import LARGEST_FONT, Icons
from reverie.ui.dialogs import ask_unsaved
from reverie.ui.display_text import as_tooltip, visible
from reverie.ui.settings.draft import Setting, SettingsDraft, explanation
from reverie.ui.settings.fields import (
    AdvancedPage,
    GeneratedFields,
    ModelPage,
    Rows,
    SettingsPage,
    choice,
    fill,
    number,
    switch,
)
from reverie.ui.settings.model_pages import EnginePage, ProvidersPage
from reverie.ui.widgets.controls import SearchField, WrapLabel
from reverie.ui.widgets.layouts import column, scrolled
from reverie.ui.widgets.message_bar import MessageBar

MOST_RUNS = 1000
MOST_TOKENS = 1_000_000_000
TOKENS_STEP = 50_000


class BackgroundPage(SettingsPage):
    """What may run in the background in one home, and how much of it. `home`: the name of the home that is
    shown; without one there is nothing to edit."""

    def __init__(self, home: str, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._home = home
        self.switch = switch(
            self.tr("&Consolidate {home} in the background").format(home=home)
            if home
            else self.tr("&Consolidate in the background")
        )
        self.what = WrapLabel(
            self.tr(
                "When a workspace is compacted or archived, and when Reverie starts. Whatever a run changes "
                "can be reviewed and undone, and what kept one from running is told."
            )
        )
        self.runs = number(0, MOST_RUNS, self.tr("Runs a day at most"))
        self.tokens = number(0, MOST_TOKENS, self.tr("Tokens a day at most"))
        self.tokens.setSingleStep(TOKENS_STEP)
        rows = (
            (self.tr("R&uns a day at most"), self.runs),
            (self.tr("&Tokens a day at most"), self.tokens),
        )
        without = WrapLabel(self.tr("Open a home to say what may run by itself in it."))
        self.stack(without, self.switch, self.what, fill(QFormLayout(), rows))
        without.setVisible(not home)
        self.switch.setEnabled(bool(home))
        self.bind("background.*", enabled=self.switch, runs_per_day=self.runs, tokens_per_day=self.tokens)
        self.enable_while(self.switch, self.runs, self.tokens)

    @property
    def values(self) -> dict[str, Any]:
        return super().values if self._home else {}


MOST_TURNS = 50
MOST_SECONDS = 600
MOST_TRACES = 100_000
MB = 1_000_000
MOST_MEGABYTES = 100_000
_CHARS = 18


class System1Page(ModelPage):
    """The memory writer. Everything but the switch is enabled only while it is on."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.switch = switch(self.tr("&Write memories while conversations go on"))
        self.what = WrapLabel(
            self.tr(
                "After every so many turns of an assistant, what it learned goes into the memory of its "
                "project. Runs can be reviewed and undone; why none happened stands in Activity and Doctor."
            )
        )
        self.interval = number(1, MOST_TURNS, self.tr("Turns between two runs"))
        self.target = choice(
            self.tr("Where it writes"),
            (
                (self.tr("The project's memory file"), "project-file"),
                (self.tr("A memory of the project, system-1.md"), "project-memory"),
            ),
            least_chars=_CHARS,
        )
        self.model.setPlaceholderText(self.tr("the model of the conversation"))
        self.model.setAccessibleName(self.tr("Model: rules or provider:model; empty for the conversation's"))
        self.time = number(1, MOST_SECONDS, self.tr("Time limit of a run, in seconds"), self.tr(" s"))
        self.traces = choice(
            self.tr("Which runs leave a trace"),
            (
                (self.tr("Those that fail"), "failures"),
                (self.tr("All of them"), "always"),
                (self.tr("None"), "never"),
            ),
            least_chars=_CHARS,
        )
        self.count = number(1, MOST_TRACES, self.tr("Traces to keep at most"))
        self.room = number(1, MOST_MEGABYTES, self.tr("Megabytes of traces to keep at most"), self.tr(" MB"))
        self._lay_out()
        self.bind(
            "system1",
            {"keep_bytes": MB},
            enabled=self.switch,
            interval=self.interval,
            target=self.target,
            model=self.model,
            time_limit_s=self.time,
            traces=self.traces,
            keep_count=self.count,
            keep_bytes=self.room,
        )
        self.enable_while(
            self.switch,
            self.interval,
            self.target,
            self.model,
            self.time,
            self.traces,
            self.count,
            self.room,
        )

    def _lay_out(self) -> None:
        self.lay_out(
            (
                (self.tr("A run every so many t&urns"), self.interval),
                (self.tr("Write &into"), self.target),
                (self.tr("Mode&l"), self.model),
                (self.tr("Stop a run &after"), self.time),
                (self.tr("Keep a trac&e of runs"), self.traces),
                (self.tr("At most so &many traces"), self.count),
                (self.tr("At most so mu&ch of them"), self.room),
            ),
            self.switch,
            self.what,
        )


NOTES_MOST_TOKENS = 10_000_000
MOST_CALLS = 1_000
NOTES_MOST_SECONDS = 3_600


class NotesPage(ModelPage):
    """Session notes. The thresholds are enabled only while notes are kept."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.switch = switch(self.tr("&Keep the notes of sessions up to date"))
        self.what = WrapLabel(
            self.tr(
                "While a session of Claude Code grows, its notes are updated: only after enough growth, and "
                "then at so many tool calls or at the end of an answer. Updates can be reviewed and undone. "
                "They are for you: Claude Code of today does not read them, and deletes them with their "
                "transcript."
            )
        )
        self.start = number(1, NOTES_MOST_TOKENS, self.tr("Tokens of a session at which notes begin"))
        self.growth = number(1, NOTES_MOST_TOKENS, self.tr("Tokens of growth between two updates"))
        self.calls = number(1, MOST_CALLS, self.tr("Tool calls that make an update due"))
        self.model.setPlaceholderText(self.tr("the agent's own model, else rules"))
        self.model.setAccessibleName(self.tr("Model: rules or provider:model; empty for the agent's own"))
        self.time = number(
            1, NOTES_MOST_SECONDS, self.tr("Time limit of an update, in seconds"), self.tr(" s")
        )
        self._lay_out()
        self.bind(
            "notes",
            enabled=self.switch,
            model=self.model,
            start_tokens=self.start,
            growth_tokens=self.growth,
            tool_calls=self.calls,
            time_limit_s=self.time,
        )
        # The model stays: an update by hand uses it, whether notes are kept or not.
        self.enable_while(self.switch, self.start, self.growth, self.calls)

    def _lay_out(self) -> None:
        self.lay_out(
            (
                (self.tr("Begin at so many &tokens"), self.start),
                (self.tr("Update after &growth by"), self.growth),
                (self.tr("At so man&y tool calls"), self.calls),
                (self.tr("Mode&l"), self.model),
                (self.tr("Stop an update &after"), self.time),
            ),
            self.switch,
            self.what,
        )


class ExtractPage(ModelPage):
    """The extraction of rollouts. Everything applies to an extraction by hand too, so nothing is ever
    disabled."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.switch = switch(self.tr("&Extract new rollouts at the start"))
        self.what = WrapLabel(
            self.tr(
                "When the background services of a Codex home start, threads that went on become trace "
                "summaries, and those a handbook for each directory. Extract in the Consolidate menu does "
                "it by hand. Results can be reviewed and undone."
            )
        )
        self.rollouts = number(1, 128, self.tr("Rollouts that are extracted at once"))
        self.idle = number(
            0, 86_400, self.tr("Seconds that a rollout must have been left alone"), self.tr(" s")
        )
        self.model.setPlaceholderText(self.tr("what a consolidation uses"))
        self.model.setAccessibleName(self.tr("Model: rules or provider:model; empty as for a consolidation"))
        self.time = number(
            1, 3_600, self.tr("Time limit for each rollout and each directory, in seconds"), self.tr(" s")
        )
        self._lay_out()
        self.bind(
            "extract",
            at_launch=self.switch,
            model=self.model,
            max_rollouts=self.rollouts,
            idle_seconds=self.idle,
            time_limit_s=self.time,
        )

    def _lay_out(self) -> None:
        self.lay_out(
            (
                (self.tr("&Rollouts at once"), self.rollouts),
                (self.tr("Le&ft alone for"), self.idle),
                (self.tr("Mode&l"), self.model),
                (self.tr("Stop each &after"), self.time),
            ),
            self.switch,
            self.what,
        )


_SMALLEST_FONT = 6


class WindowPage(SettingsPage):
    """Theme, font size and language, which take effect at once or at the next start."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        system = self.tr("As the system")
        self.theme = choice(
            self.tr("Colours"),
            ((system, "system"), (self.tr("Light"), "light"), (self.tr("Dark"), "dark")),
        )
        # The smallest value stands for the system's size.
        self.font_size = number(_SMALLEST_FONT - 1, LARGEST_FONT, self.tr("Font size"), self.tr(" pt"))
        self.font_size.setSpecialValueText(system)
        # Languages are named in themselves, so that who does not read the shown one finds the way back.
        self.language = choice(
            self.tr("Language"), ((system, "system"), ("English", "en"), ("Deutsch", "de"))
        )
        self.note = WrapLabel(
            self.tr("Colours and font size count at once, the language when Reverie is started next.")
        )
        rows = (
            (self.tr("Colou&rs"), self.theme),
            (self.tr("&Font size"), self.font_size),
            (self.tr("&Language"), self.language),
        )
        # The dialog adds what the schema has besides.
        self.more = QFormLayout()
        self.stack(fill(QFormLayout(), rows), self.note, self.more)
        self.bind("window", theme=self.theme, font_size=self.font_size, language=self.language)

    @property
    def values(self) -> dict[str, Any]:
        values = super().values
        if self.font_size.value() < _SMALLEST_FONT:
            values["window.font_size"] = 0
        return values


# The search hides rows and pages that do not match. A row matches by its label, accessible name, explanation,
# key or place in `config.toml`; a page whose title matches shows all of its rows.


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
                    widget.setToolTip(as_tooltip(explanation(setting)))
            widgets[0].setAccessibleDescription(explanation(setting))
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
    texts = [title, setting.key, setting.where, explanation(setting)]
    for widget in shown:
        texts.append(widget.accessibleName())
        if isinstance(widget, QLabel | QAbstractButton):
            texts.append(_plain(widget.text()))
    return "\n".join(texts).casefold()


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
    """`save(SettingsDraft)`: OK or Apply. The pages have signals of their own."""

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
        self._generated: list[GeneratedFields] = []
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
        outer = column(self, self.search, self.nothing, self.pages, grows=self.pages)
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
        """What the form gives back: all that is laid out by hand, and of the rest what was edited."""
        pages = [page.values for page, _title in self._all if page is not self.providers]
        generated = [form.edits for form in self._generated]
        return SettingsDraft(
            {key: value for values in (*pages, *generated) for key, value in values.items()},
            self.providers.edits,
        )

    @property
    def problem(self) -> str:
        """Why this cannot be saved; empty if it can."""
        pages = (self.engine, self.providers, self.system1, self.notes, self.extract)
        problems = [*(page.problem for page in pages), *(form.problem for form in self._generated)]
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
            GeneratedFields(self.window_page.more, of_window, self),
            GeneratedFields(self.advanced.more, rest, self),
        ]
        for form in self._generated:
            form.edited.connect(self._on_changed)
        made: dict[QWidget, GeneratedFields | None] = {
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
        self.providers.show_kept(draft.providers)
        for form in self._generated:
            form.show_values(draft.values)
        for page, _title in self._all:
            if page is not self.providers:
                page.show_values(draft.values)
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
