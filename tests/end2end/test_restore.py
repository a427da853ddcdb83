"""Every version that a scan saw comes back byte for byte, whoever wrote it, also while Reverie was closed."""

from __future__ import annotations

import random
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from helpers.benches import Time, again, contents, sample_parts, workspace
from helpers.samples import snapshot
from reverie.agents.scopes import ScopeContext
from reverie.files.watch import Changes
from reverie.memory.history.reader import HistoryPlace
from reverie.services.container import HomeContainer
from reverie.services.timeline import State, TimelineService
from reverie.services.workbench import Workbench

ACME = "a1f3c9e2b7"
FILES = 200
KEY = "global"
SCOPE = "/memories/global"

# What another program does in one go: writes (whole, in pieces, by rename), renames, deletes, makes folders.
OTHER_PROGRAM = """
import os, random, sys
from pathlib import Path
directory, seed, files = Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
chance = random.Random(seed)
def content():
    kind = chance.randrange(5)
    words = [chance.choice("ant bee cat dog eel".split()) for _ in range(chance.randrange(60))]
    text = ("\\r\\n" if kind == 1 else "\\n").join(words).encode()
    return {2: b"\\xef\\xbb\\xbf", 3: bytes(chance.randrange(256) for _ in range(40))}.get(kind, b"") + text
def name(number):
    return chance.choice(["", "deep/", "deep/er/", "Gr\\u00f6\\u00dfe/"]) + f"note {number}.md"
there = sorted(path for path in directory.rglob("*.md"))
for number in range(files):
    step = chance.randrange(4) if there else 0
    if step < 2:
        path = directory / name(chance.randrange(files)) if step == 0 else chance.choice(there)
        path.parent.mkdir(parents=True, exist_ok=True)
        if chance.randrange(2):
            path.write_bytes(content())
        else:
            draft = path.with_name(path.name + ".new")
            draft.write_bytes(content())
            draft.replace(path)
        there.append(path)
    elif step == 2:
        path = chance.choice(there)
        if path.exists():
            new = directory / name(files + number)
            new.parent.mkdir(parents=True, exist_ok=True)
            path.rename(new)
            there.append(new)
    else:
        chance.choice(there).unlink(missing_ok=True)
"""


class Reverie:
    """The program on one home, opened and closed."""

    def __init__(self, parts: HomeContainer) -> None:
        self.parts = parts
        self.memories = parts.home.root / "memory/global"
        self.seen: list[tuple[str, dict[str, bytes]]] = []

    def scan(self) -> None:
        """Opened, it catches up; what it saw is written down."""
        self.parts = again(self.parts)
        Workbench(self.parts).start_history()
        self._note()

    def other_program(self, seed: int) -> None:
        call = [sys.executable, "-c", OTHER_PROGRAM, str(self.memories), str(seed), str(FILES)]
        subprocess.run(call, check=True, timeout=60)

    @contextmanager
    def watching(self) -> Iterator[None]:
        """It stays open; at the end everything was seen."""
        bench = Workbench(self.parts)
        stirred = threading.Event()

        def deliver(changes: Changes) -> None:
            bench.observe(changes)
            stirred.set()

        watcher = bench.watch(deliver, notify=lambda _sentence: None)
        watcher.start()
        try:
            yield
            for _ in range(50):
                if self.kept() == contents(self.memories):
                    break
                stirred.wait(0.5)
                stirred.clear()
        finally:
            watcher.stop()
        self._note()

    def kept(self) -> dict[str, bytes]:
        """The newest version of every file in the history."""
        history = self.parts.snapshots.history
        return self._at(history.head() or "")

    def _at(self, commit: str) -> dict[str, bytes]:
        history = self.parts.snapshots.history
        return {
            rel: history.blob(blob) or b""
            for rel, blob in history.leaves(commit, HistoryPlace(KEY, "")).items()
        }

    def _note(self) -> None:
        self.seen.append((self.parts.snapshots.history.head() or "", contents(self.memories)))


def restore(desk: TimelineService, bench: Workbench, context: ScopeContext, path: str, state: State) -> None:
    plan = desk.plan(desk.target(context, path), state)
    assert plan.refused == ()
    changes, pins = desk.changes(plan, remove_newer=True)
    if changes:
        bench.apply_changes(context, changes, kind="restore", subject="Restored", pins=pins)


def test_every_version_a_scan_saw_comes_back_byte_for_byte(tmp_path: Path) -> None:
    reverie = Reverie(sample_parts("mux-home", tmp_path, Time()))
    reverie.scan()
    reverie.other_program(1)  # while it is closed
    reverie.scan()
    with reverie.watching():
        reverie.other_program(2)
    reverie.other_program(3)  # closed again
    reverie.scan()
    home = reverie.parts.home.root
    before = snapshot(home)
    desk = TimelineService(reverie.parts)
    bench, context = Workbench(reverie.parts), workspace(reverie.parts, ACME)
    everything = HistoryPlace(KEY, "")
    for commit, files in reverie.seen:
        assert {inner: desk.read(State(commit, everything), inner) for inner in files} == files
        assert set(desk.files(State(commit, everything))) == set(files)
    scope = desk.target(context, SCOPE)
    changes = bench.change_log.page(target=scope, limit=1000).changes
    assert {change.who for change in changes} == {"outside"}
    for rel in reverie.seen[0][1]:
        place = HistoryPlace(KEY, rel)
        desk.difference(State(reverie.seen[0][0], place), desk.on_disk(place))
    desk.plan(scope, State(reverie.seen[1][0], everything))
    assert snapshot(home) == before, "looking wrote something into the home"

    chance = random.Random(4)
    commit, files = reverie.seen[1]
    for rel in chance.sample(sorted(files), 5):
        restore(desk, bench, context, f"{SCOPE}/{rel}", State(commit, HistoryPlace(KEY, rel)))
        assert (reverie.memories / rel).read_bytes() == files[rel]
    for commit, files in reverie.seen[2:3]:
        restore(desk, bench, context, SCOPE, State(commit, everything))
        assert contents(reverie.memories) == files
