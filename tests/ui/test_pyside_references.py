"""PySide6 keeps count of None: 6.12.0 lost a reference with each call on CPython 3.10 and 3.11, then aborted.

The calls run in a process of their own, so that a bad version fails this test and not the whole run. From
CPython 3.12 on None is immortal, and its count says nothing.
"""

from __future__ import annotations

import subprocess
import sys

CALLS = 20_000
# What unrelated code may take or give back meanwhile; a leak is as large as the number of calls.
SLACK = 200

SCRIPT = f"""
import sys
from PySide6.QtWidgets import QApplication, QLabel

app = QApplication([])
label = QLabel()
label.setText("warm up")
before = sys.getrefcount(None)
for number in range({CALLS}):
    label.setText("x")
    if number % 100 == 0 and abs(sys.getrefcount(None) - before) > {SLACK}:
        break
print(sys.getrefcount(None) - before)
"""


def test_twenty_thousand_calls_leave_the_reference_count_of_none_alone() -> None:
    done = subprocess.run([sys.executable, "-c", SCRIPT], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert abs(int(done.stdout)) <= SLACK
