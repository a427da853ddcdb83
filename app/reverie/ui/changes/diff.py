"""The right column of the Changes tab: the diff of the selected file, and its versions.

The diff has buttons at each hunk; a rejected or undone hunk is not coloured. For a merge, the memory that
stays, the memory that is deleted, and the result are shown. To edit the text, an editor replaces the diff.
Other views show the text of a version, the difference to the current file, and the author of each line.

Texts come from disk: hidden characters are escaped, and long texts are cut.

Threading: GUI thread; `PaneReader` reads in jobs and drops outdated results.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from operator import attrgetter, is_
from typing import TYPE_CHECKING, Any, Literal

from PySide6.QtCore import QObject, QPoint, QSignalBlocker, Qt, Signal, Slot
from PySide6.QtGui import QColor, QFontMetrics, QKeyEvent, QMouseEvent, QResizeEvent, QShowEvent, QTextCursor
from PySide6.QtWidgets import QApplication, QCheckBox, QToolButton, QWidget

from reverie.engine.asking import ask
from reverie.jobs.consolidate.review import Fate, MergedLine
from reverie.ui.appearance import GAP, UNIT, Theme, mixed, monospace
from reverie.ui.changes.review import Choices, ReviewPart, card_notes, group_words, hunk_words
from reverie.ui.changes.rows import actor
from reverie.ui.display_text import as_tooltip, counted, rows_of, short_age, shortened, tr, visible, when
from reverie.ui.icons import Icons
from reverie.ui.jobs import JobControl, Lane, Work, single_shot
from reverie.ui.metrics import row_height
from reverie.ui.widgets.controls import FitCombo, FitPushButton, WrapLabel, embolden
from reverie.ui.widgets.layouts import Column, FlowLayout, column, pane, row_of, scrolled, split, stacked
from reverie.ui.widgets.messages import MessageBar
from reverie.ui.widgets.read_only_text import ReadOnlyText
from reverie.ui.widgets.text_boxes import PlainTextBox
from reverie.ui.widgets.text_views import DiffView, TextView, invisible_words
from reverie.values import Struct

if TYPE_CHECKING:
    from reverie.agents.scopes import ScopeContext
    from reverie.services.change_log import LoggedChange
    from reverie.services.timeline import BlameView, LineAuthor, TimelineTarget
    from reverie.services.views import ReviewFile
    from reverie.services.workbench import Workbench

MOST_LINES = 4_000
"""The maximum number of lines of a text that are shown."""
PAUSE_MS = 250
"""Milliseconds after the last keystroke before `changed` is emitted."""
_LEAST_BUTTON = 24
_MOST_NOTES = 12
_NOTE_CHARS = 160


class ShownHunk(Struct, frozen=True):
    """A hunk (block of changed lines) in the diff that is shown."""

    path: str
    index: int
    where: str
    """The position of the hunk, in words."""
    block: int
    """The number of the text block of the hunk's first line."""


class HunkView(ReadOnlyText):
    """The diff of a file or group, with buttons beside the first line of each visible hunk."""

    asked = Signal(str, str, int)
    """Emitted when a button is clicked: `accept`, `reject`, `edit` or `take-back`, path, hunk index."""
    picked = Signal(str, int)
    """Emitted when the user clicks into a hunk, with the path and the hunk index."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__("", parent)
        self.setAccessibleName(self.tr("Difference"))
        self.hunks: tuple[ShownHunk, ...] = ()
        self._bars: dict[tuple[str, int], QWidget] = {}
        self._choices: Choices | None = None
        self._part: ReviewPart | None = None
        self.verticalScrollBar().valueChanged.connect(self._place)

    def show_text(self, text: str) -> None:
        """Show a text that is not part of a change set; lines that begin with `+` or `-` are coloured."""
        theme = self._start(lambda: self.show_text(text))
        rows = rows_of(text, MOST_LINES)
        self.fill(self.line(row, *_colours(theme, row[:1])[:2]) for row in rows)

    def show_part(self, choices: Choices | None, part: ReviewPart | None) -> None:
        """Show the selected file, or all files of the selected group, scrolled to the selected hunk."""
        keep = part is not None and self._part is not None and _same_files(part, self._part)
        at = self.verticalScrollBar().value()
        theme = self._start(lambda: self.show_part(choices, part))
        self._choices, self._part = choices, part
        if choices is None or part is None or part.group is None:
            return
        files = part.group.files if part.file is None else (part.file,)
        if part.group.kind == "merge" and part.file is None:
            files = tuple(file for file in files if file.verb != "delete")

        def steps() -> Iterator[None]:
            for file in files:
                if len(files) > 1:
                    self.line(file.path.removeprefix("/memories/"), theme.text, theme.accent_back)
                is_cut = yield from self._file_steps(choices, part, file, theme)
                if is_cut:
                    self.line(self.tr("… the rest is too long to show here."), theme.dim)
                    return

        def done() -> None:
            if keep:
                self.verticalScrollBar().setValue(at)
            self._show_current(part)
            self._place()

        self.fill(steps(), done)

    def _file_steps(
        self, choices: Choices, part: ReviewPart, file: ReviewFile, theme: Theme
    ) -> Generator[None, None, bool]:
        """Add the lines of a file, one line per step.

        The return value of the generator is True if the file was cut at `MOST_LINES`.
        """
        assert part.group is not None
        notes = card_notes(choices.view.card, file)
        for hunk in file.hunks:
            off = not choices.hunk_taken(part.group, file, hunk.index) if choices.is_open else False
            gone = choices.is_gone(file, hunk.index)
            where = at = hunk_words(file, hunk)
            if gone:
                where += " · " + self.tr("undone")
            elif off:
                where += " · " + (self.tr("rejected") if choices.is_plan else self.tr("to be undone"))
            elif choices.is_written(file, hunk.index) or choices.is_written(file):
                where += " · " + self.tr("edited by you")
            current = part.hunk == hunk.index and len(file.hunks) > 1
            back = theme.accent_back if current else None
            height = max(_LEAST_BUTTON + UNIT, QFontMetrics(self.font()).height() + GAP)
            block = self.line(where, theme.text if current else theme.dim, back, height=height)
            self.hunks = (*self.hunks, ShownHunk(file.path, hunk.index, at, block.blockNumber()))
            if hunk.invisible:
                self.line(f"  {invisible_words(hunk.invisible)}", theme.dim)
                yield
            for note in notes.get(hunk.index, ())[:_MOST_NOTES]:
                self.line(f"  {shortened(note, _NOTE_CHARS)}", theme.dim if off or gone else theme.warn_text)
                yield
            colours = {kind: _colours(theme, kind) for kind in " +-"}
            for number, (kind, text) in enumerate(hunk.lines):
                if self.document().blockCount() > MOST_LINES:
                    return True
                colour, ground, mark = colours[kind]
                if off or gone:
                    colour, ground, mark = theme.dim, None, None
                found = hunk.marks[number] if hunk.marks else ()
                marks = [(start + 2, length) for start, length in found]
                self.line(
                    f"{kind} {text}" if text else kind,
                    colour,
                    ground,
                    marks=marks,
                    mark=mark,
                    struck=kind == "+" and (off or gone),
                )
                yield
        return False

    def _start(self, again: Callable[[], None]) -> Theme:
        """Clear the view and return its theme.

        `again` is called to fill the view again when the colours change.
        """
        for bar in self._bars.values():
            bar.hide()
            bar.deleteLater()
        self._bars, self.hunks = {}, ()
        self._choices = self._part = None
        return self.begin(again)

    def _show_current(self, part: ReviewPart) -> None:
        """Scroll to the selected hunk."""
        if part.file is None or part.hunk is None:
            return
        for hunk in self.hunks:
            if (hunk.path, hunk.index) == (part.file.path, part.hunk):
                cursor = QTextCursor(self.document().findBlockByNumber(hunk.block))
                self.setTextCursor(cursor)
                self.ensureCursorVisible()

    # Buttons beside the first line of each hunk in sight

    @Slot()
    def _place(self) -> None:
        """Place the buttons beside the visible hunks."""
        layout, room = self.document().documentLayout(), self.viewport().size()
        top = self.verticalScrollBar().value()
        first, last = (self.cursorForPosition(QPoint(0, y)).blockNumber() for y in (0, room.height()))
        for bar in self._bars.values():
            bar.hide()
        for hunk in self.hunks[bisect_left(self.hunks, first, key=attrgetter("block")) :]:
            if hunk.block > last:
                break
            block = self.document().findBlockByNumber(hunk.block)
            y = round(layout.blockBoundingRect(block).top()) - top
            # The rectangle of a block does not include the extra height of its line.
            following = round(layout.blockBoundingRect(block.next()).top()) - top
            key = hunk.path, hunk.index
            bar = self._bars[key] = self._bars.get(key) or self._bar(hunk)
            size = bar.sizeHint()
            left, width = max(0, room.width() - size.width() - UNIT), min(size.width(), room.width())
            bar.setGeometry(left, max(y, following - size.height()), width, size.height())
            bar.show()

    def _bar(self, hunk: ShownHunk) -> QWidget:
        """Create the widget with the buttons of a hunk, and return it."""
        bar = QWidget(self.viewport())
        bar.setFont(QApplication.font(bar))
        row = row_of(holder=bar, gap=UNIT)
        for key, text in self._buttons(hunk):
            button = QToolButton()
            button.setText(text)
            button.setObjectName(key)
            button.setFocusPolicy(Qt.FocusPolicy.NoFocus)  # the keys of the review do the same
            button.setCursor(Qt.CursorShape.ArrowCursor)
            button.setMinimumHeight(_LEAST_BUTTON)
            button.setAccessibleName(f"{text}: {hunk.where}")
            button.clicked.connect(
                lambda _on=False, key=key, hunk=hunk: self.asked.emit(key, hunk.path, hunk.index)
            )
            row.addWidget(button)
        return bar

    def _buttons(self, hunk: ShownHunk) -> Iterator[tuple[str, str]]:
        """Yield the key and the text of each button of a hunk."""
        choices, part = self._choices, self._part
        if choices is None or part is None or part.group is None or not choices.is_open:
            return
        file = next(file for file in part.group.files if file.path == hunk.path)
        taken = choices.hunk_taken(part.group, file, hunk.index)
        if choices.is_plan:
            if taken and choices.can_write(file, hunk.index):
                yield "edit", self.tr("Edit…")
            yield ("reject", self.tr("Reject")) if taken else ("accept", self.tr("Accept"))
        elif not choices.is_gone(file, hunk.index):
            first = hunk.index == file.hunks[0].index
            if file.verb == "edit" or first:
                yield "take-back", self.tr("Take back")

    def mousePressEvent(self, event: QMouseEvent) -> None:
        super().mousePressEvent(event)
        at = self.cursorForPosition(event.position().toPoint()).blockNumber()
        before = [hunk for hunk in self.hunks if hunk.block <= at]
        if before and event.button() == Qt.MouseButton.LeftButton:
            self.picked.emit(before[-1].path, before[-1].index)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._place()

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        self._place()


def _same_files(one: ReviewPart, other: ReviewPart) -> bool:
    return (one.group, one.file) == (other.group, other.file)


def _colours(theme: Theme, kind: str) -> tuple[QColor, QColor | None, QColor | None]:
    """Return the colours of a line: its text, its background, and the background of differing words."""
    if kind == "+":
        return theme.added, theme.added_back, mixed(theme.added, theme.added_back, 0.25)
    if kind == "-":
        return theme.removed, theme.removed_back, mixed(theme.removed, theme.removed_back, 0.25)
    return theme.text, None, None


_SIGNS = {"same": "=", "moved": "→", "reworded": "≈", "gone": "✕", "": " "}


class MergeView(Column):
    """The memories of a merge side by side: the one that stays, and the deleted one.

    Each line of the deleted memory is marked: the other memory already has it, receives it, contains it
    reworded, or does not contain it.
    """

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        # The memories that are shown: the one that stays first. A click on a check box does not change them.
        self._shown: list[ReviewFile] = []
        self.summary = WrapLabel()
        self.legend = WrapLabel(
            self.tr("= already in kept memory   → moved to it   ≈ reworded in it   ✕ removed")
        )
        self.kept_name, self.gone_name = WrapLabel(), WrapLabel()
        for label in (self.kept_name, self.gone_name):
            embolden(label)
        self.kept = ReadOnlyText(self.tr("Memory to keep"))
        self.gone = ReadOnlyText(self.tr("What happens to each line of the memory to remove"))
        self.sides = split(
            pane(self.kept_name, self.kept, grows=self.kept),
            pane(self.gone_name, self.gone, grows=self.gone),
            sizes=(300, 300),
        )
        self.sides.setMinimumHeight(row_height(self.font()) * 4)
        column(self, self.summary, self.sides, self.legend, grows=self.sides, margin=0, gap=UNIT)

    def show_merge(self, part: ReviewPart | None) -> bool:
        """Show the merge that `part` belongs to and return True, or hide and return False if there is none.

        `part` None: no part is selected.
        """
        group = part.group if part is not None else None
        kept = [file for file in group.files if file.verb != "delete"] if group is not None else []
        gone = [file for file in group.files if file.verb == "delete"] if group is not None else []
        if group is None or group.kind != "merge" or len(kept) != 1 or not gone:
            self._shown = []
            self.hide()
            return False
        self.show()  # before the texts, which are then laid out once, in their width
        chosen = [file for file in gone if part is not None and part.file is file] or gone
        into = kept[0]
        shown = [into, *chosen]
        if len(shown) == len(self._shown) and all(map(is_, shown, self._shown)):
            return True
        self._shown = shown
        lines = [(file, group.merged.get(file.path, ())) for file in chosen]
        fates = Counter[Fate]()
        for file in chosen:
            fates.update(group.fates.get(file.path, {}))
        self.summary.say(merge_words(fates))
        self.kept_name.say(self.tr("{name} (kept)").format(name=_name(into.old_path or into.path)))
        names = ", ".join(_name(file.path) for file, _found in lines)
        self.gone_name.say(self.tr("{name} (removed)").format(name=names))
        self._show_kept(into)
        self._show_gone(lines)
        return True

    def _show_kept(self, file: ReviewFile) -> None:
        """Show the text of the memory that stays."""
        self.kept.begin(lambda: self._show_kept(file))
        self.kept.fill(map(self.kept.line, rows_of(file.before or "", MOST_LINES)))

    def _show_gone(self, files: Sequence[tuple[ReviewFile, Sequence[MergedLine]]]) -> None:
        """Show the lines of the deleted memories, each marked with its fate in the merge."""
        theme = self.gone.begin(lambda: self._show_gone(files))
        backs = {"moved": theme.added_back, "reworded": theme.warn_back, "gone": theme.removed_back}
        mark = mixed(theme.warn, theme.warn_back, 0.25)

        def steps() -> Iterator[None]:
            for file, lines in files:
                if len(files) > 1:
                    self.gone.line(_name(file.path), theme.text, theme.accent_back)
                for line in lines[:MOST_LINES]:
                    self.gone.line(
                        f"{_SIGNS[line.fate]} {line.text}",
                        theme.dim if line.fate in ("same", "") else theme.text,
                        backs.get(line.fate),
                        marks=[(start + 2, length) for start, length in line.marks],
                        mark=mark,
                    )
                    yield

        self.gone.fill(steps(), later=True)  # three long texts in one event would block the window

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        wide = event.size().width() >= 480
        self.sides.setOrientation(Qt.Orientation.Horizontal if wide else Qt.Orientation.Vertical)


def merge_words(counts: Mapping[Fate, int]) -> str:
    """Return a summary of the fates of lines, such as `The kept memory already had 6 of 8 lines`."""
    counts = Counter(counts)
    known = sum(counts[fate] for fate in ("same", "moved", "reworded", "gone"))
    said = [tr("The kept memory already had {count} of {all} lines.").format(count=counts["same"], all=known)]
    if known == 1:
        said = [tr("The kept memory already had this line.")] if counts["same"] else []
    if counts["moved"]:
        moved = counts["moved"]
        said.append(
            counted("1 line was moved to the kept memory.", "%n lines were moved to the kept memory.", moved)
        )
    if counts["reworded"]:
        said.append(counted("1 line was reworded.", "%n lines were reworded.", counts["reworded"]))
    if counts["gone"]:
        said.append(counted("1 line was removed.", "%n lines were removed.", counts["gone"]))
    return " ".join(said)


def _name(path: str) -> str:
    return visible(path.rpartition("/")[2])


class ReviewDetail(QWidget):
    """The diff or the editor of the selected part of a change set.

    Above it are shown: the merge that the part belongs to, and the reasons why the file is not changed.
    """

    changed = Signal()
    """Emitted when the user has edited a text, or agreed to the loss of lines."""
    asked = Signal(str, str, int)
    """Emitted when a button is clicked: action, path, hunk index; see `HunkView.asked`."""
    picked = Signal(str, int)
    """Emitted when a hunk is clicked, with the path and the hunk index."""

    def __init__(self, icons: Icons, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._choices: Choices | None = None
        self._part: ReviewPart | None = None
        self.title = WrapLabel()
        embolden(self.title)
        self.note = WrapLabel()
        self.blocked = MessageBar(icons, "review-blocked", closable=False)
        self.merge = MergeView()
        self.diff = HunkView()
        self.diff.setMinimumHeight(row_height(self.font()) * 4)
        self.diff.asked.connect(self.asked)
        self.diff.picked.connect(self.picked)
        self.editor = PlainTextBox()
        self.editor.setFont(monospace())
        self.editor.setTabChangesFocus(True)
        self.editor.setAccessibleName(self.tr("Replacement text"))
        self.editor.textChanged.connect(self._on_typed)
        self.result = WrapLabel(self.tr("Result"))
        embolden(self.result)
        self._pages = stacked(self.diff, self.editor)
        self.edit = FitPushButton(clicked=self._on_edit)
        self.take_back = FitPushButton(self.tr("Discard my text"), clicked=self._on_take_back)
        self.agree = QCheckBox(self.tr("&Allow these lines to be removed"))
        self.agree.toggled.connect(self._on_agree)
        self._pause = single_shot(self, PAUSE_MS, self.changed.emit)
        row = FlowLayout(self.edit, self.take_back, self.agree, gap=UNIT * 2)
        self.below = pane(self.result, self._pages, grows=self._pages)
        self._sides = split(self.merge, self.below, sizes=(260, 320), upright=True, grows=self.below)
        parts = self.title, self.note, self.blocked, self._sides, row
        column(self, *parts, grows=self._sides, margin=0, gap=UNIT)
        self.show_part(None, None)

    def show_part(self, choices: Choices | None, part: ReviewPart | None) -> None:
        """Show one part of a change set; None clears the view."""
        self.flush()
        self._choices, self._part = choices, part
        self._editing(choices is not None and self._is_written)
        self.refresh()

    def show_text(self, text: str) -> None:
        """Show a text in place of the diff."""
        self.diff.show_text(text)

    def flush(self) -> None:
        """Emit `changed` now, instead of after a pause, if the user has just typed.

        Called before an action that uses the text.
        """
        if self._pause.isActive():
            self._pause.stop()
            self.changed.emit()

    def refresh(self) -> None:
        """Update titles, reasons why a file is not changed, buttons and diff after a choice of the user."""
        choices, part = self._choices, self._part
        self.result.setVisible(self.merge.show_merge(part))
        self.title.say(_title(part))
        self.title.setVisible(bool(self.title.text()))
        if choices is None or part is None:
            self.note.hide()
            self.blocked.clear()
            for control in (self.edit, self.take_back, self.agree):
                control.hide()
            self.diff.show_part(None, None)
            return
        reason = part.refused or (part.group.reason if part.group is not None else "")
        self.note.say(reason)
        self.note.setVisible(bool(reason))
        self._say_blocked(choices, part)
        self._say_buttons(choices, part)
        if self._pages.currentWidget() is self.diff:
            self.diff.show_part(choices, self._result_part(part))

    def _result_part(self, part: ReviewPart) -> ReviewPart:
        """Return the part to show in the diff in place of `part`.

        If `part` is a deleted memory of a merge, this is the whole merge; otherwise it is `part`.
        """
        if self.merge.isHidden() or part.file is None or part.file.verb != "delete":
            return part
        return ReviewPart(part.group)

    def _say_blocked(self, choices: Choices, part: ReviewPart) -> None:
        """Show why the file is not changed and, if lines would be lost, let the user agree to the loss."""
        path = part.file.path if part.file is not None else ""
        why = choices.blocked.get(path, "") if choices.is_open else ""
        if why:
            said = self.tr("This file will not be changed: {why}")
            if choices.view.can_take_back:
                said = self.tr("This file will also be restored: {why}")
            self.blocked.say(said.format(why=visible(why)), tone="warn")
        else:
            self.blocked.clear()
        agreed = choices.has_agreed(path)
        with QSignalBlocker(self.agree):
            self.agree.setChecked(agreed)
        self.agree.setVisible(agreed or bool(why and choices.may_agree(path)))

    def _say_buttons(self, choices: Choices, part: ReviewPart) -> None:
        """Update the buttons for the part that is shown."""
        file = part.file
        self.edit.setVisible(file is not None and choices.can_write(file, part.hunk))
        self.take_back.setVisible(file is not None and choices.is_written(file, part.hunk))
        if self._pages.currentWidget() is self.editor:
            self.edit.say(self.tr("Show the difference"))
        elif part.hunk is None:
            self.edit.say(self.tr("Edit the text…"), self.tr("Replace the text of the file with your own"))
        else:
            self.edit.say(self.tr("Edit this change…"), self.tr("Replace this change with your own text"))

    # Editing

    @property
    def can_edit(self) -> bool:
        """True if the user can edit the text of the part that is shown."""
        return not self.edit.isHidden()

    def start_editing(self) -> None:
        """Open the editor and move the focus into it, if the part that is shown can be edited."""
        if self.can_edit:
            if self._pages.currentWidget() is self.diff:
                self._on_edit()
            self.editor.setFocus()

    @property
    def _is_written(self) -> bool:
        """True if the user has edited the text of the part that is shown."""
        choices, part = self._choices, self._part
        if choices is None or part is None or part.file is None:
            return False
        return choices.is_written(part.file, part.hunk)

    def _editing(self, on: bool) -> None:
        """Show the editor with the text of the part if `on`, otherwise the diff."""
        choices, part = self._choices, self._part
        if on and choices is not None and part is not None and part.file is not None:
            with QSignalBlocker(self.editor):
                self.editor.setPlainText(choices.text(part.file, part.hunk))
        self._pages.setCurrentWidget(self.editor if on else self.diff)

    @Slot()
    def _on_edit(self) -> None:
        self.flush()
        self._editing(self._pages.currentWidget() is self.diff)
        self.refresh()
        if self._pages.currentWidget() is self.editor:
            self.editor.setFocus()

    @Slot()
    def _on_take_back(self) -> None:
        choices, part = self._choices, self._part
        if choices is not None and part is not None and part.file is not None:
            self._pause.stop()
            choices.write(part.file, None, part.hunk)
            self._editing(False)
            self.changed.emit()

    @Slot()
    def _on_typed(self) -> None:
        choices, part = self._choices, self._part
        if choices is not None and part is not None and part.file is not None:
            choices.write(part.file, self.editor.content, part.hunk)
            self._pause.start()

    @Slot(bool)
    def _on_agree(self, on: bool) -> None:
        choices, part = self._choices, self._part
        if choices is not None and part is not None and part.file is not None:
            choices.agree(part.file.path, on)
            self.changed.emit()


def _title(part: ReviewPart | None) -> str:
    """Return the title for `part`; empty if `part` is None."""
    if part is None or part.group is None:
        return ""
    if part.file is None or part.group.kind == "merge":
        return group_words(part.group) if len(part.group.files) > 1 else _name(part.group.files[0].path)
    return part.file.path.removeprefix("/memories/")


_LONGEST_NAME = 26


class BlamePane(QWidget):
    """The text of one version with the author and time of each line, and a button to its change set."""

    wanted = Signal(str)
    """Emitted with the id of a change set, or of its run, to show."""

    def __init__(self, now: Callable[[], int], parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._now = now
        self.view: BlameView | None = None
        """The version that is shown with the authors of its lines; None if none is shown."""
        self.note = WrapLabel(self.tr("No lines: this version is empty, missing, too large or not text."))
        self.text = ReadOnlyText(self.tr("Lines and who wrote them"))
        self.text.setLineWrapMode(ReadOnlyText.LineWrapMode.NoWrap)
        self.text.cursorPositionChanged.connect(self._follow)
        self.to_change = FitPushButton(self.tr("&Go to this change"), clicked=self.go)
        column(self, self.note, self.text, FlowLayout(self.to_change), grows=self.text, margin=0, gap=UNIT)
        self.show_blame(None)

    def show_blame(self, view: BlameView | None) -> None:
        """Show the lines of a version; consecutive lines of one change name its author once.

        `view` None: show no lines.
        """
        self.view = view
        theme = self.text.begin(lambda: self.show_blame(view))
        rows, authors = (view.rows, view.authors) if view is not None else ((), ())
        names = [*map(self._name, authors), self.tr("Not in the history yet")]  # by -1, too
        wide, last = max(map(len, names)), len(names)

        def steps() -> Iterator[None]:
            before = last
            for text, author in rows:
                name = names[author] if author != before else ""
                before = author
                self.text.line(f"{name:<{wide}}  {text}", theme.text)
                yield

        self.text.fill(steps())
        self.note.setVisible(view is not None and not view.rows)
        self._follow()

    def _name(self, author: LineAuthor) -> str:
        """Return the author and age of a line for display."""
        who = shortened(actor(author.actor if author.who == "other" else author.who), _LONGEST_NAME)
        return f"{who}, {short_age(self._now(), author.at_ms)}"

    @property
    def current(self) -> LineAuthor | None:
        """The author of the line with the caret; None if the line is not in the history yet."""
        rows = self.view.rows if self.view is not None else ()
        at = self.text.textCursor().blockNumber()
        author = rows[at][1] if at < len(rows) else -1
        return self.view.authors[author] if self.view is not None and author >= 0 else None

    @Slot()
    def _follow(self) -> None:
        """Update the button after the caret has moved to another line."""
        author = self.current
        self.to_change.setEnabled(author is not None)
        said = f"{self._name(author)}, {when(author.at_ms)}" if author is not None else ""
        self.to_change.setToolTip(as_tooltip(said, author.subject) if author is not None else "")

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter):
            self.go()
        else:
            super().keyPressEvent(event)

    @Slot()
    def go(self) -> None:
        """Emit `wanted` with the change set that wrote the line with the caret."""
        author = self.current
        if author is not None:
            self.wanted.emit(author.change)


class PaneReader(QObject):
    """The jobs by which one part of the window reads data; their errors are reported by one signal.

    A newer job replaces an older one of the same group.
    """

    failed = Signal(object)
    """Emitted with a `UserError` when a job failed."""

    def __init__(self, lane: Lane, parent: QObject) -> None:
        super().__init__(parent)
        self._lane = lane

    @property
    def busy(self) -> bool:
        """True if a job on the lane has not ended yet."""
        return self._lane.busy

    def read(self, name: str, group: str, work: Work[Any], done: Callable[[Any], None]) -> None:
        """Run `work` as a job and pass its result to `done`; a running job of the same `group` is dropped.

        `name` is for the log.
        """
        self._lane.submit(name, work, done=done, failed=self.failed.emit, group=self._name(group))

    def drop(self, group: str) -> None:
        """Abandon the running job of `group`."""
        self._lane.abandon(self._name(group))

    def _name(self, group: str) -> str:
        """Return the name that a group of this reader has on the lane, which other readers use as well."""
        return f"{group} {id(self)}"


View = Literal["change", "now", "text", "lines"]
"""The views of a file: the change, the difference to the current file, the text, the author of each line."""


class ShownFile(Struct, frozen=True):
    """The selected file of a change set in the history."""

    workbench: Workbench
    context: ScopeContext
    change: LoggedChange
    path: str
    target: TimelineTarget | None = None
    """The companion whose changes are listed; None for memories."""


class VersionPane(QWidget):
    """The right column: the change of the selected file or, for a file in the history, another view."""

    restore_wanted = Signal(object)
    """Request to restore a `ShownFile` to its state in this change set."""
    wanted = Signal(str)
    """Emitted with the id of another change set to show."""

    def __init__(
        self, lane: Lane, icons: Icons, now: Callable[[], int], parent: QWidget | None = None
    ) -> None:
        super().__init__(parent)
        self.reader = PaneReader(lane, self)
        self._file: ShownFile | None = None
        self.view = FitCombo(self.tr("What to show for this file"))
        names: tuple[tuple[View, str], ...] = (
            ("change", self.tr("What changed")),
            ("now", self.tr("Since then")),
            ("text", self.tr("Text of this version")),
            ("lines", self.tr("Who wrote each line")),
        )
        for key, name in names:
            self.view.addItem(name, key)
        self.restore = FitPushButton(
            self.tr("&Restore this version"),
            self.tr("Restore the file to this version; you can undo this"),
            icon=icons.icon("undo"),
            clicked=self._ask_restore,
        )
        self.detail = ReviewDetail(icons)
        self.since = DiffView()
        self.text = TextView()
        self.lines = BlamePane(now)
        # In a low pane the merge is scrolled as a whole.
        whole = scrolled(self.detail, self.tr("What changed"))
        self._pages = stacked(whole, self.since, self.text, self.lines)
        self._head = QWidget()
        FlowLayout(self.view, self.restore, holder=self._head)
        column(self, self._head, self._pages, grows=self._pages, margin=(UNIT, 0, 0, 0), gap=UNIT)
        self.view.currentIndexChanged.connect(self._read)
        self.lines.wanted.connect(self.wanted)
        self.show_file(None)

    def show_file(self, file: ShownFile | None) -> None:
        """Show another file of a change set; None if no file is selected that the history has versions of."""
        self._head.setVisible(file is not None)
        if file is None:
            self.view.setCurrentIndex(0)
        if file != self._file:
            self._file = file
            self._read()

    def show_view(self, view: View) -> None:
        """Choose a view of the file."""
        self.view.setCurrentIndex(self.view.findData(view))

    def follow(self) -> None:
        """Read the difference to the current file again, because files may have changed."""
        if self.view.currentData() == "now":
            self._read()

    @Slot()
    def _read(self) -> None:
        """Read the chosen view of the file in a job."""
        view: View = self.view.currentData()
        self._pages.setCurrentIndex(self.view.currentIndex())
        file = self._file
        if file is None or view == "change":
            self.reader.drop("version")
            return
        log, timeline = file.workbench.change_log, file.workbench.timeline

        async def work(_control: JobControl) -> Any:
            target, before, after = await ask(log.version, file.context, file.change, file.path, file.target)
            text = await ask(timeline.read, after)
            state = before if text is None else after  # for a deleted file, the version before
            if view == "now":
                return await ask(timeline.difference, state, await ask(timeline.on_disk, state.place))
            if view == "text":
                return await ask(timeline.read, state) if text is None else text
            return await ask(timeline.blame, target, state)

        self.reader.read(f"read a version: {view}", "version", work, self._on_read)

    def _on_read(self, found: Any) -> None:
        view: View = self.view.currentData()
        if view == "now":
            self.since.show_diff(found or self.tr("The file is the same as this version."))
        elif view == "text":
            self.text.show_bytes(found)
        elif view == "lines":
            self.lines.show_blame(found)

    @Slot()
    def _ask_restore(self) -> None:
        if self._file is not None:
            self.restore_wanted.emit(self._file)
