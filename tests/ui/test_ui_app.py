"""Around the window: where it can be shown, what happens to mistakes, and pictures of it."""

from __future__ import annotations

import logging
import os
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest
from PySide6.QtCore import QtMsgType
from PySide6.QtGui import QImage
from PySide6.QtWidgets import QApplication, QMessageBox

from reverie.ui import crash_report as crash
from reverie.ui.app import demo_place
from reverie.ui.crash_report import CrashReporter, RecentRecords, qt_message
from reverie.ui.display import display_problem, unreachable_display
from reverie.ui.window_log import Log


@pytest.mark.parametrize(
    ("environment", "platform", "fine"),
    [
        ({}, "linux", False),
        ({"DISPLAY": ":0"}, "linux", True),
        ({"WAYLAND_DISPLAY": "wayland-0"}, "linux", True),
        ({"QT_QPA_PLATFORM": "offscreen"}, "linux", True),
        ({}, "darwin", True),
        ({}, "win32", True),
    ],
)
def test_without_a_display_it_says_so_and_names_the_commands(
    environment: dict[str, str], platform: str, fine: bool
) -> None:
    problem = display_problem(environment, platform)
    assert (problem == "") == fine
    if not fine:
        assert "reverie consolidate" in problem.replace("status, consolidate", "status, reverie consolidate")


def test_a_picture_of_the_demo_home_is_taken_and_nothing_is_left(tmp_path: Path) -> None:
    file = tmp_path / "picture.png"
    call = [sys.executable, "-m", "reverie", "--demo", "--screenshot", str(file)]
    done = subprocess.run(call, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    image = QImage(str(file))
    assert image.width() > 600
    colours = {image.pixelColor(x, y).name() for x in range(0, image.width(), 9) for y in range(0, 700, 9)}
    assert len(colours) > 10, "it is not blank"


def mistake(text: str) -> BaseException:
    try:
        raise ValueError(text)
    except ValueError as error:
        return error


@pytest.fixture
def reporter(qapp: QApplication, expect_log: Any) -> Any:
    expect_log("unexpected error", logger="reverie.crash", count=None)
    made = CrashReporter(RecentRecords())
    yield made
    for box in QApplication.topLevelWidgets():
        if isinstance(box, QMessageBox):
            box.close()


def test_one_dialog_per_distinct_mistake(qtbot: Any, reporter: CrashReporter) -> None:
    for text in ("one", "two", "three"):
        error = mistake(text)
        reporter.hook(type(error), error, error.__traceback__)
    qtbot.waitUntil(lambda: reporter.shown == 1)
    other = TypeError("another kind")
    reporter.hook(TypeError, other, None)
    qtbot.waitUntil(lambda: reporter.shown == 2)


def test_a_mistake_on_another_thread_is_recorded_there_and_shown_here(
    qtbot: Any, reporter: CrashReporter, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(threading, "excepthook", reporter._thread_hook)
    thread = threading.Thread(target=lambda: 1 / 0)
    thread.start()
    thread.join()
    qtbot.waitUntil(lambda: reporter.shown == 1)


def test_the_hooks_are_put_back(qapp: QApplication) -> None:
    before = sys.__excepthook__
    reporter = CrashReporter(RecentRecords())
    hooks = (sys.excepthook, threading.excepthook)
    reporter.install()
    assert sys.excepthook == reporter.hook
    reporter.uninstall()
    assert sys.excepthook is before
    sys.excepthook, threading.excepthook = hooks


def test_messages_of_qt_reach_the_log_but_for_known_noise(expect_log: Any, caplog: Any) -> None:
    expect_log("something is wrong", logger="reverie.qt")
    qt_message(QtMsgType.QtWarningMsg, None, "something is wrong")  # type: ignore[arg-type]
    qt_message(QtMsgType.QtWarningMsg, None, "This plugin does not support propagateSizeHints()")  # type: ignore[arg-type]


def test_the_log_is_written_by_a_thread_of_its_own(tmp_path: Path) -> None:
    from reverie.profile import Profile

    profile = Profile.under(tmp_path)
    with Log(profile) as logged:
        logging.getLogger("reverie.test").info("said before there was a file")
        assert not profile.log_file.exists()
        logged.start_file()
        logged.start_file()
        logging.getLogger("reverie.test").info("said once")
        assert any("said once" in line for line in logged.recent.lines)
    written = profile.log_file.read_text()
    assert written.index("said before there was a file") < written.index("said once")
    assert written.count("said once") == 1
    assert not logging.getLogger("reverie").handlers


def test_the_records_kept_are_few() -> None:
    records = RecentRecords()
    for number in range(crash.RECORDS_KEPT + 10):
        records.emit(logging.LogRecord("x", logging.INFO, "", 0, f"{number}", (), None))
    assert len(records.lines) == crash.RECORDS_KEPT


def test_a_display_that_cannot_be_reached_is_told_in_a_sentence_without_a_core_dump(tmp_path: Path) -> None:
    """B38."""
    environment = {**os.environ, "DISPLAY": ":4711", "QT_QPA_PLATFORM": "", "TMPDIR": str(tmp_path)}
    environment.pop("WAYLAND_DISPLAY", None)
    call = [sys.executable, "-m", "reverie", "--demo"]
    done = subprocess.run(call, env=environment, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 1
    assert "cannot connect to the display :4711" in done.stderr or "system library" in done.stderr
    assert "reverie homes" in done.stderr
    assert "Aborted" not in done.stderr
    assert "qt.qpa" not in done.stderr
    assert list(tmp_path.glob("reverie-demo-*")) == []


@pytest.mark.parametrize(
    ("messages", "expected"),
    [
        (["could not connect to display :7", "no Qt platform plugin"], "cannot connect to the display :7"),
        (["xcb-cursor0 is needed"], "system library"),
    ],
)
def test_what_keeps_qt_from_starting_is_told_from_its_messages(messages: list[str], expected: str) -> None:
    assert expected in unreachable_display(messages, {"DISPLAY": ":7"})


def test_only_a_demo_leaves_a_place_in_the_temporary_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    place = demo_place(at_once=False)
    assert (place.parent, list(tmp_path.iterdir())) == (tmp_path, [])
    assert place != demo_place(at_once=False)
    made = demo_place(at_once=True)
    assert list(tmp_path.iterdir()) == [made]
