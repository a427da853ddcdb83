"""What is not true any more is marked where the memory is, with evidence and a fix, after each commit."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QToolButton
from ui_windows import Driver, Windows

from helpers.claude_home import ClaudeHomeMaker, topic
from helpers.git_project import DAY, START, GitProject
from reverie.claims.checking import CheckedClaim, ClaimState, Evidence
from reverie.claims.finding import ClaimKind
from reverie.ui.memory.stale import claim_words, count_words, evidence_words

BODY = "value = 1\n" * 12
MEMORY = "/memories/project/entry.md"
TEXT = "Start at `src/a.py`.\n\nThen 🦔 `src/keep.py`, see [[entry]].\n"


class World:
    """A home with one memory about a project, in a window."""

    def __init__(self, windows: Windows, tmp_path: Path) -> None:
        self.project = GitProject(tmp_path / "project")
        self.project.commit({"src/a.py": BODY, "src/keep.py": "x = 1\n" * 9})
        home = ClaudeHomeMaker(tmp_path)
        home.session(self.project.path, 1)
        place = f"projects/{home.directory(self.project.path).name}/memory"
        self.memory = home.file(f"{place}/entry.md", topic("entry", body=TEXT))
        os.utime(self.memory, (START + DAY * 1.5, START + DAY * 1.5))
        self.driver: Driver = windows.begin(home.root, "", project=str(self.project.path))
        self.driver.settle()
        self.driver.until(lambda: MEMORY in self.driver.tab.model.memory_tree.files)

    @property
    def tokens(self) -> dict[str, str]:
        return {claim.token: claim.to for claim in self.driver.tab.stale.claims}

    def chip(self) -> str:
        chip = self.driver.tab.chips.chips["stale"]
        return "" if chip.isHidden() else chip.text()


@pytest.fixture
def world(windows: Windows, tmp_path: Path) -> World:
    return World(windows, tmp_path)


def test_a_commit_marks_the_memory_at_once_and_the_mark_goes_with_the_fix(world: World) -> None:
    driver, tab = world.driver, world.driver.tab
    driver.until(lambda: tab.stale.is_settled)
    assert (world.tokens, world.chip()) == ({}, "")
    world.project.move("src/a.py", "src/b.py", "Rename it")
    driver.until(lambda: world.tokens == {"src/a.py": "src/b.py"})
    driver.until(lambda: world.chip() == "Stale 1")
    assert tab.model.stale_paths() == {MEMORY}
    file = driver.open(MEMORY)
    assert [each.kind for each in tab.model.findings_at(MEMORY)] == ["stale"]
    assert "src/a.py moved to src/b.py" in tab.lint.findings.list.item(0).text()
    at = file.text.index("src/a.py") + 2
    assert "Rename it" in tab.pane.text.text_tip(at)
    assert tab.pane.text.text_tip(0) == ""
    driver.do("memory.fix-stale")
    driver.until(lambda: "src/b.py" in world.memory.read_text())
    assert world.memory.read_text() == topic("entry", body=TEXT).replace("src/a.py", "src/b.py")
    driver.until(lambda: world.tokens == {} and world.chip() == "")
    driver.do("memory.undo")
    driver.until(lambda: "src/a.py" in world.memory.read_text())


def test_the_line_is_underlined_where_it_is_also_behind_a_character_of_two_units(world: World) -> None:
    driver = world.driver
    world.project.move("src/keep.py", "lib/keep.py", "Move it")
    driver.until(lambda: world.tokens == {"src/keep.py": "lib/keep.py"})
    driver.open(MEMORY)
    text = driver.tab.pane.text
    (selection,) = [each for each in text.extraSelections() if each.format.underlineStyle().value]
    assert selection.cursor.selectedText() == "src/keep.py"
    driver.type("Another beginning\n\n")
    QTest.qWait(10)
    assert driver.tab.stale.of_open()
    assert [each.cursor.selectedText() for each in text.extraSelections()] in ([], ["src/keep.py"])


def test_the_page_lists_all_opens_the_line_and_fixes_what_has_a_new_value(world: World) -> None:
    driver, tab = world.driver, world.driver.tab
    world.project.move("src/a.py", "src/b.py", "Rename it")
    world.project.commit({"src/keep.py": None}, "Drop it")
    driver.until(lambda: world.tokens == {"src/a.py": "src/b.py", "src/keep.py": ""})
    driver.do("view.stale")
    page = tab.worth.page
    assert tab.beside is page
    assert driver.window.actions_["view.stale"].isChecked()
    driver.until(lambda: page.title.text() == "2 stale statements in 1 memory")
    assert [matter[0].claim.token for matter in page.list.values] == ["src/a.py", "src/keep.py"]
    page.list.setCurrentIndex(page.list.rows.index(1, 0))
    assert not page.fix.isEnabled(), "nothing took its place"
    page.open.click()
    driver.until(lambda: tab.beside is None and tab.pane.file is not None)
    driver.until(lambda: "src/keep.py" in tab.pane.text.textCursor().block().text())
    driver.do("view.stale")
    driver.until(lambda: tab.worth.is_settled)
    page.fix_all.click()
    driver.until(lambda: world.tokens == {"src/keep.py": ""})
    assert "src/b.py" in world.memory.read_text()


def test_a_statement_in_two_lines_is_two_rows_each_with_its_commit(world: World) -> None:
    driver, tab = world.driver, world.driver.tab
    world.memory.write_text(topic("entry", body="Start at `src/a.py`.\n\nThen `src/a.py`.\n"))
    os.utime(world.memory, (START + DAY * 1.5, START + DAY * 1.5))
    world.project.move("src/a.py", "src/b.py", "Rename it")
    driver.until(lambda: len(tab.stale.claims) == 2)
    driver.do("view.stale")
    page = tab.worth.page
    driver.until(lambda: page.title.text() == "2 stale statements in 1 memory")
    looks = [page.list.rows.look(matter) for matter in page.list.values]
    assert [look.title for look in looks] == ["src/a.py moved to src/b.py"] * 2
    lines = [claim.line for claim in tab.stale.claims]
    for look, line in zip(looks, lines, strict=True):
        assert look.below.startswith(f"project/entry.md, line {line} · ")
        assert look.below.endswith(" · Rename it")
    page.list.setCurrentIndex(page.list.rows.index(1, 0))
    page.fix.click()
    driver.until(lambda: [claim.line for claim in tab.stale.claims] == lines[:1])
    driver.until(lambda: page.title.text() == "1 stale statement in 1 memory")


def test_the_mark_of_the_action_follows_the_filter(world: World) -> None:
    driver, tab = world.driver, world.driver.tab
    mark = driver.window.actions_["view.stale"]
    driver.do("view.worth")
    driver.until(lambda: tab.worth.is_settled)
    assert not mark.isChecked()
    chips = tab.worth.page.chips.chips
    for kind in ("stale", "all"):
        chips[kind].click()
        driver.until(lambda kind=kind: mark.isChecked() == (kind == "stale"))
    driver.do("view.stale")
    driver.until(mark.isChecked)
    assert tab.beside is tab.worth.page
    driver.do("view.stale")
    assert tab.beside is None


def test_the_page_says_why_a_project_is_not_checked(windows: Windows, tmp_path: Path) -> None:
    project = tmp_path / "project"
    project.mkdir()
    home = ClaudeHomeMaker(tmp_path)
    home.session(project, 1)
    home.file(f"projects/{home.directory(project).name}/memory/entry.md", topic("entry", body=TEXT))
    driver = windows.begin(home.root, "", project=str(project))
    driver.settle()
    driver.do("view.stale")
    page = driver.tab.worth.page
    driver.until(lambda: page.note.isVisible() and "repository" in page.note.text())
    assert page.again.isHidden()
    page.chips.chips["all"].click()
    driver.until(page.note.isHidden)


def test_escape_and_the_cross_lead_from_a_page_back_to_the_editor(world: World) -> None:
    driver, tab = world.driver, world.driver.tab
    cross = next(
        each for each in tab.findChildren(QToolButton) if each.accessibleName() == "Back to the editor"
    )
    assert not cross.isVisible()
    for wanted in ("view.stale", "view.worth", "view.context"):
        for leave in (cross.click, lambda: driver.qtbot.keyClick(tab.beside, Qt.Key.Key_Escape)):
            driver.do(wanted)
            driver.until(lambda: tab.beside is not None and cross.isVisible())
            leave()
            assert tab.beside is None
            assert not cross.isVisible()
            assert tab.tree.hasFocus()


def test_only_stale_memories_are_shown_on_demand(world: World) -> None:
    driver, tab = world.driver, world.driver.tab
    world.project.commit({"src/a.py": None}, "Drop it")
    driver.until(lambda: world.chip() == "Stale 1")
    tab.chips.chips["stale"].click()
    driver.until(lambda: tab.order.arrangement.show == "stale")
    assert tab.order.arrangement.only == {MEMORY}


def claim(state: ClaimState, to: str = "") -> CheckedClaim:
    found = Evidence("a55417acc4" + "0" * 30, "2025-11-16T10:00:00Z", "Reorganize\u202e src")
    return CheckedClaim(MEMORY, 4, 0, ClaimKind.PATH, "old\u200b", state, to, to, evidence=found)


def test_words_say_what_became_of_it_and_hide_nothing() -> None:
    assert claim_words(claim(ClaimState.GONE)).endswith(" no longer exists")
    assert claim_words(claim(ClaimState.MOVED, "new")).endswith(" moved to new")
    assert claim_words(claim(ClaimState.CHANGED, "2.0")).endswith(" is now 2.0")
    assert "\u200b" not in claim_words(claim(ClaimState.GONE))
    assert evidence_words(claim(ClaimState.GONE)).startswith("a55417acc4 · 2025-11-16 · ")
    assert "\u202e" not in evidence_words(claim(ClaimState.GONE))
    assert count_words([]) == ""
    assert count_words([claim(ClaimState.GONE)] * 2) == "2 stale statements in 1 memory"
