"""Qt is loaded only when a collected test needs it: the tests of the lower floors run quickly and without Qt.

pytest-qt has no setting for this: it imports four Qt modules while pytest configures itself, and its hooks
touch them around every test. Here its set-up waits for the end of the collection. When no collected module
has imported PySide6 and no test asks for one of its fixtures, pytest-qt is taken out of the run instead.

This leans on `pytestqt.qt_compat.qt_api`, which is not public; `test_lazy_qt.py` notices when it changes.
"""

from __future__ import annotations

import sys
from typing import Any

import pytest
from pytestqt.qt_compat import VersionTuple, qt_api

_FIXTURES = {"qapp", "qtbot", "qtlog", "qtmodeltester"}
_set_up: Any = qt_api.set_qt_api
_versions: Any = qt_api.get_versions
_asked: list[str] = []


def _load_qt(wanted: str) -> None:
    qt_api.get_versions = _versions
    _set_up(wanted)


qt_api.set_qt_api = _asked.append
qt_api.get_versions = lambda: VersionTuple("PySide6", "not loaded yet", "-", "-")


def _needs_qt(item: pytest.Item) -> bool:
    return not _FIXTURES.isdisjoint(getattr(item, "fixturenames", ()))


@pytest.hookimpl(tryfirst=True)
def pytest_collection_finish(session: pytest.Session) -> None:
    if "PySide6" in sys.modules or any(_needs_qt(item) for item in session.items):
        _load_qt(_asked[-1])
        return
    plugins = session.config.pluginmanager
    for name in ("_qt_logging", "pytest-qt"):
        if plugins.has_plugin(name):
            plugins.unregister(name=name)
