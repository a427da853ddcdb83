"""The log of the Traces tab: newest first, one row for a run, repeats counted, and what runs now."""

from __future__ import annotations

import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest
from PySide6.QtCore import QPoint
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QAbstractButton, QComboBox, QLineEdit, QWidget
from ui_windows import ACME, Windows

from reverie.clock import fixed_clock
from reverie.files.log_file import asked_by
from reverie.jobs.consolidate.run import dream_lease_name
from reverie.runs.activity import Activity, ActivityEntry
from reverie.ui.icons import Icons
from reverie.ui.traces.log import (
    LogRow,
    LogView,
    RunningJob,
    RunningJobs,
    below_words,
    facts,
    log_rows,
    right_words,
    spoken,
    takes,
)
from reverie.ui.widgets.lists import VALUE

NOW = 1_787_200_000_000
MINUTE = 60_000


def entry(event: str, text: str = "", *, at: int = NOW, level: str = "info", **other: Any) -> ActivityEntry:
    values: dict[str, Any] = {"workspace_id": ACME, "home": "/home", "last_at": at} | other
    return ActivityEntry(at, event, level, text or event, **values)


def decision(event: str, text: str = "", place: str = "retry loop", **other: Any) -> LogRow:
    return LogRow(entry(event, text, **other), place)


EVERYTHING = (
    decision("writer.not-due", "Not due, 1 of 2.", level="debug"),
    decision("writer.failed", "The model hung up.", level="error"),
    decision("trigger.launch", "Switched off.", workspace_id=None, place=""),
    decision("harvest.completed", "2 facts."),
    decision("revert.completed", "Given back.", workspace_id="other", place="another"),
)


def test_a_preview_is_called_one_and_says_that_nothing_is_written() -> None:
    row = decision("dream.completed", "Merged 2 notes.", details={"dryRun": True})
    assert "preview" in below_words(row)
    assert "completed" not in below_words(row)
    assert "nothing has been changed yet. Merged 2 notes." in spoken(row)
    done = decision("dream.completed", "Merged 2 notes.", details={"dryRun": False})
    assert "completed" in below_words(done)
    assert "nothing is written" not in spoken(done)


@pytest.fixture
def tab(qtbot: Any) -> LogView:
    made = LogView(Icons(), fixed_clock(NOW))
    qtbot.addWidget(made)
    made.resize(900, 500)
    made.show()
    return made


@pytest.mark.parametrize(
    ("text", "workspace", "events"),
    [
        ("", None, [each.entry.event for each in EVERYTHING]),
        ("HUNG UP", None, ["writer.failed"]),
        ("another", None, ["revert.completed"]),
        ("", "other", ["trigger.launch", "revert.completed"]),
        ("facts", "other", []),
    ],
)
def test_a_search_takes_what_it_names(text: str, workspace: str | None, events: list[str]) -> None:
    assert [each.entry.event for each in EVERYTHING if takes(each, text, workspace)] == events


def test_a_row_says_who_where_and_which_gate_and_how_often() -> None:
    said = decision("writer.not-due", times=12, last_at=NOW - 3 * MINUTE)
    assert below_words(said) == "Memory writer · retry loop · not due"
    assert right_words(said, NOW) == "12 times, 3 min ago"
    assert right_words(decision("x.y"), NOW) == "just now"
    assert below_words(EVERYTHING[2]) == "At startup"


def test_what_comes_from_disk_is_made_safe_to_show() -> None:
    evil = decision(
        "writer.failed", "a\u202eb", place="w\n2", details={"\u202ekey": "v\u202e", "n": {"a": 1}}
    )
    assert "\u202e" not in spoken(evil)
    assert "\n" not in spoken(evil)
    told = dict(facts(evil))
    assert told["\\u202ekey"] == "v\\u202e"
    assert told["n"] == '{"a": 1}'


def test_names_of_workspaces_are_told_and_unknown_ones_by_id() -> None:
    found = log_rows(
        [entry("a.b"), entry("a.b", workspace_id="gone"), entry("a.b", workspace_id=None)], {ACME: "retry"}
    )
    assert [each.place for each in found] == ["retry", "gone", ""]


def test_a_run_is_one_row_with_its_duration() -> None:
    began = entry("writer.started", "Started.", at=NOW)
    gate = entry("writer.not-due", at=NOW + 500)
    tried = entry("writer.attempt", at=NOW + 1000, run_id="17-ab")
    ended = entry("writer.completed", "Wrote.", at=NOW + 4100, run_id="17-ab")
    rows = log_rows([ended, tried, gate, began], {ACME: "retry"})
    assert [row.entry.event for row in rows] == ["writer.completed", "writer.attempt", "writer.not-due"]
    assert [row.began for row in rows] == [NOW, None, None]
    assert right_words(rows[0], NOW + 4100) == "4.1 s, just now"
    assert dict(facts(rows[0]))["Duration"] == "4.1 s"
    assert not {"Event", "Level"} & set(dict(facts(rows[0])))


def test_what_has_not_ended_or_is_of_another_run_keeps_its_start() -> None:
    events = [
        entry("dream.completed", at=NOW + 9, run_id="b"),
        entry("dream.started", at=NOW + 5, run_id="a"),
        entry("writer.completed", at=NOW + 4, run_id="c", workspace_id="other"),
        entry("writer.started", at=NOW + 3),
        entry("host.stopped", at=NOW + 2),
        entry("host.started", at=NOW),
    ]
    rows = log_rows(events, {})
    assert [row.entry.event for row in rows] == [each.event for each in events[:5]]
    assert [row.began for row in rows] == [None, None, None, None, NOW]


def test_a_repeat_moves_up_and_stays_selected(tab: LogView) -> None:
    old, new = decision("writer.a"), decision("writer.b", at=NOW + 1)
    tab.show_rows((new, old))
    tab.list.setCurrentIndex(tab.list.rows.index(1, 0))
    again = decision("writer.a", times=2, last_at=NOW + 2)
    tab.show_rows((again, new))
    assert tab.list.values == (again, new)
    assert (tab.list.currentIndex().row(), tab.list.current_value) == (0, again)


def test_entries_alike_have_rows_of_their_own(tab: LogView) -> None:
    same = decision("writer.a")
    tab.show_rows((same, same))
    assert tab.list.rows.rowCount() == 2


def test_a_selected_decision_stays_selected_while_others_arrive(tab: LogView, qtmodeltester: Any) -> None:
    qtmodeltester.check(tab.list.rows)
    tab.show_rows(EVERYTHING)
    tab.list.setCurrentIndex(tab.list.rows.index(1, 0))
    assert tab.list.current_value == EVERYTHING[1]
    tab.show_rows((decision("dream.completed", at=NOW + 5), *EVERYTHING))
    assert tab.list.current_value == EVERYTHING[1]
    assert tab.list.currentIndex().row() == 2
    assert tab.detail.text.text() == "The model hung up."


def test_what_the_filter_takes_away_is_not_told_below_any_more(tab: LogView) -> None:
    tab.show_rows(EVERYTHING)
    tab.list.setCurrentIndex(tab.list.rows.index(0, 0))
    tab.text.setText("nothing like it")
    assert tab.none.isVisible()
    assert tab.none.title.text() == "No matching entries"


def test_without_any_decision_the_tab_says_what_would_stand_here(tab: LogView) -> None:
    assert tab.none.isVisible()
    assert "background services" in tab.none.sentence.text()


def test_only_this_workspace_needs_one(tab: LogView) -> None:
    tab.show_rows(EVERYTHING)
    tab.show_place("other")
    tab.here.setChecked(True)
    assert tab.list.rows.rowCount() == 2
    tab.show_place(None)
    assert not tab.here.isEnabled()
    assert tab.list.rows.rowCount() == len(EVERYTHING)


def test_the_run_of_a_decision_can_be_shown_and_its_facts_copied(tab: LogView, qtbot: Any) -> None:
    tab.show_rows((decision("writer.completed", "Wrote.", run_id="17-ab", details={"model": "rules"}),))
    tab.list.setCurrentIndex(tab.list.rows.index(0, 0))
    with qtbot.waitSignal(tab.detail.review) as asked:
        tab.detail.changes.click()
    assert asked.args == ["17-ab"]
    tab.detail.copy.click()
    copied = QGuiApplication.clipboard().text()
    assert copied.startswith("Wrote.\n")
    assert "model: rules" in copied
    tab.show_rows((decision("writer.failed"),))
    tab.list.setCurrentIndex(tab.list.rows.index(0, 0))
    assert not tab.detail.changes.isVisible()


def test_each_job_has_a_line_and_cancel(qtbot: Any) -> None:
    jobs = RunningJobs()
    qtbot.addWidget(jobs)
    jobs.show_jobs((RunningJob("a", "One", "retry loop"), RunningJob("b", "Two", note="elsewhere")))
    assert jobs.isVisible()
    line = jobs.line("a")
    assert line.text.text() == "One · retry loop"
    assert jobs.line("b").button.isHidden()
    with qtbot.waitSignal(jobs.cancel) as asked:
        line.button.click()
    assert asked.args == ["a"]
    jobs.show_jobs((RunningJob("a", "One", "another"),))
    assert jobs.line("a") is line
    assert not line.button.isEnabled()
    jobs.show_jobs(())
    assert jobs.isHidden()


@pytest.mark.parametrize("width", [375, 900])
def test_nothing_leaves_the_right_edge(tab: LogView, qapp: Any, width: int) -> None:
    tab.show_rows(EVERYTHING)
    tab.list.setCurrentIndex(tab.list.rows.index(1, 0))
    tab.running.show_jobs((RunningJob("a", "A rather long name of a job that goes on", "and on"),))
    tab.resize(width, 600)
    qapp.processEvents()
    assert tab.width() == width
    for kind in (QAbstractButton, QLineEdit, QComboBox):
        for control in tab.findChildren(kind):
            if control.isVisible() and control.visibleRegion():
                assert control.mapTo(tab, QPoint(control.width(), 0)).x() <= width, control


# In a window


def activity_of(windows: Windows, driver: Any) -> Activity:
    file = windows.profile.activity(driver.session.info.id)
    return Activity(file, lock_dir=windows.profile.locks, clock=lambda: NOW)


def add(activity: Activity, event: str, text: str) -> None:
    activity.add(event, level="info", text=text, home="/h", workspace_id=ACME, run_id=None, details={})


def test_what_another_process_decides_appears_by_itself(windows: Windows, home: Path) -> None:
    driver = windows.open(home)
    driver.do("view.log")
    tab = driver.traces.log
    driver.until(lambda: not driver.window.lanes.scan.busy)
    activity = activity_of(windows, driver)
    add(activity, "writer.not-due", "Not due.")
    driver.until(lambda: tab.list.rows.rowCount() == 1)
    add(activity, "writer.not-due", "Not due.")
    driver.until(lambda: tab.list.rows.data(tab.list.rows.index(0, 0), VALUE).entry.times == 2)
    assert tab.list.rows.rowCount() == 1


def test_what_was_decided_while_nobody_looked_is_read_on_coming_back(windows: Windows, home: Path) -> None:
    driver = windows.open(home, watching=False)
    add(activity_of(windows, driver), "writer.failed", "The server hung up.")
    assert driver.traces.log.list.rows.rowCount() == 0
    driver.do("view.log")
    driver.until(lambda: driver.traces.log.list.rows.rowCount() == 1)
    assert driver.traces.log.list.currentIndex().row() == -1
    driver.do("view.memory")
    assert driver.tab.isVisible()


def test_a_consolidation_of_this_window_is_in_the_footer_alone(windows: Windows, home: Path) -> None:
    driver = windows.open(home)
    driver.do("view.log")
    held = threading.Event()
    driver.window.lanes.consolidator.submit(
        "hold", lambda _control: held.wait(10), done=lambda _nothing: None
    )
    driver.do("dream.preview")
    driver.services.log._ask_who_works()
    driver.until(lambda: not driver.window.lanes.scan.busy)
    assert driver.traces.log.running.ids == ()
    driver.do("dream.cancel")
    held.set()
    driver.settle()


def test_a_run_of_another_process_is_shown_and_only_that_one_can_stop_it(
    windows: Windows, home: Path, tmp_path: Path
) -> None:
    driver = windows.open(home, watching=False)
    driver.do("view.log")
    driver.until(lambda: not driver.window.lanes.scan.busy)
    hold = (
        "import sys; from pathlib import Path; from reverie.files.lease import Leases\n"
        "with Leases(Path(sys.argv[1])).acquire(sys.argv[2], purpose='a dream'):\n"
        "    print('held', flush=True); input()"
    )
    name = dream_lease_name(driver.session.info.id)
    call = [sys.executable, "-c", hold, str(windows.profile.leases_database), name]
    process = subprocess.Popen(call, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        assert process.stdout.readline() == "held\n"
        driver.services.log._ask_who_works()
        running = driver.traces.log.running
        driver.until(lambda: running.ids == (name,))
        assert str(process.pid) in running.line(name).text.text()
        assert running.line(name).button.isHidden()
    finally:
        process.communicate("\n", timeout=30)
    driver.until(lambda: running.ids == ())


@pytest.mark.parametrize(
    ("env", "debug"),
    [
        ({}, False),
        ({"REVERIE_DEBUG": "1"}, True),
        ({"REVERIE_DEBUG": "0"}, False),
        ({"REVERIE_LOG_LEVEL": "DEBUG"}, True),
        ({"REVERIE_LOG_LEVEL": "info"}, False),
    ],
)
def test_a_shell_can_ask_for_debug_logging(env: dict[str, str], debug: bool) -> None:
    assert bool(asked_by(env)) == debug


def test_every_control_of_the_tab_has_a_name(tab: LogView) -> None:
    for kind in (QAbstractButton, QLineEdit, QComboBox):
        for control in tab.findChildren(kind):
            text = control.text() if isinstance(control, QAbstractButton) else ""
            assert control.accessibleName() or text or control.objectName().startswith("qt_"), control
    assert isinstance(tab, QWidget)
