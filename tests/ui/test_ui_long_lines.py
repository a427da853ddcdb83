"""What agents dump (base64, minified JSON, logs) never blocks the window: a line too long to be broken is
shown cut, for reading only, until a person asks for all of it; bars, tables and quotes are bounded.

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
from PySide6.QtCore import QObject
from PySide6.QtGui import QFont, QPalette, QTextCursor, QTextDocument
from PySide6.QtWidgets import QPlainTextDocumentLayout
from test_ui_documents import follow, found, opened
from ui_windows import Windows

from reverie.agents.scopes import Scope
from reverie.ui.appearance import theme_of
from reverie.ui.display_text import LONGEST_LINE, LONGEST_SENTENCE, MOST_LINES, as_tooltip
from reverie.ui.editor.documents import PART_LINES
from reverie.ui.editor.rendered import MOST_CELLS, MOST_COLUMNS, rendered
from reverie.ui.editor.source_view import SourceView
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
    assert len(lines[1]) == LONGEST_LINE
    assert LONG.startswith(lines[1].removesuffix("…"))
    assert file.content == f"# Dump\n{LONG}\nend\n"
    assert not file.differs


def test_a_line_of_just_the_limit_is_edited_as_any_other(qapp: object) -> None:
    file, _owner = opened("x" * LONGEST_LINE + "\nend\n")
    assert (file.shortened, file.read_only) == (False, False)


def test_shown_in_full_it_can_be_edited_and_is_not_edited_by_that(qtbot: Any) -> None:
    file, _owner = opened(f"{LONG}\r\nend\r\n")
    file.show_whole()
    qtbot.waitUntil(lambda: file.whole)
    assert (file.shortened, file.read_only, file.document.isModified()) == (False, False, False)
    assert file.content == f"{LONG}\r\nend\r\n"
    file.document.undo()
    assert file.content == f"{LONG}\r\nend\r\n"


def test_what_is_being_edited_is_not_cut_by_its_own_save(qapp: object) -> None:
    file, _owner = opened("short\n")
    file.retype(f"short\n{LONG}\n")
    follow(file, file.content)
    assert (file.shortened, file.content) == (False, f"short\n{LONG}\n")


@pytest.mark.parametrize("content", ["\n" * 30_000, "word\r\n" * 9_000 + LONG, "a\u2028b\u2029\n" * 9_000])
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
    assert file.text == "mine\n"
    assert (file.buffer.banner, file.buffer.base) == ("conflict", before.base)


def test_typing_into_a_text_shown_in_full_undoes_nothing_that_others_wrote_before(qtbot: Any) -> None:
    """Showing it in full empties the undo stack."""
    file, _owner = opened("mine\n")
    for content in ("mine\ntheirs\n", f"mine\ntheirs\n{LONG}\n"):
        follow(file, content)
    file.show_whole()
    qtbot.waitUntil(lambda: not file.shortened)
    QTextCursor(file.document).insertText("typed ")
    assert (file.buffer.banner, file.buffer.base) == ("", found(content))


def test_a_draft_of_a_long_line_is_taken_whole(qapp: object) -> None:
    file, _owner = opened(f"{LONG}\n")
    file.retype(f"{LONG}more\n")
    assert (file.shortened, file.read_only, file.content) == (False, False, f"{LONG}more\n")


def test_a_long_line_that_is_pasted_is_not_wrapped_and_the_wish_stays(qtbot: Any) -> None:
    view = SourceView()
    qtbot.addWidget(view)
    view.resize(600, 400)
    view.show()
    view.setPlainText("# Notes\n")
    assert view.lineWrapMode() == SourceView.LineWrapMode.WidgetWidth
    assert took(lambda: (view.insertPlainText(LONG), view.grab())) < FAST_S
    assert (view.lineWrapMode(), view.wraps) == (SourceView.LineWrapMode.NoWrap, True)
    short = QTextDocument("# Other", view)
    short.setDocumentLayout(QPlainTextDocumentLayout(short))
    view.setDocument(short)
    assert view.lineWrapMode() == SourceView.LineWrapMode.WidgetWidth


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
    assert "of each line, are shown" in driver.pane.reason.text
    assert driver.pane.reason.keys == ("whole",)


def test_the_button_shows_all_of_it(windows: Windows, home: Path) -> None:
    (home / "memory" / "global" / "zz-dump.md").write_text(LONG[:90_000])
    driver = windows.open(home)
    driver.tree.select_path("/memories/global/zz-dump.md")
    driver.until(lambda: driver.pane.file is not None)
    driver.pane.reason.button("whole").click()
    assert driver.pane.file is not None
    driver.until(lambda: driver.pane.reason.keys == ())
    assert driver.pane.file.text == LONG[:90_000]
    assert not driver.pane.text.isReadOnly()
    assert driver.pane.reason.keys == ()
    driver.pane.text.insertPlainText("typed ")
    driver.tab.editor.save()
    driver.until(lambda: not driver.tab.buffers.unsaved())
    assert (home / "memory" / "global" / "zz-dump.md").read_text() == "typed " + LONG[:90_000]


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
