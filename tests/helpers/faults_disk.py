"""Faults of the disk below a home: full, read-only, removed, flooded with files, without watches.

See `fault_room`.
"""

from __future__ import annotations

import errno
import shutil
import stat
import time
from collections.abc import Callable
from pathlib import Path

from helpers.fault_room import NOTE, Case, Room, file_limit, obey_modes, own_limit, remount, small_disk
from reverie.files.atomic import set_observer

BIG = "a line that does not fit\n" * 4000
PATIENCE_S = 30.0


def _hand_refused(room: Room) -> None:
    """Everything a person does by hand is refused in words, and no byte differs."""
    edits, context = room.edits()
    before, text = room.memories(), edits.read(context, NOTE)
    room.refused("saving", lambda: edits.save(context, NOTE, BIG, text.sha256))
    room.refused("a new memory", lambda: edits.save(context, "/memories/global/new.md", BIG, None))
    room.same(before, room.memories(), "after what was done by hand")


def full_disk_by_limit(room: Room) -> None:
    """The process may write no file longer than so many bytes."""
    sizes = [*range(0, 4000, 250), *range(4000, 95_000, 7000)] if room.full else [700]
    place = room.place
    for size in sizes:
        room.build_ui(place / str(size))
        room.expect(0, "status")
        room.edits()
        before = room.memories()
        with file_limit(size):
            _hand_refused(room)
            room.run("consolidate", "--engine", "rules")
        room.check(room.run("consolidate", "--engine", "rules")[0] == 0, f"{size}: no dream afterwards")
        room.settled(before, f"with {size} bytes a file")


def full_disk(room: Room) -> None:
    """A disk of a few MB, filled up but for so many KB."""
    disk = small_disk(room.place / "disk", 6000)
    for left in range(0, 400, 8) if room.full else (0,):
        for old in disk.iterdir():
            shutil.rmtree(old) if old.is_dir() else old.unlink()
        room.build_ui(disk)
        room.expect(0, "status")
        before = room.memories()
        _fill(disk / "ballast", left)
        if left < 40:
            _hand_refused(room)
        room.run("consolidate", "--engine", "rules")
        (disk / "ballast").unlink()
        room.check(room.run("consolidate", "--engine", "rules")[0] == 0, f"{left} KB: no dream afterwards")
        room.settled(before, f"with {left} KB left")


def _fill(ballast: Path, left_kb: int) -> None:
    with ballast.open("wb", buffering=0) as file:
        try:
            while True:
                file.write(b"x" * 4096)
        except OSError as error:
            if error.errno != errno.ENOSPC:
                raise
        file.truncate(max(0, file.tell() - left_kb * 1024))


def read_only_modes(room: Room) -> None:
    """Nobody may write in the home, by its modes."""
    room.build_ui()
    before = room.memories()
    modes = _modes(room.home, _read_only)
    obey_modes()
    try:
        _hand_refused(room)
        edits, context = room.edits()
        room.refused("deleting", lambda: edits.delete(context, NOTE))
        room.refused("renaming", lambda: edits.rename(context, NOTE, "/memories/global/other.md"))
        room.expect(0, "tree")
        room.expect(1, "consolidate", "--engine", "rules")
        room.same(before, room.memories(), "while it is read-only")
    finally:
        for path, mode in modes.items():
            path.chmod(mode)
    room.settled(before, "once it can be written again")


def read_only_disk(room: Room) -> None:
    """The disk below the home is mounted read-only."""
    disk = small_disk(room.place / "disk", 6000)
    profile = room.place / "profile"
    profile.mkdir()
    room.build_ui(disk)
    (disk / "profile").symlink_to(profile)
    before = room.memories()
    remount(disk, read_only=True)
    _hand_refused(room)
    room.expect(1, "consolidate", "--engine", "rules")
    room.expect(0, "tree")
    room.same(before, room.memories(), "while it is read-only")
    remount(disk, read_only=False)
    room.settled(before, "once it can be written again")


def _read_only(mode: int) -> int:
    return mode & ~0o222


def _modes(root: Path, change: Callable[[int], int]) -> dict[Path, int]:
    found = {}
    for path in sorted([root, *root.rglob("*")], reverse=True):
        if not path.is_symlink():
            found[path] = stat.S_IMODE(path.stat().st_mode)
            path.chmod(change(found[path]))
    return dict(sorted(found.items()))


STEPS = ("journal", "temp", "fsync", "replace", "usage", "coverage")


def rights_under_way(room: Room) -> None:
    """In the middle of a dream the home's folders can be written no more."""
    place = room.place
    obey_modes()
    for step in STEPS if room.full else ("replace",):
        for nth in (1, 2, 3) if room.full else (1,):
            room.build_ui(place / f"{step}-{nth}")
            before, modes = room.memories(), dict[Path, int]()
            _at(step, nth, lambda modes=modes: modes.update(_modes(room.home, _read_only)))
            room.run("consolidate", "--engine", "rules")
            set_observer(None)
            room.run("status")
            for path, mode in modes.items():
                if path.exists():
                    path.chmod(mode)
            room.run("consolidate", "--engine", "rules")
            room.settled(before, f"rights taken at {step} {nth}")


def _at(step: str, nth: int, act: Callable[[], object]) -> None:
    """Do it when the step is passed for the nth time."""
    passed = 0

    def observe(name: str) -> None:
        nonlocal passed
        passed += name == step
        if name == step and passed == nth:
            set_observer(None)
            act()

    set_observer(observe)


def vanishing_home(room: Room) -> None:
    """In the middle of a dream the home is gone, and comes back later."""
    place = room.place
    for step in STEPS if room.full else ("replace",):
        for nth in (1, 2, 3) if room.full else (1,):
            room.build_ui(place / f"{step}-{nth}")
            before, away = room.memories(), room.place / "away"
            _at(step, nth, lambda away=away: room.home.rename(away))
            room.run("consolidate", "--engine", "rules")
            set_observer(None)
            if away.exists():
                room.expect(1, "tree")
                room.expect(1, "consolidate", "--engine", "rules")
                room.check(not room.home.exists(), f"{step}: a home was made where it vanished")
                away.rename(room.home)
            room.run("consolidate", "--engine", "rules")
            room.settled(before, f"gone at {step} {nth}")
            _nothing_deleted(room, before)


def _nothing_deleted(room: Room, before: dict[str, bytes]) -> None:
    """The history takes a home that is gone for no deletion."""
    parts = room.parts()
    room.expect(0, "status")
    told = [
        commit for commit in parts.snapshots.history.commits() if commit.parent and commit.actor == "outside"
    ]
    room.check(not told, f"a vanished home reads as changes from outside: {told[:2]}")
    room.check(len(room.memories()) == len(before), "files are missing")


def burst(room: Room) -> None:
    """Thousands of files at once, while the home is watched."""
    from helpers.watching import View
    from reverie.files.watch import Watcher
    from reverie.files.watch_sources import WatchTarget

    room.build_ui()
    store, count = room.home / "memory" / "global", 50_000 if room.full else 1_000
    view = View(store)
    watcher = Watcher(view, notify=room.messages.append)
    watcher.set_targets([WatchTarget(store, recursive=True)])
    watcher.start()
    try:
        for number in range(count):
            directory = store / f"burst-{number % 50}"
            directory.mkdir(exist_ok=True)
            new = directory / f".{number}.tmp"
            new.write_text(f"{number}\n")
            new.rename(directory / f"note-{number}.md")
        wanted = {path for path in store.rglob("*") if path.is_file()}
        until = time.monotonic() + PATIENCE_S + count / 500
        while len(view.files) < len(wanted) and time.monotonic() < until:
            time.sleep(0.05)
        state = watcher.state()
    finally:
        watcher.stop()
    missed = len(wanted) - len(view.files)
    room.check(not missed, f"{missed} of {len(wanted)} not seen")
    room.messages.append(f"{count:,} files: {state.delivered_rescans} full scans, {missed} of them not seen")
    tree = room.expect(0, "tree")
    room.check(str(count - 1) in str(tree)[-10_000_000:], "the tree does not show them")


def watches_refused(room: Room) -> None:
    """The system gives no more watches: what it says, and that changes are seen all the same."""
    from helpers.watching import View
    from reverie.files.watch import Watcher
    from reverie.files.watch_sources import WatchTarget

    room.build_ui()
    # Once it lies here, the limit of this process and its children is lower.
    limits = {"watches": "max_user_watches", "instances": "max_user_instances"}
    for kind in limits if room.full else ("watches",):
        own_limit(f"max_inotify_{kind}", 0)
        store = room.home / "memory" / "global"
        said: list[str] = []
        view = View(store)
        watcher = Watcher(view, notify=said.append, poll_s=0.1)
        watcher.set_targets([WatchTarget(store, recursive=True)])
        watcher.start()
        late = store / f"late-{kind}.md"
        try:
            late.write_text("late\n")
            until = time.monotonic() + PATIENCE_S
            while str(late) not in view.files and time.monotonic() < until:
                time.sleep(0.02)
            room.check(str(late) in view.files, f"no {kind}: what changes is not seen")
            room.check(watcher.state().mode == "polling", f"no {kind}: it is {watcher.state().mode}")
        finally:
            watcher.stop()
        room.messages += said
        room.check(len(said) == 1, f"no {kind}: it is said {len(said)} times")
        room.check(limits[kind] in "".join(said), f"no {kind}: which limit, and how to raise it: {said}")
        own_limit(f"max_inotify_{kind}", 100)


CASES: dict[str, Case] = {
    "full disk by a limit": full_disk_by_limit,
    "full disk": full_disk,
    "read-only by modes": read_only_modes,
    "read-only disk": read_only_disk,
    "rights taken under way": rights_under_way,
    "home vanishes under way": vanishing_home,
    "burst of files": burst,
    "no more watches": watches_refused,
}
