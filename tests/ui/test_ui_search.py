"""The search field above the trees: as one types, over all homes, back with Esc."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QFont, QFontMetrics
from PySide6.QtTest import QAbstractItemModelTester
from test_ui_window import GuiThreadFiles
from ui_windows import ACME, BACKFILL, Driver, Windows

from helpers.samples import copy_sample, snapshot
from reverie.ui.editor.find import FindQuery, find
from reverie.ui.icons import Icons
from reverie.ui.memory.search import (
    MemorySearch,
    ResultList,
    around_first,
    ended_within,
    pattern_of,
    shown_with,
)


def typed(driver: Driver, text: str) -> None:
    """Type into the field, letter by letter where Qt's test keys can."""
    search = driver.tab.search
    search.field.clear()
    if text.isascii():
        driver.qtbot.keyClicks(search.field, text)
    else:
        search.field.setText(text)
    driver.until(lambda: answered(search))


def answered(search: MemorySearch) -> bool:
    answer = search.answer
    return search.settled and answer is not None and answer.query == search.field.text()


def paths(driver: Driver) -> list[str]:
    return [hit.path for hit in driver.tab.search.list.results.hits]


def press(driver: Driver, key: Qt.Key, *, results: bool = False) -> None:
    search = driver.tab.search
    driver.qtbot.keyClick(search.list if results else search.field, key)


def test_typing_shows_results_enter_opens_and_escape_gives_the_trees_back(
    windows: Windows, home: Path
) -> None:
    before = snapshot(home)
    driver = windows.open(home)
    search = driver.tab.search
    driver.do("view.search")
    driver.until(search.field.hasFocus)
    QAbstractItemModelTester(search.list.results)
    typed(driver, "retry-loop")
    assert search.showing
    assert paths(driver)[0] == "/memories/workspace/findings/retry-loop.md"
    press(driver, Qt.Key.Key_Return)
    driver.until(lambda: driver.pane.file is not None)
    assert driver.pane.file is not None
    assert driver.pane.file.buffer.address.path == "/memories/workspace/findings/retry-loop.md"
    driver.until(driver.pane.text.hasFocus)
    assert search.showing
    lines = driver.pane.text.toPlainText().splitlines()
    last = next(line for line in reversed(lines) if len(line.split()) > 3)
    driver.do("view.search")
    typed(driver, f'"{" ".join(last.strip("- .").split()[:4])}"')
    assert paths(driver)[0] == "/memories/workspace/findings/retry-loop.md"
    press(driver, Qt.Key.Key_Return)
    driver.until(lambda: driver.pane.text.textCursor().block().text() == last)  # where it was found
    driver.do("view.search")
    press(driver, Qt.Key.Key_Escape)
    assert not search.showing
    assert search.field.text() == ""
    assert driver.tree.isVisible()
    assert driver.tree.hasFocus()
    driver.settle()
    driver.window.close()
    assert snapshot(home) == before


def the_list_is_walked_from_the_field_and_left_upwards(driver: Driver) -> None:
    search = driver.tab.search
    driver.do("view.search")
    typed(driver, "the")
    assert len(paths(driver)) > 3
    press(driver, Qt.Key.Key_Down)
    press(driver, Qt.Key.Key_Down)
    assert search.list.currentIndex().row() == 2
    wanted = paths(driver)[2]
    search.list.setFocus()
    press(driver, Qt.Key.Key_Up, results=True)
    press(driver, Qt.Key.Key_Up, results=True)
    press(driver, Qt.Key.Key_Up, results=True)
    driver.until(search.field.hasFocus)
    press(driver, Qt.Key.Key_Down)
    press(driver, Qt.Key.Key_Down)
    assert search.list.current is not None
    assert search.list.current.path == wanted
    press(driver, Qt.Key.Key_Escape, results=True)
    assert not search.showing


def test_a_result_of_another_workspace_or_home_is_shown_there(
    windows: Windows, home: Path, tmp_path: Path
) -> None:
    other = copy_sample("mux-home", tmp_path / "second")
    for place, word in (
        (home / f"sessions/{BACKFILL}/memory", "bandicoot"),
        (home / "memory/project/pixel-garden-151cea1d7209", "potoroo"),
        (other / "memory/global", "dugong"),
    ):
        place.mkdir(parents=True, exist_ok=True)
        (place / f"{word}.md").write_text(f"a {word}\n")
    (home / "AGENTS.md").write_text("be a numbat\n")
    driver = windows.open(home)
    driver.window.homes.open(other)
    driver.until(lambda: len(driver.window.homes.sessions) == 2)
    driver.do("view.search")
    for word, path in (
        ("bandicoot", "/memories/workspace/bandicoot.md"),
        ("potoroo", "/memories/project/potoroo.md"),
        ("dugong", "/memories/global/dugong.md"),
        ("numbat", ""),
    ):
        typed(driver, word)
        assert len(paths(driver)) == 1, word
        press(driver, Qt.Key.Key_Return)
        driver.until(
            lambda word=word: driver.pane.file is not None and word in driver.pane.text.toPlainText()
        )
        if path:
            assert driver.pane.file is not None
            assert driver.pane.file.buffer.address.path == path
        driver.settle()


def test_while_a_question_stands_what_another_process_writes_is_found_and_a_damaged_index_mended(
    windows: Windows, home: Path
) -> None:
    driver = windows.open(home)
    the_list_is_walked_from_the_field_and_left_upwards(driver)
    typed(driver, "zyzzyva_count")
    assert paths(driver) == []
    assert driver.tab.search.said.text() == "No results"
    target = home / "memory/global/fresh.md"
    outside = f"from pathlib import Path; Path({str(target)!r}).write_text('the zyzzyva_count is 3')"
    subprocess.run([sys.executable, "-c", outside], check=True)
    driver.until(lambda: paths(driver) == ["/memories/global/fresh.md"])
    assert driver.tab.search.said.text() == "1 result"
    target.unlink()
    driver.until(lambda: paths(driver) == [])
    an_index_that_is_damaged_between_two_questions_is_mended_unseen(windows, driver)


def test_searching_reads_no_file_on_the_gui_thread(windows: Windows, home: Path) -> None:
    driver = windows.open(home)
    with GuiThreadFiles() as touched:
        typed(driver, "retry-loop")
        (home / "memory/global/new.md").write_text("a quokka")  # by this thread: must be seen by the hook
        typed(driver, "/re.ry/")
        typed(driver, "pinned:yes")
        press(driver, Qt.Key.Key_Return)
        typed(driver, "quokka")
        driver.until(lambda: paths(driver) == ["/memories/global/new.md"])
        driver.settle()
    assert [event for event in touched if "new.md" not in event] == []
    assert touched


def test_cjk_patterns_filters_what_cannot_be_meant_and_what_a_row_hides(windows: Windows, home: Path) -> None:
    (home / "memory/global/cjk.md").write_text("設定値を変更する\n", encoding="utf-8")
    (home / "memory/global/odd\u202egpj.md").write_text("a kakapo\n", encoding="utf-8")
    driver = windows.open(home, ACME)
    a_row_says_what_it_is_aloud_and_what_it_hides(driver)
    search = driver.tab.search
    typed(driver, "定値")
    assert paths(driver) == ["/memories/global/cjk.md"]
    typed(driver, "/設.値/")
    assert paths(driver) == ["/memories/global/cjk.md"]
    typed(driver, "scope:galaxy")
    assert "galaxy" in search.said.text()
    typed(driver, "scope:global the")
    assert paths(driver)
    assert all(path.startswith("/memories/global/") or "/memories/" not in path for path in paths(driver))


def an_index_that_is_damaged_between_two_questions_is_mended_unseen(windows: Windows, driver: Driver) -> None:
    typed(driver, "retry-loop")
    index = windows.profile.catalogue
    for aside in ("-wal", "-shm"):
        index.with_name(index.name + aside).unlink(missing_ok=True)
    index.write_bytes(b"noise" * 4000)
    typed(driver, "retry")
    driver.until(lambda: "/memories/workspace/findings/retry-loop.md" in paths(driver))


def a_row_says_what_it_is_aloud_and_what_it_hides(driver: Driver) -> None:
    typed(driver, "kakapo")
    model = driver.tab.search.list.results
    index = model.index(0, 0)
    aloud = index.data(Qt.ItemDataRole.AccessibleTextRole)
    assert "kakapo" in aloud
    assert "\u202e" not in aloud
    assert "\u202e" not in index.data(Qt.ItemDataRole.DisplayRole)
    assert "\\u202e" in index.data(Qt.ItemDataRole.ToolTipRole)
    driver.tab.search.list.grab()


@pytest.mark.parametrize("width", [40, 120, 300, 2000])
def test_marks_move_with_what_is_cut(qapp: Any, width: int) -> None:
    font = QFont()
    text, marks = shown_with("a\u202eb needle " + "x" * 60 + " needle", [(4, 10)])
    assert [text[start:end] for start, end in marks] == ["needle"]
    path = "/memories/project/" + "folder/" * 20 + "needle.md"
    shown, moved = ended_within(path, [(len(path) - 9, len(path) - 3)], font, width)
    assert QFontMetrics(font).horizontalAdvance(shown) <= width
    assert all("needle".endswith(shown[start:end]) for start, end in moved)
    line = "word " * 30 + "needle " + "word " * 30
    shown, moved = around_first(line, [(150, 156)], font, width)
    assert QFontMetrics(font).horizontalAdvance(shown) <= width
    assert all("needle".startswith(shown[start:end]) for start, end in moved)
    assert moved or width < 100


def marked(driver: Driver) -> list[str]:
    """The texts that are marked in the opened memory."""
    return [each.cursor.selectedText().casefold() for each in driver.pane.text.extraSelections()]


def test_arrow_keys_show_the_hit_with_every_match_marked_and_f3_goes_on(windows: Windows, home: Path) -> None:
    """Task 3: half-remembered words."""
    for name, text in (("one", "a dugong\n\ntwo Dugongs, a dugong-grass\n"), ("two", "dugong again\n")):
        (home / f"memory/global/{name}.md").write_text(text)
    driver = windows.open(home)
    search = driver.tab.search
    driver.do("view.search")
    typed(driver, "dugong")
    assert search.said.text() == "2 results"
    assert driver.pane.file is None
    first = search.list.current
    press(driver, Qt.Key.Key_Down)
    assert search.list.current != first
    wanted = search.list.current
    assert wanted is not None
    driver.until(lambda: driver.pane.file is not None and driver.pane.file.buffer.address.path == wanted.path)
    assert search.field.hasFocus(), "one may go on looking"
    assert set(marked(driver)) == {"dugong"}
    press(driver, Qt.Key.Key_Up)
    driver.until(lambda: driver.pane.file is not None and driver.pane.file.buffer.address.path != wanted.path)
    several = "two Dugongs" in driver.pane.text.toPlainText()
    assert len(marked(driver)) == (3 if several else 1)
    press(driver, Qt.Key.Key_Return)
    driver.until(driver.pane.text.hasFocus)
    at = []
    for _turn in range(len(marked(driver))):
        driver.qtbot.keyClick(driver.pane.text, Qt.Key.Key_F3)
        cursor = driver.pane.text.textCursor()
        assert cursor.selectedText().casefold() == "dugong"
        at.append(cursor.selectionStart())
    assert len(set(at)) == len(at)
    assert driver.pane.view.finder is not None
    assert not driver.pane.view.finder.isVisible()
    search.field.clear()
    assert marked(driver) == []


def test_a_slip_of_the_keys_is_told_and_what_was_meant_is_marked(windows: Windows, home: Path) -> None:
    (home / "memory/global/one.md").write_text("the maintenance\n")
    driver = windows.open(home)
    driver.do("view.search")
    typed(driver, "mantenance")
    assert paths(driver) == ["/memories/global/one.md"]
    assert driver.tab.search.said.text() == "1 result with similar words"
    press(driver, Qt.Key.Key_Return)
    driver.until(driver.pane.text.hasFocus)
    assert marked(driver) == ["maintenance"]


def test_the_find_bar_is_its_own_again_once_it_is_opened(windows: Windows, home: Path) -> None:
    (home / "memory/global/one.md").write_text("a dugong and a potoroo\n")
    driver = windows.open(home)
    driver.do("view.search")
    typed(driver, "dugong")
    press(driver, Qt.Key.Key_Return)
    driver.until(driver.pane.text.hasFocus)
    driver.do("edit.find")
    finder = driver.pane.view.finder
    assert finder is not None
    finder.field.setText("potoroo")
    finder.look()
    assert marked(driver) == ["potoroo"]
    finder.put_away()
    assert marked(driver) == []


def test_the_first_hit_is_selected_however_the_answer_grows(qtbot: Any, windows: Windows, home: Path) -> None:
    """B28."""
    driver = windows.open(home)
    typed(driver, "the")
    hits = driver.tab.search.answer.hits  # type: ignore[union-attr]
    assert len(hits) > 4
    listed = ResultList(Icons())
    qtbot.addWidget(listed)
    previewed: list[object] = []
    listed.previewed.connect(previewed.append)
    listed.show_hits(hits[3:], several_homes=False)
    listed.show_hits(hits, several_homes=False)
    assert listed.current == hits[0]
    assert not previewed
    listed.step(2)
    listed.show_hits(hits[1:], several_homes=False)
    assert listed.current == hits[2], "what a person selected stays"
    listed.forget_choice()
    listed.show_hits(hits, several_homes=False)
    assert listed.current == hits[0]


@pytest.mark.parametrize(
    ("question", "text", "found"),
    [
        ("retry loop", "Retry, then a loop of retries", ["Retry", "loop"]),
        ("retr", "retries, the retr", ["retr", "retr"]),
        ('"retry loop"', "retry-loop; a loop", ["retry-loop"]),
        ("max_retries scope:project", "MAX_RETRIES", ["MAX_RETRIES"]),
        ("/re.ry/", "retry", ["retry"]),
        ("other", "the", []),
        ("scope:project", "project", []),
    ],
)
def test_what_a_question_looks_for_is_marked(question: str, text: str, found: list[str]) -> None:
    pattern = pattern_of(question)
    matches = find(text, FindQuery(pattern, regex=True)).found if pattern else ()
    assert [text[match.start : match.end] for match in matches] == found


def test_where_no_memory_has_all_words_those_with_some_are_shown_marked_and_said(
    windows: Windows, home: Path
) -> None:
    for name, text in (
        ("engine", "the bandicoot engine is restarted by systemd\n"),
        ("tool", "a numbat tool\n"),
        ("both", "the bandicoot and the numbat\n"),
    ):
        (home / f"memory/global/{name}.md").write_text(text)
    driver = windows.open(home)
    search = driver.tab.search
    driver.do("view.search")
    typed(driver, "bandicoot numbat")
    assert paths(driver)[0] == "/memories/global/both.md"
    assert search.said.text() == "1 result · 2 more with some of the words"
    typed(driver, "restarting")
    assert search.said.text() == "1 result with similar words"
    typed(driver, "restart bandicoot kangaroo-shed")
    assert paths(driver)[0] == "/memories/global/engine.md"
    assert search.said.text() == "2 results with some of the words"
    press(driver, Qt.Key.Key_Return)
    driver.until(lambda: driver.pane.file is not None)
    assert set(marked(driver)) == {"bandicoot", "restarted"}, "what was found, not what was asked"
    typed(driver, "bandicooot")
    assert search.said.text() == "2 results with similar words"


def test_memories_of_the_place_that_is_shown_come_first(windows: Windows, home: Path) -> None:
    for place in (home / f"sessions/{BACKFILL}/memory", home / "memory/project/pixel-garden-151cea1d7209"):
        place.mkdir(parents=True, exist_ok=True)
        (place / "dugong.md").write_text("a dugong\n")
    driver = windows.open(home)
    shown = driver.tab.search._where()
    assert shown is not None
    driver.do("view.search")
    typed(driver, "dugong")
    before = [(hit.workspace_id, hit.project_path) for hit in driver.tab.search.list.results.hits]
    assert len(before) == 2
    press(driver, Qt.Key.Key_Down)
    driver.until(lambda: driver.pane.file is not None)
    driver.settle()
    after = [(hit.workspace_id, hit.project_path) for hit in driver.tab.search.list.results.hits]
    assert after == before, "looking at a hit of another place does not shuffle the list"


def test_hits_name_their_workspace_and_filters_of_the_trees_wait_for_the_trees(
    windows: Windows, home: Path
) -> None:
    place = home / f"sessions/{BACKFILL}/memory"
    place.mkdir(parents=True, exist_ok=True)
    (place / "dugong.md").write_text("a dugong\n")
    driver = windows.open(home)
    labels = {
        workspace.id: workspace.label
        for project in driver.session.info.contents.projects
        for workspace in project.workspaces
    }
    search = driver.tab.search
    typed(driver, "dugong")
    (hit,) = search.list.results.hits
    assert labels[BACKFILL] != hit.workspace_id == BACKFILL, "else this shows nothing"
    assert labels[BACKFILL] in search.list.results.place_of(hit)
    assert not driver.tab.chips.isEnabled()
    search.field.clear()
    assert driver.tab.chips.isEnabled()
