"""Changes memories under an open window by another process, and compares the tree with the disk.

The reconcile timer and the focus scan are off, so only the watcher's deliveries can update the tree.
"""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path

from helpers import churn
from helpers.samples import copy_sample
from reverie.clock import system_clock
from reverie.files.watch import WatchState
from reverie.profile import Profile
from reverie.ui.app import make_application
from reverie.ui.icons import Icons
from reverie.ui.screenshot import is_loaded, wait_for
from reverie.ui.session import HomeSession
from reverie.ui.startup_options import StartupOptions
from reverie.ui.tree.memory_tree import FileData
from reverie.ui.window.main_window import MainWindow

STORE = "memory/project/acme-api-db553efff149"
LIMIT_MS = 120_000


@dataclass(slots=True)
class Churned:
    """What came of it: raw events and rescans delivered, and every difference between tree and disk."""

    changes: int
    events: int
    rescans: int
    files: int
    problems: list[str] = field(default_factory=list)


def churn_under_a_window(directory: Path, changes: int, seed: int) -> Churned:
    """Open the sample home, let a second process make `changes` changes in three directories, compare."""
    home, profile = copy_sample("mux-home", directory), Profile.under(directory / "profile")
    profile.ensure(profile.config)
    profile.settings_file.write_text("[watch]\nreconcile_minutes = 0\n")
    application = make_application()
    window = MainWindow(profile, system_clock, Icons(), StartupOptions((home,), workspace="a1f3c9e2b7"))
    window.show()
    window.start()
    try:
        if not wait_for(lambda: is_loaded(window) and window.is_watching, LIMIT_MS):
            return Churned(0, 0, 0, 0, ["the window did not load"])
        return _churn(window, home, changes, seed)
    finally:
        window.shut_down()
        application.processEvents()


def _state(session: HomeSession) -> WatchState:
    state = session.workbench.watch_state()
    assert state is not None
    return state


def _churn(window: MainWindow, home: Path, changes: int, seed: int) -> Churned:
    session = window.session
    assert session is not None
    assert session.is_watched
    session.rescan_on_focus = False
    wait_for(lambda: _state(session).delivered_rescans > 0 and is_loaded(window), LIMIT_MS)
    before = _state(session)
    command = [sys.executable, churn.__file__, str(home / STORE), str(changes), str(seed)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as other:
        wait_for(lambda: other.poll() is not None, LIMIT_MS)
        told = json.loads(other.stdout.read() if other.stdout is not None else "{}")
    disk = on_disk(home / STORE)
    wait_for(lambda: in_tree(window) == disk, 10_000)
    after = _state(session)
    shown = in_tree(window)
    problems = [f"shown and not on disk: {rel}" for rel in sorted(shown.keys() - disk.keys())[:5]]
    problems += [f"on disk and not shown: {rel}" for rel in sorted(disk.keys() - shown.keys())[:5]]
    problems += [
        f"shown with another size: {rel}" for rel in sorted(disk) if shown.get(rel, disk[rel]) != disk[rel]
    ]
    return Churned(
        told["changes"],
        after.delivered_events - before.delivered_events,
        after.delivered_rescans - before.delivered_rescans,
        len(disk),
        problems,
    )


def on_disk(store: Path) -> dict[str, int]:
    """Every memory on disk with its size."""
    return {
        path.relative_to(store).as_posix(): path.stat().st_size
        for path in store.rglob("*")
        if path.is_file()
        and not path.is_symlink()
        and not any(part.startswith(".") for part in path.relative_to(store).parts)
    }


def in_tree(window: MainWindow) -> dict[str, int]:
    """Every memory of the project tree with the size it shows."""
    prefix = "/memories/project/"
    found = {}
    for index in window.tab.model.walk():
        data = window.tab.tree.data_at(index)
        if isinstance(data, FileData) and data.path.startswith(prefix):
            found[data.path.removeprefix(prefix)] = data.file.size
    return found
