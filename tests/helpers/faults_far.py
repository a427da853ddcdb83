"""Faults of a home that lies far away: every look at it takes its time, or waits until the other side
answers, or fails because that is gone. See `fault_room`; the disk is `slow_disk`'s, the window a real one.

What must hold meanwhile: the window's own thread waits for nothing, the window says what it waits for,
what is typed is kept, nothing counts as deleted, and it can be closed. Commands end, or say why they wait and
can be interrupted.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import threading
import time
import traceback
from collections.abc import Callable, Iterator
from typing import Any

from helpers.fault_room import ACME, NOTE, Case, NotHereError, Room
from helpers.slow_disk import CannotMountError, SlowDisk, own_mounts

NOTE_FILE = "memory/global/testing.md"
PATIENCE_MS = 60_000
STILL_S = 10.0
CLOSED_S = 20.0
TYPED = "- typed while nothing answered\n"


@contextlib.contextmanager
def _far(room: Room) -> Iterator[SlowDisk]:
    """The room's home as such a disk shows it."""
    near, far = room.place / "near", room.place / "far"
    near.mkdir(parents=True)
    os.environ["QT_QPA_PLATFORM"] = "offscreen"
    try:
        own_mounts()
        disk = SlowDisk(near, far)
    except CannotMountError as error:
        raise NotHereError(str(error)) from error
    try:
        room.elsewhere = room.place / "profile"
        room.furnish(far)
        yield disk
    finally:
        disk.close()


class _Person:
    """A window, and who sits before it. A guard tells of a window that stands still, and lets it go on."""

    def __init__(
        self, room: Room, disk: SlowDisk, *, furnish: bool = True, patience_ms: int = PATIENCE_MS
    ) -> None:
        from PySide6.QtCore import QTimer

        from reverie.clock import system_clock
        from reverie.profile import Profile
        from reverie.ui.app import make_application
        from reverie.ui.icons import Icons
        from reverie.ui.main_window import Beginning, MainWindow

        self.room, self.disk, self._patience_ms = room, disk, patience_ms
        self.application = make_application()
        self.ticked, self._over = time.monotonic(), threading.Event()
        self._guard = threading.Thread(target=self._watch_over, args=(threading.get_ident(),), daemon=True)
        self._guard.start()
        self.timer = QTimer()
        self.timer.timeout.connect(self._tick)
        self.timer.start(10)
        beginning, profile = Beginning((room.home,), ACME, helper=True), Profile.under(room.profile)
        self.window = MainWindow(profile, system_clock, Icons(), beginning, furnish=furnish)
        self.window.show()
        self.window.start()

    def until(self, what: str, condition: Callable[[], object]) -> None:
        from reverie.ui.settle import wait_for

        held = wait_for(lambda: bool(condition()), self._patience_ms)
        self.room.check(held, f"not within {self._patience_ms / 1000:g} s: {what}")

    def settle(self) -> None:
        from reverie.ui.settle import is_loaded

        window = self.window
        self.until("the window is loaded", lambda: is_loaded(window) and window.is_watching)
        self.until("nothing goes on", lambda: self.session.keeper.ready and not window.lanes.busy())

    @property
    def session(self) -> Any:
        return self.window.session

    @property
    def shown(self) -> frozenset[str]:
        return frozenset(self.window.tab.model.memory_tree.files)

    @property
    def unsaved(self) -> bool:
        return bool(self.window.tab.buffers.unsaved())

    @property
    def told(self) -> str:
        """What the window says of a disk that does not answer."""
        told = self.window.waiting.accessibleDescription()
        return told if "does not answer" in told else ""

    def open_note(self) -> None:
        self.room.check(self.window.tab.tree.select_path(NOTE), "the note is not in the tree")
        self.until("the note is open", lambda: self.window.tab.pane.file is not None)

    def type(self, text: str) -> None:
        self.window.tab.pane.text.insertPlainText(text)

    def close(self) -> None:
        """As when the session of the desktop ends: nobody is asked."""
        self._over.set()
        self._guard.join()
        self.timer.stop()
        began = time.monotonic()
        self.window.shut_down()
        took = time.monotonic() - began
        self.window.deleteLater()
        self.application.processEvents()
        self.room.check(took < CLOSED_S, f"closing took {took:.0f} s")
        self.room.messages.append(f"the window was closed in {took:.1f} s")

    def _tick(self) -> None:
        self.ticked = time.monotonic()

    def _watch_over(self, gui: int) -> None:
        while not self._over.wait(0.2):
            if time.monotonic() - self.ticked > STILL_S:
                where = "".join(traceback.format_stack(sys._current_frames()[gui])[-6:])
                self.room.problems.append(f"the window stood still for {STILL_S:g} s in\n{where}")
                self.disk.go()
                self.ticked = time.monotonic()


def slow(room: Room) -> None:
    """Each look takes its time: everything works, it only takes longer."""
    pace = 0.01 if room.full else 0.002
    with _far(room) as disk:
        before = room.memories()
        began, first = time.monotonic(), disk.pace(pace)
        for words in (("tree",), ("status",), ("consolidate", "--engine", "rules")):
            room.expect(0, *words)
        took, looks = time.monotonic() - began, disk.pace(0.0) - first
        room.messages.append(
            f"tree, status and a dream: {looks:,} looks of {pace * 1000:g} ms in {took:.0f} s"
        )
        room.settled(before, "on a slow disk")
        disk.pace(pace)
        # Thousands of looks at this pace, on a machine that may be busy.
        person = _Person(room, disk, patience_ms=5 * PATIENCE_MS)
        person.settle()
        person.open_note()
        person.type(TYPED)
        person.window.tab.editor.save()
        person.until("it is saved", lambda: not person.unsaved)
        disk.pace(0.0)
        room.check(TYPED.encode() in room.memories()[NOTE_FILE], "what was saved is not there")
        room.messages.append(person.session.watcher.state().message)
        person.close()


def hanging(room: Room) -> None:
    """Nothing answers any more; later everything does."""
    with _far(room) as disk:
        before = room.memories()
        person = _Person(room, disk)
        person.settle()
        person.open_note()
        shown = person.shown
        disk.hang()
        person.type(TYPED)
        person.window.tab.editor.save()
        person.until("the window says what it waits for", lambda: person.told)
        room.messages.append(person.told)
        person.until("a draft is kept", lambda: _drafts(room))
        _interrupted(room)
        room.check(person.shown == shown, "what does not answer is shown as deleted")
        disk.go()
        person.until("it is saved", lambda: not person.unsaved)
        person.until("nothing goes on", lambda: not person.window.lanes.busy())
        person.until("it says no more that it waits", lambda: not person.window.waiting.text())
        room.check(TYPED.encode() in room.memories()[NOTE_FILE], "what was saved is not there")
        person.type("- " + TYPED)
        disk.hold()
        person.window.tab.editor.save()
        person.window.tab.footer.button.click()
        person.until("a dream is under way", lambda: person.window.tab.dreams.jobs.running)
        person.close()
        room.check(_drafts(room), "what was typed is lost with the window")
        disk.go()
        _opened_while_hanging(room, disk)
        after = room.memories()
        room.same({**before, NOTE_FILE: b""}, {**after, NOTE_FILE: b""}, "once it answers again")


def _drafts(room: Room) -> list[str]:
    """The drafts that hold what was typed."""
    drafts = (room.profile / "state" / "drafts").rglob("*")
    return [path.name for path in drafts if path.is_file() and b"nothing answered" in path.read_bytes()]


def _opened_while_hanging(room: Room, disk: SlowDisk) -> None:
    """A window that is opened on such a home is one, and shows the home once it answers."""
    disk.hang()
    person = _Person(room, disk, furnish=False)
    person.until("there is a window all the same", lambda: hasattr(person.window, "waiting"))
    person.until("it says what it waits for", lambda: person.told)
    disk.go()
    person.settle()
    person.close()


def _interrupted(room: Room) -> None:
    """A command says that it waits, and Ctrl+C ends it."""
    call = [sys.executable, "-m", "reverie", "--home", str(room.home), "--profile", str(room.profile), "tree"]
    with subprocess.Popen(call, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as command:
        assert command.stderr is not None
        limit = threading.Timer(60, command.kill)
        limit.start()
        said = command.stderr.readline()
        command.send_signal(signal.SIGINT)
        _out, rest = command.communicate()
        limit.cancel()
    room.messages.append(f"reverie tree: {said.strip()} {rest.strip()}")
    room.check("does not answer" in said, f"it does not say that it waits: {said}")
    room.check(command.returncode == 1 and "Traceback" not in rest, f"{command.returncode}: {rest[-300:]}")


def going(room: Room) -> None:
    """The other side goes away under an open window, and comes back."""
    with _far(room) as disk:
        before = room.memories()
        person = _Person(room, disk)
        person.settle()
        person.open_note()
        shown = person.shown
        person.type(TYPED)
        disk.vanish()
        person.session.watcher.request_rescan("test")
        person.until("the window says so", lambda: person.window.tab.trouble.text)
        room.messages.append(person.window.tab.trouble.text)
        room.check(person.shown == shown, "what is out of reach is shown as deleted")
        room.expect(1, "tree")
        room.expect(1, "consolidate", "--engine", "rules")
        disk.come_back()
        person.until("it is back", lambda: not person.window.tab.trouble.text)
        room.check(person.shown == shown, "it is not shown as before")
        room.check(person.unsaved, "what was typed is lost")
        person.window.tab.editor.save()
        person.until("it is saved", lambda: not person.unsaved)
        person.until(
            "nothing goes on", lambda: person.session.keeper.ready and not person.window.lanes.busy()
        )
        person.close()
        after = room.memories()
        room.check(TYPED.encode() in after[NOTE_FILE], "what was typed is not there")
        room.same({**before, NOTE_FILE: b""}, {**after, NOTE_FILE: b""}, "once it is back")
        told = [c for c in room.parts().snapshots.history.commits() if c.parent and c.actor == "outside"]
        room.check(not told, f"a disk that was away reads as changes from outside: {told[:2]}")


CASES: dict[str, Case] = {
    "slow disk": slow,
    "disk that hangs": hanging,
    "disk that goes away": going,
}
