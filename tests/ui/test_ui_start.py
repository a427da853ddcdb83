"""The start of a window: what it imports, and how it ends early."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

from ui_windows import LIMIT_MS, Windows

from reverie.clock import system_clock
from reverie.ui.icons import Icons
from reverie.ui.startup_options import StartupOptions
from reverie.ui.window.main_window import MainWindow


def started(windows: Windows, options: StartupOptions) -> MainWindow:
    window = MainWindow(windows.profile, system_clock, Icons(), options)
    windows.keep(window)
    window.show()
    window.start()
    return window


def test_a_window_loads_nothing_that_plans_asks_a_model_or_reads_settings() -> None:
    heavy = ("reverie.jobs.consolidate.rules.plan", "reverie.jobs.consolidate.engine", "reverie.llm.client")
    heavy += ("reverie.settings", "pydantic", "httpx", "sqlite3", "watchdog", "pygit2")
    heavy += ("reverie.engine.engine", "reverie.services.workbench", "reverie.memory.catalogue")
    heavy += (
        "reverie.memory.lint",
        "reverie.text.redact",
        "reverie.agents.discovery",
        "reverie.context.facts",
    )
    found = f"[each for each in {heavy!r} if each in sys.modules]"
    asked = f"import sys, reverie.ui.window.main_window; print({found})"
    done = subprocess.run([sys.executable, "-c", asked], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


def test_no_source_text_is_read_or_kept_to_import_the_window() -> None:
    kept = "[each for each in linecache.cache if '/reverie/' in each]"
    asked = f"import linecache, reverie.ui.app; print({kept})"
    done = subprocess.run([sys.executable, "-c", asked], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


def test_a_home_that_cannot_be_opened_is_said_at_the_start(
    windows: Windows, qtbot: Any, tmp_path: Path
) -> None:
    window = started(windows, StartupOptions((tmp_path / "nothing",)))
    qtbot.waitUntil(lambda: window.opening_failed, timeout=LIMIT_MS)


def test_a_window_that_is_closed_at_once_leaves_nothing_behind(windows: Windows, home: Path) -> None:
    window = started(windows, StartupOptions((home,)))
    assert window.close()
    assert not window.isVisible()
