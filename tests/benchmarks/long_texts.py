"""Time for which the window is blocked while a hundred texts of a megabyte are shown, edited and reviewed.

`PYTHONPATH=tests:tests/ui python tests/benchmarks/long_texts.py [characters] [part or kind]...`
prints the worst blocks of each view: the processor time that the GUI thread used in one, which other
programs on the machine do not change, and beside it the time that passed. The parts are `views`, `editors`
and `reviews`.
"""

from __future__ import annotations

import sys
import tempfile
import time
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

from PySide6.QtCore import QEventLoop, QMimeData, QObject
from PySide6.QtGui import QTextCursor
from PySide6.QtWidgets import QApplication, QWidget
from ui_reviews import A, B, C, view

from helpers.long_texts import long_texts
from reverie.agents.scopes import ScopeContext
from reverie.jobs.consolidate import review as reviews
from reverie.memory.diff import unified, word_spans
from reverie.memory.nearest_lines import nearest_lines
from reverie.profile import Profile
from reverie.services.traces import MissedEdit
from reverie.services.views import FileText, ReviewView, file_text
from reverie.text.text_merge import MERGE_CHARS
from reverie.ui.appearance import theme_of
from reverie.ui.changes.diff import HunkView, MergeView
from reverie.ui.changes.review import Choices, ReviewPart
from reverie.ui.changes.rows import ChangeRow
from reverie.ui.changes.tab import ChangesTab
from reverie.ui.display_text import has_long_line
from reverie.ui.editor import buffer as state
from reverie.ui.editor.buffers import Buffers
from reverie.ui.editor.control import EditorControl
from reverie.ui.editor.documents import OpenFile
from reverie.ui.editor.line_breaks import widget_text
from reverie.ui.editor.merge_control import CoEditing
from reverie.ui.editor.pane import EditorPane
from reverie.ui.editor.preview import PreviewPane
from reverie.ui.editor.rendered import LIMIT as PREVIEW_CHARS
from reverie.ui.editor.rendered import MOST_LINES as PREVIEW_LINES
from reverie.ui.icons import Icons
from reverie.ui.jobs import Lane
from reverie.ui.memory.side_by_side import SideBySide, aligned
from reverie.ui.traces.detail import MissedView
from reverie.ui.transcripts.text import ReaderText, headed
from reverie.ui.widgets.text_views import DiffView, LoadedText, TextView

MEGABYTE = 1_000_000
MOST_MS = 50
PAUSE_S = 0.03
"""Seconds between two turns of the event loop, so that what waits for a pause in typing happens too."""
TURNS, MOST_TURNS = 12, 1_000
"""Turns of the event loop that are measured: at least, and at most while a job goes on."""
REF = state.FileRef.memory("home", "global", "a.md")
ADDRESS = state.Address(ScopeContext("w", "/p"), A)


def turned(text: str) -> str:
    """The text with its parts in another order."""
    step = len(text) // 7 or 1
    return "\nturned ".join([text[at : at + step] for at in range(0, len(text), step)][::-1])


Block = tuple[float, float, str]
"""A time without a turn of the event loop: processor time and passed time in ms, and the kind of text."""


def worst_block(kind: str, show: Callable[[], None], lane: Lane) -> Block:
    """Show something and give the block in which the thread worked longest until all jobs have ended."""

    def events() -> None:
        time.sleep(PAUSE_S)
        QApplication.processEvents(QEventLoop.ProcessEventsFlag.AllEvents)

    found = []
    for turn, step in enumerate((show, *[events] * MOST_TURNS)):
        if turn > TURNS and not lane.busy:
            break
        worked, passed = time.thread_time(), time.perf_counter()
        step()
        found.append(((time.thread_time() - worked) * 1000, (time.perf_counter() - passed) * 1000, kind))
    return max(found)


def views(text: str) -> dict[str, tuple[QWidget, Callable[[], None]]]:
    """The views by name, each with what shows the text there; all that is not shown is done before."""
    other = turned(text)
    edited = Choices(view({C: text}, {C: other}))
    merged = Choices(view({A: text, B: other}, {A: text + "\n" + other}, max_loss_percent=100))
    group, merge = edited.view.groups[0], merged.view.groups[0]
    nearest_lines(text, other[:5_000])
    missed = MissedEdit(1, "t", "p", other, text, other, *word_spans(other, text))
    rows = aligned(text, other)
    difference = unified(text.encode(), other.encode(), "a.md")
    hunks, sides, missed_view, merging = HunkView(), SideBySide(), MissedView(), MergeView()
    diff, version, loaded, messages = DiffView(), TextView(), LoadedText(), ReaderText("Messages")
    messages.show_messages([headed(0, "assistant", "answer", text)])
    return {
        "hunks": (hunks, lambda: hunks.show_part(edited, ReviewPart(group, group.files[0]))),
        "merge": (merging, lambda: merging.show_merge(ReviewPart(merge)) and None),
        "missed edit": (missed_view, lambda: missed_view.show_edits((missed,))),
        "side by side": (sides, lambda: sides.show_rows(rows)),
        "difference": (diff, lambda: diff.show_diff(difference)),
        "version": (version, lambda: version.show_bytes(text.encode())),
        "loaded": (loaded, lambda: loaded.show_text(text, ())),
        "messages": (messages, lambda: messages.unfold(0)),
    }


Shown = tuple[QWidget, Callable[[], None]]
"""A widget, and what does in it what is measured."""


@cache
def found(content: str) -> FileText:
    return file_text(A, content.encode(), mtime_ns=1, cap=None)


class Editor:
    """An editor pane, and a file in it once it is opened; `lane` compares long texts."""

    def __init__(self, directory: Path, lane: Lane) -> None:
        self.pane = EditorPane(Icons(), Profile.under(directory))
        self.owner = QObject(self.pane)
        self.lane = lane
        buffers = Buffers(theme_of(self.pane.palette()), self.owner)
        control = EditorControl(self.pane, buffers, Icons(), self.owner)
        self.co_editing = CoEditing(control, self.pane, buffers, Icons(), self.owner)

    def open(self, text: str) -> OpenFile:
        theme = theme_of(self.pane.palette())
        file = OpenFile(state.opened(REF, ADDRESS, found(text)), theme, self.owner, self._later)
        file.renewed.connect(self.pane.refresh)
        file.renewed.connect(self.co_editing.refresh)
        self.pane.show_file(file, None)
        return file

    def _later(
        self, _file: OpenFile, _group: str, work: Callable[[], Any], done: Callable[[Any], None]
    ) -> None:
        self.lane.submit("compare versions", lambda _control: work(), done=done)

    def type(self, file: OpenFile) -> None:
        cursor = QTextCursor(file.document)
        cursor.setPosition(file.document.characterCount() // 2)
        cursor.insertText("x")

    def disturb(self, file: OpenFile, theirs: str) -> None:
        """Do what happens when another program writes the file."""
        disk = found(theirs)
        after, effect = state.seen_on_disk(file.buffer, disk, file.content_like(disk))
        if effect == "merge":
            file.merge(after, "agent", lambda: None)
        elif effect == "follow":
            file.follow(after, "agent", lambda: None)


def shown_in_full(file: OpenFile) -> OpenFile:
    """Show all of the file's text, as the button does, so that it can be edited."""
    file.show_whole()
    while file.display == "lines":
        QApplication.processEvents()
    return file


def editors(text: str, directory: Path, lane: Lane) -> dict[str, Shown]:
    """The editor and the preview by what happens in them, with as much of the text as each takes."""
    opening, whole, typing, following, conflict, pasting = (Editor(directory, lane) for _ in range(6))
    preview = PreviewPane()
    typed, followed = shown_in_full(typing.open(text)), following.open(text)
    part = text[: MERGE_CHARS - 100]
    # A text with a line that is too long cannot be edited; it arrives over a short text instead.
    disturbed = shown_in_full(conflict.open("short" if has_long_line(widget_text(part)) else part))
    middle = len(part) // 2
    conflict.type(disturbed)
    disturbed.buffer = state.typed(disturbed.buffer, True)
    theirs = f"theirs{part[:middle]}theirs{part[middle:]}\nend"
    rendered = "\n".join(text[:PREVIEW_CHARS].split("\n")[:PREVIEW_LINES])
    pasted = QMimeData()
    pasted.setText(text)
    pasting.open("short")
    other, opened = turned(text), whole.open(text)
    for each in (text, other, theirs):
        found(each)  # what the job that reads a file hands over
    return {
        "editor open": (opening.pane, lambda: opening.open(text) and None),
        "show in full": (whole.pane, opened.show_whole),
        "typing": (typing.pane, lambda: None if typed.read_only else typing.type(typed)),
        "foreign change": (following.pane, lambda: following.disturb(followed, other)),
        "conflict": (conflict.pane, lambda: conflict.disturb(disturbed, theirs)),
        "paste": (pasting.pane, lambda: pasting.pane.text.insertFromMimeData(pasted)),
        "preview": (preview, lambda: preview.say_text(rendered, at_once=True)),
    }


def review_pane(lane: Lane, made: ReviewView) -> tuple[ChangesTab, Callable[[], None]]:
    """A Changes tab, and what shows a review there as it arrives from the job that read it."""
    tab = ChangesTab(lane, Icons(), lambda: 0)
    read = Choices(made)

    def show() -> None:
        tab.files.begin(ChangeRow("r1", 1, made.run))
        tab.files.show_review(read)

    return tab, show


def reviews_of(text: str, lane: Lane) -> dict[str, Shown]:
    """The Changes tab when a review arrives, and at clicks there."""
    other = turned(text)
    edit = view({C: text}, {C: other})
    merge = view({A: text, B: other}, {A: text + "\n" + other}, max_loss_percent=100)
    back = view({C: text}, {C: other}, can_apply=False, can_take_back=True)
    shown: dict[str, Shown] = {}
    for name, made in (("edit", edit), ("merge", merge), ("undo", back)):
        tab, show = review_pane(lane, made)
        shown[f"review, {name}"] = tab, show
        clicked, first = review_pane(lane, made)
        first()
        shown[f"click, {name}"] = clicked, lambda clicked=clicked: clicked.files.tree.tick(False)
        edited, second = review_pane(lane, made)
        second()
        shown[f"editing, {name}"] = edited, edited.files.detail.start_editing
    reviews._folded.cache_clear()  # the window gets its reviews from another process
    return shown


def main(size: int, wanted: list[str]) -> None:
    application = QApplication(["long texts"])
    application.setStyle("Fusion")
    parts = [part for part in ("views", "editors", "reviews") if part in wanted or not wanted]
    parts = parts or ["views", "editors", "reviews"]
    kinds = [each for each in wanted if each not in parts]
    worst: dict[str, list[Block]] = {}
    slowest: list[tuple[float, str]] = []
    lane = Lane("reviews")
    with tempfile.TemporaryDirectory() as directory:
        for kind, text in long_texts(size):
            if kinds and kind not in kinds:
                continue
            print(kind, file=sys.stderr, flush=True)
            begin = time.perf_counter()
            made: dict[str, Shown] = {}
            for part in parts:
                if part == "editors":
                    made.update(editors(text, Path(directory), lane))
                else:
                    made.update(views(text) if part == "views" else reviews_of(text, lane))
            slowest.append((time.perf_counter() - begin, kind))
            for name, (widget, show) in made.items():
                widget.resize(700, 500)
                widget.show()
                QApplication.processEvents()
                block = worst_block(kind, show, lane)
                worst.setdefault(name, []).append(block)
                if block[0] > MOST_MS:
                    print(f"  {name}: {block[0]:.0f} ms", file=sys.stderr, flush=True)
                widget.close()
                widget.deleteLater()
            QApplication.processEvents()
    lane.stop()
    report(worst)
    top = ", ".join(f"{seconds:.1f} s {kind}" for seconds, kind in sorted(slowest)[-4:][::-1])
    print(f"beside it, off the GUI thread: {top}")


def report(worst: dict[str, list[Block]]) -> None:
    for name, found in worst.items():
        above = sum(worked > MOST_MS for worked, _passed, _kind in found)
        top = ", ".join(
            f"{worked:.0f} ({passed:.0f}) ms {kind}" for worked, passed, kind in sorted(found)[-4:][::-1]
        )
        print(f"{name:14} {above:3} of {len(found)} above {MOST_MS} ms; worst: {top}", flush=True)


if __name__ == "__main__":
    main(int(sys.argv[1]) if sys.argv[1:] else MEGABYTE, sys.argv[2:])
