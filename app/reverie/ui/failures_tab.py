"""The Failures tab: lessons, anti-patterns and crashes of the agent, with details and actions.

A lesson is what a failed iteration taught; the ones that the next attempt gets are marked. `FailuresTab`
reads the records, shows them, and saves resolutions, which a `ResolutionDialog` asks for.

Threading: GUI thread; reading runs on its own lane. Failure: shown in the tab or dialog.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Literal

from PySide6.QtCore import QUrl, Signal, Slot
from PySide6.QtGui import QDesktopServices, QGuiApplication, QResizeEvent
from PySide6.QtWidgets import QDialog, QDialogButtonBox, QLabel, QLineEdit, QPlainTextEdit, QWidget

from reverie.agents.capabilities import AntiPattern
from reverie.agents.scopes import Scope
from reverie.engine.asking import ask
from reverie.errors import UserError
from reverie.failures.crash import Crash, CrashGroup
from reverie.failures.lessons import Lesson, LessonState
from reverie.memory.paths import memory_path
from reverie.services.failures import FailuresView, patterns_in_words
from reverie.ui import display_text
from reverie.ui.appearance import GAP
from reverie.ui.display_text import age, as_tooltip, counted, tr, translated, visible, visible_lines
from reverie.ui.display_text import translatable as _
from reverie.ui.icons import Icons
from reverie.ui.memory.edits import TakeBack
from reverie.ui.part_tab import PartTab
from reverie.ui.widgets.controls import FitPushButton, WrapLabel
from reverie.ui.widgets.layouts import Panes, column, pane, row_of
from reverie.ui.widgets.lists import LineList, LineModel, TwoLines
from reverie.ui.widgets.messages import MessageBar
from reverie.ui.widgets.text_boxes import PlainTextBox
from reverie.ui.widgets.text_views import read_only_text
from reverie.values import Struct

if TYPE_CHECKING:
    from reverie.clock import Clock
    from reverie.services.views import Undo
    from reverie.ui.memory.edits import Edits
    from reverie.ui.session import HomeSession


PartKey = Literal["lessons", "avoid", "crashes"]
_SHOWN_CRASHES = 50
_SHOWN_FINGERPRINT = 12
_SHOWN_PROBLEMS = 20
_PATTERNS = {True: "semantic/anti-patterns.json", False: "semantic/patterns.json"}
"""The files of the older ("legacy") anti-patterns and of the present ones, below the memory root."""
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
    what: Lesson | AntiPattern | CrashGroup | None
    """The record that the row shows; None for the block of text that the next attempt gets."""


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
        facts = [tr(_STATES[each.state])]
        if each.seen > 1:
            facts.append(seen(each.seen))
        if each.resolution:
            facts.append(tr("resolved: {text}").format(text=_short(each.resolution)))
        look = TwoLines(
            _short(each.line.removeprefix("- ")) or tr("error without a message"),
            " · ".join(facts),
            tr("unknown time") if each.at is None else age(now, each.at // 1000),
            quiet=not each.injected,
            sign="check" if each.injected else "",
        )
        yield FailureRow(lesson_key(each), look, each)


def _pattern_rows(view: FailuresView, goal: str, _now: int) -> Iterator[FailureRow]:
    told, turns = {id(each) for each in view.lessons_for(goal)}, Counter[str]()
    for each in view.anti_patterns:
        is_told = id(each) in told
        said = [tr("sent to the agent for this goal")] if is_told else []
        said.append(_short(each.prevention or each.why) or tr("no known fix"))
        look = TwoLines(
            _short(each.what_fails) or tr("anti-pattern without a description"),
            " · ".join(said),
            tr("older file") if each.legacy else "",
            quiet=bool(goal.strip()) and not is_told,
            sign="check" if is_told else "",
        )
        turns[each.id] += 1  # an id may be there twice
        yield FailureRow(f"avoid {each.id} {turns[each.id]}", look, each)


def _crash_rows(view: FailuresView, _goal: str, now: int) -> Iterator[FailureRow]:
    for group in view.crashes:
        newest = group.newest
        facts = [seen(len(group.crashes))]
        if lessons := len(view.lessons_of(group)):
            facts.append(counted("in 1 lesson", "in %n lessons", lessons))
        if newest.signature:
            facts.append(_short(" > ".join(newest.signature)))
        if group.fingerprint:
            facts.append(visible(group.fingerprint[:_SHOWN_FINGERPRINT]))
        when = age(now, newest.seen_at // 1000)
        look = TwoLines(crash_name(newest), " · ".join(facts), when, sign="error")
        yield FailureRow(crash_key(group), look, group)


_PARTS: dict[PartKey, tuple[str, str, Callable[[FailuresView, str, int], Iterator[FailureRow]]]] = {
    "lessons": (_("Lessons"), _("No attempts have failed."), _lesson_rows),
    "avoid": (
        _("Anti-patterns"),
        _("There are no anti-patterns. The agent creates them from repeated failures."),
        _pattern_rows,
    ),
    "crashes": (_("Crashes"), _("No crashes were recorded."), _crash_rows),
}
"""The parts of the tab: the title, the sentence for an empty part, and a function that makes the rows.

The function gets the goal that the user has typed, which decides which warnings match, and the time (UTC ms).
"""


def lesson_key(lesson: Lesson) -> str:
    """Return the key by which the row of a lesson is found again."""
    return f"{lesson.rel}:{lesson.index}"


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
        return _block(view, goal)
    if isinstance(what, Lesson):
        return _text(_lesson_lines(what, view))
    if isinstance(what, CrashGroup):
        return _text(_crash_lines(what))
    return _text(_legacy_lines(what)) if what.legacy else visible_lines(patterns_in_words((what.record,)))


def _block(view: FailuresView, goal: str) -> str:
    return visible_lines(view.block(goal)).strip("\n") or tr("Nothing is sent.")


def _lesson_lines(lesson: Lesson, view: FailuresView) -> Iterator[str]:
    yield lesson.type or tr("error without a type")
    yield from lesson.message.splitlines()
    yield ""
    resolution = lesson.resolution or tr("empty; the agent never fills this in, but you can")
    yield tr("Resolution: {text}").format(text=resolution)
    yield tr("Next attempt: {standing}").format(standing=tr(_STATES[lesson.state]))
    yield tr("Lesson: {line}").format(line=lesson.line)
    when = tr("unknown time") if lesson.at is None else display_text.when(lesson.at // 1000)
    yield tr("When: {when}").format(when=when)
    yield from _facts(
        (tr("Task"), lesson.task_id), (tr("Phase"), lesson.phase), (tr("Episode"), lesson.episode_id)
    )
    if lesson.fingerprint:
        yield tr("Fingerprint: {fingerprint}, {seen}").format(
            fingerprint=lesson.fingerprint, seen=seen(lesson.seen)
        )
    crash = view.crash_of(lesson)
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
        yield f"  {display_text.when(crash.seen_at // 1000)}  {crash.path.name}"
    more = len(group.crashes) - _SHOWN_CRASHES
    if more > 0:
        yield "  " + counted("1 more", "%n more", more)


def _legacy_lines(each: AntiPattern) -> Iterator[str]:
    yield each.what_fails or tr("anti-pattern without a description")
    yield ""
    yield from _facts((tr("Why"), each.why), (tr("Do"), each.prevention), (tr("Record"), each.id))
    yield tr("This anti-pattern is in an older file that the agent no longer updates.")


def _facts(*facts: tuple[str, str]) -> Iterator[str]:
    return (f"{name}: {value}" for name, value in facts if value)


def _text(lines: Iterable[str]) -> str:
    return visible_lines("\n".join(lines))


def _short(text: str) -> str:
    return visible(" ".join(text.split())[:400])


class RowModel(LineModel):
    """The Qt model of the rows of one part of the Failures tab."""

    def look(self, value: FailureRow) -> TwoLines:
        return value.look


class FailuresTab(PartTab):
    """The page with the failures: a tab for each part, with its rows and their details.

    The failures are read when the page is shown, and when something changes while it is visible. Resolutions
    are saved as edits by the user, which can be undone; the page shows them after the watcher has reported
    them.

    Signals:
        changed(): The set of changes that can be undone has changed.
        transcript_wanted(str): Request to open the transcript of the source with this id.
    """

    changed = Signal()
    transcript_wanted = Signal(str)

    def __init__(
        self,
        icons: Icons,
        clock: Clock,
        edits: Edits,
        opener: Callable[[QUrl], bool] = QDesktopServices.openUrl,
    ) -> None:
        super().__init__(icons, "failures", "check")
        self._icons = icons
        self._clock = clock
        self._edits = edits
        self._opener = opener
        self._now = 0
        self._back = TakeBack(self.message, edits)
        self.view: FailuresView | None = None
        self.dialog: ResolutionDialog | None = None
        self.state = WrapLabel()
        self.bar.setAccessibleName(self.tr("Kinds of failures"))
        goal_name = QLabel(self.tr("Next &goal:"))
        self.goal = QLineEdit()
        self.goal.setPlaceholderText(self.tr("Type a goal to see which warnings match"))
        self.goal.setAccessibleName(self.tr("Goal of the next attempt"))
        self.goal.setToolTip(self.tr("Type a goal to see which warnings match"))
        self.goal.setClearButtonEnabled(True)
        goal_name.setBuddy(self.goal)
        self._goal_row = QWidget()
        row_of(goal_name, self.goal, holder=self._goal_row, grows=self.goal)
        self.list = LineList(RowModel(), icons, self.tr("Failures"))
        self.none = WrapLabel()
        self.text = read_only_text(self.tr("Details of the selected entry"))
        self.text.document().setDocumentMargin(GAP)
        self.text.setFrameShape(QPlainTextEdit.Shape.NoFrame)
        self.resolve = FitPushButton(
            self.tr("Edit the resolution…"),
            self.tr("Write down how this error was resolved"),
            clicked=self._on_resolve,
        )
        self.other = FitPushButton(clicked=self._on_other)
        self.open = FitPushButton(clicked=self._on_open)
        self.transcript = FitPushButton(
            self.tr("Open the transcript"),
            self.tr("Open the Claude Code session that the agent recorded"),
            clicked=self._on_transcript,
        )
        self.copy = FitPushButton(
            self.tr("Copy the text"), self.tr("Copy the details below"), clicked=self._on_copy
        )
        self.lay_out(
            (self.state,),
            (self._goal_row, self.none),
            (self.resolve, self.other, self.open, self.transcript, self.copy),
            self.list,
            self.text,
            (320, 280),
        )
        self.bar.currentChanged.connect(self._show_part)
        self.goal.textChanged.connect(self._show_part)
        self.list.picked.connect(self._on_picked)
        self.list.opened.connect(self._on_opened)
        self.shown.connect(self.read)
        edits.undone.connect(self._on_undone)
        edits.failed.connect(self._on_failed)

    def set_session(self, session: HomeSession | None) -> None:
        """Show the failures of this home; None shows none."""
        if self.session is not None:
            self.session.tree_changed.disconnect(self.note_change)
            self.session.outside_changed.disconnect(self.note_change)
        self.session = session if session is not None and session.facts.has_failures else None
        self._back.forget()
        self.lane.abandon("read the failures")
        if self.dialog is not None:
            self.dialog.reject()
        self.view = None
        self.message.clear()
        self.goal.clear()
        self.turn_to(self.blank)
        if self.session is not None:
            self.session.tree_changed.connect(self.note_change)
            self.session.outside_changed.connect(self.note_change)
        self.note_change()

    @Slot()
    def read(self) -> None:
        """Read the failures in a job and show them.

        This is done even if no file has changed, because the lessons that are sent depend on the time.
        """
        if self.session is None:
            return
        now = self._clock()
        self.stale = False
        self.lane.submit(
            "read the failures",
            ask(self.session.workbench.failures.look),
            done=lambda view: self.show_view(view, now),
            failed=self.show_unread,
            group="read the failures",
        )

    def show_view(self, view: FailuresView, now: int) -> None:
        """Show the failures in `view`; the selection stays. `now`: UTC ms."""
        self.view, self._now = view, now
        self.title.say(headline(view))
        self.state.say(state(view))
        problems = [visible(problem) for problem in view.problems[:_SHOWN_PROBLEMS]]
        self.state.setToolTip(as_tooltip(*problems))
        counts = (len(view.lessons), len(view.anti_patterns), sum(len(each.crashes) for each in view.crashes))
        titles = zip(_PARTS.values(), counts, strict=True)
        self.show_titles([f"{translated(title)} · {count:,}" for (title, *_), count in titles])
        self.transcript.setVisible(view.source is not None)
        if any(counts):
            self.turn_to(self.page)
            self._show_part()
        else:
            sentence = self.tr("Lessons from failed attempts appear here.")
            self.nothing.say(self.tr("Nothing has failed here yet"), f"{sentence} {state(view)}")
            self.turn_to(self.nothing)

    @property
    def part(self) -> PartKey:
        """The part that is shown."""
        return tuple(_PARTS)[max(0, self.bar.currentIndex())]

    def show_row(self, part: PartKey, key: str) -> None:
        """Show a part and select the row with this key in it."""
        self.bar.setCurrentIndex(tuple(_PARTS).index(part))
        self.list.pick(key)

    @Slot()
    def _show_part(self) -> None:
        view, part = self.view, self.part
        if view is None:
            return
        _title, empty, rows = _PARTS[part]
        listed = list(rows(view, self.goal.text(), self._now))
        self._goal_row.setVisible(part != "crashes" and bool(view.anti_patterns))
        self.none.say("" if listed else translated(empty))
        self.none.setVisible(not listed)
        self.list.setVisible(bool(listed))
        self.text.setVisible(bool(listed))
        self.list.set_values((row.key, row) for row in listed)
        if not self.list.currentIndex().isValid() and listed:
            self.list.setCurrentIndex(self.list.rows.index(0, 0))
        else:
            self._on_picked(self.list.current_value)

    @Slot(object)
    def _on_picked(self, row: FailureRow | None) -> None:
        view, what = self.view, self._what
        text = detail(row, view, self.goal.text()) if row is not None and view is not None else ""
        if text != self.text.content:
            self.text.setPlainText(text)
        self.copy.setVisible(bool(text))
        is_crash, is_lesson = isinstance(what, CrashGroup), isinstance(what, Lesson)
        self.resolve.setVisible(is_lesson)
        self.other.setVisible(self._other_row() is not None)
        if is_crash:
            self.other.say(
                self.tr("Show the lesson"), self.tr("Show the newest lesson from a crash of this kind")
            )
            self.open.say(self.tr("Open the crash file"), self.tr("Open the newest record of this kind"))
        else:
            self.other.say(self.tr("Show the crash"), self.tr("Show the crashes behind this lesson"))
            self.open.say(
                self.tr("Open the episode") if is_lesson else self.tr("Open the file"),
                self.tr("Show the file in the Memory tab"),
            )
        is_here = self.session is None or self.session.is_here
        self.open.setVisible(what is not None and (is_here or not is_crash))

    @property
    def _what(self) -> Lesson | AntiPattern | CrashGroup | None:
        """The record that the selected row shows."""
        row: FailureRow | None = self.list.current_value
        return row.what if row is not None else None

    def _other_row(self) -> tuple[PartKey, str] | None:
        """Return the part of the tab and the key of the row that is related to the selected one, or None.

        For a lesson this is the row of the crashes from which it was made; for crashes, the row of their
        newest lesson.
        """
        view, what = self.view, self._what
        if view is not None and isinstance(what, Lesson) and (crash := view.crash_of(what)) is not None:
            return "crashes", crash_key(crash)
        if view is not None and isinstance(what, CrashGroup) and (lessons := view.lessons_of(what)):
            return "lessons", lesson_key(lessons[0])
        return None

    @Slot()
    def _on_opened(self) -> None:
        """Edit the resolution if the row is a lesson; otherwise open the file of its record."""
        if isinstance(self._what, Lesson):
            self._on_resolve()
        else:
            self._on_open()

    @Slot()
    def _on_other(self) -> None:
        found = self._other_row()
        if found is not None:
            self.show_row(*found)

    @Slot()
    def _on_open(self) -> None:
        what = self._what
        if isinstance(what, CrashGroup):
            if self.session is None or self.session.is_here:
                self._opener(QUrl.fromLocalFile(str(what.newest.path)))
        elif what is not None:
            rel = what.rel if isinstance(what, Lesson) else _PATTERNS[what.legacy]
            self.open_wanted.emit(str(memory_path(Scope.PROJECT, rel)))

    @Slot()
    def _on_transcript(self) -> None:
        if self.view is not None and self.view.source is not None:
            self.transcript_wanted.emit(self.view.source.id)

    @Slot()
    def _on_copy(self) -> None:
        QGuiApplication.clipboard().setText(self.text.content)

    @Slot()
    def _on_resolve(self) -> None:
        lesson = self._what
        if self.view is None or self.dialog is not None or not isinstance(lesson, Lesson):
            return
        block = _block(self.view, self.goal.text())
        self.dialog = ResolutionDialog(lesson, block, self._icons, self.window())
        self.dialog.wanted.connect(self._save_resolution)
        self.dialog.finished.connect(self._on_dialog_gone)
        self.dialog.open()

    @Slot()
    def _on_dialog_gone(self) -> None:
        if self.dialog is not None:
            self.dialog.deleteLater()
        self.dialog = None

    @Slot(object, str)
    def _save_resolution(self, lesson: Lesson, text: str) -> None:
        if self.session is not None:
            job = ask(self.session.workbench.failures.resolve, lesson, text)
            self._edits.apply(self.session, "write a resolution", job, self._on_resolved, self._on_refused)

    def _on_resolved(self, undo: Undo) -> None:
        if self.dialog is not None:
            self.dialog.accept()
        self._back.offer(undo, self.tr("The resolution was saved."))
        self.changed.emit()

    def _on_refused(self, error: UserError) -> None:
        if self.dialog is not None:
            self.dialog.show_error(error)
        else:
            self.message.say_error(error)

    @Slot(object, object, str)
    def _on_undone(self, session: HomeSession, _undo: Undo, sentence: str) -> None:
        if session is self.session and self.isVisible():
            self.message.say(visible(sentence))

    @Slot(object)
    def _on_failed(self, error: UserError) -> None:
        if self.session is not None and self.isVisible():
            self.message.say_error(error)


_NARROWEST = 320
_SIDE_BY_SIDE = 560


class ResolutionDialog(QDialog):
    """A dialog in which the user writes down how an error was resolved.

    It shows the text that the next attempt gets before and after the change, which is the same, because a
    resolution is not part of it. The two texts are side by side, or one above the other in a narrow dialog.

    Signals:
        wanted(Lesson, str): Request to save this resolution of the lesson's error.
    """

    wanted = Signal(object, str)

    def __init__(self, lesson: Lesson, block: str, icons: Icons, parent: QWidget | None = None) -> None:
        """Create the dialog; `block` is the text that the next attempt gets."""
        super().__init__(parent)
        self._lesson = lesson
        self.setWindowTitle(self.tr("How the error was resolved"))
        self.resize(760, 480)
        self.setMinimumWidth(_NARROWEST)
        self.message = MessageBar(icons, "record-message", closable=False)
        about = WrapLabel(visible(lesson.line.removeprefix("- ")))
        self.field = PlainTextBox(lesson.resolution)
        self.field.setAccessibleName(self.tr("How this error was resolved"))
        self.field.setPlaceholderText(self.tr("How this error was resolved: its cause and what helped"))
        self.field.setTabChangesFocus(True)
        self.field.setFixedHeight(self.fontMetrics().lineSpacing() * 4 + 2 * GAP)
        self.before = read_only_text(self.tr("Current text"), block)
        self.after = read_only_text(self.tr("Text after the change"), block)
        sides = []
        for name, text in ((self.tr("Now"), self.before), (self.tr("After"), self.after)):
            label = QLabel(name)
            label.setBuddy(text)
            sides.append(pane(label, text, grows=text))
        self.splitter = Panes(*sides, beside_from=_SIDE_BY_SIDE, sizes=(380, 380), grows=None)
        self.note = WrapLabel(
            self.tr(
                "The text for the next attempt contains only the type and message of each error, so your "
                "resolution is not part of it. The agent uses resolutions later, when it writes advice."
            )
        )
        buttons = QDialogButtonBox(QDialogButtonBox.StandardButton.Cancel)
        buttons.button(QDialogButtonBox.StandardButton.Cancel).setAutoDefault(False)
        self.accept_button = buttons.addButton(self.tr("&Save"), QDialogButtonBox.ButtonRole.AcceptRole)
        self.accept_button.setEnabled(False)
        column(self, self.message, about, self.field, self.splitter, self.note, buttons, grows=self.splitter)
        self.accept_button.setDefault(True)  # has no effect before the button is in its window
        self.field.textChanged.connect(self._on_typed)
        buttons.accepted.connect(self._on_accepted)
        buttons.rejected.connect(self.reject)
        self.field.setFocus()

    def show_error(self, error: UserError) -> None:
        """Show the reason why the change failed; the user's input stays."""
        self.accept_button.setEnabled(True)
        self.message.say_error(error)

    @property
    def resolution(self) -> str:
        """The text in the field, without surrounding white space."""
        return self.field.content.strip()

    @Slot()
    def _on_typed(self) -> None:
        self.accept_button.setEnabled(self.resolution != self._lesson.resolution.strip())

    @Slot()
    def _on_accepted(self) -> None:
        self.accept_button.setEnabled(False)
        self.wanted.emit(self._lesson, self.resolution)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self.splitter.turn(event.size().width())
