"""What the watcher says arrives in the GUI thread, whole and in order; after closing nothing arrives."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

from PySide6.QtCore import QThread

from reverie.files.watch import Changes
from reverie.ui.session import WatchBridge


def changes(name: str) -> Changes:
    return Changes(frozenset({Path(name)}), False, 1, ())


def test_changes_posted_on_another_thread_arrive_here(qtbot: Any) -> None:
    bridge = WatchBridge("home")
    arrived: list[tuple[Any, bool]] = []

    def take(event: Any) -> None:
        arrived.append((event, QThread.currentThread().isMainThread()))

    bridge.arrived.connect(take)
    poster = threading.Thread(target=lambda: [bridge.post(changes(str(number))) for number in range(50)])
    poster.start()
    poster.join()
    qtbot.waitUntil(lambda: len(arrived) == 50)
    assert [event.changes for event, _ in arrived] == [changes(str(number)) for number in range(50)]
    assert all(main for _, main in arrived)
    assert arrived[0][0].source == "home"


def test_a_closed_bridge_is_silent(qtbot: Any) -> None:
    bridge = WatchBridge("home")
    bridge.post(changes("before"))
    bridge.close()
    with qtbot.assertNotEmitted(bridge.arrived, wait=50):
        bridge.post(changes("after"))


def test_posting_to_a_deleted_bridge_never_raises(qtbot: Any) -> None:
    bridge = WatchBridge("home")
    import shiboken6

    shiboken6.delete(bridge)
    bridge.post(changes("late"))
    assert bridge.lost == 1
