"""The names come first: a window begun unfurnished, and what is imported before they are painted."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

from ui_windows import ACME, INGEST, LIMIT_MS, Windows

from reverie.clock import system_clock
from reverie.ui.first_look import first_names
from reverie.ui.icons import Icons
from reverie.ui.main_window import Beginning, MainWindow

_SCRIPT = """
import json, sys
import reverie.cli.main, reverie.ui.app
import builtins
print(json.dumps([sorted(sys.modules), builtins.__import__.__name__]))
"""
# What takes long to import and shows no name.
_LATE = {
    "PySide6.QtNetwork", "httpx", "keyring", "pydantic", "pygit2", "sqlite3", "watchdog", "yaml",
    "reverie.settings", "reverie.services.workbench", "reverie.ui.actions", "reverie.ui.dialogs",
    "reverie.ui.late_tabs", "reverie.ui.memory.editor", "reverie.ui.memory.footer", "reverie.ui.memory.tab",
    "reverie.ui.picker",
}  # fmt: skip


def unfurnished(windows: Windows, qtbot: Any, beginning: Beginning) -> MainWindow:
    window = MainWindow(windows.profile, system_clock, Icons(), beginning, furnish=False)
    qtbot.addWidget(window, before_close_func=MainWindow.shut_down)
    window.show()
    window.start()
    return window


def test_before_the_names_nothing_is_imported_that_shows_none() -> None:
    done = subprocess.run([sys.executable, "-c", _SCRIPT], capture_output=True, text=True, check=True)
    modules, importing = json.loads(done.stdout)
    assert not _LATE & set(modules)
    assert importing != "__feature_import__", "PySide reads the source of each module that is imported"


def test_the_names_are_shown_before_the_window_has_its_parts_and_stay_until_it_shows_them(
    windows: Windows, qtbot: Any, home: Path
) -> None:
    window = unfurnished(windows, qtbot, Beginning((home,), workspace=ACME))
    look = window.look
    assert look is not None
    assert not hasattr(window, "tab")
    shown: list[int] = []
    furnished: list[bool] = []
    look.model.modelReset.connect(lambda: shown.append(look.model.rowCount()))
    window.furnished.connect(lambda: furnished.append(look.view.isVisible()))
    qtbot.waitUntil(lambda: window.look is None, timeout=LIMIT_MS)
    assert shown == [3]
    assert furnished == [True]
    assert window.centralWidget() is window.splitter
    assert window.splitter.isVisible()
    tree = window.tab.model.memory_tree
    # Of a folder, which nobody can open yet, the first look has one file.
    first = first_names((home,), ACME)
    assert set(tree.folders) == set(first.folders)
    assert set(first.files) <= set(tree.files)
    assert {path for path in tree.files if path.count("/") == 3} <= set(first.files)
    assert window.session is not None
    assert window.session.context is not None
    assert window.session.context.workspace_id == ACME


def test_a_home_that_cannot_be_opened_ends_the_first_look_with_its_words(
    windows: Windows, qtbot: Any, tmp_path: Path
) -> None:
    window = unfurnished(windows, qtbot, Beginning((tmp_path / "nothing",)))
    qtbot.waitUntil(lambda: window.look is None, timeout=LIMIT_MS)
    assert window.opening_failed


def test_a_window_closed_during_the_first_look_leaves_nothing_behind(
    windows: Windows, qtbot: Any, home: Path
) -> None:
    window = unfurnished(windows, qtbot, Beginning((home,)))
    assert window.close()
    assert not window.isVisible()
    assert not hasattr(window, "tab")


def test_the_first_look_is_at_the_workspace_used_last(home: Path) -> None:
    asked, last = first_names((home,), INGEST), first_names((home,), "")
    assert asked.files.keys() != last.files.keys()
    assert first_names((home,), "no such workspace").files.keys() == last.files.keys()
