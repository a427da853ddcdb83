"""What tests of the window share."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot
from ui_windows import LIMIT_MS, Windows

from helpers.samples import copy_sample
from reverie.jobs.consolidate import coverage
from reverie.ui import jobs
from reverie.ui.appearance import light_palette
from reverie.ui.style import CalmStyle

# Two seconds, which a closing window gives its threads, are soon over on a busy machine.
jobs.STOP_LIMIT_MS = LIMIT_MS


@pytest.fixture(scope="session")
def qapp(qapp: QApplication) -> QApplication:
    """pytest-qt's, in the style and the colours of the program."""
    qapp.setStyle(CalmStyle())
    qapp.setPalette(light_palette())
    return qapp


@pytest.fixture
def qtbot(qtbot: QtBot) -> QtBot:
    """pytest-qt's, with more patience than its five seconds; only a failing test waits for so long."""
    for name in ("waitUntil", "waitSignal", "waitSignals"):
        setattr(qtbot, name, partial(getattr(qtbot, name), timeout=LIMIT_MS))
    return qtbot


@pytest.fixture(autouse=True)
def _no_agent_overwrites_late(monkeypatch: pytest.MonkeyPatch) -> None:
    """A run looks again at its coverage record without the second of waiting, which each test with a run
    would end with; what the look finds is the rule of `test_coverage.py`."""
    monkeypatch.setattr(coverage, "_SETTLED_S", 0.0)


@pytest.fixture
def windows(qtbot: Any, tmp_path: Path) -> Iterator[Windows]:
    """Opens windows; all are closed at the end."""
    made = Windows(qtbot, tmp_path)
    yield made
    made.close()


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A copy of the sample home, without its very long notes."""
    return copy_sample("mux-home", tmp_path)


@pytest.fixture
def whole_home(tmp_path: Path) -> Path:
    """A copy of the sample home with all that is in it."""
    return copy_sample("mux-home", tmp_path, whole=True)
