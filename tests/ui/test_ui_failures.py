"""The Failures tab: what the agent learnt of failing, what of it is told, and what one can change."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from PySide6.QtCore import QUrl
from PySide6.QtGui import QGuiApplication
from PySide6.QtTest import QAbstractItemModelTester
from ui_windows import ACME, Driver, Windows

from helpers.audit import problems
from helpers.loki_home import FINGERPRINT, NOON, LokiMaker, error
from reverie.agents.capabilities import AntiPattern
from reverie.clock import system_clock
from reverie.compose import open_parts
from reverie.failures.lessons import Lesson
from reverie.profile import Profile
from reverie.services.failures import FailuresView
from reverie.services.workbench import Workbench
from reverie.ui.failures_tab import FailuresTab, ResolutionDialog
from reverie.ui.icons import Icons
from reverie.ui.memory.edits import Edits
from reverie.values import replace

SEEN = f"phase=ACT; signature: run > fetch; fp={FINGERPRINT[:12]}"


def filled(maker: LokiMaker, now_ms: int) -> LokiMaker:
    """Four lessons of one kind, anti-patterns of which three say the same, crashes, a transcript."""
    for hour in range(4):
        when = datetime.fromtimestamp(now_ms / 1000 - 3600 * (4 - hour), UTC)
        maker.episode(hour, when.strftime("%Y-%m-%dT%H:%M:%SZ"), errors=[error(message=SEEN)])
    maker.episode(9, "2026-01-01T00:00:00Z", errors=[error("Odd\u202e", "long ago", "asked Ada")])
    maker.patterns(
        *(maker.anti_pattern(number) for number in (1, 2)),
        maker.anti_pattern(3, what="guessing", correct="read the log"),
    )
    maker.crash(now_ms // 1000 - 900, stack_signature=["run", "fetch"])
    maker.crash(now_ms // 1000 - 600, stack_signature=["run", "fetch"])
    return maker


def seen_of(maker: LokiMaker, tmp_path: Path) -> FailuresView:
    parts = open_parts(maker.project, Profile.under(tmp_path / "profile"), lambda: NOON)
    return Workbench(parts).failures.look()


@pytest.fixture
def maker(tmp_path: Path) -> LokiMaker:
    return LokiMaker(tmp_path / "project")


@pytest.fixture
def view(maker: LokiMaker, tmp_path: Path) -> FailuresView:
    return seen_of(filled(maker, NOON), tmp_path)


class Opener:
    """Remembers what it was to open."""

    def __init__(self) -> None:
        self.opened: list[str] = []

    def __call__(self, url: QUrl) -> bool:
        self.opened.append(url.toLocalFile())
        return True


@pytest.fixture
def tab(qtbot: Any) -> FailuresTab:
    made = FailuresTab(Icons(), lambda: NOON, Edits(), opener=Opener())
    qtbot.addWidget(made)
    made.resize(760, 620)
    made.show()
    return made


def titles(tab: FailuresTab) -> list[str]:
    return [row.look.title for row in tab.list.values]


def test_lessons_come_newest_first_and_what_is_told_is_marked(tab: FailuresTab, view: FailuresView) -> None:
    tab.show_view(view, NOON)
    assert tab.title.text() == "The next attempt will get 3 lessons"
    assert tab.state.text().startswith("LOKI_FAILURE_MEMORY is on")
    assert [tab.bar.tabText(index) for index in range(3)] == [
        "Lessons · 5",
        "Anti-patterns · 3",
        "Crashes · 2",
    ]
    block, *lessons = tab.list.values
    assert (block.look.title, block.look.below) == ("Text for the next attempt", "3 lessons")
    assert tab.text.toPlainText() == view.block().strip("\n")
    assert [row.look.sign for row in lessons] == ["check"] * 3 + [""] * 2
    assert [row.look.right for row in lessons[:2]] == ["1 h ago", "2 h ago"]
    assert lessons[0].look.below == "Will be sent · seen 4 times"
    assert lessons[3].look.below == "Left out: only the newest lessons are sent · seen 4 times"
    assert lessons[4].look.below == "Left out: older than a day · resolved: asked Ada"
    assert lessons[4].look.title == "Odd\\u202e: long ago"
    assert "Will be sent" in tab.list.rows.spoken(lessons[0])
    tab.list.pick(lessons[0].key)
    text = tab.text.toPlainText()
    assert "Resolution: empty; the agent never fills this in" in text
    assert "2 crash records of this kind" in text
    assert "\u202e" not in tab.text.toPlainText()
    tab.copy.click()
    assert QGuiApplication.clipboard().text() == text


def test_a_goal_tells_anti_patterns_and_where_they_are(
    tab: FailuresTab, view: FailuresView, qtbot: Any
) -> None:
    tab.show_view(view, NOON)
    tab.goal.setText("stop guessing")
    assert tab.list.values[0].look.below == "3 lessons · 1 anti-pattern"
    assert "- (prior) guessing" in tab.text.toPlainText()
    tab.bar.setCurrentIndex(1)
    tab.list.pick(tab.list.values[-1].key)
    assert [row.look.below.partition(" · ")[0] for row in tab.list.values][
        -1
    ] == "sent to the agent for this goal"
    assert "Do: read the log" in tab.text.toPlainText()
    assert not tab.resolve.isVisible()
    with qtbot.waitSignal(tab.open_wanted) as opened:
        tab.open.click()
    assert opened.args == ["/memories/project/semantic/patterns.json"]


def test_of_anti_patterns_in_the_same_words_the_one_that_is_told_is_marked(
    tab: FailuresTab, maker: LokiMaker, tmp_path: Path
) -> None:
    maker.patterns(
        maker.anti_pattern(1),
        {**maker.anti_pattern(1), "correct_approach": "rebuild the fixtures"},
        maker.anti_pattern(2),
    )
    view = seen_of(maker, tmp_path)
    tab.show_view(view, NOON)
    tab.goal.setText("fixtures")
    tab.bar.setCurrentIndex(1)
    singles = [row for row in tab.list.values if isinstance(row.what, AntiPattern)]
    assert view.priors("fixtures") == ("Avoid: IterationError",)
    assert [row.look.sign for row in singles] == ["", "check", ""]
    assert len({row.key for row in tab.list.values}) == len(tab.list.values), "though an id is there twice"


def test_a_crash_and_its_lesson_lead_to_each_other_and_to_their_files(
    tab: FailuresTab, view: FailuresView, qtbot: Any
) -> None:
    tab.show_view(view, NOON)
    tab.list.pick(tab.list.values[1].key)
    with qtbot.waitSignal(tab.open_wanted) as opened:
        tab.open.click()
    assert opened.args[0].startswith("/memories/project/episodic/")
    tab.other.click()
    assert tab.part == "crashes"
    (row,) = tab.list.values
    assert row.look.below.startswith("seen 2 times · in 4 lessons · run > fetch")
    assert "Records, newest first:" in tab.text.toPlainText()
    tab.open.click()
    assert tab._opener.opened == [str(view.crashes[0].newest.path)]  # type: ignore[attr-defined]
    tab.other.click()
    assert tab.part == "lessons"
    current = tab.list.current_value
    assert current is not None
    assert isinstance(current.what, Lesson)
    assert current.what.state == "injected"


def test_the_selection_stays_while_lessons_come(
    tab: FailuresTab, view: FailuresView, maker: LokiMaker, tmp_path: Path
) -> None:
    tester = QAbstractItemModelTester(
        tab.list.rows, QAbstractItemModelTester.FailureReportingMode.Warning, tab
    )
    tab.show_view(view, NOON)
    tab.list.pick(tab.list.values[2].key)
    before = tab.list.current_value
    assert before is not None
    maker.episode(7, "2026-08-19T11:30:00Z")
    tab.show_view(seen_of(maker, tmp_path), NOON)
    after = tab.list.current_value
    assert after is not None
    assert after.key == before.key
    assert tab.list.values[1].look.title == "IterationError: no 7"
    for index in (1, 2, 0):
        tab.bar.setCurrentIndex(index)
    assert tester.model() is tab.list.rows


def test_nothing_the_switch_and_damage_are_said_in_words(
    tab: FailuresTab, maker: LokiMaker, tmp_path: Path
) -> None:
    maker.file("memory/decisions.md", "# Decisions\n")
    (maker.memory / "episodic").mkdir()
    nothing = seen_of(maker, tmp_path)
    tab.show_view(nothing, NOON)
    assert tab.nothing.isVisible()
    assert "LOKI_FAILURE_MEMORY is on" in tab.nothing.sentence.text()
    maker.file("memory/episodic/2026-08-19/task-torn.json", "{")
    maker.crash(NOON // 1000)
    maker.json("config.json", {"memory": {"disabled": True}})
    tab.show_view(replace(seen_of(maker, tmp_path), on=False), NOON)
    assert "LOKI_FAILURE_MEMORY is 0" in tab.state.text()
    assert "The recording of failures is turned off" in tab.state.text()
    assert "1 record cannot be read" in tab.state.text()
    assert "task-torn.json" in tab.state.toolTip()
    assert tab.none.text() == "No attempts have failed."
    assert not tab.list.isVisible()


@pytest.mark.parametrize("width", [360, 760])
def test_nothing_is_cut_pale_or_nameless(
    tab: FailuresTab, view: FailuresView, width: int, qtbot: Any
) -> None:
    tab.show_view(view, NOON)
    tab.resize(width, 700)
    for index in range(3):
        tab.bar.setCurrentIndex(index)
        QGuiApplication.processEvents()
        assert problems(tab) == []
    dialog = ResolutionDialog(view.lessons[0], view.block("guessing"), Icons())
    qtbot.addWidget(dialog)
    dialog.show()
    dialog.resize(width, 600)
    QGuiApplication.processEvents()
    assert problems(dialog) == []
    dialog.reject()


def test_a_resolution_is_asked_with_the_block_before_and_after(view: FailuresView, qtbot: Any) -> None:
    dialog = ResolutionDialog(view.lessons[0], view.block().strip("\n"), Icons())
    qtbot.addWidget(dialog)
    assert not dialog.accept_button.isEnabled()
    assert dialog.before.toPlainText() == dialog.after.toPlainText() == view.block().strip("\n")
    dialog.field.setPlainText("  the token had run out\n")
    assert dialog.note.text().startswith("The text for the next attempt contains only the type and")
    with qtbot.waitSignal(dialog.wanted) as asked:
        dialog.accept_button.click()
    assert asked.args == [view.lessons[0], "the token had run out"]
    assert not dialog.accept_button.isEnabled()


def settled(driver: Driver) -> FailuresTab:
    driver.until(lambda: driver.window.lazy_tabs.failures.is_settled)
    found: FailuresTab = driver.window.lazy_tabs.failures
    return found


def test_a_window_shows_changes_and_takes_back_what_was_learnt(
    windows: Windows, maker: LokiMaker, home: Path
) -> None:
    filled(maker, system_clock())
    driver = windows.open(maker.project, "")
    window, late = driver.window, driver.window.lazy_tabs
    driver.do("view.failures")
    assert driver.tab.beside is late.failures
    assert window.actions_["view.failures"].isChecked()
    tab = settled(driver)
    assert tab.title.text() == "The next attempt will get 3 lessons"
    # A resolution, and what the watcher makes of it.
    row = tab.list.values[1]
    assert isinstance(row.what, Lesson)
    path = row.what.path
    before = path.read_bytes()
    tab.list.pick(row.key)
    tab.resolve.click()
    control = late.failures
    assert control.dialog is not None
    control.dialog.field.setPlainText("the token had run out")
    control.dialog.accept_button.click()
    driver.until(lambda: "resolved" in tab.list.values[1].look.below)
    assert control.dialog is None
    assert json.loads(path.read_bytes())["errors_encountered"][0]["resolution"] == "the token had run out"
    undo = window.actions_["memory.undo"]
    driver.until(undo.isEnabled)  # the watcher may be quicker than the answer
    tab.message.button("undo").click()
    driver.until(lambda: "resolved" not in tab.list.values[1].look.below)
    assert path.read_bytes() == before
    # The window's own Undo takes it back too.
    tab.resolve.click()
    control.dialog.field.setPlainText("asked Ada")
    control.dialog.accept_button.click()
    driver.until(lambda: "resolved" in tab.list.values[1].look.below)
    driver.until(undo.isEnabled)
    driver.do("memory.undo")
    driver.until(lambda: "resolved" not in tab.list.values[1].look.below)
    assert path.read_bytes() == before
    # What another writes: a crash, and a change between look and merge.
    maker.crash(system_clock() // 1000, stack_signature=["run", "fetch"])
    driver.until(lambda: tab.bar.tabText(2) == "Crashes · 3")
    # What is opened from here is shown in the editor.
    tab.bar.setCurrentIndex(0)
    tab.list.pick(row.key)
    tab.open.click()
    assert driver.tab.beside is None
    driver.until(
        lambda: driver.pane.file is not None and driver.pane.file.buffer.address.path.endswith(path.name)
    )
    # Another home has no such page.
    window.lazy_tabs.show_failures()
    window.homes.open(home)

    def picked() -> bool:
        found = next((each for each in window.homes.sessions if each.info.root.name == home.name), None)
        return found is not None and window.picker.pick(found.info.id, workspace_id=ACME)

    driver.until(picked)
    driver.until(lambda: not window.lazy_tabs.has_failures)
    assert driver.tab.beside is None
    assert not window.actions_["view.failures"].isEnabled()


def test_records_are_read_only_and_an_episode_can_be_deleted_all_the_same(
    windows: Windows, maker: LokiMaker, home: Path
) -> None:
    filled(maker, system_clock())
    driver = windows.open(maker.project, "")
    # Consolidate is off, with the reason beside it.
    driver.until(lambda: driver.footer.engine.text() == "this agent consolidates its memories itself")
    assert not driver.window.actions_["dream.run"].isEnabled()
    driver.open("/memories/project/semantic/patterns.json")
    assert driver.pane.text.isReadOnly()
    # An episode is not edited, and can be deleted all the same.
    episode = next(maker.memory.glob("episodic/2026-01-01/*.json"))
    path = f"/memories/project/{episode.relative_to(maker.memory).as_posix()}"
    driver.open(path)
    assert driver.pane.text.isReadOnly()
    driver.tab.tree.select_path(path)
    driver.do("memory.delete")
    driver.until(lambda: not episode.exists() and path not in driver.paths())
    driver.until(driver.window.actions_["memory.undo"].isEnabled)
    driver.do("memory.undo")
    driver.until(episode.exists)
