"""What agents dump (base64, minified JSON, logs) never blocks the window: a text with a line that is too long
is shown cut, for reading only, and nothing makes such a line here; bars, tables and quotes are bounded.

Times are a tenth and less of what the same text took before, on any machine.
"""

from __future__ import annotations

import itertools
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from PySide6.QtCore import QMimeData, QObject, Qt
from PySide6.QtGui import QFont, QInputMethodEvent, QPalette, QTextCursor, QTextDocument
from PySide6.QtWidgets import QApplication, QPlainTextDocumentLayout
from test_ui_documents import follow, found, opened
from ui_reviews import A
from ui_reviews import view as review
from ui_windows import Windows

from helpers.profiles import examples
from reverie.agents.scopes import Scope
from reverie.profile import Profile
from reverie.ui.appearance import theme_of
from reverie.ui.changes.diff import HunkView
from reverie.ui.changes.review import Choices, ReviewPart
from reverie.ui.display_text import (
    LONGEST_LINE,
    LONGEST_SENTENCE,
    MOST_LINES,
    SHOWN_OF_LINE,
    as_tooltip,
    has_long_line,
)
from reverie.ui.editor import buffer as state
from reverie.ui.editor import documents
from reverie.ui.editor.documents import PART_LINES
from reverie.ui.editor.find_bar import FindBar
from reverie.ui.editor.line_breaks import widget_text, written
from reverie.ui.editor.pane import EditorPane
from reverie.ui.editor.rendered import MOST_CELLS, MOST_COLUMNS, rendered
from reverie.ui.editor.source_view import MOST_PASTED, SourceView
from reverie.ui.icons import Icons
from reverie.ui.widgets.controls import ElidedLabel, WrapLabel

LONG = "QUJD" * 25_000
FAST_S = 1.0


def took(act: Callable[[], object]) -> float:
    """The seconds of this thread's own work, which a busy machine does not make longer."""
    began = time.thread_time()
    act()
    return time.thread_time() - began


def test_a_long_line_is_shown_cut_and_read_only_and_what_would_be_written_is_whole(qapp: object) -> None:
    file, _owner = opened(f"# Dump\n{LONG}\nend\n")
    assert (file.shortened, file.read_only) == (True, True)
    lines = file.text.split("\n")
    assert (lines[0], lines[2]) == ("# Dump", "end")
    shown, _, more = lines[1].partition("…")
    assert (LONG[:SHOWN_OF_LINE], f" {len(LONG) - SHOWN_OF_LINE:,} more characters") == (shown, more[:23])
    assert file.content == f"# Dump\n{LONG}\nend\n"
    assert not file.differs


def test_a_line_of_just_the_limit_is_edited_as_any_other(qapp: object) -> None:
    file, _owner = opened("x" * LONGEST_LINE + "\nend\n")
    assert (file.shortened, file.read_only) == (False, False)


def test_a_long_line_is_never_shown_in_full(qtbot: Any) -> None:
    content = "word\r\n" * 9_000 + LONG
    file, _owner = opened(content)
    file.show_whole()
    qtbot.wait(20)
    assert (file.shortened, file.read_only, file.content) == (True, True, content)
    file.retype("other\n")
    assert (file.read_only, file.content) == (False, "other\r\n")
    file.document.undo()
    assert file.content == "other\r\n", "what was shown cut is no text to go back to"


def test_what_is_being_edited_is_not_cut_by_its_own_save(qapp: object) -> None:
    file, _owner = opened("short\n")
    lines = "short\n" * 2 * MOST_LINES
    file.retype(lines)
    follow(file, file.content)
    assert (file.shortened, file.content) == (False, lines)


@pytest.mark.parametrize("content", ["\n" * 30_000, "word\r\n" * 9_000, "a\u2028b\u2029\n" * 9_000])
def test_a_text_of_many_lines_is_shown_in_parts_and_is_no_other_file_meanwhile(
    qtbot: Any, content: str
) -> None:
    file, _owner = opened(content)
    assert (file.document.blockCount(), file.read_only, file.content) == (MOST_LINES, True, content)
    blocks: list[int] = []
    file.document.contentsChange.connect(lambda *_: blocks.append(file.document.blockCount()))

    def all_there() -> bool:
        assert file.content == content
        assert not file.differs
        assert file.read_only != file.whole
        assert not file.document.isModified()
        return file.whole

    file.show_whole()
    qtbot.waitUntil(all_there, timeout=20_000)
    assert file.text == content.replace("\r\n", "\n")
    assert max(after - before for before, after in itertools.pairwise(blocks)) <= PART_LINES
    QTextCursor(file.document).insertText("x")
    assert file.content == "x" + content
    file.document.undo()
    assert (file.content, file.document.isUndoAvailable()) == (content, False)


def test_a_text_that_grows_by_typing_is_never_cut(qtbot: Any) -> None:
    file, _owner = opened("a\n" * (MOST_LINES - 2))
    qtbot.wait(20)
    assert not file.whole, "its colours are no edit"
    QTextCursor(file.document).insertText("b\n" * 500)
    assert (file.whole, file.differs, file.read_only) == (True, True, False)
    assert file.content == "b\n" * 500 + "a\n" * (MOST_LINES - 2)


def test_what_is_written_by_others_while_parts_are_added_is_shown_instead(qtbot: Any) -> None:
    file, _owner = opened("old\n" * 9_000)
    file.show_whole()
    assert (file.shortened, file.document.blockCount() <= PART_LINES + 1) == (True, True)
    content = "new\n" * 9_000
    follow(file, content)
    qtbot.wait(20)
    assert (file.shortened, file.content) == (True, content)
    assert file.text == "\n".join(["new"] * MOST_LINES)
    file.retype(content + "mine\n")
    assert (file.read_only, file.content) == (False, content + "mine\n")


def test_an_undo_of_what_others_wrote_asks_also_where_their_text_is_shown_cut(qapp: object) -> None:
    """Otherwise the next save would silently remove it."""
    file, _owner = opened("mine\n")
    before, content = file.buffer, f"mine\n{LONG}\n"
    follow(file, content)
    assert (file.shortened, file.buffer.banner) == (True, "")
    file.document.undo()
    assert (file.text, file.content, file.read_only) == ("mine\n", "mine\n", False)
    assert (file.buffer.banner, file.buffer.base) == ("conflict", before.base)
    file.document.redo()
    assert (file.content, file.read_only, file.buffer.banner) == (content, True, "")


def test_typing_into_a_text_shown_in_full_undoes_nothing_that_others_wrote_before(qtbot: Any) -> None:
    """Showing it in full empties the undo stack."""
    file, _owner = opened("mine\n")
    for content in ("mine\ntheirs\n", "mine\ntheirs\n" * MOST_LINES):
        follow(file, content)
    file.show_whole()
    qtbot.waitUntil(lambda: not file.shortened)
    QTextCursor(file.document).insertText("typed ")
    assert (file.buffer.banner, file.buffer.base) == ("", found(content))


def test_typed_text_stays_when_another_program_writes_a_long_line(qapp: object) -> None:
    file, _owner = opened("old\n")
    QTextCursor(file.document).insertText("mine ")
    file.buffer, disk = state.typed(file.buffer, True), found(f"theirs\n{LONG}")

    def theirs_arrive() -> None:
        after, effect = state.seen_on_disk(file.buffer, disk, file.content_like(disk))
        assert effect == "merge"
        file.merge(after, "outside", lambda: None)

    theirs_arrive()
    assert (file.buffer.banner, file.conflicts, file.text) == ("conflict", (), "mine old\n")
    assert not file.read_only
    file.follow(state.taken_theirs(file.buffer)[0], "", lambda: None)
    assert (file.read_only, file.content) == (True, f"theirs\n{LONG}")
    file.document.undo()
    assert (file.read_only, file.content, file.buffer.banner) == (False, "mine old\n", "conflict")
    file.buffer = state.kept_mine(file.buffer)
    assert (file.differs, file.read_only, file.content) == (True, False, "mine old\n")


@pytest.fixture
def view(qtbot: Any) -> SourceView:
    made = SourceView()
    qtbot.addWidget(made)
    made.setPlainText("x" * LONGEST_LINE + "\nshort\n" + "y" * LONGEST_LINE)
    made.blank = QTextDocument(made)
    made.blank.setDocumentLayout(QPlainTextDocumentLayout(made.blank))
    made.refusals = []
    made.refused.connect(lambda: made.refusals.append(True))
    return made


@pytest.mark.parametrize("text", [LONG, f"a\r\n{LONG}\r\nb", "x" + "y" * (LONGEST_LINE - 2)])
def test_a_paste_that_makes_a_line_too_long_is_refused(view: SourceView, text: str) -> None:
    view.setPlainText("# Notes")
    data = QMimeData()
    data.setText(text)
    view.insertFromMimeData(data)
    assert (view.content, view.refusals) == ("# Notes", [True])
    view.selectAll()
    data.setText("\n".join(["y" * LONGEST_LINE] * 3))
    view.insertFromMimeData(data)
    assert (len(view.content), view.refusals) == (3 * LONGEST_LINE + 2, [True])


@pytest.mark.parametrize(
    ("text", "inserted"),
    [
        ("a\n" * (MOST_LINES - 1), True),
        ("a\n" * MOST_LINES, False),
        ("a\r" * MOST_LINES, False),
        (f"{'a' * 99}\n" * (MOST_PASTED // 100), True),
        (f"{'a' * 99}\n" * (MOST_PASTED // 100 + 1), False),
    ],
    ids=["lines", "too many lines", "too many returns", "characters", "too many characters"],
)
def test_a_text_that_would_block_the_window_is_not_inserted(
    view: SourceView, text: str, inserted: bool
) -> None:
    view.setPlainText("# Notes")
    data = QMimeData()
    data.setText(text)
    view.insertFromMimeData(data)
    assert (len(view.content) > len("# Notes"), view.refusals) == (inserted, [] if inserted else [True])


@pytest.mark.parametrize("key", [Qt.Key.Key_X, Qt.Key.Key_Delete])
def test_a_key_that_makes_a_line_too_long_is_refused_and_earlier_typing_stays(
    view: SourceView, key: Qt.Key, qtbot: Any
) -> None:
    view.go_to_line(2)
    for letter in "abc":
        qtbot.keyClick(view, letter)
    before = view.content
    view.go_to_line(1)
    view.moveCursor(QTextCursor.MoveOperation.EndOfLine)
    qtbot.keyClick(view, key)
    assert (view.content, view.refusals) == (before, [True])
    qtbot.keyClick(view, Qt.Key.Key_Return)
    assert view.content == before.replace("\nabc", "\n\nabc")
    view.undo()
    view.undo()
    assert view.content == before.replace("abc", "")
    assert not view.document().isRedoAvailable() or view.refusals == [True]


def test_what_is_committed_by_an_input_method_and_replaced_is_checked_too(
    view: SourceView, qtbot: Any
) -> None:
    before = view.content
    event = QInputMethodEvent()
    event.setCommitString("\u6f22")
    view.inputMethodEvent(event)
    assert (view.content, view.refusals) == (before, [True])
    finder = FindBar(view, Icons())
    qtbot.addWidget(finder)
    finder.field.setText("x" * 5_000)
    finder.other.setText("z" * 5_001)
    finder.replace_all()
    assert (view.content, view.refusals) == (before, [True, True])


STEPS = st.lists(
    st.tuples(
        st.sampled_from(["type", "paste", "write", "keep", "discard", "undo", "redo", "whole", "save"]),
        st.sampled_from(
            ["", "a\n", "b\r\nc\r\n", "\rd", LONG[:10_500], f"e\n{LONG[:20_000]}\r\n", "f\n" * 4_100]
        ),
    ),
    max_size=12,
)


@settings(
    suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=examples(60), deadline=None
)
@given(st.sampled_from(["a\n", "b\r\nb\rb\n", f"c\n{LONG[:11_000]}\r\n", "d\n" * 4_200]), STEPS)
def test_no_byte_of_a_long_line_changes_whatever_is_done(
    view: SourceView, first: str, steps: list[tuple[str, str]]
) -> None:
    """`disk` is the file: only a save may change it, and only to a text that was typed here."""
    file, _owner = opened(first)
    disk = first
    view.setDocument(file.document)

    def noticed() -> None:
        """Do what the open files do when a text has changed."""
        file.buffer = state.typed(file.buffer, file.document.isModified() or file.differs)

    def read() -> None:
        now = found(disk)
        after, effect = state.seen_on_disk(file.buffer, now, file.content_like(now))
        if effect == "follow":
            file.follow(after, "", lambda: None)
        elif effect == "merge":
            file.merge(after, "outside", lambda: None)
        else:
            file.buffer = after

    for kind, text in steps:
        view.setReadOnly(file.read_only)
        if kind == "write":
            disk = text or disk
            read()
        elif kind in ("type", "paste") and not file.read_only:
            data = QMimeData()
            data.setText(text)
            view.insertFromMimeData(data)
            noticed()
        elif kind in ("undo", "redo"):
            getattr(file.document, kind)()
            noticed()
        elif kind == "whole" and not file.buffer.modified:
            file.show_whole()
            while file.shortened and file.display != "long":
                QApplication.processEvents()
        elif kind == "keep" and file.buffer.banner == "conflict":
            file.buffer = state.kept_mine(file.buffer)
        elif kind == "discard" and file.buffer.banner == "conflict":
            file.follow(state.taken_theirs(file.buffer)[0], "", lambda: None)
        elif kind == "save" and file.buffer.modified and not file.read_only and not file.buffer.banner:
            assert file.buffer.expected_sha256 == found(disk).sha256
            disk = file.content
            assert widget_text(disk) == file.text
            file.buffer = state.saved(file.buffer, found(disk), False)
            file.document.setModified(False)
        assert not has_long_line(file.text)
        if not file.buffer.modified:
            assert file.content == disk
        if file.shortened:
            assert file.read_only
            assert file.buffer.base is not None
            assert file.content == file.buffer.base.content
    view.setDocument(view.blank)


@pytest.mark.parametrize(
    "write",
    [
        lambda file: file.write_text(LONG),
        lambda file: file.write_text(LONG * 10),
        lambda file: (file.write_text("hi\n"), os.truncate(file, 5 << 30)),
        lambda file: file.write_text(f"---\ndescription: {LONG * 3}\n---\ntext\n"),
        lambda file: file.write_text(("|" + "a|" * 6_000 + "\n") + ("|" + "-|" * 6_000 + "\n")),
    ],
    ids=["100 KB on a line", "1 MB on a line", "sparse 5 GB", "description of 300 KB", "6,000 columns"],
)
def test_no_file_holds_the_window_up(
    windows: Windows, home: Path, write: Callable[[Path], object], qtbot: Any
) -> None:
    name = "zz-dump.md"
    write(home / "memory" / "global" / name)
    driver = windows.open(home)
    assert name in driver.paths(Scope.GLOBAL)
    driver.tree.select_path(f"/memories/global/{name}")
    driver.until(lambda: driver.pane.file is not None)
    view, window = driver.pane.view, driver.window

    def use() -> None:
        window.grab()
        view.toggle_form()
        view.show_side()
        window.grab()
        window.resize(700, 700)
        window.grab()

    assert took(use) < FAST_S
    assert driver.pane.file is not None
    assert driver.pane.file.shortened
    assert "Edit it in another program" in driver.pane.reason.text
    assert driver.pane.reason.keys == ("copy",)


def test_the_button_shows_all_lines(windows: Windows, home: Path) -> None:
    lines = "line\n" * 9_000
    (home / "memory" / "global" / "zz-dump.md").write_text(lines)
    driver = windows.open(home)
    driver.tree.select_path("/memories/global/zz-dump.md")
    driver.until(lambda: driver.pane.file is not None)
    driver.pane.reason.button("whole").click()
    assert driver.pane.file is not None
    driver.until(lambda: driver.pane.reason.keys == ())
    assert driver.pane.file.text == lines
    assert not driver.pane.text.isReadOnly()
    assert driver.pane.reason.keys == ()
    driver.pane.text.insertPlainText("typed ")
    driver.tab.editor.save()
    driver.until(lambda: not driver.tab.buffers.unsaved())
    assert (home / "memory" / "global" / "zz-dump.md").read_text() == "typed " + lines


def test_a_long_line_is_copied_whole_and_refused_in_the_text_and_in_the_form(
    windows: Windows, home: Path, qtbot: Any
) -> None:
    folder = home / "memory" / "global"
    (folder / "zz-dump.md").write_text(f"one\n{LONG}\r\n", newline="")
    (folder / "zz-short.md").write_text("---\ndescription: about\n---\ntext\n")
    driver = windows.open(home)
    driver.tree.select_path("/memories/global/zz-dump.md")
    driver.until(lambda: driver.pane.reason.keys == ("copy",))
    driver.pane.reason.button("copy").click()
    assert QApplication.clipboard().text() == f"one\n{LONG}\r\n"
    driver.tree.select_path("/memories/global/zz-short.md")
    driver.until(lambda: driver.pane.file is not None and driver.pane.file.text.endswith("text\n"))
    file, before = driver.pane.file, driver.pane.text.content
    driver.pane.text.paste()
    assert "cannot be edited here" in driver.pane.error.text
    driver.pane.error.clear()
    driver.pane.view._take_text(before.replace("about", LONG))
    assert "cannot be edited here" in driver.pane.error.text
    assert (driver.pane.text.content, file.buffer.modified) == (before, False)


def test_a_wide_table_and_deep_quotes_are_shown_as_they_are_written(qapp: object) -> None:
    owner = QObject()
    theme = theme_of(QPalette())

    def plain(text: str) -> str:
        document = rendered(text, theme, QFont(), owner)
        document.setTextWidth(500)
        document.size()
        return document.toPlainText()

    wide = "|" + "a|" * 2_000 + "\n|" + "-|" * 2_000 + "\n"
    assert took(lambda: plain(wide)) < FAST_S
    assert plain(wide).startswith("|a|a|")
    narrow = "|" + "a|" * MOST_COLUMNS + "\n|" + "-|" * MOST_COLUMNS + "\n"
    assert "|" not in plain(narrow)
    assert took(lambda: plain(">" * 30_000 + " deep")) < FAST_S
    assert "deep" in plain(">" * 200 + " deep")


def test_tables_with_more_cells_than_a_preview_lays_out_are_shown_as_written(qapp: object) -> None:
    owner = QObject()
    theme = theme_of(QPalette())

    def shown(text: str) -> str:
        return rendered(text, theme, QFont(), owner).toPlainText()

    def table(rows: int) -> str:
        return "| a | b |\n|---|---|\n" + "| one | two |\n" * rows

    assert "|" not in shown(table(20))
    assert shown(table(20) + "\nText.\n\n" + table(MOST_CELLS)).count("| one | two |") == MOST_CELLS
    escaped = "| a | b |\n|---|---|\n" + "| x\\|y | two |\n" * MOST_CELLS
    assert "x|y" in shown(escaped)
    piped = "```sh\n" + "ps | sort | head\n" * MOST_CELLS + "```\n"
    assert "\\" not in shown(table(20) + piped)


def test_labels_and_tool_tips_show_the_beginning_of_what_nobody_reads_to_the_end(qtbot: Any) -> None:
    for label in (WrapLabel(), ElidedLabel()):
        qtbot.addWidget(label)
        label.resize(600, 200)

        def use(label: WrapLabel | ElidedLabel = label) -> None:
            label.say(LONG * 3)
            label.sizeHint()
            label.heightForWidth(600)
            label.grab()

        assert took(use) < FAST_S
        assert len(label.accessibleName() or label.text()) == LONGEST_SENTENCE
    assert len(as_tooltip(LONG)) < LONGEST_SENTENCE


def test_the_colours_of_a_page_are_one_edit(qapp: object) -> None:
    """Each edit by itself lays out its line again."""
    owner, theme = QObject(), theme_of(QPalette())
    few, many = (rendered("`a` " * count, theme, QFont(), owner) for count in (10, 1_000))
    assert few.revision() == many.revision()


def test_line_breaks_are_restored_only_where_they_are_needed(
    qtbot: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They are needed when a job saves or compares, and for the size only if the agent has a limit."""
    calls: list[int] = []

    def counting(style: Any, text: str) -> str:
        calls.append(len(text))
        return written(style, text)

    monkeypatch.setattr(documents, "written", counting)
    file, _owner = opened("a\r\nb\nc\r")
    pane = EditorPane(Icons(), Profile.under(tmp_path))
    qtbot.addWidget(pane)
    pane.show_file(file, None)
    QTextCursor(file.document).insertText("x")
    pane._measure_text()
    contents = file.contents()
    assert file.content_like(found("xa\nb\nc\n")) == "xa\nb\nc\n"
    assert calls == []
    assert contents() == "xa\r\nb\nc\r"
    assert calls == [7]
    pane.clear()


def test_the_buttons_of_the_hunks_in_sight_are_shown_wherever_the_text_is_scrolled(qtbot: Any) -> None:
    lines = [f"line {number}\n" for number in range(2_000)]
    after = [line.upper() if number % 20 == 10 else line for number, line in enumerate(lines)]
    choices = Choices(review({A: "".join(lines)}, {A: "".join(after)}))
    group = choices.view.groups[0]
    hunks = HunkView()
    qtbot.addWidget(hunks)
    hunks.resize(500, 400)
    hunks.show()
    hunks.show_part(choices, ReviewPart(group, group.files[0]))
    qtbot.waitUntil(lambda: hunks.is_filled)
    assert len(hunks.hunks) == 100
    layout, bar = hunks.document().documentLayout(), hunks.verticalScrollBar()
    for place in (0, bar.maximum() // 3, bar.maximum(), 7):
        bar.setValue(place)
        tops = {
            hunk.index: layout.blockBoundingRect(hunks.document().findBlockByNumber(hunk.block)).top() - place
            for hunk in hunks.hunks
        }
        shown = {index for (_path, index), each in hunks._bars.items() if each.isVisible()}
        assert shown == {index for index, top in tops.items() if -20 < top < hunks.viewport().height()}
    assert len(hunks._bars) < 30
