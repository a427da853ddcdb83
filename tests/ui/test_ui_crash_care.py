"""What happens to a mistake of ours: where it is told, what may be copied of it, and that leaving never
hangs."""

from __future__ import annotations

import logging
import subprocess
import sys
import threading
import traceback
from pathlib import Path
from typing import Any

import pytest
from PySide6.QtCore import QCoreApplication, QEvent
from PySide6.QtWidgets import QApplication, QMessageBox
from ui_windows import Windows

from helpers.expect_log import ExpectLog
from reverie.engine.client import EngineBug
from reverie.ui.crash_report import CrashReporter, RecentRecords, diagnostics, without_sayings
from reverie.ui.jobs import Lane
from reverie.ui.window.palette import Palette

CONTENT = "the launch code is in the blue drawer"
KEY = "sk-ant-api03-" + "Zx9" * 20
_STUCK = """
import sys, threading
from pathlib import Path
from PySide6.QtCore import QTimer
from reverie.profile import Profile
from reverie.ui import app
from reverie.ui.window import main_window

leave = main_window.MainWindow.shut_down

def stuck(self):
    if not self._closed:
        self.lanes.history.submit("hang", lambda control: threading.Event().wait(), done=print)
    leave(self)

main_window.MainWindow.shut_down = stuck
build_ui = main_window.MainWindow._build_views

def build_and_close(self):
    build_ui(self)
    self.lazy_tabs.built.connect(self.close)

main_window.MainWindow._build_views = build_and_close
sys.exit(app.run_window(profile=Profile.under(Path(sys.argv[1])), homes=[Path(sys.argv[2])], offscreen=True))
"""
_FAULT = """
import faulthandler, sys
from pathlib import Path
from reverie.profile import Profile
from reverie.ui.app import faults_to
with faults_to(Profile.under(Path(sys.argv[1]))):
    faulthandler._sigsegv()
"""


@pytest.fixture
def records() -> RecentRecords:
    return RecentRecords()


@pytest.fixture
def reporter(qapp: QApplication, expect_log: Any, records: RecentRecords) -> Any:
    expect_log("unexpected error", logger="reverie.crash", count=None)
    # A window that the test before has closed would take the dialog along.
    QCoreApplication.sendPostedEvents(None, QEvent.Type.DeferredDelete.value)
    made = CrashReporter(records)
    yield made
    for box in QApplication.topLevelWidgets():
        if isinstance(box, QMessageBox):
            box.close()


def raised(error: BaseException) -> BaseException:
    try:
        raise error
    except type(error) as caught:
        return caught


def hear(reporter: CrashReporter, error: BaseException) -> None:
    reporter.hook(type(error), error, error.__traceback__)


def test_what_may_be_copied_tells_the_place_and_neither_contents_nor_keys(
    qtbot: Any, reporter: CrashReporter, records: RecentRecords
) -> None:
    logger = logging.getLogger("reverie.test")
    for level, said in ((logging.INFO, f"asked with {KEY}"), (logging.INFO, "a run began")):
        records.emit(logging.LogRecord("reverie.test", level, "", 0, said, (), None))
    error = raised(ValueError(f"{CONTENT}\n  more of it"))
    info = (type(error), error, error.__traceback__)
    records.emit(logger.makeRecord("reverie.test", logging.ERROR, "", 0, "not handed over", (), info))
    hear(reporter, error)
    qtbot.waitUntil(lambda: reporter.shown == 1)
    box = reporter._boxes[-1]
    (copy,) = [button for button in box.buttons() if "details" in button.text()]
    copy.click()
    assert box.isVisible(), "copying does not close it"
    text = QApplication.clipboard().text()
    assert text == box.detailedText()
    assert "ValueError" in text
    assert "in raised" in text, "where it happened"
    assert "a run began" in text
    assert "not handed over" in text
    assert "Reverie " in text
    assert "blue drawer" not in text + box.text() + box.informativeText()
    assert "more of it" not in text
    assert KEY not in text


def test_a_box_copies_its_own_details_and_outlives_the_palette(
    windows: Windows, home: Path, reporter: CrashReporter
) -> None:
    driver = windows.open(home)
    driver.window.activateWindow()
    driver.do("view.palette")
    assert any(each.isVisible() for each in driver.window.findChildren(Palette)), "it goes with the focus"
    for error in (ValueError("one"), KeyError("two")):
        hear(reporter, raised(error))
    driver.until(lambda: reporter.shown == 2)
    QCoreApplication.sendPostedEvents(None, QEvent.Type.DeferredDelete.value)
    first, second = reporter._boxes
    for box, kind in ((first, "ValueError"), (second, "KeyError"), (first, "ValueError")):
        assert box.isVisible()
        next(button for button in box.buttons() if "details" in button.text()).click()
        assert f"{kind}\n" in QApplication.clipboard().text()
    first.close()
    assert reporter._boxes == [second]


def test_mistakes_of_the_engine_count_by_where_they_happened_there(
    qtbot: Any, reporter: CrashReporter, monkeypatch: pytest.MonkeyPatch
) -> None:
    def trace(line: int, said: str) -> str:
        frames = f'  File "a.py", line {line}, in f\n    g()\n'
        return f"Traceback (most recent call last):\n{frames}KeyError: {said}\n"

    monkeypatch.setattr(sys, "excepthook", reporter.hook)
    # A window of an earlier test that goes would take the dialog along.
    monkeypatch.setattr(QApplication, "activeWindow", staticmethod(lambda: None))
    lane, failed = Lane("helped"), list[Any]()

    def work(text: str) -> Any:
        def run(_control: Any) -> None:
            raise EngineBug(text)

        return run

    for text in (trace(1, "'x'"), trace(1, "'y'"), trace(2, "'x'")):
        lane.submit("work", work(text), done=failed.append, failed=failed.append)
    qtbot.waitUntil(lambda: len(failed) == 3)
    qtbot.waitUntil(lambda: reporter.shown == 2)
    assert {error.reason for error in failed} == {"bug"}, "no view waits for ever"
    box = reporter._boxes[-1]
    assert 'File "a.py", line 2' in box.detailedText()
    assert lane.stop()


def test_of_a_chain_of_errors_the_kinds_and_places_stay() -> None:
    try:
        try:
            raise KeyError(CONTENT)
        except KeyError as error:
            raise RuntimeError("\n".join([CONTENT, CONTENT])) from error
    except RuntimeError as error:
        text = without_sayings("".join(traceback.format_exception(error)))
    assert CONTENT not in text
    assert text.count("Traceback") == 2
    assert "KeyError\n" in text
    assert "RuntimeError\n" in text


def test_a_mistake_while_an_object_goes_is_told_too(qtbot: Any, reporter: CrashReporter) -> None:
    hooks = (sys.excepthook, threading.excepthook, sys.unraisablehook)
    reporter.install()
    try:

        class Bad:
            def __del__(self) -> None:
                raise ValueError("gone wrong")

        Bad()
        qtbot.waitUntil(lambda: reporter.shown == 1)
    finally:
        reporter.uninstall()
        sys.excepthook, threading.excepthook, sys.unraisablehook = hooks


def test_a_watching_thread_that_ends_is_logged_and_no_mistake_of_ours(
    reporter: CrashReporter, expect_log: ExpectLog
) -> None:
    """`files.watch_observer` notices it and starts over."""
    expect_log("a thread that watches files has ended")
    thread = type("Reader", (threading.Thread,), {"__module__": "watchdog.observers.any"})()
    error = KeyError("b'/moved'")
    reporter._thread_hook(threading.ExceptHookArgs((KeyError, error, None, thread)))
    assert not reporter._known


def test_diagnostics_need_no_records() -> None:
    assert "ValueError" in diagnostics("ValueError\n", RecentRecords())


def test_a_worker_that_hangs_does_not_keep_the_program(tmp_path: Path, home: Path) -> None:
    call = [sys.executable, "-c", _STUCK, str(tmp_path / "profile"), str(home)]
    done = subprocess.run(call, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    log = (tmp_path / "profile" / "state" / "logs" / "reverie.log").read_text()
    assert "thread reverie-link did not stop within 2000 ms" in log
    assert log.count("did not stop") == 1, "all others did"
    assert "leaving without it" in log, "the log is written to its end"


def test_a_fault_of_the_interpreter_leaves_its_stack(tmp_path: Path) -> None:
    done = subprocess.run([sys.executable, "-c", _FAULT, str(tmp_path)], capture_output=True, check=False)
    assert done.returncode < 0
    faults = (tmp_path / "state" / "logs" / "faults.log").read_text()
    assert "Segmentation fault" in faults
    assert "most recent call first" in faults
