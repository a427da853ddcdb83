"""The Changes tab: who changed what, taking any of it back, versions of a memory, and deleted memories."""

from __future__ import annotations

import codecs
import shutil
from collections import Counter
from functools import wraps
from pathlib import Path
from typing import Any

import pytest
from PySide6.QtCore import Qt
from test_ui_window import GuiThreadFiles
from ui_reviews import run as preview
from ui_windows import ACME, Driver, Windows

from helpers.engines import ScriptedEngine
from helpers.samples import snapshot
from reverie.agents.scopes import Scope
from reverie.errors import Unavailable, UserError
from reverie.jobs.consolidate.review import merged_lines
from reverie.jobs.consolidate.run import DreamRequest
from reverie.memory.commands import MemoryCommands
from reverie.memory.diff import word_spans
from reverie.memory.history import reader as history_log
from reverie.memory.recording import Snapshots
from reverie.runs.record import RunRecord, RunResult
from reverie.services.change_log import ChangeLogService, LoggedChange, LoggedFile
from reverie.ui.changes import control
from reverie.ui.changes.diff import merge_words
from reverie.ui.changes.review import Choices
from reverie.ui.changes.rows import (
    ChangeList,
    ChangeRow,
    below,
    change_rows,
    proposals_of,
    takes,
    title,
    who,
)
from reverie.ui.memory.footer import can_revert, conflict_words
from reverie.ui.run_labels import left_pairs
from reverie.ui.widgets.text_views import DiffView

TESTING = "/memories/global/testing.md"


# Words and rows: pure functions.


def run(**other: Any) -> RunRecord:
    ops = ({"command": "delete", "path": "/memories/global/Deploy.md", "applied": True},)
    return preview(**({"dry_run": False, "ops": ops} | other))


def logged(id_: str, at_ms: int, **other: Any) -> LoggedChange:
    values: dict[str, Any] = {
        "id": id_, "parent": "p", "at_ms": at_ms, "who": "outside", "actor": "outside", "run_id": None,
        "how": "", "notes": "", "count": 1,
        "files": (LoggedFile(TESTING, history_log.HistoryPlace("global", "testing.md"), "edit"),),
    } | other  # fmt: skip
    return LoggedChange(**values)


@pytest.mark.parametrize(
    ("other", "possible"),
    [
        ({}, True),
        ({"outcome": "interrupted"}, True),
        ({"reverted": True}, False),
        ({"dry_run": True}, False),
        ({"outcome": "held"}, False),
        ({"outcome": "cancelled"}, False),
        ({"outcome": "unchanged"}, False),
    ],
)
def test_only_what_stands_on_disk_can_be_undone(other: dict[str, Any], possible: bool) -> None:
    assert can_revert(run(**other)) == possible


@pytest.mark.parametrize(
    ("show", "shown"),
    [
        ("", ["held", "dream", "undone", "undo", "commit"]),
        ("proposal", ["held"]),
        ("dream", ["held", "dream", "undone"]),
        ("failed", ["broken"]),
        ("undone", ["undone"]),
        ("revert", ["undo"]),
        ("harvest", []),
        ("outside", ["commit"]),
        ("you", []),
    ],
)
def test_a_filter_shows_the_rows_it_names(show: str, shown: list[str]) -> None:
    runs = [
        run(id="dream", ended_at=9),
        run(id="plan", dry_run=True, ended_at=8),
        run(id="held", outcome="held", ended_at=7),
        run(id="broken", outcome="failed", ended_at=6, ops=()),
        run(id="undone", reverted=True, ended_at=5),
        run(id="undo", kind="revert", ended_at=4),
        run(id="nothing", outcome="unchanged", ops=(), ended_at=3),
    ]
    rows = change_rows(runs, [logged("commit", 1)])
    found = [row.key for row in rows if takes(row, show, "")]
    assert [key for key in found if key != "plan"] == shown
    assert ("plan" in found) == (show in ("", "dream")), "overtaken, so no proposal any more"
    assert [row.key for row in rows if takes(row, "", "", "broken")].count("broken") == 1, "asked for"


def test_a_run_and_its_commit_are_one_row_and_a_first_import_was_seen() -> None:
    rows = change_rows(
        [run(id="r1", ended_at=9)],
        [logged("c2", 9, run_id="r1", who="dream"), logged("c1", 1, is_first=True)],
    )
    assert [row.key for row in rows] == ["r1", "c1"]
    assert rows[0].change is not None
    assert [who(row) for row in rows] == ["Consolidation", "First seen"], "B36"
    assert who(ChangeRow("c", 1, change=logged("c", 1))) == "Another program"


@pytest.mark.parametrize(
    ("moved", "count", "said"),
    [
        ([("/memories/global/a.md", "/memories/global/b.md")], 2, "Renamed a.md to b.md"),
        ([("/memories/global/a.md", "/memories/project/a.md")], 2, "Moved a.md to Project"),
        ([("/memories/global/a.md", "/memories/project/x/a.md")], 2, "Moved a.md to Project › x"),
        ([("/memories/global/a.md", "/memories/project/b.md")], 2, "Moved a.md to Project as b.md"),
        ([("/memories/global/a.md", "/memories/project/a.md")] * 3, 6, "Moved 3 notes to Project"),
        ([("/a/1", "/memories/project/1"), ("/a/2", "/memories/global/2")], 4, "Moved 2 notes"),
        ([("/memories/global/a.md", "/memories/global/b.md")], 3, "Changed 2 notes"),
    ],
)
def test_a_file_that_moved_is_one_file(moved: list[tuple[str, str]], count: int, said: str) -> None:
    paths = [path for pair in moved for path in pair]
    places = [history_log.HistoryPlace("global", path.rpartition("/")[2]) for path in paths]
    files = tuple(LoggedFile(path, place, "create") for path, place in zip(paths, places, strict=True))
    (row,) = change_rows((), [logged("c1", 1, files=files, count=count, moved=tuple(moved))])
    assert title(row) == said


@pytest.mark.parametrize(
    ("verbs", "count", "said"),
    [
        (["create"], 1, "Created 0.md"),
        (["edit"], 1, "Edited 0.md"),
        (["delete"], 1, "Deleted 0.md"),
        (["delete"] * 3, 3, "Deleted 3 notes"),
        (["create", "create"], 2, "Created 2 notes"),
        (["edit", "delete"], 2, "Changed 2 notes"),
        (["edit"] * 2, 1_200, "Changed 1,200 notes"),
    ],
)
def test_a_change_is_named_by_what_was_done_and_below_by_whom(verbs: Any, count: int, said: str) -> None:
    places = [history_log.HistoryPlace("global", f"{number}.md") for number in range(len(verbs))]
    files = tuple(
        LoggedFile(f"/memories/global/{place.rel}", place, verb)
        for place, verb in zip(places, verbs, strict=True)
    )
    (row,) = change_rows((), [logged("c1", 1, files=files, count=count, owner="acme", who="you")])
    assert (title(row), below(row)) == (said, "You · acme")
    assert takes(row, "", said.casefold())


def test_a_preview_is_a_proposal_until_it_is_applied_discarded_or_overtaken() -> None:
    plan = run(id="plan", dry_run=True)
    assert proposals_of([plan]) == (plan,)
    assert proposals_of([run(id="dream"), plan]) == ()
    assert proposals_of([run(id="dream", workspace_id="other"), plan]) == (plan,)
    assert proposals_of([run(id="plan", dry_run=True, details={"discarded": True})]) == ()
    applied = run(id="plan", dry_run=True, details={"appliedBy": "r2"})
    assert proposals_of([run(id="r2", workspace_id="other"), applied]) == ()
    undone = run(id="r2", reverted=True, workspace_id="other")
    assert proposals_of([undone, applied]) == (applied,)
    held = run(id="held", outcome="held")
    assert proposals_of([run(id="dream"), held]) == (held,)


def test_a_search_finds_engines_summaries_and_paths_whatever_their_case() -> None:
    row = ChangeRow("r1", 1, run(engine="ollama:Qwen"))
    assert all(takes(row, "", text) for text in ("qwen", "deploy.md", ""))
    assert not takes(row, "", "anthropic")


def test_narrowing_the_list_keeps_the_selection_and_a_row_asked_for_is_always_shown(qtbot: Any) -> None:
    made = ChangeList(lambda: 100_000)
    qtbot.addWidget(made)
    picked: list[Any] = []
    made.picked.connect(picked.append)
    rows = [ChangeRow(id_, 1, run(id=id_, outcome=outcome)) for id_, outcome in
            (("a", "completed"), ("b", "failed"), ("c", "completed"))]  # fmt: skip
    made.show_rows(rows, more=False)
    made.select("b")
    assert picked[-1].key == "b"
    made.who.setCurrentIndex(made.who.findData("failed"))
    assert ([row.key for row in made.shown_rows], made.current.key if made.current else "") == (["b"], "b")
    made.who.setCurrentIndex(made.who.findData("harvest"))
    assert picked[-1] is None
    assert not made.none.isHidden()
    made.select("c")
    assert picked[-1].key == "c"
    assert [row.key for row in made.shown_rows] == ["a", "c"]


def test_whoever_chooses_a_row_keeps_it_also_while_another_is_looked_for(qtbot: Any) -> None:
    made = ChangeList(lambda: 100_000)
    qtbot.addWidget(made)
    rows = [ChangeRow(id_, 1, change=logged(id_, 1)) for id_ in "ab"]
    made.show_rows(rows, more=True)
    made.select("c")
    made.list.setCurrentRow(2)
    assert made.current == rows[1]
    made.show_rows([*rows, ChangeRow("c", 0, change=logged("c", 0))], more=False)
    assert made.current == rows[1]


def test_a_page_is_asked_for_while_few_rows_are_shown(qtbot: Any) -> None:
    made = ChangeList(lambda: 100_000)
    qtbot.addWidget(made)
    asked: list[None] = []
    made.more_wanted.connect(lambda: asked.append(None))
    made.show_rows([ChangeRow("a", 1, change=logged("a", 1))], more=True)
    assert len(asked) == 1
    made.show_rows([ChangeRow("a", 1, change=logged("a", 1))], more=False)
    assert len(asked) == 1


def test_a_diff_shows_control_characters_escaped(qtbot: Any) -> None:
    view = DiffView()
    qtbot.addWidget(view)
    view.show_diff("+a\u202eb\x1b[0m\n-c\td")
    assert view.toPlainText() == "+a\\u202eb\\x1b[0m\n-c\td"
    assert view.isReadOnly()


@pytest.mark.parametrize(
    ("paths", "said"),
    [
        (("a.md",), "This file was left unchanged, because it was edited after the run: a.md"),
        (
            ("a.md", "b.md"),
            "These files were left unchanged, because they were edited after the run: a.md, b.md",
        ),
    ],
)
def test_what_an_undo_left_is_said_of_one_and_of_several(paths: tuple[str, ...], said: str) -> None:
    assert conflict_words(
        RunResult("2", "completed", "Nothing was put back.", reverts="1", conflicts=paths)
    ).endswith(said)


def test_where_each_line_of_a_merged_memory_went() -> None:
    kept = "# States\n- Parked, then reserved.\n- Silence ends it.\n"
    gone = "---\ndescription: Status\n---\n# Status\n* parked, then reserved\n- A lock reports.\n"
    gone += "- The bike waits here now.\n- Lost.\n"
    result = kept + "- A lock reports.\n- The bike waits there now.\n"
    lines = [line for line in merged_lines(kept, gone, result) if line.fate]
    assert [line.fate for line in lines] == ["same", "moved", "reworded", "gone"]
    assert lines[2].match == "- The bike waits there now."
    assert merge_words(Counter(line.fate for line in lines)) == (
        "The kept memory already had 1 of 4 lines. 1 line was moved to the kept memory. 1 line was reworded. "
        "1 line was removed."
    )
    assert merge_words({"same": 1}) == "The kept memory already had this line."


def test_words_that_differ_are_found_and_lines_without_anything_in_common_are_left() -> None:
    one, other = word_spans("No sleeps in tests.", "No naps in tests.")
    assert [("No sleeps in tests."[start : start + length]) for start, length in one] == ["sleeps"]
    assert [("No naps in tests."[start : start + length]) for start, length in other] == ["naps"]
    assert word_spans("abc def", "ghi jkl mno", alike=0.4) == ((), ())


# In a window.


def opened(driver: Driver, path: str) -> Any:
    """Ctrl+H on a row."""
    driver.window.show_memory()
    assert driver.tree.select_path(path)
    driver.do("memory.history")
    driver.reviewed()
    return driver.changes.tab


def outside(driver: Driver, path: Path, text: str) -> None:
    """Another program writes, and the history has it."""
    history = driver.served.parts.snapshots.history
    before = history.head()
    path.write_text(text)
    driver.until(lambda: history.head() != before)
    driver.settle()


def names(tab: Any) -> list[str]:
    return [row.who for row in tab.changes.shown_rows]


def has(driver: Driver, count: int) -> None:
    tab = driver.changes.tab
    driver.until(lambda: len(tab.changes.shown_rows) == count and driver.changes.is_settled)


def pick(driver: Driver, row: int) -> Any:
    """The files of this row, once they are read."""
    tab = driver.changes.tab
    tab.changes.select(tab.changes.shown_rows[row].key)
    return driver.reviewed()


def press(view: Any, hunk: int, key: str) -> None:
    (path,) = {found.path for found in view.hunks}
    view._bars[path, hunk].findChild(object, key).click()


def test_the_history_of_a_memory_is_followed_compared_and_brought_back_also_when_it_is_gone(
    windows: Windows, home: Path
) -> None:
    driver = windows.open(home)
    before = (home / "memory/global/testing.md").read_bytes()
    codecs.lookup("utf-16-le")  # Python loads it from a file when it is first needed, wherever that is
    with GuiThreadFiles() as touched:
        tab = opened(driver, TESTING)
        versions = tab.versions
        assert names(tab) == ["outside"]
        assert tab.files.title.text().startswith("First seen")
        driver.window.show_memory()
        driver.open(TESTING)
        driver.type("typed by hand\n")
        driver.do("file.save")
        driver.settle()
        tab = opened(driver, TESTING)
        has(driver, 2)
        assert names(tab) == ["you", "outside"]
        pick(driver, 0)
        driver.until(lambda: "+ typed by hand" in tab.files.detail.diff.toPlainText())
        assert "@@" not in tab.files.detail.diff.toPlainText(), "no git headers"
        versions.show_view("lines")
        driver.until(lambda: driver.changes.is_settled and versions.lines.current is not None)
        assert versions.lines.current.who == "you"
        assert versions.lines.text.toPlainText().startswith("You, now")
        pick(driver, 1)
        assert versions.view.currentData() == "change", "another change set begins with what changed"
        versions.show_view("now")
        driver.until(lambda: "+typed by hand" in versions.since.toPlainText())
        assert "@@" not in versions.since.toPlainText()
        versions.show_view("text")
        driver.until(lambda: versions.text.toPlainText() == before.decode().rstrip("\n"))
        versions.restore.click()
        has(driver, 3)
    assert touched == []
    assert driver.changes.dialog is None, "one file is restored without a question"
    assert (home / "memory/global/testing.md").read_bytes() == before
    driver.until(lambda: "undo" in tab.files.message.keys)
    assert tab.files.message.text == "Restored to this version."
    tab.files.message.button("undo").click()
    has(driver, 4)
    assert b"typed by hand" in (home / "memory/global/testing.md").read_bytes()
    (home / "memory/global/testing.md").unlink()
    has(driver, 5)
    pick(driver, 0)
    versions.show_view("text")
    driver.until(lambda: driver.changes.is_settled and "typed by hand" in versions.text.toPlainText())
    driver.qtbot.keyClick(versions.restore, Qt.Key.Key_Space)
    has(driver, 6)
    assert b"typed by hand" in (home / "memory/global/testing.md").read_bytes()
    driver.until(lambda: "testing.md" in driver.paths(Scope.GLOBAL))


def test_what_happened_long_ago_is_looked_for_until_it_is_found(
    windows: Windows, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    driver = windows.open(home)
    for text in ("one", "two", "three"):
        outside(driver, home / "memory/global/testing.md", text)
    monkeypatch.setattr(history_log, "COMMITS_A_PAGE", 1)
    monkeypatch.setattr(control, "PAGE", 1)
    driver.changes.show_history("/memories/global/preferences.md")
    driver.window.lazy_tabs.show_changes()
    has(driver, 1)
    tab = driver.changes.tab
    tab.changes.who.setCurrentIndex(tab.changes.who.findData("writer"))
    driver.until(lambda: driver.changes.is_settled and tab.changes.none.text() == "No matching changes.")
    driver.qtbot.mouseClick(tab.changes.target, Qt.MouseButton.LeftButton)
    driver.until(lambda: driver.changes.is_settled and len(tab.changes.shown_rows) >= 4)
    assert tab.changes.target.isHidden()


def test_an_older_page_that_could_not_be_read_is_asked_for_again(
    windows: Windows, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    driver = windows.open(home)
    for text in ("one", "two"):
        outside(driver, home / "memory/global/testing.md", text)
    read, failed = ChangeLogService.page, []

    @wraps(read)  # a call goes to the engine by its signature
    def page(self: Any, start: Any = None, *rest: Any, **named: Any) -> Any:
        if start is not None and not failed:
            failed.append(start)
            raise UserError("The disk is full.")
        return read(self, start, *rest, **named)

    monkeypatch.setattr(ChangeLogService, "page", page)
    monkeypatch.setattr(control, "PAGE", 1)
    driver.window.lazy_tabs.show_changes()
    tab = driver.changes.tab
    driver.until(lambda: bool(failed) and "The disk is full." in tab.files.message.text)
    assert len(tab.changes.shown_rows) == 1
    tab.changes.update_ages()
    driver.until(lambda: len(tab.changes.shown_rows) >= 3)


def test_folders_runs_and_filters_and_the_way_from_a_line_to_its_run(windows: Windows, home: Path) -> None:
    driver = windows.open(home)
    driver.consolidate()
    driver.settle()
    looked = snapshot(home / "memory")
    tab = opened(driver, "/memories/project")
    driver.until(lambda: "dream" in names(tab))
    files = pick(driver, names(tab).index("dream"))
    assert files.row.run is not None
    assert files.restore_folder_button.isVisible()
    tab.changes.who.setCurrentIndex(tab.changes.who.findData("agent"))
    assert names(tab) == []
    assert tab.changes.none.isVisible()
    tab.changes.who.setCurrentIndex(0)
    tab = opened(driver, "/memories/global/commit-style.md")
    pick(driver, names(tab).index("dream"))
    assert files.tree.part.file.path == "/memories/global/commit-style.md", "the memory is selected"
    edited = [part.file.path for part, _ in files.tree.parts() if part.file and part.file.verb == "edit"]
    other = next(path for path in edited if "commit-style" not in path)
    files.tree.select_part(other, None)
    tab.versions.show_view("text")
    driver.until(lambda: driver.changes.is_settled and tab.versions.text.toPlainText() != "")
    assert files.message.text == ""
    files.tree.select_part("/memories/global/commit-style.md", None)
    tab.versions.show_view("lines")
    lines = tab.versions.lines
    driver.until(lambda: driver.changes.is_settled and lines.current is not None)
    lines.text.setFocus()
    while lines.current.who != "dream":
        driver.qtbot.keyClick(lines.text, Qt.Key.Key_Down)
    driver.qtbot.keyClick(lines.text, Qt.Key.Key_Return)
    driver.reviewed()
    driver.until(lambda: driver.changes.is_settled and files.row.run is not None)
    assert tab.changes.target.isHidden(), "all changes are listed"
    assert snapshot(home / "memory") == looked, "looking changes nothing"


def test_a_folder_is_brought_back_after_a_look_at_what_would_change(windows: Windows, home: Path) -> None:
    driver = windows.open(home)
    kept = (home / "memory/global/testing.md").read_bytes()
    for name in ("testing", "preferences"):
        outside(driver, home / f"memory/global/{name}.md", "Rewritten.\n")
    outside(driver, home / "memory/global/later.md", "Later.\n")
    tab = opened(driver, "/memories/global")
    files = pick(driver, len(tab.changes.shown_rows) - 1)
    files.restore_folder_button.click()
    driver.until(lambda: driver.changes.dialog is not None)
    dialog = driver.changes.dialog
    assert dialog.list.count() == 2
    assert dialog.newer.isVisible()
    dialog.agree.click()
    driver.until(lambda: (home / "memory/global/testing.md").read_bytes() == kept)
    assert (home / "memory/global/later.md").exists()
    driver.settle()


def test_one_hunk_of_another_program_is_taken_back_and_undone(windows: Windows, home: Path) -> None:
    path = home / "memory/global/testing.md"
    driver = windows.open(home)
    changed = path.read_text().replace("sleeps", "naps") + "\nOne more line.\n"
    outside(driver, path, changed)
    driver.do("view.changes")
    driver.until(lambda: driver.changes.is_settled)
    tab = driver.changes.tab
    files = pick(driver, 0)
    assert files.title.text().startswith("Another program")
    driver.qtbot.keyClick(files.tree, Qt.Key.Key_N)
    press(files.detail.diff, 0, "take-back")
    driver.until(lambda: path.read_text() == changed.replace("naps", "sleeps"))
    driver.settle()
    driver.until(lambda: "undo" in files.message.keys)
    driver.until(lambda: len(tab.changes.shown_rows) == 3 and driver.changes.is_settled)
    assert "undone" in files.detail.diff.toPlainText()
    assert "One more line." in path.read_text()
    files.message.button("undo").click()
    driver.until(lambda: path.read_text() == changed)
    driver.settle()


def test_a_proposal_is_discarded_and_can_be_had_again(windows: Windows, home: Path) -> None:
    driver = windows.open(home)
    driver.do("dream.preview")
    driver.until(lambda: not driver.tab.dreams.jobs.running)
    driver.settle()
    files = driver.review()
    rows = driver.changes.tab.changes
    assert [row.is_proposal for row in rows.shown_rows] == [True, False]
    assert files.title.text().startswith("Preview · ")
    files.discard_button.click()
    driver.until(lambda: not any(row.is_proposal for row in rows.shown_rows))
    driver.until(lambda: driver.changes.is_settled and "Keep" in files.discard_button.accessibleName())
    assert files.apply_button.isVisible(), "nothing is lost by it"
    files.discard_button.click()
    driver.until(lambda: any(row.is_proposal for row in rows.shown_rows))


def test_a_merge_is_shown_as_what_stays_what_goes_and_the_result(windows: Windows, home: Path) -> None:
    driver = windows.open(home)
    driver.do("dream.preview")
    driver.until(lambda: not driver.tab.dreams.jobs.running)
    files = driver.review()
    merge = next(part for part, _item in files.tree.parts() if part.group and part.group.kind == "merge")
    assert files.tree.select_part(merge.group.files[0].path, None)
    view = files.detail.merge
    assert view.isVisible()
    assert "The kept memory already had " in view.summary.text()
    assert view.kept_name.text().endswith("(kept)")
    assert view.gone_name.text().endswith("(removed)")
    assert files.detail.result.isVisible()
    alone = next(part for part, _item in files.tree.parts() if part.group and len(part.group.files) == 1)
    files.tree.select_part(alone.file.path, None)
    assert not view.isVisible()


def test_a_run_that_left_pairs_to_a_person_leads_to_them(windows: Windows, home: Path) -> None:
    body = "# How we write\n\n- {}.\n- Diffs stay small and tested.\n- Ask before adding a dependency.\n"
    answers = ("Answers come first, details after", "Begin with the answer; details come after it")
    for name, answer in zip(("style", "style-updated"), answers, strict=True):
        (home / f"memory/global/{name}.md").write_text(body.format(answer))
    driver = windows.open(home)
    assert driver.consolidate() == "completed"
    driver.settle()
    files = driver.review()
    assert "worth a look" in files.facts.text()
    files.worth_button.click()
    worth = driver.tab.worth
    driver.until(lambda: worth.is_page_shown and worth.is_settled and bool(worth.page.list.values))
    assert driver.window.tabs.currentWidget() is driver.tab
    found = [each for matter in worth.page.list.values for each in matter]
    assert any("style-updated.md" in path for each in found for path in each.paths)


def test_a_run_that_left_nothing_to_a_person_leads_nowhere() -> None:
    said = "Merged 1 near-duplicate; wrote or repaired 2 descriptions. {}worth a look."
    assert left_pairs(said.format("1 pair of memories is "))
    assert left_pairs(said.format("12 pairs of memories are "))
    assert not left_pairs(said.format("The agent found something "))
    assert not left_pairs("")


def test_a_run_whose_contents_are_gone_is_shown_and_taken_back_by_the_history(
    windows: Windows, home: Path
) -> None:
    kept = {path: path.read_bytes() for path in (home / "memory").rglob("*") if path.is_file()}
    driver = windows.open(home)
    assert driver.consolidate() == "completed"
    driver.settle()
    parts = driver.served.parts
    shutil.rmtree(parts.profile.images(parts.home_id))
    files = driver.review()
    assert files.row.run is not None
    assert files.choices.view.run is None
    files.undo.click()
    driver.until(lambda: {path: path.read_bytes() for path in kept if path.exists()} == kept)
    driver.settle()


def test_a_companion_has_a_history_and_is_restored_from_it(windows: Windows, home: Path) -> None:
    driver = windows.open(home)
    model = driver.tab.model
    for scope in range(model.rowCount()):
        parent = model.index(scope)
        for row in range(model.rowCount(parent)):
            index = model.index(row, 0, parent)
            if "AGENTS.md" in str(index.data()):
                driver.tree.setCurrentIndex(index)
    driver.until(lambda: driver.pane.file is not None)
    driver.type("typed by hand\n")
    driver.do("file.save")
    driver.settle()
    driver.tree.setFocus()
    driver.do("memory.history")
    driver.reviewed()
    tab = driver.changes.tab
    has(driver, 2)
    assert names(tab) == ["you", "outside"]
    files = pick(driver, 0)
    assert "+ typed by hand" in files.detail.diff.toPlainText()
    assert files.tree.part.file.path == str(home / "AGENTS.md")
    files.undo.click()
    driver.until(lambda: "typed by hand" not in (home / "AGENTS.md").read_text())
    driver.settle()
    has(driver, 3)
    pick(driver, 1)
    tab.versions.restore.click()
    driver.until(lambda: "typed by hand" in (home / "AGENTS.md").read_text())
    driver.settle()
    driver.tab.edits.undo()
    driver.until(lambda: "typed by hand" not in (home / "AGENTS.md").read_text())
    driver.settle()


# Deleted memories.


def deleted(driver: Driver) -> Any:
    driver.do("memory.trash")
    driver.until(lambda: driver.changes.is_settled)
    return driver.changes.tab


def test_deleted_memories_are_found_and_come_back(
    windows: Windows, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    driver = windows.open(home)
    kept = (home / "memory/global/testing.md").read_bytes()
    tab = deleted(driver)
    assert tab.changes.none.isVisible()
    assert not tab.deleted.restore_button.isEnabled()

    driver.window.show_memory()
    driver.tree.select_path(TESTING)
    driver.do("memory.delete")
    driver.settle()
    deleted(driver)
    has(driver, 1)
    (home / "memory/global/commit-style.md").unlink()
    has(driver, 2)
    assert not tab.changes.none.isVisible()
    said = [item.data(Qt.ItemDataRole.AccessibleTextRole) for item, _row in tab.changes._items()]
    assert any("testing.md" in line and "You" in line for line in said)
    assert any("commit-style.md" in line and "Another program" in line for line in said)

    tab.changes.text.setText("testing")
    has(driver, 1)
    assert "No sleeps in tests" in tab.deleted.text.toPlainText()
    tab.deleted.restore_button.click()
    driver.until(lambda: (home / "memory/global/testing.md").exists())
    driver.until(lambda: "testing.md" in driver.paths(Scope.GLOBAL))
    assert (home / "memory/global/testing.md").read_bytes() == kept
    tab.changes.text.clear()
    has(driver, 1)

    monkeypatch.setattr(driver.changes, "ask_name", lambda _entry: "/memories/global/style/again.md")
    tab.deleted.restore_as_button.click()
    driver.until(lambda: (home / "memory/global/style/again.md").exists())
    driver.until(lambda: tab.deleted.message.keys == ("undo",))
    tab.deleted.message.button("undo").click()
    driver.until(lambda: not (home / "memory/global/style").exists())
    driver.settle()


def test_what_a_restore_warns_of_is_said_beside_its_undo(
    windows: Windows, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    driver = windows.open(home)
    driver.tree.select_path(TESTING)
    driver.do("memory.delete")
    driver.until(lambda: not (home / "memory/global/testing.md").exists())
    tab = deleted(driver)
    has(driver, 1)
    record = Snapshots.record

    def fails(self: Snapshots, *, subject: str = "", **other: Any) -> Any:
        if subject == "Restored from the trash":
            raise Unavailable("The history was not written.", cause="The disk is full.")
        return record(self, subject=subject, **other)

    monkeypatch.setattr(Snapshots, "record", fails)
    tab.deleted.restore_button.click()
    driver.until(lambda: tab.deleted.message.keys == ("undo",))
    said = "1 memory was restored. The history was not written. The disk is full."
    assert tab.deleted.message.text == said
    driver.settle()


def test_where_it_is_narrow_one_column_is_seen_at_a_time(windows: Windows, home: Path) -> None:
    driver = windows.open(home)
    outside(driver, home / "memory/global/testing.md", "Rewritten.\n")
    driver.do("view.changes")
    driver.until(lambda: driver.changes.is_settled)
    tab = driver.changes.tab
    assert all(part.isVisible() for part in (tab.changes, tab.files, tab.versions))
    assert not tab.back.isVisible()
    driver.window.resize(360, 640)
    driver.until(lambda: tab.is_narrow)
    assert [part.isVisible() for part in (tab.changes, tab.files, tab.versions)] == [True, False, False]
    item, _row = next(iter(tab.changes._items()))
    tab.changes.list.itemClicked.emit(item)
    assert [part.isVisible() for part in (tab.changes, tab.files, tab.versions)] == [False, True, False]
    driver.reviewed()
    tab.files.tree.itemActivated.emit(tab.files.tree.topLevelItem(0), 0)
    assert [part.isVisible() for part in (tab.changes, tab.files, tab.versions)] == [False, False, True]
    for widget in (tab.versions.restore, tab.versions.view, tab.files.detail.diff):
        right = widget.mapTo(tab, widget.rect().topRight()).x()
        assert right <= tab.width()
    tab.back.click()
    tab.back.click()
    assert tab.at == 0
    assert not tab.back.isVisible()


# The report card


def test_a_run_shows_its_report_card_and_each_hunk_what_it_is_about(windows: Windows, home: Path) -> None:
    driver = windows.open(home)
    engine = ScriptedEngine(
        {"command": "str_replace", "path": TESTING, "old_str": "No sleeps", "new_str": "Sleeps"},
        {
            "command": "str_replace",
            "path": TESTING,
            "old_str": "4. Name tests after the behaviour, not the function.\n",
            "new_str": "4. The mail server of the accounting office restarts at noon.\n",
        },
    )
    served = driver.served
    result = served.parts.dreams.run(DreamRequest(served.parts.home.context(workspace_id=ACME)), engine)
    assert result.outcome == "held"
    driver.settle()
    driver.window.lazy_tabs.show_changes()
    driver.changes.show_change(result.run_id)
    pane = driver.reviewed()
    driver.until(lambda: pane.card.text() != "")
    assert pane.card.text().startswith("Kept 5 of 6 facts · 1 changed value · 1 fact without a source")
    text = pane.detail.diff.toPlainText()
    assert "The meaning was reversed (was: No sleeps in tests;" in text
    assert "Lost: Name tests after the behaviour, not the function." in text
    assert "No source: The mail server of the accounting office restarts at noon." in text
    # Each stands at its own hunk.
    assert text.index("The meaning was reversed") < text.index("+ 2. Sleeps") < text.index("Lost: ")


def test_a_change_of_the_agent_that_takes_facts_out_says_so_and_is_undone(
    windows: Windows, home: Path
) -> None:
    text = home / TESTING.replace("/memories", "memory", 1).lstrip("/")
    before = text.read_text()
    driver = windows.open(home)
    served = driver.served
    store = served.parts.store(served.parts.home.context(workspace_id=ACME), actor="agent")
    lines = before.splitlines(keepends=True)
    MemoryCommands(store, count_reads=False).execute(
        {"command": "str_replace", "path": TESTING, "old_str": "".join(lines[-3:]), "new_str": ""}
    )
    driver.until(lambda: any(entry.event == "agent.consolidation" for entry in served.parts.activity.read()))
    (told,) = [entry for entry in served.parts.activity.read() if entry.event == "agent.consolidation"]
    assert "kept 2 of 6 facts" in told.text
    driver.settle()
    driver.window.lazy_tabs.show_changes()
    driver.changes.show_change(served.change_log.page().changes[0].id)
    pane = driver.reviewed()
    driver.until(lambda: pane.message.text != "")
    assert pane.message.text.startswith("The agent removed facts from its memories.")
    assert pane.choices is not None
    pane.message.say_error(UserError("The disk is full."))
    pane.show_review(Choices(pane.choices.view))
    assert pane.message.text.startswith("The disk is full."), "read again, the review leaves a newer message"
    pane.undo.click()
    driver.until(lambda: text.read_text() == before)


def test_what_a_person_typed_has_no_report_card(windows: Windows, home: Path) -> None:
    driver = windows.open(home)
    served = driver.served
    path = home / TESTING.replace("/memories", "memory", 1).lstrip("/")
    path.write_text(path.read_text() + "\nA line of another program.\n")
    driver.until(lambda: len(served.change_log.page().changes) > 1)
    driver.settle()
    driver.window.lazy_tabs.show_changes()
    driver.changes.show_change(served.change_log.page().changes[0].id)
    pane = driver.reviewed()
    assert "A line of another program." in pane.detail.diff.toPlainText()
    assert pane.card.text() == ""
    assert "No source" not in pane.detail.diff.toPlainText()
