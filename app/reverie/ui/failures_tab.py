"""The Failures tab: lessons, anti-patterns and crashes of the agent, with details and actions.

A lesson is what a failed iteration taught; the ones that the next attempt gets are marked. `FailuresTab`
shows the data and emits requests as signals; `FailuresControl` reads the data and saves resolutions.

Threading: GUI thread; reading runs on its own lane. Failure: shown in the tab or dialog.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Literal

from PySide6.QtCore import QObject, QUrl, Signal, Slot
from PySide6.QtGui import QDesktopServices, QGuiApplication, QResizeEvent
from PySide6.QtWidgets import QDialog, QDialogButtonBox, QLabel, QLineEdit, QPlainTextEdit, QWidget

from reverie.agents.capabilities import AntiPattern
from reverie.agents.scopes import Scope
from reverie.engine.asking import ask
from reverie.errors import UserError
from reverie.failures.crash import Crash, CrashGroup
from reverie.memory.paths import memory_path
from reverie.services.failures import FailuresView, LessonState, LessonView, patterns_in_words
from reverie.ui import display_text
from reverie.ui.appearance import GAP
from reverie.ui.display_text import age, as_tooltip, counted, tr, visible, visible_lines
from reverie.ui.display_text import translatable as _
from reverie.ui.icons import Icons
from reverie.ui.jobs import Lane
from reverie.ui.memory.edits import TakeBack
from reverie.ui.widgets.controls import FitPushButton, WrapLabel
from reverie.ui.widgets.layouts import Panes, column, pane, row_of
from reverie.ui.widgets.lists import LineList, LineModel, TwoLines
from reverie.ui.widgets.messages import MessageBar
from reverie.ui.widgets.pages import PartTab
from reverie.ui.widgets.text_boxes import PlainTextBox
from reverie.ui.widgets.text_views import read_only_text
from reverie.values import Struct

if TYPE_CHECKING:
    from reverie.clock import Clock
    from reverie.services.views import Undo
    from reverie.ui.memory.edits import Edits
    from reverie.ui.session import HomeSession


# Texts of the tab: rows and details. The functions are pure and make texts from disk safe to draw.
PartKey = Literal["lessons", "avoid", "crashes"]
_SHOWN_CRASHES = 50
_SHOWN_FINGERPRINT = 12


_STATES: dict[LessonState, str] = {
    "injected": _("Will be sent"),
    "window": _("Left out: only the newest lessons are sent"),
    "older": _("Left out: older than a day"),
    "elsewhere": _("Left out: stored in a namespace"),
}


class FailureRow(Struct, frozen=True):
    """One row of the Failures tab, such as a lesson or a crash."""

    key: str
    look: TwoLines
    what: LessonView | AntiPattern | CrashGroup | None
    """The record that the row shows; None for the block of text that the next attempt gets."""

    @property
    def spoken(self) -> str:
        """The text that a screen reader reads for the row."""
        return ", ".join(text for text in (self.look.title, self.look.right, self.look.below) if text)


def headline(view: FailuresView) -> str:
    """Return a text with the number of lessons that the next attempt gets."""
    if not view.lessons:
        return tr("Nothing has failed here")
    count = len(view.injected)
    if not count:
        return tr("The next attempt will get no lessons")
    return counted("The next attempt will get 1 lesson", "The next attempt will get %n lessons", count)


def state(view: FailuresView) -> str:
    """Return sentences about whether failures are recorded and whether lessons reach the next attempt.

    They name the switch in the environment, the settings of the store, and records that cannot be read.
    """
    said = [
        tr(
            "LOKI_FAILURE_MEMORY is on in this environment: the next attempt will get the lessons "
            "from failed attempts."
        )
        if view.on
        else tr(
            "LOKI_FAILURE_MEMORY is 0 in this environment: the agent records no failures, and the "
            "next attempt will get no lessons."
        )
    ]
    if not view.recorded:
        said.append(tr("The recording of failures is turned off in the agent's settings."))
    if view.difference:
        said.append(visible(view.difference))
    if view.problems:
        said.append(counted("1 record cannot be read.", "%n records cannot be read.", len(view.problems)))
    return " ".join(said)


def part_title(key: PartKey, view: FailuresView) -> str:
    """Return the title of the part `key` of the tab, with its number of records."""
    titles: dict[PartKey, tuple[str, int]] = {
        "lessons": (tr("Lessons"), len(view.lessons)),
        "avoid": (tr("Anti-patterns"), len(view.anti_patterns)),
        "crashes": (tr("Crashes"), sum(len(group.crashes) for group in view.crashes)),
    }
    title, count = titles[key]
    return f"{title} · {count:,}"


def rows(key: PartKey, view: FailuresView, goal: str, now: int) -> tuple[FailureRow, ...]:
    """Return the rows of the part `key` of the tab.

    `goal`: the goal that the user has typed, which decides which warnings match. `now`: UTC ms.
    """
    if key == "lessons":
        return tuple(_lesson_rows(view, goal, now))
    if key == "avoid":
        return tuple(_pattern_rows(view, goal))
    return tuple(_crash_row(group, view, now) for group in view.crashes)


def _lesson_rows(view: FailuresView, goal: str, now: int) -> Iterator[FailureRow]:
    if view.lessons:
        priors = view.priors(goal)
        below = counted("1 lesson", "%n lessons", len(view.injected))
        if priors:
            below += " · " + counted("1 anti-pattern", "%n anti-patterns", len(priors))
        empty = not view.injected and not priors
        look = TwoLines(
            tr("Text for the next attempt"), tr("nothing") if empty else below, quiet=empty, sign="preview"
        )
        yield FailureRow("block", look, None)
    for each in view.lessons:
        lesson = each.lesson
        told = each.state == "injected"
        facts = [tr(_STATES[each.state])]
        if lesson.seen > 1:
            facts.append(seen(lesson.seen))
        if lesson.resolution:
            facts.append(tr("resolved: {text}").format(text=_short(lesson.resolution)))
        title = _short(lesson.line.removeprefix("- "))
        when = tr("unknown time") if lesson.at is None else age(now, lesson.at // 1000)
        look = TwoLines(
            title or tr("error without a message"),
            " · ".join(facts),
            when,
            quiet=not told,
            sign="check" if told else "",
        )
        yield FailureRow(lesson_key(each), look, each)


def _pattern_rows(view: FailuresView, goal: str) -> Iterator[FailureRow]:
    told = {id(each) for each in view.lessons_for(goal)}
    seen_ids: dict[str, int] = {}
    for each in view.anti_patterns:
        is_told = id(each) in told
        said = [tr("sent to the agent for this goal")] if is_told else []
        said.append(_short(each.prevention or each.why) or tr("no known fix"))
        store = tr("older file") if each.legacy else ""
        look = TwoLines(
            _short(each.what_fails) or tr("anti-pattern without a description"),
            " · ".join(said),
            store,
            quiet=bool(goal.strip()) and not is_told,
            sign="check" if is_told else "",
        )
        turn = seen_ids[each.id] = seen_ids.get(each.id, 0) + 1  # an id may be there twice
        yield FailureRow(f"avoid {each.id} {turn}", look, each)


def _crash_row(group: CrashGroup, view: FailuresView, now: int) -> FailureRow:
    newest = group.newest
    facts = [seen(len(group.crashes))]
    lessons = len(view.lessons_of(group))
    if lessons:
        facts.append(counted("in 1 lesson", "in %n lessons", lessons))
    if newest.signature:
        facts.append(_short(" > ".join(newest.signature)))
    if group.fingerprint:
        facts.append(visible(group.fingerprint[:_SHOWN_FINGERPRINT]))
    at = newest.mtime_ns // 1_000_000 if newest.at is None else newest.at // 1000
    look = TwoLines(crash_name(newest), " · ".join(facts), age(now, at), sign="error")
    return FailureRow(crash_key(group), look, group)


def lesson_key(view: LessonView) -> str:
    """Return the key by which the row of a lesson is found again."""
    return f"{view.rel}:{view.lesson.index}"


def crash_key(group: CrashGroup) -> str:
    """Return the key by which the row of a group of crashes is found again."""
    return f"crash {group.fingerprint or group.newest.path.name}"


def crash_name(crash: Crash) -> str:
    """Return the displayed name of a crash.

    It is the class of the error, else the kind of friction (the agent's word for an obstacle), else a
    placeholder.
    """
    return _short(crash.error_class) or _short(crash.friction) or tr("crash without an error class")


def seen(count: int) -> str:
    """Return words for how often a failure occurred, such as "seen 3 times" for a `count` of 3."""
    return counted("seen once", "seen %n times", count)


def detail(row: FailureRow, view: FailuresView, goal: str) -> str:
    """Return the details of a row: its record as text, or the text that the next attempt gets.

    The text is returned for the row "Text for the next attempt", which has no record. `goal`: the goal of
    that attempt, by which anti-patterns are chosen.
    """
    what = row.what
    if what is None:
        return visible_lines(view.block(goal)).strip("\n") or tr("Nothing is sent.")
    if isinstance(what, LessonView):
        return _text(_lesson_lines(what, view))
    if isinstance(what, CrashGroup):
        return _text(_crash_lines(what))
    return records((what.record,)) if not what.legacy else _text(_legacy_lines(what))


def records(found: Iterable[dict[str, Any]]) -> str:
    """Return the stored records of anti-patterns as readable text, one below the other."""
    return visible_lines(patterns_in_words(found))


def _lesson_lines(view: LessonView, all_: FailuresView) -> Iterator[str]:
    lesson = view.lesson
    yield lesson.type or tr("error without a type")
    yield from lesson.message.splitlines()
    yield ""
    resolution = lesson.resolution or tr("empty; the agent never fills this in, but you can")
    yield tr("Resolution: {text}").format(text=resolution)
    yield tr("Next attempt: {standing}").format(standing=tr(_STATES[view.state]))
    yield tr("Lesson: {line}").format(line=lesson.line)
    when = tr("unknown time") if lesson.at is None else display_text.when(lesson.at // 1000)
    yield tr("When: {when}").format(when=when)
    for name, value in (
        (tr("Task"), lesson.task_id),
        (tr("Phase"), lesson.phase),
        (tr("Episode"), lesson.episode_id),
    ):
        if value:
            yield f"{name}: {value}"
    if lesson.fingerprint:
        yield tr("Fingerprint: {fingerprint}, {seen}").format(
            fingerprint=lesson.fingerprint, seen=seen(lesson.seen)
        )
    crash = all_.crash_of(lesson)
    if crash is not None:
        yield counted("1 crash record of this kind", "%n crash records of this kind", len(crash.crashes))
    yield tr("File: {path}").format(path=lesson.path)


def _crash_lines(group: CrashGroup) -> Iterator[str]:
    newest = group.newest
    yield crash_name(newest)
    yield seen(len(group.crashes))
    if newest.signature:
        yield ""
        yield tr("Stack:")
        yield from (f"  {frame}" for frame in newest.signature)
    yield ""
    told = {"stack_signature", "error_class"}
    for key, value in newest.record.items():
        if key not in told and value not in (None, "", [], {}):
            shown = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
            yield f"{key.replace('_', ' ').capitalize()}: {shown}"
    yield ""
    yield tr("Records, newest first:")
    for crash in group.crashes[:_SHOWN_CRASHES]:
        at = crash.mtime_ns // 1_000_000 if crash.at is None else crash.at // 1000
        yield f"  {display_text.when(at)}  {crash.path.name}"
    more = len(group.crashes) - _SHOWN_CRASHES
    if more > 0:
        yield "  " + counted("1 more", "%n more", more)


def _legacy_lines(each: AntiPattern) -> Iterator[str]:
    yield each.what_fails or tr("anti-pattern without a description")
    yield ""
    for name, value in ((tr("Why"), each.why), (tr("Do"), each.prevention), (tr("Record"), each.id)):
        if value:
            yield f"{name}: {value}"
    yield tr("This anti-pattern is in an older file that the agent no longer updates.")


def _text(lines: Iterable[str]) -> str:
    return visible_lines("\n".join(lines))


def _short(text: str) -> str:
    return visible(" ".join(text.split())[:400])


class RowModel(LineModel):
    """The Qt model of the rows of one part of the Failures tab."""

    def look(self, value: FailureRow) -> TwoLines:
        return value.look

    def spoken(self, value: FailureRow) -> str:
        return value.spoken

    def tooltip(self, value: FailureRow) -> str:
        return as_tooltip(value.look.title, value.look.below)


class RowList(LineList):
    """The list of the rows of one part.

    Signals: `picked(FailureRow | None)`, emitted when the selection changes; `opened(FailureRow)`, emitted
    when the user presses Enter on a row or double-clicks it.
    """

    def __init__(self, icons: Icons, parent: QWidget | None = None) -> None:
        super().__init__(RowModel(), icons, parent)
        self.setAccessibleName(self.tr("Failures"))

    @property
    def current(self) -> FailureRow | None:
        """The selected row, None if there is none."""
        found: FailureRow | None = self.current_value
        return found

    @property
    def shown(self) -> tuple[FailureRow, ...]:
        """All rows of the list, in their order."""
        return self.values

    def show_rows(self, found: Sequence[FailureRow]) -> None:
        """Show these rows; select the row that was selected, if it is among them, otherwise the first."""
        self.set_values((row.key, row) for row in found)
        if not self.currentIndex().isValid() and found:
            self.setCurrentIndex(self.rows.index(0, 0))
        else:
            self.picked.emit(self.current)

    def pick(self, key: str) -> None:
        """Select the row with this key, if there is one."""
        for number, row in enumerate(self.shown):
            if row.key == key:
                self.setCurrentIndex(self.rows.index(number, 0))
                self.scrollTo(self.currentIndex())


PARTS: tuple[PartKey, ...] = ("lessons", "avoid", "crashes")
_SHOWN_PROBLEMS = 20


class FailuresTab(PartTab):
    """The view of the failures: a tab for each part, with its rows and their details.

    Signals: `resolve_wanted(LessonView)`, request to edit the resolution of an error; `open_wanted(str)`,
    request to open the file at this path below the memory root; `transcript_wanted(str)`, request to open the
    transcript of the source with this id.
    """

    resolve_wanted = Signal(object)
    open_wanted = Signal(str)
    transcript_wanted = Signal(str)

    def __init__(
        self,
        icons: Icons,
        parent: QWidget | None = None,
        opener: Callable[[QUrl], bool] = QDesktopServices.openUrl,
    ) -> None:
        super().__init__(icons, "failures-message", "check", parent)
        self._opener = opener
        self._now = 0
        self.is_here = True
        """Whether the files of the home that is shown can be opened on this machine."""
        self.view: FailuresView | None = None
        self.state = WrapLabel()
        self.bar.setAccessibleName(self.tr("Kinds of failures"))
        for _key in PARTS:
            self.bar.addTab("")
        self.goal_name = QLabel(self.tr("Next &goal:"))
        self.goal = QLineEdit()
        self.goal.setPlaceholderText(self.tr("Type a goal to see which warnings match"))
        self.goal.setAccessibleName(self.tr("Goal of the next attempt"))
        self.goal.setToolTip(self.tr("Type a goal to see which warnings match"))
        self.goal.setClearButtonEnabled(True)
        self.goal_name.setBuddy(self.goal)
        self.list = RowList(icons)
        self.none = WrapLabel()
        self.text = read_only_text(self.tr("Details of the selected entry"))
        self.text.document().setDocumentMargin(GAP)
        self.text.setFrameShape(QPlainTextEdit.Shape.NoFrame)
        self.resolve = FitPushButton(
            self.tr("Edit the resolution…"), self.tr("Write down how this error was resolved")
        )
        self.other = FitPushButton()
        self.open = FitPushButton()
        self.transcript = FitPushButton(
            self.tr("Open the transcript"), self.tr("Open the Claude Code session that the agent recorded")
        )
        self.copy = FitPushButton(self.tr("Copy the text"), self.tr("Copy the details below"))
        self._arrange()
        self._connect()
        self.forget()

    def _arrange(self) -> None:
        goal = row_of(self.goal_name, self.goal, grows=self.goal)
        self._goal_row = QWidget()
        self._goal_row.setLayout(goal)
        self.lay_out(
            (self.state,),
            (self._goal_row, self.none),
            (self.resolve, self.other, self.open, self.transcript, self.copy),
            self.list,
            self.text,
            (320, 280),
        )

    def _connect(self) -> None:
        self.bar.currentChanged.connect(self._show_part)
        self.goal.textChanged.connect(self._show_part)
        self.list.picked.connect(self._on_picked)
        self.list.opened.connect(self._on_opened)
        self.resolve.clicked.connect(self._on_resolve)
        self.other.clicked.connect(self._on_other)
        self.open.clicked.connect(self._on_open)
        self.transcript.clicked.connect(self._on_transcript)
        self.copy.clicked.connect(self._on_copy)

    def forget(self) -> None:
        """Clear the view, because no home with failures is shown."""
        self.view = None
        self.message.clear()
        self.goal.clear()
        self.turn_to(self.blank)

    def show_view(self, view: FailuresView, now: int) -> None:
        """Show the failures in `view`; the selection stays. `now`: UTC ms."""
        self.view, self._now = view, now
        self.title.say(headline(view))
        self.state.say(state(view))
        problems = [visible(problem) for problem in view.problems[:_SHOWN_PROBLEMS]]
        self.state.setToolTip(as_tooltip(*problems) if problems else "")
        for index, key in enumerate(PARTS):
            self.bar.setTabText(index, part_title(key, view))
        self.transcript.setVisible(view.source is not None)
        if not (view.lessons or view.anti_patterns or view.crashes):
            sentence = self.tr("Lessons from failed attempts appear here.")
            self.nothing.say(self.tr("Nothing has failed here yet"), f"{sentence} {state(view)}")
            self.turn_to(self.nothing)
            return
        self.turn_to(self.page)
        self._show_part()

    @property
    def part(self) -> PartKey:
        """The part that is shown."""
        return PARTS[max(0, self.bar.currentIndex())]

    def show_row(self, part: PartKey, key: str) -> None:
        """Show a part and select the row with this key in it."""
        self.bar.setCurrentIndex(PARTS.index(part))
        self.list.pick(key)

    @Slot()
    def _show_part(self) -> None:
        view, part = self.view, self.part
        if view is None:
            return
        listed = rows(part, view, self.goal.text(), self._now)
        self._goal_row.setVisible(part != "crashes" and bool(view.anti_patterns))
        empty = {
            "lessons": self.tr("No attempts have failed."),
            "avoid": self.tr("There are no anti-patterns. The agent creates them from repeated failures."),
            "crashes": self.tr("No crashes were recorded."),
        }
        self.none.say(empty[part] if not listed else "")
        self.none.setVisible(not listed)
        self.list.setVisible(bool(listed))
        self.text.setVisible(bool(listed))
        self.list.show_rows(listed)

    @Slot(object)
    def _on_picked(self, row: FailureRow | None) -> None:
        view = self.view
        text = detail(row, view, self.goal.text()) if row is not None and view is not None else ""
        if text != self.text.content:
            self.text.setPlainText(text)
        self.copy.setVisible(bool(text))
        what = row.what if row is not None else None
        self.resolve.setVisible(isinstance(what, LessonView))
        other = self._other_row(row)
        self.other.setVisible(other is not None)
        if isinstance(what, CrashGroup):
            self.other.say(
                self.tr("Show the lesson"), self.tr("Show the newest lesson from a crash of this kind")
            )
            self.open.say(self.tr("Open the crash file"), self.tr("Open the newest record of this kind"))
        else:
            self.other.say(self.tr("Show the crash"), self.tr("Show the crashes behind this lesson"))
            is_lesson = isinstance(what, LessonView)
            self.open.say(
                self.tr("Open the episode") if is_lesson else self.tr("Open the file"),
                self.tr("Show the file in the Memory tab"),
            )
        self.open.setVisible(what is not None and (self.is_here or not isinstance(what, CrashGroup)))

    def _other_row(self, row: FailureRow | None) -> tuple[PartKey, str] | None:
        """Return the part of the tab and the key of the row that is related to `row`; None if there is none.

        For a lesson this is the row of the crashes from which it was made; for crashes, the row of their
        newest lesson.
        """
        view, what = self.view, row.what if row is not None else None
        if view is not None and isinstance(what, LessonView):
            crash = view.crash_of(what.lesson)
            return None if crash is None else ("crashes", crash_key(crash))
        if view is not None and isinstance(what, CrashGroup):
            lesson = next(iter(view.lessons_of(what)), None)
            return None if lesson is None else ("lessons", lesson_key(lesson))
        return None

    @Slot(object)
    def _on_opened(self, row: FailureRow) -> None:
        """Edit the resolution if the row is a lesson; otherwise open the file of its record."""
        if isinstance(row.what, LessonView):
            self.resolve_wanted.emit(row.what)
        elif row.what is not None:
            self._on_open()

    @Slot()
    def _on_resolve(self) -> None:
        row = self.list.current
        if row is not None and isinstance(row.what, LessonView):
            self.resolve_wanted.emit(row.what)

    @Slot()
    def _on_other(self) -> None:
        found = self._other_row(self.list.current)
        if found is not None:
            self.show_row(*found)

    @Slot()
    def _on_open(self) -> None:
        row = self.list.current
        what = row.what if row is not None else None
        if isinstance(what, CrashGroup):
            if not self.is_here:
                return
            self._opener(QUrl.fromLocalFile(str(what.newest.path)))
        elif isinstance(what, LessonView):
            self.open_wanted.emit(what.rel)
        elif isinstance(what, AntiPattern):
            name = "anti-patterns" if what.legacy else "patterns"
            self.open_wanted.emit(f"semantic/{name}.json")

    @Slot()
    def _on_transcript(self) -> None:
        if self.view is not None and self.view.source is not None:
            self.transcript_wanted.emit(self.view.source.id)

    @Slot()
    def _on_copy(self) -> None:
        QGuiApplication.clipboard().setText(self.text.content)


NARROWEST = 320
_SIDE_BY_SIDE = 560


class _Dialog(QDialog):
    """The base class of the dialogs that show a text before and after a change, before it is made.

    The two texts are side by side, or one above the other in a narrow dialog. `asked` is the input widget
    above them. Accepting the dialog only emits a signal; the controller makes the change.
    """

    def __init__(self, icons: Icons, parent: QWidget | None, asked: QWidget | None = None) -> None:
        super().__init__(parent)
        self.resize(760, 480)
        self.setMinimumWidth(NARROWEST)
        self.message = MessageBar(icons, "record-message", closable=False)
        self.about = WrapLabel()
        self.before = read_only_text(self.tr("Current text"))
        self.after = read_only_text(self.tr("Text after the change"))
        self.note = WrapLabel()
        self.buttons = QDialogButtonBox(QDialogButtonBox.StandardButton.Cancel)
        self.accept_button = self.buttons.addButton("", QDialogButtonBox.ButtonRole.AcceptRole)
        self.buttons.rejected.connect(self.reject)
        sides = []
        for name, text in ((self.tr("Now"), self.before), (self.tr("After"), self.after)):
            label = QLabel(name)
            label.setBuddy(text)
            sides.append(pane(label, text, grows=text))
        self.splitter = Panes(*sides, beside_from=_SIDE_BY_SIDE, sizes=(380, 380), grows=None)
        above = (self.message, self.about) if asked is None else (self.message, self.about, asked)
        column(self, *above, self.splitter, self.note, self.buttons, grows=self.splitter)
        self.buttons.button(QDialogButtonBox.StandardButton.Cancel).setAutoDefault(False)
        self.accept_button.setDefault(True)  # has no effect before the button is in its window

    def show_error(self, error: UserError) -> None:
        """Show the reason why the change failed; the user's input stays."""
        self.accept_button.setEnabled(True)
        self.message.say_error(error)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self.splitter.turn(event.size().width())


class ResolutionDialog(_Dialog):
    """A dialog in which the user writes down how an error was resolved.

    It shows the block of text that the next attempt gets, before and after the change.

    Signal: `wanted(LessonView, str)`, request to save this resolution of the lesson's error.
    """

    wanted = Signal(object, str)

    def __init__(
        self, lesson: LessonView, view: FailuresView, goal: str, icons: Icons, parent: QWidget | None = None
    ) -> None:
        field = PlainTextBox(lesson.lesson.resolution)
        super().__init__(icons, parent, field)
        self.field = field
        self._lesson, self._view, self._goal = lesson, view, goal
        self.buttons.accepted.connect(self._on_accepted)
        self.accept_button.setText(self.tr("&Save"))
        self.setWindowTitle(self.tr("How the error was resolved"))
        self.about.say(visible(lesson.lesson.line.removeprefix("- ")))
        self.field.setAccessibleName(self.tr("How this error was resolved"))
        self.field.setPlaceholderText(self.tr("How this error was resolved: its cause and what helped"))
        self.field.setTabChangesFocus(True)
        self.field.setFixedHeight(self.fontMetrics().lineSpacing() * 4 + 2 * GAP)
        self.before.setPlainText(_block(view.block(goal)))
        self.field.textChanged.connect(self._preview)
        self._preview()
        self.field.setFocus()

    @property
    def resolution(self) -> str:
        """The text in the field, without surrounding white space."""
        return self.field.content.strip()

    @Slot()
    def _preview(self) -> None:
        lesson = self._lesson.lesson
        after = self._view.block_with(lesson, self.resolution, self._goal)
        self.after.setPlainText(_block(after))
        same = after == self._view.block(self._goal)
        self.note.say(
            self.tr(
                "The text for the next attempt contains only the type and message of each error, so your "
                "resolution is not part of it. The agent uses resolutions later, when it writes advice."
            )
            if same
            else self.tr("This changes the text that the next attempt will get.")
        )
        self.accept_button.setEnabled(self.resolution != lesson.resolution.strip())

    @Slot()
    def _on_accepted(self) -> None:
        self.accept_button.setEnabled(False)
        self.wanted.emit(self._lesson, self.resolution)


def _block(block: str) -> str:
    return visible_lines(block).strip("\n") or tr("Nothing is sent.")


class FailuresControl(QObject):
    """The controller of the Failures tab: reads the failures and saves resolutions.

    It reads when the tab is shown, and when something changes while it is visible. Resolutions are saved as
    edits by the user, which can be undone; the tab shows them after the watcher has reported them.

    Signals: `open_wanted(str)`, request to show the memory at this path in the editor; `changed()`, emitted
    when the set of changes that can be undone has changed. Threading: GUI thread; reading runs on its own
    lane, which starts when the tab is first shown. Failure: shown in the tab, or in the dialog of the change.
    """

    open_wanted = Signal(str)
    changed = Signal()

    def __init__(self, tab: FailuresTab, icons: Icons, clock: Clock, edits: Edits) -> None:
        super().__init__(tab)
        self.tab = tab
        self._icons = icons
        self._clock = clock
        self._edits = edits
        self._lane = Lane("failures", self)
        self._session: HomeSession | None = None
        self._stale = True
        self._back = TakeBack(tab.message, edits)
        self.dialog: ResolutionDialog | None = None
        tab.shown.connect(self._look)
        tab.resolve_wanted.connect(self._ask_resolution)
        tab.open_wanted.connect(self._on_open)
        edits.undone.connect(self._on_undone)
        edits.failed.connect(self._on_failed)

    @property
    def is_settled(self) -> bool:
        """True if the tab shows the current failures, so that no job is needed or running."""
        return not self._stale and not self._lane.busy

    def set_session(self, session: HomeSession | None) -> None:
        """Show the failures of this home; None shows none."""
        if self._session is not None:
            self._session.tree_changed.disconnect(self._on_changed)
            self._session.outside_changed.disconnect(self._on_changed)
        is_ours = session is not None and session.facts.has_failures
        self._session = session if is_ours else None
        self.tab.is_here = session is None or session.is_here
        self._stale = True
        self._back.forget()
        self._lane.abandon("read the failures")
        if self.dialog is not None:
            self.dialog.reject()
        self.tab.forget()
        if self._session is not None:
            self._session.tree_changed.connect(self._on_changed)
            self._session.outside_changed.connect(self._on_changed)
            if self.tab.isVisible():
                self._look()

    def stop(self) -> None:
        """Stop the lane and cancel its jobs, because the window closes."""
        self._lane.stop()

    @Slot()
    def _on_changed(self, *_update: object) -> None:
        self._stale = True
        if self.tab.isVisible():
            self._look()

    @Slot()
    def _look(self) -> None:
        """Read the failures in a job and show them.

        This is done even if no file has changed, because the lessons that are sent depend on the time.
        """
        session = self._session
        if session is None:
            return
        workbench, now = session.workbench, self._clock()

        def done(view: FailuresView) -> None:
            self.tab.show_view(view, now)

        self._stale = False
        self._lane.submit(
            "read the failures",
            ask(workbench.failures.look),
            done=done,
            failed=self._on_unread,
            group="read the failures",
        )

    def _on_unread(self, error: UserError) -> None:
        self._stale = True
        self.tab.message.say_error(error)

    @Slot(object)
    def _ask_resolution(self, lesson: LessonView) -> None:
        if self.tab.view is None or self.dialog is not None:
            return
        dialog = ResolutionDialog(lesson, self.tab.view, self.tab.goal.text(), self._icons, self.tab.window())
        dialog.wanted.connect(self._resolve)
        self.dialog = dialog
        dialog.finished.connect(self._on_dialog_gone)
        dialog.open()

    @Slot()
    def _on_dialog_gone(self) -> None:
        if self.dialog is not None:
            self.dialog.deleteLater()
        self.dialog = None

    @Slot(object, str)
    def _resolve(self, lesson: LessonView, text: str) -> None:
        if self._session is None:
            return
        workbench = self._session.workbench

        job = ask(workbench.failures.resolve, lesson, text)

        self._edits.apply(self._session, "write a resolution", job, self._on_resolved, self._on_refused)

    def _on_resolved(self, undo: Undo) -> None:
        if self.dialog is not None:
            self.dialog.accept()
        self._back.offer(undo, self.tr("The resolution was saved."))
        self.changed.emit()

    def _on_refused(self, error: UserError) -> None:
        if self.dialog is not None:
            self.dialog.show_error(error)
        else:
            self.tab.message.say_error(error)

    @Slot(object, object, str)
    def _on_undone(self, session: HomeSession, _undo: Undo, sentence: str) -> None:
        if session is self._session and self.tab.isVisible():
            self.tab.message.say(visible(sentence))

    @Slot(object)
    def _on_failed(self, error: UserError) -> None:
        if self._session is not None and self.tab.isVisible():
            self.tab.message.say_error(error)

    @Slot(str)
    def _on_open(self, rel: str) -> None:
        self.open_wanted.emit(str(memory_path(Scope.PROJECT, rel)))
