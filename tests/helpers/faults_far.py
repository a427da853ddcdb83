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
from pathlib import Path
from typing import Any

from helpers.fault_room import ACME, NOTE, Case, NotHereError, Room
from helpers.samples import copy_sample
from helpers.slow_disk import CannotMountError, SlowDisk, own_mounts

NOTE_FILE = "memory/global/testing.md"
PATIENCE_MS = 60_000
STILL_S = 10.0
CLOSED_S = 20.0
BESIDE_S = 40.0
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
        room.build_ui(far)
        yield disk
    finally:
        disk.close()


class _Person:
    """A window, and who sits before it. A guard tells of a window that stands still, and lets it go on."""

    def __init__(
        self,
        room: Room,
        disk: SlowDisk,
        *,
        patience_ms: int = PATIENCE_MS,
        found: bool = False,
    ) -> None:
        """`found`: the window looks for homes itself."""
        from PySide6.QtCore import QTimer

        from reverie.clock import system_clock
        from reverie.profile import Profile
        from reverie.ui.app import make_application
        from reverie.ui.icons import Icons
        from reverie.ui.startup_options import StartupOptions
        from reverie.ui.window.main_window import MainWindow

        self.room, self.disk, self._patience_ms = room, disk, patience_ms
        self.application = make_application()
        self.ticked, self._over = time.monotonic(), threading.Event()
        self._guard = threading.Thread(target=self._watch_over, args=(threading.get_ident(),), daemon=True)
        self._guard.start()
        self.timer = QTimer()
        self.timer.timeout.connect(self._tick)
        self.timer.start(10)
        homes = () if found else (room.home,)
        beginning, profile = StartupOptions(homes, ACME, engine=True), Profile.under(room.profile)
        self.window = MainWindow(profile, system_clock, Icons(), beginning)
        self.window.show()
        self.window.start()

    def until(self, what: str, condition: Callable[[], object]) -> None:
        from reverie.ui.screenshot import wait_for

        held = wait_for(lambda: bool(condition()), self._patience_ms)
        self.room.check(held, f"not within {self._patience_ms / 1000:g} s: {what}")

    def settle(self) -> None:
        from reverie.ui.screenshot import is_loaded

        window = self.window
        self.until("the window is loaded", lambda: is_loaded(window) and window.is_watching)
        self.until("nothing goes on", lambda: self.session.is_recorded and not window.lanes.busy())

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
        start = self.window.tab.no_home
        page = start.sentence.text() if start.isVisible() else ""
        told = (self.window.slow_disk.accessibleDescription(), page)
        silent = ("is not responding", "is not responding")
        return next((each for each in told if any(words in each for words in silent)), "")

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
        room.messages.append(person.session.workbench.watch_state().message)
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
        room.check(person.shown == shown, "what is not responding is shown as deleted")
        disk.go()
        person.until("it is saved", lambda: not person.unsaved)
        person.until("nothing goes on", lambda: not person.window.lanes.busy())
        person.until("it says no more that it waits", lambda: not person.window.slow_disk.text())
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
    person = _Person(room, disk)
    person.until("there is a window all the same", lambda: hasattr(person.window, "homes"))
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
    room.check("is not responding" in said, f"it does not say that it waits: {said}")
    room.check(command.returncode == 1 and "Traceback" not in rest, f"{command.returncode}: {rest[-300:]}")


def beside(room: Room) -> None:
    """One home hangs, another is well: every command and the window work on that one and name the other."""
    good = room.place / "user" / ".xum"
    with _far(room) as disk:
        copy_sample("mux-home", good.parent).rename(good)
        disk.hang()
        _commands_go_on(room, good)
        _watch_starts(room, good)
        os.environ.update(HOME=str(good.parent), MUX_ROOT=str(room.home))
        person = _Person(room, disk, found=True)
        person.until("the good home is shown", lambda: person.window.session is not None)
        room.check(person.session.info.root == good, "another home is shown")
        person.until("the other is named", lambda: person.window.homes.troubled_places)
        (place,) = person.window.homes.troubled_places
        room.messages.append(str(place.error))
        room.check(place.silent and place.root == room.home, f"it names {place}")
        disk.go()
        person.until("it is opened once it answers", lambda: len(person.window.homes.sessions) == 2)
        person.until("nothing goes on", lambda: not person.window.lanes.busy())
        person.close()


def _user_call(room: Room, good: Path, *words: str) -> dict[str, Any]:
    """How a person's command is called who has both homes."""
    call = [sys.executable, "-m", "reverie", *words, "--profile", str(room.profile)]
    env = {**os.environ, "HOME": str(good.parent), "MUX_ROOT": str(room.home)}
    return {"args": call, "env": env, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}


def _commands_go_on(room: Room, good: Path) -> None:
    for words in (("homes",), ("search", "testing"), ("runs",), ("traces",), ("tree", "--workspace", ACME)):
        began = time.monotonic()
        with subprocess.Popen(**_user_call(room, good, *words)) as command:
            limit = threading.Timer(BESIDE_S, command.kill)
            limit.start()
            out, said = command.communicate()
            limit.cancel()
        took = time.monotonic() - began
        room.messages.append(f"reverie {words[0]} beside a home that hangs: {took:.1f} s")
        room.check(command.returncode in (0, 1), f"{words[0]} ended with {command.returncode}: {said[-300:]}")
        room.check(f"{room.home} is not responding" in said, f"{words[0]} does not name it: {said!r}")
        room.check("Reverie will reconnect" not in said, f"{words[0]} says that it waits: {said!r}")
        room.check(out.strip(), f"{words[0]} answers nothing")


def _watch_starts(room: Room, good: Path) -> None:
    with subprocess.Popen(**_user_call(room, good, "watch", "--json")) as command:
        assert command.stdout is not None
        limit = threading.Timer(BESIDE_S, command.kill)
        limit.start()
        state = command.stdout.readline()
        command.send_signal(signal.SIGTERM)
        _out, said = command.communicate()
        limit.cancel()
    room.check(f'"hosting", "home": "{good}"' in state, f"watch hosts nothing: {state!r} {said!r}")
    room.check(command.returncode == 0, f"watch ended with {command.returncode}: {said[-300:]}")


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
        person.session.workbench.rescan("test")
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
        person.until("nothing goes on", lambda: person.session.is_recorded and not person.window.lanes.busy())
        person.close()
        after = room.memories()
        room.check(TYPED.encode() in after[NOTE_FILE], "what was typed is not there")
        room.same({**before, NOTE_FILE: b""}, {**after, NOTE_FILE: b""}, "once it is back")
        told = [c for c in room.parts().snapshots.history.commits() if c.parent and c.actor == "outside"]
        room.check(not told, f"a disk that was away reads as changes from outside: {told[:2]}")


CASES: dict[str, Case] = {
    "slow disk": slow,
    "disk that hangs": hanging,
    "disk that hangs beside another": beside,
    "disk that goes away": going,
}
