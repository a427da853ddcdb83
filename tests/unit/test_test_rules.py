"""The rules that hold for every test (`conftest.py`) hold: a bad test fails, and the report says why.

Each run is a pytest of its own over a small file, with the plugins of the real conftest.
"""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest

from helpers.leaks import wait_for

PROJECT = Path(__file__).resolve().parents[2]

BAD = """
import logging, os, pathlib, socket, sqlite3, sys, threading
import pytest
import helpers.leaks

helpers.leaks._GRACE_S = 0.01
OUTSIDE = pathlib.Path(sys.base_prefix) / "no-such-directory" / "file"
stop = threading.Event()

def test_writes_outside():
    OUTSIDE.write_text("x")

def test_swallows_the_refusal():
    try:
        OUTSIDE.mkdir()
    except Exception:
        pass

def test_opens_a_database_outside():
    sqlite3.connect(OUTSIDE)

def test_looks_up_a_name():
    socket.getaddrinfo("reverie.invalid", 80)

def test_reaches_an_address():
    with socket.socket() as plug:
        plug.connect(("192.0.2.1", 80))

def test_leaks_a_thread():
    threading.Thread(target=stop.wait, name="forgotten").start()

def test_logs_a_warning():
    logging.getLogger("reverie.files").warning("watch limit %d", 8)

def test_expects_what_never_comes(expect_log):
    expect_log("watch limit")

def test_expects_it_from_another_logger(expect_log):
    expect_log("watch limit", logger="reverie.homes")
    logging.getLogger("reverie.files").warning("watch limit %d", 8)

def test_good_ends_the_leaked_thread():
    stop.set()

def test_good_log(expect_log):
    logging.getLogger("reverie.files").warning("watch limit %d", 8)
    expect_log("watch limit 8", logger="reverie.files")

def test_good_home(tmp_path):
    assert not list(pathlib.Path.home().iterdir())
    pathlib.Path("in-the-working-directory").write_text("x")
    (tmp_path / "file").write_text("x")
    assert "MUX_ROOT" not in os.environ

def test_good_loopback():
    with socket.create_server(("127.0.0.1", 0)) as server, socket.socket() as plug:
        plug.connect(server.getsockname())

def test_good_thread():
    thread = threading.Thread(target=lambda: None)
    thread.start()
"""

BAD_QT = """
from PySide6.QtCore import QThread, qWarning
import helpers.leaks

helpers.leaks._GRACE_S = 0.01
kept = []

def test_leaks_a_qthread(qtbot):
    thread = QThread()
    thread.setObjectName("consolidator")
    kept.append(thread)
    thread.start()
    qtbot.waitUntil(thread.isRunning)

def test_good_ends_the_leaked_qthread():
    assert kept[0].wait(5000)

def test_qt_warns(qtbot):
    qWarning("QObject::connect: no such signal")

def test_good_qthread(qtbot):
    thread = QThread()
    thread.start()
    thread.quit()
    assert thread.wait(5000)
"""


def outcomes(directory: Path, text: str) -> dict[str, str]:
    """Test name -> why it failed; `""` for one that passed."""
    (directory / "test_it.py").write_text(text, encoding="utf-8")
    (directory / "conftest.py").write_bytes((PROJECT / "tests" / "conftest.py").read_bytes())
    report = directory / "report.xml"
    # A base of its own: else pytest tidies up what other runs left in the common one.
    base = ["--rootdir", str(directory), "--basetemp", str(directory / "temp")]
    quiet = ["-p", "no:cacheprovider", "-q", f"--junitxml={report}"]
    command = [sys.executable, "-m", "pytest", "-c", str(PROJECT / "pyproject.toml"), *base, *quiet]
    environment = {**os.environ, "PYTHONPATH": str(PROJECT / "tests"), "MUX_ROOT": "/nowhere"}
    done = subprocess.run(
        [*command, "test_it.py"], env=environment, capture_output=True, text=True, check=False, cwd=directory
    )
    assert report.exists(), done.stdout + done.stderr
    cases = ElementTree.parse(report).getroot().iter("testcase")
    found: dict[str, str] = {}
    for case in cases:
        reasons = [f"{part.get('message')}\n{part.text}" for part in case if part.tag in {"failure", "error"}]
        name = case.get("name", "")
        found[name] = found.get(name, "") + "\n".join(reasons)
    return found


@pytest.mark.parametrize("text", [BAD, BAD_QT], ids=["plain", "qt"])
def test_bad_tests_fail_and_good_ones_pass(text: str, tmp_path: Path) -> None:
    expected = {
        "test_writes_outside": "outside the temp directory",
        "test_swallows_the_refusal": "outside the temp directory",
        "test_opens_a_database_outside": "outside the temp directory",
        "test_looks_up_a_name": "only this machine",
        "test_reaches_an_address": "only this machine",
        "test_leaks_a_thread": "thread 'forgotten' is still running",
        "test_logs_a_warning": "unexpected log record",
        "test_expects_what_never_comes": "expected 1 log records",
        "test_expects_it_from_another_logger": "unexpected log record",
        "test_leaks_a_qthread": "QThread 'consolidator' is still running",
        "test_qt_warns": "no such signal",
    }
    for name, reason in outcomes(tmp_path, text).items():
        if name.startswith("test_good"):
            assert reason == "", f"{name}: {reason}"
        else:
            assert expected[name] in reason, name
            if "leaks" in name:
                assert "test_it.py" in reason, "the place where it was started"


def test_a_thread_that_another_is_just_starting_is_waited_for() -> None:
    ended: list[bool] = []
    late = threading.Thread(target=lambda: ended.append(True))
    starter = threading.Timer(0.05, late.start)
    starter.start()
    wait_for(late)
    assert ended == [True]
    starter.join()
